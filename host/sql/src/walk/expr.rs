//! Expressions.

use sqlparser::{
    ast::{
        AccessExpr, Array, CaseWhen, CeilFloorKind, DateTimeField, Expr, Function, FunctionArg,
        FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, Interval, LambdaFunction,
        LambdaFunctionParameter, LambdaSyntax, ObjectName, Spanned, Subscript, TypedString,
        WindowFrame, WindowFrameBound, WindowSpec,
    },
    tokenizer::Location,
};

use super::{Walk, operators::balance};
use crate::names::{self, Found};
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
        if self.is(Dialect::Datafusion) {
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
            Expr::CompoundFieldAccess { root, access_chain } => {
                self.expr(root)?;
                access_chain
                    .iter_mut()
                    .try_for_each(|access| self.access(access))
            }
            Expr::Value(_) => self.literal(expr),
            Expr::Nested(inner) => self.expr(inner),
            Expr::Function(function) => self.function(function),
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
            }) if self.is(Dialect::Clickhouse) => {
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
                self.expr(expr)
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
                self.expr(expr)
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

    fn has_arrays(&self) -> bool {
        matches!(
            self.rules.dialect,
            Dialect::Postgresql | Dialect::Clickhouse | Dialect::Generic
        )
    }

    /// A bare name. Some that look like columns ask about the session.
    fn column(&mut self, ident: &Ident) -> Result<()> {
        const SESSION: [&str; 8] = [
            "current_catalog",
            "current_path",
            "current_role",
            "current_schema",
            "current_user",
            "session_user",
            "system_user",
            "user",
        ];
        self.ident(ident)?;
        let word = ident.value.to_ascii_lowercase();
        if ident.quote_style.is_none()
            && !self.is(Dialect::Sqlite)
            && SESSION.contains(&word.as_str())
        {
            return Err(self.error(
                Code::SqlFunctionNotAllowed,
                format!(
                    "`{word}` asks about the session and is not allowed; quote it if it is a column"
                ),
                ident.span.start,
            ));
        }
        self.begins_no_statement(ident)?;
        let name = self.fold(ident);
        self.weights.column(name);
        Ok(())
    }

    /// In T-SQL a word that begins a statement ends the one before it, wherever an expression may end.
    fn begins_no_statement(&self, ident: &Ident) -> Result<()> {
        let word = ident.value.to_ascii_uppercase();
        let is_statement = self.is(Dialect::Mssql)
            && ident.quote_style.is_none()
            && T_SQL_STATEMENTS.contains(&word.as_str());
        if is_statement {
            let message = format!(
                "`{word}` begins a statement; put it into brackets if it is a name: [{word}]"
            );
            return Err(self.error(Code::SqlNotReadOnly, message, ident.span.start));
        }
        Ok(())
    }

    /// A qualified column. The name of the datasource, which no engine knows, is taken off.
    fn compound(&mut self, parts: &mut Vec<Ident>) -> Result<()> {
        self.idents(parts)?;
        parts
            .iter()
            .try_for_each(|part| self.begins_no_statement(part))?;
        self.without_datasource(parts, 1)?;
        if let [qualifier, name] = parts.as_slice() {
            self.attributes.push((qualifier.clone(), name.clone()));
        }
        if let Some(name) = parts.last() {
            let name = self.fold(name);
            self.weights.column(name);
        }
        Ok(())
    }

    /// What stands before `.*`.
    pub(super) fn qualifier(&self, name: &mut ObjectName) -> Result<()> {
        let mut parts: Vec<Ident> = self.parts(name)?.into_iter().cloned().collect();
        self.without_datasource(&mut parts, 0)?;
        *name = ObjectName::from(parts);
        Ok(())
    }

    /// Turns `datasource.schema.table` into `schema.table`, and `datasource.table` into the same where a table of
    /// this name was named in FROM and no schema reads as the datasource. `behind` parts follow the table.
    fn without_datasource(&self, parts: &mut Vec<Ident>, behind: usize) -> Result<()> {
        let Some(first) = parts.first().cloned() else {
            return Ok(());
        };
        if self.over_several {
            return self.with_full_name(parts, behind);
        }
        let named = |index: usize| {
            self.scope
                .datasources
                .get(index)
                .is_some_and(|datasource| names::is_datasource(self.scope, datasource, &first))
        };
        let same = |written: &Ident, stored: &str| {
            self.rules
                .same_table(&written.value, written.quote_style.is_some(), stored)
        };
        match parts.len().checked_sub(behind) {
            Some(3) if self.tables.iter().any(|found| named(found.datasource)) => {
                parts.remove(0);
            }
            Some(2) => {
                let table = parts.get(1).cloned().unwrap_or_else(|| first.clone());
                let is_schema = self.tables.iter().any(|found| {
                    same(&first, &found.table.schema) && same(&table, &found.table.name)
                });
                let meant = self
                    .tables
                    .iter()
                    .find(|found| named(found.datasource) && same(&table, &found.table.name));
                if let (false, Some(found), Some(slot)) = (is_schema, meant, parts.first_mut()) {
                    *slot = self.stored(&found.table.schema, first.span.start)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Turns the name of a table that was named in FROM, `datasource.table`, `schema.table` or
    /// `datasource.schema.table`, into the one that it has there now. `behind` parts follow the table.
    fn with_full_name(&self, parts: &mut Vec<Ident>, behind: usize) -> Result<()> {
        let Some((written, rest)) = parts
            .len()
            .checked_sub(behind)
            .and_then(|at| parts.split_at_checked(at))
        else {
            return Ok(());
        };
        let same = |written: &Ident, stored: &str| {
            self.rules
                .same_table(&written.value, written.quote_style.is_some(), stored)
        };
        let is_of = |found: &Found<'_>, written: &Ident| {
            let datasource = self.scope.datasources.get(found.datasource);
            datasource.is_some_and(|one| names::is_datasource(self.scope, one, written))
        };
        let meant = match written {
            [first, table] => {
                let named: Vec<_> = self
                    .tables
                    .iter()
                    .filter(|found| same(table, &found.table.name))
                    .collect();
                let of = named.iter().find(|found| is_of(found, first));
                of.or_else(|| named.iter().find(|found| same(first, &found.table.schema)))
                    .copied()
            }
            [datasource, schema, table] => self.tables.iter().find(|found| {
                is_of(found, datasource)
                    && same(schema, &found.table.schema)
                    && same(table, &found.table.name)
            }),
            _ => None,
        };
        if let (Some(found), Some(first)) = (meant, written.first()) {
            let mut full = self.full_name(found, first.span.start)?;
            full.extend_from_slice(rest);
            *parts = full;
        }
        Ok(())
    }

    fn access(&mut self, access: &mut AccessExpr) -> Result<()> {
        match access {
            AccessExpr::Subscript(Subscript::Index { index }) if self.has_arrays() => {
                self.expr(index)
            }
            AccessExpr::Subscript(Subscript::Slice {
                lower_bound,
                upper_bound,
                stride: None,
            }) if self.has_arrays() => {
                for bound in [lower_bound, upper_bound].into_iter().flatten() {
                    self.expr(bound)?;
                }
                Ok(())
            }
            AccessExpr::Dot(Expr::Identifier(name)) if self.is(Dialect::Postgresql) => {
                self.field_of_value(name)
            }
            AccessExpr::Dot(inner) => {
                Err(self.unsupported(format_args!("`.{inner}`"), inner.span().start))
            }
            AccessExpr::Subscript(_) => Err(self.unsupported("this subscript", Location::empty())),
        }
    }

    /// In PostgreSQL `(value).name` calls the function `name` when the value has no such field, so that
    /// `('/etc/passwd').pg_read_file` reads a file.
    fn field_of_value(&self, name: &Ident) -> Result<()> {
        self.ident(name)?;
        let folded = self.fold(name);
        let field = ["key", "value", "lexeme", "positions", "weights"].contains(&folded.as_str());
        if field || self.rules.functions.contains(folded.as_str()) {
            return Ok(());
        }
        Err(self.error(
            Code::SqlFunctionNotAllowed,
            format!(
                "`.{folded}` behind a value may call a function of that name and is not allowed"
            ),
            name.span.start,
        ))
    }

    fn collation(&mut self, collation: &ObjectName) -> Result<()> {
        match self.parts(collation)?.as_slice() {
            [_] => Ok(()),
            [schema, _] if self.is(Dialect::Postgresql) && self.fold(schema) == "pg_catalog" => {
                Ok(())
            }
            _ => Err(self.unsupported(
                format_args!("the collation `{collation}`"),
                collation.span().start,
            )),
        }
    }

    fn field(&self, field: &DateTimeField) -> Result<()> {
        match field {
            DateTimeField::Custom(ident) | DateTimeField::Week(Some(ident)) => self.ident(ident),
            _ => Ok(()),
        }
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
}

/// Reserved words of T-SQL that begin a statement.
const T_SQL_STATEMENTS: [&str; 56] = [
    "ALTER",
    "BACKUP",
    "BEGIN",
    "BREAK",
    "BULK",
    "CHECKPOINT",
    "CLOSE",
    "COMMIT",
    "CONTINUE",
    "CREATE",
    "DBCC",
    "DEALLOCATE",
    "DECLARE",
    "DELETE",
    "DENY",
    "DISK",
    "DROP",
    "DUMP",
    "ELSE",
    "END",
    "EXEC",
    "EXECUTE",
    "EXIT",
    "FETCH",
    "GOTO",
    "GRANT",
    "IF",
    "INSERT",
    "KILL",
    "LINENO",
    "LOAD",
    "MERGE",
    "OPEN",
    "OPTION",
    "PRINT",
    "RAISERROR",
    "READTEXT",
    "RECONFIGURE",
    "RESTORE",
    "RETURN",
    "REVERT",
    "REVOKE",
    "ROLLBACK",
    "SAVE",
    "SELECT",
    "SET",
    "SETUSER",
    "SHUTDOWN",
    "TRUNCATE",
    "UPDATE",
    "UPDATETEXT",
    "USE",
    "WAITFOR",
    "WHILE",
    "WITH",
    "WRITETEXT",
];

pub(super) fn take(expr: &mut Box<Expr>) -> Expr {
    std::mem::replace(expr.as_mut(), Expr::Tuple(Vec::new()))
}

fn call(name: ObjectName, args: Vec<Expr>) -> Function {
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
