//! Charts of results, drawn by Vega.

use mindhost_chart::{Table, of_table};
use mindhost_plugin_api::{Column, DataType};
use mindhost_tests::{Host, Turn, Value, build, json};
use tokio::process::Command;

use super::{shop, told};
use crate::clients::check;

const PER_COUNTRY: &str = "SELECT country, count(*) AS customers FROM customers GROUP BY country";

/// Compiles and draws charts with vega-lite and vega. Each is `{name, spec}`, perhaps with the number of `marks`.
async fn draw(charts: &[Value]) {
    let lines: Vec<String> = charts.iter().map(Value::to_string).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), lines.join("\n")).unwrap();
    let script = build::workspace_dir().join("tests/clients/vega/render.mjs");
    let mut node: Command = build::node_script(&script).into();
    node.arg(file.path());
    check(node).await;
}

async fn ask(host: &Host, body: Value) -> Value {
    host.post("/responses", body)
        .await
        .expect_status(200)
        .json()
}

#[tokio::test]
async fn a_query_gives_a_chart_to_who_asks_for_it() {
    let (host, mind) = shop().await;
    let tool = json!({"type": "sql_query", "query": PER_COUNTRY, "max_inline_rows": 1});
    let body = json!({"model": mind.name, "tools": [tool], "include": ["chart"]});
    let response = ask(&host, body).await;
    let item = &response["output"][0];
    // The chart is of all rows, also where the item has only the first.
    assert_eq!(item["data"].as_array().unwrap().len(), 1);
    let spec = &item["chart"];
    assert_eq!(spec["mark"]["type"], "bar", "{item}");
    assert_eq!(spec["data"]["values"].as_array().unwrap().len(), 2);
    assert!(item["chart_reason"].as_str().unwrap().contains("country"));
    draw(&[json!({"name": "per country", "spec": spec, "marks": 2})]).await;

    let path = format!("/responses/{}", response["id"].as_str().unwrap());
    let stored = host.get(&path).await.expect_status(200).json();
    assert_eq!(
        stored["output"][0].get("chart"),
        None,
        "rows are not stored"
    );
    let plain = mind.query(PER_COUNTRY).await;
    assert_eq!(plain.get("chart"), None);

    let conversation = response["conversation"]["id"].as_str().unwrap();
    let result = format!(
        "/conversations/{conversation}/items/{}/result",
        item["id"].as_str().unwrap()
    );
    let page = host
        .get(&result)
        .query("limit", "1")
        .query("include", "chart");
    let page = page.await.expect_status(200).json();
    assert_eq!(&page["chart"], spec);
    let unknown = host.get(&result).query("include", "picture").await;
    unknown.expect_error(400, "invalid_parameter");
}

#[tokio::test]
async fn a_result_without_a_fitting_chart_says_why() {
    let (host, mind) = shop().await;
    let tool = json!({"type": "sql_query", "query": "SELECT count(*) AS n FROM customers"});
    let body = json!({"model": mind.name, "tools": [tool], "include": ["chart"], "store": false});
    let item = ask(&host, body).await["output"][0].clone();
    assert_eq!(item.get("chart"), Some(&Value::Null));
    assert_eq!(
        item["chart_reason"],
        "The result is one row, which is best read as it is."
    );
    let tool = json!({"type": "sql_query", "max_inline_rows": 1, "query":
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 5001) SELECT i AS size FROM n"});
    let body = json!({"model": mind.name, "tools": [tool], "include": ["chart"]});
    let item = ask(&host, body).await["output"][0].clone();
    assert_eq!(item["chart"], Value::Null);
    let reason = item["chart_reason"].as_str().unwrap();
    assert!(
        reason.contains("5000") && reason.contains("5001"),
        "{reason}"
    );
}

#[tokio::test]
async fn the_chart_goes_to_the_caller_and_not_to_the_model() {
    let (host, _) = shop().await;
    let settings = json!({"send_rows": false, "send_values": false});
    host.patch("/datasources/shop", settings)
        .await
        .expect_status(200);
    let run = Turn::call("run_sql", json!({"sql": PER_COUNTRY}));
    let turns = [
        run,
        Turn::text("Here they are."),
        Turn::text("I do not know."),
    ];
    let model = told(&host, turns).await;
    let body = json!({"model": "told", "input": "Customers per country?", "include": ["chart"], "stream": true});
    let events = host.stream("/responses", body).await.all().await;
    let last = events.last().unwrap();
    assert_eq!(last.name, "response.completed");
    let last = &last.data;
    let item = &last["response"]["output"][0];
    assert_eq!(
        item["chart"]["data"]["values"],
        json!([
            {"column_1": "DE", "column_2": 2}, {"column_1": "FR", "column_2": 1}
        ])
    );
    let done = events
        .iter()
        .find(|event| event.name == "response.output_item.done");
    assert_eq!(&done.unwrap().data["item"], item);
    let sent: Vec<String> = model
        .asked()
        .iter()
        .map(|asked| asked.body.to_string())
        .collect();
    assert!(
        sent.iter()
            .all(|body| !body.contains("column_1") && !body.contains("\"DE\"")),
        "{sent:?}"
    );
    let path = format!("/responses/{}", last["response"]["id"].as_str().unwrap());
    let stored = host.get(&path).await.expect_status(200).json();
    assert_eq!(
        stored["output"][0].get("chart"),
        None,
        "rows are not stored"
    );

    let body = json!({"model": "told", "input": "And why?", "include": ["chart"]});
    let item = ask(&host, body).await["output"][0].clone();
    assert_eq!(item.get("chart"), Some(&Value::Null));
    assert_eq!(
        item["chart_reason"],
        "The answer is not based on a statement."
    );
}

/// Numbers that look random and are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

const NAMES: &[&str] = &[
    "",
    "a.b[0]",
    "a\\.b",
    "__proto__",
    "constructor",
    "datum['x']",
    "</script><b>",
    "'\"`\\",
    "\u{0}\n\r\u{202e}",
    "id",
    "year",
    "month",
    "total",
    "country",
    "https://example.com/x.png",
    "{\"signal\": \"1\"}",
    "🦀",
];

/// A cell that this type can have, often one that it had before.
fn cell(data_type: DataType, numbers: &mut Numbers) -> Value {
    let number = numbers.below(30);
    if number == 0 {
        return Value::Null;
    }
    match data_type {
        DataType::Boolean => json!(number.is_multiple_of(2)),
        DataType::Int64 | DataType::Uint64 => json!(number * number),
        DataType::Float64 if number == 1 => json!("NaN"),
        DataType::Float64 => json!(number as f64 * 1e-7 - 1e300 * (number % 2) as f64),
        DataType::Decimal => json!(format!("{number}.50")),
        DataType::Date => json!(format!("2024-01-{number:02}")),
        DataType::Timestamp => json!(format!("2024-01-01T00:00:{number:02}.5")),
        DataType::TimestampUtc => json!(format!("0001-01-01T00:00:{number:02}Z")),
        DataType::Time => json!(format!("00:00:{number:02}")),
        DataType::Text | DataType::Bytes | DataType::Json => json!(NAMES[number % NAMES.len()]),
        DataType::Any if number.is_multiple_of(3) => json!(NAMES[number % NAMES.len()]),
        DataType::Any => json!(number),
    }
}

/// A chart of a made-up result, if one fits.
fn made_up(numbers: &mut Numbers) -> Option<Value> {
    use DataType::{
        Any, Boolean, Date, Decimal, Float64, Int64, Json, Text, Time, Timestamp, TimestampUtc,
        Uint64,
    };
    let types = [
        Any,
        Boolean,
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
    ];
    let width = 1 + numbers.below(4);
    let columns: Vec<Column> = (0..width)
        .map(|_| Column {
            name: NAMES[numbers.below(NAMES.len())].to_owned(),
            data_type: types[numbers.below(types.len())],
            native_type: String::new(),
            nullable: true,
        })
        .collect();
    let rows: Vec<Vec<Value>> = (0..2 + numbers.below(12))
        .map(|_| {
            columns
                .iter()
                .map(|column| cell(column.data_type, numbers))
                .collect()
        })
        .collect();
    let is_ordered = numbers.below(2) == 0;
    let table = Table {
        columns: &columns,
        rows: &rows,
        is_ordered,
        unsummable: &[],
    };
    let spec = of_table(table).spec?;
    Some(json!({"name": format!("{columns:?}"), "spec": spec}))
}

#[tokio::test]
async fn charts_of_hostile_results_are_drawn() {
    let mut numbers = Numbers(7);
    let charts: Vec<Value> = (0..600).filter_map(|_| made_up(&mut numbers)).collect();
    let kinds = ["line", "bar", "point"];
    for kind in kinds {
        let count = charts
            .iter()
            .filter(|chart| chart["spec"]["mark"]["type"] == kind)
            .count();
        assert!(count >= 10, "{count} charts are of the kind {kind}");
    }
    draw(&charts).await;
}
