//! What becomes of the policies of a key when its table gets another schema, or its name another case.

use mindhost_tests::{Host, Postgres, Value, json};

use super::{CREW, crew, key, no_secret, own_rows, rows, sql};
use crate::stores;

/// Fails unless the holder of the key sees its own rows alone, by statements and in the catalog.
async fn sees_own_rows(host: &Host, bound: &str) {
    let seen = rows(host, bound, "open", "SELECT * FROM staff ORDER BY id").await;
    let expected = json!([
        [1, "acme", "Ann", "****4444"],
        [2, "acme", "Bob", "****8888"]
    ]);
    assert_eq!(seen, expected);
    let hidden = sql(host, bound, "open", "SELECT salary FROM staff").await;
    hidden.expect_error(400, "sql_invalid");
    let catalog = host.get("/datasources/crew/catalog").key(bound).await;
    no_secret("the catalog", &catalog.expect_status(200).text());
}

/// What is wrong with the one policy of a key, by the list of keys.
async fn problem(host: &Host) -> Value {
    let listed = host.get("/keys").await.expect_status(200).json();
    let mut policies = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|key| &key["policies"][0]);
    let found = policies.find(|policy| policy.is_object()).unwrap();
    found["problem"].clone()
}

#[tokio::test]
async fn policy_of_a_key_holds_when_the_name_of_its_table_changes_its_case() {
    for host in stores::both().await {
        let host = crew(host).await;
        let bound = key(&host, &[own_rows()]).await;
        // SQLite does not change the case of a name in one step.
        let renamed = "ALTER TABLE staff RENAME TO renamed; ALTER TABLE renamed RENAME TO Staff;";
        host.write_sqlite("crew.db", renamed);
        let refresh = json!({"mode": "all"});
        host.post("/datasources/crew/catalog/refresh?wait=60", refresh)
            .await
            .expect_status(200);
        sees_own_rows(&host, &bound).await;
        let problem = problem(&host).await;
        let problem = problem.as_str().unwrap();
        assert!(problem.contains("every table of that name"), "{problem}");
    }
}

#[tokio::test]
async fn policy_of_a_key_holds_for_a_datasource_that_was_made_again_with_another_engine() {
    let database = Postgres::shared().database(CREW).await;
    let host = crew(Host::start().await).await;
    let bound = key(&host, &[own_rows()]).await;
    sees_own_rows(&host, &bound).await;
    host.delete("/minds/open").await.expect_status(200);
    host.delete("/datasources/crew").await.expect_status(204);
    host.postgres("crew", &database).await.load().await;
    let mind = host.mind("open").datasource("crew").direct_queries();
    mind.create().await;
    sees_own_rows(&host, &bound).await;
}
