//! A logical query over the catalog, ready to be written in any dialect.

use super::join::Edge;
use crate::catalog::ColumnRef;
use crate::dates::Period;
use crate::vocabulary::{Aggregate, Comparison, MatchPosition};

/// A figure or column.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A column as it is.
    Column(ColumnRef),
    /// Rows, or different values of a column.
    Count(Option<ColumnRef>),
    /// A function over a column.
    Agg(Aggregate, ColumnRef),
}

/// What must hold, or must not, for one column of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// A column of a table that the source joins.
    pub column: ColumnRef,
    /// What must hold.
    pub check: Check,
    /// Whether it must not hold.
    pub negated: bool,
}

/// What must hold for a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Check {
    /// Compares with a number, in SQL's notation.
    Number(Comparison, String),
    /// Between two numbers, both included.
    Range(String, String),
    /// One of these texts; the flag says that their case is as stored.
    Texts(Vec<String>, bool),
    /// Matches a pattern.
    Like(MatchPosition, String),
    /// Lies in a period, which may have no beginning or no end.
    Days(Period),
    /// Compared with the average of the column.
    Average(Comparison),
    /// Has no value.
    Missing,
}

/// Tables that are joined, with conditions: AND of ORs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Source {
    /// Where the joins start.
    pub base: usize,
    /// Steps in order.
    pub joins: Vec<Edge>,
    /// Conditions: all of the lists, one of each list.
    pub conditions: Vec<Vec<Condition>>,
}

/// Rows of the base whose key is, or is not, among those of another source with the same base.
#[derive(Debug, Clone, PartialEq)]
pub struct Membership {
    /// Has the same base; its conditions are its own.
    pub source: Source,
    /// Whether the key must be missing there.
    pub negated: bool,
}

/// What is selected from where; becomes one statement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// Output columns.
    pub select: Vec<Expr>,
    /// Different rows only.
    pub distinct: bool,
    /// Where rows come from.
    pub source: Source,
    /// Conditions on the key of the base.
    pub members: Vec<Membership>,
    /// In the order of GROUP BY; empty without groups.
    pub groups: Vec<ColumnRef>,
    /// A condition on each group.
    pub having: Option<(Expr, Comparison, String)>,
    /// Order; true is descending.
    pub order: Vec<(Expr, bool)>,
    /// Rows to keep.
    pub limit: Option<u64>,
    /// Whether only the number of groups is asked for.
    pub count_groups: bool,
    /// The same query with other conditions; rows must be in both.
    pub intersect: Option<Vec<Vec<Condition>>>,
    /// How words were read, for the answer.
    pub notes: Vec<String>,
}
