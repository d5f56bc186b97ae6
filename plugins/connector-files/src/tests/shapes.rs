//! Columns of rare shapes: lists without a group around them, timestamps of twelve bytes, decimals without a fraction.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, Decimal32Builder, Float64Builder, ListBuilder, StringDictionaryBuilder,
};
use arrow_array::{
    ArrayRef, Decimal128Array, Decimal256Array, Int64Array, ListArray, RecordBatch, StringArray,
    StructArray, Time64MicrosecondArray, types,
};
use arrow_buffer::i256;
use arrow_schema::{DataType as Arrow, Field, Schema};
use mindhost_sdk::scanner::{Filter, FilterOp, ScanRequest};
use mindhost_sdk::{ErrorKind, Scanner, Value};
use parquet::data_type::{
    ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int96, Int96Type,
};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::columnar::{batch, file, stream, stream_of};
use super::{counting, open, read, table};

type Group<'a> = SerializedRowGroupWriter<'a, Vec<u8>>;
type WriteGroup<'a> = &'a dyn Fn(&mut Group<'_>);

/// A Parquet file with the columns of a schema in its own words, each row group written as `groups` do it.
fn parquet_of_schema(schema: &str, groups: &[WriteGroup<'_>]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema, Arc::default()).expect("a writer");
    for write in groups {
        let mut group = writer.next_row_group().expect("a row group");
        write(&mut group);
        group.close().expect("a row group");
    }
    writer.into_inner().expect("a file")
}

#[test]
fn an_empty_list_is_not_null() {
    let lists = |values: Vec<i32>, definitions: Vec<i16>, repetitions: Vec<i16>| {
        move |group: &mut Group<'_>| {
            let mut column = group.next_column().expect("columns").expect("a column");
            let typed = column.typed::<Int32Type>();
            let written = typed.write_batch(&values, Some(&definitions), Some(&repetitions));
            written.expect("values");
            column.close().expect("a column");
        }
    };
    let empty = lists(vec![], vec![0, 0], vec![0, 0]);
    let full = lists(vec![7, 8], vec![1, 1, 0], vec![0, 1, 0]);
    let file = parquet_of_schema("message m { repeated int32 a; }", &[&empty, &full]);
    let (_folder, mut files) = open(&[("t.parquet", file)], "");
    let mut request = ScanRequest::new(table("t"), &["a"]);
    request.filters = vec![Filter::new("a", FilterOp::IsNotNull, vec![])];
    let json = |text: &str| vec![Value::Json(text.into())];
    assert_eq!(
        read(&mut files, &request).expect("rows"),
        ["[]", "[]", "[7,8]", "[]"].map(json)
    );
    request.filters = vec![Filter::new("a", FilterOp::IsNull, vec![])];
    assert!(read(&mut files, &request).expect("rows").is_empty());
}

/// Parquet marks the names of an enumeration in a list as it marks them in a column.
#[test]
fn names_of_an_enumeration_are_texts_in_a_list() {
    let names = |group: &mut Group<'_>| {
        let mut column = group.next_column().expect("columns").expect("a column");
        let values = [ByteArray::from("STRING"), ByteArray::from("INT")];
        let typed = column.typed::<ByteArrayType>();
        let written = typed.write_batch(&values, Some(&[1, 1]), Some(&[0, 1]));
        written.expect("values");
        column.close().expect("a column");
    };
    let file = parquet_of_schema("message m { repeated binary a (ENUM); }", &[&names]);
    let (_folder, mut files) = open(&[("t.parquet", file)], "");
    let rows = read(&mut files, &ScanRequest::new(table("t"), &["a"])).expect("rows");
    assert_eq!(rows, [[Value::Json(r#"["STRING","INT"]"#.into())]]);
}

/// The host writes the values of a column in the same way.
#[test]
fn floats_and_bytes_in_a_list_are_written_as_those_of_a_column() {
    let mut floats = ListBuilder::new(Float64Builder::new());
    floats.append_value([f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.5].map(Some));
    let mut bytes = ListBuilder::new(BinaryBuilder::new());
    bytes.append_value([Some(b"\0\xff"), None]);
    for (name, list, expected) in [
        (
            "f",
            Arc::new(floats.finish()) as ArrayRef,
            r#"["Infinity","-Infinity","NaN",0.5]"#,
        ),
        ("b", Arc::new(bytes.finish()), r#"["AP8=",null]"#),
    ] {
        let file = stream_of(name, list);
        let (_folder, mut files) = open(&[("t.arrows", file)], "");
        let rows = read(&mut files, &ScanRequest::new(table("t"), &[name])).expect("rows");
        assert_eq!(rows, [[Value::Json(expected.into())]], "{name}");
    }
}

/// Spark and Impala write the days before 1677 and after 2262 so: nanoseconds of the day, then the Julian day.
#[test]
fn timestamps_of_twelve_bytes_reach_far() {
    const EPOCH: i64 = 2_440_588;
    const NOON: i64 = 43_200_000_000_000;
    let days = [-719_162, -141_427, 0, 2_932_896];
    let at = |day: i64| {
        let mut value = Int96::new();
        let nanos = NOON.to_le_bytes();
        let [a, b, c, d, e, f, g, h] = nanos;
        let low = u32::from_le_bytes([a, b, c, d]);
        let high = u32::from_le_bytes([e, f, g, h]);
        value.set_data(low, high, u32::try_from(EPOCH + day).expect("a day"));
        value
    };
    let values: Vec<Int96> = days.iter().map(|day| at(*day)).collect();
    let write = |group: &mut Group<'_>| {
        for _ in 0..2 {
            let mut column = group.next_column().expect("columns").expect("a column");
            let typed = column.typed::<Int96Type>();
            typed.write_batch(&values, None, None).expect("values");
            column.close().expect("a column");
        }
    };
    let schema = "message m { required int96 at; required group in { required int96 at; } }";
    let file = parquet_of_schema(schema, &[&write]);
    let (_folder, mut files) = open(&[("t.parquet", file)], "");
    let mut request = ScanRequest::new(table("t"), &["at", "in"]);
    let rows = read(&mut files, &request).expect("rows");
    let texts = ["0001-01-01", "1582-10-15", "1970-01-01", "9999-12-31"];
    for ((row, day), text) in rows.iter().zip(days).zip(texts) {
        let micros = day * 86_400_000_000 + NOON / 1_000;
        let inner = format!("{{\"at\":\"{text}T12:00:00\"}}");
        assert_eq!(row, &[Value::Timestamp(micros), Value::Json(inner)]);
    }
    request.filters = vec![Filter::new("at", FilterOp::Lt, vec![Value::Timestamp(0)])];
    assert_eq!(read(&mut files, &request).expect("rows").len(), 2);
}

#[test]
fn decimals_keep_their_zeros_wherever_they_are() {
    let narrow = Decimal128Array::from_iter_values([12, 0, -3]);
    let narrow = narrow.with_precision_and_scale(5, -2).expect("decimals");
    let long = Decimal128Array::from_iter_values([12, 0, -3]);
    let long: ArrayRef = Arc::new(long.with_precision_and_scale(38, -2).expect("decimals"));
    let wide = Decimal256Array::from_iter_values([12, 0, -3].map(i256::from_i128));
    let wide: ArrayRef = Arc::new(wide.with_precision_and_scale(60, -1).expect("decimals"));
    let mut lists = ListBuilder::new(
        Decimal32Builder::new()
            .with_precision_and_scale(9, 2)
            .expect("decimals"),
    );
    for values in [vec![150, -5], vec![], vec![0]] {
        lists.append_value(values.into_iter().map(Some));
    }
    let (lists, narrow): (ArrayRef, ArrayRef) = (Arc::new(lists.finish()), Arc::new(narrow));
    let objects: ArrayRef = Arc::new(StructArray::from(vec![
        (
            Arc::new(Field::new("n", Arrow::Decimal128(5, -2), true)),
            Arc::clone(&narrow),
        ),
        (
            Arc::new(Field::new("w", Arrow::Decimal256(60, -1), true)),
            Arc::clone(&wide),
        ),
    ]));
    for (values, expected) in [
        (
            narrow,
            ["1200", "0", "-300"].map(|text| Value::Decimal(text.into())),
        ),
        (
            long,
            ["1200", "0", "-300"].map(|text| Value::Text(text.into())),
        ),
        (
            wide,
            ["120", "0", "-30"].map(|text| Value::Text(text.into())),
        ),
        (
            lists,
            [r#"["1.50","-0.05"]"#, "[]", r#"["0.00"]"#].map(|text| Value::Json(text.into())),
        ),
        (
            objects,
            [("1200", "120"), ("0", "0"), ("-300", "-30")]
                .map(|(n, w)| Value::Json(format!(r#"{{"n":"{n}","w":"{w}"}}"#))),
        ),
    ] {
        let (_folder, mut files) = open(&[("t.arrows", stream_of("x", values))], "");
        let rows = read(&mut files, &ScanRequest::new(table("t"), &["x"])).expect("rows");
        assert_eq!(rows.concat(), expected);
    }
}

/// As JavaScript reads them, so that none loses digits.
#[test]
fn long_integers_in_lists_are_texts() {
    let exact = 1i64 << 53;
    let list = [Some(vec![Some(exact), Some(exact + 1), Some(-exact - 1)])];
    let signed: ArrayRef = Arc::new(ListArray::from_iter_primitive::<types::Int64Type, _, _>(
        list,
    ));
    let list = [Some(vec![Some(7), Some(u64::MAX)])];
    let unsigned: ArrayRef = Arc::new(ListArray::from_iter_primitive::<types::UInt64Type, _, _>(
        list,
    ));
    for (values, expected) in [
        (
            signed,
            r#"[9007199254740992,"9007199254740993","-9007199254740993"]"#,
        ),
        (unsigned, r#"[7,"18446744073709551615"]"#),
    ] {
        let (_folder, mut files) = open(&[("t.arrows", stream_of("x", values))], "");
        let rows = read(&mut files, &ScanRequest::new(table("t"), &["x"])).expect("rows");
        assert_eq!(rows, [[Value::Json(expected.into())]]);
    }
}

/// Wherever a copy of a file ended, the rows that are missing are not passed over in silence.
#[test]
fn an_arrow_file_without_its_end_is_not_complete() {
    let rows = batch(0, 10);
    let batches = [rows.slice(0, 5), rows.slice(5, 5)];
    let whole = file(&batches);
    let end = stream(&batches).len();
    for length in (0..end).step_by(4) {
        let cut = whole.get(..length).expect("a start").to_vec();
        let (_folder, mut files) = open(&[("t.arrow", cut)], "");
        let request = ScanRequest::new(table("t"), &["id"]);
        for request in [request.clone(), counting(request)] {
            let error = read(&mut files, &request).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Upstream, "{length}: {error}");
            assert!(error.message().contains("`t.arrow`"), "{error}");
        }
    }
}

/// Months, days and milliseconds, the last of which have no sign.
#[test]
fn intervals_keep_their_months_wherever_they_are() {
    let values = [[1u32, 0, 0], [14, 3, 14_400_000], [0, 0, u32::MAX]];
    let values = values.map(|parts| {
        let bytes = parts.map(u32::to_le_bytes).concat();
        FixedLenByteArray::from(ByteArray::from(bytes))
    });
    let keys = ["k"; 3].map(ByteArray::from);
    let write = |group: &mut Group<'_>| {
        for leaf in 0..5 {
            let mut column = group.next_column().expect("columns").expect("a column");
            let one_each: (Option<&[i16]>, Option<&[i16]>) = match leaf {
                0 | 1 => (None, None),
                _ => (Some(&[1, 1, 1]), Some(&[0, 0, 0])),
            };
            let written = match leaf {
                3 => {
                    let typed = column.typed::<ByteArrayType>();
                    typed.write_batch(&keys, one_each.0, one_each.1)
                }
                _ => {
                    let typed = column.typed::<FixedLenByteArrayType>();
                    typed.write_batch(&values, one_each.0, one_each.1)
                }
            };
            written.expect("values");
            column.close().expect("a column");
        }
    };
    let interval = "required fixed_len_byte_array (12)";
    let schema = format!(
        "message m {{ {interval} flat (INTERVAL); required group object {{ {interval} i (INTERVAL); }}
         required group list (LIST) {{ repeated group list {{ {interval} element (INTERVAL); }} }}
         required group map (MAP) {{ repeated group key_value {{
         required binary key (STRING); {interval} value (INTERVAL); }} }} }}"
    );
    let file = parquet_of_schema(&schema, &[&write]);
    let (_folder, mut files) = open(&[("t.parquet", file)], "");
    let request = ScanRequest::new(table("t"), &["flat", "object", "list", "map"]);
    let rows = read(&mut files, &request).expect("rows");
    let texts = [
        "P1M0DT0.000000000S",
        "P14M3DT14400.000000000S",
        "P0M0DT4294967.295000000S",
    ];
    let expected = texts.map(|text| {
        [
            Value::Text(text.to_owned()),
            Value::Json(format!("{{\"i\":\"{text}\"}}")),
            Value::Json(format!("[\"{text}\"]")),
            Value::Json(format!("{{\"k\":\"{text}\"}}")),
        ]
    });
    assert_eq!(rows, expected);
}

#[test]
fn columns_of_one_name_are_numbered() {
    let write = |group: &mut Group<'_>| {
        for value in 1..=2 {
            let mut column = group.next_column().expect("columns").expect("a column");
            let typed = column.typed::<Int32Type>();
            typed.write_batch(&[value], None, None).expect("values");
            column.close().expect("a column");
        }
    };
    let schema = "message m { required int32 a; required int32 a; }";
    let ints = parquet_of_schema(schema, &[&write]);
    let schema = Schema::new(vec![
        Field::new("a", Arrow::Int64, true),
        Field::new("a", Arrow::Utf8, true),
    ]);
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![1])),
        Arc::new(StringArray::from(vec!["x"])),
    ];
    let mixed = stream(&[RecordBatch::try_new(Arc::new(schema), arrays).expect("a batch")]);
    let (_folder, mut files) = open(&[("ints.parquet", ints), ("mixed.arrows", mixed)], "");
    for (name, second) in [
        ("ints", Value::Int64(2)),
        ("mixed", Value::Text("x".into())),
    ] {
        let columns = files.columns(&table(name)).expect("columns");
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["a", "a_2"], "{name}");
        let request = ScanRequest::new(table(name), &["a_2", "a"]);
        let rows = read(&mut files, &request).expect("rows");
        assert_eq!(rows, [[second, Value::Int64(1)]], "{name}");
    }
}

#[test]
fn dictionary_in_a_list_is_read_once() {
    let mut lists = ListBuilder::new(StringDictionaryBuilder::<types::Int32Type>::new());
    for word in ["x", "y"].into_iter().cycle().take(100_000) {
        lists.values().append_value(word);
    }
    lists.append(true);
    let file = stream_of("l", Arc::new(lists.finish()));
    let (_folder, mut files) = open(&[("t.arrows", file)], "");
    let start = std::time::Instant::now();
    let rows = read(&mut files, &ScanRequest::new(table("t"), &["l"])).expect("rows");
    let expected = vec![r#""x","y""#; 50_000].join(",");
    assert_eq!(rows, [[Value::Json(format!("[{expected}]"))]]);
    // Wide: a reader that looks at the whole list for each word looks 10,000,000,000 times.
    assert!(start.elapsed() < std::time::Duration::from_secs(100));
}

#[test]
fn time_outside_of_its_day_is_named_and_conditions_leave_it_out() {
    const DAY: i64 = 86_400_000_000;
    for (other, shown) in [
        (DAY, "24:00:00"),
        (DAY + 90_000_500_000, "49:00:00.500000"),
        (-1, "-00:00:00.000001"),
    ] {
        let times: ArrayRef = Arc::new(Time64MicrosecondArray::from(vec![0, other, DAY - 1]));
        let (_folder, mut files) = open(&[("t.arrows", stream_of("at", times))], "");
        let mut request = ScanRequest::new(table("t"), &["at"]);
        let error = read(&mut files, &request).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Upstream);
        let expected = format!("the column `at` of `t.arrows` has the value {shown}, ");
        assert!(error.message().starts_with(&expected), "{error}");
        request.filters = vec![
            Filter::new(
                "at",
                FilterOp::LtEq,
                vec![Value::Time(DAY.cast_unsigned() - 1)],
            ),
            Filter::new("at", FilterOp::GtEq, vec![Value::Time(0)]),
        ];
        let rows = read(&mut files, &request).expect("rows");
        let last = Value::Time(DAY.cast_unsigned() - 1);
        assert_eq!(rows, [[Value::Time(0)], [last]]);
    }
}
