//! GROUP BY, with the grouping sets that it stands for.

use sqlparser::{
    ast::{Expr, Function, FunctionArguments, GroupByExpr, GroupByWithModifier},
    tokenizer::Location,
};

use super::Walk;
use mindhost_base::error::{Code, Result};
use mindhost_plugin_api::Dialect;

/// Grouping sets of one GROUP BY at most, as in PostgreSQL and SQL Server. Each reads the rows once more, so that a CUBE
/// of 20 columns would take all memory.
const MAX_SETS: u64 = 4_096;

impl Walk<'_> {
    pub(super) fn group_by(&mut self, group_by: &mut GroupByExpr) -> Result<()> {
        let (exprs, modifiers) = match group_by {
            GroupByExpr::Expressions(exprs, modifiers) => (exprs, modifiers),
            GroupByExpr::All(modifiers) if self.is(Dialect::Clickhouse) => {
                return self.empty(modifiers, "a modifier of GROUP BY ALL");
            }
            GroupByExpr::All(_) => return Err(self.unsupported("GROUP BY ALL", Location::empty())),
        };
        let written = exprs.len();
        let mut sets: u64 = 1;
        for expr in exprs {
            sets = sets.saturating_mul(sets_of(expr));
            self.group_expr(expr)?;
        }
        for modifier in modifiers {
            match modifier {
                GroupByWithModifier::Rollup => sets = sets.saturating_mul(rollup(written)),
                GroupByWithModifier::Cube if !self.is(Dialect::Mysql) => {
                    sets = sets.saturating_mul(cube(written));
                }
                GroupByWithModifier::Cube => {
                    return Err(self.unsupported("WITH CUBE", Location::empty()));
                }
                GroupByWithModifier::GroupingSets(expr) => {
                    sets = sets.saturating_mul(sets_of(expr));
                    self.expr(expr)?;
                }
                GroupByWithModifier::Totals => {
                    return Err(self.unsupported("WITH TOTALS", Location::empty()));
                }
            }
        }
        match sets <= MAX_SETS {
            true => Ok(()),
            false => Err(self.error(
                Code::SqlNotSupported,
                format!(
                    "GROUP BY stands for more than {MAX_SETS} grouping sets; name those that you need in GROUPING SETS"
                ),
                Location::empty(),
            )),
        }
    }

    /// In T-SQL the parser takes ROLLUP and CUBE for functions.
    fn group_expr(&mut self, expr: &mut Expr) -> Result<()> {
        if self.is(Dialect::Mssql)
            && let Expr::Function(Function {
                name,
                uses_odbc_syntax: false,
                parameters: FunctionArguments::None,
                args: FunctionArguments::List(list),
                filter: None,
                null_treatment: None,
                over: None,
                within_group,
            }) = expr
            && within_group.is_empty()
            && list.duplicate_treatment.is_none()
            && list.clauses.is_empty()
            && matches!(
                name.to_string().to_ascii_lowercase().as_str(),
                "rollup" | "cube"
            )
        {
            return list.args.iter_mut().try_for_each(|arg| self.argument(arg));
        }
        self.expr(expr)
    }
}

/// The grouping sets that one item of GROUP BY stands for.
fn sets_of(expr: &Expr) -> u64 {
    match expr {
        Expr::Cube(items) => cube(items.len()),
        Expr::Rollup(items) => rollup(items.len()),
        // A CUBE among them is refused, as a function.
        Expr::GroupingSets(sets) => sets.len() as u64,
        // As T-SQL is read.
        Expr::Function(function) => match (function.name.to_string(), &function.args) {
            (name, FunctionArguments::List(list)) if name.eq_ignore_ascii_case("cube") => {
                cube(list.args.len())
            }
            (name, FunctionArguments::List(list)) if name.eq_ignore_ascii_case("rollup") => {
                rollup(list.args.len())
            }
            _ => 1,
        },
        _ => 1,
    }
}

fn cube(items: usize) -> u64 {
    u32::try_from(items).map_or(u64::MAX, |items| 2_u64.saturating_pow(items))
}

fn rollup(items: usize) -> u64 {
    items as u64 + 1
}
