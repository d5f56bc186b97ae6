//! What callers who are bound by policies may know of tables: the catalog has no more than their statements can read.

use std::collections::{HashMap, HashSet};

use super::{
    statistics::{Statistics, StoredStatistics},
    types::{Table, TableStatus},
};
use mindhost_base::{error::Result, policy::Rule};
use mindhost_plugin_api::TableRef;

/// The restrictions of the tables of one datasource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restrictions {
    tables: HashMap<TableRef, Restriction>,
    /// By name in lower case, the tables of that name that were listed. All others of the name are closed.
    names: HashMap<String, HashSet<TableRef>>,
}

/// What is withheld of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Restriction {
    /// No caller can read the table, so it has no columns.
    is_closed: bool,
    /// Rows are missing, so counts and values of the whole table are withheld.
    is_filtered: bool,
    hidden: HashSet<String>,
    masked: HashSet<String>,
}

impl Restrictions {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.names.is_empty()
    }

    /// Adds the rule of a table to those that it has. `is_closed` if the rule does not fit the table.
    pub fn add(&mut self, table: &TableRef, rule: &Rule, is_closed: bool) {
        let restriction = self.tables.entry(table.clone()).or_default();
        restriction.is_closed |= is_closed;
        restriction.is_filtered |= rule.filter.is_some();
        restriction.hidden.extend(rule.hidden.iter().cloned());
        restriction.masked.extend(rule.masked.keys().cloned());
    }

    /// Closes tables of this name, whatever its case and their schema, that are not among `listed`. They came into the
    /// catalog after the rules were read, and a rule for the name may hold for them.
    pub fn close_unlisted(&mut self, name: &str, listed: impl IntoIterator<Item = TableRef>) {
        let names = self.names.entry(name.to_lowercase()).or_default();
        names.extend(listed);
    }

    fn is_unlisted(&self, table: &TableRef) -> bool {
        // Most callers have no such names.
        if self.names.is_empty() {
            return false;
        }
        let listed = self.names.get(&table.name.to_lowercase());
        listed.is_some_and(|listed| !listed.contains(table))
    }

    fn hides(&self, table: &TableRef, column: &str) -> bool {
        let restriction = self.tables.get(table);
        self.is_unlisted(table) || restriction.is_some_and(|one| one.hides(column))
    }

    /// Takes out of tables of this datasource what is withheld: hidden columns with their keys, the number of rows, the
    /// statistics, and the words of errors. Keys of other tables that point to hidden columns go as well.
    ///
    /// # Errors
    /// None that a caller can cause.
    pub fn apply(&self, tables: &mut [Table]) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        for table in tables {
            table.foreign_keys.retain(|key| {
                let to = TableRef::new(&*key.referenced_schema, &*key.referenced_table);
                !self.hides(&to, &key.referenced_column)
            });
            // An error of the engine may name columns and values, also those of other tables.
            let what = match table.status {
                TableStatus::Completed => "some of its columns could not be read",
                _ => "the table could not be loaded",
            };
            table.error = table.error.take().map(|_| what.to_owned());
            if self.is_unlisted(&table.table) {
                Restriction::closed().apply(table)?;
            } else if let Some(restriction) = self.tables.get(&table.table) {
                restriction.apply(table)?;
            }
        }
        Ok(())
    }
}

impl Restriction {
    fn closed() -> Self {
        Self {
            is_closed: true,
            ..Self::default()
        }
    }

    fn hides(&self, column: &str) -> bool {
        self.is_closed || self.hidden.contains(column)
    }

    /// Whether each column that a rule names is there. One that is not may have got another name since the rule was
    /// read.
    fn fits(&self, table: &Table) -> bool {
        let mut named = self.hidden.iter().chain(&self.masked);
        named.all(|named| table.columns.iter().any(|column| column.name == *named))
    }

    fn apply(&self, table: &mut Table) -> Result<()> {
        let is_closed = self.is_closed || !self.fits(table);
        let hides = |column: &str| is_closed || self.hides(column);
        table.columns.retain(|column| !hides(&column.name));
        table.primary_key.retain(|key| !hides(&key.column_name));
        table.foreign_keys.retain(|key| !hides(&key.column_name));
        if self.is_filtered || is_closed {
            table.row_count = None;
        }
        let withholds = !self.hidden.is_empty() || !self.masked.is_empty();
        for column in &mut table.columns {
            let is_masked = self.masked.contains(&column.name);
            if self.is_filtered || is_masked {
                column.statistics =
                    StoredStatistics::new(mindhost_store::to_json(&Statistics::default())?)?;
            }
            // It may be an expression over the columns that are withheld.
            if withholds {
                column.default_value = None;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Column, Description};

    fn table(columns: &[&str]) -> Table {
        let column = |name: &&str| Column {
            name: (*name).to_owned(),
            data_type: "TEXT".to_owned(),
            description: Description::from_source(None),
            default_value: Some("'x'".to_owned()),
            nullable: true,
            statistics: StoredStatistics::new("{}".to_owned()).unwrap(),
        };
        Table {
            id: "1".to_owned(),
            table: TableRef::new("main", "staff"),
            kind: "TABLE".to_owned(),
            description: Description::from_source(None),
            row_count: Some(3),
            status: TableStatus::Completed,
            error: None,
            error_request_id: None,
            missing: false,
            run_id: None,
            loaded_at: None,
            columns: columns.iter().map(column).collect(),
            primary_key: Vec::new(),
            foreign_keys: Vec::new(),
        }
    }

    /// The columns that are shown, and the number of rows.
    fn shown(rule: &Rule, columns: &[&str]) -> (Vec<String>, Option<u64>) {
        let mut restrictions = Restrictions::default();
        restrictions.add(&TableRef::new("main", "staff"), rule, false);
        let mut tables = [table(columns)];
        restrictions.apply(&mut tables).unwrap();
        let [table] = tables;
        let names = table.columns.into_iter().map(|column| column.name);
        (names.collect(), table.row_count)
    }

    #[test]
    fn table_without_a_column_that_a_rule_names_shows_none() {
        let hiding = Rule {
            hidden: vec!["pay".to_owned()],
            ..Rule::default()
        };
        let (seen, rows) = shown(&hiding, &["id", "pay"]);
        assert_eq!((seen, rows), (vec!["id".to_owned()], Some(3)));
        // `wages` may be what `pay` was when the rule was read.
        assert_eq!(shown(&hiding, &["id", "wages"]), (Vec::new(), None));
        let masking = Rule {
            masked: [("pay".to_owned(), mindhost_base::policy::Mask::Null)].into(),
            ..Rule::default()
        };
        assert_eq!(shown(&masking, &["id", "wages"]), (Vec::new(), None));
    }

    #[test]
    fn defaults_may_name_what_is_withheld() {
        let defaults = |rule: &Rule| {
            let mut restrictions = Restrictions::default();
            restrictions.add(&TableRef::new("main", "staff"), rule, false);
            let mut tables = [table(&["id", "pay"])];
            restrictions.apply(&mut tables).unwrap();
            let columns = tables[0].columns.iter();
            columns
                .filter(|column| column.default_value.is_some())
                .count()
        };
        let hiding = Rule {
            hidden: vec!["pay".to_owned()],
            ..Rule::default()
        };
        let masking = Rule {
            masked: [("pay".to_owned(), mindhost_base::policy::Mask::Null)].into(),
            ..Rule::default()
        };
        assert_eq!((defaults(&hiding), defaults(&masking)), (0, 0));
        assert_eq!(defaults(&Rule::default()), 2);
    }

    #[test]
    fn table_that_was_listed_after_the_rules_were_read_shows_no_column() {
        let columns = |table: &str, listed: &[&str]| {
            let mut restrictions = Restrictions::default();
            let listed = listed.iter().map(|schema| TableRef::new(*schema, "staff"));
            restrictions.close_unlisted("STAFF", listed);
            assert!(!restrictions.is_empty());
            let mut tables = [self::table(&["id", "pay"])];
            tables[0].table.name = table.to_owned();
            restrictions.apply(&mut tables).unwrap();
            tables[0].columns.len()
        };
        assert_eq!(columns("staff", &["main", "archive"]), 2);
        assert_eq!(columns("staff", &["archive"]), 0);
        assert_eq!(columns("Staff", &["main"]), 0);
        assert_eq!(columns("teams", &["archive"]), 2);
    }
}
