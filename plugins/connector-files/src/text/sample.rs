//! Which columns the first rows of some files show.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use mindhost_sdk::{Column, Error, ErrorKind, Result, control};

use super::types::{Guess, MAX_COLUMNS, TypeName};
use super::{Field, Rows};
use crate::format::Format;
use crate::layout::{File, Layout, MAX_HEADERS};

/// Bytes of a file that decide its columns, at most.
pub const MAX_LOOK: u64 = 8 << 20;
/// Files of a table that are looked at, at most: the first, the last and some between.
const MAX_FILES: usize = 16;
/// Rows of each of several files, at least.
pub const FEWEST_ROWS: u32 = 50;
/// Rows of a file of JSON lines that say its columns where none is to decide their types.
const ROWS_FOR_NAMES: u32 = 1_000;

/// The first lines of files of CSV, by their paths, as far as they were read. It tells a file that never had a column
/// from one that was replaced since.
#[derive(Default)]
pub struct Headers(HashMap<String, u64>);

impl Headers {
    fn add(&mut self, path: &str, names: &[String]) {
        let digest = digest(names);
        self.0.entry(path.to_owned()).or_insert(digest);
    }

    /// Whether the first line of a file was read, and had other names than these.
    pub fn differ(&self, path: &str, names: &[String]) -> bool {
        self.0.get(path).is_some_and(|seen| *seen != digest(names))
    }
}

fn digest(names: &[String]) -> u64 {
    let mut hasher = DefaultHasher::new();
    names.hash(&mut hasher);
    hasher.finish()
}

/// The columns of a table of text with this delimiter, from the first rows of some of its files, and the first lines of
/// its files of CSV. Of further ones the first lines are read; rows only of those that have a column which no file
/// before has.
///
/// # Errors
/// When a file cannot be read, or a row of the sample is no row.
pub fn sample(
    root: &str,
    layout: &Layout,
    delimiter: u8,
    rows: u32,
    given: impl Fn(&str) -> Option<TypeName>,
) -> Result<(Vec<Column>, Headers)> {
    let files = spread(&layout.files, MAX_FILES);
    let each = match files.len() {
        1 => rows,
        count => (rows / u32::try_from(count).unwrap_or(u32::MAX)).max(FEWEST_ROWS.min(rows)),
    };
    let mut seen = Seen::default();
    let form = (layout.format, delimiter);
    for file in files {
        control::check()?;
        seen.file(root, file, form, each, false)?;
    }
    if layout.format != Format::Jsonl && layout.files.len() > MAX_FILES {
        for file in spread(&layout.files, MAX_HEADERS) {
            control::check()?;
            match seen.file(root, file, form, each, true) {
                // A scan of this file says so; scans that leave it out can be run.
                Err(error) if error.kind() == ErrorKind::Upstream => {}
                looked => looked?,
            }
        }
    }
    let columns = seen.names.into_iter().zip(seen.guesses);
    let columns = columns.map(|(name, guess)| {
        let given = given(&name);
        guess.column(name, given)
    });
    Ok((columns.collect(), seen.headers))
}

/// Some of many, evenly: the first and the last too.
pub fn spread<T>(all: &[T], most: usize) -> Vec<&T> {
    if all.len() <= most {
        return all.iter().collect();
    }
    let at = |step: usize| step * (all.len() - 1) / (most - 1);
    (0..most).filter_map(|step| all.get(at(step))).collect()
}

#[derive(Default)]
struct Seen {
    names: Vec<String>,
    places: HashMap<String, usize>,
    guesses: Vec<Guess>,
    headers: Headers,
}

impl Seen {
    fn file(
        &mut self,
        root: &str,
        file: &File,
        (format, delimiter): (Format, u8),
        rows: u32,
        only_new: bool,
    ) -> Result<()> {
        let mut reader = Rows::open(root, file, format, delimiter, MAX_LOOK)?;
        if let Rows::Csv(reader) = &reader {
            self.headers.add(&file.path, reader.names());
            let known = self.names.len();
            reader.names().iter().for_each(|name| {
                self.place(name);
            });
            if only_new && self.names.len() == known {
                return Ok(());
            }
        }
        if self.names.len() > MAX_COLUMNS {
            let message = format!(
                "`{}` has more than {MAX_COLUMNS} columns with the files before",
                file.path
            );
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        let looked_at = match &reader {
            Rows::Json(_) if rows == 0 => ROWS_FOR_NAMES,
            _ => rows,
        };
        for _ in 0..looked_at {
            let more = reader.advance();
            // A line that ends where the look does may be cut.
            let read = match &reader {
                Rows::Csv(reader) => reader.bytes(),
                Rows::Json(reader) => reader.bytes(),
            };
            if read >= MAX_LOOK || !more? {
                break;
            }
            self.row(&reader, rows > 0);
        }
        Ok(())
    }

    fn row(&mut self, rows: &Rows, decides: bool) {
        let names = match rows {
            Rows::Csv(reader) => reader.names(),
            Rows::Json(reader) => reader.names(),
        };
        for (index, name) in names.iter().enumerate() {
            let place = self.place(name);
            let field = match rows {
                Rows::Csv(reader) => reader.field(index),
                Rows::Json(reader) => reader.field(index),
            };
            let Some(guess) = self.guesses.get_mut(place).filter(|_| decides) else {
                continue;
            };
            match field {
                Field::Null => {}
                Field::Plain(field) => guess.see(field),
                Field::Scalar(text) => guess.see(text.as_bytes()),
                Field::Text(text) => guess.see_string(text),
                Field::Document(_) => guess.see_document(),
            }
        }
    }

    fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let place = self.names.len();
        self.places.insert(name.to_owned(), place);
        self.names.push(name.to_owned());
        self.guesses.push(Guess::default());
        place
    }
}
