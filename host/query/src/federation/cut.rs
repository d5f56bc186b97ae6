//! Cuts an optimised plan: each largest part that one datasource can do becomes one statement for it.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use datafusion::{
    catalog::default_table_source::source_as_provider,
    common::{
        DFSchemaRef, NullEquality, Result,
        tree_node::{Transformed, TreeNode as _},
    },
    logical_expr::{
        Aggregate, Expr, Extension, FetchType, Filter, Join, Limit, LogicalPlan,
        LogicalPlanBuilder, SkipType, Sort, Subquery, TableScan, TableScanBuilder,
        UserDefinedLogicalNodeCore,
        utils::{conjunction, split_conjunction},
    },
};

use super::{
    estimates,
    merged_groups::merged,
    regroup::is_choice,
    select::{Names, Scalars, Select},
    sources::{RemoteTable, unqualified, with_table},
};

/// Longest statement that is sent.
pub const MAX_BYTES: usize = 128 << 10;

/// A part of the plan: one statement, or what the host does with several.
enum Part {
    One(Box<Select>, DFSchemaRef),
    Host(LogicalPlan),
}

/// The part of a plan that a datasource does.
#[derive(Clone)]
pub struct Remote {
    /// The statement.
    pub select: Arc<Select>,
    schema: DFSchemaRef,
    id: usize,
}

/// The datasource that does all of a plan and can join it with others of its own.
pub fn joinable_source(plan: &LogicalPlan) -> Option<usize> {
    match Cutter::new(&mut Names::default()).part(plan) {
        Ok(Part::One(select, _)) if select.takes_joins() => Some(select.source),
        // A plan that cannot be cut fails when it is cut for good.
        _ => None,
    }
}

/// Cuts plans.
pub struct Cutter<'a> {
    names: &'a mut Names,
    made: usize,
}

/// Says of a statement what is known of the plan that it stands for.
fn estimate(select: &mut Select, plan: &LogicalPlan) {
    select.estimate = estimates::plan(plan);
    select.distinct = estimates::distinct_of_columns(plan);
}

impl<'a> Cutter<'a> {
    /// A cutter that takes names of tables from here.
    pub fn new(names: &'a mut Names) -> Self {
        Self { names, made: 0 }
    }

    /// The plan with a node for each statement in place of the part that it does.
    pub fn cut(&mut self, plan: &LogicalPlan) -> Result<LogicalPlan> {
        let part = self.part(plan)?;
        self.finished(part)
    }

    fn finished(&mut self, part: Part) -> Result<LogicalPlan> {
        Ok(match part {
            Part::Host(plan) => plan,
            Part::One(select, schema) => {
                self.made += 1;
                LogicalPlan::Extension(Extension {
                    node: Arc::new(Remote {
                        select: Arc::from(select),
                        schema,
                        id: self.made,
                    }),
                })
            }
        })
    }

    fn part(&mut self, plan: &LogicalPlan) -> Result<Part> {
        if let LogicalPlan::TableScan(scan) = plan {
            return self.scan(scan);
        }
        if let LogicalPlan::Aggregate(aggregate) = plan
            && let Some(groups) = self.checked_groups(aggregate, plan)?
        {
            return Ok(Part::Host(groups));
        }
        let inputs = plan.inputs().into_iter().map(|input| self.part(input));
        let mut inputs = inputs.collect::<Result<Vec<_>>>()?;
        if let Some(mut select) = self.pushed(plan, &mut inputs)?
            && select.text().len() <= MAX_BYTES
        {
            estimate(&mut select, plan);
            return Ok(Part::One(Box::new(select), Arc::clone(plan.schema())));
        }
        if let (LogicalPlan::Aggregate(aggregate), [Part::One(input, _)]) =
            (plan, inputs.as_slice())
            && input.takes_groups()
            && let Some(finer) = (**input).clone().grouped(aggregate, self.names)
            && finer.has_finer_groups()
            && let Some(groups) = self.sent_groups(aggregate, finer, plan)?
        {
            return Ok(Part::Host(groups));
        }
        // What the host tests right above a statement counts as if the datasource did.
        if let (LogicalPlan::Filter(_), [Part::One(input, _)]) = (plan, inputs.as_mut_slice()) {
            estimate(input, plan);
        }
        let inputs = inputs.into_iter().map(|input| self.finished(input));
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        let plan = match inputs.is_empty() {
            true => plan.clone(),
            false => plan.with_new_exprs(plan.expressions(), inputs)?,
        };
        self.subqueries(plan).map(Part::Host)
    }

    /// The groups of one table whose datasource looks at the cells that it reads, if it can compute them.
    fn checked_groups(
        &mut self,
        aggregate: &Aggregate,
        plan: &LogicalPlan,
    ) -> Result<Option<LogicalPlan>> {
        let select = self.checked_rows(&aggregate.input)?;
        match select.and_then(|select| select.grouped_where_cells_fit(aggregate)) {
            Some(select) => self.sent_groups(aggregate, select, plan),
            None => Ok(None),
        }
    }

    /// The statement for rows of such a table, which still has to look at the cells that its conditions read.
    fn checked_rows(&mut self, plan: &LogicalPlan) -> Result<Option<Select>> {
        if let LogicalPlan::TableScan(scan) = plan {
            return self.checked_table(scan);
        }
        let inputs = plan.inputs();
        let [input] = inputs.as_slice() else {
            return Ok(None);
        };
        let Some(select) = self.checked_rows(input)? else {
            return Ok(None);
        };
        let schema = input.schema();
        Ok(match plan {
            LogicalPlan::SubqueryAlias(_) => Some(select),
            LogicalPlan::Filter(filter) => split_conjunction(&filter.predicate)
                .into_iter()
                .try_fold(select, |select, part| {
                    select.filtered_where_cells_fit(part, schema)
                }),
            LogicalPlan::Projection(projection) if is_choice(projection) => {
                select.projected(&projection.expr, schema, self.names)
            }
            _ => None,
        })
    }

    fn checked_table(&mut self, scan: &TableScan) -> Result<Option<Select>> {
        let is_checked = with_table(scan, RemoteTable::takes_checked_groups);
        if is_checked != Some(true) || scan.fetch.is_some() {
            return Ok(None);
        }
        Ok(match self.scan(scan)? {
            Part::One(select, _) => Some(*select),
            Part::Host(_) => None,
        })
    }

    /// The groups that a statement computes, put together in the host where they are finer there.
    fn sent_groups(
        &mut self,
        aggregate: &Aggregate,
        mut select: Select,
        plan: &LogicalPlan,
    ) -> Result<Option<LogicalPlan>> {
        if select.text().len() > MAX_BYTES {
            return Ok(None);
        }
        estimate(&mut select, plan);
        let is_finer = select.has_finer_groups();
        if is_finer {
            select.hide_computed(aggregate.group_expr.len());
        }
        let part = Part::One(Box::new(select), Arc::clone(&aggregate.schema));
        let groups = self.finished(part)?;
        match is_finer {
            true => merged(aggregate, groups),
            false => Ok(Some(groups)),
        }
    }

    /// Cuts the plans within the expressions of a node.
    fn subqueries(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let cut = plan.map_subqueries(|inner| {
            Ok(match inner {
                LogicalPlan::Subquery(subquery) => {
                    let plan = Arc::new(self.cut(&subquery.subquery)?);
                    Transformed::yes(LogicalPlan::Subquery(Subquery {
                        subquery: plan,
                        ..subquery
                    }))
                }
                other => Transformed::yes(self.cut(&other)?),
            })
        });
        cut.map(|cut| cut.data)
    }

    fn scan(&mut self, scan: &TableScan) -> Result<Part> {
        let provider = source_as_provider(&scan.source)?;
        let Some(table) = provider.downcast_ref::<RemoteTable>() else {
            return Ok(Part::Host(LogicalPlan::TableScan(scan.clone())));
        };
        // Filters may be about columns that are not read.
        let all = table.select(None, self.names)?;
        let schema = datafusion::common::DFSchema::try_from(scan.source.schema())?;
        let mut filtered = all;
        let (mut taken, mut rest) = (Vec::new(), Vec::new());
        for filter in &scan.filters {
            let bare = unqualified(filter);
            match filtered.clone().filtered(&bare, &schema, self.names) {
                Some(with) => {
                    filtered = with;
                    taken.push(filter.clone());
                }
                None => rest.push(filter.clone()),
            }
        }
        if let Some(rest) = conjunction(rest) {
            return self.scan_and_filter(scan, taken, rest);
        }
        if let Some(projection) = &scan.projection {
            let columns = projection
                .iter()
                .filter_map(|index| filtered.columns.get(*index));
            filtered.columns = columns.cloned().collect();
        }
        if let Some(limited) = scan
            .fetch
            .and_then(|rows| filtered.clone().limited(rows as u64))
        {
            filtered = limited;
        }
        estimate(&mut filtered, &LogicalPlan::TableScan(scan.clone()));
        Ok(Part::One(
            Box::new(filtered),
            Arc::clone(&scan.projected_schema),
        ))
    }

    /// A scan whose table had taken filters that the optimiser then wrote anew, in a form that has none here: the host
    /// does these.
    fn scan_and_filter(&mut self, scan: &TableScan, taken: Vec<Expr>, rest: Expr) -> Result<Part> {
        let whole = TableScanBuilder::new(scan.table_name.clone(), Arc::clone(&scan.source));
        let whole = self.scan(&whole.with_filters(taken).build()?)?;
        let columns = scan.projected_schema.columns().into_iter();
        let plan = LogicalPlanBuilder::from(self.finished(whole)?)
            .filter(rest)?
            .project(columns.map(Expr::Column))?;
        Ok(Part::Host(plan.build()?))
    }

    /// The statement for a node above those of its inputs. An input may get what it can do of the node: then it has
    /// changed, and the node stays in the host.
    fn pushed(&mut self, plan: &LogicalPlan, inputs: &mut [Part]) -> Result<Option<Select>> {
        match (plan, inputs) {
            (LogicalPlan::Join(join), [Part::One(left, _), Part::One(right, _)]) => {
                Ok(self.join(join, left, right))
            }
            (plan, [Part::One(input, schema)]) if input.takes_groups() => Ok(match plan {
                LogicalPlan::Projection(projection) => {
                    (**input)
                        .clone()
                        .projected(&projection.expr, schema, self.names)
                }
                LogicalPlan::SubqueryAlias(_) => Some((**input).clone()),
                LogicalPlan::Aggregate(aggregate) => (**input)
                    .clone()
                    .grouped(aggregate, self.names)
                    .filter(|groups| !groups.has_finer_groups()),
                LogicalPlan::Filter(filter) => self.filter(filter, input, schema)?,
                LogicalPlan::Limit(limit) => {
                    self.limit(limit, input)?;
                    None
                }
                LogicalPlan::Sort(sort) => {
                    self.top(sort, input, schema);
                    None
                }
                _ => None,
            }),
            (LogicalPlan::SubqueryAlias(_), [Part::One(input, _)]) => Ok(Some((**input).clone())),
            (LogicalPlan::Limit(limit), [Part::One(input, _)]) => {
                self.limit(limit, input)?;
                Ok(None)
            }
            (LogicalPlan::Projection(projection), [Part::One(input, schema)]) => {
                let is_column = |expr: &Expr| matches!(expr.clone().unalias(), Expr::Column(_));
                let are_columns = projection.expr.iter().all(is_column);
                let select = are_columns.then(|| (**input).clone());
                Ok(
                    select
                        .and_then(|select| select.projected(&projection.expr, schema, self.names)),
                )
            }
            _ => Ok(None),
        }
    }

    fn join(&mut self, join: &Join, left: &Select, right: &Select) -> Option<Select> {
        let is_plain = join.null_equality == NullEquality::NullEqualsNothing && !join.null_aware;
        if left.source != right.source || !left.takes_joins() || !is_plain {
            return None;
        }
        let schemas = (join.left.schema().as_ref(), join.right.schema().as_ref());
        let (left, right) = (left.clone(), right.clone());
        left.joined(
            right,
            schemas,
            &join.on,
            join.filter.as_ref(),
            join.join_type,
            self.names,
        )
    }

    /// All of a filter, or what the datasource can do of it.
    fn filter(
        &mut self,
        filter: &Filter,
        input: &mut Select,
        schema: &DFSchemaRef,
    ) -> Result<Option<Select>> {
        let mut rest = Vec::new();
        for part in split_conjunction(&filter.predicate) {
            let (condition, scalars) = self.scalars(part, input)?;
            let select = input.clone();
            match select.filtered_with(&condition, schema, &scalars, self.names) {
                Some(with) => *input = with,
                None => rest.push(part.clone()),
            }
        }
        // The node is filtered again by what is left, which is all of it: that costs little.
        Ok(conjunction(rest).is_none().then(|| input.clone()))
    }

    /// A condition with columns in place of its uncorrelated subqueries, if they are of the datasource of a statement
    /// and have a form there.
    fn scalars(&mut self, condition: &Expr, of: &Select) -> Result<(Expr, Scalars)> {
        let mut scalars = Scalars::default();
        let condition = condition.clone().transform(|expr| {
            let Expr::ScalarSubquery(inner) = &expr else {
                return Ok(Transformed::no(expr));
            };
            if !inner.outer_ref_columns.is_empty() || !of.takes_joins() {
                return Ok(Transformed::no(expr));
            }
            let column = match self.part(&inner.subquery)? {
                Part::One(select, schema) if select.source == of.source => {
                    scalars.add(&select, &schema)
                }
                _ => None,
            };
            Ok(column.map_or_else(|| Transformed::no(expr), Transformed::yes))
        })?;
        Ok((condition.data, scalars))
    }

    fn limit(&mut self, limit: &Limit, input: &mut Select) -> Result<()> {
        let skip = match limit.get_skip_type()? {
            SkipType::Literal(rows) => rows,
            SkipType::UnsupportedExpr => return Ok(()),
        };
        if let FetchType::Literal(Some(rows)) = limit.get_fetch_type()?
            && let Some(limited) = input.clone().limited(skip.saturating_add(rows) as u64)
        {
            *input = limited;
        }
        Ok(())
    }

    fn top(&mut self, sort: &Sort, input: &mut Select, schema: &DFSchemaRef) {
        let top = sort.fetch.and_then(|rows| {
            input
                .clone()
                .top(&sort.expr, rows as u64, schema, self.names)
        });
        if let Some(top) = top {
            *input = top;
        }
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Remote({})", self.id)
    }
}

impl PartialEq for Remote {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Remote {}

impl PartialOrd for Remote {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.id.partial_cmp(&other.id)
    }
}

impl Hash for Remote {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl UserDefinedLogicalNodeCore for Remote {
    fn name(&self) -> &str {
        "Remote"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        Vec::new()
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, _: Vec<LogicalPlan>) -> Result<Self> {
        Ok(self.clone())
    }
}
