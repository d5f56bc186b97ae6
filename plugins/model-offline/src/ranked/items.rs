//! A question as a row of items: operators, names, literals, and words without a role.

use jiff::civil::Date;

use super::lexis::{self, Op};
use super::link::{Hit, Index, Target};
use super::times;
use crate::dates::{DateTrouble, Period};
use crate::dialect::Unit;
use crate::measures::{self, Measure};
use crate::vocabulary::Aggregate;
use crate::words::{Token, TokenKind, tokenize};

/// What an item is.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A word or phrase of the language.
    Op(Op),
    /// Something of the catalog; see the hits.
    Names,
    /// A number without quotes, in SQL's notation.
    Number(String),
    /// A quoted text; the hits are values that are it.
    Quote(String),
    /// Days.
    Period(Period),
    /// A time that could not be read.
    BadPeriod(DateTrouble),
    /// Months and the like, which rows are grouped by.
    Unit(Unit),
    /// A figure that is defined over columns: "revenue".
    Measure(Measure),
    /// "first" and "last" (true) after "when".
    End(bool),
    /// "the first 10 rows of"
    FirstRows(u64),
    /// A word that carries nothing.
    Soft,
    /// A word that nothing explains.
    Unknown,
}

/// One word or phrase of a question with its role.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Its role.
    pub kind: Kind,
    /// As written.
    pub text: String,
    /// What it may mean in the catalog.
    pub hits: Vec<Hit>,
    /// Whether it may be left without a use.
    pub optional: bool,
    /// Whether it starts with a capital or a digit inside a sentence.
    pub proper: bool,
}

impl Item {
    /// Whether this is that operator.
    pub fn is(&self, op: Op) -> bool {
        self.kind == Kind::Op(op)
    }

    /// The operator, if it is one.
    pub fn op(&self) -> Option<Op> {
        match self.kind {
            Kind::Op(op) => Some(op),
            _ => None,
        }
    }

    /// The best score among meanings that `fits` accepts.
    fn best(&self, fits: fn(&Target) -> bool) -> f32 {
        let scores = self
            .hits
            .iter()
            .filter(|h| fits(&h.target))
            .map(|h| h.score);
        scores.fold(0.0, f32::max)
    }

    /// The table that it names best of all.
    pub fn best_table(&self) -> Option<usize> {
        let names = self.is_name() && self.table() >= self.column();
        let tables = self
            .hits
            .iter()
            .filter(|_| names)
            .filter_map(|h| match h.target {
                Target::Table(t) => Some((t, h.score)),
                _ => None,
            });
        tables.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(t, _)| t)
    }

    /// How well it names a table.
    pub fn table(&self) -> f32 {
        self.best(|t| matches!(t, Target::Table(_)))
    }

    /// How well it names a column.
    pub fn column(&self) -> f32 {
        self.best(|t| matches!(t, Target::Column(_)))
    }

    /// How well it names a value.
    pub fn value(&self) -> f32 {
        self.best(|t| matches!(t, Target::Value(..)))
    }

    /// Whether it is first of all a value.
    pub fn is_value(&self) -> bool {
        match self.kind {
            Kind::Quote(_) => true,
            Kind::Names => {
                self.value() > self.table().max(self.column())
                    || (self.value() > 0.0 && self.proper)
            }
            _ => false,
        }
    }

    /// Whether it is first of all the name of a table or column.
    pub fn is_name(&self) -> bool {
        self.kind == Kind::Names && !self.is_value()
    }
}

/// Reads a question into items, sentence by sentence; `today` is what "last month" goes by.
pub fn read(question: &str, index: &Index, today: Option<Date>) -> Vec<Item> {
    let mut items = Vec::new();
    for sentence in sentences(question) {
        if !items.is_empty() {
            items.push(plain(Kind::Op(Op::Break), "."));
        }
        let tokens = times::plain_rows(names_in_full(tokenize(&sentence), index));
        let mut at = 0;
        while at < tokens.len() {
            let (used, mut item) = read_at(&tokens, at, index, today);
            if item.kind == Kind::Unknown && is_filler(&tokens, at, items.last(), index) {
                item.kind = Kind::Soft;
            }
            if used == 1 {
                elliptic(&tokens, at, &mut item, &items, index);
            }
            items.push(item);
            at += used;
        }
    }
    ends_as_figures(&mut items);
    items
}

/// "the colour code and description" asks for the description of the colour.
fn elliptic(tokens: &[Token], at: usize, item: &mut Item, before: &[Item], index: &Index) {
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

/// "the highest, lowest and average price" asks for three figures, and not for the first row of an order.
fn ends_as_figures(items: &mut [Item]) {
    let figure = |i: &Item| matches!(i.op(), Some(Op::Agg(_) | Op::Most(_, None)));
    let listed = |i: &Item| matches!(i.op(), Some(Op::And | Op::Comma));
    let ends: Vec<(usize, Aggregate)> = items
        .iter()
        .enumerate()
        .filter_map(|(at, item)| {
            let Some(Op::Most(down, None)) = item.op() else {
                return None;
            };
            let mut after = items[at + 1..].iter().skip_while(|i| listed(i));
            let joins = items.get(at + 1).is_some_and(listed) && after.next().is_some_and(figure);
            let mut before = items[..at].iter().rev().skip_while(|i| listed(i));
            let joined = at > 0 && listed(&items[at - 1]) && before.next().is_some_and(figure);
            let end = if down { Aggregate::Max } else { Aggregate::Min };
            (joins || joined).then_some((at, end))
        })
        .collect();
    for (at, end) in ends {
        items[at].kind = Kind::Op(Op::Agg(end));
    }
}

/// "first and last name" is "first name and last name", and so is "full name", where the catalog has no such column.
fn names_in_full(mut tokens: Vec<Token>, index: &Index) -> Vec<Token> {
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

/// Whether an unknown word adds nothing to its neighbours: "staff members", "30 minutes", "songs steered by".
fn is_filler(tokens: &[Token], at: usize, before: Option<&Item>, index: &Index) -> bool {
    let word = tokens[at].norm.as_str();
    let next = tokens.get(at + 1).map_or("", |t| t.norm.as_str());
    let rows = before.is_some_and(|b| b.is_name() && b.table() >= 0.8);
    let number = before.is_some_and(|b| matches!(b.kind, Kind::Number(_)));
    let verb = word.len() > 4
        && word.ends_with("ed")
        && !word.starts_with("un")
        && VERB_ENDS.contains(&next)
        && !index.has_part(&word[..word.len() - 2]);
    (rows && MEMBERS.contains(&word)) || (number && UNITS.contains(&word)) || verb
}

/// Behind the name of a table they only say that its rows are meant.
const MEMBERS: &[&str] = &["member", "members", "item", "items", "entity", "entities"];

/// Behind a number they only say what it counts.
const UNITS: &[&str] = &[
    "minutes",
    "hours",
    "seconds",
    "days",
    "years",
    "dollars",
    "usd",
    "euros",
    "pounds",
    "meters",
    "metres",
    "feet",
    "kilometers",
    "km",
    "miles",
    "mm",
    "cm",
    "kg",
    "points",
];

/// What follows a verb that only relates two rows.
const VERB_ENDS: &[&str] = &[
    "by", "in", "at", "from", "to", "for", "on", "with", "as", "any", "the", "a", "an",
];

/// Sentences end where a capital or nothing follows the mark.
fn sentences(question: &str) -> Vec<String> {
    let chars: Vec<char> = question.chars().collect();
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

fn plain(kind: Kind, text: &str) -> Item {
    Item {
        kind,
        text: text.to_owned(),
        hits: Vec::new(),
        optional: false,
        proper: false,
    }
}

fn read_at(tokens: &[Token], at: usize, index: &Index, today: Option<Date>) -> (usize, Item) {
    let token = &tokens[at];
    let next = |n: usize| tokens.get(at + n).map_or("", |t| t.norm.as_str());
    if next(1) == "or"
        && matches!(
            (next(0), next(2)),
            ("his", "her") | ("her", "his") | ("he", "she")
        )
    {
        return (3, plain(Kind::Soft, &text(&tokens[at..at + 3])));
    }
    if token.kind == TokenKind::Quoted {
        let hits = index.hits(&tokens[at..=at]);
        let hits = hits
            .into_iter()
            .filter(|h| matches!(h.target, Target::Value(..)))
            .collect();
        return (
            1,
            Item {
                hits,
                ..plain(Kind::Quote(token.text.trim().to_owned()), &token.text)
            },
        );
    }
    let mut op = lexis::op(tokens, at);
    if let Some((used, Op::Agg(_) | Op::NumberOf)) = op {
        // "total amount of": where a column is the amount, the word names it.
        let amount = (at..at + used).find(|i| tokens[*i].norm == "amount");
        let named = amount.is_some_and(|i| {
            let hits = index.hits(&tokens[i..=i]);
            hits.iter()
                .any(|h| h.score >= 0.6 && matches!(h.target, Target::Column(_)))
        });
        if let Some(i) = amount.filter(|_| named) {
            op = lexis::op(&tokens[..i], at);
        }
    }
    // "never ordered", "ordered in 2024"
    let word = |i: usize| tokens.get(i).map_or("", |t| t.norm.as_str());
    let timed = word(at + 1) == "in"
        && tokens
            .get(at + 2)
            .is_some_and(|t| t.kind != TokenKind::Word);
    let denied = at > 0 && matches!(word(at - 1), "never" | "not");
    if token.norm == "ordered" && (timed || denied) {
        op = None;
    }
    // A view called `average_rating` must not swallow "average rating", which has a meaning without it.
    let of_views = |(_, hits): &(usize, Vec<Hit>)| hits.iter().all(|h| index.is_of_view(&h.target));
    if totals(tokens, at, index) {
        op = None;
    }
    let named = named(tokens, at, index)
        .filter(|n| !of_views(n) || op.is_none() && special_at(tokens, at, index, today).is_none());
    let special = special_at(tokens, at, index, today).filter(|(used, kind)| {
        let most = named.as_ref().map_or(0, |(n, _)| *n);
        *used >= most || matches!(kind, Kind::FirstRows(_) | Kind::End(_) | Kind::Soft)
    });
    if let Some((used, kind)) = special {
        return (used, plain(kind, &text(&tokens[at..at + used])));
    }
    if let Some((used, hits)) = named {
        let words = &tokens[at..at + used];
        let proper = at > 0 && token.text.starts_with(|c: char| c.is_uppercase());
        let item = Item {
            hits,
            proper,
            optional: used == 1 && lexis::is_soft(&token.norm),
            ..plain(Kind::Names, &text(words))
        };
        let op_length = op.map_or(0, |(n, _)| n);
        let soft = used == 1 && lexis::is_soft(&token.norm);
        let strength = item.table().max(item.column()).max(item.value());
        let wins = used > op_length || (used == op_length && yields(op, &item, &token.text));
        if wins && (!soft || strength >= 0.6) {
            return (used, item);
        }
    }
    if let Some((used, op)) = op {
        return (used, plain(Kind::Op(op), &text(&tokens[at..at + used])));
    }
    match token.kind {
        TokenKind::Number => (1, plain(Kind::Number(token.norm.clone()), &token.text)),
        // "received an A", "who report to her", "who made an order": words that carry something here.
        _ if at > 0
            && (token.text == "A"
                || REQUESTS.contains(&token.norm.as_str())
                    && matches!(
                        tokens[at - 1].norm.as_str(),
                        "who" | "that" | "which" | "to"
                    )
                || token.norm == "order" && matches!(tokens[at - 1].norm.as_str(), "an" | "a")) =>
        {
            (1, plain(Kind::Unknown, &token.text))
        }
        // "country and state": a listed word that is part of a name may not be passed over.
        _ if lexis::is_soft(&token.norm)
            && at > 0
            && matches!(tokens[at - 1].norm.as_str(), "and" | ",")
            && index
                .hits(&tokens[at..=at])
                .iter()
                .any(|h| matches!(h.target, Target::Column(_)))
            && !matches!(
                token.norm.as_str(),
                "list" | "show" | "find" | "give" | "name" | "return" | "order"
            ) =>
        {
            (1, plain(Kind::Unknown, &token.text))
        }
        _ if lexis::is_soft(&token.norm) => (1, plain(Kind::Soft, &token.text)),
        TokenKind::Symbol => (1, plain(Kind::Unknown, &token.text)),
        _ => {
            let proper = token.text.starts_with(|c: char| c.is_uppercase());
            (
                1,
                Item {
                    proper,
                    ..plain(Kind::Unknown, &token.text)
                },
            )
        }
    }
}

/// A time or a measure.
fn special_at(
    tokens: &[Token],
    at: usize,
    index: &Index,
    today: Option<Date>,
) -> Option<(usize, Kind)> {
    times::read(tokens, at, index, today).or_else(|| measure(tokens, at, index))
}

/// Whether an operator gives way to a name of the same length.
fn yields(op: Option<(usize, Op)>, item: &Item, text: &str) -> bool {
    let capital = text.starts_with(|c: char| c.is_uppercase());
    match op {
        Some((_, Op::Beyond)) => {
            item.table().max(item.column()) >= 0.8 || (item.value() > 0.9 && capital)
        }
        _ => false,
    }
}

fn named(tokens: &[Token], at: usize, index: &Index) -> Option<(usize, Vec<Hit>)> {
    let token = &tokens[at];
    let (used, mut hits) = index.longest(tokens, at)?;
    if used == 1 {
        let short =
            token.norm.chars().count() < 2 && !token.text.starts_with(|c: char| c.is_uppercase());
        let number = token.kind != TokenKind::Word;
        let asks = at == 0 && REQUESTS.contains(&token.norm.as_str());
        if short || number || asks || STOPS.contains(&token.norm.as_str()) {
            return None;
        }
        // A single small word is a value only where nothing else claims it.
        if lexis::is_soft(&token.norm) && !token.text.starts_with(|c: char| c.is_uppercase()) {
            // "run drills": the next word names the table that holds the value.
            let next = tokens.get(at + 1..at + 2).map(|t| index.hits(t));
            let holds = |table: usize| {
                let mut near = next.iter().flatten();
                near.any(|h| h.target == Target::Table(table) && h.score >= 0.9)
            };
            hits.retain(|h| match h.target {
                Target::Value(c, _) => holds(c.table),
                _ => true,
            });
        }
    }
    // "Kent County": the value of one column, or `Kent` in the column `county`.
    if let ([first @ .., last], true) = (&tokens[at..at + used], used > 1) {
        let columns = index.hits(std::slice::from_ref(last));
        let rest = index.hits(first);
        let both = rest.into_iter().filter(|h| {
            matches!(&h.target, Target::Value(c, _)
            if columns.iter().any(|k| k.target == Target::Column(*c) && k.score >= 0.9))
        });
        let both: Vec<Hit> = both.collect();
        if hits.iter().any(|h| matches!(h.target, Target::Value(..))) {
            hits.extend(both);
        }
    }
    // "phone numbers" are the column `phone`.
    let numbers = tokens
        .get(at + used)
        .is_some_and(|t| matches!(t.norm.as_str(), "number" | "numbers"));
    let exactly = |h: &Hit| h.score >= 0.85 && matches!(h.target, Target::Column(_));
    let used = used
        + usize::from(
            numbers
                && hits.iter().any(exactly)
                && !hits.iter().any(|h| matches!(h.target, Target::Table(_))),
        );
    // A phrase that starts or ends with a small word is that phrase without it.
    let edge = |t: &Token| STOPS.contains(&t.norm.as_str()) || t.norm == ",";
    let exact = hits.iter().any(|h| h.score >= 0.95);
    if used > 1 && !exact && (edge(token) || edge(&tokens[at + used - 1])) {
        return None;
    }
    (!hits.is_empty()).then_some((used, hits))
}

/// What a request starts with, whatever the catalog calls so.
const REQUESTS: &[&str] = &[
    "return", "report", "list", "display", "state", "present", "output",
];

const STOPS: &[&str] = &[
    "a", "an", "the", "what", "which", "who", "whom", "there", "we", "our", "us", "me", "my", "i",
    "you", "your", "it", "its", "they", "their", "them", "his", "her", "please", "can", "could",
    "would", "will", "all", "any", "do", "does", "did", "is", "are", "was", "were", "be", "of",
    "in", "for", "from", "to", "at", "on", "and", "or", "not", "with", "that", "whose", "have",
    "has", "had", "by", "than", "no", "how", "many", "more", "as", "this", "these", "those", "so",
    "if", "show", "find", "give",
];

/// Whether "total" is the column that is called so: "a total of more than 200", "the average total", "order total".
fn totals(tokens: &[Token], at: usize, index: &Index) -> bool {
    let word = |i: usize| tokens.get(i).map_or("", |t| t.norm.as_str());
    let own =
        |h: &Hit| h.score >= 0.95 && matches!(h.target, Target::Column(c) if index.is_amount(c));
    let before = at.checked_sub(1).map_or("", word);
    let figure = matches!(
        before,
        "average" | "maximum" | "minimum" | "highest" | "lowest" | "order"
    );
    let compared = matches!(
        word(at + 1),
        "of" | "over" | "above" | "below" | "under" | "between"
    ) && matches!(word(at + 2), "more" | "less" | "at" | "over" | "above")
        || matches!(word(at + 1), "over" | "above" | "below");
    word(at) == "total" && (figure || compared) && index.hits(&tokens[at..=at]).iter().any(own)
}

/// A measure, where no table has a column that is called so. What a view works out is left to the measure.
fn measure(tokens: &[Token], at: usize, index: &Index) -> Option<(usize, Kind)> {
    let (used, measure) =
        measures::phrase(tokens, at).filter(|(_, m)| index.measures.contains(m))?;
    let own =
        |h: &Hit| h.score >= 0.6 && matches!(h.target, Target::Column(c) if index.is_amount(c));
    let named = index.hits(&tokens[at..at + used]).iter().any(own);
    (!named).then_some((used, Kind::Measure(measure)))
}

fn text(tokens: &[Token]) -> String {
    tokens
        .iter()
        .map(|t| t.text.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Whether one of the items is an operation out of reach, whatever values are found.
pub fn is_out_of_reach(items: &[Item]) -> bool {
    items.iter().any(|i| i.is(Op::Beyond))
}

/// Texts that may be values: quoted ones, words that nothing explains, and rows of words with capitals.
pub fn sought(items: &[Item]) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let mut run: Vec<&str> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let open = match &item.kind {
            Kind::Quote(text) => {
                if item.hits.is_empty() {
                    texts.push(text.clone());
                }
                false
            }
            Kind::Unknown => true,
            _ => {
                item.text
                    .starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit())
                    && at > 0
            }
        };
        if open && !matches!(item.kind, Kind::Quote(_)) {
            run.push(&item.text);
            continue;
        }
        close(&mut run, &mut texts);
    }
    close(&mut run, &mut texts);
    texts.dedup();
    texts.truncate(12);
    texts
}

fn close(run: &mut Vec<&str>, texts: &mut Vec<String>) {
    if run.len() > 1 {
        texts.push(run.join(" "));
    }
    for word in run.drain(..) {
        if word.chars().count() > 1 && word.parse::<f64>().is_err() {
            texts.push(word.to_owned());
        }
    }
}
