//! A query as a small tree: what is selected from where, before it is text.

use crate::catalog::ColumnRef;
use crate::dates::Period;
use crate::dialect::Unit;
use crate::reach::Step;
use crate::vocabulary::{Aggregate, Comparison, MatchPosition};

/// An expression of the select list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expr {
    /// A column as it is.
    Column(ColumnRef),
    /// Several columns as one text: first and last name.
    Words(Vec<ColumnRef>),
    /// The period of a date.
    Bucket(Unit, ColumnRef),
    /// `COUNT(*)`
    CountRows,
    /// The number of different values.
    CountDistinct(ColumnRef),
    /// A function over amounts, and the decimals that are shown of it: a sum is rounded by the statement, because binary
    /// fractions make noise, an average by the text of the answer.
    Aggregate(Aggregate, Amount, Option<u32>),
}

/// What a function works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Amount {
    /// The numbers of one column.
    Column(ColumnRef),
    /// Quantity times price, less a discount.
    Product {
        /// How many.
        quantity: ColumnRef,
        /// Price of one piece.
        price: ColumnRef,
        /// The discount of the line, and what it means.
        discount: Option<(ColumnRef, Discount)>,
    },
}

/// What the number in a discount column means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discount {
    /// A share of the price, from 0 to 1.
    Share,
    /// Per cent.
    Percent,
    /// An amount of money, taken off the line.
    Taken,
}

/// An expression with the name that its column has in the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// What is selected.
    pub expr: Expr,
    /// The column's name.
    pub name: String,
}

/// What must hold for a row, as it goes into WHERE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// The column holds one of these values, or none of them.
    In(ColumnRef, Vec<String>, bool),
    /// The text made of these columns equals this one, whatever its case; turned round when true.
    Equals(Vec<ColumnRef>, String, bool),
    /// The column holds this text somewhere; turned round when true.
    Like(ColumnRef, MatchPosition, String, bool),
    /// The column compares with a number; turned round when true.
    Compare(ColumnRef, Comparison, String, bool),
    /// The column lies between two numbers; turned round when true.
    Between(ColumnRef, String, String, bool),
    /// The column is true, or false.
    Truth(ColumnRef, bool),
    /// The date lies in the period; turned round when true.
    Period(ColumnRef, Period, bool),
    /// The column has no value when true, has one when false.
    Null(ColumnRef, bool),
    /// No row refers over this key.
    NoRows(Step),
}

/// What the answer is, which decides its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// One number.
    Single,
    /// One row for each group.
    Groups,
    /// The first groups or rows of an order; true for the largest.
    Ranking(bool),
    /// Rows of the table, without a figure.
    Rows,
}

/// A query, and what its answer is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The table that the rows come from.
    pub base: usize,
    /// Foreign keys to follow from it, in order.
    pub joins: Vec<Step>,
    /// Keep rows whose foreign key is empty.
    pub keep_unmatched: bool,
    /// The select list.
    pub outputs: Vec<Output>,
    /// Whether a row of the result may come once only.
    pub distinct: bool,
    /// All must hold.
    pub conditions: Vec<Condition>,
    /// In the order of GROUP BY; empty without groups.
    pub groups: Vec<Expr>,
    /// A condition on each group.
    pub having: Option<(Expr, Comparison, String)>,
    /// The order; true for largest first.
    pub order: Vec<(Expr, bool)>,
    /// Rows of the answer at most, if the question says so.
    pub limit: Option<u64>,
    /// Only the number of groups is wanted, under this name.
    pub count_groups: Option<String>,
    /// What the answer is.
    pub shape: Shape,
    /// What is worked out, in words: "number of orders".
    pub title: String,
    /// What a row or group is: "product".
    pub noun: String,
    /// The value that a ranking goes by, in words.
    pub rank_title: String,
    /// How the words of the question were read, where that is not plain.
    pub notes: Vec<String>,
}
