//! Function calls.

use sqlparser::{
    ast::{
        Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgOperator, FunctionArgumentClause,
        FunctionArgumentList, FunctionArguments, Ident, JsonReturningClause, ObjectName, Spanned,
        Value, WindowType,
    },
    tokenizer::Location,
};

use super::Walk;
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::Dialect;

impl Walk<'_> {
    pub(super) fn function(&mut self, function: &mut Function) -> Result<()> {
        let Function {
            name,
            uses_odbc_syntax,
            parameters,
            args,
            filter,
            null_treatment: _,
            over,
            within_group,
        } = function;
        let at = name.span().start;
        // `quantile(0.9)(x)`
        let is_unknown = match parameters {
            FunctionArguments::None => false,
            FunctionArguments::List(list) if self.is(Dialect::Clickhouse) => {
                self.argument_list(list, at)?;
                false
            }
            _ => true,
        };
        if *uses_odbc_syntax || is_unknown {
            return Err(self.unsupported(format_args!("this form of `{name}`"), at));
        }
        let keyword = match self.is_safe_call(name, args) {
            true => false,
            false => self.function_name(name)?,
        };
        self.arguments(name, args, keyword)?;
        if let Some(filter) = filter {
            self.expr(filter)?;
        }
        self.order_exprs(within_group)?;
        match over {
            None => Ok(()),
            Some(WindowType::NamedWindow(name)) => self.ident(name),
            Some(WindowType::WindowSpec(spec)) => self.window(spec),
        }
    }

    /// For ClickHouse a lambda with a name is a function of this name, in every subquery of the statement:
    /// `(a, b) -> 1 AS equals` would be the `=` in the filter of a policy. It knows no lambda as a column.
    pub(super) fn names_no_function(&self, mut expr: &Expr, name: &Ident) -> Result<()> {
        while let Expr::Nested(inner) = expr {
            expr = inner;
        }
        if !self.is(Dialect::Clickhouse) || !matches!(expr, Expr::Lambda(_)) {
            return Ok(());
        }
        let what = format!("a lambda with the name `{}`", name.value);
        Err(self.unsupported(what, name.span.start))
    }

    /// Whether a function of ClickHouse that is on no list does no harm with these arguments.
    fn is_safe_call(&mut self, name: &ObjectName, args: &FunctionArguments) -> bool {
        let (name, list) = match (name.0.as_slice(), args) {
            ([part], FunctionArguments::List(list)) if self.is(Dialect::Clickhouse) => (part, list),
            _ => return false,
        };
        let plain = name.as_ident().filter(|name| name.quote_style.is_none());
        let Some([first, second, ..]) = list.args.get(..2) else {
            return false;
        };
        match plain.map(|name| name.value.as_str()) {
            // With a name as its second argument it would read the table of that name.
            Some("globalIn" | "globalNotIn") => {
                list.args.len() == 2 && matches!(plain_argument(second), Some(Expr::Subquery(_)))
            }
            // It runs what its first argument names.
            Some("arrayReduce") => {
                let text = match plain_argument(first) {
                    Some(Expr::Value(value)) => match &value.value {
                        Value::SingleQuotedString(text) => text,
                        _ => return false,
                    },
                    _ => return false,
                };
                let aggregate = self.rules.aggregate_in(text);
                self.volatile |= aggregate.is_some_and(|name| self.rules.volatile.contains(name));
                aggregate.is_some()
            }
            _ => false,
        }
    }

    /// Checks the name and makes it the built-in function's own. True for a word of the grammar.
    fn function_name(&mut self, name: &mut ObjectName) -> Result<bool> {
        let at = name.span().start;
        let parts: Vec<Ident> = self.parts(name)?.into_iter().cloned().collect();
        let (schema, last) = match parts.as_slice() {
            [last] => (None, last),
            [schema, last] => (Some(schema), last),
            _ => return Err(self.not_allowed(name, at)),
        };
        let quoted = last.quote_style.is_some();
        let folded = self.rules.fold_built_in(&last.value, quoted);
        if schema.is_none() && !quoted && self.rules.keywords.contains(folded.as_str()) {
            return Ok(true);
        }
        if let Some(schema) = schema
            && !self.schema(schema)
        {
            return Ok(false);
        }
        // In quotes the names of most built-in functions of MySQL and MariaDB are those of stored functions, which run
        // with the rights of their owner.
        if quoted && self.is(Dialect::Mysql) {
            let message = format!(
                "the function {name} in quotes may be a stored one; write its name without quotes"
            );
            return Err(self.error(Code::SqlFunctionNotAllowed, message, at));
        }
        let known = self.rules.allows_function(folded.as_str())
            || self.rules.rows.contains_key(folded.as_str());
        if !known {
            return Err(self.not_allowed(name, at));
        }
        self.volatile |= self.rules.volatile.contains(folded.as_str());
        if self.is(Dialect::Postgresql) {
            *name = self.built_in(&folded);
        }
        Ok(false)
    }

    /// The name of a built-in function as it goes out. The parser takes some names for grammar even behind a schema,
    /// unless they are quoted.
    pub(super) fn built_in(&self, name: &str) -> ObjectName {
        if !self.is(Dialect::Postgresql) {
            return ObjectName::from(vec![Ident::new(name)]);
        }
        let last = match name {
            "ceil" | "floor" | "substr" | "substring" => Ident::with_quote('"', name),
            _ => Ident::new(name),
        };
        ObjectName::from(vec![Ident::new("pg_catalog"), last])
    }

    pub(super) fn not_allowed(&self, name: &ObjectName, at: Location) -> Error {
        let (whose, instead) = match self.rules.dialect {
            Dialect::Datafusion => (
                ", by which the server runs statements over files, APIs and several datasources itself",
                in_place_of(&last_name(name)),
            ),
            Dialect::Mysql => ("", in_every_server(&last_name(name))),
            _ => ("", WITHOUT),
        };
        self.error(
            Code::SqlFunctionNotAllowed,
            format!(
                "the function `{name}` is not on the list of harmless {} functions{whose}; {instead}",
                self.rules.title()
            ),
            at,
        )
    }

    fn arguments(
        &mut self,
        name: &ObjectName,
        args: &mut FunctionArguments,
        keyword: bool,
    ) -> Result<()> {
        let at = name.span().start;
        match args {
            // CURRENT_DATE and its like.
            FunctionArguments::None if keyword => Ok(()),
            // ARRAY(SELECT …).
            FunctionArguments::Subquery(query) if keyword => self.query(query),
            FunctionArguments::List(list) => self.argument_list(list, at),
            FunctionArguments::None | FunctionArguments::Subquery(_) => {
                Err(self.unsupported(format_args!("this form of `{name}`"), at))
            }
        }
    }

    fn argument_list(&mut self, list: &mut FunctionArgumentList, at: Location) -> Result<()> {
        let FunctionArgumentList {
            duplicate_treatment: _,
            args,
            clauses,
        } = list;
        args.iter_mut().try_for_each(|arg| self.argument(arg))?;
        for clause in clauses {
            match clause {
                FunctionArgumentClause::IgnoreOrRespectNulls(_)
                | FunctionArgumentClause::JsonNullClause(_) => {}
                FunctionArgumentClause::OrderBy(exprs) => self.order_exprs(exprs)?,
                FunctionArgumentClause::Separator(value) => self.value(value)?,
                FunctionArgumentClause::JsonReturningClause(JsonReturningClause { data_type }) => {
                    self.data_type(data_type)?;
                }
                _ => return Err(self.unsupported("this clause of a function", at)),
            }
        }
        Ok(())
    }

    pub(super) fn argument(&mut self, argument: &mut FunctionArg) -> Result<()> {
        let arg = match argument {
            FunctionArg::Unnamed(arg) => arg,
            FunctionArg::Named {
                name,
                arg,
                operator: FunctionArgOperator::RightArrow | FunctionArgOperator::Assignment,
            } => {
                self.ident(name)?;
                arg
            }
            FunctionArg::ExprNamed {
                name: Expr::Identifier(name),
                arg,
                operator: FunctionArgOperator::RightArrow | FunctionArgOperator::Assignment,
            } => {
                self.ident(name)?;
                arg
            }
            FunctionArg::Named { .. } | FunctionArg::ExprNamed { .. } => {
                return Err(self.error(
                    Code::SqlNotSupported,
                    format!("the argument `{argument}` is not supported; write plain ones with commas between, as in f('key', value)"),
                    Location::empty(),
                ));
            }
        };
        match arg {
            FunctionArgExpr::Expr(expr) => self.expr(expr),
            FunctionArgExpr::Wildcard => Ok(()),
            FunctionArgExpr::QualifiedWildcard(name) => self.qualifier(name),
            FunctionArgExpr::WildcardWithOptions(options) => self.wildcard(options),
        }
    }
}

fn plain_argument(argument: &FunctionArg) -> Option<&Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}

const WITHOUT: &str = "write the query without it";

/// The name of a function without its schema, in lower case.
fn last_name(name: &ObjectName) -> String {
    let name = name.0.last().and_then(|part| part.as_ident());
    name.map_or_else(String::new, |name| name.value.to_ascii_lowercase())
}

/// What to write in place of a function that not both MySQL and MariaDB have.
fn in_every_server(name: &str) -> &'static str {
    match name {
        "any_value" => "write min(x)",
        "chr" => "write char(x)",
        "nvl" => "write ifnull(x, y)",
        "nvl2" => "write if(x IS NULL, z, y)",
        "regexp_like" => "write x REGEXP 'pattern'",
        _ => WITHOUT,
    }
}

/// What to write in place of a function of other engines, where the host runs the statement.
fn in_place_of(name: &str) -> &'static str {
    match name {
        "age" => "write a - b",
        "any_value" => "write min(x)",
        "cube" | "rollup" => "write its sets out: GROUPING SETS ((a, b), (a), ())",
        "date_add" | "dateadd" | "date_sub" => "write day + 1, or time + interval '1 hour'",
        "date_diff" | "datediff" => "write a - b, which is the number of days between two dates",
        "date_format" | "strftime" => "write to_char(time, 'YYYY-MM-DD')",
        "day" | "month" | "quarter" | "year" => "write extract(year FROM time)",
        "group_concat" | "listagg" => "write string_agg(x, ', ')",
        "justify_days" | "justify_hours" | "justify_interval" => "write extract(epoch FROM x)",
        "len" => "write length(x)",
        "make_interval" => "write n * interval '1 day'",
        "md5" | "sha1" | "sha224" | "sha256" | "sha384" | "sha512" => {
            "it computes no hashes: compare the values themselves"
        }
        "mode" => "count the values with GROUP BY, and take the first by ORDER BY count(*) DESC",
        "string_to_array" => "write split_part(x, ',', 1)",
        _ => WITHOUT,
    }
}
