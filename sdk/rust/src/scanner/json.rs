//! Rows out of JSON objects, page by page: what most REST APIs give.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value as Json};

use super::{ScanRequest, text::value_of_text};
use crate::batch::{BatchBuilder, BatchLimits};
use crate::error::{Error, ErrorKind, Result};
use crate::values::{Batch, Column, DataType, Value};

/// Some rows, each a JSON object with the columns as its fields.
pub type Page = Vec<JsonRow>;

/// The fields of a JSON object, each as it was written: a number keeps all its digits.
///
/// It is read with `serde_json`, inside of your own types too, but not inside of `#[serde(flatten)]`,
/// `#[serde(untagged)]` and `#[serde(tag)]`, which keep no text. [`JsonRow::of`] makes a row of anything else.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct JsonRow(BTreeMap<String, Box<RawValue>>);

impl JsonRow {
    /// A row of what `json!({…})` makes, or of a type of yours with the columns as its fields.
    ///
    /// ```
    /// use mindhost_sdk::scanner::JsonRow;
    /// use serde_json::json;
    ///
    /// # fn main() -> mindhost_sdk::Result<()> {
    /// let row = JsonRow::of(json!({"id": 7, "name": "Ada"}))?;
    /// assert_eq!(row.get("name"), Some("\"Ada\""));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Internal` if it is no object in JSON.
    pub fn of(fields: impl Serialize) -> Result<Self> {
        let json = serde_json::to_string(&fields);
        json.and_then(|json| serde_json::from_str(&json))
            .map_err(|error| Error::internal(format!("a row must be a JSON object: {error}")))
    }

    /// The JSON of a field.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|field| field.get())
    }
}

impl From<Map<String, Json>> for JsonRow {
    fn from(fields: Map<String, Json>) -> Self {
        let written = |(name, value)| Some((name, to_raw_value(&value).ok()?));
        Self(fields.into_iter().filter_map(written).collect())
    }
}

/// A scan over an API that answers with pages of JSON objects. It holds one page in memory.
///
/// A field that is absent is NULL. Numbers, truth values and texts become what their column is; a date or time is a
/// text in ISO 8601 form; a number in a column of decimals keeps the digits that it was written with; what is no text in
/// a column of texts, and everything in a column of JSON, is its JSON.
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
    rows: std::vec::IntoIter<JsonRow>,
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
                    let (bytes, limit) = (value.size() as u64, self.max_cell_bytes as u64);
                    return Err(Error::cell_too_large(&column.name, bytes, limit));
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

/// What the JSON of a field is in its column.
fn value_of_json(field: Option<&str>, column: &Column) -> Result<Value> {
    let Some(field) = field.filter(|field| *field != "null") else {
        return Ok(Value::Null);
    };
    let text = || serde_json::from_str::<String>(field).ok();
    let is_number = field.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let found = match (column.data_type, field.starts_with('"')) {
        (DataType::Text | DataType::Any, true) => text().map(Value::Text),
        (DataType::Text | DataType::Any, false) => Some(Value::Text(compact(field))),
        (DataType::Json, _) => Some(Value::Json(compact(field))),
        (data_type, true) => text().and_then(|text| value_of_text(&text, data_type)),
        (DataType::Boolean, false) => value_of_text(field, DataType::Boolean),
        (DataType::Float64, false) if is_number => {
            let number = field.parse().ok().filter(|number: &f64| number.is_finite());
            number.map(Value::Float64)
        }
        (data_type @ (DataType::Int64 | DataType::Uint64 | DataType::Decimal), false) => {
            is_number.then(|| value_of_text(field, data_type)).flatten()
        }
        _ => None,
    };
    found.ok_or_else(|| {
        let (name, wanted) = (&column.name, column.data_type.name());
        let message = format!("a value of `{name}` cannot be read as {wanted}");
        Error::new(ErrorKind::Upstream, message)
    })
}

/// JSON without the blanks between its tokens.
fn compact(json: &str) -> String {
    let (mut is_text, mut is_escaped) = (false, false);
    let keep = |character: &char| {
        let is_kept = is_text || !character.is_ascii_whitespace();
        match *character {
            '"' if !is_escaped => is_text = !is_text,
            '\\' if !is_escaped => {
                is_escaped = true;
                return is_kept;
            }
            _ => {}
        }
        is_escaped = false;
        is_kept
    };
    json.chars().filter(keep).collect()
}
