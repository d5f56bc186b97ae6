//! Subqueries over tables that have columns of one name.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use datafusion::{
    common::{
        Column, Result, TableReference,
        tree_node::{Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion},
    },
    logical_expr::{
        BinaryExpr, Distinct, Expr, Filter, JoinType, LogicalPlan, LogicalPlanBuilder, Operator,
        Subquery, SubqueryAlias,
        expr::{Exists, InSubquery, SetComparison},
        lit,
        utils::{conjunction, split_conjunction_owned},
    },
};

use super::{no_rows, unknown::COMPARED};
use crate::errors;
use mindhost_base::error::{Code, Error};

/// A subquery whose conditions about the outer statement are about columns of names of their own. DataFusion makes a
/// join of it, and finds these columns by their name alone: the first one, where two tables have it.
pub fn unambiguous(expr: Expr) -> Result<Expr> {
    Ok(match expr {
        Expr::Exists(Exists { subquery, negated }) => {
            check_rows(&subquery)?;
            check_limits(&subquery)?;
            let subquery = with_keys(subquery, false)?;
            Expr::Exists(Exists { subquery, negated })
        }
        Expr::InSubquery(InSubquery {
            expr,
            subquery,
            negated,
        }) => {
            check_rows(&subquery)?;
            let subquery = with_plain_column(with_keys(subquery, false)?)?;
            Expr::InSubquery(InSubquery::new(expr, subquery, negated))
        }
        Expr::SetComparison(comparison) => {
            check_rows(&comparison.subquery)?;
            check_limits(&comparison.subquery)?;
            let subquery = with_own_value(with_keys(comparison.subquery, false)?)?;
            Expr::SetComparison(SetComparison {
                subquery,
                ..comparison
            })
        }
        Expr::ScalarSubquery(subquery) => {
            check_windows(&subquery)?;
            check_joins(&subquery)?;
            no_rows::or_null(with_keys(subquery, true)?)
        }
        other => other,
    })
}

/// Refuses a subquery that would mean something else as a join.
fn refuse_if(means_another: bool, why: &str) -> Result<()> {
    match means_another {
        true => Err(errors::external(Error::new(Code::SqlNotSupported, why))),
        false => Ok(()),
    }
}

/// Refuses what has one row even where nothing matches, and would have none as a join.
fn check_rows(subquery: &Subquery) -> Result<()> {
    let has_always_one = subquery.subquery.exists(|node| {
        Ok(match node {
            LogicalPlan::Aggregate(aggregate) => {
                aggregate.group_expr.is_empty() && !aggregate.input.all_out_ref_exprs().is_empty()
            }
            _ => false,
        })
    })?;
    refuse_if(
        has_always_one,
        "an aggregate without GROUP BY in EXISTS, IN, ANY or ALL is not supported here if its rows depend on the \
         outer statement; compare with the value: (SELECT count(*) …) = 0",
    )?;
    check_windows(subquery)?;
    check_joins(subquery)
}

/// Refuses outer joins whose partners depend on the outer statement. The condition would be tested behind the join, where
/// it takes the rows without a partner away.
fn check_joins(subquery: &Subquery) -> Result<()> {
    let depends = |plan: &LogicalPlan| !plan.all_out_ref_exprs().is_empty();
    let is_correlated = subquery.subquery.exists(|node| {
        let LogicalPlan::Join(join) = node else {
            return Ok(false);
        };
        let (of_left, of_right) = match join.join_type {
            JoinType::Inner => return Ok(false),
            JoinType::Left => (false, depends(&join.right)),
            JoinType::Right => (depends(&join.left), false),
            _ => (depends(&join.left), depends(&join.right)),
        };
        let in_keys = || {
            join.on
                .iter()
                .any(|(left, right)| left.contains_outer() || right.contains_outer())
        };
        Ok(of_left || of_right || join.filter.iter().any(Expr::contains_outer) || in_keys())
    })?;
    refuse_if(
        is_correlated,
        "a LEFT, RIGHT or FULL JOIN in a subquery is not supported here if its condition depends on the outer \
         statement; join its tables in the outer statement itself, with GROUP BY",
    )
}

/// Refuses windows over rows that depend on the outer statement. The join would test that condition after the window,
/// which then has the rows of all.
fn check_windows(subquery: &Subquery) -> Result<()> {
    let is_correlated = subquery.subquery.exists(|node| {
        Ok(match node {
            LogicalPlan::Window(window) => !window.input.all_out_ref_exprs().is_empty(),
            LogicalPlan::Distinct(Distinct::On(on)) => !on.input.all_out_ref_exprs().is_empty(),
            _ => false,
        })
    })?;
    refuse_if(
        is_correlated,
        "a window function or DISTINCT ON in a subquery is not supported here if its rows depend on the outer \
         statement; compute it in a table, with PARTITION BY, and join that",
    )
}

/// Refuses limits of rows that depend on the outer statement. The join has all of them. Whether there is a row is the
/// same with a LIMIT at the end.
fn check_limits(subquery: &Subquery) -> Result<()> {
    let plan: &LogicalPlan = match &*subquery.subquery {
        LogicalPlan::Limit(limit) if limit.skip.is_none() => &limit.input,
        plan => plan,
    };
    let is_correlated = plan.exists(|node| {
        Ok(match node {
            LogicalPlan::Limit(limit) => !limit.input.all_out_ref_exprs().is_empty(),
            _ => false,
        })
    })?;
    refuse_if(
        is_correlated,
        "LIMIT and OFFSET in EXISTS, ANY, ALL or behind a row and IN are not supported here if the rows depend on \
         the outer statement; number the rows in a table with row_number() and PARTITION BY, and join that",
    )
}

/// A subquery whose values DataFusion finds. It looks for them in the operators below, and sees none in `VALUES` and in
/// the nodes of [`super::keys`], which stand below the joins that EXCEPT and INTERSECT are.
fn with_plain_column(subquery: Subquery) -> Result<Subquery> {
    if !hides_columns(&subquery.subquery) {
        return Ok(subquery);
    }
    let (relation, field) = subquery.subquery.schema().qualified_field(0);
    let values = Expr::Column(Column::new(relation.cloned(), field.name()));
    let plan = LogicalPlanBuilder::from(Arc::clone(&subquery.subquery)).project([values])?;
    Ok(Subquery {
        subquery: Arc::new(plan.build()?),
        ..subquery
    })
}

/// A subquery whose value has a name that no column of the statement has. `ANY` and `ALL` become conditions of the
/// subquery, in which a column of the same table by the same name would be compared with itself.
fn with_own_value(subquery: Subquery) -> Result<Subquery> {
    let (relation, field) = subquery.subquery.schema().qualified_field(0);
    let value = Expr::Column(Column::new(relation.cloned(), field.name())).alias(COMPARED);
    let plan = LogicalPlanBuilder::from(Arc::clone(&subquery.subquery)).project([value])?;
    Ok(Subquery {
        subquery: Arc::new(plan.build()?),
        ..subquery
    })
}

fn hides_columns(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Join(_) | LogicalPlan::Values(_) => true,
        LogicalPlan::Distinct(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::SubqueryAlias(_) => plan.inputs().into_iter().any(hides_columns),
        _ => false,
    }
}

/// `is_grouped`: the join is with groups by what is compared. DataFusion groups by a column even if a cast of it is
/// compared, which would give several groups for one value. So whatever is no column becomes one.
fn with_keys(subquery: Subquery, is_grouped: bool) -> Result<Subquery> {
    if subquery.outer_ref_columns.is_empty() {
        return Ok(subquery);
    }
    let shared = shared_names(&subquery.subquery, is_grouped)?;
    if shared.is_empty() && !is_grouped {
        return Ok(subquery);
    }
    let plan = Arc::unwrap_or_clone(subquery.subquery);
    let mut keys = Keys {
        shared,
        is_grouped,
        count: 0,
    };
    let plan = keys.named(plan)?;
    Ok(Subquery {
        subquery: Arc::new(plan),
        ..subquery
    })
}

/// The names that two columns have. A table and its alias are one. So is one of WITH with its alias if the join is with
/// groups: nothing of what is in it comes out by another name, and its own GROUP BY has to keep the name of a key.
fn shared_names(plan: &LogicalPlan, is_grouped: bool) -> Result<HashSet<String>> {
    let mut tables: HashMap<String, HashSet<Option<TableReference>>> = HashMap::new();
    plan.apply(|node| {
        for (table, field) in node.schema().iter() {
            let tables = tables.entry(field.name().clone()).or_default();
            tables.insert(table.cloned());
        }
        Ok(match node {
            LogicalPlan::SubqueryAlias(alias)
                if matches!(*alias.input, LogicalPlan::TableScan(_))
                    || is_grouped && alias.input.all_out_ref_exprs().is_empty() =>
            {
                TreeNodeRecursion::Jump
            }
            _ => TreeNodeRecursion::Continue,
        })
    })?;
    let shared = tables.into_iter().filter(|(_, tables)| tables.len() > 1);
    Ok(shared.map(|(name, _)| name).collect())
}

/// Gives names to what is compared with the outer statement.
struct Keys {
    /// The names that two columns have.
    shared: HashSet<String>,
    /// Whether expressions get a name too.
    is_grouped: bool,
    /// Names that were given.
    count: usize,
}

impl Keys {
    /// Gives a name of its own to each column that is compared with the outer statement and shares its name.
    fn named(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        match plan {
            LogicalPlan::Filter(filter) => self.filter(filter),
            LogicalPlan::SubqueryAlias(alias) => self.derived(alias),
            other => other
                .map_children(|child| self.named(child).map(Transformed::yes))?
                .map_data(LogicalPlan::recompute_schema)
                .data(),
        }
    }

    /// A derived table gives its keys too. In one with groups or the like no name is changed.
    fn derived(&mut self, alias: SubqueryAlias) -> Result<LogicalPlan> {
        let LogicalPlan::Projection(projection) = alias.input.as_ref() else {
            return Ok(LogicalPlan::SubqueryAlias(alias));
        };
        let LogicalPlan::Filter(filter) = projection.input.as_ref() else {
            return Ok(LogicalPlan::SubqueryAlias(alias));
        };
        let width = filter.input.schema().fields().len();
        let filtered = self.filter(filter.clone())?;
        let keys = filtered.schema().columns().into_iter().skip(width);
        let columns = projection.expr.iter().cloned();
        let all: Vec<_> = columns.chain(keys.map(Expr::Column)).collect();
        let plan = LogicalPlanBuilder::from(filtered).project(all)?.build()?;
        SubqueryAlias::try_new(Arc::new(plan), alias.alias).map(LogicalPlan::SubqueryAlias)
    }

    fn filter(&mut self, filter: Filter) -> Result<LogicalPlan> {
        let mut keys: Vec<(Expr, String)> = Vec::new();
        let mut key = |part: Expr| {
            let known = keys.iter().find(|(known, _)| *known == part);
            let name = known.map(|(_, name)| name.clone()).unwrap_or_else(|| {
                self.count += 1;
                let name = format!("__key_{}", self.count);
                keys.push((part, name.clone()));
                name
            });
            Expr::Column(Column::new_unqualified(name))
        };
        let mut conditions = Vec::new();
        for condition in split_conjunction_owned(filter.predicate) {
            let condition = match condition {
                Expr::BinaryExpr(BinaryExpr {
                    left,
                    op: Operator::Eq,
                    right,
                }) if self.is_grouped => {
                    let (left, right) = match (is_inner(&left), is_inner(&right)) {
                        (true, false) => (Box::new(key(*left)), right),
                        (false, true) => (left, Box::new(key(*right))),
                        _ => (left, right),
                    };
                    Expr::BinaryExpr(BinaryExpr::new(left, Operator::Eq, right))
                }
                other => other,
            };
            conditions.push(match condition.contains_outer() {
                true => condition
                    .transform_up(|part| match part {
                        Expr::Column(column) if self.shared.contains(&column.name) => {
                            Ok(Transformed::yes(key(Expr::Column(column))))
                        }
                        other => Ok(Transformed::no(other)),
                    })
                    .data()?,
                false => condition,
            });
        }
        let mut input = self.named(Arc::unwrap_or_clone(filter.input))?;
        if !keys.is_empty() {
            let columns = input.schema().columns().into_iter().map(Expr::Column);
            let keys = keys.into_iter().map(|(part, name)| part.alias(name));
            let all: Vec<_> = columns.chain(keys).collect();
            input = LogicalPlanBuilder::from(input).project(all)?.build()?;
        }
        let predicate = conjunction(conditions).unwrap_or_else(|| lit(true));
        Filter::try_new(predicate, Arc::new(input)).map(LogicalPlan::Filter)
    }
}

/// Whether an expression is computed from the columns of a subquery alone, and is none itself.
fn is_inner(expr: &Expr) -> bool {
    !matches!(expr, Expr::Column(_)) && expr.any_column_refs() && !expr.contains_outer()
}
