//! Where a statement uses the names that its SELECT gives to expressions.

use std::{collections::HashMap, ops::ControlFlow};

use sqlparser::ast::{
    Expr, GroupByExpr, Ident, OrderByKind, Query, Select, SelectItem, SetExpr, Visit, Visitor,
};

use super::{AliasUse, Clause, Name, read};
use crate::rules::Rules;

/// Uses in one SELECT that are looked at.
const MAX_USES: usize = 32;
/// Bytes of an expression that may be repeated.
const MAX_EXPRESSION: usize = 1_000;

/// The names that one SELECT gives, with their expressions.
pub(super) struct Aliases<'a> {
    rules: &'a Rules,
    /// By the name in lower case; `None` for a name that is given twice.
    by_name: HashMap<String, Option<&'a Expr>>,
    select: &'a Select,
}

impl<'a> Aliases<'a> {
    pub(super) fn of(select: &'a Select, rules: &'a Rules) -> Self {
        let mut by_name = HashMap::new();
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { expr, alias } = item {
                by_name
                    .entry(alias.value.to_lowercase())
                    .and_modify(|one| *one = None)
                    .or_insert(Some(expr));
            }
        }
        Self {
            rules,
            by_name,
            select,
        }
    }

    /// The uses in the SELECT itself. `name` reads a name with its position.
    pub(super) fn uses(&self, name: &dyn Fn(&Ident) -> Name) -> Vec<AliasUse> {
        let Select {
            projection,
            selection,
            group_by,
            having,
            ..
        } = self.select;
        let by = match group_by {
            GroupByExpr::Expressions(by, _) => &by[..],
            GroupByExpr::All(_) => &[],
        };
        let items = projection.iter().filter_map(|item| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                Some((Clause::Select, expr))
            }
            _ => None,
        });
        let filters = selection.iter().map(|expr| (Clause::Where, expr));
        let groups = by.iter().map(|expr| (Clause::GroupBy, expr));
        let conditions = having.iter().map(|expr| (Clause::Having, expr));
        self.in_clauses(items.chain(filters).chain(groups).chain(conditions), name)
    }

    /// The uses in the ORDER BY of a query whose only SELECT this is.
    pub(super) fn uses_in_order(
        query: &Query,
        rules: &Rules,
        name: &dyn Fn(&Ident) -> Name,
    ) -> Vec<AliasUse> {
        let (SetExpr::Select(select), Some(order)) = (query.body.as_ref(), &query.order_by) else {
            return Vec::new();
        };
        let OrderByKind::Expressions(keys) = &order.kind else {
            return Vec::new();
        };
        let keys = keys.iter().map(|key| (Clause::OrderBy, &key.expr));
        Aliases::of(select, rules).in_clauses(keys, name)
    }

    fn in_clauses<'b>(
        &self,
        exprs: impl Iterator<Item = (Clause, &'b Expr)>,
        name: &dyn Fn(&Ident) -> Name,
    ) -> Vec<AliasUse> {
        let mut uses = Vec::new();
        if self.by_name.is_empty() {
            return uses;
        }
        for (clause, expr) in exprs {
            for ident in Parts::of(expr, self.rules).names {
                let Some(Some(meant)) = self.by_name.get(&ident.value.to_lowercase()) else {
                    continue;
                };
                if uses.len() >= MAX_USES {
                    return uses;
                }
                // `a AS a` names a column.
                if matches!(meant, Expr::Identifier(column) if column.value == ident.value) {
                    continue;
                }
                let parts = Parts::of(meant, self.rules);
                uses.push(AliasUse {
                    name: name(&ident),
                    clause,
                    is_whole: matches!(expr, Expr::Identifier(_)),
                    expression: repeated(meant),
                    has_aggregate: parts.has_aggregate,
                    has_window: parts.has_window,
                });
            }
        }
        uses
    }
}

/// An expression as it can stand in place of its name.
fn repeated(expr: &Expr) -> Option<String> {
    let text = expr.to_string();
    let is_one = matches!(
        expr,
        Expr::Identifier(_)
            | Expr::CompoundIdentifier(_)
            | Expr::Value(_)
            | Expr::Function(_)
            | Expr::Nested(_)
            | Expr::Case { .. }
            | Expr::Cast { .. }
            | Expr::Extract { .. }
            | Expr::Subquery(_)
    );
    let text = match is_one {
        true => text,
        false => format!("({text})"),
    };
    (text.len() <= MAX_EXPRESSION).then_some(text)
}

/// What an expression is made of, without its subqueries.
struct Parts<'a> {
    rules: &'a Rules,
    /// Queries around the expression that is visited.
    depth: usize,
    names: Vec<Ident>,
    has_aggregate: bool,
    has_window: bool,
}

impl<'a> Parts<'a> {
    fn of(expr: &Expr, rules: &'a Rules) -> Self {
        let mut parts = Self {
            rules,
            depth: 0,
            names: Vec::new(),
            has_aggregate: false,
            has_window: false,
        };
        let _ = Visit::visit(expr, &mut parts);
        parts
    }
}

impl Visitor for Parts<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth = self.depth.saturating_sub(1);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            _ if self.depth > 0 => {}
            Expr::Identifier(ident) => self.names.push(ident.clone()),
            Expr::Function(function) if function.over.is_some() => self.has_window = true,
            Expr::Function(function) => {
                let name = read::last_ident(&function.name).map(|name| name.value.to_lowercase());
                let is_aggregate = |name: String| self.rules.aggregates.contains(name.as_str());
                self.has_aggregate |= name.is_some_and(is_aggregate);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
