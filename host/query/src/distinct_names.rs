//! Names of columns that DataFusion cannot tell apart.
//!
//! It names an expression by what is in it, without its casts, and wants each name of an operator once. So it refuses
//! `SELECT day, CAST(day AS text)` and `SELECT id, id`, which every other engine runs. A statement that it refuses for
//! this is planned a second time: with a mark around each cast, which the optimizer takes away again, and with a name
//! of our own for each column that is there twice.

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
    sync::Arc,
};

use super::column_names::without_brackets;
use datafusion::{
    arrow::datatypes::{DataType, FieldRef},
    common::{Result, internal_err},
    error::DataFusionError,
    logical_expr::{
        ColumnarValue, Expr as Planned, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
        ScalarUDFImpl, Signature, Volatility,
        simplify::{ExprSimplifyResult, SimplifyContext},
    },
};
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, Query, Select, SelectItem, SetExpr, Statement, Value, VisitMut as _, VisitorMut,
};

/// The function that marks a cast. The guard lets no statement call it.
const MARK: &str = "__cast";
/// The names of our own, with a number behind.
const COLUMN: &str = "__column_";

/// What DataFusion says of two equal names.
const REFUSALS: [&str; 4] = [
    "require unique expression names",
    "contains duplicate unqualified field name",
    "contains duplicate qualified field name",
    "which would be ambiguous",
];

/// Whether a statement was refused because of two equal names.
pub fn are_missing(error: &DataFusionError) -> bool {
    let root = error.find_root();
    let of_planner = !matches!(root, DataFusionError::External(_));
    let message = root.strip_backtrace();
    of_planner && REFUSALS.iter().any(|part| message.contains(part))
}

/// The names that the result shows, for those of our own.
pub type Shown = HashMap<String, String>;

/// Makes the names of a statement distinct.
pub fn make(statement: &mut Statement) -> Shown {
    let mut shown = Shown::new();
    if let Statement::Query(query) = statement {
        name_columns(query, &mut shown);
    }
    let _ = statement.visit(&mut Subqueries { depth: 0 });
    let _ = statement.visit(&mut Marks);
    shown
}

/// Names what is in the result twice. Columns that are there once keep their names, which ORDER BY may use.
fn name_columns(query: &mut Query, shown: &mut Shown) {
    for select in selects(query) {
        // What `*` stands for is not known here.
        let mut names = Names {
            all: select.projection.iter().any(is_star),
            taken: HashSet::new(),
        };
        for item in &mut select.projection {
            names.name(item, shown);
        }
    }
}

/// The SELECTs whose columns are those of a query: several with UNION and the like.
fn selects(query: &mut Query) -> Vec<&mut Select> {
    let mut found = Vec::new();
    let mut arms = vec![&mut *query.body];
    while let Some(arm) = arms.pop() {
        match arm {
            SetExpr::Query(query) => arms.push(&mut query.body),
            SetExpr::SetOperation { left, right, .. } => arms.extend([&mut **right, &mut **left]),
            SetExpr::Select(select) => found.push(&mut **select),
            _ => {}
        }
    }
    found
}

/// Names what is in a subquery again as DataFusion does it with `*`: `id` and `id:1`.
struct Subqueries {
    /// How many queries are around.
    depth: usize,
}

impl VisitorMut for Subqueries {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if self.depth > 0 {
            for select in selects(query) {
                name_again(&mut select.projection);
            }
        }
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

fn name_again(columns: &mut [SelectItem]) {
    let mut times: HashMap<String, usize> = HashMap::new();
    for item in columns {
        let (expr, name) = match item {
            SelectItem::UnnamedExpr(expr) => (expr.clone(), column_name(expr)),
            SelectItem::ExprWithAlias { expr, alias } => (expr.clone(), alias.value.clone()),
            _ => continue,
        };
        let before = times.entry(name.clone()).or_default();
        if *before > 0 {
            let alias = Ident::with_quote('"', format!("{name}:{before}"));
            *item = SelectItem::ExprWithAlias { expr, alias };
        }
        *before += 1;
    }
}

fn is_star(item: &SelectItem) -> bool {
    matches!(
        item,
        SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)
    )
}

/// The names of one list of columns.
struct Names {
    /// Whether each column gets one of our own.
    all: bool,
    taken: HashSet<String>,
}

impl Names {
    fn name(&mut self, item: &mut SelectItem, shown: &mut Shown) {
        let (expr, name, may_stay) = match item {
            SelectItem::UnnamedExpr(expr) => (expr.clone(), column_name(expr), is_column(expr)),
            SelectItem::ExprWithAlias { expr, alias } => (expr.clone(), alias.value.clone(), true),
            _ => return,
        };
        if !self.all && may_stay && self.taken.insert(name.clone()) {
            return;
        }
        let own = format!("{COLUMN}{}", shown.len() + 1);
        shown.insert(own.clone(), name);
        let alias = Ident::with_quote('"', own);
        *item = SelectItem::ExprWithAlias { expr, alias };
    }
}

fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
}

/// The name that the result shows for an expression without a name.
fn column_name(expr: &Expr) -> String {
    let column = match without_brackets(expr) {
        Expr::Identifier(ident) => Some(ident),
        Expr::CompoundIdentifier(parts) => parts.last(),
        _ => None,
    };
    column.map_or_else(|| expr.to_string(), |ident| ident.value.clone())
}

/// Puts a mark around each cast. One of a constant needs none.
struct Marks;

impl VisitorMut for Marks {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Cast {
            expr: of,
            data_type,
            ..
        } = expr
            && !matches!(**of, Expr::Value(_))
        {
            let target = Value::SingleQuotedString(data_type.to_string());
            *expr = call(MARK, vec![expr.clone(), Expr::value(target)]);
        }
        ControlFlow::Continue(())
    }
}

/// The call of a function of the host.
pub fn call(name: &str, args: Vec<Expr>) -> Expr {
    let unnamed = |arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg));
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::with_quote('"', name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.into_iter().map(unnamed).collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// The function that marks a cast.
pub fn mark() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(Mark {
        signature: Signature::any(2, Volatility::Immutable),
    }))
}

/// Its first argument is its result; the second one, the type, is there for the name.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Mark {
    signature: Signature,
}

impl ScalarUDFImpl for Mark {
    fn name(&self) -> &str {
        MARK
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types.first() {
            Some(data_type) => Ok(data_type.clone()),
            None => internal_err!("a mark without a cast"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match args.arg_fields.first() {
            Some(field) => Ok(Arc::clone(field)),
            None => internal_err!("a mark without a cast"),
        }
    }

    fn simplify(&self, mut args: Vec<Planned>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        match args.is_empty() {
            false => Ok(ExprSimplifyResult::Simplified(args.swap_remove(0))),
            true => Ok(ExprSimplifyResult::Original(args)),
        }
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.is_empty() {
            false => Ok(args.args.swap_remove(0)),
            true => internal_err!("a mark without a cast"),
        }
    }
}
