//! Row and column policies, and the attributes of callers, as they are stored. Data only: `mindhost-sql` gives them
//! their meaning.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema, schema::AnyOfBuilder},
};

use crate::error::{Error, Result};

/// Most attributes of a key.
const MAX_ATTRIBUTES: usize = 64;
/// Most values in a list.
const MAX_VALUES: usize = 1_000;
/// Most characters of a text.
const MAX_TEXT: usize = 1_000;
/// Most bytes of all texts of a key, because they are kept for every request.
const MAX_BYTES: usize = 64 * 1024;

/// What a key says about its holder, by name.
pub type Attributes = BTreeMap<String, Attribute>;

/// One value of an attribute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a text, a number, true or false")]
pub enum Scalar {
    /// True or false.
    Boolean(bool),
    /// An integer of 64 bits.
    Integer(i64),
    /// Any other number that a float of 64 bits has all digits of. One with more digits is refused: send it as a text.
    Number(f64),
    /// A text.
    Text(String),
}

impl PartialSchema for Scalar {
    /// Any of these and not one of them: an integer is a number too.
    fn schema() -> RefOr<Schema> {
        AnyOfBuilder::new()
            .description(Some(
                "One value of an attribute: a text, true or false, an integer of 64 bits, or another number that a \
                 float of 64 bits has all digits of. Send a number with more digits as a text.",
            ))
            .item(bool::schema())
            .item(i64::schema())
            .item(f64::schema())
            .item(String::schema())
            .into()
    }
}

impl ToSchema for Scalar {}

/// The value of an attribute: one value, or a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(
    untagged,
    expecting = "a text, a number, true, false, or a list of those"
)]
pub enum Attribute {
    /// One value.
    One(Scalar),
    /// A list, for `IN`.
    List(Vec<Scalar>),
}

impl Attribute {
    /// The one value, or all of the list, which may be empty.
    pub fn values(&self) -> &[Scalar] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::List(values) => values,
        }
    }
}

/// What the callers of a Mind see of one table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// A condition in the SQL of the datasource; rows for which it is not true do not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Columns that do not exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
    /// Columns that have other values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub masked: BTreeMap<String, Mask>,
}

/// What stands in place of the values of a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ColumnMask)]
pub enum Mask {
    /// NULL, of the type of the column.
    Null,
    /// `****` and the last four characters; `****` alone for a value with fewer than eight.
    Last4,
    /// This text.
    Text(String),
    /// An expression over the columns of the table.
    Sql(String),
}

/// Whether a text can name an attribute: `[A-Za-z_][A-Za-z0-9_]{0,63}`.
pub fn is_attribute_name(name: &str) -> bool {
    let mut characters = name.chars();
    let first = characters.next();
    first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.len() <= 64
}

/// Checks the attributes of a new key.
///
/// # Errors
/// `invalid_parameter` for a bad name, too many or too large values, and numbers that are not finite.
pub fn check_attributes(attributes: &Attributes) -> Result<()> {
    if attributes.len() > MAX_ATTRIBUTES {
        let message = format!("a key may have at most {MAX_ATTRIBUTES} attributes");
        return Err(Error::invalid("attributes", message));
    }
    let mut bytes = 0;
    for (name, attribute) in attributes {
        let refuse = |message: String| {
            let param = format!("attributes.{name}");
            Err(Error::invalid(param, message))
        };
        if !is_attribute_name(name) {
            let message = "the name of an attribute has 1 to 64 letters, digits and `_`, and does not begin with a digit";
            return Err(Error::invalid("attributes", message));
        }
        if attribute.values().len() > MAX_VALUES {
            return refuse(format!("a list has at most {MAX_VALUES} values"));
        }
        for value in attribute.values() {
            match value {
                Scalar::Text(text) if text.contains('\0') => {
                    return refuse("a text must not contain a NUL character".to_owned());
                }
                Scalar::Text(text) if text.chars().count() > MAX_TEXT => {
                    return refuse(format!("a text has at most {MAX_TEXT} characters"));
                }
                Scalar::Number(number) if !number.is_finite() => {
                    return refuse("a number must be finite".to_owned());
                }
                Scalar::Text(text) => bytes += text.len(),
                Scalar::Boolean(_) | Scalar::Integer(_) | Scalar::Number(_) => {}
            }
        }
    }
    match bytes <= MAX_BYTES {
        true => Ok(()),
        false => Err(Error::invalid(
            "attributes",
            format!("the texts of a key have at most {MAX_BYTES} bytes together"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, attribute: Attribute, expected: Option<&str>) {
        let result = check_attributes(&Attributes::from([(name.to_owned(), attribute)]));
        assert_eq!(result.err().as_ref().and_then(Error::param_name), expected);
    }

    fn text(text: &str) -> Attribute {
        Attribute::One(Scalar::Text(text.to_owned()))
    }

    #[test]
    fn attributes_have_short_names_and_bounded_values() {
        check("tenant", text("acme"), None);
        check("_t2", Attribute::List(vec![Scalar::Integer(1)]), None);
        check("2t", text("x"), Some("attributes"));
        check("a.b", text("x"), Some("attributes"));
        check("", text("x"), Some("attributes"));
        check("t", text("a\0b"), Some("attributes.t"));
        check("t", text(&"x".repeat(1_001)), Some("attributes.t"));
        let nan = Attribute::One(Scalar::Number(f64::NAN));
        check("t", nan, Some("attributes.t"));
        let long = Attribute::List(vec![Scalar::Boolean(true); 1_001]);
        check("t", long, Some("attributes.t"));
        let large = Attribute::List(vec![Scalar::Text("x".repeat(1_000)); 70]);
        check("t", large, Some("attributes"));
    }
}
