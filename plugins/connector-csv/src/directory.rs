//! The files of the directory, and what their first lines say.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, Read as _};
use std::path::PathBuf;
use std::time::SystemTime;

use csv::{ByteRecord, Reader, ReaderBuilder};
use mindhost_sdk::{Column, Error, ErrorKind, Result, TableRef};

use crate::Settings;
use crate::types;

/// All files are tables of this schema.
pub const SCHEMA: &str = "files";

/// Bytes of a file that decide its columns at most.
const MAX_LOOK: u64 = 8 << 20;
const READ_BYTES: usize = 256 << 10;

/// An open file at its first row.
pub type Rows = Reader<BufReader<File>>;

/// The directory, with the columns of the files that were looked at.
pub struct Directory {
    settings: Settings,
    delimiter: u8,
    known: HashMap<String, (State, Vec<Column>)>,
}

/// Tells one state of a file from the next.
type State = (u64, Option<SystemTime>);

impl Directory {
    pub fn new(settings: Settings) -> Result<Self> {
        let delimiter = match u8::try_from(settings.delimiter) {
            Ok(delimiter @ (b'\t' | b' '..=b'~')) if delimiter != b'"' => delimiter,
            _ => {
                return Err(Error::invalid_config(
                    "`delimiter` must be one ASCII character, and not the quote",
                ));
            }
        };
        Ok(Self {
            settings,
            delimiter,
            known: HashMap::new(),
        })
    }

    /// Every file whose name ends in `.csv`, in any case.
    pub fn tables(&self) -> Result<Vec<TableRef>> {
        let files = self.files()?;
        Ok(files
            .keys()
            .map(|name| TableRef::new(SCHEMA, name))
            .collect())
    }

    /// The files by the names of their tables. Where two differ in their endings alone, `x.csv` is `x` and `x.CSV` keeps
    /// its ending.
    fn files(&self) -> Result<BTreeMap<String, PathBuf>> {
        let unreadable = |error: io::Error| self.unreadable(&error);
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.settings.path).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let text = |part: Option<&OsStr>| part.and_then(OsStr::to_str).map(str::to_owned);
            if let (Some(stem), Some(end), Some(name)) = (
                text(path.file_stem()),
                text(path.extension()),
                text(path.file_name()),
            ) && end.eq_ignore_ascii_case("csv")
                && path.is_file()
            {
                found.push((end != "csv", stem, name, path));
            }
        }
        found.sort();
        let mut files = BTreeMap::new();
        for (_, stem, name, path) in found {
            let name = if files.contains_key(&stem) {
                name
            } else {
                stem
            };
            files.entry(name).or_insert(path);
        }
        Ok(files)
    }

    /// Whether every column that `types` names is there.
    pub fn check(&mut self) -> Result<()> {
        let tables = self.tables()?;
        for key in self.settings.types.clone().keys() {
            let mut is_there = false;
            for table in &tables {
                if let Some(column) = key.strip_prefix(&format!("{}.", table.name)) {
                    let columns = self.columns(table)?;
                    is_there |= columns.iter().any(|known| known.name == column);
                }
            }
            if !is_there {
                return Err(Error::invalid_config(format!(
                    "`types` names `{key}`, and no table has such a column; write `table.column`, without `.csv`"
                )));
            }
        }
        Ok(())
    }

    /// The columns of a file, looked at again when it changed.
    pub fn columns(&mut self, table: &TableRef) -> Result<Vec<Column>> {
        let metadata = fs::metadata(self.path(table)?).map_err(|error| self.unreadable(&error))?;
        let state = (metadata.len(), metadata.modified().ok());
        if let Some((known, columns)) = self.known.get(&table.name)
            && *known == state
        {
            return Ok(columns.clone());
        }
        let columns = self.look(table)?;
        self.known
            .insert(table.name.clone(), (state, columns.clone()));
        Ok(columns)
    }

    /// A file at its first row.
    pub fn open(&self, table: &TableRef) -> Result<Rows> {
        let file = File::open(self.path(table)?).map_err(|error| self.unreadable(&error))?;
        Ok(self.reader(BufReader::with_capacity(READ_BYTES, file)))
    }

    fn reader<R: io::Read>(&self, input: R) -> Reader<R> {
        ReaderBuilder::new()
            .delimiter(self.delimiter)
            .from_reader(input)
    }

    fn look(&self, table: &TableRef) -> Result<Vec<Column>> {
        let file = File::open(self.path(table)?).map_err(|error| self.unreadable(&error))?;
        let mut reader = self.reader(BufReader::with_capacity(READ_BYTES, file.take(MAX_LOOK)));
        let header = reader.byte_headers().map_err(unfit)?.clone();
        // A line that ends where the look does may be cut.
        let is_cut = |reader: &Reader<_>| reader.position().byte() >= MAX_LOOK;
        if is_cut(&reader) {
            let message = format!("the first line of `{}.csv` is too long", table.name);
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        let names = types::names(&header)?;
        let mut guesses = vec![types::Guess::default(); names.len()];
        let mut row = ByteRecord::new();
        for _ in 0..self.settings.types_from_rows {
            let read = reader.read_byte_record(&mut row);
            if is_cut(&reader) || !read.map_err(unfit)? {
                break;
            }
            for (guess, field) in guesses.iter_mut().zip(&row) {
                guess.see(field);
            }
        }
        let column = |(name, guess): (String, types::Guess)| {
            let given = self.settings.types.get(&format!("{}.{name}", table.name));
            guess.column(name, given.copied())
        };
        Ok(names.into_iter().zip(guesses).map(column).collect())
    }

    /// The file of a table. A name that is no plain file name is no table.
    fn path(&self, table: &TableRef) -> Result<PathBuf> {
        let plain = !table.name.is_empty() && !table.name.contains(['/', '\\', '\0']);
        let usual = PathBuf::from(&self.settings.path).join(format!("{}.csv", table.name));
        let found = match plain && table.schema == SCHEMA {
            true if usual.is_file() => Some(usual),
            true => self.files()?.remove(&table.name),
            false => None,
        };
        found.ok_or_else(|| Error::not_found(format!("there is no file `{}.csv`", table.name)))
    }

    fn unreadable(&self, error: &io::Error) -> Error {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            io::ErrorKind::PermissionDenied => ErrorKind::Denied,
            io::ErrorKind::NotADirectory => ErrorKind::InvalidConfig,
            _ => ErrorKind::Upstream,
        };
        Error::new(kind, format!("the files cannot be read: {error}"))
    }
}

/// What the reader says of a line.
pub fn unfit(error: csv::Error) -> Error {
    Error::new(ErrorKind::Upstream, error.to_string())
}
