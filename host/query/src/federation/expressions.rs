//! Expressions of a plan as SQL of one dialect. What is not listed here stays in the host.

#[cfg(test)]
mod tests;

use datafusion::{
    arrow::datatypes::DataType as Physical,
    common::{Column, DFSchema, ScalarValue, tree_node::TreeNode as _},
    logical_expr::{
        Case, Expr, ExprSchemable as _, Operator,
        expr::{Between, Cast, InList, Like, ScalarFunction},
    },
};

use super::{
    dialects::{Rules, rules},
    kinds::Kind,
    literals::{literal, literal_beside, rounded, widened},
};
use mindhost_plugin_api::Dialect;

/// The longest expression: a projection may repeat the ones below it.
const MAX_BYTES: usize = 32 << 10;

/// Texts of a list at most that is looked for in an index first.
const MAX_INDEXED: usize = 100;

/// The longest pattern: comparing takes as many steps for each character of a text at worst.
const MAX_PATTERN: usize = 1_000;

/// A value as SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Its text.
    pub sql: String,
    /// How it may be compared.
    pub kind: Kind,
}

/// Where the columns of an expression come from: the fields of some inputs, and what each is called in SQL.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The dialect of the datasource.
    pub dialect: Dialect,
    /// The inputs: their fields, and a value for each.
    pub inputs: &'a [(&'a DFSchema, &'a [Value])],
    /// Whether a condition may have a form that keeps more rows, because the host tests each row again.
    pub widens: bool,
}

impl<'a> Scope<'a> {
    /// For what the engine does alone.
    pub fn exact(dialect: Dialect, inputs: &'a [(&'a DFSchema, &'a [Value])]) -> Self {
        Self {
            dialect,
            inputs,
            widens: false,
        }
    }

    /// For conditions that the host tests again.
    pub fn widening(dialect: Dialect, inputs: &'a [(&'a DFSchema, &'a [Value])]) -> Self {
        Self {
            widens: true,
            ..Self::exact(dialect, inputs)
        }
    }

    fn rules(&self) -> &'static Rules {
        rules(self.dialect)
    }

    fn column(&self, column: &Column) -> Option<Value> {
        self.inputs.iter().find_map(|(schema, values)| {
            let index = schema.maybe_index_of_column(column)?;
            values.get(index).cloned()
        })
    }

    /// The type of an expression.
    fn data_type(&self, expr: &Expr) -> Option<Physical> {
        let known = self
            .inputs
            .iter()
            .find_map(|(schema, _)| expr.get_type(*schema).ok());
        known.or_else(|| {
            let (first, _) = self.inputs.first()?;
            let joined = self
                .inputs
                .iter()
                .skip(1)
                .try_fold((*first).clone(), |all, (schema, _)| all.join(schema));
            expr.get_type(&joined.ok()?).ok()
        })
    }

    /// A value; `None` if the engine may compute another one than the host.
    pub fn value(&self, expr: &Expr) -> Option<Value> {
        let value = match expr {
            Expr::Column(column) => self.column(column)?,
            Expr::Alias(alias) => self.value(&alias.expr)?,
            Expr::Literal(value, _) => {
                let (sql, kind) = literal(value, self.dialect)?;
                Value { sql, kind }
            }
            Expr::Cast(cast) => self.cast(cast)?,
            Expr::ScalarFunction(function) => self.arithmetic(function, expr)?,
            Expr::Case(case) if self.rules().computes => self.case(case)?,
            _ => return None,
        };
        (value.sql.len() <= MAX_BYTES).then_some(value)
    }

    /// Casts that change the form of a value and not the value. An integer stays one in its engine, so that an index
    /// can be used; see [`Scope::exact_number`].
    fn cast(&self, cast: &Cast) -> Option<Value> {
        let value = self.value(&cast.expr)?;
        let from = self.data_type(&cast.expr)?;
        let kind = match (&from, cast.field.data_type()) {
            (from, to) if from == to => value.kind,
            (from, to) if from.is_string() && to.is_string() => value.kind,
            (from, Physical::Int64) if from.is_signed_integer() => value.kind,
            (from, Physical::Decimal128(digits, scale))
                if (from.is_signed_integer() && *digits as i8 - scale >= 19)
                    || (from.is_unsigned_integer() && *digits as i8 - scale >= 20) =>
            {
                value.kind
            }
            (Physical::Decimal128(digits, scale), Physical::Decimal128(wide, fine))
                if fine >= scale && *wide as i8 - fine >= *digits as i8 - scale =>
            {
                value.kind
            }
            _ => return None,
        };
        Some(Value { kind, ..value })
    }

    /// `+`, `-` and `*` of whole and exact numbers, which overflow to an error here and there.
    fn arithmetic(&self, function: &ScalarFunction, whole: &Expr) -> Option<Value> {
        let (name, [left, right]) = (function.func.name(), function.args.as_slice()) else {
            return None;
        };
        if !self.rules().computes || !["+", "-", "*"].contains(&name) {
            return None;
        }
        let (a, b) = (self.exact_number(left)?, self.exact_number(right)?);
        let kind = match (a.kind, b.kind) {
            (Kind::Integer, Kind::Integer) => Kind::Integer,
            (Kind::Integer | Kind::Decimal, Kind::Integer | Kind::Decimal) => {
                let scale = self.scale(whole)?;
                let (x, y) = (self.scale(left)?, self.scale(right)?);
                // Otherwise the host rounds, and the engine does not.
                let exact = if name == "*" {
                    x.checked_add(y)?
                } else {
                    x.max(y)
                };
                (scale == exact).then_some(Kind::Decimal)?
            }
            _ => return None,
        };
        // PostgreSQL has narrower integers, which overflow earlier, and MySQL those without a sign.
        let wide = |sql: String| match kind {
            Kind::Integer => format!("CAST({sql} AS {})", self.rules().int64),
            _ => sql,
        };
        Some(Value {
            sql: format!("({} {name} {})", wide(a.sql), wide(b.sql)),
            kind,
        })
    }

    /// A value to compute with: what is a decimal in the plan is one in the engine, too. An integer could overflow.
    pub fn exact_number(&self, expr: &Expr) -> Option<Value> {
        let value = self.value(expr)?;
        let is_integer = matches!(value.kind, Kind::Integer | Kind::Unsigned);
        Some(match self.data_type(expr)? {
            Physical::Decimal128(digits, scale) if is_integer => Value {
                sql: match self.dialect {
                    // A NULL cannot be cast there.
                    Dialect::Clickhouse => format!("toDecimal128({}, {scale})", value.sql),
                    _ => format!("CAST({} AS DECIMAL({digits}, {scale}))", value.sql),
                },
                kind: Kind::Decimal,
            },
            _ => value,
        })
    }

    /// Digits behind the point.
    fn scale(&self, expr: &Expr) -> Option<i8> {
        match self.data_type(expr)? {
            Physical::Decimal128(_, scale) => Some(scale),
            other if other.is_signed_integer() => Some(0),
            _ => None,
        }
    }

    fn case(&self, case: &Case) -> Option<Value> {
        if case.expr.is_some() {
            return None;
        }
        let mut sql = String::from("(CASE");
        let mut kind = None;
        for (when, then) in &case.when_then_expr {
            let (when, then) = (self.condition(when)?, self.exact_number(then)?);
            if kind.is_some_and(|kind| kind != then.kind) {
                return None;
            }
            kind = Some(then.kind);
            sql += &format!(" WHEN {when} THEN {}", then.sql);
        }
        if let Some(otherwise) = &case.else_expr {
            let otherwise = self.exact_number(otherwise)?;
            if kind != Some(otherwise.kind) {
                return None;
            }
            sql += &format!(" ELSE {}", otherwise.sql);
        }
        sql += " END)";
        let kind = kind.filter(|kind| *kind != Kind::Opaque)?;
        Some(Value { sql, kind })
    }

    /// A condition; `None` if the engine may judge a row otherwise than the host.
    pub fn condition(&self, expr: &Expr) -> Option<String> {
        let sql = match expr {
            Expr::BinaryExpr(binary) => match binary.op {
                Operator::And => self.both(&binary.left, "AND", &binary.right)?,
                Operator::Or => self.both(&binary.left, "OR", &binary.right)?,
                op => self.comparison(&binary.left, op, &binary.right)?,
            },
            // Of what is widened, the opposite would be too narrow.
            Expr::Not(inner) if self.is_widened(inner) => return None,
            Expr::Not(inner) => format!("(NOT {})", self.condition(inner)?),
            Expr::IsNull(inner) => self.is_null(&self.value(inner)?),
            Expr::IsNotNull(inner) => self.is_not_null(&self.value(inner)?),
            Expr::InList(list) => self.in_list(list)?,
            Expr::Between(between) => self.between(between)?,
            Expr::Like(like) => self.like(like)?,
            Expr::Alias(alias) => self.condition(&alias.expr)?,
            Expr::Literal(ScalarValue::Boolean(Some(_)), _) | Expr::Column(_) => {
                let value = self.value(expr)?;
                match value.kind {
                    Kind::Boolean => value.sql,
                    Kind::Bit => format!("({} = 1)", value.sql),
                    _ => return None,
                }
            }
            _ => return None,
        };
        (sql.len() <= MAX_BYTES).then_some(sql)
    }

    fn is_null(&self, value: &Value) -> String {
        let test = match (self.dialect, value.kind) {
            // A composite value of NULLs passes for NULL there.
            (Dialect::Postgresql, Kind::Opaque) => "IS NOT DISTINCT FROM NULL",
            // So does the day 0000-00-00, of a column without NULL.
            (Dialect::Mysql, Kind::Date | Kind::Timestamp | Kind::TimestampUtc) => "<=> NULL",
            _ => "IS NULL",
        };
        format!("({} {test})", value.sql)
    }

    fn is_not_null(&self, value: &Value) -> String {
        let test = match (self.dialect, value.kind) {
            // A composite value with a NULL in it is not that for PostgreSQL.
            (Dialect::Postgresql, Kind::Opaque) => "IS DISTINCT FROM NULL",
            _ => "IS NOT NULL",
        };
        format!("({} {test})", value.sql)
    }

    fn both(&self, left: &Expr, op: &str, right: &Expr) -> Option<String> {
        let (left, right) = (self.condition(left)?, self.condition(right)?);
        Some(format!("({left} {op} {right})"))
    }

    /// Whether its form may be true for more rows than it is true for in the host, or false where it is unknown there.
    fn is_widened(&self, expr: &Expr) -> bool {
        let rules = self.rules();
        let is_other = |part: &Expr| {
            Ok(match part {
                Expr::Like(_) => rules.glob,
                Expr::InList(_) => rules.in_knows_null,
                _ => false,
            })
        };
        self.has_zoned_text(expr) || expr.exists(is_other).unwrap_or(true)
    }

    fn has_zoned_text(&self, expr: &Expr) -> bool {
        let columns = expr.column_refs();
        let mut values = columns.iter().filter_map(|column| self.column(column));
        values.any(|value| value.kind == Kind::ZonedText)
    }

    fn comparison(&self, left: &Expr, op: Operator, right: &Expr) -> Option<String> {
        let a = self.value(left)?;
        if let Expr::Literal(constant, _) = right {
            return self.compared_to(&a, op, constant);
        }
        let b = self.value(right)?;
        // Columns of floats may hold a zero with a sign, which only the host tells from the other.
        if a.kind == Kind::Float && !matches!(left, Expr::Literal(..)) {
            return None;
        }
        let is_decimal = a.kind == Kind::Decimal || b.kind == Kind::Decimal;
        if is_decimal && !self.rules().mixes_numbers {
            return None;
        }
        self.compared(&a, op, &b)
    }

    /// A constant beside a value.
    pub fn constant(&self, of: Kind, constant: &ScalarValue) -> Option<Value> {
        let (sql, kind) = literal_beside(of, constant, self.dialect)?;
        Some(Value { sql, kind })
    }

    /// A comparison of a value with a constant.
    pub fn compared_to(&self, of: &Value, op: Operator, constant: &ScalarValue) -> Option<String> {
        let ScalarValue::TimestampMicrosecond(Some(micros), zone @ Some(_)) = constant else {
            return self.compared(of, op, &self.constant(of.kind, constant)?);
        };
        match of.kind {
            Kind::Instant(digits) => {
                let (op, micros) = rounded(op, *micros, digits)?;
                let constant = ScalarValue::TimestampMicrosecond(Some(micros), zone.clone());
                self.compared(of, op, &self.constant(of.kind, &constant)?)
            }
            Kind::ZonedText if self.widens => {
                let sides = widened(op, *micros).into_iter();
                let sides = sides.map(|(op, text)| format!("{} {op} {text}", of.sql));
                let sides: Vec<String> = sides.collect();
                (!sides.is_empty()).then(|| format!("({})", sides.join(" AND ")))
            }
            _ => self.compared(of, op, &self.constant(of.kind, constant)?),
        }
    }

    /// A comparison of two values.
    pub fn compared(&self, a: &Value, op: Operator, b: &Value) -> Option<String> {
        let op = match op {
            Operator::Eq => "=",
            Operator::NotEq => "<>",
            Operator::Lt => "<",
            Operator::LtEq => "<=",
            Operator::Gt => ">",
            Operator::GtEq => ">=",
            _ => return None,
        };
        if !a.kind.compares_with(b.kind) {
            return None;
        }
        let rules = self.rules();
        let (left, right) = (&a.sql, &b.sql);
        let is_equality = matches!(op, "=" | "<>");
        let is_lookup = is_equality && is_constant(right);
        let is_unordered = a.kind.is_text() && !is_equality && !rules.orders_texts;
        if is_unordered || (a.kind.is_stored_text() && !is_lookup) {
            return None;
        }
        if !a.kind.is_text() && !a.kind.is_stored_text() {
            return Some(format!("({left} {op} {right})"));
        }
        let bytes = match rules.bytes_are_binary {
            true => rules.bytes(right),
            false => right.to_owned(),
        };
        let bytewise = format!("{} {op} {bytes}", rules.bytes(left));
        // Columns of two collations cannot be compared without.
        let takes_index = op == "=" && is_constant(right) && self.takes_index(a, right);
        Some(match takes_index {
            true => format!("({left} = {right} AND {bytewise})"),
            false => format!("({bytewise})"),
        })
    }

    /// Whether a comparison with these constants also stands without [`Rules::bytes`].
    fn takes_index(&self, of: &Value, constants: &str) -> bool {
        // An expression has no index, and that of columns of two collations has no collation: PostgreSQL and MariaDB fail
        // without an explicit one.
        let is_expression = of.sql.starts_with('(');
        !is_expression && self.rules().takes_index(constants)
    }

    fn in_list(&self, list: &InList) -> Option<String> {
        let InList {
            expr,
            list,
            negated,
        } = list;
        let of = self.value(expr)?;
        let value = |value: &Expr| match value {
            Expr::Literal(constant, _) => self.constant(of.kind, constant),
            other => self.value(other),
        };
        let values: Option<Vec<Value>> = list.iter().map(value).collect();
        self.listed(&of, &values?, *negated)
    }

    /// `IN` with constants.
    pub fn listed(&self, of: &Value, values: &[Value], negated: bool) -> Option<String> {
        let fits = |value: &Value| of.kind.compares_with(value.kind);
        let rules = self.rules();
        if values.is_empty() || values.len() > rules.max_listed || !values.iter().all(fits) {
            return None;
        }
        if of.kind == Kind::Decimal && !rules.mixes_numbers {
            return None;
        }
        // A column has a collation of its own.
        if of.kind.is_text() && !values.iter().all(|value| is_constant(&value.sql)) {
            return None;
        }
        let texts: Vec<_> = values.iter().map(|value| value.sql.as_str()).collect();
        let list = texts.join(", ");
        let not = if negated { " NOT" } else { "" };
        Some(match of.kind {
            kind if kind.is_stored_text() => {
                let stored: Vec<_> = texts.iter().map(|text| rules.bytes(text)).collect();
                let stored = format!("{}{not} IN ({})", rules.bytes(&of.sql), stored.join(", "));
                match negated || values.len() > MAX_INDEXED {
                    true => format!("({stored})"),
                    false => format!("({} IN ({list}) AND {stored})", of.sql),
                }
            }
            kind if kind.is_text()
                && self.takes_index(of, &list)
                && !negated
                && values.len() <= MAX_INDEXED =>
            {
                let of = &of.sql;
                format!("({of} IN ({list}) AND {} IN ({list}))", rules.bytes(of))
            }
            kind if kind.is_text() && !rules.in_knows_null => {
                format!("({}{not} IN ({list}))", rules.bytes(&of.sql))
            }
            _ if negated && rules.in_knows_null => {
                let of = &of.sql;
                format!("({of} NOT IN ({list}) AND {of} IS NOT NULL)")
            }
            _ => format!("({}{not} IN ({list}))", of.sql),
        })
    }

    fn between(&self, between: &Between) -> Option<String> {
        let Between {
            expr,
            negated,
            low,
            high,
        } = between;
        if *negated && self.has_zoned_text(expr) {
            return None;
        }
        let from = self.comparison(expr, Operator::GtEq, low)?;
        let until = self.comparison(expr, Operator::LtEq, high)?;
        let not = if *negated { "NOT " } else { "" };
        Some(format!("({not}({from} AND {until}))"))
    }

    fn like(&self, like: &Like) -> Option<String> {
        let is_plain = !like.case_insensitive && matches!(like.escape_char, None | Some('\\'));
        if self.rules().glob && is_plain && self.widens {
            return self.glob(like);
        }
        if !self.rules().like || !is_plain {
            return None;
        }
        let (of, pattern) = (self.value(&like.expr)?, self.value(&like.pattern)?);
        let is_constant = matches!(&*like.pattern, Expr::Literal(..));
        if !of.kind.is_text() || pattern.kind != Kind::Text || !is_constant {
            return None;
        }
        if pattern.sql.contains('\\') && !self.rules().like_escapes {
            return None;
        }
        // PostgreSQL fails on an escape of nothing.
        if ends_in_escape(&pattern.sql) {
            return None;
        }
        let not = if like.negated { "NOT " } else { "" };
        let of = self.rules().like_text(&of.sql);
        Some(format!("({of} {not}LIKE {})", pattern.sql))
    }

    /// LIKE as GLOB, which sees case. Both know characters, and not bytes, but GLOB takes a zero byte for the end of a
    /// text: the host tests such texts, unless the pattern is a beginning.
    fn glob(&self, like: &Like) -> Option<String> {
        let Expr::Literal(pattern, _) = &*like.pattern else {
            return None;
        };
        let pattern = pattern.try_as_str()??;
        let of = self.value(&like.expr)?;
        if !of.kind.is_text() {
            return None;
        }
        let (of, constant) = (of.sql, ScalarValue::from(glob(pattern)?));
        let (constant, _) = literal(&constant, self.dialect)?;
        let not = if like.negated { "NOT " } else { "" };
        let alike = format!("{of} {not}GLOB {constant}");
        let is_beginning = pattern
            .strip_suffix('%')
            .is_some_and(|text| !text.contains(['%', '_']));
        Some(match is_beginning {
            true => format!("({alike})"),
            false => format!("({alike} OR instr({of}, char(0)) > 0)"),
        })
    }
}

/// Whether a text in SQL is a constant.
fn is_constant(sql: &str) -> bool {
    sql.starts_with(['\'', 'N'])
}

/// Whether a pattern, in its quotes, ends in a `\` that is not escaped itself.
fn ends_in_escape(quoted: &str) -> bool {
    let pattern = quoted.strip_suffix('\'').unwrap_or(quoted);
    let rest = pattern.trim_end_matches('\\');
    (pattern.len() - rest.len()) % 2 == 1
}

/// The pattern of GLOB for one of LIKE; `None` for one with an escape.
fn glob(pattern: &str) -> Option<String> {
    let mut glob = String::with_capacity(pattern.len());
    for character in pattern.chars() {
        match character {
            '%' => glob.push('*'),
            '_' => glob.push('?'),
            '\\' => return None,
            '*' | '?' | '[' => glob.extend(['[', character, ']']),
            other => glob.push(other),
        }
    }
    (glob.len() <= MAX_PATTERN).then_some(glob)
}
