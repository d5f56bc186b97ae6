//! The move from federation in the host to Trino, as `host/docs/scale.md` describes it: the same questions have the same
//! answers before and after.

use std::fs;

use serde_json::{Value, json};

use crate::compare;
use crate::host::Host;
use crate::postgres::Postgres;
use crate::tpch::{self, QUOTIENTS, adapted, made};
use crate::trino::Trino;

pub const CRM: [&str; 3] = ["customer", "orders", "lineitem"];
pub const WORLD: [&str; 5] = ["part", "partsupp", "supplier", "nation", "region"];

#[test]
fn questions_have_the_same_answers_after_the_move() {
    let data = made();
    let postgres = Postgres::start();
    postgres.database("crm", &CRM, data);
    postgres.database("world", &WORLD, data);
    let host = Host::start();
    for name in ["crm", "world"] {
        host.datasource(name, "postgres", postgres.connection_data(name));
    }
    host.mind("before", &json!(["crm", "world"]));

    // The steps of the document: a catalog for each datasource, views in one catalog, and a datasource for that.
    let catalogs = ["crm", "world"].map(|name| (name, postgres.catalog(name)));
    let trino = Trino::alone(&catalogs);
    trino.rows("CREATE SCHEMA memory.shop");
    let tables = CRM.map(|table| ("crm", table));
    let more = WORLD.map(|table| ("world", table));
    for (catalog, table) in tables.into_iter().chain(more) {
        trino.rows(&format!(
            "CREATE VIEW memory.shop.{table} SECURITY DEFINER AS SELECT * FROM {catalog}.public.{table}"
        ));
    }
    let mut lake = trino.connection_data("memory");
    lake["schemas"] = json!(["shop"]);
    host.datasource("lake", "trino", lake);
    host.mind("after", &json!(["lake"]));

    let answers = fs::read(data.join("answers.json")).unwrap();
    let answers: Value = serde_json::from_slice(&answers).unwrap();
    let mut wrong = Vec::new();
    for (query, answer) in answers.as_object().unwrap() {
        let sql = answer["sql"].as_str().unwrap();
        let before = host.query("before", sql);
        let after = host.query("after", &adapted(sql));
        let (expected, types) = tpch::answer(answer);
        // The host keeps more digits of a quotient than Trino does.
        let before = compare::rows(rows(&before), &expected, &types);
        let after = compare::rows_with(rows(&after), &expected, &types, QUOTIENTS);
        for (when, compared) in [("before", before), ("after", after)] {
            if let Err(why) = compared {
                wrong.push(format!("Q{query} {when}: {why}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn rows(result: &Value) -> &[Value] {
    result["data"].as_array().map_or(&[], Vec::as_slice)
}
