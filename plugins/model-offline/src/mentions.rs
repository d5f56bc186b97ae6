//! A question as a row of mentions: each word with its possible meanings, and none left out.

use jiff::civil::Date;

use crate::catalog::Catalog;
use crate::dates::{self, DateTrouble, Period};
use crate::dialect::Unit;
use crate::names::{Hit, Names, Target};
use crate::vocabulary::{self, Operator};
use crate::words::{Token, TokenKind};

/// What a part of the question is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A phrase of the language; it may also have `hits`, when the catalog has a name like it.
    Op(Operator),
    /// Something in the catalog; see `hits`.
    Name,
    /// A number as its token has it: in SQL's notation.
    Number(String),
    /// The inside of a quoted string, as written.
    Text(String),
    /// A time.
    Period(Period),
    /// A time that could not be read.
    BadPeriod(DateTrouble),
    /// "month", "monthly"; true when the word alone asks for a group.
    Bucket(Unit, bool),
    /// Nothing that is known.
    Unknown,
}

/// A part of the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// How it was read before its neighbours are looked at.
    pub what: What,
    /// What in the catalog it may mean, best first.
    pub hits: Vec<Hit>,
    /// As written.
    pub text: String,
    /// Whether only fillers without a preposition stand between it and the mention before.
    pub follows: bool,
}

impl Mention {
    /// The best table among the meanings, with its score.
    pub fn tables(&self) -> impl Iterator<Item = (usize, i32)> {
        self.hits.iter().filter_map(|h| match h.target {
            Target::Table(t) => Some((t, h.score)),
            _ => None,
        })
    }

    /// Whether some meaning is a value.
    pub fn has_value(&self) -> bool {
        self.hits
            .iter()
            .any(|h| matches!(h.target, Target::Value(..)))
    }

    /// The best score among the names (not the values).
    pub fn name_score(&self) -> i32 {
        let names = self
            .hits
            .iter()
            .filter(|h| !matches!(h.target, Target::Value(..)));
        names.map(|h| h.score).max().unwrap_or(0)
    }

    /// The best score among the values.
    pub fn value_score(&self) -> i32 {
        let values = self
            .hits
            .iter()
            .filter(|h| matches!(h.target, Target::Value(..)));
        values.map(|h| h.score).max().unwrap_or(0)
    }

    /// Whether the best meaning is a table.
    pub fn is_table(&self) -> bool {
        matches!(
            self.hits.first(),
            Some(Hit {
                target: Target::Table(_),
                ..
            })
        )
    }
}

/// Reads all tokens of a question. Every word that is not a filler becomes part of a mention.
pub fn read(
    tokens: &[Token],
    catalog: &Catalog,
    names: &Names,
    today: Option<Date>,
) -> Vec<Mention> {
    let mut mentions: Vec<Mention> = Vec::new();
    let mut at = 0;
    let mut follows = true;
    while at < tokens.len() {
        let numeric_before = mentions.last().is_some_and(|m| is_numeric(m, catalog));
        let (used, mention) = Reader {
            tokens,
            catalog,
            names,
            today,
        }
        .one(at, numeric_before);
        match mention {
            Some((what, hits)) => {
                let text = tokens[at..at + used]
                    .iter()
                    .map(|t| t.text.as_str())
                    .collect::<Vec<_>>()
                    .join(" ");
                mentions.push(Mention {
                    what,
                    hits,
                    text,
                    follows,
                });
                follows = true;
            }
            None => follows = false,
        }
        at += used;
    }
    mentions
}

fn is_numeric(mention: &Mention, catalog: &Catalog) -> bool {
    let is = |h: &Hit| matches!(h.target, Target::Column(c) if catalog.column(c).is_numeric());
    matches!(
        mention.what,
        What::Op(Operator::Compare(..) | Operator::Top(_) | Operator::First(_))
    ) || mention.hits.first().is_some_and(is)
}

type Reading = (usize, Option<(What, Vec<Hit>)>);

struct Reader<'a> {
    tokens: &'a [Token],
    catalog: &'a Catalog,
    names: &'a Names,
    today: Option<Date>,
}

impl Reader<'_> {
    /// A view called `monthly_revenue` must not swallow "monthly revenue", which has a meaning without it.
    fn only_views(&self, hits: &[Hit]) -> bool {
        hits.iter().all(|h| match &h.target {
            Target::Table(t) => self.catalog.table(*t).is_view(),
            Target::Column(c) | Target::Value(c, _) => self.catalog.table(c.table).is_view(),
        })
    }

    fn one(&self, at: usize, numeric_before: bool) -> Reading {
        let (tokens, names, today) = (self.tokens, self.names, self.today);
        let token = &tokens[at];
        let operator = vocabulary::operator(tokens, at);
        let has_meaning = operator.is_some()
            || bucket(tokens, at).is_some_and(|b| matches!(b.1, What::Bucket(_, true)));
        let named = names
            .find(tokens, at)
            .filter(|n| !(has_meaning && self.only_views(&n.1)));
        if token.kind == TokenKind::Quoted {
            return (
                1,
                Some((
                    What::Text(token.text.clone()),
                    named.filter(|n| n.0 == 1).map(|n| n.1).unwrap_or_default(),
                )),
            );
        }
        // "between 10 and 20" after a price is about numbers, though 2000 could be a year.
        if let Some((used, period)) = (!numeric_before)
            .then(|| dates::read_period(tokens, at, today))
            .flatten()
        {
            let longer_name = named.as_ref().is_some_and(|n| n.0 > used);
            if !longer_name {
                return (
                    used,
                    Some((
                        period.map_or_else(What::BadPeriod, What::Period),
                        Vec::new(),
                    )),
                );
            }
        }
        let operator_length = operator.map_or(0, |o| o.0);
        if let Some((used, hits)) = named.filter(|n| n.0 >= operator_length) {
            let filler = used == 1 && vocabulary::is_filler(&token.norm);
            let weak = used == operator_length;
            match operator {
                Some((_, op)) if weak => return (used, Some((What::Op(op), hits))),
                _ if !filler || hits[0].score >= 100 && token.norm != "in" => {
                    if let Some((length, bucket)) = bucket(tokens, at).filter(|b| b.0 >= used) {
                        return (length, Some((bucket, hits)));
                    }
                    return (used, Some((What::Name, hits)));
                }
                _ => {}
            }
        }
        if let Some((used, op)) = operator {
            return (used, Some((What::Op(op), Vec::new())));
        }
        if token.kind == TokenKind::Number {
            return (1, Some((What::Number(token.norm.clone()), Vec::new())));
        }
        if let Some((used, bucket)) = bucket(tokens, at) {
            return (used, Some((bucket, Vec::new())));
        }
        if vocabulary::is_filler(&token.norm) || vocabulary::is_soft_filler(&token.norm) {
            return (1, None);
        }
        unknown(tokens, at, names)
    }
}

fn bucket(tokens: &[Token], at: usize) -> Option<(usize, What)> {
    let unit = dates::unit_of(&tokens[at].stem)?;
    let alone = tokens[at].norm.ends_with("ly") || tokens[at].norm == "annual";
    Some((1, What::Bucket(unit, alone)))
}

/// Words in a row that start with a capital are one unknown name: "Anna Schmidt".
fn unknown(tokens: &[Token], at: usize, names: &Names) -> Reading {
    let capital = |t: &Token| t.kind == TokenKind::Word && t.text.starts_with(char::is_uppercase);
    let mut used = 1;
    while capital(&tokens[at])
        && tokens.get(at + used).is_some_and(capital)
        && names.find(tokens, at + used).is_none()
        && vocabulary::operator(tokens, at + used).is_none()
    {
        used += 1;
    }
    (used, Some((What::Unknown, Vec::new())))
}
