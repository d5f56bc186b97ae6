//! Values of other rows, `(SELECT …)`, where DataFusion makes no join of them.
//!
//! It joins such a subquery below a list of columns and below a condition alone, and only if what the subquery gives is
//! computed of its own rows. So the value of one in an aggregate, a group, a window or an order becomes a column below
//! that. One whose value is computed of both rows, `(SELECT p.amt + c.w FROM c WHERE c.id = p.customer)`, gives what it
//! needs of its own row, and the rest is computed above the join. `EXISTS` and `IN (SELECT …)` in an order become columns
//! below it, too.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{Array as _, AsArray as _},
        compute::{is_null, nullif},
        datatypes::DataType,
    },
    common::{
        Column, DFSchema, DataFusionError, Result,
        config::ConfigOptions,
        internal_err,
        tree_node::{Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion},
    },
    functions::core::r#struct,
    logical_expr::{
        Aggregate, Case, ColumnarValue, Expr, LogicalPlan, Projection, ScalarFunctionArgs,
        ScalarUDF, ScalarUDFImpl, Signature, Sort, Subquery, Volatility,
        expr_rewriter::NamePreserver, lit, utils::conjunction,
    },
    optimizer::AnalyzerRule,
};

use super::{
    lookups::{NAME, ONLY, UNNAMED},
    scalar,
};

/// The names of the columns that subqueries become, with a number behind.
pub const LOOKED: &str = "__looked_";
/// The functions that give a part of a row, with its place behind.
const PART: &str = "__part_";
/// The aggregate whose value is that of one row.
const FIRST: &str = "first_value";

/// Before all other rules: the expressions that it makes have no types yet.
#[derive(Debug)]
pub struct LiftedLookups;

impl AnalyzerRule for LiftedLookups {
    fn name(&self) -> &'static str {
        "lifted_lookups"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let mut count = 0;
        plan.transform_up_with_subqueries(|node| {
            let takes_truths = matches!(node, LogicalPlan::Sort(_));
            if !has_parts(&node, |part| {
                is_lookup(part) || takes_truths && is_truth(part)
            })? {
                return Ok(Transformed::no(node));
            }
            match node {
                LogicalPlan::Projection(_) | LogicalPlan::Filter(_) => {
                    computed(node, false, &mut count)
                }
                LogicalPlan::Aggregate(_) | LogicalPlan::Window(_) => {
                    computed(node, true, &mut count)
                }
                LogicalPlan::Sort(sort) => sorted(sort, &mut count),
                other => Ok(Transformed::no(other)),
            }
        })
        .data()
    }
}

fn has_parts(node: &LogicalPlan, is_one: impl Fn(&Expr) -> bool) -> Result<bool> {
    let mut found = false;
    node.apply_expressions(|expr| {
        found |= expr.exists(|part| Ok(is_one(part)))?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

/// Whether it is the value of a subquery that depends on the statement around it.
fn is_lookup(part: &Expr) -> bool {
    matches!(part, Expr::ScalarSubquery(subquery) if !subquery.outer_ref_columns.is_empty())
}

/// Whether it says if a subquery has rows, or a value among them.
fn is_truth(part: &Expr) -> bool {
    matches!(part, Expr::Exists(_) | Expr::InSubquery(_))
}

/// An operator over the columns that its subqueries become. `takes_all`: all of them do.
fn computed(
    node: LogicalPlan,
    takes_all: bool,
    count: &mut usize,
) -> Result<Transformed<LogicalPlan>> {
    let input = node.inputs().first().copied().cloned();
    let Some(input) = input else {
        return Ok(Transformed::no(node));
    };
    let columns = node.schema().columns();
    let keeps_input = matches!(node, LogicalPlan::Filter(_) | LogicalPlan::Window(_));
    let names = NamePreserver::new(&node);
    let mut lookups = Lookups::over(input.schema(), count);
    let node = node.map_expressions(|expr| {
        // Each of its columns has a name, and it has none.
        if matches!(expr, Expr::GroupingSet(_)) {
            return Ok(Transformed::no(expr));
        }
        if takes_all {
            check_names(&expr)?;
        }
        let name = names.save(&expr);
        let replaced = lookups.replaced(expr, takes_all)?;
        Ok(replaced.update_data(|expr| name.restore(expr)))
    })?;
    let lifted = lookups.lifted;
    if !node.transformed {
        return Ok(node);
    }
    if lifted.is_empty() {
        return node.data.recompute_schema().map(Transformed::yes);
    }
    let input = with_columns(input, lifted)?;
    let node = node
        .data
        .map_children(|_| Ok(Transformed::yes(input.clone())))?
        .data
        .recompute_schema()?;
    match keeps_input {
        true => chosen(columns, node).map(Transformed::yes),
        false => Ok(Transformed::yes(node)),
    }
}

/// Refuses values without names of our own. Groups and aggregates are columns by their names, and two subqueries may
/// have one.
fn check_names(expr: &Expr) -> Result<()> {
    let is_unnamed = |part: &Expr| match part {
        Expr::ScalarSubquery(subquery) if is_lookup(part) => {
            !subquery.subquery.schema().field(0).name().starts_with(NAME)
        }
        _ => false,
    };
    match expr.exists(|part| Ok(is_unnamed(part)))? {
        true => Err(DataFusionError::Plan(UNNAMED.to_owned())),
        false => Ok(()),
    }
}

/// An order by columns of what is below the columns of the result: these need not have what a subquery compares.
fn sorted(sort: Sort, count: &mut usize) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Projection(projection) = sort.input.as_ref() else {
        return Ok(Transformed::no(LogicalPlan::Sort(sort)));
    };
    let projection = projection.clone();
    let input = Arc::clone(&projection.input);
    let mut lookups = Lookups::over(input.schema(), count);
    let mut values = Vec::new();
    let mut keys = Vec::with_capacity(sort.expr.len());
    for key in &sort.expr {
        let expr = key.expr.clone().transform_down(|part| {
            let value = match &part {
                Expr::ScalarSubquery(subquery) => lookups.value(subquery, true)?,
                part if is_truth(part) => lookups.truth(part, &projection)?,
                _ => None,
            };
            Ok(match value {
                Some(value) => {
                    let name = lookups.name();
                    values.push(value.alias(name.as_str()));
                    let column = Expr::Column(Column::new_unqualified(name));
                    Transformed::new(column, true, TreeNodeRecursion::Jump)
                }
                None => Transformed::no(part),
            })
        })?;
        keys.push(key.with_expr(expr.data));
    }
    if values.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Sort(sort)));
    }
    let input = with_columns(input.as_ref().clone(), lookups.lifted)?;
    let all = projection.expr.into_iter().chain(values).collect();
    let computed = Projection::try_new(all, Arc::new(input))?;
    let ordered = LogicalPlan::Sort(Sort {
        expr: keys,
        input: Arc::new(LogicalPlan::Projection(computed)),
        fetch: sort.fetch,
    });
    chosen(projection.schema.columns(), ordered).map(Transformed::yes)
}

/// An operator's rows with columns of subqueries.
fn with_columns(input: LogicalPlan, lifted: Vec<(Subquery, String)>) -> Result<LogicalPlan> {
    let columns = input.schema().columns().into_iter().map(Expr::Column);
    let lifted = lifted
        .into_iter()
        .map(|(subquery, name)| Expr::ScalarSubquery(subquery).alias(name));
    let all = columns.chain(lifted).collect();
    Projection::try_new(all, Arc::new(input)).map(LogicalPlan::Projection)
}

fn chosen(columns: Vec<Column>, input: LogicalPlan) -> Result<LogicalPlan> {
    let columns = columns.into_iter().map(Expr::Column).collect();
    Projection::try_new(columns, Arc::new(input)).map(LogicalPlan::Projection)
}

/// The subqueries of one operator.
struct Lookups<'a> {
    /// The columns of the statement around them.
    schema: &'a DFSchema,
    /// Those that become columns below, by the names of these.
    lifted: Vec<(Subquery, String)>,
    count: &'a mut usize,
}

impl<'a> Lookups<'a> {
    fn over(schema: &'a DFSchema, count: &'a mut usize) -> Self {
        Self {
            schema,
            lifted: Vec::new(),
            count,
        }
    }

    fn name(&mut self) -> String {
        *self.count += 1;
        format!("{LOOKED}{}", self.count)
    }

    fn replaced(&mut self, expr: Expr, takes_all: bool) -> Result<Transformed<Expr>> {
        expr.transform_down(|part| match part {
            Expr::ScalarSubquery(subquery) => Ok(match self.value(&subquery, takes_all)? {
                Some(value) => Transformed::new(value, true, TreeNodeRecursion::Jump),
                None => Transformed::no(Expr::ScalarSubquery(subquery)),
            }),
            other => Ok(Transformed::no(other)),
        })
    }

    /// What stands for a subquery above the join with it; `None` where it stays. A column that is none of the statement
    /// right around it would not be found.
    fn value(&mut self, subquery: &Subquery, takes_all: bool) -> Result<Option<Expr>> {
        let outer = &subquery.outer_ref_columns;
        if outer.is_empty() || !outer.iter().all(|column| self.has(column)) {
            return Ok(None);
        }
        let value = self.of_both(subquery)?;
        if value.is_some() || !takes_all {
            return Ok(value);
        }
        Ok(Some(self.lift(subquery.clone())))
    }

    /// What says of a row below a list of columns if a subquery has rows, or a value among them: the value is of the
    /// columns of the list, and what the subquery compares stands below it.
    fn truth(&self, part: &Expr, list: &Projection) -> Result<Option<Expr>> {
        let subquery = match part {
            Expr::Exists(exists) => &exists.subquery,
            Expr::InSubquery(one_of) => &one_of.subquery,
            _ => return Ok(None),
        };
        let mut outer = subquery.outer_ref_columns.iter();
        if !outer.all(|column| self.has(column)) {
            return Ok(None);
        }
        let below = part.clone().transform_down(|part| {
            Ok(match &part {
                Expr::Column(column) => match list.schema.maybe_index_of_column(column) {
                    Some(place) => {
                        let value = list.expr[place].clone().unalias();
                        Transformed::new(value, true, TreeNodeRecursion::Jump)
                    }
                    None => Transformed::no(part),
                },
                _ => Transformed::no(part),
            })
        });
        below.data().map(Some)
    }

    fn has(&self, outer: &Expr) -> bool {
        match outer {
            Expr::OuterReferenceColumn(_, column) => self.schema.iter().any(|(table, field)| {
                table == column.relation.as_ref() && *field.name() == column.name
            }),
            _ => false,
        }
    }

    /// The column that a subquery becomes. It is joined once.
    fn lift(&mut self, subquery: Subquery) -> Expr {
        let known = self.lifted.iter().find(|(known, _)| *known == subquery);
        let known = known.map(|(_, name)| name.clone());
        let name = known.unwrap_or_else(|| {
            let name = self.name();
            self.lifted.push((subquery, name.clone()));
            name
        });
        Expr::Column(Column::new_unqualified(name))
    }

    /// A value that is computed of columns of the statement, too, or that its HAVING compares with them. `None` for any
    /// other, and where that cannot be told apart: in other aggregates than that of one row, behind DISTINCT or LIMIT,
    /// and with a subquery in it that depends on a row.
    fn of_both(&mut self, subquery: &Subquery) -> Result<Option<Expr>> {
        let LogicalPlan::Projection(top) = subquery.subquery.as_ref() else {
            return Ok(None);
        };
        let [value] = top.expr.as_slice() else {
            return Ok(None);
        };
        let value = value.clone().unalias();
        if has_subquery_of_row(&value)? {
            return Ok(None);
        }
        match top.input.as_ref() {
            // `(SELECT p.amt + 1)`
            LogicalPlan::EmptyRelation(nothing) if nothing.produce_one_row => {
                let no_part =
                    |_: &Column| -> Result<Expr> { internal_err!("a column of no table") };
                seen_from_outside(value, &no_part).map(Some)
            }
            LogicalPlan::Aggregate(aggregate) => self.of_groups(subquery, value, None, aggregate),
            LogicalPlan::Filter(having) => match having.input.as_ref() {
                LogicalPlan::Aggregate(aggregate) if !has_subquery_of_row(&having.predicate)? => {
                    self.of_groups(subquery, value, Some(&having.predicate), aggregate)
                }
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// The same for a value of an aggregation. Without groups it has a row in any case, which DataFusion sees to; with
    /// groups the value is NULL where it has none. HAVING is tested above the join: DataFusion would not test it where no
    /// row matches, of which an aggregation without groups has a row, too.
    fn of_groups(
        &mut self,
        subquery: &Subquery,
        value: Expr,
        having: Option<&Expr>,
        aggregate: &Aggregate,
    ) -> Result<Option<Expr>> {
        let groups = &aggregate.group_expr;
        let is_other =
            |group: &Expr| matches!(group, Expr::GroupingSet(_)) || group.contains_outer();
        if groups.iter().any(is_other) {
            return Ok(None);
        }
        let mut firsts = Vec::new();
        let mut calls = Vec::with_capacity(aggregate.aggr_expr.len());
        for (index, call) in aggregate.aggr_expr.iter().enumerate() {
            let is_outer = call.contains_outer();
            let column = Column::from(aggregate.schema.qualified_field(groups.len() + index));
            let first = match is_outer || is_checked(call)? {
                true => First::of(call, column)?,
                false => None,
            };
            match first {
                Some((call, first)) => {
                    calls.push(call);
                    firsts.push(first);
                }
                None if is_outer => return Ok(None),
                None => calls.push(call.clone()),
            }
        }
        let is_outer =
            |expr: &Expr| -> Result<bool> { Ok(expr.contains_outer() || has_subquery(expr)?) };
        let has_outer_having = match having {
            Some(having) => is_outer(having)?,
            None => false,
        };
        if firsts.is_empty() && !has_outer_having && !is_outer(&value)? {
            return Ok(None);
        }
        let columns = columns_of([&value].into_iter().chain(having))?;
        let input = Arc::clone(&aggregate.input);
        let aggregate = Aggregate::try_new(input, groups.clone(), calls)?;
        let is_grouped = !aggregate.group_expr.is_empty();
        let groups = Arc::new(LogicalPlan::Aggregate(aggregate));
        let rows = Projection::try_new(vec![row_of(&columns)], groups)?;
        let rows = LogicalPlan::Projection(rows);
        let row = self.lift(Subquery {
            outer_ref_columns: rows.all_out_ref_exprs(),
            subquery: Arc::new(rows),
            spans: subquery.spans.clone(),
        });
        let part = |column: &Column| -> Result<Expr> {
            let given = part_of(&row, &columns, column)?;
            match firsts.iter().find(|first| first.column == *column) {
                Some(first) => first.above(given),
                None => Ok(given),
            }
        };
        let value = seen_from_outside(value, &part)?;
        let having = having.cloned();
        let having = having.map(|having| seen_from_outside(having, &part));
        let is_there = is_grouped.then(|| Expr::IsNotNull(Box::new(row.clone())));
        let conditions = is_there.into_iter().chain(having.transpose()?);
        Ok(Some(match conjunction(conditions) {
            Some(condition) => when(condition, value),
            None => value,
        }))
    }
}

/// A value of one row, computed of columns of the statement.
struct First {
    /// The column of the aggregation that has it, and in its place the row.
    column: Column,
    value: Expr,
    /// The columns of the row that the value is computed of.
    columns: Vec<Column>,
}

impl First {
    /// `first_value(p.amt + c.w)` as `first_value(struct(c.w))`, by the same name, and what is computed of that.
    fn of(call: &Expr, column: Column) -> Result<Option<(Expr, Self)>> {
        let name = NamePreserver::new_for_projection().save(call);
        let Expr::AggregateFunction(mut function) = call.clone().unalias() else {
            return Ok(None);
        };
        let is_first = function.func.name() == FIRST;
        let params = &mut function.params;
        let is_plain = !params.distinct
            && params.null_treatment.is_none()
            && !params.filter.iter().any(|filter| filter.contains_outer())
            && !params.order_by.iter().any(|key| key.expr.contains_outer());
        let [value] = params.args.as_slice() else {
            return Ok(None);
        };
        if !is_first || !is_plain || has_subquery_of_row(value)? {
            return Ok(None);
        }
        let value = value.clone();
        let columns = columns_of([&value])?;
        params.args = vec![row_of(&columns)];
        let call = name.restore(Expr::AggregateFunction(function));
        let first = Self {
            column,
            value,
            columns,
        };
        Ok(Some((call, first)))
    }

    /// The value of a row that was given. There may be none, for which the value need not be NULL.
    fn above(&self, row: Expr) -> Result<Expr> {
        let value = seen_from_outside(self.value.clone(), &|column: &Column| {
            part_of(&row, &self.columns, column)
        })?;
        Ok(when(Expr::IsNotNull(Box::new(row)), value))
    }
}

/// `CASE WHEN condition THEN value END`
fn when(condition: Expr, value: Expr) -> Expr {
    let branch = (Box::new(condition), Box::new(value));
    Expr::Case(Case::new(None, vec![branch], None))
}

/// An expression of a subquery as the statement around it computes it, of the parts of a row that the subquery gave.
fn seen_from_outside(expr: Expr, part: &dyn Fn(&Column) -> Result<Expr>) -> Result<Expr> {
    expr.transform_down(|inner| {
        Ok(match inner {
            Expr::Column(column) => Transformed::new(part(&column)?, true, TreeNodeRecursion::Jump),
            Expr::OuterReferenceColumn(_, column) => {
                Transformed::new(Expr::Column(column), true, TreeNodeRecursion::Jump)
            }
            other => Transformed::no(other),
        })
    })
    .data()
}

/// Whether it fails for a lookup with a second row. That is asked only of the rows that the statement asks for, too.
fn is_checked(expr: &Expr) -> Result<bool> {
    expr.exists(|part| Ok(matches!(part, Expr::ScalarFunction(call) if call.func.name() == ONLY)))
}

/// Whether there is a subquery in it that is not one value for all rows.
fn has_subquery_of_row(expr: &Expr) -> Result<bool> {
    expr.exists(|part| {
        Ok(is_lookup(part) || is_truth(part) || matches!(part, Expr::SetComparison(_)))
    })
}

/// Whether there is a subquery in it.
pub fn has_subquery(expr: &Expr) -> Result<bool> {
    expr.exists(|part| {
        Ok(matches!(
            part,
            Expr::ScalarSubquery(_)
                | Expr::Exists(_)
                | Expr::InSubquery(_)
                | Expr::SetComparison(_)
        ))
    })
}

/// The columns in expressions, each once.
fn columns_of<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> Result<Vec<Column>> {
    let mut columns = Vec::new();
    for expr in exprs {
        expr.apply(|part| {
            if let Expr::Column(column) = part
                && !columns.contains(column)
            {
                columns.push(column.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    Ok(columns)
}

/// A value that is not NULL where there is a row, and has these columns of it.
fn row_of(columns: &[Column]) -> Expr {
    let columns: Vec<Expr> = columns.iter().cloned().map(Expr::Column).collect();
    match columns.is_empty() {
        true => lit(true),
        false => r#struct().call(columns),
    }
}

/// A column of a row that was made of these.
fn part_of(row: &Expr, columns: &[Column], column: &Column) -> Result<Expr> {
    let Some(place) = columns.iter().position(|one| one == column) else {
        return internal_err!("a part that the row of a subquery does not have");
    };
    let part = ScalarUDF::from(Part {
        name: format!("{PART}{place}"),
        place,
        signature: Signature::any(1, Volatility::Immutable),
    });
    Ok(part.call(vec![row.clone()]))
}

/// The value at a place of a row; NULL where there is no row.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Part {
    name: String,
    place: usize,
    signature: Signature,
}

impl ScalarUDFImpl for Part {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let field = match types {
            [DataType::Struct(fields)] => fields.get(self.place),
            _ => None,
        };
        match field {
            Some(field) => Ok(field.data_type().clone()),
            None => internal_err!("a part of what is no row"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        scalar::of_one(&args.args, |rows| {
            let rows = rows.as_struct();
            let values = rows.column(self.place);
            match rows.nulls() {
                Some(_) => Ok(nullif(values, &is_null(rows)?)?),
                None => Ok(Arc::clone(values)),
            }
        })
    }
}
