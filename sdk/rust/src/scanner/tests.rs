//! The order of calls and drops, and what a scanner gets without writing it.

use std::cell::RefCell;

use super::session::Source;
use super::*;
use crate::error::ErrorKind;
use crate::values::{DataType, Value};

thread_local! {
    static CLOSED: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

/// Gives its scans numbers and writes down which were closed.
struct Numbered(u32);

impl Scanner for Numbered {
    const MANIFEST: &'static str = "{}";
    type Scan = u32;

    fn open(_: &Config) -> Result<Self> {
        Ok(Self(0))
    }

    fn check(&mut self) -> Result<ServerInfo> {
        Ok(ServerInfo::new("Numbered", "1"))
    }

    fn tables(&mut self) -> Result<Vec<TableRef>> {
        Ok(vec![TableRef::new("main", "t")])
    }

    fn columns(&mut self, table: &TableRef) -> Result<Vec<Column>> {
        match table.name.as_str() {
            "t" => Ok(vec![Column::new("id", DataType::Int64).nullable(false)]),
            gone => Err(crate::Error::not_found(format!("no table `{gone}`"))),
        }
    }

    fn scan(&mut self, _: &ScanRequest) -> Result<u32> {
        self.0 += 1;
        Ok(self.0)
    }

    fn schema(&mut self, _: &mut u32) -> Result<Vec<Column>> {
        self.columns(&TableRef::new("main", "t"))
    }

    fn next(&mut self, _: &mut u32, _: BatchLimits) -> Result<Option<Batch>> {
        Ok(None)
    }

    fn close(&mut self, scan: u32) -> Result<bool> {
        CLOSED.with_borrow_mut(|closed| closed.push(scan));
        Ok(true)
    }
}

fn source() -> Source<Numbered> {
    Source::open(&Config::from_json("{}")).expect("a source")
}

fn request() -> ScanRequest {
    ScanRequest::new(TableRef::new("main", "t"), &["id"])
}

#[test]
fn several_scans_share_a_source_and_each_is_closed_once() {
    CLOSED.take();
    let source = source();
    let first = source.scan(&request()).expect("a scan");
    let second = source.scan(&request()).expect("a scan");
    assert!(second.close().expect("closed"));
    assert_eq!(second.close().unwrap_err().kind(), ErrorKind::Internal);
    drop(second);
    // The source's handle goes first: the scan keeps it alive.
    drop(source);
    assert!(first.with(Numbered::schema).is_ok());
    drop(first);
    assert_eq!(CLOSED.take(), [2, 1]);
}

#[test]
fn a_call_from_within_a_call_is_an_error() {
    let source = source();
    let error = source.with(|_| source.with(Numbered::tables)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
}

#[test]
fn tables_are_described_by_their_columns_and_the_lost_left_out() {
    let tables = [TableRef::new("main", "t"), TableRef::new("main", "gone")];
    let described = Numbered(0).describe_tables(&tables).expect("described");
    assert_eq!(described.len(), 1);
    let column = &described[0].columns[0];
    assert_eq!(
        (column.native_type.as_str(), column.nullable),
        ("int64", false)
    );
}

#[test]
fn no_filter_is_supported_by_itself() {
    let filter = Filter::new("id", FilterOp::Eq, vec![Value::Int64(1)]);
    let support = Numbered(0).filter_support(&TableRef::new("main", "t"), &[filter]);
    assert_eq!(support.expect("an answer"), [Pushdown::No]);
}

fn rows_of(
    columns: &[Column],
    limit: Option<u64>,
    fetch: impl FnMut() -> Result<Option<Page>> + 'static,
) -> JsonRows {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let mut request = ScanRequest::new(TableRef::new("main", "t"), &names);
    request.limit = limit;
    JsonRows::new(&request, columns, fetch).expect("columns that are there")
}

#[test]
fn json_rows_fit_their_columns_or_say_which_does_not() {
    let columns = vec![
        Column::new("id", DataType::Int64),
        Column::new("at", DataType::TimestampUtc),
        Column::new("tags", DataType::Json),
        Column::new("price", DataType::Decimal),
    ];
    let page =
        r#"[{"id": 1, "at": "1970-01-01T00:00:01Z", "tags": ["a"], "price": 1.50}, {"id": null}]"#;
    let mut pages = vec![page, "[]"].into_iter();
    let mut rows = rows_of(&columns, None, move || {
        Ok(pages
            .next()
            .map(|page| serde_json::from_str(page).expect("JSON")))
    });
    let limits = BatchLimits {
        max_rows: 10,
        max_bytes: 1 << 20,
    };
    let batch = rows.next(limits).expect("a batch").expect("rows");
    let read = crate::testing::rows(&batch, &columns).expect("rows");
    assert_eq!(read[0][1], Value::TimestampUtc(1_000_000));
    assert_eq!(read[0][2], Value::Json(r#"["a"]"#.into()));
    assert_eq!(read[1], vec![Value::Null; 4]);
    // An empty page is not the end.
    assert_eq!(rows.next(limits), Ok(Some(Batch::Rows(Vec::new()))));
    assert_eq!(rows.next(limits), Ok(None));

    let wrong = vec![Column::new("id", DataType::Int64)];
    let mut pages = vec![r#"[{"id": "one"}]"#].into_iter();
    let mut rows = rows_of(&wrong, None, move || {
        Ok(pages
            .next()
            .map(|page| serde_json::from_str(page).expect("JSON")))
    });
    let error = rows.next(limits).unwrap_err();
    assert_eq!(error.message(), "a value of `id` cannot be read as int64");
}

#[test]
fn numbers_keep_the_digits_that_they_were_written_with() {
    let columns = vec![
        Column::new("price", DataType::Decimal),
        Column::new("id", DataType::Int64),
        Column::new("all", DataType::Uint64),
        Column::new("note", DataType::Text),
        Column::new("tags", DataType::Json),
    ];
    let page = r#"[
        {"price": 0.1234567890123456789, "id": 9007199254740993, "all": 18446744073709551615,
         "note": 12345678901234567890.10, "tags": { "a b": [1.10, "\" c"] }},
        {"price": 1e10, "id": -9223372036854775808, "all": 0, "note": "12", "tags": "x"}
    ]"#;
    let mut pages = vec![page].into_iter();
    let mut rows = rows_of(&columns, None, move || {
        Ok(pages
            .next()
            .map(|page| serde_json::from_str(page).expect("JSON")))
    });
    let batch = rows.next(ALL).expect("a batch").expect("rows");
    let read = crate::testing::rows(&batch, &columns).expect("rows");
    let text = |text: &str| Value::Text(text.into());
    let json = |text: &str| Value::Json(text.into());
    let expected = [
        vec![
            Value::Decimal("0.1234567890123456789".into()),
            Value::Int64(9_007_199_254_740_993),
            Value::Uint64(u64::MAX),
            text("12345678901234567890.10"),
            json(r#"{"a b":[1.10,"\" c"]}"#),
        ],
        vec![
            Value::Decimal("1e10".into()),
            Value::Int64(i64::MIN),
            Value::Uint64(0),
            text("12"),
            json(r#""x""#),
        ],
    ];
    assert_eq!(read, expected);
}

#[test]
fn a_number_that_its_column_cannot_hold_is_an_error() {
    for (data_type, field) in [
        (DataType::Int64, "1.5"),
        (DataType::Int64, "9223372036854775808"),
        (DataType::Uint64, "-1"),
        (DataType::Float64, "1e999"),
        (DataType::Float64, "true"),
        (DataType::Decimal, "[1]"),
        (DataType::Boolean, "1"),
        (DataType::Date, "20240229"),
    ] {
        let mut page = Some(format!(r#"[{{"c": {field}}}]"#));
        let mut rows = rows_of(&[Column::new("c", data_type)], None, move || {
            Ok(page
                .take()
                .map(|page| serde_json::from_str(&page).expect("JSON")))
        });
        let error = rows.next(ALL).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Upstream, "{field}");
    }
}

#[test]
fn a_row_of_an_author_is_read_like_one_of_a_server() {
    let made = serde_json::json!({"n": 1.5, "name": "tea"});
    let made: JsonRow = made.as_object().expect("an object").clone().into();
    let read: JsonRow = serde_json::from_str(r#"{"name": "tea", "n": 1.5}"#).expect("a row");
    for row in [made, read] {
        assert_eq!(
            (row.get("n"), row.get("name")),
            (Some("1.5"), Some("\"tea\""))
        );
        assert_eq!(row.get("other"), None);
    }
}

const ALL: BatchLimits = BatchLimits {
    max_rows: 10,
    max_bytes: 1 << 20,
};

#[test]
fn a_limit_ends_the_rows_and_the_fetching() {
    let mut fetched = 0;
    let mut rows = rows_of(&[Column::new("id", DataType::Int64)], Some(2), move || {
        fetched += 1;
        assert_eq!(fetched, 1, "one page is enough");
        Ok(Some(
            serde_json::from_str(r#"[{"id": 1}, {"id": 2}, {"id": 3}]"#).expect("JSON"),
        ))
    });
    let limits = BatchLimits {
        max_rows: 10,
        max_bytes: 1 << 20,
    };
    assert!(rows.next(limits).expect("a batch").is_some());
    assert_eq!(rows.next(limits), Ok(None));
}
