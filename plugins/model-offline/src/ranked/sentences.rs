//! Whole sentences: what is put right in a question before and after its words are read.

use std::ops::Range;

use super::items::{Item, Kind};
use super::lexis::{self, Op, Quality, holds};
use super::link::{Hit, Index, Target};
use crate::query::Way;
use crate::vocabulary::Aggregate;
use crate::words::{Token, tokenize};

/// What parts a question from a second one behind "and".
pub const TAIL: &str = "and";

/// Sentences end where a capital or nothing follows the mark.
pub fn sentences(question: &str) -> Vec<String> {
    let plain = question.replace(" no. of ", " number of ");
    let chars: Vec<char> = plain.chars().collect();
    let mut out = vec![String::new()];
    for (i, c) in chars.iter().enumerate() {
        let ends = matches!(c, '?' | ';' | '!')
            || (*c == '.'
                && chars.get(i + 1).is_none_or(|n| n.is_whitespace())
                && i > 2
                && !abbreviated(&chars[..i]));
        if ends {
            out.push(String::new());
        } else if let Some(last) = out.last_mut() {
            last.push(*c);
        }
    }
    out.retain(|s| !s.trim().is_empty());
    out
}

/// Whether a point follows a short word with a capital: "St. Helena".
fn abbreviated(before: &[char]) -> bool {
    let word: Vec<&char> = before
        .iter()
        .rev()
        .take_while(|c| c.is_alphanumeric())
        .collect();
    word.len() < 4 && word.last().is_some_and(|c| c.is_uppercase())
}

/// "first and last name" is "first name and last name", and so is "full name", where the catalog has no such column.
pub fn names_in_full(mut tokens: Vec<Token>, index: &Index) -> Vec<Token> {
    let full = tokens
        .windows(2)
        .position(|w| w[0].norm == "full" && w[1].norm.starts_with("name"));
    if let Some(at) = full.filter(|at| index.hits(&tokens[*at..at + 2]).is_empty()) {
        let plain = tokenize("first name and last name");
        if !index.hits(&plain[..2]).is_empty() {
            tokens.splice(at..at + 2, plain);
        }
    }
    let short = |w: &[Token]| {
        let words = [&w[0].norm, &w[1].norm, &w[2].norm].map(String::as_str);
        matches!(words, ["first", "and", "last"] | ["last", "and", "first"])
            && w[3].norm.starts_with("name")
    };
    if let Some(at) = tokens.windows(4).position(short) {
        tokens.insert(at + 1, tokens[at + 3].clone());
    }
    tokens
}

/// "the highest, lowest and average price" and "the longest and the shortest trip duration" ask for figures, and not for
/// the first row of an order.
pub fn ends_as_figures(items: &mut [Item]) {
    let small = |i: &Item| i.kind == Kind::Soft && i.text.eq_ignore_ascii_case("the");
    let listed = |i: &Item| matches!(i.op(), Some(Op::And | Op::Comma));
    let figure = |i: &Item| match i.op() {
        Some(Op::Most(_, quality)) => !matches!(quality, Some(Quality::Sold | Quality::Rated)),
        op => matches!(op, Some(Op::Agg(_))),
    };
    // The figure next to one, over "and" and the like.
    let beside = |mut places: Box<dyn Iterator<Item = usize>>| {
        let mut over = false;
        let next = places.find(|i| {
            over |= listed(&items[*i]);
            !listed(&items[*i]) && !small(&items[*i])
        });
        next.filter(|i| over && figure(&items[*i]))
    };
    // A quality is a figure where the column is said.
    let is_said = |at: usize| {
        let passes = |i: &&Item| listed(i) || small(i) || figure(i);
        let mut rest = items[at..].iter().skip_while(passes);
        let first = rest.next();
        let second = rest.next().filter(|_| first.is_some_and(Item::is_table));
        let column = |i: &Item| i.is_name() && !i.is_table() && i.column() >= 0.85;
        second.or(first).is_some_and(column)
    };
    let ends: Vec<(usize, Aggregate)> = (0..items.len())
        .filter_map(|at| {
            let Some(Op::Most(down, quality)) = items[at].op().filter(|_| figure(&items[at]))
            else {
                return None;
            };
            let is_listed = beside(Box::new(at + 1..items.len())).is_some()
                || beside(Box::new((0..at).rev())).is_some();
            let end = if down { Aggregate::Max } else { Aggregate::Min };
            (is_listed && (quality.is_none() || is_said(at))).then_some((at, end))
        })
        .collect();
    for (at, end) in ends {
        items[at].kind = Kind::Op(Op::Agg(end));
    }
}

/// "the sailor with the maximum age" is the one with the highest.
pub fn figures_as_ends(items: &mut [Item]) {
    let small = |i: &Item| i.kind == Kind::Soft && i.text.eq_ignore_ascii_case("the");
    for at in 1..items.len() {
        let down = match items[at].op() {
            Some(Op::Agg(Aggregate::Max)) => true,
            Some(Op::Agg(Aggregate::Min)) => false,
            _ => continue,
        };
        let before = items[..at].iter().rev().find(|i| !small(i));
        let with = before.is_some_and(|i| i.says("with has have"));
        let column = items
            .get(at + 1)
            .is_some_and(|i| i.is_name() && i.column() >= 0.85);
        let ends = items.get(at + 2).is_none_or(|i| i.is(Op::Break));
        if with && column && ends {
            items[at].kind = Kind::Op(Op::Most(down, None));
        }
    }
}

/// "List the town, the average and the count." behind another sentence shows the figures that are asked for there.
pub fn restated(items: &mut [Item]) {
    let Some(start) = items.iter().position(|i| i.is(Op::Break)) else {
        return;
    };
    let (asked, behind) = items.split_at_mut(start);
    let counts = |i: &Item| matches!(i.op(), Some(Op::HowMany | Op::NumberOf));
    let counted = asked.iter().filter(|i| counts(i)).count() == 1;
    let again = |i: &Item| match i.op() {
        Some(Op::HowMany) => counted && i.text.eq_ignore_ascii_case("count"),
        Some(Op::Agg(aggregate)) => asked.iter().any(|a| a.is(Op::Agg(aggregate))),
        Some(Op::Most(down, _)) => {
            let end = if down { Aggregate::Max } else { Aggregate::Min };
            asked.iter().any(|a| a.is(Op::Agg(end)))
        }
        None => {
            let said = i.text.to_lowercase();
            counted && i.kind == Kind::Unknown && holds("number numbers counts", &said)
        }
        _ => false,
    };
    let parts = behind.split_mut(|i| matches!(i.op(), Some(Op::Break | Op::And | Op::Comma)));
    for part in parts {
        let mut said = part.iter_mut().filter(|i| i.kind != Kind::Soft);
        if let (Some(only), None) = (said.next(), said.next())
            && again(only)
        {
            only.kind = Kind::Soft;
        }
    }
}

/// "the route count" is the number of routes, where nothing is called so.
pub fn counts_of(mut tokens: Vec<Token>, index: &Index) -> Vec<Token> {
    let mut at = 0;
    while at + 1 < tokens.len() {
        let pair = &tokens[at..at + 2];
        let rows = |h: &Hit| h.score >= 0.9 && matches!(h.target, Target::Table(_));
        if pair[1].norm == "count"
            && index.hits(&pair[..1]).iter().any(rows)
            && !index.hits(pair).iter().any(|h| h.score >= 0.85)
        {
            tokens.remove(at + 1);
            tokens.splice(at..at, tokenize("number of"));
        }
        at += 1;
    }
    tokens
}

/// "the colour code and description" asks for the description of the colour.
pub fn elliptic(tokens: &[Token], at: usize, item: &mut Item, before: &[Item], index: &Index) {
    let [.., first, and] = before else {
        return;
    };
    let words = first.text.split(' ').count();
    if and.is(Op::And) && first.kind == Kind::Names && words > 1 && at > words {
        let mut whole = tokens[at - 1 - words..at - 2].to_vec();
        whole.push(tokens[at].clone());
        let whole = index.hits(&whole);
        let meant = |h: &Hit| {
            let column = h.score >= 0.95 && matches!(h.target, Target::Column(_));
            column && item.hits.iter().any(|o| o.target == h.target)
        };
        let meant: Vec<Hit> = whole.iter().filter(|h| meant(h)).cloned().collect();
        if !meant.is_empty() {
            item.hits = meant;
        }
    }
}

/// ", and how much?" behind a ranking asks for the figure that is shown anyway, and so do "the most common colours and
/// their counts".
pub fn without_tail(mut tokens: Vec<Token>) -> Vec<Token> {
    const COUNTS: &str = "and their its the respective corresponding counts count";
    let small = |t: &&Token| holds(COUNTS, &t.norm);
    let tail = tokens.iter().rev().take_while(small).count();
    let tail = tokens.len() - tail..tokens.len();
    let common = |at: usize| matches!(lexis::op(&tokens, at), Some((_, Op::Common(_))));
    let counts = tokens.last().is_some_and(|t| t.norm.starts_with("count"));
    if counts && tail.len() > 2 && tokens[tail.start].norm == "and" && (0..tail.start).any(common) {
        tokens.truncate(tail.start);
        return tokens;
    }
    let ranks = |t: &Token| matches!(t.norm.as_str(), "most" | "least" | "highest" | "lowest");
    let tail = |w: &[Token]| w[0].norm == "and" && w[1].norm == "how" && w[2].norm == "much";
    if tokens.iter().any(ranks) && tokens.windows(3).last().is_some_and(tail) {
        tokens.truncate(tokens.len() - 3);
        tokens.pop_if(|last| last.norm == ",");
    }
    tokens
}

/// "how many rows are in reviews" is "how many reviews".
pub fn plain_rows(mut tokens: Vec<Token>) -> Vec<Token> {
    let counted =
        |w: &[Token]| w[0].norm == "many" && matches!(w[1].stem.as_str(), "row" | "record");
    if let Some(at) = tokens.windows(2).position(counted) {
        let small = |t: &&Token| {
            matches!(
                t.norm.as_str(),
                "are" | "is" | "there" | "does" | "do" | "in" | "of" | "the"
            )
        };
        let used = tokens[at + 2..].iter().take_while(small).count();
        if tokens.len() > at + 2 + used && used > 0 {
            tokens.drain(at + 1..at + 2 + used);
        }
    }
    tokens
}

/// "positive reviews (rating > 3)" defines what is positive: they are the reviews with that rating. The words that are
/// so defined come with the sentence; where one is a value, it is that value.
pub fn defined(sentence: &str) -> (String, Vec<String>) {
    let parts = sentence
        .split_once('(')
        .and_then(|(before, rest)| Some((before, rest.split_once(')')?)));
    let Some((before, (inside, behind))) = parts else {
        return (sentence.to_owned(), Vec::new());
    };
    let (behind, mut words) = defined(behind);
    if !inside.contains(['<', '>', '=', '≥', '≤']) {
        return (format!("{before}({inside}){behind}"), words);
    }
    let said = before.split_whitespace().rev().nth(1);
    words.extend(said.map(str::to_lowercase));
    (format!("{before} with {inside} {behind}"), words)
}

/// Case never counts, so a request for that adds nothing: "match the name case insensitively", "compare without regard
/// to case". What it names beside a column is no part of it.
pub fn without_matching(mut tokens: Vec<Token>, index: &Index) -> Vec<Token> {
    let word = |i: usize| tokens.get(i).map_or("", |t| t.norm.as_str());
    let says = |start: usize, words: &str| {
        words
            .split(' ')
            .enumerate()
            .all(|(i, w)| word(start + i) == w)
    };
    let phrase = |at: usize| {
        let found = PLAIN_CASE.split("; ").find(|words| says(at, words))?;
        Some((at, at + found.split(' ').count()))
    };
    let Some((start, end)) = (0..tokens.len()).find_map(phrase) else {
        return tokens;
    };
    let adds_nothing = |t: &Token| {
        let hits = index.hits(std::slice::from_ref(t));
        let is_column = hits.iter().any(|h| h.column().is_some());
        is_column && hits.iter().all(|h| h.value().is_none()) || holds("the of all word", &t.norm)
    };
    let asks = |at: &usize| word(*at).starts_with("match") || word(*at).starts_with("compar");
    let before = (0..start).rev().find(|at| !adds_nothing(&tokens[*at]));
    let before = before.filter(asks);
    if word(start) == "in" && before.is_none() {
        // "names in lower case" says how they are shown.
        return tokens;
    }
    tokens.drain(before.unwrap_or(start)..end);
    tokens
}

/// What says that case does not count.
const PLAIN_CASE: &str = "case insensitive; case insensitively; without regard to case; regardless of case; \
    ignoring case; ignore case; in lower case; in any case; in any letter case";

/// "What proportion of orders were paid, as a percentage?" asks for the percentage.
pub fn as_percentage(items: &mut Vec<Item>) {
    let pair = |i: &Item| matches!(i.op(), Some(Op::Pair(Way::Ratio | Way::Percent)));
    let percent = |i: &Item| i.is(Op::Pair(Way::Percent));
    let (Some(first), Some(last)) = (items.iter().position(pair), items.iter().rposition(percent))
    else {
        return;
    };
    let part = holds(
        "proportion fraction share percentage percent",
        items[first].text.to_lowercase().trim_end_matches(" of"),
    );
    let small = |i: &Item| i.kind == Kind::Soft || i.is(Op::In);
    let starts = items[..last].iter().rposition(|i| !small(i));
    let Some(start) = starts.filter(|s| part && *s > first && last + 1 == items.len()) else {
        return;
    };
    let ends = matches!(items[start].op(), Some(Op::Break | Op::Comma));
    // "as a percentage", ", in percent", "Give a percentage."
    let tail = if ends { start } else { start + 1 };
    if ends || items[tail].is(Op::In) {
        items.truncate(tail);
        items[first].kind = Kind::Op(Op::Pair(Way::Percent));
    }
}

/// Words that say the opposite of what a flag says.
const OPPOSITES: &str = "closed open; inactive active; unavailable available; disabled enabled; unpaid paid; incomplete \
    complete; invalid valid; private public; unverified verified; unpublished published; unapproved approved";

/// "closed shops", where there is only a flag for those that are open.
pub fn opposites(tokens: Vec<Token>, index: &Index) -> Vec<Token> {
    let opposite = |token: &Token| {
        let mut pairs = OPPOSITES
            .split("; ")
            .filter_map(|pair| pair.trim().split_once(' '));
        let (_, flag) = pairs.find(|(word, _)| *word == token.norm)?;
        let is_free = index.hits(std::slice::from_ref(token)).is_empty();
        (is_free && index.is_flag(flag.trim())).then(|| tokenize(&format!("not {}", flag.trim())))
    };
    let replaced = |token: Token| opposite(&token).unwrap_or_else(|| vec![token]);
    tokens.into_iter().flat_map(replaced).collect()
}

/// "sorted by the lowest price first", "from the best ratings to the lowest" and "newest first" are an order with its
/// direction.
pub fn plain_order(mut tokens: Vec<Token>) -> Vec<Token> {
    let Some((range, key, down)) = (0..tokens.len()).find_map(|at| said_order(&tokens, at)) else {
        return tokens;
    };
    let said: Vec<&str> = tokens[range.clone()]
        .iter()
        .map(|t| t.text.as_str())
        .collect();
    let said = said.join(" ");
    let mut plain = tokenize("ordered by");
    match key {
        Some(key) => {
            plain.extend_from_slice(&tokens[key]);
            plain.extend(tokenize(if down { "descending" } else { "ascending" }));
        }
        None => {
            let mut time = tokenize(if down { "latest" } else { "earliest" });
            time.iter_mut().for_each(|t| t.text.clone_from(&said));
            plain.extend(time);
        }
    }
    tokens.splice(range, plain);
    tokens
}

/// An order that starts at a place: its words, those of what it goes by if that is no time, and whether the largest comes
/// first.
fn said_order(tokens: &[Token], at: usize) -> Option<(Range<usize>, Option<Range<usize>>, bool)> {
    let word = |i: usize| tokens.get(i).map_or("", |t| t.norm.as_str());
    let is = |i: usize, words: &str| holds(words, word(i));
    // The end of an order at a place, whether it is one of time, and the place behind it.
    let end = |i: usize| {
        let i = i + usize::from(word(i) == "the");
        let recent = word(i) == "most" && is(i + 1, "recent recently");
        match word(i) {
            _ if recent => Some((true, true, i + 2)),
            "newest" | "latest" => Some((true, true, i + 1)),
            "oldest" | "earliest" => Some((false, true, i + 1)),
            "highest" | "largest" | "best" | "biggest" | "greatest" | "most" => {
                Some((true, false, i + 1))
            }
            "lowest" | "smallest" | "worst" | "least" | "fewest" => Some((false, false, i + 1)),
            _ => None,
        }
    };
    let closes = |i: usize| tokens.get(i).is_none_or(|t| t.norm == ",");
    let marked = is(
        at,
        "sorted ordered sort order ranked listed starting arranged",
    );
    let mut next = at + usize::from(marked);
    let starts = word(at) == "starting" && is(next, "from with");
    let to = |name: usize| (name..name + 4).find(|i| word(*i) == "to");
    if let Some((down, timed, name)) = end(next + 1).filter(|e| starts && to(e.2).is_none()) {
        // "starting with the lowest price"
        let last = (name..=name + 3).find(|i| closes(*i))?;
        let key = (!timed && last > name).then_some(name..last);
        let fits = if timed {
            last <= name + 1
        } else {
            key.is_some()
        };
        return fits.then_some((at..last, key, down));
    }
    if word(next) == "from" {
        let (down, timed, name) = end(next + 1)?;
        let to = to(name)?;
        let (other, also, behind) = end(to + 1)?;
        let key = name..to;
        let again = tokens.get(behind..behind + key.len());
        let again = again.is_some_and(|t| {
            t.iter()
                .zip(&tokens[key.clone()])
                .all(|(a, b)| a.stem == b.stem)
        });
        let behind = behind + if again { key.len() } else { 0 };
        let fits = down != other && timed == also && timed == key.is_empty() && closes(behind);
        return fits.then_some((at..behind, (!timed).then_some(key), down));
    }
    next += usize::from(marked && word(next) == "by");
    let (down, timed, name) = end(next)?;
    let first = (name..name + 5).find(|i| word(*i) == "first")?;
    let key = name..first;
    let fits = closes(first + 1) && timed == key.is_empty() && (timed || marked);
    fits.then_some((at..first + 1, (!timed).then_some(key), down))
}

/// ", and how many songs did they write?" behind another question is one for the number of songs, and ", and what is the
/// price?" one of its own: both are shown beside what comes first.
pub fn with_tail(mut tokens: Vec<Token>) -> Vec<Vec<Token>> {
    let word = |i: usize| tokens.get(i).map_or("", |t| t.norm.as_str());
    let opens = |i: &usize| {
        let asks = word(i + 1) == "how" && word(i + 2) == "many";
        let shows = word(i + 1) == "what" && holds("is are was were", word(i + 2));
        word(*i) == "and" && (asks || shows)
    };
    let ranks = |i: usize| matches!(lexis::op(&tokens, i), Some((_, Op::Most(..) | Op::Have)));
    let Some(and) = (1..tokens.len())
        .find(opens)
        .filter(|and| holds("who which", word(0)) || (0..*and).any(ranks))
    else {
        return vec![tokens];
    };
    let mut tail = tokens.split_off(and);
    tail.remove(0);
    tokens.pop_if(|last| last.norm == ",");
    if tail[0].norm == "how" {
        // Behind what is counted stand only words that point back: "did they have that year".
        let points = |t: &Token| holds(POINTERS, &t.norm);
        let end = tail
            .iter()
            .rposition(|t| !points(t) && !lexis::is_relation(&t.norm));
        let counted = end.map_or(0, |end| end + 1);
        let told = tail[counted..]
            .iter()
            .any(|t| holds("he she they it", &t.norm));
        if counted < 3 || !told {
            tokens.extend(tokenize("and"));
            tokens.extend(tail);
            return vec![tokens];
        }
        let mut number = tokenize("number of");
        number.extend_from_slice(&tail[2..counted]);
        tail = number;
    }
    vec![tokens, tail]
}

/// Words behind a count that only point at what the question names before.
const POINTERS: &str =
    "did do does have has had been he she they it that then year month day there in total each or";
