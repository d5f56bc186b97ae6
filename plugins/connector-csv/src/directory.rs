//! The files of the directory, and what their first lines say.

use std::collections::HashMap;
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
/// Columns of a file at most, as for the host.
const MAX_COLUMNS: usize = 4_096;
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
        let delimiter = u8::try_from(settings.delimiter)
            .map_err(|_| Error::invalid_config("`delimiter` must be one ASCII character"))?;
        Ok(Self {
            settings,
            delimiter,
            known: HashMap::new(),
        })
    }

    /// Every file whose name ends in `.csv`.
    pub fn tables(&self) -> Result<Vec<TableRef>> {
        let unreadable = |error: io::Error| self.unreadable(&error);
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.settings.path).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let is_csv = path
                .extension()
                .is_some_and(|end| end.eq_ignore_ascii_case("csv"));
            if let Some(name) = path.file_stem().and_then(|name| name.to_str())
                && is_csv
                && path.is_file()
            {
                names.push(name.to_owned());
            }
        }
        names.sort();
        names.dedup();
        Ok(names
            .iter()
            .map(|name| TableRef::new(SCHEMA, name))
            .collect())
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
        // The last line within the bound may be cut: it is left out unless the file ends there.
        let mut input = Vec::new();
        file.take(MAX_LOOK)
            .read_to_end(&mut input)
            .map_err(|error| self.unreadable(&error))?;
        if input.len() as u64 == MAX_LOOK {
            let end = input.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
            input.truncate(end);
        }
        let mut reader = self.reader(input.as_slice());
        let header = reader.byte_headers().map_err(unfit)?.clone();
        let names = types::names(&header)?;
        if names.len() > MAX_COLUMNS {
            let message = format!("`{}.csv` has more than {MAX_COLUMNS} columns", table.name);
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        let mut guesses = vec![types::Guess::default(); names.len()];
        let mut row = ByteRecord::new();
        for _ in 0..self.settings.types_from_rows {
            if !reader.read_byte_record(&mut row).map_err(unfit)? {
                break;
            }
            for (guess, field) in guesses.iter_mut().zip(&row) {
                guess.see(field);
            }
        }
        let column = |(name, guess): (String, types::Guess)| {
            let given = self.settings.types.get(&format!("{}.{name}", table.name));
            let data_type = given.map_or_else(|| guess.data_type(), |given| given.data_type());
            Column::new(name, data_type)
        };
        Ok(names.into_iter().zip(guesses).map(column).collect())
    }

    /// The file of a table. A name that is no plain file name is no table.
    fn path(&self, table: &TableRef) -> Result<PathBuf> {
        let plain = !table.name.is_empty() && !table.name.contains(['/', '\\', '\0']);
        let folder = PathBuf::from(&self.settings.path);
        let endings = ["csv", "CSV"].into_iter();
        endings
            .map(|end| folder.join(format!("{}.{end}", table.name)))
            .find(|path| plain && table.schema == SCHEMA && path.is_file())
            .ok_or_else(|| Error::not_found(format!("there is no file `{}.csv`", table.name)))
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
