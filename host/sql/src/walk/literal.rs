//! Literals: every string gets the form that means the same in all sessions.

use sqlparser::ast::{BinaryOperator, DollarQuotedString, Expr, Value, ValueWithSpan};

use super::{Walk, prints_exactly};
use mindhost_base::error::{Code, Result};
use mindhost_plugin_api::Dialect;

impl Walk<'_> {
    /// Checks a literal in an expression, where it may become a concatenation.
    pub(super) fn literal(&mut self, expr: &mut Expr) -> Result<()> {
        let Expr::Value(value) = expr else {
            return Ok(());
        };
        if let (
            Some(text),
            Dialect::Sqlite
            | Dialect::Mssql
            | Dialect::Trino
            | Dialect::Generic
            | Dialect::Datafusion,
        ) = (text_of(&value.value), self.rules.dialect)
            && !text.contains('\0')
            && (!prints_exactly(text, '\'') || self.is_national_with_quotes(&value.value))
        {
            let national = matches!(value.value, Value::NationalStringLiteral(_));
            *expr = concatenated(text, self.rules.dialect, national);
            return Ok(());
        }
        self.value(value)
    }

    /// The serialiser does not double the quotes of N'…'.
    fn is_national_with_quotes(&self, value: &Value) -> bool {
        self.is(Dialect::Mssql)
            && matches!(value, Value::NationalStringLiteral(text) if text.contains('\''))
    }

    /// Checks a literal and rewrites it to its plain form.
    pub(super) fn value(&self, value: &mut ValueWithSpan) -> Result<()> {
        let at = value.span.start;
        let is_national = matches!(value.value, Value::NationalStringLiteral(_));
        // A heredoc has no escapes where a string has them.
        let is_other =
            !matches!(value.value, Value::SingleQuotedString(_)) && self.is(Dialect::Clickhouse);
        if let (Some(text), false) = (text_of(&value.value), is_other) {
            // Without the N, SQL Server reads a text in the database's code page, which may not have its characters.
            if self.is(Dialect::Mssql) && is_national && !text.contains(['\0', '\'']) {
                return Ok(());
            }
            value.value = self.text(text).ok_or_else(|| {
                let advice = match self.rules.dialect {
                    Dialect::Mysql => "a quote as `''`, and not directly behind a backslash",
                    _ => "it in another way",
                };
                self.error(
                    Code::SqlNotSupported,
                    format!("this text cannot be passed on; write {advice}"),
                    at,
                )
            })?;
            return Ok(());
        }
        let allowed = match &value.value {
            Value::Null | Value::Boolean(_) => true,
            Value::Number(digits, false) => {
                digits != "0x"
                    && digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
                    && digits
                        .chars()
                        .all(|c| c.is_ascii_alphanumeric() || "._+-".contains(c))
            }
            Value::HexStringLiteral(digits) if self.is(Dialect::Mssql) => {
                let message = format!("SQL Server has no `X'{digits}'`; write 0x{digits}");
                return Err(self.error(Code::SqlNotSupported, message, at));
            }
            // 0x1F and X'1F' have the same node, but not in MySQL, see `mysql::plain`.
            Value::HexStringLiteral(digits)
                if !self.is(Dialect::Mysql) && self.source.at(at).starts_with('0') =>
            {
                match (self.rules.dialect, u64::from_str_radix(digits, 16)) {
                    (Dialect::Sqlite | Dialect::Postgresql | Dialect::Clickhouse, Ok(number))
                        if number <= i64::MAX as u64 =>
                    {
                        value.value = Value::Number(number.to_string(), false);
                        true
                    }
                    _ => false,
                }
            }
            Value::HexStringLiteral(digits) => digits.chars().all(|c| c.is_ascii_hexdigit()),
            Value::SingleQuotedByteStringLiteral(digits) => {
                digits.chars().all(|c| matches!(c, '0' | '1'))
            }
            Value::Placeholder(name) => {
                let amount = name.strip_prefix('$').filter(|_| self.is(Dialect::Mssql));
                if let Some(amount) = amount.filter(|amount| amount.starts_with(is_digit)) {
                    let message =
                        format!("`{name}` is not supported; write CAST({amount} AS money)");
                    return Err(self.error(Code::SqlNotSupported, message, at));
                }
                return Err(self.error(
                    Code::SqlNotSupported,
                    format!("`{name}` is a parameter or variable; write the value itself"),
                    at,
                ));
            }
            _ => false,
        };
        if allowed {
            return Ok(());
        }
        Err(self.unsupported(format_args!("the literal `{value}`"), at))
    }

    /// A string as a literal of the dialect; `None` if no form means the same in all sessions.
    fn text(&self, text: &str) -> Option<Value> {
        if text.contains('\0') {
            return None;
        }
        let exact = prints_exactly(text, '\'');
        match self.rules.dialect {
            Dialect::Postgresql if text.contains('\\') || !exact => {
                Some(Value::EscapedStringLiteral(text.to_owned()))
            }
            // Stays as it was written, apart from quotes; see `Rules::unescapes` and `mysql::plain`.
            Dialect::Mysql => {
                (!text.contains(r"\'")).then(|| Value::SingleQuotedString(text.to_owned()))
            }
            // As it was written, too; every backslash is an escape.
            Dialect::Clickhouse => Some(Value::SingleQuotedString(text.to_owned())),
            Dialect::Generic if text.contains('\\') => None,
            _ => exact.then(|| Value::SingleQuotedString(text.to_owned())),
        }
    }
}

/// The text of a string literal.
fn text_of(value: &Value) -> Option<&str> {
    match value {
        Value::SingleQuotedString(text)
        | Value::EscapedStringLiteral(text)
        | Value::UnicodeStringLiteral(text)
        | Value::NationalStringLiteral(text)
        | Value::DoubleQuotedString(text)
        | Value::DollarQuotedString(DollarQuotedString {
            value: text,
            tag: _,
        }) => Some(text),
        _ => None,
    }
}

/// `('it''' || '''s')`: the serializer cannot print two quotes in a row, so the text is split between them.
fn concatenated(text: &str, dialect: Dialect, national: bool) -> Expr {
    let national = national && dialect == Dialect::Mssql;
    let op = match dialect {
        Dialect::Mssql => BinaryOperator::Plus,
        _ => BinaryOperator::StringConcat,
    };
    let literal = |piece: String| match national && piece != "'" {
        true => Value::NationalStringLiteral(piece),
        false => Value::SingleQuotedString(piece),
    };
    let pieces = match national {
        true => between_quotes(text),
        false => pieces(text),
    };
    let whole = pieces
        .into_iter()
        .map(|piece| Expr::Value(literal(piece).into()))
        .reduce(|left, right| Expr::BinaryOp {
            left: Box::new(left),
            op: op.clone(),
            right: Box::new(right),
        });
    Expr::Nested(Box::new(
        whole.unwrap_or_else(|| Expr::Value(Value::Null.into())),
    ))
}

fn is_digit(letter: char) -> bool {
    letter.is_ascii_digit()
}

/// The text in pieces that each end before two quotes meet.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut previous = None;
    for character in text.chars() {
        if character == '\'' && matches!(previous, Some('\'' | '\\')) {
            pieces.push(String::new());
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(character);
        }
        previous = Some(character);
    }
    pieces
}

/// The text in pieces that are one quote or have none.
fn between_quotes(text: &str) -> Vec<String> {
    let split = text
        .split_inclusive('\'')
        .flat_map(|part| match part.strip_suffix('\'') {
            Some(plain) => vec![plain.to_owned(), "'".to_owned()],
            None => vec![part.to_owned()],
        });
    split.filter(|piece| !piece.is_empty()).collect()
}
