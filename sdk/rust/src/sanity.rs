//! Checks of what a source said, before the host sees it.
//!
//! The host refuses what breaks the contract, and blames the plugin. But names, counts, numbers and documents come from
//! a server or a file. One that says what cannot be is the source's fault, and these checks say so: `Upstream`.

use std::collections::HashSet;

use serde::de::IgnoredAny;

use crate::catalog::{ColumnStatistics, Table, TableRef};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Event;
use crate::values::{Column, Value};

// What the host takes: see the limits in `wit/README.md`.
const MAX_NAME: usize = 4_096;
const MAX_COLUMNS: usize = 4_096;
const MAX_COMMON_VALUES: usize = 1_000;
const MAX_MODELS: usize = 10_000;
const MAX_MODEL_NAME: usize = 1_024;
const MAX_EVENTS: usize = 100_000;
const MAX_CALL_NAME: usize = 512;
const MAX_TOKENS: u64 = 1 << 40;
/// Microseconds of a day.
pub const DAY: u64 = 86_400_000_000;

/// The source said something that cannot be.
fn lie(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Upstream, what)
}

fn name(name: &str) -> Result<()> {
    let length = name.len();
    if length > MAX_NAME {
        return Err(lie(format!(
            "the source has a name of {length} bytes; at most {MAX_NAME} are read"
        )));
    }
    match name.contains('\0') {
        true => Err(lie("the source has a name with a NUL character in it")),
        false => Ok(()),
    }
}

fn table(table: &TableRef) -> Result<()> {
    name(&table.schema)?;
    name(&table.name)
}

fn at_most(count: usize, max: usize, what: &str) -> Result<()> {
    match count <= max {
        true => Ok(()),
        false => Err(lie(format!(
            "the source has {count} {what}; at most {max} are read"
        ))),
    }
}

/// A list of tables.
pub fn tables(tables: &[TableRef]) -> Result<()> {
    tables.iter().try_for_each(table)
}

/// Descriptions of tables.
pub fn described(tables: &[Table]) -> Result<()> {
    tables.iter().try_for_each(|described| {
        table(&described.table)?;
        name(&described.kind)?;
        at_most(described.columns.len(), MAX_COLUMNS, "columns in one table")?;
        at_most(
            described.primary_key.len(),
            MAX_COLUMNS,
            "columns in one key",
        )?;
        at_most(
            described.foreign_keys.len(),
            MAX_COLUMNS,
            "foreign keys in one table",
        )?;
        for column in &described.columns {
            name(&column.name)?;
            name(&column.native_type)?;
        }
        for key in &described.primary_key {
            name(&key.constraint_name)?;
            name(&key.column)?;
        }
        for key in &described.foreign_keys {
            name(&key.constraint_name)?;
            name(&key.column)?;
            table(&key.referenced)?;
            name(&key.referenced_column)?;
        }
        Ok(())
    })
}

/// Statistics of columns.
pub fn statistics(statistics: &[ColumnStatistics]) -> Result<()> {
    let is_share = |share: f64| (0.0..=1.0).contains(&share);
    statistics.iter().try_for_each(|column| {
        at_most(
            column.common_values.len(),
            MAX_COMMON_VALUES,
            "common values of one column",
        )?;
        let mut shares = column.common_values.iter().map(|(_, share)| *share);
        match column.null_fraction.is_none_or(is_share) && shares.all(is_share) {
            true => Ok(()),
            false => Err(lie(
                "the source's statistics have a share that is not between 0 and 1",
            )),
        }
    })
}

/// The columns of a result.
pub fn columns(columns: &[Column]) -> Result<()> {
    at_most(columns.len(), MAX_COLUMNS, "columns in one result")?;
    columns.iter().try_for_each(|column| {
        name(&column.name)?;
        name(&column.native_type)
    })
}

/// The columns of a table that SQL is planned with: each has a name of its own.
pub fn table_columns(all: &[Column]) -> Result<()> {
    columns(all)?;
    let mut names = HashSet::with_capacity(all.len());
    match all.iter().all(|column| names.insert(column.name.as_str())) {
        true => Ok(()),
        false => Err(lie("the source has a table with two columns of one name")),
    }
}

/// Names of models.
pub fn models(models: &[String]) -> Result<()> {
    at_most(models.len(), MAX_MODELS, "models")?;
    match models.iter().all(|model| model.len() <= MAX_MODEL_NAME) {
        true => Ok(()),
        false => Err(lie("the vendor lists a model with a name that is too long")),
    }
}

/// What a model said.
pub fn events(events: &[Event]) -> Result<()> {
    at_most(events.len(), MAX_EVENTS, "events at once")?;
    events.iter().try_for_each(|event| match event {
        Event::ToolCall(call)
            if call.id.len() > MAX_CALL_NAME || call.name.len() > MAX_CALL_NAME =>
        {
            Err(lie(
                "the model calls a tool by a name or an id that is too long",
            ))
        }
        Event::Usage(counts) if counts.iter().any(|(_, count)| *count > MAX_TOKENS) => {
            Err(lie("the vendor counts more tokens than there can be"))
        }
        _ => Ok(()),
    })
}

/// Whether a value is what its type says.
#[inline]
pub fn is_sane(value: &Value) -> bool {
    match value {
        Value::Decimal(text) => is_decimal(text),
        Value::Json(text) => is_json(text),
        Value::Time(micros) => *micros < DAY,
        _ => true,
    }
}

/// Whether a text is a JSON document.
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// `-12.50`, `1e10`, and the words that some engines have among their decimals.
pub fn is_decimal(text: &str) -> bool {
    let number = without_sign(text.as_bytes());
    if matches!(number, b"NaN" | b"Infinity") {
        return true;
    }
    let mut rest = after_digits(number);
    if let Some([b'.', fraction @ ..]) = rest {
        rest = after_digits(fraction);
    }
    if let Some([b'e' | b'E', exponent @ ..]) = rest {
        rest = after_digits(without_sign(exponent));
    }
    rest.is_some_and(<[u8]>::is_empty)
}

fn without_sign(number: &[u8]) -> &[u8] {
    match number {
        [b'-' | b'+', rest @ ..] => rest,
        _ => number,
    }
}

/// What follows the digits at the beginning. None if there is no digit.
fn after_digits(text: &[u8]) -> Option<&[u8]> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.get(digits..).filter(|_| digits > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{StopReason, ToolCall};
    use crate::values::DataType;

    #[track_caller]
    fn check(checked: Result<()>, words: &str) {
        let error = checked.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Upstream);
        assert!(error.message().contains(words), "{}", error.message());
    }

    #[test]
    fn a_name_of_any_kind_has_a_bound() {
        let long = "n".repeat(5_000);
        check(tables(&[TableRef::new("s", long.as_str())]), "5000 bytes");
        check(tables(&[TableRef::new("a\0b", "t")]), "NUL");
        check(
            columns(&[Column::new(long.as_str(), DataType::Text)]),
            "5000 bytes",
        );
        let mut table = Table::new(TableRef::new("s", "t"), "TABLE");
        assert!(described(std::slice::from_ref(&table)).is_ok());
        table.columns = vec![crate::TableColumn::new("a", 1, long.as_str())];
        check(described(std::slice::from_ref(&table)), "5000 bytes");
        table.columns = vec![crate::TableColumn::new("a", 1, "text"); MAX_COLUMNS + 1];
        check(described(&[table]), "columns in one table");
        let same = vec![Column::new("a", DataType::Text); 2];
        check(table_columns(&same), "two columns of one name");
        assert!(columns(&same).is_ok());
        check(models(&["m".repeat(2_000)]), "too long");
    }

    #[test]
    fn a_share_is_between_nothing_and_all() {
        let mut column = ColumnStatistics::new("a");
        for share in [f64::NAN, -0.1, 1.5, f64::INFINITY] {
            column.null_fraction = Some(share);
            check(statistics(std::slice::from_ref(&column)), "between 0 and 1");
        }
        column.null_fraction = Some(1.0);
        assert!(statistics(&[column]).is_ok());
    }

    #[test]
    fn a_vendor_cannot_count_to_infinity() {
        check(
            events(&[Event::Usage(vec![("input".into(), u64::MAX)])]),
            "tokens",
        );
        let call = ToolCall {
            id: "i".repeat(600),
            name: "run".into(),
            arguments: "{}".into(),
        };
        check(events(&[Event::ToolCall(call)]), "too long");
        let stop = Event::Stop((StopReason::End, "stop".into()));
        check(events(&vec![stop; MAX_EVENTS + 1]), "events at once");
    }

    #[test]
    fn decimals_are_numbers() {
        for good in ["0", "-12.50", "1e10", "1.5E-3", "NaN", "-Infinity", "+1"] {
            assert!(is_decimal(good), "{good}");
        }
        for bad in [
            "", "-", "1.", ".5", "1e", "0x1", "1,5", "nan", "1 ", "1.2.3", "1e5.", "1e--5",
        ] {
            assert!(!is_decimal(bad), "{bad}");
        }
    }
}
