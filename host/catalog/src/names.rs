//! Resolves the names of tables in requests: `schema.table`, or a unique bare name.

use std::collections::HashMap;

use super::types::ambiguous;
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::TableRef;

/// The tables of a datasource, by full and bare name. Names are compared exactly.
pub struct Names<'a> {
    full: HashMap<String, usize>,
    bare: HashMap<&'a str, Vec<usize>>,
    tables: &'a [TableRef],
}

impl<'a> Names<'a> {
    /// The names of these tables. Results are indexes into the slice.
    pub fn new(tables: &'a [TableRef]) -> Self {
        let mut bare: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut full = HashMap::new();
        for (index, table) in tables.iter().enumerate() {
            bare.entry(&table.name).or_default().push(index);
            full.insert(table.to_string(), index);
        }
        Self { full, bare, tables }
    }

    /// The table of a name; `None` if there is none. Tries the full name first: in an engine without schemas a table
    /// may have the name `a.b`.
    ///
    /// # Errors
    /// `ambiguous_table` with the candidates.
    pub fn find(&self, name: &str) -> Result<Option<usize>> {
        if let Some(index) = self.full.get(name) {
            return Ok(Some(*index));
        }
        match self.bare.get(name).map(Vec::as_slice) {
            None | Some([]) => Ok(None),
            Some([index]) => Ok(Some(*index)),
            Some(several) => {
                let candidates: Vec<_> = several.iter().map(|i| &self.tables[*i]).collect();
                Err(ambiguous(name, &candidates))
            }
        }
    }
}

/// A table that a path names.
pub(super) fn not_found(name: &str) -> Error {
    Error::new(
        Code::TableNotFound,
        format!(
            "the catalog has no table '{name}'; GET the catalog for its tables, or refresh it if the table is new"
        ),
    )
    .param("table_name")
}

/// Tables that a body names.
pub(super) fn unknown(names: &[&str]) -> Error {
    let quoted: Vec<_> = names.iter().map(|name| format!("'{name}'")).collect();
    Error::new(
        Code::UnknownTable,
        format!(
            "the datasource has no table {}; GET the catalog for its tables",
            quoted.join(", ")
        ),
    )
    .param("table_names")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tables: &[&str], name: &str, expected: Result<Option<&str>, Code>) {
        let tables: Vec<_> = tables
            .iter()
            .map(|full| full.split_once('.').unwrap())
            .map(|(schema, name)| TableRef {
                schema: schema.into(),
                name: name.into(),
            })
            .collect();
        let found = Names::new(&tables)
            .find(name)
            .map(|found| found.map(|index| tables[index].to_string()))
            .map_err(|error| error.code());
        assert_eq!(found, expected.map(|found| found.map(str::to_owned)));
    }

    #[test]
    fn a_full_name_and_a_unique_bare_name_find_their_table() {
        check(&["a.x", "b.x", "b.y"], "b.x", Ok(Some("b.x")));
        check(&["a.x", "b.x", "b.y"], "y", Ok(Some("b.y")));
    }

    #[test]
    fn a_bare_name_that_fits_several_tables_is_refused_with_the_candidates() {
        check(&["a.x", "b.x"], "x", Err(Code::AmbiguousTable));
        let tables = ["a", "b"].map(|schema| TableRef {
            schema: schema.into(),
            name: "x".into(),
        });
        let message = Names::new(&tables).find("x").unwrap_err().to_string();
        assert!(message.contains("a.x, b.x"), "{message}");
    }

    #[test]
    fn a_name_with_a_dot_in_it_is_a_name_like_any_other() {
        check(&["main.odd.name"], "odd.name", Ok(Some("main.odd.name")));
        check(
            &["main.odd.name"],
            "main.odd.name",
            Ok(Some("main.odd.name")),
        );
    }

    #[test]
    fn names_are_as_the_engine_spells_them() {
        check(&["a.X"], "x", Ok(None));
        check(&["a.x"], "", Ok(None));
    }
}
