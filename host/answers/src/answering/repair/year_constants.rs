//! Dates that are compared with years: an engine that takes such a comparison means something else by it.

use super::{
    ranges,
    types::{self, Kind},
    warnings::Warning,
};
use mindhost_catalog::{ColumnDetail, TableDetail};
use mindhost_plugin_api::Dialect;
use mindhost_sql::outline::{Comparison, Literal};

/// How to compare with the years instead, if the column has dates.
pub fn warning(
    comparison: &Comparison,
    column: (&TableDetail, &ColumnDetail),
    dialect: Dialect,
) -> Option<Warning> {
    let condition = types::years(comparison)?;
    let (table, column) = column;
    let is_order = condition.starts_with(['<', '>']) && !condition.starts_with("<>");
    let is_text = matches!(comparison.literal, Literal::Text(_));
    let means_else = match types::kind(&column.data_type) {
        // SQL Server takes a text that is a year for its first day.
        Kind::Time => !(is_text && is_order && dialect == Dialect::Mssql),
        // As texts, all days of a year are behind the year itself.
        Kind::Text | Kind::Other => !is_order && ranges::are_dates(column),
        Kind::Integer | Kind::Number => false,
    };
    let year = types::year_of(&types::written(&comparison.column), dialect);
    means_else.then(|| {
        Warning::plain(format!(
            "{} compares dates of {}.{} with a year; write {year} {condition}",
            comparison.text, table.name, column.name
        ))
    })
}
