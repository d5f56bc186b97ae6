//! What a subquery compares with the statement around it. DataFusion makes a join of the subquery, and finds the columns
//! that are compared by their name alone: the first one, where two tables have it. Of a derived table it finds only those
//! that the table gives. So these columns get names of their own, and derived tables give them.

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
        Aggregate, BinaryExpr, Distinct, Expr, Filter, LogicalPlan, LogicalPlanBuilder, Operator,
        Projection, Subquery, SubqueryAlias, lit,
        utils::{conjunction, split_conjunction_owned},
    },
};

use super::lifted_lookups::has_subquery;
use crate::errors;
use mindhost_base::error::{Code, Error};

/// The names of such columns, with a number behind.
const KEY: &str = "__key_";

/// `is_grouped`: the join is with groups by what is compared. DataFusion groups by a column even if a cast of it is
/// compared, which would give several groups for one value. So whatever is no column becomes one.
pub fn named(subquery: Subquery, is_grouped: bool) -> Result<Subquery> {
    if subquery.outer_ref_columns.is_empty() {
        return Ok(subquery);
    }
    let shared = shared_names(&subquery.subquery, is_grouped)?;
    if shared.is_empty() && !is_grouped && !has_derived(&subquery.subquery)? {
        return Ok(subquery);
    }
    let plan = Arc::unwrap_or_clone(subquery.subquery);
    let mut keys = Keys {
        shared,
        is_grouped,
        is_derived: false,
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
                    || is_grouped && !depends(&alias.input) =>
            {
                TreeNodeRecursion::Jump
            }
            _ => TreeNodeRecursion::Continue,
        })
    })?;
    let shared = tables.into_iter().filter(|(_, tables)| tables.len() > 1);
    Ok(shared.map(|(name, _)| name).collect())
}

/// Whether a derived table depends on the statement around the subquery.
fn has_derived(plan: &LogicalPlan) -> Result<bool> {
    plan.exists(|node| Ok(matches!(node, LogicalPlan::SubqueryAlias(alias) if is_derived(alias))))
}

/// A LATERAL table depends on the tables beside it, and is joined with them.
fn is_derived(alias: &SubqueryAlias) -> bool {
    !matches!(*alias.input, LogicalPlan::Subquery(_)) && depends(&alias.input)
}

fn depends(plan: &LogicalPlan) -> bool {
    !plan.all_out_ref_exprs().is_empty()
}

/// Gives names to what is compared with the outer statement.
struct Keys {
    /// The names that two columns have.
    shared: HashSet<String>,
    /// Whether expressions get a name too.
    is_grouped: bool,
    /// Whether the present operator is one of a derived table, where each column that is compared gets a name.
    is_derived: bool,
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

    /// A derived table gives its keys too.
    fn derived(&mut self, alias: SubqueryAlias) -> Result<LogicalPlan> {
        if !is_derived(&alias) {
            return Ok(LogicalPlan::SubqueryAlias(alias));
        }
        let is_derived = std::mem::replace(&mut self.is_derived, true);
        let plan = self.keyed(alias.input)?;
        self.is_derived = is_derived;
        SubqueryAlias::try_new(Arc::new(plan), alias.alias).map(LogicalPlan::SubqueryAlias)
    }

    /// An operator of a derived table, which gives the keys of what is below it behind its own columns. Rows that differ
    /// in them are different rows and different groups for the statement around it, too: for one of its rows all have the
    /// same.
    fn keyed(&mut self, plan: Arc<LogicalPlan>) -> Result<LogicalPlan> {
        let plan = Arc::unwrap_or_clone(plan);
        if !depends(&plan) {
            return Ok(plan);
        }
        match plan {
            LogicalPlan::Filter(filter) => self.filter(filter),
            LogicalPlan::SubqueryAlias(alias) => self.derived(alias),
            LogicalPlan::Projection(Projection { expr, input, .. }) => {
                let (input, keys) = self.with_keys(input)?;
                let all = expr.into_iter().chain(keys).collect();
                Projection::try_new(all, Arc::new(input)).map(LogicalPlan::Projection)
            }
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let input = self.keyed(input)?;
                Ok(LogicalPlan::Distinct(Distinct::All(Arc::new(input))))
            }
            LogicalPlan::Aggregate(Aggregate {
                input,
                group_expr,
                aggr_expr,
                ..
            }) if is_plain(&group_expr) => {
                let (input, keys) = self.with_keys(input)?;
                let groups = group_expr.into_iter().chain(keys).collect();
                Aggregate::try_new(Arc::new(input), groups, aggr_expr).map(LogicalPlan::Aggregate)
            }
            LogicalPlan::Join(_) => plan
                .map_children(|child| self.keyed(Arc::new(child)).map(Transformed::yes))?
                .map_data(LogicalPlan::recompute_schema)
                .data(),
            // The tables that it depends on stand beside it.
            LogicalPlan::Subquery(_) => Ok(plan),
            _ => Err(errors::external(Error::new(
                Code::SqlNotSupported,
                "a table (SELECT …) of a subquery that depends on the outer statement is not supported here with \
                 LIMIT, ORDER BY, UNION, a window, or an aggregate without GROUP BY; write its condition about the \
                 outer statement into the WHERE of the subquery itself, or join it with GROUP BY",
            ))),
        }
    }

    /// The input of an operator, with the keys that it gives.
    fn with_keys(&mut self, input: Arc<LogicalPlan>) -> Result<(LogicalPlan, Vec<Expr>)> {
        let before = Arc::clone(input.schema());
        let input = self.keyed(input)?;
        let columns = input.schema().columns().into_iter();
        let keys = columns.filter(|column| !before.has_column(column));
        let keys = keys.map(Expr::Column).collect();
        Ok((input, keys))
    }

    fn filter(&mut self, filter: Filter) -> Result<LogicalPlan> {
        let mut keys: Vec<(Expr, String)> = Vec::new();
        let mut key = |part: Expr| {
            let known = keys.iter().find(|(known, _)| *known == part);
            let name = known.map(|(_, name)| name.clone()).unwrap_or_else(|| {
                self.count += 1;
                let name = format!("{KEY}{}", self.count);
                keys.push((part, name.clone()));
                name
            });
            Expr::Column(Column::new_unqualified(name))
        };
        let is_named = |column: &Column| {
            self.shared.contains(&column.name) || self.is_derived && !column.name.starts_with(KEY)
        };
        // There may be groups above it in a derived table, too.
        let is_grouped = self.is_grouped || self.is_derived;
        let mut conditions = Vec::new();
        for condition in split_conjunction_owned(filter.predicate) {
            if !condition.contains_outer() {
                conditions.push(condition);
                continue;
            }
            // It is true of all rows or of none: the rows have something that is true.
            if is_grouped && !condition.any_column_refs() && !has_subquery(&condition)? {
                conditions.push(key(lit(true)).eq(condition));
                continue;
            }
            let condition = match condition {
                Expr::BinaryExpr(BinaryExpr {
                    left,
                    op: Operator::Eq,
                    right,
                }) if is_grouped => {
                    let (left, right) = match (is_inner(&left), is_inner(&right)) {
                        (true, false) => (Box::new(key(*left)), right),
                        (false, true) => (left, Box::new(key(*right))),
                        _ => (left, right),
                    };
                    Expr::BinaryExpr(BinaryExpr::new(left, Operator::Eq, right))
                }
                other => other,
            };
            let condition = condition.transform_up(|part| match part {
                Expr::Column(column) if is_named(&column) => {
                    Ok(Transformed::yes(key(Expr::Column(column))))
                }
                other => Ok(Transformed::no(other)),
            });
            conditions.push(condition.data()?);
        }
        let mut input = match self.is_derived {
            true => self.keyed(filter.input)?,
            false => self.named(Arc::unwrap_or_clone(filter.input))?,
        };
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

/// Whether there are groups, and each is one of all columns.
fn is_plain(groups: &[Expr]) -> bool {
    let mut groups_of_all = groups.iter();
    !groups.is_empty() && groups_of_all.all(|group| !matches!(group, Expr::GroupingSet(_)))
}

/// Whether an expression is computed from the columns of a subquery alone, and is none itself.
fn is_inner(expr: &Expr) -> bool {
    !matches!(expr, Expr::Column(_)) && expr.any_column_refs() && !expr.contains_outer()
}
