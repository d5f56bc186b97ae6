//! What a question asks for, before it is known which column each of its names means.

use super::lexis::Quality;
use crate::dates::Period;
use crate::dialect::Unit;
use crate::measures::Measure;
use crate::vocabulary::{Aggregate, Comparison, MatchPosition};

/// Index of an item that names a column or table.
pub type At = usize;

/// A figure that is shown, ordered by or compared.
#[derive(Debug, Clone, PartialEq)]
pub enum Figure {
    /// The column itself.
    Plain(At),
    /// The number of rows of a table, or of different values of a column.
    Count(At, bool),
    /// A function over a column.
    Agg(Aggregate, At),
    /// A quality of the subject: its age, its price.
    Quality(Quality),
    /// The first or last date of a table.
    End(Aggregate, At),
    /// A measure: revenue.
    Measure(Measure, At),
}

impl Figure {
    /// Whether it is worked out over the rows of groups.
    pub fn is_over_groups(&self) -> bool {
        matches!(self, Self::Count(..) | Self::Agg(..) | Self::Measure(..))
    }
}

/// What a column is compared with.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// A number, in SQL's notation.
    Number(Comparison, String),
    /// Two numbers, both included.
    Range(String, String),
    /// One of the values of these items.
    Values(Vec<At>),
    /// A pattern.
    Like(MatchPosition, String),
    /// The days of a period, which may have no beginning or no end.
    Days(Period),
    /// A time of day.
    Clock(Comparison, String),
    /// The average of the same column.
    Average(Comparison),
    /// A year: of a date, or a number.
    Year(Comparison, String),
    /// That it is true.
    Truth,
    /// That it has no value.
    Missing,
    /// That it refers to the row of its own table that this item names.
    RefersTo(At),
}

/// A condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// Where the question says it.
    pub at: At,
    /// The column, if the question names it.
    pub column: Option<At>,
    /// A quality in place of the column.
    pub quality: Option<Quality>,
    /// What must hold.
    pub test: Test,
    /// Whether it must not hold.
    pub negated: bool,
    /// Whether it is an alternative to the condition before it.
    pub or: bool,
}

impl Filter {
    /// A condition that stands for itself.
    pub fn new(at: At, column: Option<At>, test: Test) -> Self {
        Self {
            at,
            column,
            quality: None,
            test,
            negated: false,
            or: false,
        }
    }

    /// A condition on a quality of the rows.
    pub fn of_quality(at: At, quality: Quality, test: Test) -> Self {
        let quality = Some(quality);
        Self {
            quality,
            ..Self::new(at, None, test)
        }
    }

    /// A condition on a time: of the column, if there is one, or of the rows.
    pub fn timed(at: At, column: Option<At>, test: Test) -> Self {
        let quality = column.is_none().then_some(Quality::Time);
        Self {
            quality,
            ..Self::new(at, column, test)
        }
    }
}

/// The first so many of an order: "the three oldest".
#[derive(Debug, Clone, PartialEq)]
pub struct Rank {
    /// Largest first.
    pub descending: bool,
    /// The figure that decides the order.
    pub by: Figure,
    /// How many are kept.
    pub limit: u64,
    /// Whether the question leaves open how many.
    pub is_open: bool,
    /// Where the question says it.
    pub at: At,
}

/// A question, taken apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Frame {
    /// What is shown.
    pub select: Vec<Figure>,
    /// Different rows only.
    pub distinct: bool,
    /// Items that name tables, in order.
    pub tables: Vec<At>,
    /// The table that the question is about, if it names one.
    pub subject: Option<At>,
    /// Conditions, joined by AND where `or` is not set.
    pub filters: Vec<Filter>,
    /// Items that name what rows are grouped by: columns, or tables.
    pub groups: Vec<At>,
    /// Units of time that rows are grouped by, with the date if the question names it.
    pub units: Vec<(Option<At>, Unit)>,
    /// The first rows of a table, in the order of its key.
    pub first_rows: Option<u64>,
    /// A condition on a count of each group.
    pub having: Option<(Figure, Comparison, String)>,
    /// The order, if only the first rows of it are asked for; else see `order`.
    pub rank: Option<Rank>,
    /// An order of all rows.
    pub order: Vec<(Figure, bool)>,
    /// In the order of the first text column.
    pub alphabetical: Option<bool>,
    /// In the order of the only figure that is shown.
    pub by_figure: Option<bool>,
    /// That rows of another table must be missing: the place where the question says it, and the table, if it names it.
    pub without: Option<(At, Option<At>)>,
    /// Counts that a column holds, shown as they are.
    pub held_counts: usize,
    /// Verbs that a table is called like, which must be part of the query: "offered", for `course_offering`.
    pub verbs: Vec<At>,
    /// Whether two values must both be found.
    pub both: bool,
    /// Whether it is one of two figures, which may each be of a single row.
    pub is_part: bool,
}

impl Frame {
    /// Whether it shows a figure, and not only columns.
    pub fn has_figure(&self) -> bool {
        self.select.iter().any(|f| !matches!(f, Figure::Plain(_)))
    }

    /// All figures: those shown first, then the one that groups are chosen by, and those that decide the order.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        let chosen = self.having.iter().map(|h| &h.0);
        let ranked = self.rank.iter().map(|r| &r.by);
        let order = self.order.iter().map(|o| &o.0);
        self.select.iter().chain(chosen).chain(ranked).chain(order)
    }
}
