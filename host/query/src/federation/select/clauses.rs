//! What stands in FROM and WHERE of a statement: texts, and those subqueries that keys of a join may still narrow.

use super::{super::expressions::Value, Select};

/// An entry in FROM.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A table, an outer join, or a subquery that takes no conditions any more.
    Text(String),
    /// A subquery with groups, and its name.
    Groups(Box<Select>, String),
}

impl Entry {
    /// How it stands in FROM.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Groups(select, name) => format!("({}) AS {name}", select.text()),
        }
    }
}

/// A condition in WHERE.
#[derive(Clone, Debug)]
pub enum Condition {
    /// One that is about tables in FROM.
    Text(String),
    /// Whether the tables of another statement have such rows.
    Exists {
        /// Whether they must have none.
        is_negated: bool,
        /// The tables with their own conditions.
        select: Box<Select>,
        /// Values that are equal for such rows, of the outer statement and of this one.
        equal: Vec<(Value, Value)>,
        /// What such rows fulfil.
        matches: Vec<String>,
    },
}

impl Condition {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Exists {
                is_negated,
                select,
                matches,
                ..
            } => {
                let not = if *is_negated { "NOT " } else { "" };
                let own = select.conditions.iter().map(Self::text);
                let all: Vec<String> = own.chain(matches.iter().cloned()).collect();
                let (from, all) = (select.from_text(", "), all.join(" AND "));
                format!("{not}EXISTS (SELECT 1 FROM {from} WHERE {all})")
            }
        }
    }
}

/// All conditions, as they stand in WHERE.
pub fn all_of(conditions: &[Condition]) -> String {
    let texts: Vec<String> = conditions.iter().map(Condition::text).collect();
    texts.join(" AND ")
}
