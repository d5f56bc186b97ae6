//! Columns that are written into the names of directories: `sales/year=2024/month=02/part-0.parquet`.

use mindhost_sdk::{Column, Result, Value};
use percent_encoding::percent_decode_str;

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

/// The values of one file, one a key; `None` is NULL. Special characters may be written as `%2F`.
pub fn values(path: &str, keys: &[String]) -> Vec<Option<String>> {
    let value = |key: &String| {
        let (_, value) = pairs(path).find(|(found, _)| found == key)?;
        let value = percent_decode_str(value).decode_utf8().ok()?;
        (value != NULL && !value.is_empty()).then(|| value.into_owned())
    };
    keys.iter().map(value).collect()
}

/// The partition columns, each of the narrowest type that fits its values in all files.
pub fn columns(layout: &Layout, given: impl Fn(&str) -> Option<TypeName>) -> Vec<Column> {
    let column = |(index, key): (usize, &String)| {
        let mut guess = Guess::default();
        for file in &layout.files {
            if let Some(Some(value)) = file.partition.get(index) {
                guess.see(value.as_bytes());
            }
        }
        guess.column(key.clone(), given(key))
    };
    layout.keys.iter().enumerate().map(column).collect()
}

/// A part of a path as a value of its column.
///
/// # Errors
/// `Upstream` when it does not fit the type that the configuration gives.
pub fn value(path: &str, text: Option<&str>, column: &Column) -> Result<Value> {
    let Some(text) = text else {
        return Ok(Value::Null);
    };
    types::value_of(text, column).ok_or_else(|| {
        let (name, is) = (&column.name, column.data_type.name());
        crate::input::fault(
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
        ];
        let keys = keys(paths.into_iter());
        assert_eq!(keys, ["year", "m"]);
        assert_eq!(
            values(paths[0], &keys),
            [Some("2024".into()), Some("a/b".into())]
        );
        assert_eq!(values(paths[1], &keys), [None, None]);
    }
}
