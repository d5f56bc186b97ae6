//! Columns that are written into the names of directories: `sales/year=2024/month=02/part-0.parquet`.

use std::borrow::Cow;

use mindhost_sdk::{Column, Result, Value};
use percent_encoding::percent_decode_str;

use crate::input::fault;
use crate::layout::Layout;
use crate::text::types::{self, Guess, TypeName};

/// What Hive writes in place of NULL.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";
/// Partition columns of a table, at most.
const MAX_KEYS: usize = 64;

/// `key=value` of each directory in a path.
fn pairs(path: &str) -> impl Iterator<Item = (&str, &str)> {
    let directories = path
        .rsplit_once('/')
        .map_or("", |(directories, _)| directories);
    let pairs = directories
        .split('/')
        .filter_map(|part| part.split_once('='));
    pairs.filter(|(key, _)| !key.is_empty())
}

/// The keys of a table in the order in which they are met.
pub fn keys<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for path in paths {
        for (key, _) in pairs(path) {
            if keys.len() < MAX_KEYS && !keys.iter().any(|known| known == key) {
                keys.push(key.to_owned());
            }
        }
    }
    keys
}

/// The values of one file as the path has them, one a key; `None` where it has no such key.
pub fn values(path: &str, keys: &[String]) -> Vec<Option<String>> {
    let value = |key: &String| {
        let (_, value) = pairs(path).find(|(found, _)| found == key)?;
        Some(value.to_owned())
    };
    keys.iter().map(value).collect()
}

/// The text of a value, in which special characters may be written as `%2F`; `None` is NULL.
fn decoded<'a>(path: &str, value: Option<&'a str>) -> Result<Option<Cow<'a, str>>> {
    let Some(value) = value else {
        return Ok(None);
    };
    let text = percent_decode_str(value).decode_utf8().map_err(|_| {
        let what = format!("the partition `{value}` in its path is not UTF-8");
        fault(path, &what)
    })?;
    Ok((text != NULL).then_some(text))
}

/// The partition columns, each of the narrowest type that fits its values in all files.
///
/// # Errors
/// `Upstream` when a value is not UTF-8.
pub fn columns(layout: &Layout, given: impl Fn(&str) -> Option<TypeName>) -> Result<Vec<Column>> {
    let column = |(index, key): (usize, &String)| -> Result<Column> {
        let mut guess = Guess::default();
        for file in &layout.files {
            let value = file.partition.get(index).and_then(Option::as_deref);
            match decoded(&file.path, value)?.as_deref() {
                None => {}
                Some("") => guess.see_empty_text(),
                Some(value) => guess.see(value.as_bytes()),
            }
        }
        Ok(guess.column(key.clone(), given(key)))
    };
    layout.keys.iter().enumerate().map(column).collect()
}

/// A part of a path as a value of its column.
///
/// # Errors
/// `Upstream` when it does not fit the type that the configuration gives, or is not UTF-8.
pub fn value(path: &str, text: Option<&str>, column: &Column) -> Result<Value> {
    let Some(text) = decoded(path, text)? else {
        return Ok(Value::Null);
    };
    types::value_of(&text, column).ok_or_else(|| {
        let (name, is) = (&column.name, column.data_type.name());
        fault(
            path,
            &format!("the partition `{name}` is not of the type {is}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_name_columns() {
        let paths = [
            "s/year=2024/m=a%2Fb/x.csv",
            "s/year=__HIVE_DEFAULT_PARTITION__/k=v=w.csv",
            "s/year=/m=%FF/x.csv",
        ];
        let keys = keys(paths.into_iter());
        assert_eq!(keys, ["year", "m"]);
        let texts = paths.map(|path| {
            let values = values(path, &keys);
            let texts = values.iter().map(|value| {
                let text = decoded(path, value.as_deref());
                text.map(|text| text.map(Cow::into_owned))
            });
            texts.collect::<Vec<_>>()
        });
        let text = |text: &str| -> Result<Option<String>> { Ok(Some(text.to_owned())) };
        assert_eq!(texts[0], [text("2024"), text("a/b")]);
        assert_eq!(texts[1], [Ok(None), Ok(None)]);
        assert_eq!(texts[2][0], text(""));
        let error = texts[2][1].as_ref().unwrap_err();
        assert!(error.message().contains("`s/year=/m=%FF/x.csv`"), "{error}");
    }
}
