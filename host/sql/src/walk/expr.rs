//! Expressions.

use sqlparser::ast::{
    Array, CaseWhen, CastKind, CeilFloorKind, DataType, DateTimeField, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArgumentList, FunctionArguments, Interval, LambdaFunction,
    LambdaFunctionParameter, LambdaSyntax, ObjectName, ObjectNamePart, Spanned, TypedString,
    WindowFrame, WindowFrameBound, WindowSpec,
};

use super::{Walk, operators::balance, take};
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::Dialect;

impl Walk<'_> {
    pub(super) fn exprs(&mut self, exprs: &mut [Expr]) -> Result<()> {
        exprs.iter_mut().try_for_each(|expr| self.expr(expr))
    }

    fn maybe(&mut self, expr: &mut Option<Box<Expr>>) -> Result<()> {
        expr.as_mut().map_or(Ok(()), |expr| self.expr(expr))
    }

    fn both(&mut self, left: &mut Expr, right: &mut Expr) -> Result<()> {
        self.expr(left)?;
        self.expr(right)
    }

    /// Checks an expression and all below it. The kinds are in three groups: names and values here, operators and
    /// the grammar's own functions in the two that follow; a kind in none of them is refused.
    pub(super) fn expr(&mut self, expr: &mut Expr) -> Result<()> {
        // Both stop at a depth that a list of conditions has soon.
        if self.is(Dialect::Datafusion) || self.is(Dialect::Sqlite) {
            balance(expr);
        }
        self.depth += 1;
        if self.depth > self.rules.max_depth() {
            return Err(self.too_deep(expr));
        }
        self.weights.part(self.depth);
        let checked = self.node(expr);
        self.depth -= 1;
        checked
    }

    fn too_deep(&self, expr: &Expr) -> Error {
        self.error(
            Code::SqlNotSupported,
            format!(
                "the statement chains more than {} operators or functions; put a long chain into brackets piece by piece, \
                 (a + b + …) + (c + d + …), or write IN (…) in place of many ORs and concat(…) in place of many ||",
                self.rules.max_depth()
            ),
            expr.span().start,
        )
    }

    fn node(&mut self, expr: &mut Expr) -> Result<()> {
        self.become_function(expr);
        match expr {
            Expr::Identifier(ident) => self.column(ident),
            Expr::CompoundIdentifier(parts) => self.compound(parts),
            Expr::CompoundFieldAccess { root, access_chain } => self.parts_of(root, access_chain),
            Expr::Value(_) => self.literal(expr),
            Expr::Nested(inner) => self.expr(inner),
            Expr::Function(function) => {
                self.function(function)?;
                self.type_as_text(expr);
                Ok(())
            }
            Expr::Subquery(query) => self.query(query),
            Expr::Exists {
                subquery,
                negated: _,
            } => self.query(subquery),
            Expr::InSubquery {
                expr,
                subquery,
                negated: _,
            } => {
                self.expr(expr)?;
                self.query(subquery)
            }
            Expr::Tuple(exprs) => self.exprs(exprs),
            Expr::Array(Array { elem, named: _ }) if self.has_arrays() => self.exprs(elem),
            Expr::GroupingSets(sets) | Expr::Cube(sets) | Expr::Rollup(sets) => {
                sets.iter_mut().try_for_each(|set| self.exprs(set))
            }
            Expr::Case {
                case_token: _,
                end_token: _,
                operand,
                conditions,
                else_result,
            } => {
                self.maybe(operand)?;
                for CaseWhen { condition, result } in conditions {
                    self.both(condition, result)?;
                }
                self.maybe(else_result)
            }
            Expr::Lambda(LambdaFunction {
                params,
                body,
                syntax: LambdaSyntax::Arrow,
            }) if self.is(Dialect::Clickhouse) || self.is(Dialect::Trino) => {
                for LambdaFunctionParameter { name, data_type } in params.iter() {
                    self.none(data_type.as_ref(), "the type of a parameter")?;
                    self.ident(name)?;
                }
                self.expr(body)
            }
            _ => self.operation(expr),
        }
    }

    /// In ClickHouse `x IN (name)` reads a whole table where `name` is that of one: `'x' IN (salaries)`.
    fn not_a_table(&self, list: &[Expr]) -> Result<()> {
        let mut only = match list {
            [only] if self.is(Dialect::Clickhouse) => only,
            _ => return Ok(()),
        };
        while let Expr::Nested(inner) = only {
            only = inner;
        }
        match only {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::CompoundFieldAccess { .. } => {
                Err(self.error(
                    Code::SqlNotSupported,
                    "a single name behind IN may be that of a table; write IN (SELECT … FROM …), or = for a column",
                    only.span().start,
                ))
            }
            _ => Ok(()),
        }
    }

    fn operation(&mut self, expr: &mut Expr) -> Result<()> {
        self.is_grammar_of_t_sql(expr)?;
        match expr {
            Expr::IsFalse(expr)
            | Expr::IsNotFalse(expr)
            | Expr::IsTrue(expr)
            | Expr::IsNotTrue(expr)
            | Expr::IsNull(expr)
            | Expr::IsNotNull(expr)
            | Expr::IsUnknown(expr)
            | Expr::IsNotUnknown(expr)
            | Expr::IsNormalized {
                expr,
                form: _,
                negated: _,
            } => self.expr(expr),
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                self.both(left, right)
            }
            Expr::InList {
                expr,
                list,
                negated: _,
            } => {
                self.not_a_table(list)?;
                self.expr(expr)?;
                self.exprs(list)
            }
            Expr::Between {
                expr,
                negated: _,
                low,
                high,
            } => {
                self.expr(expr)?;
                self.both(low, high)
            }
            Expr::BinaryOp { left, op, right } => {
                self.binary(op, left)?;
                self.both(left, right)
            }
            Expr::UnaryOp { op, expr } => self.unary(*op, expr),
            Expr::AnyOp {
                left,
                compare_op,
                right,
                is_some: _,
            }
            | Expr::AllOp {
                left,
                compare_op,
                right,
            } => {
                self.binary(compare_op, left)?;
                self.both(left, right)
            }
            Expr::Collate { expr, collation } => {
                self.collation(collation)?;
                self.expr(expr)?;
                // Behind the dot of `pg_catalog.f(x) COLLATE y` the parser reads no collation.
                if self.is(Dialect::Postgresql) && matches!(**expr, Expr::Function(_)) {
                    let inner = take(expr);
                    **expr = Expr::Nested(Box::new(inner));
                }
                Ok(())
            }
            _ => self.like(expr),
        }
    }

    /// Comparisons with a pattern.
    fn like(&mut self, expr: &mut Expr) -> Result<()> {
        match expr {
            // Without brackets around it PostgreSQL may end the pattern before the parser does.
            Expr::Like {
                negated: _,
                any: true,
                expr,
                pattern,
                escape_char: None,
            }
            | Expr::ILike {
                negated: _,
                any: true,
                expr,
                pattern,
                escape_char: None,
            } if self.is(Dialect::Postgresql)
                && matches!(**pattern, Expr::Nested(_) | Expr::Subquery(_)) =>
            {
                self.both(expr, pattern)
            }
            Expr::Like {
                negated: _,
                any: false,
                expr,
                pattern,
                escape_char,
            }
            | Expr::ILike {
                negated: _,
                any: false,
                expr,
                pattern,
                escape_char,
            }
            | Expr::SimilarTo {
                negated: _,
                expr,
                pattern,
                escape_char,
            } => {
                if let Some(escape) = escape_char {
                    self.value(escape)?;
                }
                self.both(expr, pattern)
            }
            Expr::RLike {
                negated: _,
                expr,
                pattern,
                regexp: _,
            } => self.both(expr, pattern),
            Expr::MatchAgainst {
                columns,
                match_value,
                opt_search_modifier: _,
            } if self.is(Dialect::Mysql) => {
                for column in columns.iter() {
                    self.parts(column)?;
                }
                self.value(match_value)
            }
            _ => self.grammar(expr),
        }
    }

    /// Words that the parser knows and T-SQL does not. They end an expression there: `SELECT 1 ILIKE x` is
    /// `SELECT 1 AS ILIKE`, and `x` begins the next statement.
    fn is_grammar_of_t_sql(&self, expr: &Expr) -> Result<()> {
        let foreign = match expr {
            Expr::ILike { .. }
            | Expr::SimilarTo { .. }
            | Expr::RLike { .. }
            | Expr::IsNormalized { .. }
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_)
            | Expr::Interval(_)
            | Expr::TypedString(_)
            | Expr::Position { .. }
            | Expr::Overlay { .. }
            | Expr::Extract { .. } => self.is(Dialect::Mssql),
            _ => false,
        };
        match foreign {
            true => Err(self.unsupported(format_args!("`{}`", shortened(expr)), expr.span().start)),
            false => Ok(()),
        }
    }

    fn grammar(&mut self, expr: &mut Expr) -> Result<()> {
        match expr {
            Expr::Convert {
                is_try: _,
                expr,
                data_type: Some(data_type),
                charset: None,
                target_before_value: true,
                styles,
            } if self.is(Dialect::Mssql) => {
                self.data_type(data_type)?;
                self.exprs(styles)?;
                self.expr(expr)
            }
            Expr::Cast {
                kind: _,
                expr,
                data_type,
                array: false,
                format: None,
            } => {
                self.data_type(data_type)?;
                self.expr(expr)?;
                // What is text already needs no second cast.
                if let (
                    DataType::Text,
                    Expr::Cast {
                        data_type,
                        expr: inner,
                        ..
                    },
                ) = (&*data_type, expr.as_mut())
                    && *data_type == DataType::Text
                    && is_type_of(inner)
                {
                    **expr = take(inner);
                }
                Ok(())
            }
            // `CONVERT(a USING utf8mb4)`, `CONVERT(a, CHAR)`
            Expr::Convert {
                is_try: false,
                expr,
                data_type,
                charset,
                target_before_value: false,
                styles,
            } if self.is(Dialect::Mysql) && styles.is_empty() => {
                if let Some(data_type) = data_type {
                    self.data_type(data_type)?;
                }
                if let Some(charset) = charset {
                    self.parts(charset)?;
                }
                self.expr(expr)
            }
            Expr::TypedString(TypedString {
                data_type,
                value,
                uses_odbc_syntax: false,
            }) => {
                self.data_type(data_type)?;
                self.value(value)
            }
            Expr::Interval(Interval {
                value,
                leading_field,
                leading_precision: _,
                last_field,
                fractional_seconds_precision: _,
            }) => {
                for field in [leading_field, last_field].into_iter().flatten() {
                    self.field(field)?;
                }
                self.expr(value)
            }
            Expr::AtTimeZone {
                timestamp,
                time_zone,
            } => self.both(timestamp, time_zone),
            Expr::Extract {
                field,
                syntax: _,
                expr,
            } => {
                self.field(field)?;
                self.expr(expr)
            }
            Expr::Ceil {
                expr,
                field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime),
            }
            | Expr::Floor {
                expr,
                field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime),
            } => self.expr(expr),
            Expr::Ceil {
                expr,
                field: CeilFloorKind::Scale(scale),
            }
            | Expr::Floor {
                expr,
                field: CeilFloorKind::Scale(scale),
            } if self.is(Dialect::Clickhouse) => {
                self.value(scale)?;
                self.expr(expr)
            }
            Expr::Position { expr, r#in } => self.both(expr, r#in),
            Expr::Substring {
                expr,
                substring_from,
                substring_for,
                special: _,
                shorthand: _,
            } => {
                self.expr(expr)?;
                self.maybe(substring_from)?;
                self.maybe(substring_for)
            }
            Expr::Trim {
                trim_where: _,
                trim_what,
                expr,
                trim_characters,
            } => {
                self.maybe(trim_what)?;
                self.exprs(trim_characters.as_deref_mut().unwrap_or_default())?;
                self.expr(expr)
            }
            Expr::Overlay {
                expr,
                overlay_what,
                overlay_from,
                overlay_for,
            } => {
                self.both(expr, overlay_what)?;
                self.expr(overlay_from)?;
                self.maybe(overlay_for)
            }
            _ => Err(self.unsupported(format_args!("`{}`", shortened(expr)), expr.span().start)),
        }
    }

    pub(super) fn has_arrays(&self) -> bool {
        matches!(
            self.rules.dialect,
            Dialect::Postgresql | Dialect::Clickhouse | Dialect::Trino | Dialect::Generic
        )
    }

    pub(super) fn window(&mut self, spec: &mut WindowSpec) -> Result<()> {
        let WindowSpec {
            window_name,
            partition_by,
            order_by,
            window_frame,
        } = spec;
        if let Some(name) = window_name {
            self.ident(name)?;
        }
        self.exprs(partition_by)?;
        self.order_exprs(order_by)?;
        let Some(WindowFrame {
            units: _,
            start_bound,
            end_bound,
        }) = window_frame
        else {
            return Ok(());
        };
        for bound in std::iter::once(start_bound).chain(end_bound) {
            match bound {
                WindowFrameBound::CurrentRow => {}
                WindowFrameBound::Preceding(expr) | WindowFrameBound::Following(expr) => {
                    self.maybe(expr)?
                }
            }
        }
        Ok(())
    }

    /// PostgreSQL looks `ceil(x)`, `floor(x)`, `substr(x, 1)` and `substring(x, 1)` up as functions, though the
    /// parser takes them for grammar. They become function calls, so that they are qualified like all others.
    fn become_function(&self, expr: &mut Expr) {
        if !self.is(Dialect::Postgresql) {
            return;
        }
        let (name, args) = match expr {
            Expr::Ceil {
                expr,
                field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime),
            } => ("ceil", vec![take(expr)]),
            Expr::Floor {
                expr,
                field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime),
            } => ("floor", vec![take(expr)]),
            Expr::Substring {
                expr,
                substring_from,
                substring_for,
                special: true,
                shorthand,
            } => {
                let rest = [substring_from, substring_for];
                let args = std::iter::once(take(expr)).chain(rest.into_iter().flatten().map(take));
                (
                    if *shorthand { "substr" } else { "substring" },
                    args.collect(),
                )
            }
            _ => return,
        };
        *expr = Expr::Function(call(self.built_in(name), args));
    }

    /// PostgreSQL's `pg_typeof` gives a `regtype`, and a text beside one is read as the name of a type: `CASE WHEN false
    /// THEN pg_typeof(1) ELSE 'private.table' END` would tell whether that exists. So it goes out as text.
    fn type_as_text(&self, expr: &mut Expr) {
        if self.is(Dialect::Postgresql) && is_type_of(expr) {
            *expr = Expr::Cast {
                kind: CastKind::Cast,
                expr: Box::new(std::mem::replace(expr, Expr::Tuple(Vec::new()))),
                data_type: DataType::Text,
                array: false,
                format: None,
            };
        }
    }
}

fn is_type_of(expr: &Expr) -> bool {
    let Expr::Function(function) = expr else {
        return false;
    };
    let last = function.name.0.last().and_then(ObjectNamePart::as_ident);
    last.is_some_and(|last| last.value == "pg_typeof")
}

/// A plain call of a function.
pub(crate) fn call(name: ObjectName, args: Vec<Expr>) -> Function {
    let args = args
        .into_iter()
        .map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)))
        .collect();
    Function {
        name,
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args,
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    }
}

/// The beginning of an expression, for a message.
fn shortened(expr: &Expr) -> String {
    let text = expr.to_string();
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
