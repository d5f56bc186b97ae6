//! What the builders write is what Arrow's own reader reads.

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use proptest::prelude::*;

use super::*;

const TYPES: [DataType; 12] = [
    DataType::Boolean,
    DataType::Int64,
    DataType::Uint64,
    DataType::Float64,
    DataType::Decimal,
    DataType::Text,
    DataType::Bytes,
    DataType::Date,
    DataType::Time,
    DataType::Timestamp,
    DataType::TimestampUtc,
    DataType::Json,
];

const ROOMY: BatchLimits = BatchLimits {
    max_rows: 1000,
    max_bytes: 1 << 20,
};

fn columns(types: &[DataType]) -> Vec<Column> {
    types
        .iter()
        .enumerate()
        .map(|(index, data_type)| Column::new(format!("c{index}"), *data_type))
        .collect()
}

fn read_stream(batch: &Batch) -> RecordBatch {
    let Batch::Arrow(bytes) = batch else {
        panic!("not Arrow")
    };
    let mut reader = StreamReader::try_new(bytes.as_slice(), None).unwrap();
    let batch = reader.next().unwrap().unwrap();
    assert!(reader.next().is_none(), "exactly one record batch");
    batch
}

fn rows_of(batch: &Batch, columns: &[Column]) -> Vec<Row> {
    crate::testing::rows(batch, columns).unwrap()
}

fn any_value(data_type: DataType) -> BoxedStrategy<Value> {
    let value = match data_type {
        DataType::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        DataType::Int64 => any::<i64>().prop_map(Value::Int64).boxed(),
        DataType::Uint64 => any::<u64>().prop_map(Value::Uint64).boxed(),
        DataType::Float64 => (-1e300..1e300).prop_map(Value::Float64).boxed(),
        DataType::Decimal => any::<i32>()
            .prop_map(|n| Value::Decimal(format!("{n}.50")))
            .boxed(),
        DataType::Text => ".{0,40}".prop_map(Value::Text).boxed(),
        DataType::Bytes => any::<Vec<u8>>().prop_map(Value::Bytes).boxed(),
        DataType::Date => any::<i32>().prop_map(Value::Date).boxed(),
        DataType::Time => (0..86_400_000_000_u64).prop_map(Value::Time).boxed(),
        DataType::Timestamp => any::<i64>().prop_map(Value::Timestamp).boxed(),
        DataType::TimestampUtc => any::<i64>().prop_map(Value::TimestampUtc).boxed(),
        DataType::Json => ".{0,9}"
            .prop_map(|text| Value::Json(serde_json::Value::String(text).to_string()))
            .boxed(),
        DataType::Any => Just(Value::Null).boxed(),
    };
    prop_oneof![1 => Just(Value::Null), 4 => value].boxed()
}

fn any_row() -> impl Strategy<Value = Row> {
    TYPES
        .iter()
        .map(|data_type| any_value(*data_type))
        .collect::<Vec<_>>()
}

/// All rows as batches within the limits, as a connector would send them.
fn batches(columns: &[Column], rows: &[Row], limits: BatchLimits) -> Vec<Batch> {
    let mut builder = BatchBuilder::new(columns.to_vec());
    let mut source = rows.iter();
    let mut batches = Vec::new();
    loop {
        builder.start(limits);
        while !builder.is_full() {
            let Some(row) = source.next() else { break };
            row.iter().for_each(|value| builder.append(value.clone()));
            builder.end_row();
        }
        match builder.finish().unwrap() {
            Some(batch) => batches.push(batch),
            None => return batches,
        }
    }
}

proptest! {
    #[test]
    fn every_value_comes_back(rows in prop::collection::vec(any_row(), 0..20), max_rows in 1..12_u32) {
        let columns = columns(&TYPES);
        let batches = batches(&columns, &rows, BatchLimits { max_rows, ..ROOMY });
        let is_large = |batch| rows_of(batch, &columns).len() * columns.len() > FEW_CELLS;
        let first_large = batches.iter().position(is_large).unwrap_or(batches.len());
        prop_assert!(batches[first_large..].iter().all(|batch| matches!(batch, Batch::Arrow(_))));
        let back: Vec<Row> = batches.iter().flat_map(|batch| rows_of(batch, &columns)).collect();
        prop_assert_eq!(back, rows);
    }

    #[test]
    fn no_row_is_lost_in_small_batches_of_either_form(
        rows in prop::collection::vec((any_value(DataType::Text), any_value(DataType::Int64)), 0..40),
        max_bytes in 0..2000_u32,
    ) {
        let rows: Vec<Row> = rows.into_iter().map(|(text, odd)| vec![text, odd]).collect();
        // Half of the second column's values have another type than it declares.
        let columns = vec![Column::new("a", DataType::Text), Column::new("b", DataType::Text).dynamic()];
        let batches = batches(&columns, &rows, BatchLimits { max_rows: 10, max_bytes });
        let back: Vec<Row> = batches.iter().flat_map(|batch| rows_of(batch, &columns)).collect();
        prop_assert_eq!(back, rows);
    }
}

#[test]
fn each_type_has_its_one_physical_form() {
    let nothing = vec![Value::Null; TYPES.len()];
    let batches = batches(&columns(&TYPES), &vec![nothing; FEW_CELLS], ROOMY);
    let batch = read_stream(&batches[0]);
    let forms: Vec<String> = batch
        .schema()
        .fields()
        .iter()
        .map(|field| field.data_type().to_string())
        .collect();
    assert_eq!(
        forms.join(" "),
        "Boolean Int64 UInt64 Float64 Utf8 Utf8 Binary Date32 Time64(µs) Timestamp(µs) Timestamp(µs, \"UTC\") Utf8"
    );
}

#[test]
fn a_large_row_comes_alone() {
    let columns = columns(&[DataType::Text]);
    let rows: Vec<Row> = ["a", "b", &"x".repeat(5000), "c"]
        .iter()
        .map(|text| vec![Value::Text(text.to_string())])
        .collect();
    let batches = batches(
        &columns,
        &rows,
        BatchLimits {
            max_rows: 100,
            max_bytes: 1000,
        },
    );
    let sizes: Vec<usize> = batches
        .iter()
        .map(|batch| rows_of(batch, &columns).len())
        .collect();
    assert_eq!(sizes, [2, 1, 1]);
}

#[test]
fn an_off_type_value_makes_its_batch_rows_and_no_other() {
    let columns = vec![Column::new("n", DataType::Int64).dynamic()];
    let odd = |number: i64| match number {
        150 => Value::Text("odd".into()),
        even => Value::Int64(even),
    };
    let rows: Vec<Row> = (0..300).map(|number| vec![odd(number)]).collect();
    let limits = BatchLimits {
        max_rows: 100,
        ..ROOMY
    };
    let batches = batches(&columns, &rows, limits);
    assert!(matches!(&batches[0], Batch::Arrow(_)));
    assert!(matches!(&batches[1], Batch::Rows(second) if second == &rows[100..200]));
    assert!(matches!(&batches[2], Batch::Arrow(_)));
}

#[test]
fn a_small_answer_travels_as_rows_and_a_large_one_never() {
    let columns = columns(&[DataType::Int64]);
    let rows: Vec<Row> = (0..200).map(|number| vec![Value::Int64(number)]).collect();
    let few = batches(&columns, &rows[..FEW_CELLS], ROOMY);
    assert_eq!(few, [Batch::Rows(rows[..FEW_CELLS].to_vec())]);
    let limits = BatchLimits {
        max_rows: 199,
        ..ROOMY
    };
    let many = batches(&columns, &rows, limits);
    assert!(matches!(many[..], [Batch::Arrow(_), Batch::Arrow(_)]));
    let long = vec![vec![Value::Int64(1)]; 3];
    let wide = vec![Column::new("a", DataType::Text)];
    let text = vec![vec![Value::Text("x".repeat(FEW_BYTES + 1))]];
    assert!(matches!(
        batches(&wide, &text, ROOMY)[..],
        [Batch::Arrow(_)]
    ));
    assert_eq!(batches(&columns, &long, ROOMY), [Batch::Rows(long)]);
}

#[test]
fn a_column_of_any_travels_as_rows() {
    let rows = vec![vec![Value::Int64(1)], vec![Value::Null]];
    let batches = batches(&columns(&[DataType::Any]), &rows, ROOMY);
    assert_eq!(batches, [Batch::Rows(rows)]);
}

#[test]
fn other_values_may_stand_in_any_column() {
    let rows = vec![vec![Value::Other("infinity".into())]];
    let batches = batches(&columns(&[DataType::Date]), &rows, ROOMY);
    assert_eq!(batches, [Batch::Rows(rows)]);
}

#[test]
fn faults_of_the_plugin_are_errors() {
    let fault = |fill: fn(&mut BatchBuilder)| {
        let mut builder = BatchBuilder::new(columns(&[DataType::Int64, DataType::Text]));
        builder.start(ROOMY);
        fill(&mut builder);
        builder.end_row();
        builder.finish().unwrap_err().message().to_owned()
    };
    assert_eq!(
        fault(|b| b.append_i64(1)),
        "a row has 1 values for 2 columns"
    );
    assert_eq!(
        fault(|b| {
            for number in 0..100 {
                b.append_i64(number);
                b.append_text("");
                b.end_row();
            }
            b.append_i64(100);
        }),
        "column `c1` was given 100 values for 101 rows"
    );
    assert_eq!(
        fault(|b| {
            b.append_i64(1);
            b.append_i64(2);
        }),
        "column `c1` is text and not dynamic, but was given a value of type int64"
    );
    assert_eq!(
        fault(|b| (0..3).for_each(|_| b.append_null())),
        "a row has more than 2 values"
    );
}

#[test]
fn a_table_without_columns_still_counts_rows() {
    let batches = batches(&[], &[vec![], vec![]], ROOMY);
    assert_eq!(read_stream(&batches[0]).num_rows(), 2);
}
