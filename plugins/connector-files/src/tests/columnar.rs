//! Parquet and Arrow, written by their own libraries. Files of other writers are in the tests of the server.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::types::Float32Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    DurationMicrosecondArray, DurationMillisecondArray, DurationSecondArray, FixedSizeBinaryArray,
    Float32Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
    TimestampNanosecondArray, UInt64Array,
};
use arrow_schema::{DataType as Arrow, Field, Schema};
use mindhost_sdk::scanner::{Filter, FilterOp, Pushdown, ScanRequest};
use mindhost_sdk::{DataType, ErrorKind, Scanner, Value};
use parquet::arrow::ArrowWriter;
use parquet::basic::Encoding;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaDataReader};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};

use super::{counting, open, read, table, types};

/// A batch with most types, from `from` on.
pub fn batch(from: i64, rows: usize) -> RecordBatch {
    let numbers: Vec<i64> = (from..).take(rows).collect();
    let every = |third: i64| numbers.iter().map(move |n| (n % third != 0).then_some(*n));
    let mut lists = ListBuilder::new(Int32Builder::new());
    for n in &numbers {
        lists
            .values()
            .append_value(i32::try_from(*n).expect("small"));
        lists.append(n % 4 != 0);
    }
    let names: StringArray = every(3)
        .map(|n| n.map(|n| format!("name {n:06}")))
        .collect();
    let words: DictionaryArray<arrow_array::types::Int32Type> = numbers
        .iter()
        .map(|n| Some(if n % 2 == 0 { "even" } else { "odd" }))
        .collect();
    let inner: ArrayRef = Arc::new(Int64Array::from(numbers.clone()));
    let structs = StructArray::from(vec![(Arc::new(Field::new("n", Arrow::Int64, true)), inner)]);
    let decimals = Decimal128Array::from_iter(every(5).map(|n| n.map(i128::from)));
    let columns: [(&str, ArrayRef); 11] = [
        ("id", Arc::new(Int64Array::from(numbers.clone()))),
        ("name", Arc::new(names)),
        ("word", Arc::new(words)),
        (
            "price",
            Arc::new(decimals.with_precision_and_scale(12, 2).expect("decimals")),
        ),
        (
            "big",
            Arc::new(UInt64Array::from_iter_values(
                numbers.iter().map(|n| u64::MAX - n.unsigned_abs()),
            )),
        ),
        (
            "at",
            Arc::new(TimestampNanosecondArray::from_iter(
                every(7).map(|n| n.map(|n| n * 1_500)),
            )),
        ),
        (
            "day",
            Arc::new(Date32Array::from_iter_values(
                numbers.iter().map(|n| i32::try_from(*n).expect("small")),
            )),
        ),
        (
            "ok",
            Arc::new(BooleanArray::from_iter(
                numbers.iter().map(|n| Some(n % 2 == 0)),
            )),
        ),
        (
            "share",
            Arc::new(Float32Array::from_iter_values(
                numbers.iter().map(|n| f32::from(n % 100 == 0)),
            )),
        ),
        ("list", Arc::new(lists.finish())),
        ("object", Arc::new(structs)),
    ];
    RecordBatch::try_from_iter(columns).expect("a batch")
}

/// A Parquet file of batches, in row groups of `group` rows and pages of a tenth of it.
pub fn parquet(batches: &[RecordBatch], group: usize) -> Vec<u8> {
    written(batches, group, WriterProperties::builder())
}

fn written(batches: &[RecordBatch], group: usize, properties: WriterPropertiesBuilder) -> Vec<u8> {
    let properties = properties
        .set_max_row_group_row_count(Some(group))
        .set_data_page_row_count_limit(group.div_ceil(10))
        .set_write_batch_size(group.div_ceil(10))
        .build();
    let mut writer =
        ArrowWriter::try_new(Vec::new(), batches[0].schema(), Some(properties)).expect("a writer");
    batches
        .iter()
        .for_each(|batch| writer.write(batch).expect("rows"));
    writer.into_inner().expect("a file")
}

/// The same with a column of values of a fixed length.
pub fn wide(from: i64, rows: usize) -> RecordBatch {
    let batch = batch(from, rows);
    let values = (from..)
        .take(rows)
        .map(|n| (n % 3 != 0).then(|| [n.to_le_bytes(); 2].concat()));
    let values = FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, 16).expect("values");
    let mut fields = batch.schema().fields().to_vec();
    fields.push(Arc::new(Field::new(
        "fixed",
        Arrow::FixedSizeBinary(16),
        true,
    )));
    let mut columns = batch.columns().to_vec();
    columns.push(Arc::new(values));
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).expect("a batch")
}

/// The same in the second version of the format, with the bytes of one column in streams.
pub fn parquet_v2(batches: &[RecordBatch], group: usize) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_column_encoding("share".into(), Encoding::BYTE_STREAM_SPLIT)
        .set_column_dictionary_enabled("share".into(), false);
    written(batches, group, properties)
}

/// An Arrow stream of batches.
pub fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batches[0].schema())
        .expect("a writer");
    batches
        .iter()
        .for_each(|batch| writer.write(batch).expect("rows"));
    writer.into_inner().expect("a file")
}

/// An Arrow file of batches.
pub fn file(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer =
        arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batches[0].schema()).expect("a writer");
    batches
        .iter()
        .for_each(|batch| writer.write(batch).expect("rows"));
    writer.into_inner().expect("a file")
}

const ALL: [&str; 11] = [
    "id", "name", "word", "price", "big", "at", "day", "ok", "share", "list", "object",
];

#[test]
fn every_format_gives_the_same_rows() {
    let batches = [batch(0, 100), batch(100, 50)];
    let files = [
        ("p.parquet", parquet(&batches, 40)),
        ("v.parquet", parquet_v2(&batches, 40)),
        ("s.arrows", stream(&batches)),
        ("f.feather", file(&batches)),
    ];
    let (_folder, mut files) = open(&files, "");
    let columns = files.columns(&table("p")).expect("columns");
    let expected = [
        DataType::Int64,
        DataType::Text,
        DataType::Text,
        DataType::Decimal,
        DataType::Uint64,
        DataType::Timestamp,
        DataType::Date,
        DataType::Boolean,
        DataType::Float64,
        DataType::Json,
        DataType::Json,
    ];
    assert_eq!(
        types(&columns)
            .into_iter()
            .map(|(_, kind)| kind)
            .collect::<Vec<_>>(),
        expected
    );
    let mut rows =
        |name: &str| read(&mut files, &ScanRequest::new(table(name), &ALL)).expect("rows");
    let parquet = rows("p");
    assert_eq!(parquet.len(), 150);
    assert_eq!(rows("v"), parquet);
    assert_eq!(rows("s"), parquet);
    assert_eq!(rows("f"), parquet);
    assert_eq!(
        parquet[101],
        [
            Value::Int64(101),
            Value::Text("name 000101".into()),
            Value::Text("odd".into()),
            Value::Decimal("1.01".into()),
            Value::Uint64(u64::MAX - 101),
            Value::Timestamp(151),
            Value::Date(101),
            Value::Boolean(false),
            Value::Float64(0.0),
            Value::Json("[101]".into()),
            Value::Json(r#"{"n":101}"#.into()),
        ]
    );
    assert_eq!(parquet[105][3], Value::Null);
    assert_eq!(parquet[104][9], Value::Null);
}

#[test]
fn filters_and_limits_are_applied_where_the_rows_are() {
    let batches = [batch(0, 10_000)];
    let files = [
        ("p.parquet", parquet(&batches, 2_000)),
        ("f.arrow", file(&batches)),
    ];
    let (_folder, mut files) = open(&files, "");
    for (column, op, values, expected) in [
        ("id", FilterOp::Eq, vec![Value::Int64(7_777)], 1),
        (
            "id",
            FilterOp::InList,
            vec![Value::Int64(1), Value::Int64(9_999), Value::Int64(-1)],
            2,
        ),
        ("id", FilterOp::Lt, vec![Value::Int64(0)], 0),
        ("id", FilterOp::NotEq, vec![Value::Int64(5)], 9_999),
        (
            "name",
            FilterOp::GtEq,
            vec![Value::Text("name 009990".into())],
            6,
        ),
        ("name", FilterOp::Like, vec![Value::Text("%0123".into())], 0),
        ("name", FilterOp::Like, vec![Value::Text("%0124".into())], 1),
        ("name", FilterOp::IsNull, vec![], 3_334),
        ("word", FilterOp::Eq, vec![Value::Text("odd".into())], 5_000),
        (
            "price",
            FilterOp::Gt,
            vec![Value::Decimal("99.97".into())],
            2,
        ),
        (
            "price",
            FilterOp::Eq,
            vec![Value::Decimal("0.01".into())],
            1,
        ),
        ("big", FilterOp::Gt, vec![Value::Uint64(u64::MAX - 3)], 3),
        ("at", FilterOp::LtEq, vec![Value::Timestamp(3)], 2),
        ("day", FilterOp::GtEq, vec![Value::Date(9_998)], 2),
        ("ok", FilterOp::Eq, vec![Value::Boolean(true)], 5_000),
        ("list", FilterOp::IsNull, vec![], 2_500),
    ] {
        for name in ["p", "f"] {
            let filter = Filter::new(column, op, values.clone());
            let support = files.filter_support(&table(name), std::slice::from_ref(&filter));
            assert_eq!(support, Ok(vec![Pushdown::Exact]), "{column} {op:?}");
            let mut request = ScanRequest::new(table(name), &["id"]);
            request.filters = vec![filter];
            let rows = read(&mut files, &request).expect("rows");
            assert_eq!(rows.len(), expected, "{name}: {column} {op:?} {values:?}");
            request.limit = Some(1);
            assert_eq!(
                read(&mut files, &request).expect("rows").len(),
                expected.min(1)
            );
        }
    }
    let float = Filter::new("share", FilterOp::Eq, vec![Value::Float64(1.0)]);
    assert_eq!(
        files.filter_support(&table("p"), &[float]),
        Ok(vec![Pushdown::No])
    );
}

/// The bytes of a page of the column `id`, without its header.
fn page_of_ids(file: &[u8], group: usize, page: usize) -> std::ops::Range<usize> {
    let file = bytes::Bytes::copy_from_slice(file);
    let metadata = ParquetMetaDataReader::new()
        .with_page_index_policy(PageIndexPolicy::Required)
        .parse_and_finish(&file)
        .expect("metadata");
    let index = &metadata.offset_index().expect("an index")[group][0];
    let at = &index.page_locations()[page];
    let start = usize::try_from(at.offset).expect("an offset");
    start + 64..start + usize::try_from(at.compressed_page_size).expect("a size")
}

#[test]
fn groups_and_pages_that_a_filter_excludes_are_not_read() {
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_writer_version(WriterVersion::PARQUET_1_0);
    let whole = written(&[batch(0, 10_000)], 2_000, properties);
    for (group, page, passes, fails) in [(0, 3, 2_000, 0), (4, 0, 9_000, 8_000)] {
        let mut file = whole.clone();
        let range = page_of_ids(&file, group, page);
        // Each number of the page is -1 now.
        file[range].fill(0xff);
        let (_folder, mut files) = open(&[("p.parquet", file)], "");
        let mut rows = |from: i64| {
            let mut request = ScanRequest::new(table("p"), &["id"]);
            request.filters = vec![Filter::new("id", FilterOp::GtEq, vec![Value::Int64(from)])];
            read(&mut files, &request).map(|rows| rows.len() as i64)
        };
        assert_eq!(
            rows(passes),
            Ok(10_000 - passes),
            "the damaged page is excluded"
        );
        assert_ne!(rows(fails), Ok(10_000 - fails), "the damaged page is read");
    }
}

#[test]
fn a_count_reads_no_column_without_a_filter() {
    let properties = WriterProperties::builder().set_dictionary_enabled(false);
    let mut damaged = written(&[batch(0, 20_000)], 10_000, properties);
    let range = page_of_ids(&damaged, 1, 0);
    damaged[range].fill(0xff);
    let whole = [batch(0, 20_000)];
    let files = [
        ("p.parquet", damaged),
        ("w.parquet", parquet(&whole, 10_000)),
        ("f.arrow", file(&whole)),
    ];
    let (_folder, mut files) = open(&files, "");
    for name in ["p", "w", "f"] {
        let request = counting(ScanRequest::new(table(name), &["id"]));
        let rows = read(&mut files, &request).expect(name);
        assert_eq!(rows.len(), 20_000, "{name}");
        assert!(rows.iter().all(|row| *row == [Value::Null]), "{name}");
    }
    for (column, value, expected) in [
        ("id", Value::Int64(10), 10),
        ("day", Value::Date(15_000), 15_000),
    ] {
        let mut request = counting(ScanRequest::new(table("w"), &["id"]));
        request.filters = vec![Filter::new(column, FilterOp::Lt, vec![value])];
        for name in ["w", "f"] {
            request.table = table(name);
            let rows = read(&mut files, &request).expect(name);
            assert_eq!(rows.len(), expected, "{name}: {column}");
        }
    }
}

#[test]
fn files_of_one_table_may_have_other_columns() {
    let old = RecordBatch::try_from_iter([("id", Arc::new(Int32Array::from(vec![1])) as ArrayRef)])
        .expect("a batch");
    let columns: [(&str, ArrayRef); 2] = [
        ("id", Arc::new(Int64Array::from(vec![1 << 40]))),
        ("new", Arc::new(BinaryArray::from(vec![&b"x"[..]]))),
    ];
    let new = RecordBatch::try_from_iter(columns).expect("a batch");
    let files = [
        ("t/k=a/1.parquet", parquet(&[old], 10)),
        ("t/k=b/2.parquet", parquet(&[new], 10)),
    ];
    let (_folder, mut files) = open(&files, "");
    let rows = read(
        &mut files,
        &ScanRequest::new(table("t"), &["k", "id", "new"]),
    )
    .expect("rows");
    let text = |text: &str| Value::Text(text.into());
    assert_eq!(
        rows,
        [
            [text("a"), Value::Int64(1), Value::Null],
            [
                text("b"),
                Value::Int64(1 << 40),
                Value::Bytes(b"x".to_vec())
            ]
        ]
    );
    let described = files.describe_tables(&[table("t")]).expect("tables");
    assert_eq!(described[0].row_count, Some(2));
    assert_eq!(described[0].kind, "PARTITIONED TABLE");
}

#[test]
fn files_that_contradict_each_other_are_named() {
    let one = |array: ArrayRef| {
        parquet(
            &[RecordBatch::try_from_iter([("x", array)]).expect("a batch")],
            10,
        )
    };
    let files = [
        ("t/a.parquet", one(Arc::new(Int64Array::from(vec![1])))),
        ("t/b.parquet", one(Arc::new(StringArray::from(vec!["1"])))),
    ];
    let (_folder, mut files) = open(&files, "");
    let error = files.columns(&table("t")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream);
    for part in ["`x`", "`t/a.parquet`", "`t/b.parquet`", "int64", "utf8"] {
        assert!(error.message().contains(part), "{error}");
    }
}

#[test]
fn columns_are_counted_without_being_read() {
    let (_folder, mut files) = open(&[("t/k=5/p.parquet", parquet(&[batch(0, 100)], 30))], "");
    let rows = read(&mut files, &ScanRequest::new(table("t"), &["k"])).expect("rows");
    assert_eq!(rows, vec![[Value::Int64(5)]; 100]);
}

/// A Parquet file of one column.
fn parquet_of(name: &str, values: ArrayRef) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter([(name, values)]).expect("a batch");
    parquet(&[batch], 10)
}

#[test]
fn decimals_of_several_scales_are_one_column_for_filters_too() {
    let decimals = |values: [i128; 2], scale: i8| -> ArrayRef {
        let values = Decimal128Array::from_iter_values(values);
        Arc::new(values.with_precision_and_scale(9, scale).expect("decimals"))
    };
    let files = [
        ("t/1.parquet", parquet_of("d", decimals([150, 250], 2))),
        (
            "t/2.parquet",
            parquet_of("d", decimals([15_000, 25_001], 4)),
        ),
        (
            "t/3.parquet",
            parquet_of("d", Arc::new(Int64Array::from(vec![1, 2]))),
        ),
    ];
    let (_folder, mut files) = open(&files, "");
    let mut request = ScanRequest::new(table("t"), &["d"]);
    let decimal = |text: &str| Value::Decimal(text.to_owned());
    for (op, values, expected) in [
        (FilterOp::Eq, vec![decimal("1.5")], 2),
        (FilterOp::GtEq, vec![decimal("2.5")], 2),
        (FilterOp::InList, vec![decimal("1"), decimal("2")], 2),
        (FilterOp::Lt, vec![decimal("1.5")], 1),
    ] {
        request.filters = vec![Filter::new("d", op, values)];
        let rows = read(&mut files, &request).expect("rows");
        assert_eq!(rows.len(), expected, "{op:?}: {rows:?}");
    }
}

#[test]
fn partition_of_floats_is_null_where_it_says_so() {
    let id = |id: i64| parquet_of("id", Arc::new(Int64Array::from(vec![id])));
    let files = [
        ("t/p=1.5/x.parquet", id(1)),
        ("t/p=2.5/x.parquet", id(2)),
        ("t/p=__HIVE_DEFAULT_PARTITION__/x.parquet", id(3)),
    ];
    let (_folder, mut files) = open(&files, "");
    let mut request = ScanRequest::new(table("t"), &["id"]);
    for (op, expected) in [
        (FilterOp::IsNull, vec![3]),
        (FilterOp::IsNotNull, vec![1, 2]),
    ] {
        request.filters = vec![Filter::new("p", op, Vec::new())];
        let rows = read(&mut files, &request).expect("rows");
        let expected: Vec<_> = expected
            .into_iter()
            .map(|id| vec![Value::Int64(id)])
            .collect();
        assert_eq!(rows, expected, "{op:?}");
    }
}

#[test]
fn singles_are_read_by_their_shortest_text() {
    let singles = Arc::new(Float32Array::from(vec![0.1, 16_777_216.0]));
    let list = [Some(vec![Some(0.1)])];
    let list = ListArray::from_iter_primitive::<Float32Type, _, _>(list);
    let files = [
        ("t.parquet", parquet_of("n", singles)),
        ("list.arrows", stream_of("n", Arc::new(list))),
    ];
    let (_folder, mut files) = open(&files, "");
    let mut rows = |name| read(&mut files, &ScanRequest::new(table(name), &["n"])).expect("rows");
    let number = |number| vec![Value::Float64(number)];
    assert_eq!(rows("t"), [number(0.1), number(16_777_216.0)]);
    assert_eq!(rows("list"), [[Value::Json("[0.1]".into())]]);
}

/// An Arrow stream of one column.
pub fn stream_of(name: &str, values: ArrayRef) -> Vec<u8> {
    stream(&[RecordBatch::try_from_iter([(name, values)]).expect("a batch")])
}

#[test]
fn durations_of_several_units_are_of_the_finest() {
    let files = [
        (
            "t/1.arrows",
            stream_of(
                "d",
                Arc::new(DurationSecondArray::from(vec![Some(2), None])),
            ),
        ),
        (
            "t/2.arrows",
            stream_of(
                "d",
                Arc::new(DurationMicrosecondArray::from(vec![2_000_000, 5])),
            ),
        ),
        (
            "t/3.arrows",
            stream_of(
                "d",
                Arc::new(DurationMillisecondArray::from(vec![-1, 2_000])),
            ),
        ),
    ];
    let (_folder, mut files) = open(&files, "");
    let columns = files.columns(&table("t")).expect("columns");
    assert_eq!(columns[0].data_type, DataType::Int64);
    assert_eq!(columns[0].native_type, "duration(µs)");
    let mut request = ScanRequest::new(table("t"), &["d"]);
    let number = |number| vec![Value::Int64(number)];
    assert_eq!(
        read(&mut files, &request).expect("rows"),
        [
            number(2_000_000),
            vec![Value::Null],
            number(2_000_000),
            number(5),
            number(-1_000),
            number(2_000_000),
        ]
    );
    let two_seconds = vec![Value::Int64(2_000_000)];
    request.filters = vec![Filter::new("d", FilterOp::Eq, two_seconds)];
    assert_eq!(read(&mut files, &request).expect("rows").len(), 3);
}

#[test]
fn durations_that_are_no_numbers_of_one_unit_are_errors() {
    let seconds = |value: i64| stream_of("d", Arc::new(DurationSecondArray::from(vec![value])));
    let plain = stream_of("d", Arc::new(Int64Array::from(vec![1])));
    let files = [("t/1.arrows", plain), ("t/2.arrows", seconds(1))];
    let (_folder, mut files) = open(&files, "");
    let error = files.columns(&table("t")).unwrap_err();
    for part in ["`t/1.arrows`", "`t/2.arrows`", "int64", "duration(s)"] {
        assert!(error.message().contains(part), "{error}");
    }

    let micros = stream_of("d", Arc::new(DurationMicrosecondArray::from(vec![1])));
    let files = [("t/1.arrows", micros), ("t/2.arrows", seconds(i64::MAX))];
    let (_folder, mut files) = open(&files, "");
    let error = read(&mut files, &ScanRequest::new(table("t"), &["d"])).unwrap_err();
    let expected = "a duration outside of its range";
    assert!(error.message().contains(expected), "{error}");
}

#[test]
fn schemas_of_a_thousand_files_are_read() {
    let one = |name: &str| parquet_of(name, Arc::new(Int64Array::from(vec![1])));
    let names: Vec<String> = (0..200)
        .map(|number| format!("t/{number:03}.parquet"))
        .collect();
    let (usual, other) = (one("id"), one("late"));
    let files: Vec<(&str, &[u8])> = names
        .iter()
        .enumerate()
        .map(|(number, name)| match number {
            100 => (name.as_str(), other.as_slice()),
            _ => (name.as_str(), usual.as_slice()),
        })
        .collect();
    let (_folder, mut files) = open(&files, "");
    let columns = files.columns(&table("t")).expect("columns");
    assert_eq!(
        types(&columns),
        [("id", DataType::Int64), ("late", DataType::Int64)]
    );
}
