//! The shape of a question: which mention is counted, grouped by, ranked, tested.

use crate::dates::Period;
use crate::dialect::Unit;
use crate::vocabulary::{Aggregate, Comparison, MatchPosition};

/// What is worked out. A number is the index of the mention that says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// How many rows of a table, or values of a column.
    Count(usize),
    /// A function over a column.
    Aggregate(Aggregate, usize),
    /// Money taken.
    Revenue(usize),
    /// Pieces sold.
    Units(usize),
    /// The average of a column that holds ratings.
    Rated(usize),
}

impl Ask {
    /// The mention that says what is worked out.
    pub fn mention(self) -> usize {
        match self {
            Self::Count(m)
            | Self::Aggregate(_, m)
            | Self::Revenue(m)
            | Self::Units(m)
            | Self::Rated(m) => m,
        }
    }
}

/// What rows or groups are put in order by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankBy {
    /// The value that is worked out.
    Measure,
    /// The column that this mention names.
    Column(usize),
    /// The date of the rows.
    Recency,
    /// A column of the rows that holds a price.
    Price,
    /// A column of the rows that holds an amount of money.
    Amount,
    /// The order of the key: "the first 10 rows".
    Key,
}

/// An order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    /// Largest first.
    pub descending: bool,
    /// What decides the order.
    pub by: RankBy,
}

/// A column, a table or a length of time that rows are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// A table or column, by its mention.
    Name(usize),
    /// Months and the like.
    Bucket(Unit),
}

/// A condition on one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// Equals the value that the mention names.
    Value(usize),
    /// Equals a quoted text.
    Text(String),
    /// Holds a quoted text.
    Like(MatchPosition, String),
    /// Compares with a number.
    Compare(Comparison, String),
    /// Lies between two numbers, both included.
    Between(String, String),
    /// Is true.
    Truth,
    /// Is a date in this period.
    Period(Period),
    /// Has no value.
    Null,
    /// Has a value.
    NotNull,
    /// No row of the named table refers to the row.
    NoRows,
}

/// A condition as the question states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestAsk {
    /// The mention of the column or table, where there is one.
    pub name: Option<usize>,
    /// The condition.
    pub test: Test,
    /// Turned round by "not".
    pub negated: bool,
    /// The words of the question, for messages.
    pub words: String,
}

/// A condition on the value that is worked out for each group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Having {
    /// What is worked out.
    pub ask: Ask,
    /// How the value is compared with `number`.
    pub comparison: Comparison,
    /// In SQL's notation.
    pub number: String,
}

/// The shape of a question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sketch {
    /// What is worked out; rows are listed when there is nothing.
    pub ask: Option<Ask>,
    /// Only different values count.
    pub distinct: bool,
    /// The mention by which only things that were sold count.
    pub sold: Option<usize>,
    /// The order.
    pub rank: Option<Rank>,
    /// How many rows were asked for.
    pub limit: Option<u64>,
    /// In the order of the question; empty for one figure or rows.
    pub groups: Vec<Group>,
    /// Mentions without a role of their own: the tables and columns that the question is about.
    pub plain: Vec<usize>,
    /// Conditions.
    pub tests: Vec<TestAsk>,
    /// The condition on groups.
    pub having: Option<Having>,
    /// Whether rows are asked for: "show", "list".
    pub listing: bool,
    /// Whether a date is asked for: "when".
    pub when: bool,
    /// Currencies that the question names.
    pub currencies: Vec<(&'static str, String)>,
}
