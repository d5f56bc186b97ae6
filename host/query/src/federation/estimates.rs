//! How many rows the parts of a plan give, roughly: the one place that guesses.
//!
//! The guesses decide which tables are joined first and which side of a join is read first, so a wrong one moves more
//! rows and changes no result. They come from the catalog: rows of tables, and what the values of columns are like
//! ([`columns`], [`shares`]).
//!
//! DataFusion guesses too, but late: with statistics of columns, its filters and joins estimate rows of the physical
//! plan, where the order of the joins is fixed already. Its filters (`physical_expr::analysis`) follow intervals of
//! integers, floats and moments; of a filter with a text, a decimal, IN or LIKE they expect 20%, and distinct values do
//! not count. Its inner joins divide by the distinct values of the keys; without them they expect as few rows as the
//! smaller side has. Here a join by keys keeps the share of its larger side that conditions left of the smaller one,
//! which is also right for keys that the catalog has not counted.

mod columns;
mod shares;

use std::sync::Arc;

use datafusion::{
    common::{Column, JoinType},
    logical_expr::{
        Aggregate, Expr, FetchType, Filter, Join, Limit, LogicalPlan, SkipType, TableScan,
        utils::split_conjunction,
    },
    physical_plan::{
        ExecutionPlan,
        aggregates::AggregateExec,
        filter::FilterExec,
        joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec},
        union::UnionExec,
    },
};

pub use columns::ColumnFacts;

use super::{
    remote::RemoteExec,
    sources::{unqualified, with_table},
};

/// Rows of a table that the catalog does not know.
const UNKNOWN_ROWS: f64 = 10_000.0;
/// What groups leave of the rows, where the catalog does not know the distinct values.
const GROUPED: f64 = 0.1;

/// What a part of a plan gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Rows.
    pub rows: f64,
    /// Of so many, which conditions and limits left.
    pub of: f64,
}

impl Estimate {
    const ONE: Self = Self { rows: 1.0, of: 1.0 };

    /// All rows of a table.
    pub fn table(rows: Option<u64>) -> Self {
        let rows = rows.map_or(UNKNOWN_ROWS, |rows| rows as f64).max(1.0);
        Self { rows, of: rows }
    }

    /// With at most so many rows.
    pub fn at_most(self, rows: f64) -> Self {
        Self {
            rows: self.rows.min(rows),
            of: self.of.min(rows),
        }
    }

    fn share(self) -> f64 {
        (self.rows / self.of).min(1.0)
    }

    fn larger(self, other: Self) -> Self {
        if self.rows < other.rows { other } else { self }
    }

    fn times(self, share: f64) -> Self {
        Self {
            rows: (self.rows * share).max(1.0),
            ..self
        }
    }

    /// Every row of this with every row of the other.
    fn crossed(self, other: Self) -> Self {
        Self {
            rows: self.rows * other.rows,
            of: self.of * other.of,
        }
    }

    /// The rows of both.
    fn added(self, other: Self) -> Self {
        Self {
            rows: self.rows + other.rows,
            of: self.of + other.of,
        }
    }

    /// Groups of these rows: `groups` of all rows, if that is known.
    fn grouped(self, groups: Option<f64>) -> Self {
        match groups {
            Some(groups) => self.at_most(groups.max(1.0)),
            None => Self {
                rows: (self.rows * GROUPED).max(1.0),
                of: (self.of * GROUPED).max(1.0),
            },
        }
    }

    /// A join by keys. A key of what was larger without conditions is among those of the other side, unless a condition
    /// left it out there.
    pub fn joined(self, other: Self, join_type: JoinType) -> Self {
        match join_type {
            JoinType::Inner if self.of < other.of => other.times(self.share()),
            JoinType::Inner | JoinType::LeftSemi => self.times(other.share()),
            JoinType::RightSemi => other.times(self.share()),
            JoinType::LeftAnti | JoinType::LeftMark => self,
            JoinType::RightAnti | JoinType::RightMark => other,
            _ => self.larger(other),
        }
    }

    /// An inner join by keys with so many distinct values: more rows than the larger side has, if neither side has a
    /// key once.
    pub fn matched(self, other: Self, distinct: Option<f64>) -> Self {
        let joined = self.joined(other, JoinType::Inner);
        let once = self.of.min(other.of);
        match distinct {
            Some(distinct) if distinct < once => joined.times(once / distinct.max(1.0)),
            _ => joined,
        }
    }

    /// Those that fulfil some conditions about the columns of plans.
    pub fn filtered(self, conditions: &[&Expr], plans: &[&LogicalPlan]) -> Self {
        let facts = |column: &Column| plans.iter().find_map(|plan| facts(plan, column));
        self.times(shares::of_all(conditions, &facts))
    }
}

/// What a part of a logical plan gives.
pub fn plan(part: &LogicalPlan) -> Estimate {
    let inputs = part.inputs().into_iter().map(plan);
    match part {
        LogicalPlan::TableScan(scan) => scanned(scan, Vec::new()),
        LogicalPlan::Filter(filter) => filtered(filter),
        LogicalPlan::Join(join) => joined(join),
        LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => Estimate::ONE,
        LogicalPlan::Aggregate(aggregate) => plan(&aggregate.input).grouped(groups(aggregate)),
        LogicalPlan::Limit(limit) => match fetched(limit) {
            Some(rows) => plan(&limit.input).at_most(rows),
            None => plan(&limit.input),
        },
        LogicalPlan::Sort(sort) => match sort.fetch {
            Some(rows) => plan(&sort.input).at_most(rows as f64),
            None => plan(&sort.input),
        },
        LogicalPlan::Union(_) => inputs.reduce(Estimate::added).unwrap_or(Estimate::ONE),
        _ => inputs.reduce(Estimate::larger).unwrap_or(Estimate::ONE),
    }
}

/// What a part of a physical plan gives. What is known of columns is in the estimates of its statements.
pub fn operator(part: &Arc<dyn ExecutionPlan>) -> Estimate {
    if let Some(remote) = part.downcast_ref::<RemoteExec>() {
        return remote.estimate();
    }
    let children = part.children();
    let mut inputs = children.iter().map(|child| operator(child));
    if let Some(join) = part.downcast_ref::<HashJoinExec>() {
        let (left, right) = (operator(join.left()), operator(join.right()));
        let joined = left.joined(right, *join.join_type());
        return match join.filter() {
            Some(_) if *join.join_type() == JoinType::Inner => joined.times(shares::UNKNOWN),
            _ => joined,
        };
    }
    if part.is::<CrossJoinExec>() || part.is::<NestedLoopJoinExec>() {
        return inputs.reduce(Estimate::crossed).unwrap_or(Estimate::ONE);
    }
    if part.is::<UnionExec>() {
        return inputs.reduce(Estimate::added).unwrap_or(Estimate::ONE);
    }
    let Some(input) = inputs.next() else {
        return Estimate::ONE;
    };
    let input = inputs.fold(input, Estimate::larger);
    let estimate = match part.downcast_ref::<AggregateExec>() {
        Some(aggregate) if aggregate.group_expr().is_empty() => Estimate::ONE,
        Some(_) => input.grouped(None),
        // The estimate of a statement counts the conditions right above it, which the host tests (again).
        None if part.is::<FilterExec>()
            && !children.iter().any(|child| child.is::<RemoteExec>()) =>
        {
            input.times(shares::UNKNOWN)
        }
        None => input,
    };
    match part.fetch() {
        Some(rows) => estimate.at_most(rows as f64),
        None => estimate,
    }
}

/// The rows of a table that fulfil its filters, and some more conditions. One that stands in both counts once.
pub fn scanned(scan: &TableScan, more: Vec<Expr>) -> Estimate {
    let Some(all) = with_table(scan, |table| Estimate::table(table.row_count())) else {
        return Estimate::table(None);
    };
    let mut conditions = more;
    for filter in scan.filters.iter().flat_map(split_conjunction) {
        let filter = unqualified(filter);
        if !conditions.contains(&filter) {
            conditions.push(filter);
        }
    }
    let conditions: Vec<&Expr> = conditions.iter().collect();
    let facts = |column: &Column| with_table(scan, |table| table.facts(&column.name)).flatten();
    let left = all.times(shares::of_all(&conditions, &facts));
    match scan.fetch {
        Some(rows) => left.at_most(rows as f64),
        None => left,
    }
}

fn filtered(filter: &Filter) -> Estimate {
    let conditions = split_conjunction(&filter.predicate);
    match &*filter.input {
        LogicalPlan::TableScan(scan) => {
            scanned(scan, conditions.into_iter().map(unqualified).collect())
        }
        input => plan(input).filtered(&conditions, &[input]),
    }
}

fn joined(join: &Join) -> Estimate {
    let (left, right) = (plan(&join.left), plan(&join.right));
    let joined = match join.on.is_empty() && join.join_type == JoinType::Inner {
        true => left.crossed(right),
        false => left.joined(right, join.join_type),
    };
    match &join.filter {
        Some(filter) if join.join_type == JoinType::Inner => {
            joined.filtered(&split_conjunction(filter), &[&*join.left, &*join.right])
        }
        _ => joined,
    }
}

/// Distinct values that some values of a plan have together at most, if those of each are known.
pub fn distinct<'a>(part: &LogicalPlan, values: impl Iterator<Item = &'a Expr>) -> Option<f64> {
    let each = values.map(|value| match shares::bare(value) {
        Expr::Column(column) => facts(part, column)?.distinct,
        _ => None,
    });
    each.product()
}

/// Groups of all rows, if the distinct values of every column are known.
fn groups(aggregate: &Aggregate) -> Option<f64> {
    let distinct = aggregate.group_expr.iter().map(|expr| match expr {
        Expr::Column(column) => facts(&aggregate.input, column)?.distinct,
        _ => None,
    });
    distinct.product()
}

/// The rows that a limit reads at most.
fn fetched(limit: &Limit) -> Option<f64> {
    let (Ok(SkipType::Literal(skip)), Ok(FetchType::Literal(Some(rows)))) =
        (limit.get_skip_type(), limit.get_fetch_type())
    else {
        return None;
    };
    Some(skip.saturating_add(rows) as f64)
}

/// What is known of a column of a plan: that of the column of a table, if it is one.
fn facts(part: &LogicalPlan, column: &Column) -> Option<ColumnFacts> {
    let index = part.schema().maybe_index_of_column(column)?;
    let of_column = |input: &LogicalPlan, expr: &Expr| match shares::bare(expr) {
        Expr::Column(column) => facts(input, column),
        _ => None,
    };
    match part {
        LogicalPlan::TableScan(scan) => with_table(scan, |table| table.facts(&column.name))?,
        LogicalPlan::Projection(projection) => {
            of_column(&projection.input, projection.expr.get(index)?)
        }
        LogicalPlan::Aggregate(aggregate) => {
            of_column(&aggregate.input, aggregate.group_expr.get(index)?)
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let (relation, field) = alias.input.schema().qualified_field(index);
            facts(&alias.input, &Column::new(relation.cloned(), field.name()))
        }
        LogicalPlan::Union(_) => None,
        _ => part
            .inputs()
            .into_iter()
            .find_map(|input| facts(input, column)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn estimate(rows: f64, of: f64) -> Estimate {
        Estimate { rows, of }
    }

    #[test]
    fn join_keeps_of_its_larger_table_what_conditions_left_of_the_smaller_one() {
        let (lines, parts) = (estimate(18_000.0, 60_000.0), estimate(20.0, 2_000.0));
        let both = lines.joined(parts, JoinType::Inner);
        assert_eq!(both, estimate(180.0, 60_000.0));
        assert_eq!(parts.joined(lines, JoinType::Inner), both);
        // Fewer lines than suppliers: each has its supplier.
        let suppliers = estimate(1_000.0, 1_000.0);
        assert_eq!(suppliers.joined(both, JoinType::Inner), both);
    }

    #[test]
    fn join_by_what_neither_side_has_once_gives_more_rows() {
        let (a, b) = (estimate(1_000.0, 2_000.0), estimate(500.0, 500.0));
        let joined = a.joined(b, JoinType::Inner);
        assert_eq!(a.matched(b, Some(35.0)).rows, 1_000.0 * 500.0 / 35.0);
        assert_eq!(b.matched(a, Some(500.0)), joined);
        assert_eq!(a.matched(b, Some(2_000.0)), joined);
        assert_eq!(a.matched(b, None), joined);
    }

    #[test]
    fn semi_join_keeps_rows_of_one_side() {
        let (lines, parts) = (estimate(600.0, 600.0), estimate(20.0, 200.0));
        let kept = estimate(60.0, 600.0);
        assert_eq!(lines.joined(parts, JoinType::LeftSemi), kept);
        assert_eq!(parts.joined(lines, JoinType::RightSemi), kept);
        assert_eq!(parts.joined(lines, JoinType::LeftSemi), parts);
    }

    #[test]
    fn groups_are_at_most_the_distinct_values() {
        let lines = estimate(2_000.0, 60_000.0);
        assert_eq!(lines.grouped(Some(100.0)), estimate(100.0, 100.0));
        assert_eq!(lines.grouped(Some(1e6)), lines);
        assert_eq!(lines.grouped(None), estimate(200.0, 6_000.0));
    }
}
