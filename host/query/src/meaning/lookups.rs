//! `(SELECT name FROM customers c WHERE c.id = o.customer)`: the value of one row that depends on the statement around
//! it. DataFusion joins such a subquery by groups, so it wants an aggregate that gives one value of each group. A
//! statement that it refuses for this is planned again with such aggregates: the first value in the order of a subquery
//! that ends in `LIMIT 1`, and of another one the value of its only row. What else its value and its place need, see
//! [`super::lifted_lookups`].

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
    sync::{Arc, LazyLock},
};

use datafusion::{
    arrow::{
        array::{Array as _, AsArray as _},
        datatypes::{DataType, Int64Type},
    },
    common::{Result, internal_err},
    error::DataFusionError,
    functions::core::r#struct,
    logical_expr::{
        ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    },
};
use sqlparser::ast::{
    Distinct, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments, GroupByExpr, Ident, LimitClause, OrderBy, OrderByExpr, OrderByKind, Query,
    Select, SelectItem, SetExpr, Statement, Value, VisitMut as _, Visitor, VisitorMut,
};

use super::{lifted_lookups::LOOKED, scalar, templates};
use crate::{column_names::without_brackets, errors, functions, names::folded};
use mindhost_base::error::{Code, Error};

/// The function that gives the value of the only row. The guard lets no statement call it.
pub const ONLY: &str = "__only";
/// A subquery's value and the number of its rows, and the value of the first of them.
const ONE_OF_ALL: &str = "\"struct\"(first_value(__value), count(*))";
const FIRST: &str = "first_value(__value)";
const VALUE: &str = "__value";
/// What the function is called with.
const CALL: &str = "__only(__value)";

/// The names of our own for values of subqueries, with a number behind.
pub const NAME: &str = "__lookup_";
/// What is said of a value that needs such a name.
pub const UNNAMED: &str = "the value of a subquery has no name of its own";

/// What DataFusion says of a subquery without an aggregate.
const REFUSALS: [&str; 2] = [
    "Correlated scalar subquery must be aggregated",
    "does not support logical expression ScalarSubquery",
];

/// Whether a statement may have been refused because of a subquery without an aggregate.
pub fn are_missing(error: &DataFusionError) -> bool {
    says(error, &REFUSALS)
}

/// Whether a statement was refused because of a value without a name.
pub fn are_unnamed(error: &DataFusionError) -> bool {
    says(error, &[UNNAMED])
}

fn says(error: &DataFusionError, parts: &[&str]) -> bool {
    let root = error.find_root();
    let of_planner = !matches!(root, DataFusionError::External(_));
    let message = root.strip_backtrace();
    of_planner && parts.iter().any(|part| message.contains(part))
}

/// Whether an error names what the caller did not write.
pub fn are_in(error: &DataFusionError) -> bool {
    let message = error.strip_backtrace();
    [ONLY, NAME, LOOKED].iter().any(|own| message.contains(own))
}

/// Gives an aggregate to each subquery that stands for a value and has none.
pub fn aggregated(statement: &mut Statement) {
    let _ = statement.visit(&mut Lookups::default());
}

/// Gives a name to each value of a subquery, the same to those of the same text. DataFusion knows groups and aggregates
/// by their names, and would take the value of one subquery for that of another one.
pub fn named(statement: &mut Statement) {
    let _ = statement.visit(&mut Names::default());
}

/// Gives such names in ORDER BY alone, to what is no column of the result itself. DataFusion would take a value for the
/// column that has its text. Before the aggregates: these have texts of their own.
pub fn named_in_orders(statement: &mut Statement) {
    let _ = statement.visit(&mut Orders::default());
}

/// For each expression around the present one, whether it compares with all rows of a subquery: `> ANY (SELECT …)`.
#[derive(Default)]
struct Around(Vec<bool>);

impl Around {
    fn enter(&mut self, expr: &Expr) {
        let is_quantified = matches!(expr, Expr::AnyOp { .. } | Expr::AllOp { .. });
        self.0.push(is_quantified);
    }

    /// Whether the expression that ends here is one whose rows are compared.
    fn leave(&mut self) -> bool {
        self.0.pop();
        self.0.last().is_some_and(|is_quantified| *is_quantified)
    }
}

#[derive(Default)]
struct Names {
    around: Around,
    /// The numbers of the names by the texts of the subqueries.
    known: HashMap<String, usize>,
    /// The subqueries that stay as they are.
    kept: Vec<Expr>,
}

impl VisitorMut for Names {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.around.enter(expr);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let stays = self.around.leave() || self.kept.contains(expr);
        if let (Expr::Subquery(query), false) = (expr, stays) {
            let next = self.known.len() + 1;
            let number = *self.known.entry(query.to_string()).or_insert(next);
            name(query, format!("{NAME}{number}"));
        }
        ControlFlow::Continue(())
    }
}

/// Names the value of a subquery. One that the caller named keeps its name where another clause may use that.
fn name(query: &mut Query, name: String) {
    let is_ordered = query.order_by.is_some();
    let SetExpr::Select(select) = &mut *query.body else {
        return;
    };
    let is_used = is_ordered
        || select.having.is_some()
        || select.qualify.is_some()
        || !matches!(&select.group_by, GroupByExpr::Expressions(parts, _) if parts.is_empty());
    let [item] = select.projection.as_mut_slice() else {
        return;
    };
    let expr = match item {
        SelectItem::UnnamedExpr(expr) => expr.clone(),
        SelectItem::ExprWithAlias { expr, .. } if !is_used => expr.clone(),
        _ => return,
    };
    let alias = Ident::with_quote('"', name);
    *item = SelectItem::ExprWithAlias { expr, alias };
}

#[derive(Default)]
struct Orders(Names);

impl VisitorMut for Orders {
    type Break = ();

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let Query { body, order_by, .. } = query;
        if let SetExpr::Select(select) = &**body
            && let Some(OrderBy {
                kind: OrderByKind::Expressions(parts),
                ..
            }) = order_by
        {
            let columns = select.projection.iter().filter_map(|item| match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                    Some(without_brackets(expr).clone())
                }
                _ => None,
            });
            self.0.kept = columns.collect();
            for part in parts {
                let _ = part.expr.visit(&mut self.0);
            }
        }
        ControlFlow::Continue(())
    }
}

#[derive(Default)]
struct Lookups(Around);

impl VisitorMut for Lookups {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.0.enter(expr);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let has_all_rows = self.0.leave();
        if let (Expr::Subquery(query), false) = (&*expr, has_all_rows)
            && let Some(value) = of_first_row(query).or_else(|| of_only_row(query))
        {
            *expr = value;
        }
        ControlFlow::Continue(())
    }
}

/// `(SELECT x … ORDER BY y LIMIT 1)` as `(SELECT first_value(x ORDER BY y) …)`.
fn of_first_row(query: &Query) -> Option<Expr> {
    let Some(LimitClause::LimitOffset {
        limit: Some(limit),
        offset: None,
        limit_by,
    }) = &query.limit_clause
    else {
        return None;
    };
    if !limit_by.is_empty() || number(limit) != Some(1) {
        return None;
    }
    let value = plain_value(query)?;
    let mut first = filled(FIRST, value)?;
    let order = match query.order_by.as_ref().map(|order| &order.kind) {
        Some(OrderByKind::Expressions(parts)) => parts.clone(),
        Some(OrderByKind::All(_)) => return None,
        None => Vec::new(),
    };
    if let (Expr::Function(call), false) = (&mut first, order.is_empty())
        && let FunctionArguments::List(list) = &mut call.args
    {
        let order = order.into_iter().map(|part| order_part(part, query));
        let order = order.collect::<Option<Vec<_>>>()?;
        list.clauses.push(FunctionArgumentClause::OrderBy(order));
    }
    Some(Expr::Subquery(with_value(query, first)?))
}

/// `(SELECT x …)` as `only((SELECT value and count …))`. The rows are counted below the join, and a second one is an
/// error above it: only where the statement has a row that asks for the value.
fn of_only_row(query: &Query) -> Option<Expr> {
    if query.limit_clause.is_some() {
        return None;
    }
    let value = plain_value(query)?;
    let subquery = with_value(query, filled(ONE_OF_ALL, value)?)?;
    filled(CALL, &Expr::Subquery(subquery))
}

/// The value of a subquery that is one of each row: without aggregates, groups, windows and DISTINCT.
fn plain_value(query: &Query) -> Option<&Expr> {
    let select = select(query)?;
    let is_plain = query.with.is_none()
        && query.fetch.is_none()
        && !select.from.is_empty()
        && matches!(select.distinct, None | Some(Distinct::All))
        && matches!(&select.group_by, GroupByExpr::Expressions(parts, _) if parts.is_empty())
        && select.having.is_none()
        && select.qualify.is_none();
    let [SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. }] =
        select.projection.as_slice()
    else {
        return None;
    };
    let mut computed = Computed::default();
    // By its path: beside the other trait its name would stand for both.
    let computes = sqlparser::ast::Visit::visit(value, &mut computed).is_break();
    (is_plain && !computes).then_some(value)
}

/// Finds an aggregate or a window of the query itself: those of a subquery in it are not its own.
#[derive(Default)]
struct Computed {
    /// The subqueries around the present expression.
    depth: usize,
}

impl Visitor for Computed {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(call)
                if self.depth == 0 && (call.over.is_some() || is_aggregate(call)) =>
            {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

fn is_aggregate(call: &Function) -> bool {
    static NAMES: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let known = functions::allowed().aggregate.iter();
        known
            .flat_map(|known| {
                known
                    .aliases()
                    .iter()
                    .cloned()
                    .chain([known.name().to_owned()])
            })
            .collect()
    });
    let name = call.name.0.last().and_then(|part| part.as_ident());
    name.is_some_and(|name| NAMES.contains(&folded(name)))
}

fn select(query: &Query) -> Option<&Select> {
    match &*query.body {
        SetExpr::Select(select) => Some(select),
        _ => None,
    }
}

/// A part of ORDER BY, with the value in place of its number or its name, which goes before columns of this name.
fn order_part(mut part: OrderByExpr, query: &Query) -> Option<OrderByExpr> {
    let value = plain_value(query)?;
    let name = match (select(query)?.projection.as_slice(), value) {
        ([SelectItem::ExprWithAlias { alias, .. }], _) if !alias.value.starts_with(NAME) => {
            Some(alias)
        }
        (_, Expr::Identifier(name)) => Some(name),
        (_, Expr::CompoundIdentifier(parts)) => parts.last(),
        _ => None,
    };
    let is_value = match without_brackets(&part.expr) {
        Expr::Identifier(written) => name.is_some_and(|name| folded(name) == folded(written)),
        written => number(written) == Some(1),
    };
    if is_value {
        part.expr = value.clone();
    }
    Some(part)
}

fn number(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => number.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// The subquery with another value, and without an order and a limit.
fn with_value(query: &Query, value: Expr) -> Option<Box<Query>> {
    let mut query = query.clone();
    query.order_by = None;
    query.limit_clause = None;
    let SetExpr::Select(select) = &mut *query.body else {
        return None;
    };
    select.projection = vec![SelectItem::UnnamedExpr(value)];
    Some(Box::new(query))
}

/// A call of our own with a value in it.
fn filled(template: &str, value: &Expr) -> Option<Expr> {
    let mut call = templates::expression(template)?;
    put(&mut call, value)?;
    Some(call)
}

fn put(call: &mut Expr, value: &Expr) -> Option<()> {
    let Expr::Function(Function {
        args: FunctionArguments::List(list),
        ..
    }) = call
    else {
        return None;
    };
    for arg in &mut list.args {
        match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(name)))
                if name.value == VALUE =>
            {
                *arg = FunctionArg::Unnamed(FunctionArgExpr::Expr(value.clone()));
            }
            FunctionArg::Unnamed(FunctionArgExpr::Expr(inner)) => put(inner, value)?,
            _ => {}
        }
    }
    Some(())
}

/// The functions that stand for such subqueries.
pub fn functions() -> [Arc<ScalarUDF>; 2] {
    let signature = Signature::any(1, Volatility::Immutable);
    [r#struct(), Arc::new(ScalarUDF::from(Only { signature }))]
}

/// The value of a pair of a value and the number of its rows.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Only {
    signature: Signature,
}

impl ScalarUDFImpl for Only {
    fn name(&self) -> &str {
        ONLY
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [DataType::Struct(fields)] if fields.len() == 2 => Ok(fields[0].data_type().clone()),
            _ => internal_err!("a subquery's value without the number of its rows"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        scalar::of_one(&args.args, |pairs| {
            let pairs = pairs.as_struct();
            let counts = pairs.column(1).as_primitive::<Int64Type>();
            // A pair that is not there may have any parts.
            let are_many = |place: usize| {
                pairs.is_valid(place) && counts.is_valid(place) && counts.value(place) > 1
            };
            match (0..pairs.len()).any(are_many) {
                false => Ok(Arc::clone(pairs.column(0))),
                true => Err(errors::external(Error::new(
                    Code::SqlInvalid,
                    "a (SELECT …) that stands for a value has more than one row; give it an aggregate, such as \
                     max(x), or a LIMIT 1",
                ))),
            }
        })
    }
}
