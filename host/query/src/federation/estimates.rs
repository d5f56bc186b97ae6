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
//! smaller side has. So do those here where the catalog has counted both sides. Else a join by keys keeps the share of
//! its larger side that conditions left of the smaller one.

mod columns;
mod shares;

use std::sync::Arc;

use datafusion::{
    common::{Column, JoinType},
    logical_expr::{
        Aggregate, Expr, FetchType, Filter, Join, Limit, LogicalPlan, SkipType, TableScan,
        utils::split_conjunction,
    },
    physical_expr::{PhysicalExpr, expressions::Column as PhysicalColumn},
    physical_plan::{
        ExecutionPlan,
        aggregates::AggregateExec,
        filter::FilterExec,
        joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec},
        projection::ProjectionExec,
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

/// Distinct values of the keys of the left and the right side of a join, if they are known.
type Distinct = (Option<f64>, Option<f64>);

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

    /// An inner join by keys, of which each side has so many distinct values, if that is known. The values of the side
    /// with fewer are among those of the other side. So there are more rows than the larger side has if neither has a
    /// key once, and fewer if the smaller one has few of the keys. `keys` are the columns: of several, not all
    /// combinations of their values are there.
    pub fn matched(self, other: Self, distinct: Distinct, keys: usize) -> Self {
        let joined = self.joined(other, JoinType::Inner);
        let once = self.of.min(other.of);
        let (left, right) = distinct;
        // There are no more values than rows.
        let most = match (left.map(|n| n.min(self.of)), right.map(|n| n.min(other.of))) {
            (Some(left), Some(right)) => left.max(right),
            (Some(left), None) if left >= other.of => left,
            (None, Some(right)) if right >= self.of => right,
            _ => return joined,
        };
        match keys == 1 || most < once {
            true => joined.times(once / most.max(1.0)),
            false => joined,
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
        let joined = match join.join_type() {
            JoinType::Inner => left.matched(right, distinct_keys(join), join.on().len()),
            join_type => left.joined(right, *join_type),
        };
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
    let joined = match join.join_type {
        JoinType::Inner if join.on.is_empty() => left.crossed(right),
        JoinType::Inner => {
            let of_left = distinct(&join.left, join.on.iter().map(|(left, _)| left));
            let of_right = distinct(&join.right, join.on.iter().map(|(_, right)| right));
            left.matched(right, (of_left, of_right), join.on.len())
        }
        join_type => left.joined(right, join_type),
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

/// Distinct values of each column of a plan, of which the catalog knows.
pub fn distinct_of_columns(part: &LogicalPlan) -> Vec<Option<f64>> {
    let columns = part.schema().columns().into_iter();
    columns
        .map(|column| facts(part, &column)?.distinct)
        .collect()
}

/// Distinct values that the keys of a join have together at most, if those of each are known.
fn distinct_keys(join: &HashJoinExec) -> Distinct {
    let left = join.on().iter();
    let left = left.map(|(value, _)| distinct_value(join.left(), value));
    let right = join.on().iter();
    let right = right.map(|(_, value)| distinct_value(join.right(), value));
    (left.product(), right.product())
}

/// Distinct values of an expression about an operator: of a column that is one of a statement.
fn distinct_value(part: &Arc<dyn ExecutionPlan>, value: &Arc<dyn PhysicalExpr>) -> Option<f64> {
    let place = value.downcast_ref::<PhysicalColumn>()?.index();
    if let Some(remote) = part.downcast_ref::<RemoteExec>() {
        return remote.distinct(place);
    }
    if let Some(projection) = part.downcast_ref::<ProjectionExec>() {
        return distinct_value(projection.input(), &projection.expr().get(place)?.expr);
    }
    let column = |place| -> Arc<dyn PhysicalExpr> { Arc::new(PhysicalColumn::new("", place)) };
    if let Some(join) = part.downcast_ref::<HashJoinExec>() {
        if *join.join_type() != JoinType::Inner {
            return None;
        }
        let place = match &join.projection {
            Some(kept) => *kept.get(place)?,
            None => place,
        };
        let of_left = join.left().schema().fields().len();
        return match place.checked_sub(of_left) {
            Some(place) => distinct_value(join.right(), &column(place)),
            None => distinct_value(join.left(), &column(place)),
        };
    }
    match part.children().as_slice() {
        [input] if input.schema().fields() == part.schema().fields() => {
            distinct_value(input, &column(place))
        }
        _ => None,
    }
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
        let matched = a.matched(b, (Some(35.0), Some(20.0)), 1);
        assert_eq!(matched.rows, 1_000.0 * 500.0 / 35.0);
        assert_eq!(b.matched(a, (Some(500.0), Some(500.0)), 1), joined);
        assert_eq!(a.matched(b, (None, Some(20.0)), 1), joined);
    }

    #[test]
    fn join_with_few_of_the_keys_gives_few_rows() {
        let (large, few) = (estimate(300_000.0, 300_000.0), estimate(8.0, 8.0));
        let all = Some(300_000.0);
        assert_eq!(few.matched(large, (Some(8.0), all), 1).rows, 8.0);
        // Few rows have few values in any case.
        assert_eq!(large.matched(few, (all, None), 1).rows, 8.0);
        // Of two columns, the values are not known together.
        let joined = large.joined(few, JoinType::Inner);
        assert_eq!(large.matched(few, (all, Some(8.0)), 2), joined);
        // A column has no more values than there are rows.
        let half = estimate(150_000.0, 300_000.0);
        let matched = half.matched(large, (Some(1e9), all), 1);
        assert_eq!(matched.rows, 150_000.0);
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
