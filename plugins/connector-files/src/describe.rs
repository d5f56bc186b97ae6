//! The tables of the directory, with their columns.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use mindhost_sdk::scanner::describe;
use mindhost_sdk::{
    Column, Error, ErrorKind, Result, Table as Described, TableRef, Value, control, log,
};

use crate::columnar;
use crate::directory::{self, Entry};
use crate::format::Format;
use crate::layout::{self, File, Layout, MAX_HEADERS};
use crate::partitions;
use crate::settings::{Settings, delimiter};
use crate::text;

/// All tables are in this schema.
pub const SCHEMA: &str = "files";

/// A table that was looked at.
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its files, as they were.
    pub layout: Layout,
    /// Of CSV files.
    pub delimiter: u8,
    /// Those of the files, then those of partitions.
    pub columns: Vec<Column>,
    partitions: Vec<Column>,
    /// The first lines of its files, if it is one of CSV.
    pub headers: text::Headers,
    /// Names of the columns whose types the configuration says.
    given: HashSet<String>,
}

impl Table {
    /// The column of this name.
    ///
    /// # Errors
    /// `NotFound` if there is none.
    pub fn column(&self, name: &str) -> Result<&Column> {
        let found = self.columns.iter().find(|column| column.name == name);
        found.ok_or_else(|| {
            Error::not_found(format!("the table `{}` has no column `{name}`", self.name))
        })
    }

    /// Whether the first rows alone say the type of a column of text.
    pub fn is_guessed(&self, column: &str) -> bool {
        !self.given.contains(column)
    }

    /// What the path of a file says, by the names of columns.
    ///
    /// # Errors
    /// `Upstream` when a part of the path does not fit its column.
    pub fn partition_values(&self, file: &File) -> Result<Vec<(&str, Value)>> {
        let parts = self.partitions.iter().zip(&file.partition);
        parts
            .map(|(column, text)| {
                let value = partitions::value(&file.path, text.as_deref(), column)?;
                Ok((column.name.as_str(), value))
            })
            .collect()
    }
}

/// The directory as it was when somebody looked.
pub struct Catalog {
    settings: Settings,
    root: Rc<str>,
    entries: Option<Vec<Entry>>,
    layouts: BTreeMap<String, Layout>,
    /// Tables that did not change since.
    tables: HashMap<String, Rc<Table>>,
}

impl Catalog {
    /// Nothing is read yet.
    ///
    /// # Errors
    /// `InvalidConfig` when a delimiter cannot be used.
    pub fn new(settings: Settings) -> Result<Self> {
        settings.delimiter.map(delimiter).transpose()?;
        for table in settings.tables.values() {
            table.delimiter.map(delimiter).transpose()?;
        }
        Ok(Self {
            root: settings.path.as_str().into(),
            settings,
            entries: None,
            layouts: BTreeMap::new(),
            tables: HashMap::new(),
        })
    }

    /// The directory, as the sandbox shows it.
    pub fn root(&self) -> Rc<str> {
        Rc::clone(&self.root)
    }

    /// Lists the directory again. Tables whose files did not change keep what is known of them.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn look(&mut self) -> Result<()> {
        let entries = directory::files(&self.root)?;
        if self.entries.as_ref() == Some(&entries) {
            return Ok(());
        }
        self.layouts = layout::tables(&entries, &self.settings)?;
        self.tables
            .retain(|name, table| self.layouts.get(name) == Some(&table.layout));
        self.entries = Some(entries);
        Ok(())
    }

    /// All tables.
    pub fn tables(&self) -> Vec<TableRef> {
        self.layouts
            .keys()
            .map(|name| TableRef::new(SCHEMA, name))
            .collect()
    }

    /// A table with its columns, as it was at the last look.
    ///
    /// # Errors
    /// `NotFound` if there is none, and when its files cannot be read.
    pub fn table(&mut self, table: &TableRef) -> Result<Rc<Table>> {
        if self.entries.is_none() {
            self.look()?;
        }
        if table.schema != SCHEMA {
            return Err(absent(&table.name));
        }
        if let Some(known) = self.tables.get(&table.name) {
            return Ok(Rc::clone(known));
        }
        let layout = self
            .layouts
            .get(&table.name)
            .ok_or_else(|| absent(&table.name))?
            .clone();
        let looked = Rc::new(self.read(&table.name, layout)?);
        self.tables.insert(table.name.clone(), Rc::clone(&looked));
        Ok(looked)
    }

    fn read(&self, name: &str, layout: Layout) -> Result<Table> {
        if let Some(cut) = cut(&layout) {
            log::warn(format_args!("the table `{name}`: {cut}"));
        }
        let given = |column: &str| {
            self.settings
                .types
                .get(&format!("{name}.{column}"))
                .copied()
        };
        let delimiter = self.delimiter(&layout);
        let rows = self.settings.types_from_rows;
        let (mut columns, headers) = match layout.format.is_text() {
            true => text::sample(&self.root, &layout, delimiter, rows, given)?,
            false => (columnar::columns(&self.root, &layout)?, Default::default()),
        };
        let partitions = partitions::columns(&layout, given)?;
        columns.retain(|column| {
            partitions
                .iter()
                .all(|partition| partition.name != column.name)
        });
        columns.extend(partitions.iter().cloned());
        if columns.is_empty() {
            return Err(without_columns(name, &layout));
        }
        let names = columns.iter().map(|column| column.name.clone());
        Ok(Table {
            name: name.to_owned(),
            layout,
            delimiter,
            given: names.filter(|name| given(name).is_some()).collect(),
            columns,
            partitions,
            headers,
        })
    }

    /// What stands between two fields: what the configuration says, or else what the first file shows.
    fn delimiter(&self, layout: &Layout) -> u8 {
        let rows = self.settings.types_from_rows;
        match (layout.delimiter, layout.format, layout.files.first()) {
            (Some(given), _, _) => given,
            (None, Format::Csv, Some(first)) => text::recognised_delimiter(&self.root, first, rows),
            (None, ..) => text::USUAL_DELIMITER,
        }
    }

    /// Whether every column that `types` names is there.
    ///
    /// # Errors
    /// `InvalidConfig` when one is not, or its files say the type themselves.
    pub fn check(&mut self) -> Result<()> {
        self.look()?;
        for key in self.settings.types.clone().keys() {
            let mut is_there = false;
            for table in self.tables() {
                if let Some(column) = key.strip_prefix(&format!("{}.", table.name)) {
                    let table = self.table(&table)?;
                    let is_partition = table.partitions.iter().any(|known| known.name == column);
                    is_there |= is_partition
                        || table.layout.format.is_text()
                            && table.columns.iter().any(|known| known.name == column);
                }
            }
            if !is_there {
                return Err(Error::invalid_config(format!(
                    "`types` names `{key}`, and no table of text has such a column; write `table.column`, without \
                     `.csv`"
                )));
            }
        }
        Ok(())
    }

    /// Tables for people, with their numbers of rows where the files say them.
    ///
    /// # Errors
    /// When files cannot be read.
    pub fn describe(&mut self, tables: &[TableRef]) -> Result<Vec<Described>> {
        let mut described = Vec::with_capacity(tables.len());
        for table in tables {
            control::check()?;
            let Some(layout) = self.layouts.get(&table.name).cloned() else {
                continue;
            };
            let known = self.table(table)?;
            let mut shown = describe(table.clone(), &known.columns);
            if !known.partitions.is_empty() {
                "PARTITIONED TABLE".clone_into(&mut shown.kind);
            }
            shown.comment = cut(&layout);
            if !layout.format.is_text() {
                shown.row_count = columnar::row_count(&self.root, &layout)?;
            }
            described.push(shown);
        }
        Ok(described)
    }
}

/// What people should know of a table whose files were not all asked for their columns. Those of JSON lines never are,
/// as they have no header.
fn cut(layout: &Layout) -> Option<String> {
    let files = layout.files.len();
    let is_cut = files > MAX_HEADERS && layout.format != Format::Jsonl;
    is_cut.then(|| {
        format!(
            "the columns are those of {MAX_HEADERS} of its {files} files; a column that only others have is not read"
        )
    })
}

fn without_columns(name: &str, layout: &Layout) -> Error {
    let first = layout.files.first().map(|file| file.path.as_str());
    let first = first.unwrap_or_default();
    let others = match layout.files.len() {
        0 | 1 => "",
        _ => " nor in its other files",
    };
    let message = format!(
        "the table `{name}` has no columns: no row in `{first}`{others} has a value with a name"
    );
    Error::new(ErrorKind::Upstream, message)
}

fn absent(name: &str) -> Error {
    Error::not_found(format!(
        "there is no file or directory for the table `{name}`"
    ))
}
