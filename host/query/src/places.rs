//! Places in ORDER BY that DataFusion does not find among the columns.
//!
//! It reads `ORDER BY 1` as the name of the first column, and does not know that of an expression over aggregates or of
//! a window over them: `SELECT round(avg(price), 2) FROM t ORDER BY 1`. A statement that it refuses for this is planned
//! again, with a name of our own for each such column.

use std::ops::ControlFlow;

use datafusion::error::DataFusionError;
use sqlparser::ast::{
    Expr, Ident, OrderByKind, Query, SelectItem, SetExpr, Statement, Value, VisitMut as _,
    VisitorMut,
};

use super::{column_names::without_brackets, distinct_names::Shown};

/// The names of our own, with a number behind.
const COLUMN: &str = "__place_";
/// What DataFusion says of a place whose column it does not find.
const REFUSAL: &str = "Column in ORDER BY must be in GROUP BY or an aggregate function";

/// Whether a statement may have been refused because of a place.
pub fn are_missing(error: &DataFusionError) -> bool {
    let root = error.find_root();
    let of_planner = !matches!(root, DataFusionError::External(_));
    of_planner && root.strip_backtrace().contains(REFUSAL)
}

/// Whether an error has names that the caller did not write.
pub fn are_in(error: &DataFusionError) -> bool {
    error.strip_backtrace().contains(COLUMN)
}

/// Names the expressions that ORDER BY has by their place, and adds what the result shows for these names.
pub fn make(statement: &mut Statement, shown: &mut Shown) {
    let _ = statement.visit(&mut Places(shown));
}

struct Places<'a>(&'a mut Shown);

impl VisitorMut for Places<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let order = query.order_by.as_ref().map(|order| &order.kind);
        if let SetExpr::Select(select) = &mut *query.body
            && let Some(OrderByKind::Expressions(parts)) = order
        {
            for place in parts.iter().filter_map(|part| place(&part.expr)) {
                let before = select.projection.get_mut(..place).unwrap_or_default();
                // How many columns `*` stands for is not known here.
                let are_counted = before.iter().all(is_one);
                if let (true, Some(item)) = (are_counted, before.last_mut()) {
                    self.name(item);
                }
            }
        }
        ControlFlow::Continue(())
    }
}

impl Places<'_> {
    fn name(&mut self, item: &mut SelectItem) {
        let SelectItem::UnnamedExpr(expr) = item else {
            return;
        };
        let inside = without_brackets(expr);
        if matches!(inside, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) {
            return;
        }
        let own = format!("{COLUMN}{}", self.0.len() + 1);
        self.0.insert(own.clone(), expr.to_string());
        let (expr, alias) = (expr.clone(), Ident::with_quote('"', own));
        *item = SelectItem::ExprWithAlias { expr, alias };
    }
}

/// The place that a part of ORDER BY says, from one.
fn place(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => number.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

fn is_one(item: &SelectItem) -> bool {
    matches!(
        item,
        SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
    )
}
