//! `{{caller.name}}` in the SQL of a rule, and the values that stand there.

use sqlparser::ast::{Expr, Ident, ObjectName, UnaryOperator, Value};

use super::RuleRefusal;
use mindhost_base::{
    decimal,
    policy::{Attribute, Attributes, Scalar, is_attribute_name},
};
use mindhost_plugin_api::Dialect;

/// Begins the name that stands for a placeholder while the text is parsed.
const MARK: &str = "mindhost_caller_";

/// Text whose placeholders are names that can be parsed: `mindhost_caller_0_` for the first.
#[derive(Debug)]
pub(super) struct SqlTemplate {
    pub text: String,
    /// The attribute of each placeholder, in order.
    pub names: Vec<String>,
}

/// Marks the placeholders of a text.
pub(super) fn placeholders(text: &str) -> Result<SqlTemplate, String> {
    if text.to_ascii_lowercase().contains(MARK) {
        return Err(format!("the SQL of a policy cannot contain `{MARK}`"));
    }
    let (mut marked, mut names, mut rest) = (String::new(), Vec::new(), text);
    while let Some((before, behind)) = rest.split_once("{{") {
        let Some((inside, after)) = behind.split_once("}}") else {
            return Err("a placeholder is not closed; write {{caller.name}}".to_owned());
        };
        let name = inside.trim().strip_prefix("caller.").unwrap_or_default();
        if !is_attribute_name(name) {
            return Err(format!(
                "`{{{{{}}}}}` is no placeholder; write {{{{caller.name}}}} with the name of an attribute of keys",
                inside.trim()
            ));
        }
        marked.push_str(before);
        marked.push_str(&format!("{MARK}{}_", names.len()));
        names.push(name.to_owned());
        rest = after;
    }
    marked.push_str(rest);
    Ok(SqlTemplate {
        text: marked,
        names,
    })
}

/// Whose attributes stand in the rule.
pub(super) enum Callers<'a> {
    Known(&'a Attributes),
    /// For the check of a rule: every attribute is this.
    Unknown(Sample),
}

/// What stands for every attribute where none is known.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sample {
    /// NULL, which has any type in most engines.
    Null,
    /// A text.
    Text,
    /// A number.
    Integer,
}

impl Sample {
    /// In the order in which they are tried.
    pub const ALL: [Self; 3] = [Self::Null, Self::Text, Self::Integer];

    fn literal(self, dialect: Dialect) -> Expr {
        match self {
            Self::Null => Expr::Value(Value::Null.into()),
            Self::Text => text("x", dialect),
            Self::Integer => number("1".to_owned()),
        }
    }
}

/// What stands in place of a placeholder of a policy, for one caller.
pub(super) enum PlaceholderValue {
    One(Box<Expr>),
    List(Vec<Expr>),
    /// The caller has no such attribute.
    Missing,
}

/// The placeholders of one text, while they are replaced.
pub(super) struct Placeholders<'a> {
    pub names: &'a [String],
    pub callers: &'a Callers<'a>,
    pub dialect: Dialect,
    /// How many were replaced.
    pub replaced: usize,
    /// Whether one has no value, or a list where one value must stand, so that nothing may be seen.
    pub missing: bool,
}

impl Placeholders<'_> {
    /// What stands for a name of the tree; `None` if it is no placeholder.
    pub fn find(&mut self, ident: &Ident) -> Result<Option<PlaceholderValue>, RuleRefusal> {
        let index = ident.value.strip_prefix(MARK);
        let index = index.and_then(|rest| rest.strip_suffix('_')?.parse::<usize>().ok());
        let Some(name) = index.and_then(|index| self.names.get(index)) else {
            // The text of a rule cannot contain the mark, so this name was made of a placeholder and its neighbour.
            return match ident.value.contains(MARK) {
                true => Err(adjoining()),
                false => Ok(None),
            };
        };
        if ident.quote_style.is_some() {
            return Err(quoted());
        }
        self.replaced += 1;
        let attributes = match self.callers {
            Callers::Unknown(sample) => {
                let value = Box::new(sample.literal(self.dialect));
                return Ok(Some(PlaceholderValue::One(value)));
            }
            Callers::Known(attributes) => attributes,
        };
        Ok(Some(match attributes.get(name) {
            Some(Attribute::One(value)) => {
                PlaceholderValue::One(Box::new(literal(value, self.dialect)))
            }
            Some(Attribute::List(values)) if !values.is_empty() => {
                let literals = values.iter().map(|value| literal(value, self.dialect));
                PlaceholderValue::List(literals.collect())
            }
            Some(Attribute::List(_)) | None => PlaceholderValue::Missing,
        }))
    }

    /// Refuses placeholders that did not stand where a value stands.
    pub fn all_replaced(&self) -> Result<(), RuleRefusal> {
        match self.replaced == self.names.len() {
            true => Ok(()),
            false => Err(quoted()),
        }
    }
}

fn quoted() -> RuleRefusal {
    let reason = "a placeholder stands for a value: write tenant = {{caller.tenant}}, without quotes around it";
    RuleRefusal::of("", reason)
}

fn adjoining() -> RuleRefusal {
    let reason = "two placeholders, or a placeholder and a name, stand without an operator between them; write for \
                  example tenant = concat({{caller.tenant}}, {{caller.branch}})";
    RuleRefusal::of("", reason)
}

/// Whether an expression is a placeholder and nothing else.
pub(super) fn is_placeholder(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_placeholder(inner),
        Expr::Identifier(ident) => ident.value.starts_with(MARK),
        _ => false,
    }
}

/// A value as a literal of the tree.
fn literal(value: &Scalar, dialect: Dialect) -> Expr {
    match value {
        Scalar::Boolean(value) if dialect == Dialect::Mssql => number(u8::from(*value).to_string()),
        Scalar::Boolean(value) => Expr::Value(Value::Boolean(*value).into()),
        Scalar::Integer(value) => signed(value.unsigned_abs().to_string(), *value < 0),
        Scalar::Number(value) => signed(decimal(value.abs()), *value < 0.0),
        Scalar::Text(value) => text(value, dialect),
    }
}

/// Without an exponent where that is short: with one, MySQL compares decimals as floats, so that neighbours are equal.
fn decimal(value: f64) -> String {
    /// With a zero behind the point it has as many as engines take.
    const DIGITS: usize = 37;
    let written = format!("{value:?}");
    match decimal::plain(&written, DIGITS).filter(|_| written.contains('e')) {
        Some(digits) if digits.contains('.') => digits,
        Some(digits) => format!("{digits}.0"),
        None => written,
    }
}

fn number(digits: String) -> Expr {
    Expr::Value(Value::Number(digits, false).into())
}

/// A negative number is in brackets: two minus signs in a row would begin a comment.
fn signed(digits: String, is_negative: bool) -> Expr {
    match is_negative {
        false => number(digits),
        true => Expr::Nested(Box::new(Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr: Box::new(number(digits)),
        })),
    }
}

/// A text as the parser would have read it. For MySQL and ClickHouse it keeps a text as it is written, so the quotes
/// are escaped here; for the others, the walk finds the form.
pub(super) fn text(value: &str, dialect: Dialect) -> Expr {
    let value = match dialect {
        // What a backslash means is up to the session.
        Dialect::Mysql if value.contains('\\') => return from_hex(value),
        Dialect::Mysql => Value::SingleQuotedString(value.replace('\'', "''")),
        Dialect::Clickhouse => {
            Value::SingleQuotedString(value.replace('\\', r"\\").replace('\'', r"\'"))
        }
        Dialect::Mssql if !value.is_ascii() => Value::NationalStringLiteral(value.to_owned()),
        _ => Value::SingleQuotedString(value.to_owned()),
    };
    Expr::Value(value.into())
}

/// `CONVERT(X'61' USING utf8mb4)`
fn from_hex(value: &str) -> Expr {
    let hex: String = value.bytes().map(|byte| format!("{byte:02X}")).collect();
    Expr::Convert {
        is_try: false,
        expr: Box::new(Expr::Value(Value::HexStringLiteral(hex).into())),
        data_type: None,
        charset: Some(ObjectName::from(vec![Ident::new("utf8mb4")])),
        target_before_value: false,
        styles: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_has_no_exponent_where_it_is_short() {
        for (value, written) in [
            (1.5, "1.5"),
            (1000.0, "1000.0"),
            (1e16, "10000000000000000.0"),
            (1e20, "100000000000000000000.0"),
            (1.25e-7, "0.000000125"),
            (1e300, "1e300"),
        ] {
            assert_eq!(decimal(value), written);
        }
    }
}
