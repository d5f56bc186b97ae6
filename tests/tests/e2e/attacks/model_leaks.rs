//! A vendor's model must not learn the values of a datasource, and tries to have them told by something else.

use mindhost_tests::{Host, Mind, ScriptedModel, Turn, Value, json};

const STAFF: &str = "
    CREATE TABLE staff (id INTEGER PRIMARY KEY, name TEXT, salary INTEGER);
    INSERT INTO staff VALUES (1, 'Ann', 73), (2, 'Bob', 51);";

/// A Mind over a datasource of which neither rows nor values may go to the vendor.
async fn staff(model: &ScriptedModel) -> (Host, Mind) {
    let host = Host::start().await;
    host.sqlite("staff", STAFF).await.load().await;
    let settings = json!({"send_rows": false, "send_values": false});
    host.patch("/datasources/staff", settings)
        .await
        .expect_status(200);
    host.scripted_provider("scripted", model).await;
    let mind = host.mind("clerk").datasource("staff").provider("scripted");
    let mind = mind.direct_queries().create().await;
    (host, mind)
}

fn run_sql(sql: &str) -> Turn {
    Turn::call("run_sql", json!({"sql": sql}))
}

/// As many rows as the number that the expression gives.
fn as_many_rows_as(expression: &str) -> String {
    format!(
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < ({expression})) SELECT i FROM n"
    )
}

/// What the tools gave the model.
fn results(model: &ScriptedModel) -> Vec<Value> {
    let told = model.last();
    let messages = told["messages"].as_array().unwrap().iter();
    let results = messages.filter(|message| message["role"] == "tool");
    results
        .map(|message| serde_json::from_str(message["content"].as_str().unwrap()).unwrap())
        .collect()
}

/// What the model was shown last.
fn shown(model: &ScriptedModel) -> Value {
    results(model).pop().unwrap()
}

#[tokio::test]
async fn number_of_rows_tells_no_number() {
    let salary = as_many_rows_as("SELECT salary FROM staff WHERE id = 1");
    let model = ScriptedModel::start([run_sql(&salary), Turn::text("Done.")]).await;
    let (_host, mind) = staff(&model).await;
    mind.answer("What does Ann earn?").await;
    let shown = shown(&model);
    assert_eq!(shown["row_count"], "many");
    assert_eq!(shown["rows_withheld"], true);
    assert!(!shown.to_string().contains("73"), "{shown}");
}

#[tokio::test]
async fn number_of_rows_tells_no_letter() {
    let letter = as_many_rows_as("SELECT unicode(name) FROM staff WHERE id = 1");
    let model = ScriptedModel::start([run_sql(&letter), Turn::text("Done.")]).await;
    let (_host, mind) = staff(&model).await;
    mind.answer("What is the first letter?").await;
    assert_eq!(shown(&model)["row_count"], "many");
}

#[tokio::test]
async fn none_and_one_are_told_because_an_answer_needs_them() {
    for (id, count) in [(9, 0), (1, 1)] {
        let one = format!("SELECT name FROM staff WHERE id = {id}");
        let model = ScriptedModel::start([run_sql(&one), Turn::text("Done.")]).await;
        let (_host, mind) = staff(&model).await;
        mind.answer("Is there one?").await;
        assert_eq!(shown(&model)["row_count"], count);
    }
}

#[tokio::test]
async fn earlier_query_of_the_caller_tells_the_model_no_number() {
    let model = ScriptedModel::start([Turn::text("Done.")]).await;
    let (host, mind) = staff(&model).await;
    let salary = as_many_rows_as("SELECT salary FROM staff WHERE id = 1");
    let first = mind.sql(&salary).await.expect_status(200).json();
    assert_eq!(first["output"][0]["total"], 73);
    let next =
        json!({"model": mind.name, "input": "Go on.", "conversation": first["conversation"]["id"]});
    host.post("/responses", next).await.expect_status(200);
    let told = model.last()["messages"].to_string();
    assert!(
        told.contains("WITH RECURSIVE") && !told.contains("73"),
        "{told}"
    );
}

#[tokio::test]
async fn error_message_of_the_engine_is_withheld() {
    let spoken = "SELECT json_extract(name, '$.a') FROM staff WHERE id = 1";
    let model = ScriptedModel::start([run_sql(spoken), Turn::text("Done.")]).await;
    let (_host, mind) = staff(&model).await;
    mind.answer("What is her name?").await;
    let shown = shown(&model);
    assert_eq!(shown["error"]["code"], "sql_invalid", "{shown}");
    let message = shown["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("withheld") && !message.contains("Ann"),
        "{shown}"
    );
}

#[tokio::test]
async fn catalog_tells_the_magnitude_of_counts_and_no_count() {
    // 73 rows with 29 names; 31 of them have no note.
    let sql = "CREATE TABLE visits (name TEXT, note TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 73)
        INSERT INTO visits SELECT char(65 + i % 29), iif(i <= 31, NULL, 'seen') FROM n;";
    let model = ScriptedModel::start([
        Turn::call("search_catalog", json!({"query": ""})),
        Turn::call("describe_tables", json!({"tables": ["visits"]})),
        Turn::text("Done."),
    ])
    .await;
    let host = Host::start().await;
    host.sqlite("visits", sql).await.load().await;
    let path = "/datasources/visits";
    let sent = host.patch(path, json!({"send_rows": false})).await;
    sent.expect_status(200);
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("clerk").datasource("visits");
    let mind = mind.provider("scripted").create().await;
    mind.answer("What is there?").await;
    let shown = results(&model);
    let table = &shown[1]["tables"][0];
    assert_eq!(shown[0]["tables"][0]["rows_below"], 100, "{shown:?}");
    assert_eq!(table["rows_below"], 100, "{shown:?}");
    assert_eq!(table["columns"][0]["distinct_below"], 100, "{table}");
    let prompt = model.asked()[0].text_of("system");
    let prompt = prompt.split_once("<catalog>\n").unwrap().1;
    let results = [shown[0].to_string(), shown[1].to_string()];
    for told in [prompt, &results[0], &results[1]] {
        for count in ["73", "29", "31", "42.4", "57.5"] {
            assert!(!told.contains(count), "{count}: {told}");
        }
    }
    // The holder of the key reads the counts of the catalog.
    let catalog = host.get("/datasources/visits/catalog").await.json();
    assert_eq!(catalog["tables"][0]["row_count"], 73);
}

#[tokio::test]
async fn catalog_tells_no_value_and_not_how_many_there_are() {
    let describe = Turn::call("describe_tables", json!({"tables": ["staff"]}));
    let model = ScriptedModel::start([describe, Turn::text("Done.")]).await;
    let (_host, mind) = staff(&model).await;
    mind.answer("What is there?").await;
    let shown = shown(&model);
    let columns = shown["tables"][0]["columns"].as_array().unwrap();
    assert!(!columns.is_empty(), "{shown}");
    for column in columns {
        assert_eq!(column["distinct_count"], Value::Null, "{column}");
        for hidden in ["common_values", "min", "max"] {
            assert!(column.get(hidden).is_none(), "{column}");
        }
    }
}
