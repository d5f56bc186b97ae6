//! Which files make which table.
//!
//! A file is a table. A directory is one table of all files below it if they have one format. An entry of `tables` says
//! otherwise: the files that its pattern matches are one table, and no other.

use std::collections::{BTreeMap, BTreeSet};

use glob::{MatchOptions, Pattern};
use mindhost_sdk::{Error, ErrorKind, Result};

use crate::directory::{Entry, State};
use crate::format::{Codec, Format, Name};
use crate::partitions;
use crate::settings::{self, Settings, TableSettings};

/// Files of one table, at most.
const MAX_FILES: usize = 20_000;
/// Files of one table whose headers or schemas say its columns, at most: the first, the last and some between.
pub const MAX_HEADERS: usize = 1_000;

/// As shells do it: `*` stays in one directory, `**` does not.
const MATCHING: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// One file of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Relative to the directory.
    pub path: String,
    /// As it was when the directory was listed.
    pub state: State,
    /// How it is compressed.
    pub codec: Codec,
    /// Its part of each partition key of the table; `None` is NULL.
    pub partition: Vec<Option<String>>,
}

/// The files of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// At least one.
    pub files: Vec<File>,
    /// Of all files.
    pub format: Format,
    /// Of CSV files, if the configuration says it. Else the first file shows it.
    pub delimiter: Option<u8>,
    /// Names of the partition columns.
    pub keys: Vec<String>,
}

/// The tables by name.
///
/// # Errors
/// `InvalidConfig` when an entry of `tables` cannot be used, `TooLarge` when a table has too many files.
pub fn tables(entries: &[Entry], settings: &Settings) -> Result<BTreeMap<String, Layout>> {
    let mut tables = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for (name, table) in &settings.tables {
        if let Some(layout) = named(name, table, settings, entries, &mut taken)? {
            tables.insert(name.clone(), layout);
        }
    }
    let left: Vec<&Entry> = entries
        .iter()
        .filter(|entry| !taken.contains(entry.path.as_str()))
        .collect();
    let names = tables.keys().cloned().collect();
    for (name, format, files) in by_default(&left, names) {
        let delimiter = usual_delimiter(format, settings);
        let layout = layout(&name, format, delimiter, &files)?;
        tables.insert(name, layout);
    }
    Ok(tables)
}

/// The table of an entry of `tables`; none if no file matches.
fn named<'a>(
    name: &str,
    table: &TableSettings,
    settings: &Settings,
    entries: &'a [Entry],
    taken: &mut BTreeSet<&'a str>,
) -> Result<Option<Layout>> {
    let wrong = |what: String| Error::invalid_config(format!("`tables.{name}`: {what}"));
    let pattern = Pattern::new(table.glob.trim_start_matches("./")).map_err(|error| {
        wrong(format!(
            "`glob` is no pattern such as `sales/*.csv`: {error}"
        ))
    })?;
    let matching: Vec<&Entry> = entries
        .iter()
        .filter(|entry| pattern.matches_with(&entry.path, MATCHING))
        .collect();
    let mut formats = BTreeSet::new();
    let mut files = Vec::new();
    for entry in matching {
        if let Some(format) = table.format.or_else(|| of(entry).format) {
            formats.insert(format);
            files.push(entry);
            taken.insert(&entry.path);
        }
    }
    let mut formats = formats.into_iter();
    let format = match (formats.next(), formats.next()) {
        (None, _) => return Ok(None),
        (Some(format), None) => format,
        (Some(_), Some(_)) => {
            return Err(wrong(
                "`glob` matches files of several formats; say which with `format`".into(),
            ));
        }
    };
    let delimiter = table
        .delimiter
        .or_else(|| usual_delimiter(format, settings));
    layout(name, format, delimiter, &files).map(Some)
}

/// The delimiter of a table that says none itself.
fn usual_delimiter(format: Format, settings: &Settings) -> Option<char> {
    match format {
        Format::Tsv => Some('\t'),
        _ => settings.delimiter,
    }
}

/// A table a file, and a table a directory of one format. Names are those without the ending. Where two are the same,
/// the first in the order of formats has it and the others keep their endings: `x.csv` is `x`, and `x.CSV` and
/// `x.parquet` keep theirs. No table has one of the `names` that are given.
fn by_default<'a>(
    entries: &[&'a Entry],
    mut names: BTreeSet<String>,
) -> Vec<(String, Format, Vec<&'a Entry>)> {
    let mut directories: BTreeMap<&str, (BTreeSet<Format>, Vec<&Entry>)> = BTreeMap::new();
    let mut found = Vec::new();
    for entry in entries {
        let Some(format) = of(entry).format else {
            continue;
        };
        match entry.path.split_once('/') {
            None => found.push((format, entry.path.as_str(), of(entry).stem, vec![*entry])),
            Some((directory, _)) => {
                let known = directories.entry(directory).or_default();
                known.0.insert(format);
                known.1.push(entry);
            }
        }
    }
    // `csv` before `CSV`, and a plain file before a compressed one.
    found.sort_by_key(|(format, path, stem, _)| {
        let ending = path.get(stem.len()..).unwrap_or_default();
        (
            *format,
            ending.len(),
            ending.bytes().any(|byte| byte.is_ascii_uppercase()),
            *path,
        )
    });
    let mut tables = Vec::new();
    for (format, path, stem, files) in found {
        tables.push((free(&mut names, stem, path), format, files));
    }
    for (directory, (formats, files)) in directories {
        if let (Some(format), 1) = (formats.first(), formats.len()) {
            let name = free(&mut names, directory, &format!("{directory}/"));
            tables.push((name, *format, files));
        }
    }
    tables
}

/// The first of two names that no table has, or else the second with a number: each file is in a table.
fn free(names: &mut BTreeSet<String>, first: &str, second: &str) -> String {
    let numbered = (2..).map(|number| format!("{second}_{number}"));
    let mut wanted = [first.to_owned(), second.to_owned()]
        .into_iter()
        .chain(numbered);
    let name = wanted.find(|name| !names.contains(name));
    let name = name.unwrap_or_default();
    names.insert(name.clone());
    name
}

fn of(entry: &Entry) -> Name<'_> {
    Name::of(
        entry
            .path
            .rsplit_once('/')
            .map_or(entry.path.as_str(), |(_, name)| name),
    )
}

fn layout(
    name: &str,
    format: Format,
    delimiter: Option<char>,
    entries: &[&Entry],
) -> Result<Layout> {
    if entries.len() > MAX_FILES {
        let message = format!(
            "the table `{name}` has more than {MAX_FILES} files; make them fewer and larger"
        );
        return Err(Error::new(ErrorKind::TooLarge, message));
    }
    let keys = partitions::keys(entries.iter().map(|entry| entry.path.as_str()));
    let file = |entry: &&Entry| File {
        path: entry.path.clone(),
        state: entry.state,
        codec: if format.is_text() {
            of(entry).codec
        } else {
            Codec::Plain
        },
        partition: partitions::values(&entry.path, &keys),
    };
    Ok(Layout {
        files: entries.iter().map(file).collect(),
        format,
        delimiter: delimiter.map(settings::delimiter).transpose()?,
        keys,
    })
}
