//! The charts of statements.

use serde_json::Value;

use super::{AcceptedStatement, Page, Results};
use mindhost_base::error::{Error, Kind, Result};
pub use mindhost_chart::Chart;
use mindhost_chart::{MAX_ROWS, Table};
use mindhost_plugin_api::Call;
use mindhost_sql::{
    json::{self, Rows},
    outline,
};

/// The chart of a statement, of which this is the first page. If the page is not the whole result, the rows are read
/// again. A failure to do so is the reason for no chart, not an error.
///
/// # Errors
/// When the call was cancelled, or the host failed.
pub async fn of_page(
    results: &Results,
    accepted: &AcceptedStatement,
    page: &Page,
    call: &Call,
) -> Result<Chart> {
    if page.total > MAX_ROWS {
        return Ok(too_many(page.total));
    }
    if page.rows() == page.total {
        return whole(accepted, page);
    }
    of_statement(results, accepted, call).await
}

/// The chart of a statement, which runs for it.
///
/// # Errors
/// As [`of_page`].
pub async fn of_statement(
    results: &Results,
    accepted: &AcceptedStatement,
    call: &Call,
) -> Result<Chart> {
    match results.page(accepted, MAX_ROWS, 0, call).await {
        Ok(page) if page.total > MAX_ROWS => Ok(too_many(page.total)),
        Ok(page) => whole(accepted, &page),
        Err(error) => unreadable(error),
    }
}

/// No chart, because the rows cannot be read.
///
/// # Errors
/// The error, if it concerns more than the chart.
pub fn unreadable(error: Error) -> Result<Chart> {
    match error.kind() {
        Kind::Cancelled | Kind::Internal => Err(error),
        _ => Ok(Chart::none(format!(
            "The rows cannot be read: {}",
            error.message()
        ))),
    }
}

fn too_many(total: u64) -> Chart {
    Chart::none(format!(
        "A chart holds at most {MAX_ROWS} rows, and the result has {total}. Group the rows, or ask for fewer."
    ))
}

fn whole(accepted: &AcceptedStatement, page: &Page) -> Result<Chart> {
    let rows = Rows::new(page.columns.clone(), page.batches.clone());
    let text = serde_json::to_string(&rows).map_err(Error::internal)?;
    let rows: Vec<Vec<Value>> =
        serde_json::from_value(json::values(&text).map_err(Error::internal)?)
            .map_err(Error::internal)?;
    let names: Vec<&str> = page.columns.iter().map(|one| one.name.as_str()).collect();
    let guarded = &accepted.guarded;
    let unsummable = outline::unsummable(guarded.shown(), guarded.dialect(), &names);
    Ok(mindhost_chart::of_table(Table {
        columns: &page.columns,
        rows: &rows,
        is_ordered: page.ordered,
        unsummable: &unsummable,
    }))
}
