//! The shape of what the API gives: every documented field of every object, with its type, read from a live server.

use mindhost_tests::{Host, Postgres, ScriptedModel, Turn, Value, eventually, json};

use crate::responses::shop;

/// What a field must be.
enum Is {
    /// A text that parses as a UUID.
    Uuid,
    /// A text that is not empty.
    Text,
    /// A text that is not empty, or null.
    TextOrNull,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    Boolean,
    Array,
    ArrayOrNull,
    Object,
    /// `2026-01-31T23:59:59Z`, with or without fractions.
    Timestamp,
    /// `Sun, 06 Nov 1994 08:49:37 GMT`
    HttpDate,
    /// Exactly this.
    Value(Value),
}

use Is::{
    Array, ArrayOrNull, Boolean, HttpDate, Integer, Number, Object, Text, TextOrNull, Timestamp,
    Uuid,
};

/// Fails for the first field that is missing or of another type.
#[track_caller]
fn check(object: &Value, fields: &[(&str, Is)]) {
    for (name, is) in fields {
        let field = object
            .get(name)
            .unwrap_or_else(|| panic!("no `{name}` in {object}"));
        let text = field.as_str();
        let right = match is {
            Uuid => text.is_some_and(|text| uuid::Uuid::parse_str(text).is_ok()),
            Text => text.is_some_and(|text| !text.trim().is_empty()),
            TextOrNull => text.is_some_and(|text| !text.trim().is_empty()) || field.is_null(),
            Integer => field.is_u64(),
            Number => field.is_number(),
            Boolean => field.is_boolean(),
            Array => field.is_array(),
            ArrayOrNull => field.is_array() || field.is_null(),
            Object => field.is_object(),
            Timestamp => text
                .is_some_and(|text| text.ends_with('Z') && text.parse::<jiff::Timestamp>().is_ok()),
            HttpDate => text.is_some_and(|text| {
                // Such a date has one spelling: what was read from it is written in the same way.
                let date = jiff::fmt::rfc2822::parse(text);
                let again =
                    |date: jiff::Zoned| date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
                date.is_ok_and(|date| again(date) == text)
            }),
            Is::Value(value) => field == value,
        };
        assert!(right, "`{name}` of {object}");
    }
}

const STATISTICS: [(&str, Is); 8] = [
    ("most_common_values", ArrayOrNull),
    ("most_common_frequencies", ArrayOrNull),
    ("null_percentage", Number),
    ("distinct_values_count", Integer),
    ("min_value", Text),
    ("max_value", Text),
    ("estimated", Boolean),
    ("sampled_rows", Integer),
];

const COLUMN: [(&str, Is); 6] = [
    ("name", Text),
    ("data_type", Text),
    ("description", TextOrNull),
    ("default_value", TextOrNull),
    ("is_nullable", Boolean),
    ("statistics", Object),
];

const TABLE: [(&str, Is); 11] = [
    ("name", Text),
    ("schema", Text),
    ("description", TextOrNull),
    ("source_description", TextOrNull),
    ("type", Text),
    ("row_count", Integer),
    ("row_count_known", Boolean),
    ("status", Text),
    ("columns", Array),
    ("primary_key_constraints", Array),
    ("foreign_key_constraints", Array),
];

#[tokio::test]
async fn a_catalog_on_both_engines() {
    let sql = "CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL DEFAULT 'x');
        CREATE TABLE purchase (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customer (id), paid BOOLEAN);
        INSERT INTO customer VALUES (1, 'Ann'), (2, 'Bob');
        INSERT INTO purchase VALUES (1, 1, true), (2, 1, NULL);";
    let database = Postgres::shared().database(sql).await;
    let host = Host::start().await;
    for (engine, schema, source) in [
        ("sqlite", "main", host.sqlite("small", sql).await),
        (
            "postgres",
            "public",
            host.postgres("large", &database).await,
        ),
    ] {
        let catalog = source.load().await;
        check(
            &catalog,
            &[
                ("datasource", Object),
                ("tables", Array),
                ("total_tables", Is::Value(json!(2))),
                ("status", Object),
            ],
        );
        let times = [("created_at", Timestamp), ("modified_at", Timestamp)];
        check(&catalog["datasource"], &times);
        check(
            &catalog["datasource"],
            &[
                ("id", Uuid),
                ("name", Is::Value(json!(source.name))),
                // Nobody gave one.
                ("description", Is::Value(json!(""))),
                ("engine", Is::Value(json!(engine))),
            ],
        );
        check(
            &catalog["status"],
            &[
                ("overall_status", Is::Value(json!("COMPLETED"))),
                ("progress", Is::Value(json!(1.0))),
                ("message", Text),
                ("active_flow_runs", Is::Value(json!(0))),
            ],
        );
        for (name, columns) in [
            ("customer", &["id", "name"][..]),
            ("purchase", &["id", "customer", "paid"]),
        ] {
            let table = source.table(name).await;
            check(&table, &TABLE);
            check(&table, &[("schema", Is::Value(json!(schema)))]);
            let shown = table["columns"].as_array().unwrap();
            for column in shown {
                check(column, &COLUMN);
                check(&column["statistics"], &STATISTICS);
            }
            let names = shown.iter().map(|column| column["name"].as_str().unwrap());
            assert_eq!(names.collect::<Vec<_>>(), columns);
            let keys = table["primary_key_constraints"].as_array().unwrap();
            assert_eq!(keys.len(), 1, "{table}");
            check(
                &keys[0],
                &[
                    ("column_name", Is::Value(json!("id"))),
                    ("ordinal_position", Is::Value(json!(1))),
                    ("constraint_name", Text),
                ],
            );
        }
        let purchase = source.table("purchase").await;
        check(
            &purchase["foreign_key_constraints"][0],
            &[
                ("constraint_name", Text),
                ("ordinal_position", Is::Value(json!(1))),
                ("column_name", Is::Value(json!("customer"))),
                ("referenced_schema", Text),
                ("referenced_table", Is::Value(json!("customer"))),
                ("referenced_column", Is::Value(json!("id"))),
            ],
        );
    }
}

#[tokio::test]
async fn descriptions_of_tables_and_columns_are_written_and_cleared() {
    let (host, _mind) = shop().await;
    let table = "/datasources/shop/catalog/tables/customers";
    let column = format!("{table}/columns/country");
    for (path, shape) in [(table, &TABLE[..]), (&column, &COLUMN[..])] {
        for description in [json!("where they live"), Value::Null] {
            let body = json!({"description": description});
            let shown = host.patch(path, body).await.expect_status(200).json();
            check(&shown, shape);
            check(&shown, &[("description", Is::Value(description))]);
        }
    }
    check(
        &host
            .patch(&column, json!({"description": null}))
            .await
            .json()["statistics"],
        &[
            ("null_percentage", Number),
            ("distinct_values_count", Integer),
        ],
    );
}

#[tokio::test]
async fn refresh_takes_names_null_and_nothing_and_force_takes_all_where_a_mind_uses_them() {
    let (host, _mind) = shop().await;
    let path = "/datasources/shop/catalog/refresh?wait=60";
    for body in [
        json!({}),
        json!({"table_names": null}),
        json!({"table_names": ["orders"], "mode": "missing_only"}),
        json!({"table_names": null, "mode": "all"}),
        json!({"mode": "force"}),
    ] {
        let catalog = host.post(path, body).await.expect_status(200).json();
        check(
            &catalog["status"],
            &[("overall_status", Is::Value(json!("COMPLETED")))],
        );
        check(&catalog, &[("total_tables", Is::Value(json!(2)))]);
    }
}

#[tokio::test]
async fn a_mind_and_its_time_of_change() {
    let (host, _mind) = shop().await;
    let fields = [
        ("name", Text),
        ("datasources", Is::Value(json!(["shop"]))),
        ("model_name", Text),
        ("provider", Text),
        ("parameters", Object),
        ("created_at", HttpDate),
        ("updated_at", HttpDate),
        ("modified_at", HttpDate),
        ("status", Object),
        ("datasource_tables", Array),
    ];
    let listed = host.get("/minds").await.expect_status(200).json();
    check(&listed[0], &fields);
    let before = host.get("/minds/sales").await.expect_status(200).json();
    check(&before, &fields);
    // The time has whole seconds, so a change shows after at most one.
    let change = async || {
        let body = json!({"parameters": {"system_prompt": "Be brief."}});
        let after = host.put("/minds/sales", body).await.expect_status(200);
        after.json()
    };
    let after = eventually(change, |after| after["updated_at"] != before["updated_at"]).await;
    check(&after, &fields);
    assert_eq!(after["created_at"], before["created_at"]);
    assert_eq!(after["updated_at"], after["modified_at"]);
}

/// The response object of either kind of answer.
fn response(status: &str) -> [(&'static str, Is); 27] {
    [
        ("id", Uuid),
        ("object", Is::Value(json!("response"))),
        ("created_at", Integer),
        ("completed_at", Integer),
        ("status", Is::Value(json!(status))),
        ("error", Is::Value(Value::Null)),
        ("incomplete_details", Is::Value(Value::Null)),
        ("model", Text),
        ("output", Array),
        ("conversation", Object),
        ("previous_response_id", Is::Value(Value::Null)),
        ("instructions", TextOrNull),
        ("metadata", Is::Value(json!({"project": "shapes"}))),
        ("usage", Object),
        ("tools", Is::Value(json!([]))),
        ("background", Boolean),
        ("parallel_tool_calls", Boolean),
        ("text", Object),
        ("temperature", Is::Value(json!(1.0))),
        ("top_p", Is::Value(json!(1.0))),
        ("presence_penalty", Is::Value(json!(0.0))),
        ("frequency_penalty", Is::Value(json!(0.0))),
        ("top_logprobs", Is::Value(json!(0))),
        ("max_tool_calls", Is::Value(Value::Null)),
        ("service_tier", Is::Value(json!("default"))),
        ("safety_identifier", Is::Value(Value::Null)),
        ("prompt_cache_key", Is::Value(Value::Null)),
    ]
}

const USAGE: [(&str, Is); 5] = [
    ("input_tokens", Integer),
    ("input_tokens_details", Object),
    ("output_tokens", Integer),
    ("output_tokens_details", Object),
    ("total_tokens", Integer),
];

#[tokio::test]
async fn an_answer_in_words() {
    let (host, _mind) = shop().await;
    let sql = "SELECT count(*) AS n FROM customers";
    let run = Turn::call("run_sql", json!({"sql": sql}));
    let model = ScriptedModel::start([run, Turn::text("There are three.")]).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("told").datasource("shop");
    mind.provider("scripted").create().await;
    let body = json!({"model": "told", "input": "How many?", "metadata": {"project": "shapes"}, "instructions": "Count."});
    let made = host.post("/responses", body).await.expect_status(200);
    let made = made.json();
    let path = format!("/responses/{}", made["id"].as_str().unwrap());
    for shown in [made, host.get(&path).await.expect_status(200).json()] {
        check(&shown, &response("completed"));
        check(
            &shown,
            &[
                ("model", Is::Value(json!("told"))),
                ("instructions", Is::Value(json!("Count."))),
            ],
        );
        check(&shown["usage"], &USAGE);
        check(
            &shown["output"][0],
            &[
                ("type", Is::Value(json!("message"))),
                ("id", Uuid),
                ("status", Is::Value(json!("completed"))),
                ("role", Is::Value(json!("assistant"))),
                ("content", Array),
                ("sql", Is::Value(json!(sql))),
            ],
        );
        check(
            &shown["output"][0]["content"][0],
            &[
                ("type", Is::Value(json!("output_text"))),
                ("text", Is::Value(json!("There are three."))),
                ("annotations", Is::Value(json!([]))),
            ],
        );
    }
}

#[tokio::test]
async fn an_answer_in_rows_and_its_pages() {
    let (host, _mind) = shop().await;
    let sql = "SELECT id, total FROM orders ORDER BY id";
    let tool = json!({"type": "sql_query", "query": sql, "max_inline_rows": 1});
    let body = json!({"model": "sales", "tools": [tool], "metadata": {"project": "shapes"}});
    let made = host.post("/responses", body).await.expect_status(200);
    let made = made.json();
    check(&made, &response("completed"));
    check(&made["usage"], &USAGE);
    let item = &made["output"][0];
    check(
        item,
        &[
            ("type", Is::Value(json!("query_result"))),
            ("id", Uuid),
            ("status", Is::Value(json!("success"))),
            ("query", Is::Value(json!(sql))),
            ("executed_query", Text),
            ("column_names", Is::Value(json!(["id", "total"]))),
            ("column_types", Array),
            ("data", Is::Value(json!([[1, "12.5"]]))),
            ("total", Is::Value(json!(3))),
            ("has_more", Is::Value(json!(true))),
        ],
    );
    let executed = item["executed_query"].as_str().unwrap();
    assert!(
        executed.contains("\"orders\"") && !executed.contains("LIMIT"),
        "{executed}"
    );
    let types = [("name", Text), ("type", Text), ("native_type", Text)];
    check(&item["column_types"][0], &types);
    let page = host
        .get(&format!(
            "/conversations/{}/items/{}/result?offset=2",
            made["conversation"]["id"].as_str().unwrap(),
            item["id"].as_str().unwrap()
        ))
        .await
        .expect_status(200)
        .json();
    check(
        &page,
        &[
            ("result", Object),
            ("total", Is::Value(json!(3))),
            ("is_pagination_consistent", Is::Value(json!(true))),
        ],
    );
    check(
        &page["result"],
        &[
            ("data", Is::Value(json!([[3, "100"]]))),
            ("column_names", Is::Value(json!(["id", "total"]))),
            ("column_types", Array),
        ],
    );
}

#[tokio::test]
async fn ten_thousand_rows_are_given_at_once_unless_fewer_are_asked_for() {
    let host = Host::start().await;
    let sql = "CREATE TABLE numbers (n INTEGER);
        WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 10005) INSERT INTO numbers SELECT n FROM c;";
    host.sqlite("numbers", sql).await.load().await;
    let mind = host.mind("counting").datasource("numbers").direct_queries();
    let item = mind.create().await.query("SELECT n FROM numbers").await;
    assert_eq!(item["data"].as_array().map(Vec::len), Some(10_000));
    check(
        &item,
        &[
            ("total", Is::Value(json!(10_005))),
            ("has_more", Is::Value(json!(true))),
        ],
    );
}
