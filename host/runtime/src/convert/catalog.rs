//! Converts tables and statistics of a guest.
//!
//! Requested names are in a set, so that the check takes linear time in the size of the reply.

use std::collections::HashSet;

use super::{MAX_TEXT, each, name, shortened};
use crate::{
    bindings::{catalog_types as catalog, types},
    host_errors::violation,
    text::truncated,
};
use mindhost_base::{
    config::PluginSettings,
    error::{Blame, Code, Error, Result},
};
use mindhost_plugin_api::{
    ColumnInfo, ColumnStatistics, ForeignKeyColumn, KeyColumn, TableInfo, TableRef,
};

/// Converts a table name for the guest.
pub fn to_table_ref(table: &TableRef) -> types::TableRef {
    types::TableRef {
        schema: table.schema.clone(),
        name: table.name.clone(),
    }
}

fn table_ref(table: types::TableRef) -> Result<TableRef> {
    Ok(TableRef {
        schema: name(table.schema)?,
        name: name(table.name)?,
    })
}

/// Converts the list of tables.
pub fn table_refs(
    tables: Vec<types::TableRef>,
    settings: &PluginSettings,
) -> Result<Vec<TableRef>> {
    if tables.len() > settings.max_tables as usize {
        return Err(Error::new(
            Code::ResultTooLarge,
            format!(
                "the datasource lists {} tables; plugins.max_tables allows {}; restrict it to a schema",
                tables.len(),
                settings.max_tables
            ),
        )
        .blamed(Blame::Upstream));
    }
    tables.into_iter().map(table_ref).collect()
}

/// Converts descriptions of tables. Refuses tables that were not requested.
pub fn tables(
    tables: Vec<catalog::Table>,
    asked: &[TableRef],
    settings: &PluginSettings,
) -> Result<Vec<TableInfo>> {
    if tables.len() > asked.len() {
        return Err(violation("more tables than were asked for"));
    }
    let mut open: HashSet<&TableRef> = asked.iter().collect();
    each(tables, |table| {
        let info = table_info(table, settings)?;
        match open.remove(&info.table) {
            true => Ok(info),
            false => Err(violation("a table that was not asked for, or one twice")),
        }
    })
}

fn table_info(table: catalog::Table, settings: &PluginSettings) -> Result<TableInfo> {
    let max = settings.max_columns as usize;
    if table.columns.len() > max || table.primary_key.len() > max || table.foreign_keys.len() > max
    {
        return Err(violation("a table with too many columns or keys"));
    }
    Ok(TableInfo {
        table: table_ref(table.table)?,
        kind: name(table.kind)?,
        comment: shortened(table.comment),
        row_count: table.row_count,
        columns: each(table.columns, |column| {
            Ok(ColumnInfo {
                name: name(column.name)?,
                ordinal: column.ordinal,
                native_type: name(column.native_type)?,
                nullable: column.nullable,
                default_value: shortened(column.default_value),
                comment: shortened(column.comment),
            })
        })?,
        primary_key: each(table.primary_key, |key| {
            Ok(KeyColumn {
                constraint_name: name(key.constraint_name)?,
                ordinal: key.ordinal,
                column: name(key.column)?,
            })
        })?,
        foreign_keys: each(table.foreign_keys, |key| {
            Ok(ForeignKeyColumn {
                constraint_name: name(key.constraint_name)?,
                ordinal: key.ordinal,
                column: name(key.column)?,
                referenced: table_ref(key.referenced)?,
                referenced_column: name(key.referenced_column)?,
            })
        })?,
    })
}

/// Converts statistics of requested columns.
pub fn statistics(
    statistics: Vec<catalog::ColumnStatistics>,
    asked: &[String],
) -> Result<Vec<ColumnStatistics>> {
    const MAX_COMMON: usize = 1_000;
    let share = |share: f64| (0.0..=1.0).contains(&share);
    if statistics.len() > asked.len() {
        return Err(violation("statistics of more columns than were asked for"));
    }
    let mut open: HashSet<&str> = asked.iter().map(String::as_str).collect();
    each(statistics, |column| {
        let sane = column.null_fraction.is_none_or(share)
            && column.common_values.iter().all(|(_, part)| share(*part))
            && column.common_values.len() <= MAX_COMMON
            && open.remove(column.column.as_str());
        if !sane {
            return Err(violation("statistics that cannot be"));
        }
        Ok(ColumnStatistics {
            column: column.column,
            null_fraction: column.null_fraction,
            distinct_count: column.distinct_count,
            common_values: column
                .common_values
                .into_iter()
                .map(|(value, part)| (truncated(&value, MAX_TEXT).to_owned(), part))
                .collect(),
            min_value: shortened(column.min_value),
            max_value: shortened(column.max_value),
            estimated: column.estimated,
            sampled_rows: column.sampled_rows,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(column: &str) -> catalog::ColumnStatistics {
        catalog::ColumnStatistics {
            column: column.to_owned(),
            null_fraction: None,
            distinct_count: None,
            common_values: Vec::new(),
            min_value: None,
            max_value: None,
            estimated: false,
            sampled_rows: None,
            extra: Vec::new(),
        }
    }

    #[test]
    fn each_column_that_was_asked_for_has_statistics_once_or_not_at_all() {
        let asked = ["a".to_owned(), "b".to_owned()];
        assert_eq!(statistics(vec![of("b"), of("a")], &asked).unwrap().len(), 2);
        assert_eq!(statistics(vec![of("b")], &asked).unwrap().len(), 1);
        assert!(statistics(vec![of("a"), of("a")], &asked).is_err());
        assert!(statistics(vec![of("c")], &asked).is_err());
    }
}
