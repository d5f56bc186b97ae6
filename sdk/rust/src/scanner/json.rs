//! Rows out of JSON objects, page by page: what most REST APIs give.

use serde_json::{Map, Value as Json};

use super::{ScanRequest, text::value_of_text};
use crate::batch::{BatchBuilder, BatchLimits};
use crate::error::{Error, ErrorKind, Result};
use crate::values::{Batch, Column, DataType, Value};

/// Some rows, each a JSON object with the columns as its fields.
pub type Page = Vec<Map<String, Json>>;

/// A scan over an API that answers with pages of JSON objects. It holds one page in memory.
///
/// A field that is absent is NULL. Numbers, truth values and texts become what their column is; a date or time is a
/// text in ISO 8601 form; a number in a column of decimals has the digits that a float has (an API that cares sends
/// text); what is no text in a column of texts, and everything in a column of JSON, is its JSON.
///
/// ```
/// use mindhost_sdk::{BatchLimits, Column, DataType, TableRef};
/// use mindhost_sdk::scanner::{JsonRows, ScanRequest};
///
/// # fn main() -> mindhost_sdk::Result<()> {
/// let columns = [Column::new("id", DataType::Int64), Column::new("name", DataType::Text)];
/// let request = ScanRequest::new(TableRef::new("main", "people"), &["name"]);
/// let mut pages = vec![r#"[{"id": 1, "name": "Ada"}, {"id": 2}]"#].into_iter();
/// let mut rows = JsonRows::new(&request, &columns, move || {
///     Ok(pages.next().map(|page| serde_json::from_str(page).expect("JSON")))
/// })?;
/// let limits = BatchLimits { max_rows: 8192, max_bytes: 1 << 20 };
/// assert!(rows.next(limits)?.is_some());
/// assert!(rows.next(limits)?.is_none());
/// # Ok(())
/// # }
/// ```
pub struct JsonRows {
    batch: BatchBuilder,
    rows: std::vec::IntoIter<Map<String, Json>>,
    fetch: Option<Box<dyn FnMut() -> Result<Option<Page>>>>,
    max_cell_bytes: usize,
    /// Rows that may still be given.
    left: u64,
}

impl JsonRows {
    /// What `request` wants of a table with these `columns`, out of the pages that `fetch` gives until it gives none.
    ///
    /// `fetch` applies the filters of the request; this keeps to its projection and its limit.
    ///
    /// # Errors
    /// `NotFound` for a column of the projection that is not among `columns`.
    pub fn new(
        request: &ScanRequest,
        columns: &[Column],
        fetch: impl FnMut() -> Result<Option<Page>> + 'static,
    ) -> Result<Self> {
        Ok(Self {
            batch: BatchBuilder::new(request.projected(columns)?),
            rows: Page::new().into_iter(),
            fetch: Some(Box::new(fetch)),
            max_cell_bytes: usize::try_from(request.max_cell_bytes).unwrap_or(usize::MAX),
            left: request.limit.unwrap_or(u64::MAX),
        })
    }

    /// The columns of the scan.
    pub fn columns(&self) -> &[Column] {
        self.batch.columns()
    }

    /// The next rows; asks for at most one page. An empty page is not the end, but nothing yet.
    ///
    /// # Errors
    /// Those of `fetch`, `Upstream` for a field that is not what its column is, `TooLarge`.
    pub fn next(&mut self, limits: BatchLimits) -> Result<Option<Batch>> {
        if self.rows.len() == 0 && self.left > 0 {
            let page = self.fetch.as_mut().map_or(Ok(None), |fetch| fetch())?;
            match page {
                Some(page) => self.rows = page.into_iter(),
                None => self.fetch = None,
            }
        }
        self.batch.start(limits);
        while !self.batch.is_full() && self.left > 0 {
            let Some(row) = self.rows.next() else { break };
            for index in 0..self.batch.columns().len() {
                let column = &self.batch.columns()[index];
                let value = value_of_json(row.get(&column.name), column)?;
                if value.size() > self.max_cell_bytes {
                    let message = format!("a value of `{}` is too large", column.name);
                    return Err(Error::new(ErrorKind::TooLarge, message));
                }
                self.batch.append(value);
            }
            self.batch.end_row();
            self.left -= 1;
        }
        let batch = self.batch.finish()?;
        let goes_on = self.left > 0 && (self.fetch.is_some() || self.rows.len() > 0);
        Ok(match batch {
            None if goes_on => Some(Batch::Rows(Vec::new())),
            batch => batch,
        })
    }
}

/// What a field is in its column.
fn value_of_json(field: Option<&Json>, column: &Column) -> Result<Value> {
    let Some(field) = field.filter(|field| !field.is_null()) else {
        return Ok(Value::Null);
    };
    let found = match (column.data_type, field) {
        (DataType::Boolean, Json::Bool(value)) => Some(Value::Boolean(*value)),
        (DataType::Int64, Json::Number(number)) => number.as_i64().map(Value::Int64),
        (DataType::Uint64, Json::Number(number)) => number.as_u64().map(Value::Uint64),
        (DataType::Float64, Json::Number(number)) => number.as_f64().map(Value::Float64),
        (DataType::Decimal, Json::Number(number)) => Some(Value::Decimal(number.to_string())),
        (DataType::Text, Json::String(text)) => Some(Value::Text(text.clone())),
        (DataType::Text | DataType::Any, other) => Some(Value::Text(match other {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        })),
        (DataType::Json, other) => Some(Value::Json(other.to_string())),
        (data_type, Json::String(text)) => value_of_text(text, data_type),
        _ => None,
    };
    found.ok_or_else(|| {
        let (name, wanted) = (&column.name, column.data_type.name());
        let message = format!("a value of `{name}` cannot be read as {wanted}");
        Error::new(ErrorKind::Upstream, message)
    })
}
