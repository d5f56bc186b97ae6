//! Timestamps and times in microseconds, as sources have them. DataFusion's default, nanoseconds, ends in the year
//! 2262, and it compares no times of different units.

use std::sync::Arc;

use datafusion::{
    arrow::datatypes::{DataType as Physical, Field, FieldRef, TimeUnit},
    common::{
        DFSchema, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TransformedResult as _, TreeNode as _},
    },
    logical_expr::{
        Between, BinaryExpr, Cast, Expr as Planned, ExprSchemable as _, LogicalPlan, expr::InList,
        planner::TypePlanner, utils::merge_schema,
    },
    optimizer::AnalyzerRule,
};
use sqlparser::ast::{DataType, Statement, TimezoneInfo};

use super::{cast_types, meaning::is_comparison};

/// The zone of a session, in which timestamps with a zone are kept.
pub const ZONE: &str = "+00:00";
/// Fractional digits of a second.
const DIGITS: u64 = 6;

/// Plans `TIMESTAMP` without a precision as microseconds.
pub fn to_microseconds(statement: &mut Statement) {
    cast_types::change(statement, |data_type| {
        if let DataType::Timestamp(digits @ None, _) | DataType::Datetime(digits @ None) = data_type
        {
            *digits = Some(DIGITS);
        }
    });
}

/// Plans `TIME` as microseconds.
#[derive(Debug)]
pub struct MicrosecondTimes;

impl TypePlanner for MicrosecondTimes {
    fn plan_type_field(&self, written: &DataType) -> Result<Option<FieldRef>> {
        let zoneless = [TimezoneInfo::None, TimezoneInfo::WithoutTimeZone];
        let time = Physical::Time64(TimeUnit::Microsecond);
        Ok(match written {
            DataType::Time(None, zone) if zoneless.contains(zone) => {
                Some(Arc::new(Field::new("", time, true)))
            }
            _ => None,
        })
    }
}

/// Compares days with timestamps in microseconds: DataFusion casts both to nanoseconds, in which neither the year 9999
/// nor the year 1600 has a place.
#[derive(Debug)]
pub struct MicrosecondComparisons;

impl AnalyzerRule for MicrosecondComparisons {
    fn name(&self) -> &'static str {
        "microsecond_comparisons"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|node| {
            let schema = merge_schema(&node.inputs());
            let node = node.map_expressions(|expr| {
                expr.transform_up(|part| Ok(Transformed::yes(compared(part, &schema))))
            })?;
            node.transform_data(|node| Ok(Transformed::yes(joined(node, &schema))))
        })
        .data()
    }
}

/// A comparison whose sides are all cast to nanoseconds, with casts to microseconds.
fn compared(expr: Planned, schema: &DFSchema) -> Planned {
    match expr {
        Planned::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(op) => {
            let [left, right] = in_microseconds([*left, *right], schema);
            Planned::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
        }
        Planned::Between(Between {
            expr,
            negated,
            low,
            high,
        }) => {
            let [expr, low, high] = in_microseconds([*expr, *low, *high], schema);
            Planned::Between(Between::new(
                Box::new(expr),
                negated,
                Box::new(low),
                Box::new(high),
            ))
        }
        Planned::InList(InList {
            expr,
            mut list,
            negated,
        }) => {
            list.insert(0, *expr);
            let mut all = in_microseconds(list, schema);
            let expr = all.remove(0);
            Planned::InList(InList::new(Box::new(expr), all, negated))
        }
        other => other,
    }
}

/// The same for the pairs of equal values of a join.
fn joined(node: LogicalPlan, schema: &DFSchema) -> LogicalPlan {
    match node {
        LogicalPlan::Join(mut join) => {
            let pairs = join.on.into_iter().map(|(left, right)| {
                let [left, right] = in_microseconds([left, right], schema);
                (left, right)
            });
            join.on = pairs.collect();
            LogicalPlan::Join(join)
        }
        other => other,
    }
}

/// Sides of a comparison; as they are if one of them is no day or timestamp that was cast to nanoseconds.
fn in_microseconds<C: AsMut<[Planned]>>(mut sides: C, schema: &DFSchema) -> C {
    if sides.as_mut().iter().all(|side| is_widened(side, schema)) {
        for side in sides.as_mut() {
            if let Planned::Cast(cast) = side {
                let to = Physical::Timestamp(TimeUnit::Microsecond, None);
                *cast = Cast::new(cast.expr.clone(), to);
            }
        }
    }
    sides
}

fn is_widened(side: &Planned, schema: &DFSchema) -> bool {
    let Planned::Cast(cast) = side else {
        return false;
    };
    let is_nanoseconds = matches!(
        cast.field.data_type(),
        Physical::Timestamp(TimeUnit::Nanosecond, None)
    );
    is_nanoseconds
        && cast.expr.get_type(schema).is_ok_and(|from| match from {
            Physical::Date32 => true,
            Physical::Timestamp(unit, _) => unit != TimeUnit::Nanosecond,
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_has_the_unit_of_the_sources() {
        let planned = |zone| {
            let field = MicrosecondTimes.plan_type_field(&DataType::Time(None, zone));
            field.unwrap().map(|field| field.data_type().clone())
        };
        let time = Some(Physical::Time64(TimeUnit::Microsecond));
        assert_eq!(planned(TimezoneInfo::None), time);
        assert_eq!(planned(TimezoneInfo::WithoutTimeZone), time);
        assert_eq!(planned(TimezoneInfo::WithTimeZone), None);
    }
}
