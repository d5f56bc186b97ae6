//! The share of rows that conditions leave. Columns count as independent of each other.

use datafusion::{
    common::{Column, ScalarValue},
    logical_expr::{
        Between, BinaryExpr, Expr, Operator,
        expr::{InList, Like},
        utils::{split_binary, split_conjunction},
    },
};

use super::columns::ColumnFacts;

/// What a condition leaves of which nothing is known.
pub const UNKNOWN: f64 = 0.2;
/// The least share: no condition leaves surely nothing.
const LEAST: f64 = 1e-6;
/// Conditions of one AND that are guessed as [`UNKNOWN`]; more are taken to follow from each other.
const MAX_UNKNOWN: usize = 3;

/// Finds what is known of a column.
type Facts<'a> = &'a dyn Fn(&Column) -> Option<ColumnFacts>;

/// The share of rows that fulfil all of some conditions.
pub fn of_all(conditions: &[&Expr], facts: Facts<'_>) -> f64 {
    let mut intervals: Vec<Interval> = Vec::new();
    let (mut share, mut unknown) = (1.0, 0);
    for condition in conditions {
        if let Some(interval) = Interval::of(condition, facts) {
            let known = intervals
                .iter_mut()
                .find(|known| known.column == interval.column);
            match known {
                Some(known) => known.narrow(&interval),
                None => intervals.push(interval),
            }
            continue;
        }
        match of_one(condition, facts) {
            Some(known) => share *= known,
            None => unknown += 1,
        }
    }
    share *= intervals.iter().map(Interval::share).product::<f64>();
    share *= UNKNOWN.powi(unknown.min(MAX_UNKNOWN) as i32);
    share.clamp(LEAST, 1.0)
}

/// The share of one condition; `None` if nothing is known of it.
fn of_one(condition: &Expr, facts: Facts<'_>) -> Option<f64> {
    let share = match condition {
        Expr::Alias(alias) => of_one(&alias.expr, facts)?,
        Expr::Literal(ScalarValue::Boolean(Some(true)), _) => 1.0,
        Expr::Literal(..) => 0.0,
        Expr::Column(column) => facts(column)?.equal(Some(&ScalarValue::from(true)))?,
        Expr::Not(inner) => 1.0 - of_one(inner, facts)?,
        Expr::IsNull(inner) => nulls(inner, facts)?,
        Expr::IsNotNull(inner) => 1.0 - nulls(inner, facts)?,
        Expr::InList(list) => listed(list, facts)?,
        Expr::Between(between) => outside(between, facts)?,
        Expr::Like(like) => alike(like, facts)?,
        Expr::BinaryExpr(binary) => match binary.op {
            Operator::And => of_all(&split_conjunction(condition), facts),
            Operator::Or => of_any(&split_binary(condition, Operator::Or), facts),
            Operator::Eq => equal(binary, facts)?.0,
            Operator::NotEq => {
                let (share, column) = equal(binary, facts)?;
                column.not_null() - share
            }
            _ => return None,
        },
        _ => return None,
    };
    Some(share.clamp(0.0, 1.0))
}

fn of_any(conditions: &[&Expr], facts: Facts<'_>) -> f64 {
    let without = conditions
        .iter()
        .map(|one| 1.0 - of_all(std::slice::from_ref(one), facts));
    1.0 - without.product::<f64>()
}

/// The share of an equality, and the column that it is about.
fn equal(binary: &BinaryExpr, facts: Facts<'_>) -> Option<(f64, ColumnFacts)> {
    let (column, value) = match (bare(&binary.left), bare(&binary.right)) {
        (Expr::Column(column), other) | (other, Expr::Column(column)) => (column, constant(other)),
        _ => return None,
    };
    let column = facts(column)?;
    Some((column.equal(value)?, column))
}

fn nulls(of: &Expr, facts: Facts<'_>) -> Option<f64> {
    match bare(of) {
        Expr::Column(column) => facts(column)?.nulls,
        _ => None,
    }
}

fn listed(list: &InList, facts: Facts<'_>) -> Option<f64> {
    let Expr::Column(column) = bare(&list.expr) else {
        return None;
    };
    let column = facts(column)?;
    let shares = list.list.iter().map(|value| column.equal(constant(value)));
    let share = shares.sum::<Option<f64>>()?.min(column.not_null());
    Some(match list.negated {
        true => column.not_null() - share,
        false => share,
    })
}

fn outside(between: &Between, facts: Facts<'_>) -> Option<f64> {
    let inside = Between {
        negated: false,
        ..between.clone()
    };
    let interval = Interval::of(&Expr::Between(inside), facts)?;
    Some(interval.facts.not_null() - interval.share())
}

fn alike(like: &Like, facts: Facts<'_>) -> Option<f64> {
    let pattern = constant(&like.pattern)?;
    let is_text = pattern
        .try_as_str()
        .flatten()
        .is_some_and(|text| !text.contains(['%', '_', '\\']));
    let equal = match bare(&like.expr) {
        Expr::Column(column) if is_text && !like.case_insensitive => {
            facts(column)?.equal(Some(pattern))
        }
        _ => None,
    };
    match (equal, like.negated) {
        (share, false) => share,
        (share, true) => Some(1.0 - share.unwrap_or(UNKNOWN)),
    }
}

/// What a range condition leaves of the values of a column, or several of them together.
struct Interval {
    column: Column,
    facts: ColumnFacts,
    from: f64,
    /// Values are below it.
    until: f64,
}

impl Interval {
    fn of(condition: &Expr, facts: Facts<'_>) -> Option<Self> {
        let (of, sides) = match condition {
            Expr::Between(between) if !between.negated => {
                let low = (Operator::GtEq, constant(&between.low)?);
                let high = (Operator::LtEq, constant(&between.high)?);
                (bare(&between.expr), vec![low, high])
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let (of, op, value) = match constant(right) {
                    Some(value) => (left, *op, value),
                    None => (right, op.swap()?, constant(left)?),
                };
                (bare(of), vec![(op, value)])
            }
            _ => return None,
        };
        let Expr::Column(column) = of else {
            return None;
        };
        let facts = facts(column)?;
        let (range, step) = (facts.range?, facts.step());
        let mut interval = Self {
            column: column.clone(),
            from: range.least,
            until: range.greatest + step,
            facts,
        };
        for (op, value) in sides {
            let value = interval.facts.number(value)?;
            let (from, until) = (interval.from, interval.until);
            match op {
                Operator::Gt => interval.from = from.max(value + step),
                Operator::GtEq => interval.from = from.max(value),
                Operator::Lt => interval.until = until.min(value),
                Operator::LtEq => interval.until = until.min(value + step),
                _ => return None,
            }
        }
        Some(interval)
    }

    fn narrow(&mut self, other: &Self) {
        self.from = self.from.max(other.from);
        self.until = self.until.min(other.until);
    }

    /// Values count as spread evenly. Where an interval has any, it has one of the distinct ones at least.
    fn share(&self) -> f64 {
        let Some(range) = self.facts.range.filter(|_| self.from <= self.until) else {
            return 0.0;
        };
        let all = range.greatest + self.facts.step() - range.least;
        let share = match all > 0.0 {
            true => (self.until - self.from) / all,
            false => 1.0,
        };
        let one = self
            .facts
            .distinct
            .map_or(0.0, |distinct| 1.0 / distinct.max(1.0));
        share.max(one).min(1.0) * self.facts.not_null()
    }
}

/// An expression without names and casts around it.
pub fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => bare(&alias.expr),
        Expr::Cast(cast) => bare(&cast.expr),
        Expr::TryCast(cast) => bare(&cast.expr),
        other => other,
    }
}

fn constant(expr: &Expr) -> Option<&ScalarValue> {
    match bare(expr) {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::{
        arrow::datatypes::DataType,
        prelude::{cast, col, lit},
    };
    use mindhost_plugin_api::ColumnStatistics;

    use super::*;

    /// Of a table of a thousand rows: `size` from 1 to 50, `day` of a hundred days, a quarter of them NULL, and `name`
    /// with 20 texts, of which one has half of the rows.
    fn facts(column: &Column) -> Option<ColumnFacts> {
        let known = |nulls, distinct, least: &str, greatest: &str| ColumnStatistics {
            column: column.name.clone(),
            null_fraction: Some(nulls),
            distinct_count: Some(distinct),
            common_values: Vec::new(),
            min_value: Some(least.to_owned()),
            max_value: Some(greatest.to_owned()),
            estimated: false,
            sampled_rows: None,
        };
        let (known, data_type) = match column.name.as_str() {
            "size" => (known(0.0, 50, "1", "50"), DataType::Int64),
            "day" => (
                known(0.25, 100, "1970-01-01", "1970-04-10"),
                DataType::Date32,
            ),
            "name" => {
                let common = vec![(String::from("tea"), 0.5)];
                let known = known(0.0, 20, "ale", "tea");
                (
                    ColumnStatistics {
                        common_values: common,
                        ..known
                    },
                    DataType::Utf8,
                )
            }
            _ => return None,
        };
        Some(ColumnFacts::new(&known, &data_type, Some(1_000)))
    }

    fn share(condition: &Expr) -> f64 {
        let share = of_all(&split_conjunction(condition), &facts);
        (share * 1e4).round() / 1e4
    }

    fn day(day: i32) -> Expr {
        Expr::Literal(ScalarValue::Date32(Some(day)), None)
    }

    #[test]
    fn equality_and_lists_count_distinct_values() {
        assert_eq!(share(&col("size").eq(lit(7_i64))), 0.02);
        assert_eq!(share(&lit(7_i64).eq(col("size"))), 0.02);
        assert_eq!(share(&col("size").not_eq(lit(7_i64))), 0.98);
        assert_eq!(
            share(&cast(col("size"), DataType::Float64).eq(lit(7.0))),
            0.02
        );
        let list = vec![lit(1_i64), lit(2_i64), lit(3_i64)];
        assert_eq!(share(&col("size").in_list(list.clone(), false)), 0.06);
        assert_eq!(share(&col("size").in_list(list, true)), 0.94);
        assert_eq!(share(&col("name").eq(lit("tea"))), 0.5);
        assert_eq!(share(&col("name").eq(lit("ale"))), 0.0263);
        // Another value than any that is known.
        assert_eq!(share(&col("size").eq(lit(51_i64))), 0.0);
    }

    #[test]
    fn ranges_of_one_column_are_one_interval() {
        let month = col("day").gt_eq(day(10)).and(col("day").lt(day(20)));
        assert_eq!(share(&month), 0.075);
        assert_eq!(
            share(&day(10).lt_eq(col("day")).and(col("day").lt(day(20)))),
            0.075
        );
        assert_eq!(share(&col("size").between(lit(1_i64), lit(5_i64))), 0.1);
        assert_eq!(share(&col("size").not_between(lit(1_i64), lit(5_i64))), 0.9);
        assert_eq!(share(&col("size").gt(lit(40_i64))), 0.2);
        assert_eq!(
            share(&col("size").gt(lit(50_i64)).and(col("size").lt(lit(3_i64)))),
            0.0
        );
        // One day is one of a hundred.
        assert_eq!(share(&col("day").gt_eq(day(99))), 0.0075);
    }

    #[test]
    fn conditions_are_composed() {
        let (one, two) = (col("size").eq(lit(1_i64)), col("name").eq(lit("tea")));
        assert_eq!(share(&one.clone().and(two.clone())), 0.01);
        assert_eq!(share(&one.clone().or(two.clone())), 0.51);
        assert_eq!(share(&Expr::Not(Box::new(one.or(two)))), 0.49);
        assert_eq!(share(&col("day").is_null()), 0.25);
        assert_eq!(share(&col("day").is_not_null()), 0.75);
    }

    #[test]
    fn what_is_not_known_is_guessed() {
        assert_eq!(share(&col("name").like(lit("%e%"))), UNKNOWN);
        assert_eq!(share(&col("name").not_like(lit("%e%"))), 1.0 - UNKNOWN);
        assert_eq!(share(&col("name").like(lit("tea"))), 0.5);
        assert_eq!(share(&col("name").lt(lit("m"))), UNKNOWN);
        let other = col("other").eq(lit(1_i64));
        assert_eq!(share(&other), UNKNOWN);
        assert_eq!(share(&Expr::Not(Box::new(other.clone()))), UNKNOWN);
        let ten = vec![other; 10].into_iter().reduce(Expr::and).unwrap();
        assert_eq!(share(&ten), 0.008);
        assert_eq!(share(&col("size").lt(col("other"))), UNKNOWN);
    }
}
