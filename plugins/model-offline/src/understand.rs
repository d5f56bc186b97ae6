//! A question, with those before it, as a query.

use jiff::civil::Date;

use crate::catalog::Catalog;
use crate::mentions::{self, Mention, What};
use crate::names::{Names, Target};
use crate::problem::Problem;
use crate::query::Query;
use crate::vocabulary::Operator as Op;
use crate::words::{Token, tokenize};
use crate::{resolve, roles, scan};

/// Finds the query that answers the question.
pub fn understand(
    catalog: &Catalog,
    question: &str,
    earlier: &[String],
    today: Option<Date>,
) -> Result<Query, Problem> {
    let names = Names::of(catalog);
    let read = |text: &str| {
        let tokens = tokenize(text);
        let start = follow_up_words(&tokens);
        (
            start > 0,
            mentions::read(&tokens[start..], catalog, &names, today),
        )
    };
    let (marked, mut all) = read(question);
    let mut before = earlier.iter().rev();
    let mut follows = marked || is_fragment(&all);
    while follows {
        let Some(previous) = before.next() else { break };
        if marked && !is_fragment(&all) && all.iter().any(is_plain_name) {
            return Err(Problem::unsupported(
                "I cannot tell what of the question before still holds. Please ask the whole question.",
            ));
        }
        let (again, old) = read(previous);
        follows = again || is_fragment(&old);
        all = combined(old, all);
    }
    plan(catalog, &all)
}

fn plan(catalog: &Catalog, mentions: &[Mention]) -> Result<Query, Problem> {
    let sketch = scan::scan(catalog, mentions)?;
    let settled = roles::settle(catalog, mentions, sketch)?;
    resolve::resolve(catalog, mentions, &settled)
}

/// How many words at the start only say that the question goes on from the one before.
fn follow_up_words(tokens: &[Token]) -> usize {
    let starts = |phrase: &[&str]| {
        phrase
            .iter()
            .enumerate()
            .all(|(i, w)| tokens.get(i).is_some_and(|t| t.norm == *w))
    };
    let markers: [&[&str]; 7] = [
        &["and", "what", "about"],
        &["and", "how", "about"],
        &["what", "about"],
        &["how", "about"],
        &["and"],
        &["same"],
        &["now"],
    ];
    markers.iter().find(|m| starts(m)).map_or(0, |m| m.len())
}

/// Only conditions and groups, nothing that they could apply to.
fn is_fragment(mentions: &[Mention]) -> bool {
    let mut grouped = false;
    !mentions.is_empty()
        && mentions.iter().all(|m| {
            let fits = match &m.what {
                What::Period(_) | What::BadPeriod(_) | What::Bucket(..) | What::Text(_) => true,
                What::Op(Op::By | Op::Each | Op::And | Op::Or | Op::Not) => true,
                What::Name => grouped || (m.has_value() && m.value_score() >= m.name_score()),
                _ => false,
            };
            grouped = matches!(m.what, What::Op(Op::By | Op::Each))
                || (grouped && matches!(m.what, What::Op(Op::And)));
            fits
        })
}

fn is_plain_name(mention: &Mention) -> bool {
    mention.what == What::Name && !mention.has_value()
}

/// The old question with what the new one replaces taken out: a period for a period, a value for a value of the same
/// column, groups for groups.
fn combined(old: Vec<Mention>, new: Vec<Mention>) -> Vec<Mention> {
    let new_period = new
        .iter()
        .any(|m| matches!(m.what, What::Period(_) | What::BadPeriod(_)));
    let new_groups = new
        .iter()
        .any(|m| matches!(m.what, What::Bucket(..) | What::Op(Op::By | Op::Each)));
    let new_values: Vec<_> = new.iter().flat_map(values).collect();
    let mut kept: Vec<Mention> = Vec::new();
    let mut in_group = false;
    for mention in old {
        let group_word = matches!(mention.what, What::Op(Op::By | Op::Each));
        let replaced = match &mention.what {
            What::Period(_) | What::BadPeriod(_) => new_period,
            What::Bucket(..) => new_groups,
            What::Op(Op::By | Op::Each) => new_groups,
            What::Name if in_group => new_groups,
            What::Name => values(&mention).any(|c| new_values.contains(&c)),
            _ => false,
        };
        in_group = group_word;
        if !replaced {
            kept.push(mention);
        }
    }
    kept.extend(new.into_iter().map(|m| Mention {
        follows: false,
        ..m
    }));
    kept
}

fn values(mention: &Mention) -> impl Iterator<Item = crate::catalog::ColumnRef> {
    let values = mention.hits.iter().filter_map(|h| match &h.target {
        Target::Value(c, _) => Some(*c),
        _ => None,
    });
    values.collect::<Vec<_>>().into_iter()
}
