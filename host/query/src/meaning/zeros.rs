//! The two zeros of floats. DataFusion takes them for two values where it compares by their bits: in `CASE x WHEN 0`,
//! in lists of `IN`, in `count(DISTINCT x)`, and among the rows of a window that stand at the same place. A computed NaN has a sign by which it is less than all
//! numbers.

use datafusion::{
    arrow::datatypes::DataType,
    common::{
        DFSchema, Result, ScalarValue,
        tree_node::{Transformed, TreeNode as _},
    },
    logical_expr::{
        BinaryExpr, Case, Expr, ExprSchemable as _, LogicalPlan, Operator, expr::InList,
        expr_rewriter::NamePreserver, utils::merge_schema,
    },
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

use crate::checked_arithmetic;

/// An expression that compares floats as numbers. The sum with zero is the zero without a sign, and the one NaN.
pub fn equal(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    Ok(match expr {
        Expr::Case(Case {
            expr: Some(of),
            when_then_expr,
            else_expr,
        }) => {
            let pairs = when_then_expr.into_iter().map(|(mut when, then)| {
                add_zero(&mut when, schema)?;
                Ok((when, then))
            });
            let pairs = pairs.collect::<Result<_>>()?;
            let mut of = of;
            add_zero(&mut of, schema)?;
            Expr::Case(Case::new(Some(of), pairs, else_expr))
        }
        Expr::AggregateFunction(mut function) if function.params.distinct => {
            for value in &mut function.params.args {
                add_zero(value, schema)?;
            }
            Expr::AggregateFunction(function)
        }
        Expr::WindowFunction(mut function) => {
            let window = &mut function.params;
            if window.distinct {
                for value in &mut window.args {
                    add_zero(value, schema)?;
                }
            }
            for part in &mut window.partition_by {
                add_zero(part, schema)?;
            }
            for key in &mut window.order_by {
                add_zero(&mut key.expr, schema)?;
            }
            Expr::WindowFunction(function)
        }
        Expr::InList(list) => with_both_zeros(list, schema)?.data,
        Expr::BinaryExpr(BinaryExpr {
            op: Operator::Divide,
            ..
        }) => match negative_zero(&expr.get_type(schema)?) {
            // It changes no value. A sum has the one NaN.
            Some(zero) => plus(expr, zero),
            None => expr,
        },
        other => other,
    })
}

/// After the optimiser computed constants, and made lists of `x = 0 OR x = 1 OR …`.
#[derive(Debug)]
pub struct ZerosOfLists;

impl OptimizerRule for ZerosOfLists {
    fn name(&self) -> &str {
        "zeros_of_lists"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let schema = match &plan {
            LogicalPlan::TableScan(scan) => {
                DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?
            }
            other => merge_schema(&other.inputs()),
        };
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let changed = expr.transform_up(|part| match part {
                Expr::InList(list) => with_both_zeros(list, &schema),
                other => Ok(Transformed::no(other)),
            })?;
            Ok(changed.update_data(|expr| name.restore(expr)))
        })
    }
}

/// `x IN (0, …)` as `x IN (0, …, 0e0, -0e0)`: the optimiser would put `OR x = 0` back into the list. Nothing is computed
/// of `x`, so that a source can still look it up in an index.
fn with_both_zeros(mut list: InList, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let mut missing = Vec::new();
    if list.list.iter().any(is_zero) {
        for value in std::iter::once(&*list.expr).chain(&list.list) {
            let of = value.get_type(schema)?;
            if let Some(negative) = negative_zero(&of) {
                // The type of what is looked for comes first: what is added must not make it another one.
                let zeros = [ScalarValue::new_zero(&of)?, negative];
                missing.extend(zeros.map(|zero| Expr::Literal(zero, None)));
                break;
            }
        }
    }
    missing.retain(|zero| !list.list.contains(zero));
    let is_changed = !missing.is_empty();
    list.list.append(&mut missing);
    Ok(Transformed::new_transformed(Expr::InList(list), is_changed))
}

/// Whether it is a zero as a text of SQL has it.
fn is_zero(constant: &Expr) -> bool {
    match constant {
        Expr::Literal(value, _) => matches!(
            value.cast_to(&DataType::Float64),
            Ok(ScalarValue::Float64(Some(0.0)))
        ),
        Expr::Negative(of) => is_zero(of),
        Expr::Cast(cast) => is_zero(&cast.expr),
        _ => false,
    }
}

fn negative_zero(of: &DataType) -> Option<ScalarValue> {
    match of {
        DataType::Float32 => Some(ScalarValue::Float32(Some(-0.0))),
        DataType::Float64 => Some(ScalarValue::Float64(Some(-0.0))),
        _ => None,
    }
}

fn plus(value: Expr, zero: ScalarValue) -> Expr {
    let zero = Expr::Literal(zero, None);
    checked_arithmetic::call(Some(Operator::Plus), vec![value, zero])
}

fn add_zero(value: &mut Expr, schema: &DFSchema) -> Result<()> {
    let of = value.get_type(schema)?;
    let is_float = matches!(of, DataType::Float32 | DataType::Float64);
    if is_float && !matches!(value, Expr::Literal(..)) {
        *value = plus(std::mem::take(value), ScalarValue::new_zero(&of)?);
    }
    Ok(())
}
