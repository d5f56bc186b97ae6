//! The engine's columns and cells in the types of the contract.

use mindhost_sdk::{Column, DataType, Error, ErrorKind, Result, Value};
use serde::Deserialize;
use serde_json::Value as Json;

/// A column as the engine names it.
#[derive(Deserialize)]
pub struct HeadColumn {
    pub name: String,
    pub r#type: String,
}

/// A column of an answer.
pub fn column(head: HeadColumn) -> Column {
    let data_type = match head.r#type.as_str() {
        "integer" => DataType::Int64,
        "real" => DataType::Float64,
        "text" => DataType::Text,
        "blob" => DataType::Bytes,
        _ => DataType::Any,
    };
    // Engines name a column after its expression, however long that is; a name has 4,096 bytes and no NUL.
    let name: String = head.name.chars().take(1_000).collect();
    // This engine does not enforce its types.
    Column::new(name.replace('\0', "\u{fffd}"), data_type)
        .native_type(head.r#type)
        .dynamic()
}

/// A cell of a row, of at most so many bytes.
pub fn value(cell: Json, max_bytes: u64) -> Result<Value> {
    Ok(match cell {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Boolean(value),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Int64(whole),
            None => Value::Float64(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) if text.len() as u64 > max_bytes => {
            return Err(Error::new(
                ErrorKind::TooLarge,
                "a value is larger than the host takes",
            ));
        }
        Json::String(text) => Value::Text(text),
        nested => match nested["hex"].as_str() {
            Some(hex) => Value::Bytes(bytes(hex)?),
            None => Value::Json(nested.to_string()),
        },
    })
}

/// `00ff`
fn bytes(hex: &str) -> Result<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let pair = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(digit(high)? * 16 + digit(low)?).ok(),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = hex.as_bytes().chunks(2).map(pair).collect();
    bytes.ok_or_else(|| Error::new(ErrorKind::Upstream, "the engine sent bytes that are none"))
}
