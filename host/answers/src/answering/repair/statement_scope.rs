//! The tables and columns that a statement may name.

use std::collections::{HashMap, HashSet};

use crate::results::Access;
use mindhost_catalog::TableDetail;
use mindhost_plugin_api::Dialect;
use mindhost_sql::outline::{self, Name, Outline, Table, Word, same_column, spelled};

/// The tables of all datasources of an access in one list, with the dialect that names are compared in.
pub struct StatementScope<'a> {
    /// Decides how names are quoted and compared.
    pub dialect: Dialect,
    /// What the statement may read, of all datasources of the Mind.
    pub tables: Vec<KnownTable<'a>>,
    /// Where the tables of each name are in `tables`, by the name in lower case.
    by_name: HashMap<String, Vec<usize>>,
    several: bool,
}

/// A table that may be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownTable<'a> {
    /// The name of its datasource, which a statement over several datasources writes first.
    pub datasource: &'a str,
    /// As a statement writes it, without quotes.
    pub schema: &'a str,
    /// As a statement writes it, without quotes.
    pub name: &'a str,
    /// Its columns; empty if the catalog has not loaded it.
    pub columns: &'a [String],
    dialect: Dialect,
}

impl KnownTable<'_> {
    /// The name by which the catalog describes it.
    pub fn in_full(&self) -> String {
        format!("{}.{}.{}", self.datasource, self.schema, self.name)
    }

    /// Whether these are its details.
    pub fn is_in(&self, detail: &TableDetail) -> bool {
        let name = detail.name.strip_prefix(self.schema);
        let name = name.and_then(|name| name.strip_prefix('.'));
        name == Some(self.name) && detail.datasource == self.datasource
    }

    /// Whether it has a column, as the engine compares names.
    pub fn has(&self, written: &Name) -> bool {
        self.columns
            .iter()
            .any(|column| same_column(self.dialect, written, column))
    }
}

impl<'a> StatementScope<'a> {
    /// What this access allows.
    pub fn new(access: &'a Access, dialect: Dialect) -> Self {
        let datasources = &access.scope.datasources;
        let tables = datasources.iter().flat_map(|datasource| {
            datasource.tables.iter().map(move |table| KnownTable {
                datasource: &datasource.name,
                schema: &table.table.schema,
                name: &table.table.name,
                columns: &table.columns,
                dialect: datasource.dialect,
            })
        });
        let tables: Vec<KnownTable<'a>> = tables.collect();
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, table) in tables.iter().enumerate() {
            by_name
                .entry(table.name.to_ascii_lowercase())
                .or_default()
                .push(at);
        }
        Self {
            dialect,
            tables,
            by_name,
            several: datasources.len() > 1,
        }
    }

    /// The table that a name means, without regard to case.
    pub fn find(&self, table: &Table) -> Option<KnownTable<'a>> {
        self.place(table)
            .and_then(|at| self.tables.get(at))
            .copied()
    }

    fn place(&self, table: &Table) -> Option<usize> {
        let same = |written: &String, stored: &str| written.eq_ignore_ascii_case(stored);
        let (name, before) = table.parts.split_last()?;
        let fits = |at: &&usize| {
            let Some(known) = self.tables.get(**at) else {
                return false;
            };
            match before {
                [] => true,
                [first] => same(first, known.schema) || same(first, known.datasource),
                [datasource, schema] => {
                    same(schema, known.schema) && same(datasource, known.datasource)
                }
                _ => false,
            }
        };
        let called = self.by_name.get(&name.to_ascii_lowercase())?;
        called.iter().find(fits).copied()
    }

    /// The tables that a statement reads, each once.
    pub fn used(&self, outline: &Outline) -> Vec<KnownTable<'a>> {
        let mut seen = HashSet::new();
        let places = outline.tables().filter_map(|table| self.place(table));
        let places = places.filter(|at| seen.insert(*at));
        places
            .filter_map(|at| self.tables.get(at).copied())
            .collect()
    }

    /// Whether an outline names a table of these.
    pub fn reads_any(&self, outline: &Outline) -> bool {
        outline.tables().any(|table| self.place(table).is_some())
    }

    /// The datasources whose names stand before a dot.
    pub fn qualifying(&self, words: &[Word]) -> HashSet<&'a str> {
        let before_dots = words.windows(2).filter(|two| two[1].text == ".");
        let before_dots: HashSet<String> = before_dots
            .map(|two| two[0].text.to_ascii_lowercase())
            .collect();
        let names = self.tables.iter().map(|table| table.datasource);
        names
            .filter(|name| before_dots.contains(&name.to_ascii_lowercase()))
            .collect()
    }

    /// The table behind a qualifier, by alias or name.
    pub fn qualified(&self, qualifier: &Name, outline: &Outline) -> Option<KnownTable<'a>> {
        let table = outline
            .tables()
            .find(|table| is_called(table, &qualifier.text))?;
        self.find(table)
    }

    /// The table that a column belongs to: by its qualifier, or the only one of these with that name.
    pub fn owner(
        &self,
        column: &outline::Column,
        outline: &Outline,
        used: &[KnownTable<'a>],
    ) -> Option<KnownTable<'a>> {
        if let Some(qualifier) = &column.qualifier {
            return self
                .qualified(qualifier, outline)
                .filter(|table| table.has(&column.name));
        }
        let mut owners = used.iter().filter(|table| table.has(&column.name));
        match (owners.next(), owners.next()) {
            (Some(only), None) => Some(*only),
            _ => None,
        }
    }

    /// How a statement writes a table.
    pub fn written(&self, table: &KnownTable<'_>) -> String {
        let spelled = |name| spelled(self.dialect, name);
        match self.several {
            true => format!(
                "{}.{}.{}",
                table.datasource,
                spelled(table.schema),
                spelled(table.name)
            ),
            false => spelled(table.name),
        }
    }

    /// What a column of a table is qualified with in this statement: several names if it reads the table several times.
    pub fn qualifiers(&self, table: &KnownTable<'_>, outline: &Outline) -> Vec<String> {
        let own = spelled(self.dialect, table.name);
        let used = outline
            .tables()
            .filter(|one| self.find(one).as_ref() == Some(table));
        let mut names: Vec<String> = Vec::new();
        for one in used {
            let name = one.alias.as_ref().unwrap_or(&own);
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        if names.is_empty() {
            names.push(own);
        }
        names
    }
}

/// Whether a qualifier means this table.
fn is_called(table: &Table, qualifier: &str) -> bool {
    match &table.alias {
        Some(alias) => alias.eq_ignore_ascii_case(qualifier),
        None => table.name.text.eq_ignore_ascii_case(qualifier),
    }
}
