//! Columns that `USING` makes one of two.
//!
//! DataFusion takes the left table's for it, also where an outer join has no row of that table, and it does not find it
//! in WHERE and in subqueries. So its name is replaced by that of a table's column.

use std::{collections::HashMap, ops::ControlFlow};

use sqlparser::ast::{
    CaseWhen, Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, OrderByKind, Query,
    Select, SelectItem, SetExpr, Statement, TableFactor, TableWithJoins, VisitMut, VisitorMut,
    helpers::attached_token::AttachedToken,
};

use super::using_wildcard::{self, Columns};
use crate::names::folded;
use mindhost_base::error::{Code, Error, Result};

const IN_SUBQUERY: &str =
    "NATURAL, and USING after several tables, are not supported in a subquery; write ON a.k = b.k";
const OUTER: &str = "NATURAL, and USING after several tables, are not supported for RIGHT and FULL JOIN; \
                     write ON a.k = b.k";
const WILDCARD: &str = "`*` is not supported over an outer join with NATURAL, or with USING after several tables; name the \
                        columns, or write ON a.k = b.k";
const AGAIN: &str = "a column that RIGHT or FULL JOIN makes of two by USING cannot be joined again by USING; \
                     write ON a.k = b.k";

/// Replaces the names of such columns.
///
/// # Errors
/// `sql_not_supported` where it is not seen from the statement alone which column is meant.
pub fn named_by_table(statement: &mut Statement) -> Result<()> {
    match VisitMut::visit(statement, &mut Queries { subqueries: 0 }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(why) => Err(Error::new(Code::SqlNotSupported, why)),
    }
}

type Flow = ControlFlow<&'static str>;

struct Queries {
    /// Subqueries of expressions around the query.
    subqueries: usize,
}

impl VisitorMut for Queries {
    type Break = &'static str;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> Flow {
        self.subqueries += usize::from(is_subquery(expr));
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> Flow {
        self.subqueries -= usize::from(is_subquery(expr));
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> Flow {
        let in_subquery = self.subqueries > 0;
        if let SetExpr::Select(select) = query.body.as_mut() {
            let names = replaced(select, in_subquery)?;
            let order = query.order_by.as_mut().map(|order| &mut order.kind);
            if let Some(OrderByKind::Expressions(parts)) = order {
                let mut names = names;
                names.columns.retain(|name, _| !has_alias(select, name));
                let _ = parts.visit(&mut names);
            }
            return ControlFlow::Continue(());
        }
        let mut bodies = vec![query.body.as_mut()];
        while let Some(body) = bodies.pop() {
            match body {
                SetExpr::SetOperation { left, right, .. } => {
                    bodies.extend([left.as_mut(), right.as_mut()])
                }
                SetExpr::Select(select) => _ = replaced(select, in_subquery)?,
                _ => {}
            }
        }
        ControlFlow::Continue(())
    }
}

fn is_subquery(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Exists { .. } | Expr::InSubquery { .. } | Expr::Subquery(_)
    )
}

/// Replaces the names in all but the joins themselves, and gives what was replaced by what.
fn replaced(select: &mut Select, in_subquery: bool) -> ControlFlow<&'static str, Names> {
    let has_wildcard = using_wildcard::is_in(&select.projection);
    let columns = Columns::of(select).filter(|_| has_wildcard);
    let joins = Joins {
        in_subquery,
        has_unknown_wildcard: has_wildcard && columns.is_none(),
    };
    let mut merged = Merged::new();
    for table in &select.from {
        unite(&mut merged, joins.merged(table)?);
    }
    let values = merged.into_iter();
    let values = values.filter_map(|(name, column)| Some((name, column?.value)));
    let mut names = Names {
        columns: values.collect(),
        depth: 0,
    };
    if let Some(columns) = columns {
        columns.put_into(&mut select.projection, &names.columns);
    }
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(Expr::Identifier(name)) = item
            && let Some(Expr::Case { .. }) = names.columns.get(&folded(name))
        {
            let (expr, alias) = (Expr::Identifier(name.clone()), name.clone());
            *item = SelectItem::ExprWithAlias { expr, alias };
        }
    }
    let _ = select.projection.visit(&mut names);
    let _ = select.selection.visit(&mut names);
    let _ = select.group_by.visit(&mut names);
    let _ = select.having.visit(&mut names);
    ControlFlow::Continue(names)
}

fn has_alias(select: &Select, name: &str) -> bool {
    select.projection.iter().any(|item| match item {
        SelectItem::ExprWithAlias { alias, .. } => folded(alias) == name,
        _ => false,
    })
}

/// A column of two tables.
struct Column {
    value: Expr,
    /// Whether it is the column of the left table, as DataFusion has it.
    is_left: bool,
}

/// Such columns by their names. `None`: not known which, or of two joins that have nothing to do with each other.
type Merged = HashMap<String, Option<Column>>;

/// Adds the columns of another table of the same FROM.
fn unite(columns: &mut Merged, others: Merged) {
    for (name, column) in others {
        let is_new = !columns.contains_key(&name);
        columns.insert(name, column.filter(|_| is_new));
    }
}

/// Looks for the columns that joins make of two.
struct Joins {
    in_subquery: bool,
    /// A `*` of which the statement alone does not say what columns it has.
    has_unknown_wildcard: bool,
}

impl Joins {
    fn merged(&self, table: &TableWithJoins) -> ControlFlow<&'static str, Merged> {
        let mut columns = self.nested(&table.relation)?;
        for (before, join) in table.joins.iter().enumerate() {
            let left = (before == 0).then_some(&table.relation);
            self.join(&mut columns, left, join)?;
        }
        ControlFlow::Continue(columns)
    }

    fn nested(&self, table: &TableFactor) -> ControlFlow<&'static str, Merged> {
        match table {
            TableFactor::NestedJoin {
                table_with_joins, ..
            } => self.merged(table_with_joins),
            _ => ControlFlow::Continue(Merged::new()),
        }
    }

    /// Adds the columns of one join. `columns` are those on its left, and `left` the table there, if it is one.
    fn join(&self, columns: &mut Merged, left: Option<&TableFactor>, join: &Join) -> Flow {
        use JoinOperator::{FullOuter, Inner, Join, Left, LeftOuter, Right, RightOuter};
        let mut others = self.nested(&join.relation)?;
        let (by, is_outer) = match &join.join_operator {
            Join(by) | Inner(by) | Left(by) | LeftOuter(by) => (by, false),
            Right(by) | RightOuter(by) | FullOuter(by) => (by, true),
            _ => (&JoinConstraint::None, false),
        };
        let names = match by {
            JoinConstraint::Natural if is_outer => return ControlFlow::Break(OUTER),
            JoinConstraint::Natural if self.in_subquery => return ControlFlow::Break(IN_SUBQUERY),
            JoinConstraint::Natural | JoinConstraint::Using(_)
                if self.has_unknown_wildcard && !is_inner(&join.join_operator) =>
            {
                return ControlFlow::Break(WILDCARD);
            }
            JoinConstraint::Using(names) => names.as_slice(),
            _ => &[],
        };
        let mut found = Merged::new();
        for name in names.iter().filter_map(only_part) {
            let key = folded(name);
            let sides = [columns.remove(&key), others.remove(&key)];
            if sides.iter().flatten().flatten().any(|side| !side.is_left) {
                return ControlFlow::Break(AGAIN);
            }
            let [known, right] = sides.map(|side| side.map(|column| Some(column?.value)));
            let known = known.unwrap_or_else(|| column_of(left?, name));
            let right = right.unwrap_or_else(|| column_of(&join.relation, name));
            let column = match (&join.join_operator, known, right) {
                (Right(_) | RightOuter(_), _, Some(value)) => Some((value, false)),
                (FullOuter(_), Some(left), Some(right)) => Some((first_of(left, right), false)),
                _ if is_outer => return ControlFlow::Break(OUTER),
                (_, Some(value), _) => Some((value, true)),
                _ if self.in_subquery => return ControlFlow::Break(IN_SUBQUERY),
                _ => None,
            };
            found.insert(
                key,
                column.map(|(value, is_left)| Column { value, is_left }),
            );
        }
        unite(columns, others);
        columns.extend(found);
        ControlFlow::Continue(())
    }
}

/// Replaces names outside of subqueries, in which they may be other columns.
struct Names {
    columns: HashMap<String, Expr>,
    depth: usize,
}

impl VisitorMut for Names {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0
            && let Expr::Identifier(name) = expr
            && let Some(column) = self.columns.get(&folded(name))
        {
            *expr = column.clone();
        }
        ControlFlow::Continue(())
    }
}

fn is_inner(join: &JoinOperator) -> bool {
    matches!(join, JoinOperator::Join(_) | JoinOperator::Inner(_))
}

/// The name that stands without another before it.
pub fn only_part(name: &ObjectName) -> Option<&Ident> {
    match name.0.as_slice() {
        [part] => part.as_ident(),
        _ => None,
    }
}

/// The column of a table that has a name.
fn column_of(table: &TableFactor, column: &Ident) -> Option<Expr> {
    let mut parts: Vec<Ident> = match table {
        TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::Derived {
            alias: Some(alias), ..
        } => {
            vec![alias.name.clone()]
        }
        TableFactor::Table { name, .. } => name
            .0
            .iter()
            .map(|part| part.as_ident().cloned())
            .collect::<Option<_>>()?,
        _ => return None,
    };
    parts.push(column.clone());
    Some(Expr::CompoundIdentifier(parts))
}

fn first_of(left: Expr, right: Expr) -> Expr {
    let condition = Expr::IsNull(Box::new(left.clone()));
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen {
            condition,
            result: right,
        }],
        else_result: Some(Box::new(left)),
    }
}
