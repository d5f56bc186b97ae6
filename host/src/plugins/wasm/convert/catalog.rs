//! What a guest says of tables.

use super::{MAX_TEXT, each, name, shortened};
use crate::{
    config::PluginSettings,
    error::{Code, Error, Result},
    plugins::{
        ColumnInfo, ColumnStatistics, ForeignKeyColumn, KeyColumn, TableInfo, TableRef,
        wasm::{
            bindings::{catalog_types as catalog, types},
            instance::violation,
            state::cut,
        },
    },
};

/// A host's table name as the guest takes it.
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

/// The list of tables.
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
        ));
    }
    tables.into_iter().map(table_ref).collect()
}

/// Descriptions of tables, none of which was not asked for.
pub fn tables(
    tables: Vec<catalog::Table>,
    asked: &[TableRef],
    settings: &PluginSettings,
) -> Result<Vec<TableInfo>> {
    if tables.len() > asked.len() {
        return Err(violation("more tables than were asked for"));
    }
    tables
        .into_iter()
        .map(|table| {
            let info = table_info(table, settings)?;
            match asked.contains(&info.table) {
                true => Ok(info),
                false => Err(violation("a table that was not asked for")),
            }
        })
        .collect()
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

/// Statistics of columns that were asked for.
pub fn statistics(
    statistics: Vec<catalog::ColumnStatistics>,
    asked: &[String],
) -> Result<Vec<ColumnStatistics>> {
    const MAX_COMMON: usize = 1_000;
    let share = |share: f64| (0.0..=1.0).contains(&share);
    if statistics.len() > asked.len() {
        return Err(violation("statistics of more columns than were asked for"));
    }
    each(statistics, |column| {
        let sane = column.null_fraction.is_none_or(share)
            && column.common_values.iter().all(|(_, part)| share(*part))
            && column.common_values.len() <= MAX_COMMON
            && asked.contains(&column.column);
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
                .map(|(value, part)| (cut(&value, MAX_TEXT).to_owned(), part))
                .collect(),
            min_value: shortened(column.min_value),
            max_value: shortened(column.max_value),
            estimated: column.estimated,
            sampled_rows: column.sampled_rows,
        })
    })
}
