//! One page of a result, with the exact total of its rows.

use std::sync::Arc;

use uuid::Uuid;

use super::complete_pages::PageHint;
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::{Batch, Call, Column, Connection, Statement};
use mindhost_query::federation::{ExecutionReport, SourceStatement};
use mindhost_sql::guard::{GuardedStatement, PageStatement};

/// Rows that are asked of a connector at once.
const ROWS_AT_ONCE: u64 = 8192;

/// Which rows to return.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Rows at most.
    pub limit: u64,
    /// Rows to skip.
    pub offset: u64,
    /// Bytes at most, as the batches hold them.
    pub max_bytes: usize,
}

/// Some rows of a result, from an offset on.
#[derive(Debug)]
pub struct Page {
    /// Name and type of each column, in the order of the cells of a row. The names are those for the caller's text.
    pub columns: Arc<[Column]>,
    /// The rows, in order.
    pub batches: Vec<Batch>,
    /// Rows of the whole result.
    pub total: u64,
    /// Whether the statement has an ORDER BY of its own.
    pub ordered: bool,
    /// The statement that the engine ran, without the paging of the host and without policies.
    pub executed: String,
    /// Digest of the plugin version that served it; of several datasources, one each, separated by commas.
    pub digest: String,
    /// What went to which datasource, and what came back.
    pub report: ExecutionReport,
    /// Whether each datasource was read in a state of its own.
    pub is_per_source: bool,
}

impl Page {
    /// At most the limit of the window; fewer on the last page, or at its limit of bytes.
    pub fn rows(&self) -> u64 {
        self.batches.iter().map(|batch| batch.rows() as u64).sum()
    }
}

/// Reads a page. Count and rows come from one snapshot if the engine supports that. `hint` returns the hint for a
/// statement.
pub async fn read<'a>(
    connection: &mut dyn Connection,
    guarded: &GuardedStatement,
    window: Window,
    hint: impl FnOnce(&str) -> PageHint<'a>,
    call: &Call,
) -> Result<Page> {
    let (columns, batches, total) =
        match (guarded.page(window.limit, window.offset), guarded.count()) {
            (PageStatement::Engine(text), Some(count)) => {
                let hint = hint(&text);
                match complete_page(connection, &text, window, &hint, call).await? {
                    Some(read) => read,
                    None => {
                        let read = page_with_count(connection, &text, &count, window, call).await?;
                        hint.set_complete(complete_total(&read.1, window).is_some());
                        read
                    }
                }
            }
            _ => page_cut_by_host(connection, guarded.text(), window, call).await?,
        };
    Ok(Page {
        columns: guarded.named(&columns),
        batches,
        total,
        ordered: guarded.is_ordered(),
        executed: guarded.shown().to_owned(),
        digest: connection.digest().to_owned(),
        report: ExecutionReport::default(),
        is_per_source: false,
    })
}

/// The report of a statement that one datasource ran.
///
/// Its plan is shown where the host runs the SQL, unless a policy stands in it.
pub fn report_of_one(
    page: &Page,
    datasource: &str,
    guarded: &GuardedStatement,
    plan: Option<String>,
) -> ExecutionReport {
    let rows = match (guarded.page(0, 0), guarded.count()) {
        (PageStatement::Engine(_), Some(_)) => page.rows(),
        // The host cut the page.
        _ => page.total,
    };
    ExecutionReport {
        plan: plan.filter(|_| !guarded.is_policed()).unwrap_or_default(),
        sources: vec![SourceStatement {
            datasource: datasource.to_owned(),
            executed_query: page.executed.clone(),
            sent: true,
            rows,
            bytes: page.batches.iter().map(|batch| batch.bytes() as u64).sum(),
        }],
        spilled_bytes: 0,
    }
}

type PageRead = (Arc<[Column]>, Vec<Batch>, u64);

/// A page that held the complete result is likely to do so again. Then no count is needed, and a single statement needs
/// no snapshot. `None` when the page is no longer complete.
async fn complete_page(
    connection: &mut dyn Connection,
    text: &str,
    window: Window,
    hint: &PageHint<'_>,
    call: &Call,
) -> Result<Option<PageRead>> {
    if !hint.is_complete() {
        return Ok(None);
    }
    let (columns, batches) = read_all(connection, text, window.max_bytes, call).await?;
    Ok(complete_total(&batches, window).map(|total| (columns, batches, total)))
}

/// The rows of the result, if the page holds the last of them.
fn complete_total(batches: &[Batch], window: Window) -> Option<u64> {
    let rows: u64 = batches.iter().map(|batch| batch.rows() as u64).sum();
    let is_last = rows < window.limit && (rows > 0 || window.offset == 0);
    is_last.then_some(window.offset + rows)
}

/// The engine cuts the page. The count is a second statement, which runs only if the page does not hold the last row.
async fn page_with_count(
    connection: &mut dyn Connection,
    text: &str,
    count: &str,
    window: Window,
    call: &Call,
) -> Result<PageRead> {
    let snapshot = connection.begin_snapshot(call.remaining(), call).await?;
    let read = page_and_count(connection, text, count, window, call).await;
    if snapshot {
        let ended = connection.end_snapshot(call).await;
        // The first error is the cause. A connection whose snapshot does not end is not used again.
        return read.and_then(|read| ended.map(|()| read));
    }
    read
}

async fn page_and_count(
    connection: &mut dyn Connection,
    text: &str,
    count: &str,
    window: Window,
    call: &Call,
) -> Result<PageRead> {
    let (columns, batches) = read_all(connection, text, window.max_bytes, call).await?;
    let total = match complete_total(&batches, window) {
        Some(total) => total,
        None => read_count(connection, count, call).await?,
    };
    Ok((columns, batches, total))
}

/// The host cuts the page: it reads the whole result, keeps the page and counts the rest.
async fn page_cut_by_host(
    connection: &mut dyn Connection,
    text: &str,
    window: Window,
    call: &Call,
) -> Result<PageRead> {
    let columns = connection.query(&statement(text, call), call).await?;
    let mut kept = BoundedBatches::new(window.max_bytes);
    let mut total: u64 = 0;
    while let Some(batch) = connection.next(ROWS_AT_ONCE as u32, call).await? {
        let rows = batch.rows() as u64;
        let from = window.offset.saturating_sub(total).min(rows);
        let until = window
            .offset
            .saturating_add(window.limit)
            .saturating_sub(total)
            .min(rows);
        if from < until {
            kept.push(slice(batch, from as usize, until as usize))?;
        }
        total += rows;
    }
    connection.close(call).await?;
    Ok((columns, kept.batches, total))
}

async fn read_all(
    connection: &mut dyn Connection,
    text: &str,
    max_bytes: usize,
    call: &Call,
) -> Result<(Arc<[Column]>, Vec<Batch>)> {
    let columns = connection.query(&statement(text, call), call).await?;
    let read = drain(connection, max_bytes, call).await;
    // Also after an error, so that the connection and its snapshot can be used again.
    connection.close(call).await?;
    Ok((columns, read?))
}

async fn drain(
    connection: &mut dyn Connection,
    max_bytes: usize,
    call: &Call,
) -> Result<Vec<Batch>> {
    let mut kept = BoundedBatches::new(max_bytes);
    while let Some(batch) = connection.next(ROWS_AT_ONCE as u32, call).await? {
        kept.push(batch)?;
    }
    Ok(kept.batches)
}

async fn read_count(connection: &mut dyn Connection, text: &str, call: &Call) -> Result<u64> {
    let (_, batches) = read_all(connection, text, 4096, call).await?;
    batches
        .iter()
        .find_map(|batch| batch.integer(0, 0))
        .and_then(|count| u64::try_from(count).ok())
        .ok_or_else(|| Error::new(Code::PluginError, "the connector gave no count for the result; try again, or report it to the author of the plugin"))
}

/// A statement with an id of its own, which may take what is left of the call.
pub(super) fn statement(text: &str, call: &Call) -> Statement {
    Statement {
        text: text.to_owned(),
        id: Uuid::now_v7().to_string(),
        timeout: call.remaining(),
    }
}

fn slice(batch: Batch, from: usize, until: usize) -> Batch {
    match batch {
        Batch::Rows(rows) => Batch::Rows(rows.into_iter().take(until).skip(from).collect()),
        Batch::Arrow(batch) => Batch::Arrow(batch.slice(from, until - from)),
    }
}

/// Batches up to a number of bytes.
struct BoundedBatches {
    batches: Vec<Batch>,
    bytes: usize,
    max_bytes: usize,
}

impl BoundedBatches {
    fn new(max_bytes: usize) -> Self {
        Self {
            batches: Vec::new(),
            bytes: 0,
            max_bytes,
        }
    }

    fn push(&mut self, batch: Batch) -> Result<()> {
        if batch.rows() == 0 {
            return Ok(());
        }
        self.bytes += batch.bytes();
        if self.bytes > self.max_bytes {
            return Err(Error::new(
                Code::ResultTooLarge,
                format!(
                    "this page takes {} bytes or more, and the server's limit is {} (sql.page_bytes); ask for fewer rows or \
                     columns, or export the result as CSV",
                    self.bytes, self.max_bytes
                ),
            ));
        }
        self.batches.push(batch);
        Ok(())
    }
}
