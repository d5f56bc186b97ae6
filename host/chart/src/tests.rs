use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Chart, Table, of_table};
use mindhost_plugin_api::{Column, DataType};

/// The chart of a result: columns as `name type`, rows as JSON.
fn chart(columns: &[(&str, DataType)], rows: &Value) -> Chart {
    chart_in_order(columns, rows, false)
}

fn chart_in_order(columns: &[(&str, DataType)], rows: &Value, is_ordered: bool) -> Chart {
    let columns: Vec<Column> = columns
        .iter()
        .map(|(name, data_type)| Column {
            name: (*name).to_owned(),
            data_type: *data_type,
            native_type: String::new(),
            nullable: true,
        })
        .collect();
    let rows: Vec<Vec<Value>> = serde_json::from_value(rows.clone()).unwrap();
    of_table(Table {
        columns: &columns,
        rows: &rows,
        is_ordered,
        unsummable: &[],
    })
}

#[track_caller]
fn spec(chart: Chart) -> Value {
    chart
        .spec
        .unwrap_or_else(|| panic!("no chart: {}", chart.reason))
}

#[track_caller]
fn no_chart(chart: &Chart, reason: &str) {
    assert!(chart.spec.is_none(), "{chart:?}");
    assert!(chart.reason.contains(reason), "{}", chart.reason);
}

const TEXT: DataType = DataType::Text;
const INT: DataType = DataType::Int64;

#[test]
fn category_and_measure_are_bars_the_longest_first() {
    let rows = json!([["DE", 5], ["FR", 9], ["PL", null]]);
    let chart = chart(&[("country", TEXT), ("orders", INT)], &rows);
    assert_eq!(
        spec(chart),
        json!({
            "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
            "title": "orders by country",
            "description": "Bar chart of 3 rows: orders by country",
            "data": {"values": [
                {"column_1": "DE", "column_2": 5},
                {"column_1": "FR", "column_2": 9},
                {"column_1": "PL", "column_2": null}
            ]},
            "mark": {"type": "bar", "tooltip": true},
            "encoding": {
                "x": {"field": "column_1", "type": "nominal", "title": "country", "sort": "-y"},
                "y": {"field": "column_2", "type": "quantitative", "title": "orders"}
            }
        })
    );
}

#[test]
fn ordered_result_keeps_its_order_and_many_or_long_names_lie_down() {
    let rows: Vec<Value> = (0..9).map(|row| json!([format!("c{row}"), row])).collect();
    let columns = [("country", TEXT), ("orders", INT)];
    let many = spec(chart_in_order(&columns, &json!(rows), true));
    assert_eq!(many["encoding"]["y"]["field"], "column_1");
    assert_eq!(many["encoding"]["y"]["sort"], Value::Null);
    let rows = json!([["a rather long name", 1], ["b", 2]]);
    let long = spec(chart(&columns, &rows));
    assert_eq!(long["encoding"]["y"]["sort"], "-x");
}

#[test]
fn time_and_measure_are_a_line_in_utc() {
    let rows = json!([["2024-01", "10.50"], ["2024-02", "7"]]);
    let columns = [("month", TEXT), ("revenue", DataType::Decimal)];
    let line = spec(chart(&columns, &rows));
    assert_eq!(line["mark"]["type"], "line");
    assert_eq!(
        line["data"],
        json!({
            "values": [
                {"column_1": "2024-01-01T00:00:00Z", "column_2": 10.5},
                {"column_1": "2024-02-01T00:00:00Z", "column_2": 7.0}
            ],
            "format": {"type": "json", "parse": {"column_1": "date"}}
        })
    );
    assert_eq!(
        line["encoding"]["x"],
        json!({"field": "column_1", "type": "temporal", "title": "month", "scale": {"type": "utc"},
            "axis": {"format": "%b %Y"}})
    );
}

#[test]
fn years_are_times_and_months_as_numbers_are_not_measures() {
    let years = chart(
        &[("year", INT), ("orders", INT)],
        &json!([[2023, 5], [2024, 6]]),
    );
    let years = spec(years);
    assert_eq!(
        years["data"]["values"][0]["column_1"],
        "2023-01-01T00:00:00Z"
    );
    let months = json!([[1, 5], [2, 6]]);
    let months = spec(chart(&[("month", INT), ("orders", INT)], &months));
    assert_eq!(months["mark"]["type"], "bar");
    assert_eq!(months["encoding"]["x"]["type"], "ordinal");
    assert_eq!(months["encoding"]["x"].get("sort"), None);
}

#[test]
fn quarters_and_weeks_stand_in_their_order() {
    for labels in [["2023-Q4", "2024-Q1"], ["2023 W52", "2024 W01"]] {
        let rows = json!([[labels[1], 5], [labels[0], 6]]);
        let chart = spec(chart(&[("period", TEXT), ("orders", INT)], &rows));
        assert_eq!(chart["encoding"]["x"]["type"], "ordinal");
        assert_eq!(chart["encoding"]["x"].get("sort"), None);
        assert_eq!(chart["data"]["values"][0]["column_1"], labels[1]);
    }
    let rows = json!([["2024-Q1", 5], ["2024 total", 6]]);
    let mixed = spec(chart(&[("period", TEXT), ("orders", INT)], &rows));
    assert_eq!(mixed["encoding"]["x"]["type"], "nominal");
}

#[test]
fn moments_of_all_types_are_written_in_utc() {
    let rows = json!([["2024-03-05T10:00:00+02:00", 1], ["2024-03-05 11:00:00", 2]]);
    let chart = spec(chart(&[("at", TEXT), ("n", INT)], &rows));
    let values = &chart["data"]["values"];
    assert_eq!(values[0]["column_1"], "2024-03-05T08:00:00Z");
    assert_eq!(values[1]["column_1"], "2024-03-05T11:00:00Z");
}

#[test]
fn several_measures_get_a_chart_each() {
    let rows = json!([["2024-01-01", 10, 0.5], ["2024-01-02", 7, 0.25]]);
    let columns = [
        ("day", DataType::Date),
        ("orders", INT),
        ("share", DataType::Float64),
    ];
    let lines = spec(chart(&columns, &rows));
    assert_eq!(lines["encoding"]["row"]["field"], "measure");
    assert_eq!(lines["resolve"], json!({"scale": {"y": "independent"}}));
    assert_eq!(
        lines["data"]["values"][1],
        json!({"column_1": "2024-01-01T00:00:00Z", "measure": "share", "value": 0.5})
    );
    let rows = json!([["DE", 5, 1.5], ["FR", 9, 2.5]]);
    let columns = [("country", TEXT), ("n", INT), ("n", INT)];
    let bars = spec(chart(&columns, &rows));
    assert_eq!(bars["data"]["values"][0]["measure"], "n (column 2)");
    assert_eq!(bars["data"]["values"][1]["measure"], "n (column 3)");
}

#[test]
fn time_and_category_are_a_line_for_each() {
    let rows = json!([
        ["2023", "web", 1],
        ["2023", "app", 2],
        ["2024", "web", 3],
        ["2024", "app", 4]
    ]);
    let lines = spec(chart(
        &[("year", TEXT), ("channel", TEXT), ("n", INT)],
        &rows,
    ));
    assert_eq!(lines["mark"]["type"], "line");
    assert_eq!(lines["encoding"]["color"]["title"], "channel");
}

#[test]
fn two_categories_are_stacked_only_if_their_sum_says_something() {
    let rows = json!([
        ["DE", "web", 1],
        ["DE", "app", 2],
        ["FR", "web", 3],
        ["FR", "app", 4]
    ]);
    let of = |measure: &str| {
        spec(chart(
            &[("country", TEXT), ("channel", TEXT), (measure, INT)],
            &rows,
        ))
    };
    let sums = of("order_count");
    assert_eq!(sums["encoding"]["y"]["stack"], "zero");
    let means = of("average_total");
    assert_eq!(means["encoding"]["y"]["stack"], Value::Null);
    assert_eq!(means["encoding"]["xOffset"]["field"], "column_2");
    for other in ["discount", "max_amount", "running_total", "units per order"] {
        assert_eq!(
            of(other)["encoding"]["y"]["stack"],
            Value::Null,
            "{other} does not add up"
        );
    }
}

#[test]
fn average_is_not_stacked_whatever_its_name_is() {
    let cells: Vec<Vec<Value>> = serde_json::from_value(json!([
        ["DE", "web", 1],
        ["DE", "app", 2],
        ["FR", "web", 3]
    ]))
    .unwrap();
    let columns = [("country", TEXT), ("channel", TEXT), ("revenue", INT)];
    let columns = columns.map(|(name, data_type)| Column {
        name: name.to_owned(),
        data_type,
        native_type: String::new(),
        nullable: true,
    });
    for (unsummable, stack) in [
        (&[][..], json!("zero")),
        (&[true, true, false], json!("zero")),
        (&[false, false, true], Value::Null),
    ] {
        let chart = of_table(Table {
            columns: &columns,
            rows: &cells,
            is_ordered: false,
            unsummable,
        });
        let is_beside = chart.reason.contains("beside one another");
        assert_eq!(is_beside, stack.is_null(), "{}", chart.reason);
        assert_eq!(spec(chart)["encoding"]["y"]["stack"], stack);
    }
}

#[test]
fn two_long_categories_are_a_grid() {
    let cells = (0..12)
        .flat_map(|x| (0..12).map(move |y| json!([format!("x{x}"), format!("y{y}"), x * y])));
    let rows: Vec<Value> = cells.collect();
    let grid = spec(chart(&[("a", TEXT), ("b", TEXT), ("n", INT)], &json!(rows)));
    assert_eq!(grid["mark"]["type"], "rect");
}

#[test]
fn two_measures_are_points_and_many_numbers_a_histogram() {
    let rows: Vec<Value> = (0..40).map(|row| json!([row, row * row])).collect();
    let points = spec(chart(&[("weight", INT), ("price", INT)], &json!(rows)));
    assert_eq!(points["mark"]["type"], "point");
    let rows: Vec<Value> = (0..40).map(|row| json!([row % 7])).collect();
    let histogram = spec(chart(&[("rating", INT)], &json!(rows)));
    assert_eq!(histogram["encoding"]["y"]["aggregate"], "count");
}

#[test]
fn shares_of_a_whole_are_bars_and_the_reason_says_so() {
    let rows = json!([["web", 0.5], ["app", 0.3], ["phone", 0.2]]);
    let chart = chart(&[("channel", TEXT), ("share", DataType::Float64)], &rows);
    assert!(chart.reason.contains("pie"), "{}", chart.reason);
    assert_eq!(spec(chart)["mark"]["type"], "bar");
}

#[test]
fn values_that_are_missing_or_infinite_are_no_shares() {
    for (one, other) in [(json!(null), json!(null)), (json!("NaN"), json!("inf"))] {
        let rows = json!([["web", one], ["app", other], ["phone", 1.0]]);
        let chart = chart(&[("channel", TEXT), ("share", DataType::Float64)], &rows);
        assert!(!chart.reason.contains("whole"), "{}", chart.reason);
    }
}

#[test]
fn results_without_a_fitting_chart_say_why() {
    let two = [("country", TEXT), ("orders", INT)];
    no_chart(&chart(&two, &json!([])), "no rows");
    no_chart(&chart(&two, &json!([["DE", 5]])), "one row");
    no_chart(
        &chart(&[("name", TEXT)], &json!([["Ann"], ["Bob"]])),
        "No column",
    );
    no_chart(
        &chart(&two, &json!([["DE", 5], ["DE", 6], ["FR", 1]])),
        "Group the rows",
    );
    let rows: Vec<Value> = (0..61).map(|row| json!([format!("c{row}"), row])).collect();
    no_chart(&chart(&two, &json!(rows)), "61 bars");
    no_chart(
        &chart(
            &[("body", DataType::Json), ("n", INT)],
            &json!([[{}, 1], [{}, 2]]),
        ),
        "No column names the rows",
    );
    no_chart(
        &chart(&two, &json!([["x".repeat(100), 5], ["y", 6]])),
        "No column names the rows",
    );
}

#[test]
fn numbers_that_name_something_are_no_measures() {
    let rows = json!([[7, 10], [8, 20]]);
    let bars = spec(chart(&[("customer_id", INT), ("revenue", INT)], &rows));
    assert_eq!(bars["encoding"]["x"]["field"], "column_1");
    assert_eq!(bars["data"]["values"][0]["column_1"], "7");
    no_chart(
        &chart(&[("id", INT), ("customerId", INT)], &rows),
        "No column",
    );
    for name in ["phone_number", "rank", "ROW_NUMBER"] {
        no_chart(&chart(&[("name", TEXT), (name, INT)], &rows), "No column");
    }
}

#[test]
fn counts_of_keys_and_figures_per_time_are_measures() {
    let rows = json!([["DE", 1200], ["FR", 1400]]);
    for name in ["count(id)", "number of codes", "orders_per_year"] {
        let bars = spec(chart(&[("country", TEXT), (name, INT)], &rows));
        assert_eq!(bars["encoding"]["y"]["field"], "column_2", "{name}");
    }
}

#[test]
fn years_with_a_fraction_of_zero_are_times() {
    let rows = json!([[2023.0, 5], [2024.0, 6]]);
    let line = spec(chart(&[("year", DataType::Float64), ("n", INT)], &rows));
    assert_eq!(line["mark"]["type"], "line");
    assert_eq!(
        line["data"]["values"][0]["column_1"],
        "2023-01-01T00:00:00Z"
    );
}

#[test]
fn infinite_numbers_are_missing_and_missing_categories_are_named() {
    let rows = json!([[null, "NaN"], ["a", "1e3"], ["b", "-Infinity"]]);
    let chart = spec(chart(&[("c", TEXT), ("x", DataType::Float64)], &rows));
    assert_eq!(
        chart["data"]["values"][0],
        json!({"column_1": "(no value)", "column_2": null})
    );
    assert_eq!(chart["data"]["values"][1]["column_2"], 1000.0);
}

#[test]
fn titles_cannot_end_the_text_that_vega_writes_them_into() {
    let name = "a\\\": 1}, {\u{2028}x\u{202e}";
    let bars = spec(chart(
        &[(name, TEXT), ("n", INT)],
        &json!([["b", 1], ["c", 2]]),
    ));
    assert_eq!(bars["encoding"]["x"]["title"], "a⧵\": 1}, { x");
    let rows = json!([["b", 1], ["c", 2]]);
    let bars = spec(chart(&[("constructor", TEXT), ("n", INT)], &rows));
    assert_eq!(bars["encoding"]["x"]["title"], "column constructor");
}

const HOSTILE: &[&str] = &[
    "",
    "a.b[0]",
    "a\\.b",
    "__proto__",
    "constructor",
    "datum['x']",
    "</script><b>",
    "'\"`",
    "\u{0}\n\r",
    "\u{202e}x",
    "https://example.com/x.png",
    "javascript:alert(1)",
    "{\"signal\": \"1\"}",
    "2024-02-30",
    "NaN",
    "1e999",
    "🦀",
];

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(HOSTILE).prop_map(str::to_owned),
        prop::sample::select(&["id", "year", "month", "total", "country", "at"][..])
            .prop_map(str::to_owned),
        ".{0,12}".prop_map(|text| text.to_string()),
    ]
}

fn cell() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-5_i64..5).prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        (0..4_000_i64).prop_map(|day| json!(format!(
            "{:04}-{:02}-{:02}",
            2000 + day / 400,
            1 + day % 12,
            1 + day % 28
        ))),
        prop::sample::select(HOSTILE).prop_map(Value::from),
        "[a-c]{1,2}".prop_map(Value::from),
        Just(json!({"url": "https://example.com", "expr": "1"})),
    ]
}

fn shape() -> impl Strategy<Value = (Vec<Column>, Vec<Vec<Value>>, bool)> {
    use DataType::{
        Any, Boolean, Bytes, Date, Decimal, Float64, Int64, Json, Text, Time, Timestamp,
        TimestampUtc, Uint64,
    };
    let types = &[
        Any,
        Boolean,
        Bytes,
        Date,
        Decimal,
        Float64,
        Int64,
        Json,
        Text,
        Time,
        Timestamp,
        TimestampUtc,
        Uint64,
    ][..];
    let column = (name(), prop::sample::select(types)).prop_map(|(name, data_type)| Column {
        name,
        data_type,
        native_type: String::new(),
        nullable: true,
    });
    prop::collection::vec(column, 1..5).prop_flat_map(|columns| {
        let row = prop::collection::vec(cell(), columns.len());
        (
            Just(columns),
            prop::collection::vec(row, 0..40),
            any::<bool>(),
        )
    })
}

proptest! {
    #[test]
    fn any_result_gives_a_spec_of_known_fields_or_a_reason((columns, rows, is_ordered) in shape()) {
        let chart = of_table(Table { columns: &columns, rows: &rows, is_ordered, unsummable: &[] });
        prop_assert!(!chart.reason.is_empty());
        if let Some(spec) = chart.spec {
            only_known(&spec)?;
        }
    }
}

/// A specification has the keys of this list, its fields are in each row, and its data are values.
fn only_known(spec: &Value) -> Result<(), TestCaseError> {
    let keys: Vec<&str> = spec
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let known = [
        "$schema",
        "title",
        "description",
        "data",
        "mark",
        "encoding",
        "resolve",
    ];
    prop_assert!(keys.iter().all(|key| known.contains(key)), "{:?}", keys);
    let values = spec["data"]["values"].as_array().unwrap();
    for (channel, encoding) in spec["encoding"].as_object().unwrap() {
        for key in encoding.as_object().unwrap().keys() {
            let known = [
                "field",
                "type",
                "title",
                "sort",
                "scale",
                "axis",
                "stack",
                "bin",
                "aggregate",
            ];
            prop_assert!(known.contains(&key.as_str()), "{} {}", channel, key);
        }
        if let Some(field) = encoding["field"].as_str() {
            prop_assert!(
                values.iter().all(|row| row.get(field).is_some()),
                "{}",
                field
            );
        }
    }
    for cell in values
        .iter()
        .flat_map(|row| row.as_object().unwrap().values())
    {
        prop_assert!(!cell.is_object() && !cell.is_array(), "{}", cell);
    }
    Ok(())
}
