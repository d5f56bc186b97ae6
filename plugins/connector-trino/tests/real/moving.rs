//! The move from federation in the host to Trino, as `host/docs/scale.md` describes it: the same questions have the same
//! answers before and after. `just test-trino-tpch` has ten times the data of the usual tests.

use mindhost_tests::tpch::MADE;
use serde_json::json;

use crate::compare;
use crate::host::Host;
use crate::postgres::Postgres;
use crate::tpch::{QUOTIENTS, adapted, rows};
use crate::trino::Trino;

pub const CRM: [&str; 3] = ["customer", "orders", "lineitem"];
pub const WORLD: [&str; 5] = ["part", "partsupp", "supplier", "nation", "region"];

/// Moves from two databases to a Trino that `start` starts with a catalog for each.
fn check(start: impl FnOnce(&[(&str, String)]) -> Trino) {
    let postgres = Postgres::start();
    postgres.database("crm", &CRM, &MADE.folder);
    postgres.database("world", &WORLD, &MADE.folder);
    let host = Host::start();
    for name in ["crm", "world"] {
        host.datasource(name, "postgres", postgres.connection_data(name));
    }
    host.mind("before", &json!(["crm", "world"]));

    // The steps of the document: a catalog for each datasource, views in one catalog, and a datasource for that.
    let catalogs = ["crm", "world"].map(|name| (name, postgres.catalog(name)));
    let trino = start(&catalogs);
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

    let mut wrong = Vec::new();
    for query in &MADE.queries {
        let before = host.query("before", &query.sql);
        let after = host.query("after", &adapted(&query.sql));
        // The host keeps more digits of a quotient than Trino does.
        let before = compare::rows(rows(&before), &query.rows, &query.types);
        let after = compare::rows_with(rows(&after), &query.rows, &query.types, QUOTIENTS);
        for (when, compared) in [("before", before), ("after", after)] {
            if let Err(why) = compared {
                wrong.push(format!("Q{} {when}: {why}", query.number));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn questions_have_the_same_answers_after_the_move() {
    check(Trino::alone);
}

#[test]
fn questions_have_the_same_answers_after_the_move_to_a_worker() {
    check(Trino::with_worker);
}
