//! The columns of a table, from the schemas of its files.

use std::collections::HashMap;

use mindhost_sdk::{Column, DataType, Error, ErrorKind, Result, control};

use super::Opened;
use super::kind::{MAX_DIGITS, digits, duration, per_second};
use crate::layout::{Layout, MAX_HEADERS};
use crate::text::{spread, types};

/// Files whose numbers of rows are added, at most.
const MAX_COUNTED: usize = 1_000;

/// The columns of all files by name. One that a file does not have is NULL there.
///
/// # Errors
/// When a file cannot be read, or two files say different things of a column.
pub fn columns(root: &str, layout: &Layout) -> Result<Vec<Column>> {
    let mut columns: Vec<Column> = Vec::new();
    let mut places: HashMap<String, (usize, String)> = HashMap::new();
    for file in spread(&layout.files, MAX_HEADERS) {
        control::check()?;
        let opened = Opened::open(root, file, layout)?;
        for column in opened
            .columns()
            .iter()
            .filter_map(super::kind::FileColumn::column)
        {
            let Some((place, first)) = places.get(&column.name) else {
                places.insert(column.name.clone(), (columns.len(), file.path.clone()));
                columns.push(column);
                continue;
            };
            if let Some(known) = columns.get_mut(*place) {
                *known = merged(known, &column)
                    .ok_or_else(|| conflict(known, first, &column, &file.path))?;
            }
        }
        if columns.len() > types::MAX_COLUMNS {
            let message = format!(
                "`{}` has more than {} columns",
                file.path,
                types::MAX_COLUMNS
            );
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
    }
    Ok(columns)
}

/// The rows of all files; none if a file does not say, or there are too many files.
///
/// # Errors
/// When a file cannot be read.
pub fn row_count(root: &str, layout: &Layout) -> Result<Option<u64>> {
    if layout.files.len() > MAX_COUNTED {
        return Ok(None);
    }
    let mut sum = 0u64;
    for file in &layout.files {
        control::check()?;
        match Opened::open(root, file, layout)?.rows() {
            Some(rows) => sum = sum.saturating_add(rows),
            None => return Ok(None),
        }
    }
    Ok(Some(sum))
}

/// A column that holds what both hold; none if there is none.
fn merged(left: &Column, right: &Column) -> Option<Column> {
    use DataType::{Decimal, Float64, Int64, Text};
    let is_null = |column: &Column| column.native_type == "null";
    match (duration(left), duration(right)) {
        (None, None) => {}
        // The finer unit holds the values of both.
        (Some(one), Some(other)) if per_second(one) >= per_second(other) => {
            return Some(left.clone());
        }
        (Some(_), Some(_)) => return Some(right.clone()),
        // A plain number is of no unit.
        _ if !is_null(left) && !is_null(right) => return None,
        _ => {}
    }
    match (left.data_type, right.data_type) {
        (Decimal, Decimal) => {
            wider(digits(left), digits(right)).map(|native| left.clone().native_type(native))
        }
        (Decimal, Int64) => {
            wider(digits(left), (19, 0)).map(|native| left.clone().native_type(native))
        }
        (Int64, Decimal) => {
            wider(digits(right), (19, 0)).map(|native| right.clone().native_type(native))
        }
        (Float64, Int64) => Some(left.clone()),
        (Int64, Float64) => Some(right.clone()),
        (one, other) if one == other => Some(if is_null(left) {
            right.clone()
        } else {
            left.clone()
        }),
        (Text, _) if is_null(left) => Some(right.clone()),
        (_, Text) if is_null(right) => Some(left.clone()),
        _ => None,
    }
}

fn wider(left: (u8, i8), right: (u8, i8)) -> Option<String> {
    let scale = left.1.max(right.1);
    let whole = |(digits, scale): (u8, i8)| i16::from(digits) - i16::from(scale);
    let digits = whole(left).max(whole(right)) + i16::from(scale);
    (digits <= i16::from(MAX_DIGITS)).then(|| format!("decimal({digits},{scale})"))
}

fn conflict(known: &Column, first: &str, other: &Column, path: &str) -> Error {
    Error::new(
        ErrorKind::Upstream,
        format!(
            "the column `{}` is {} in `{first}` and {} in `{path}`; make them two tables, with `tables`",
            known.name, known.native_type, other.native_type
        ),
    )
}
