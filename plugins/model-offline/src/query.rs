//! A query over the catalog; [`crate::write`] makes it text in any dialect.

use crate::catalog::{Catalog, ColumnRef, Kind};
use crate::dates::Period;
use crate::dialect::Unit;
use crate::vocabulary::{Aggregate, Comparison, MatchPosition};

/// A figure or column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expr {
    /// A column as it is.
    Column(ColumnRef),
    /// The period of a date.
    Bucket(Unit, ColumnRef),
    /// Rows, or different values of a column.
    Count(Option<ColumnRef>),
    /// A function over amounts.
    Agg(Aggregate, Amount),
    /// A metric that the Mind was taught, by its index, with a column of the table whose rows it goes through.
    Taught(usize, ColumnRef),
}

impl Expr {
    /// The first column that it reads.
    pub fn column(&self) -> Option<ColumnRef> {
        match self {
            Self::Column(c)
            | Self::Bucket(_, c)
            | Self::Count(Some(c))
            | Self::Taught(_, c)
            | Self::Agg(_, Amount::Column(c) | Amount::Product { quantity: c, .. }) => Some(*c),
            Self::Count(None) => None,
        }
    }

    /// Whether it is worked out over several rows.
    pub fn is_figure(&self) -> bool {
        matches!(self, Self::Count(_) | Self::Agg(..) | Self::Taught(..))
    }

    /// Decimals that are shown of it: a sum is rounded by the statement, because binary fractions make noise, an
    /// average by the text of the answer.
    pub fn decimals(&self, catalog: &Catalog) -> Option<u32> {
        let scale = |c: &ColumnRef| {
            let (_, scale) = catalog.column(*c).native_type.split_once(',')?;
            scale.trim_end_matches(')').trim().parse::<u32>().ok()
        };
        let is_integer = |c: &ColumnRef| catalog.column(*c).kind == Kind::Integer;
        match self {
            Self::Agg(Aggregate::Average, Amount::Column(c)) if is_integer(c) => Some(2),
            Self::Agg(Aggregate::Average, Amount::Column(c)) => {
                Some(scale(c).map_or(4, |s| s.max(2)))
            }
            Self::Agg(Aggregate::Sum, Amount::Column(c)) => {
                (!is_integer(c)).then(|| scale(c).unwrap_or(6))
            }
            Self::Agg(
                Aggregate::Sum,
                Amount::Product {
                    price, discount, ..
                },
            ) => {
                let is_part = matches!(discount, Some((_, Discount::Share | Discount::Percent)));
                let more = if is_part { 2 } else { 0 };
                (!is_integer(price)).then(|| scale(price).unwrap_or(6) + more)
            }
            _ => None,
        }
    }
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

/// What must hold, or must not, for one column of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// A column of a table that the source joins.
    pub column: ColumnRef,
    /// What must hold.
    pub check: Check,
    /// Whether it must not hold.
    pub negated: bool,
}

impl Condition {
    /// What must hold for a column.
    pub fn new(column: ColumnRef, check: Check) -> Self {
        Self {
            column,
            check,
            negated: false,
        }
    }

    /// The same, turned round.
    pub fn not(self) -> Self {
        Self {
            negated: !self.negated,
            ..self
        }
    }
}

/// What must hold for a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// Compares with a number, in SQL's notation.
    Number(Comparison, String),
    /// Between two numbers, both included.
    Range(String, String),
    /// One of these texts; the flag says that their case is as stored.
    Texts(Vec<String>, bool),
    /// Matches a pattern.
    Like(MatchPosition, String),
    /// Is true.
    Truth,
    /// Lies in a period, which may have no beginning or no end.
    Days(Period),
    /// Compared with a time of day, as `HH:MM:SS`.
    Clock(Comparison, String),
    /// Compared with the average of the column.
    Average(Comparison),
    /// Has no value.
    Missing,
    /// Is the key of a row of the same table that is called so: the key, the column that names rows, and the texts.
    RefersTo(ColumnRef, ColumnRef, Vec<String>),
}

/// A step from one table to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// Where it starts.
    pub from: usize,
    /// Where it leads.
    pub to: usize,
    /// Pairs of columns that are equal: of `from`, of `to`.
    pub pairs: Vec<(usize, usize)>,
    /// Whether one row of `from` may meet several of `to`.
    pub many: bool,
    /// Whether no foreign key says so, only equal names.
    pub guessed: bool,
}

/// Tables that are joined, with conditions: AND of ORs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Source {
    /// Where the joins start.
    pub base: usize,
    /// Steps in order.
    pub joins: Vec<Edge>,
    /// Conditions: all of the lists, one of each list.
    pub conditions: Vec<Vec<Condition>>,
}

impl Source {
    /// Tables that are joined, with conditions.
    pub fn new(base: usize, joins: Vec<Edge>, conditions: Vec<Vec<Condition>>) -> Self {
        Self {
            base,
            joins,
            conditions,
        }
    }

    /// The rows of the base that are there, or are not.
    pub fn member(self, negated: bool) -> Membership {
        Membership {
            source: self,
            negated,
        }
    }
}

/// Rows of the base whose key is, or is not, among those of another source with the same base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// Has the same base; its conditions are its own.
    pub source: Source,
    /// Whether the key must be missing there.
    pub negated: bool,
}

/// An expression with the name that its column has in the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// What is selected.
    pub expr: Expr,
    /// The column's name.
    pub name: String,
}

/// How two figures make one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The first over the second.
    Ratio,
    /// The first of all, in per cent.
    Percent,
    /// The first less the second.
    Difference,
    /// The first for each row of the second.
    Average,
}

impl Way {
    /// The column of the result.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ratio => "ratio",
            Self::Percent => "percentage",
            Self::Difference => "difference",
            Self::Average => "average",
        }
    }
}

/// The second of two figures, and what is made of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// Has the groups of the first, or none.
    pub second: Query,
    /// What is made of the two.
    pub way: Way,
}

/// What is selected from where; becomes one statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Output columns.
    pub outputs: Vec<Output>,
    /// Different rows only.
    pub distinct: bool,
    /// Where rows come from.
    pub source: Source,
    /// Conditions on the key of the base.
    pub members: Vec<Membership>,
    /// In the order of GROUP BY; empty without groups.
    pub groups: Vec<Expr>,
    /// A condition on each group.
    pub having: Option<(Expr, Comparison, String)>,
    /// Order; true is descending.
    pub order: Vec<(Expr, bool)>,
    /// Rows to keep.
    pub limit: Option<u64>,
    /// Whether the question leaves open how many are kept: "best selling products".
    pub is_open: bool,
    /// Only the number of groups is asked for, under this name.
    pub count_groups: Option<String>,
    /// The same query with other conditions; rows must be in both.
    pub intersect: Option<Vec<Vec<Condition>>>,
    /// The second of two figures that make one.
    pub pair: Option<Box<Pair>>,
    /// What is shown, in words: "number of orders".
    pub title: String,
    /// How words were read, for the answer.
    pub notes: Vec<String>,
}

impl Query {
    /// The taught metric that is worked out, by its index.
    pub fn taught(&self) -> Option<usize> {
        let shown = self.outputs.iter().map(|o| &o.expr);
        let chosen = self.having.iter().map(|h| &h.0);
        let mut exprs = shown.chain(chosen).chain(self.order.iter().map(|o| &o.0));
        exprs.find_map(|expr| match expr {
            Expr::Taught(metric, _) => Some(*metric),
            _ => None,
        })
    }

    /// The name of the output that is this expression.
    pub fn name_of(&self, expr: &Expr) -> Option<&str> {
        let mut outputs = self.outputs.iter().filter(|o| o.expr == *expr);
        outputs.next().map(|o| o.name.as_str())
    }

    /// Where the first few rows of an order are kept: how many, and the name of the column that decides.
    pub fn cuts_in(&self) -> Option<(u64, &str)> {
        let (expr, _) = self.order.first()?;
        let few = self.limit.filter(|n| *n > 1 && !self.is_open)?;
        Some((few, self.name_of(expr)?))
    }

    /// Where only the first row of an order is kept, and one row is to lead: the name of the column that decides.
    pub fn leads_in(&self) -> Option<&str> {
        let (expr, _) = self.order.first()?;
        // "the age of the oldest": rows that share it give the same answer.
        let is_alone = matches!(self.outputs.as_slice(), [only] if only.expr == *expr);
        let leads = self.limit == Some(1) && !is_alone;
        self.name_of(expr).filter(|_| leads)
    }
}

/// The figure that a query works out.
pub fn figure_of(query: &Query) -> Option<&Expr> {
    let mut shown = query.outputs.iter().map(|o| &o.expr);
    shown.find(|e| e.is_figure())
}
