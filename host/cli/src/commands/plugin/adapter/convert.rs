//! The host's values as those of the contract, which the kit speaks. Each is the one from which `plugins/wasm` made it.

use mindhost_plugin_api as plugins;
use mindhost_plugin_api::{Batch, DataType, Value};
use mindhost_plugins::record;
use mindhost_sdk as sdk;

pub(super) fn table_ref(table: plugins::TableRef) -> sdk::TableRef {
    sdk::TableRef::new(table.schema, table.name)
}

pub(super) fn to_table_ref(table: &sdk::TableRef) -> plugins::TableRef {
    plugins::TableRef {
        schema: table.schema.clone(),
        name: table.name.clone(),
    }
}

pub(super) fn table(info: plugins::TableInfo) -> sdk::Table {
    let mut table = sdk::Table::new(table_ref(info.table), info.kind);
    table.comment = info.comment;
    table.row_count = info.row_count;
    table.columns = info.columns.into_iter().map(table_column).collect();
    let primary = info.primary_key.into_iter().map(|key| sdk::KeyColumn {
        constraint_name: key.constraint_name,
        ordinal: key.ordinal,
        column: key.column,
    });
    table.primary_key = primary.collect();
    let foreign = info
        .foreign_keys
        .into_iter()
        .map(|key| sdk::ForeignKeyColumn {
            constraint_name: key.constraint_name,
            ordinal: key.ordinal,
            column: key.column,
            referenced: table_ref(key.referenced),
            referenced_column: key.referenced_column,
        });
    table.foreign_keys = foreign.collect();
    table
}

fn table_column(info: plugins::ColumnInfo) -> sdk::TableColumn {
    let mut column = sdk::TableColumn::new(info.name, info.ordinal, info.native_type);
    column.nullable = info.nullable;
    column.default_value = info.default_value;
    column.comment = info.comment;
    column
}

pub(super) fn statistics(found: plugins::ColumnStatistics) -> sdk::ColumnStatistics {
    let mut statistics = sdk::ColumnStatistics::new(found.column);
    statistics.null_fraction = found.null_fraction;
    statistics.distinct_count = found.distinct_count;
    statistics.common_values = found.common_values;
    statistics.min_value = found.min_value;
    statistics.max_value = found.max_value;
    statistics.estimated = found.estimated;
    statistics.sampled_rows = found.sampled_rows;
    statistics
}

pub(super) fn column(column: &plugins::Column) -> sdk::Column {
    sdk::Column::new(column.name.clone(), data_type(column.data_type))
        .native_type(column.native_type.clone())
        .nullable(column.nullable)
}

fn data_type(data_type: DataType) -> sdk::DataType {
    match data_type {
        DataType::Boolean => sdk::DataType::Boolean,
        DataType::Int64 => sdk::DataType::Int64,
        DataType::Uint64 => sdk::DataType::Uint64,
        DataType::Float64 => sdk::DataType::Float64,
        DataType::Decimal => sdk::DataType::Decimal,
        DataType::Text => sdk::DataType::Text,
        DataType::Bytes => sdk::DataType::Bytes,
        DataType::Date => sdk::DataType::Date,
        DataType::Time => sdk::DataType::Time,
        DataType::Timestamp => sdk::DataType::Timestamp,
        DataType::TimestampUtc => sdk::DataType::TimestampUtc,
        DataType::Json => sdk::DataType::Json,
        DataType::Any => sdk::DataType::Any,
    }
}

/// The rows of a batch, in either form.
pub(super) fn rows(batch: &Batch, columns: &[plugins::Column]) -> Vec<Vec<sdk::Value>> {
    record::values(batch, columns)
        .into_iter()
        .map(|row| row.into_iter().map(value).collect())
        .collect()
}

fn value(value: Value) -> sdk::Value {
    match value {
        Value::Null => sdk::Value::Null,
        Value::Boolean(value) => sdk::Value::Boolean(value),
        Value::Int64(value) => sdk::Value::Int64(value),
        Value::Uint64(value) => sdk::Value::Uint64(value),
        Value::Float64(value) => sdk::Value::Float64(value),
        Value::Decimal(value) => sdk::Value::Decimal(value),
        Value::Text(value) => sdk::Value::Text(value),
        Value::Bytes(value) => sdk::Value::Bytes(value),
        Value::Date(value) => sdk::Value::Date(value),
        Value::Time(value) => sdk::Value::Time(value),
        Value::Timestamp(value) => sdk::Value::Timestamp(value),
        Value::TimestampUtc(value) => sdk::Value::TimestampUtc(value),
        Value::Json(value) => sdk::Value::Json(value),
        Value::Other(value) => sdk::Value::Other(value),
    }
}

pub(super) fn to_column(column: &sdk::Column) -> plugins::Column {
    plugins::Column {
        name: column.name.clone(),
        data_type: to_data_type(column.data_type),
        native_type: column.native_type.clone(),
        nullable: column.nullable,
    }
}

fn to_data_type(data_type: sdk::DataType) -> DataType {
    match data_type {
        sdk::DataType::Boolean => DataType::Boolean,
        sdk::DataType::Int64 => DataType::Int64,
        sdk::DataType::Uint64 => DataType::Uint64,
        sdk::DataType::Float64 => DataType::Float64,
        sdk::DataType::Decimal => DataType::Decimal,
        sdk::DataType::Text => DataType::Text,
        sdk::DataType::Bytes => DataType::Bytes,
        sdk::DataType::Date => DataType::Date,
        sdk::DataType::Time => DataType::Time,
        sdk::DataType::Timestamp => DataType::Timestamp,
        sdk::DataType::TimestampUtc => DataType::TimestampUtc,
        sdk::DataType::Json => DataType::Json,
        sdk::DataType::Any => DataType::Any,
    }
}

pub(super) fn to_value(value: sdk::Value) -> Value {
    match value {
        sdk::Value::Null => Value::Null,
        sdk::Value::Boolean(value) => Value::Boolean(value),
        sdk::Value::Int64(value) => Value::Int64(value),
        sdk::Value::Uint64(value) => Value::Uint64(value),
        sdk::Value::Float64(value) => Value::Float64(value),
        sdk::Value::Decimal(value) => Value::Decimal(value),
        sdk::Value::Text(value) => Value::Text(value),
        sdk::Value::Bytes(value) => Value::Bytes(value),
        sdk::Value::Date(value) => Value::Date(value),
        sdk::Value::Time(value) => Value::Time(value),
        sdk::Value::Timestamp(value) => Value::Timestamp(value),
        sdk::Value::TimestampUtc(value) => Value::TimestampUtc(value),
        sdk::Value::Json(value) => Value::Json(value),
        sdk::Value::Other(value) => Value::Other(value),
    }
}
