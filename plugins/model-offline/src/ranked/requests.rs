//! What a request says around its columns and rows: how often each is shown, what to leave out, which end comes first.

use super::lexis::{self, Op, holds};
use super::link::{Hit, Index};
use crate::words::{Token, TokenKind, tokenize};

/// Nouns that only stand for the rows.
const ROWS: &str = "entries rows records those ones cases any all the";

fn word(tokens: &[Token], at: usize) -> &str {
    tokens.get(at).map_or("", |t| t.norm.as_str())
}

fn is(tokens: &[Token], at: usize, words: &str) -> bool {
    holds(words, word(tokens, at)) && !word(tokens, at).is_empty()
}

/// A sentence in the words that the rules know.
pub fn requested(tokens: Vec<Token>, index: &Index) -> Vec<Token> {
    if is_hint(&tokens) {
        return Vec::new();
    }
    let tokens = peopled(worded(scaled(without_join(tokens, index))), index);
    excluded(neither(once(only(without_additions(
        kinds(tokens, index),
        index,
    )))))
}

/// "for each type of food", where a column holds the foods, is "for each food".
fn kinds(mut tokens: Vec<Token>, index: &Index) -> Vec<Token> {
    let is_column = |at: usize| {
        let hits = tokens.get(at..=at).map_or_else(Vec::new, |t| index.hits(t));
        let known = hits.iter().any(|h| h.score >= 0.85 && h.column().is_some());
        known && hits.iter().all(|h| h.table().is_none())
    };
    let said = |at: &usize| {
        is(&tokens, *at, "type types kind kinds")
            && is(&tokens, at + 1, "of")
            && is(&tokens, at - 1, "each every different distinct")
            && index.hits(&tokens[*at..=*at]).is_empty()
            && is_column(at + 2)
    };
    if let Some(at) = (1..tokens.len()).find(said) {
        tokens.drain(at..at + 2);
    }
    tokens
}

/// ", by doing a left join from shops to orders" says how the statement is to be written. What rows are meant is said
/// before it, so it is passed over where it holds nothing but names of tables. Another join than a left one leaves rows
/// out, which must be said before it too: "shops that have orders, based on joining both tables".
fn without_join(mut tokens: Vec<Token>, index: &Index) -> Vec<Token> {
    const JOINS: &str = "by doing using based on a the left inner join joining from to with and of both tables table";
    let is_plain = |at: usize| {
        let mut hits = index.hits(&tokens[at..=at]).into_iter();
        holds(JOINS, word(&tokens, at)) || hits.any(|h| h.table().is_some())
    };
    let opens = |at: &usize| {
        let says = |from: usize, to: usize, words| (from..to).any(|i| is(&tokens, i, words));
        let end = tokens.len();
        let is_said = says(0, *at, "that who which have has had") || says(*at, end, "left");
        let starts = is(&tokens, *at, "by using based") && says(*at, end, "join joining");
        starts && is_said && (*at..end).all(is_plain)
    };
    if let Some(at) = (1..tokens.len()).find(opens) {
        tokens.truncate(at);
        tokens.pop_if(|last| last.norm == ",");
    }
    tokens
}

/// "Sex is coded as M or F" tells how rows are stored, and asks for nothing.
fn is_hint(tokens: &[Token]) -> bool {
    let says = |at: &usize| {
        is(tokens, *at, "is are")
            && is(tokens, at + 1, "stored coded encoded saved")
            && is(tokens, at + 2, "as")
    };
    let asks = |t: &Token| holds("what which who how give show list return", &t.norm);
    let verb = (1..tokens.len().min(7)).find(says);
    verb.is_some_and(|verb| !tokens[..verb].iter().any(asks))
}

/// "with the word 'Valley' in their name" is "whose name contains 'Valley'".
fn worded(mut tokens: Vec<Token>) -> Vec<Token> {
    let said = |at: &usize| {
        tokens[*at].kind == TokenKind::Quoted
            && is(&tokens, at - 1, "word phrase text string term")
            && is(&tokens, at - 2, "the")
            && is(&tokens, at - 3, "with having have has")
            && is(&tokens, at + 1, "in")
            && is(&tokens, at + 2, "their its the his her")
            && tokens
                .get(at + 3)
                .is_some_and(|t| t.kind == TokenKind::Word)
    };
    if let Some(at) = (3..tokens.len()).find(said) {
        let (text, name) = (tokens[at].clone(), tokens[at + 3].clone());
        let mut plain = tokenize("whose");
        plain.push(name);
        plain.extend(tokenize("contains"));
        plain.push(text);
        tokens.splice(at - 3..at + 4, plain);
    }
    tokens
}

/// "over 500 people" is a population, where a column is called so.
fn peopled(mut tokens: Vec<Token>, index: &Index) -> Vec<Token> {
    let population = tokenize("population");
    let is_column = |h: &Hit| h.score >= 0.95 && h.column().is_some();
    let counts = index.hits(&population).iter().any(is_column);
    let people = |at: &usize| {
        let number = tokens[at - 1].kind == TokenKind::Number;
        number && is(&tokens, *at, "people") && index.hits(&tokens[*at..=*at]).is_empty()
    };
    let found = (1..tokens.len()).find(people).filter(|_| counts);
    if let Some(at) = found {
        tokens.splice(at..=at, population);
    }
    tokens
}

/// "two million" and "a hundred thousand" are one number.
fn scaled(mut tokens: Vec<Token>) -> Vec<Token> {
    let mut at = 1;
    while at < tokens.len() {
        let zeros = match word(&tokens, at) {
            "hundred" => 2,
            "thousand" => 3,
            "million" => 6,
            "billion" => 9,
            _ => 0,
        };
        let before = &tokens[at - 1];
        let said = if before.norm == "a" {
            "1"
        } else {
            &*before.norm
        };
        let (whole, part) = said.split_once('.').unwrap_or((said, ""));
        let is_number = before.kind == TokenKind::Number || said == "1";
        if zeros > 0 && is_number && part.len() <= zeros {
            let digits = format!("{whole}{part:0<zeros$}");
            let text = format!("{} {}", before.text, tokens[at].text);
            let mut number = tokenize(digits.trim_start_matches('0'));
            number.iter_mut().for_each(|n| n.text.clone_from(&text));
            tokens.splice(at - 1..=at, number);
        } else {
            at += 1;
        }
    }
    tokens
}

/// Words that add nothing to what is shown: "also give", "as well", "have not been returned yet", "on file".
fn without_additions(mut tokens: Vec<Token>, index: &Index) -> Vec<Token> {
    if is(&tokens, 0, "also") && tokens.len() > 1 {
        tokens.remove(0);
    }
    let closes = |tokens: &[Token], at: usize| tokens.len() <= at || is(tokens, at, ", and");
    let is_free = |tokens: &[Token], at: usize| index.hits(&tokens[at..=at]).is_empty();
    let mut at = 1;
    while at < tokens.len() {
        let denied = || {
            let clause = tokens[..at].iter().rev().take(6);
            let mut words = clause.take_while(|t| t.norm != ",");
            words.any(|t| holds("not never no", &t.norm))
        };
        let used = match word(&tokens, at) {
            "as" if is(&tokens, at + 1, "well") && tokens.len() == at + 2 => 2,
            "yet" if closes(&tokens, at + 1) && denied() => 1,
            "known" if is(&tokens, at - 1, "any no") => 1,
            "on" if is(&tokens, at + 1, "file record")
                && closes(&tokens, at + 2)
                && is_free(&tokens, at + 1) =>
            {
                2
            }
            "in" if is(&tokens, at + 1, "the")
                && is(&tokens, at + 2, "world catalogue catalog dataset")
                && is_free(&tokens, at + 2) =>
            {
                3
            }
            "are" | "is" if is(&tokens, at + 1, "needed wanted") && tokens.len() == at + 2 => 2,
            // ", with the name of its owner", ", giving the name"
            "," if is(&tokens, at + 1, "with including giving showing")
                && is(&tokens, at + 2, "the their its")
                && only_names(&tokens[at + 3..]) =>
            {
                tokens.splice(at..at + 2, tokenize("along with"));
                0
            }
            _ => 0,
        };
        tokens.drain(at..at + used);
        at += usize::from(used == 0);
    }
    tokens
}

/// Whether words up to an order only name what is shown.
fn only_names(tokens: &[Token]) -> bool {
    let orders = |at: usize| matches!(lexis::op(tokens, at), Some((_, Op::OrderBy)));
    let end = (0..tokens.len()).find(|at| orders(*at));
    let end = end.unwrap_or(tokens.len());
    let carries = |at: usize| {
        let op = lexis::op(tokens, at).map(|(_, op)| op);
        let plain = op.is_none_or(|op| op.connects() || matches!(op, Op::NumberOf | Op::Agg(_)));
        !plain || op == Some(Op::Is) || tokens[at].kind != TokenKind::Word && op.is_none()
    };
    !(0..end).any(carries)
}

/// "Only include buyers from Ulm" says which rows are meant.
fn only(mut tokens: Vec<Token>) -> Vec<Token> {
    tokens.pop_if(|last| last.norm == "please");
    tokens.pop_if(|last| last.norm == ",");
    let asks = "include show list return give consider count keep report";
    if is(&tokens, 0, asks) && is(&tokens, 1, "only") && tokens.len() > 2 {
        tokens.drain(0..2);
    } else if is(&tokens, 0, "only just") && tokens.len() > 1 {
        let used = 1 + usize::from(is(&tokens, 1, asks));
        tokens.drain(0..used);
    }
    tokens
}

/// "Give each name once", "without duplicates": different rows only.
fn once(mut tokens: Vec<Token>) -> Vec<Token> {
    let twice = "duplicate duplicates duplication repetition repetitions repeats";
    let end = tokens.len();
    if end > 1 && is(&tokens, end - 1, twice) {
        let small = usize::from(end > 2 && is(&tokens, end - 2, "any the"));
        let at = end - 2 - small;
        if is(&tokens, at, "no without avoid avoiding") {
            tokens.truncate(at);
            tokens.pop_if(|last| last.norm == ",");
            tokens.extend(tokenize("distinct"));
        }
        return tokens;
    }
    if !is(&tokens, end.wrapping_sub(1), "once") {
        return tokens;
    }
    let end = end - 1 - usize::from(end > 1 && is(&tokens, end - 2, "only just exactly"));
    let start = end.saturating_sub(6);
    if let Some(each) = (start..end).find(|at| is(&tokens, *at, "each every")) {
        tokens.truncate(end);
        tokens.splice(each..=each, tokenize("distinct"));
    }
    tokens
}

/// "neither in Ulm nor in Bonn" is "not in Ulm and not in Bonn".
fn neither(tokens: Vec<Token>) -> Vec<Token> {
    let said = |words: &str| tokens.iter().filter(|t| holds(words, &t.norm)).count();
    if said("neither") != 1 || said("nor") != 1 {
        return tokens;
    }
    let plain = |token: Token| match token.norm.as_str() {
        "neither" => tokenize("not"),
        "nor" => tokenize("and not"),
        _ => vec![token],
    };
    tokens.into_iter().flat_map(plain).collect()
}

/// "excluding those whose state is new" and "Leave out rows where the state is new" turn that condition round.
fn excluded(mut tokens: Vec<Token>) -> Vec<Token> {
    let opens = |at: &usize| {
        let first = *at == 0 || is(&tokens, at - 1, ", and but");
        let out = is(&tokens, *at, "leave leaving") && is(&tokens, at + 1, "out");
        (out && first).then_some(2).or_else(|| {
            (is(&tokens, *at, "excluding except")
                || first && is(&tokens, *at, "exclude skip ignore omit"))
            .then_some(1)
        })
    };
    let Some((at, used)) = (0..tokens.len()).find_map(|at| Some((at, opens(&at)?))) else {
        return tokens;
    };
    let mut noun = at + used;
    while is(&tokens, noun, ROWS) {
        noun += 1;
    }
    let relative = (noun..noun + 3).find(|i| is(&tokens, *i, "whose where that which with"));
    let Some(relative) = relative else {
        return tokens;
    };
    let rest = relative + 1..tokens.len();
    let verb = rest.clone().find(|i| is(&tokens, *i, "is are was were"));
    // One condition can be turned round, and not two.
    let plain = !rest
        .clone()
        .any(|i| is(&tokens, i, "and or not no without"))
        && !is(&tokens, relative, "with");
    if let Some(verb) = verb.filter(|_| plain) {
        tokens.splice(verb + 1..verb + 1, tokenize("not"));
        let alone = at == 0 && noun == relative;
        tokens.drain(at..noun + usize::from(alone));
    }
    tokens
}

/// "sorted by price, highest first" and "longest first" say the direction of an order. Ties are a further key of it.
pub fn directed(mut tokens: Vec<Token>) -> Vec<Token> {
    let orders = |tokens: &[Token], at: usize| {
        (0..at)
            .rev()
            .find(|i| matches!(lexis::op(&tokens[..at], *i), Some((_, Op::OrderBy))))
    };
    let mut at = 1;
    while at < tokens.len() {
        let ties = is(&tokens, at, "break breaking") && is(&tokens, at + 1, "ties");
        if ties && is(&tokens, at + 2, "by with") && orders(&tokens, at).is_some() {
            tokens.splice(at..at + 3, tokenize("then by"));
        }
        let first = is(&tokens, at + 1, "first");
        let closes = tokens.len() <= at + 2 || is(&tokens, at + 2, ", and");
        let end = match lexis::op(&tokens[..=at], at) {
            Some((1, Op::Most(down, quality))) if first && closes => Some((down, quality)),
            _ => None,
        };
        let Some((mut down, quality)) = end else {
            at += 1;
            continue;
        };
        let mut from = at - usize::from(is(&tokens, at - 1, "the"));
        from -= usize::from(from > 0 && is(&tokens, from - 1, ","));
        match orders(&tokens, from) {
            Some(order) => {
                if quality == Some(lexis::Quality::Age) {
                    // What is old has a high age, and an early date.
                    let aged = tokens[order..from]
                        .iter()
                        .any(|t| holds("age ages", &t.norm));
                    down = down == aged;
                }
                let way = if down { "descending" } else { "ascending" };
                tokens.splice(from..at + 2, tokenize(way));
            }
            None if quality.is_none() => {
                let way = if down {
                    "ordered descending"
                } else {
                    "ordered ascending"
                };
                tokens.splice(from..at + 2, tokenize(way));
            }
            None => {}
        }
        at += 1;
    }
    tokens
}
