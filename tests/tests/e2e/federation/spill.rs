//! Statements that need more memory than they may use.

use mindhost_tests::{Host, Mind, Postgres};
use serde_json::{Value, json};

const BIG: &str =
    "CREATE TABLE big AS SELECT n AS id, n % 4 AS tag, md5(n::text) || md5((n + 1)::text) AS word
    FROM generate_series(1, 120000) n";
const TAGS: &str = "CREATE TABLE tag (id INTEGER, name TEXT);
    INSERT INTO tag VALUES (0, 'a'), (1, 'b'), (2, 'c'), (3, 'd')";
const SORT: &str = "SELECT big.id, big.word, tag.name FROM pg.big JOIN own.tag ON tag.id = big.tag ORDER BY word, name";

async fn host(spill_bytes: &str) -> (Host, Mind) {
    let host = Host::builder()
        .env("MINDHOST_PLUGINS__QUERY_MEMORY_BYTES", "12582912")
        .env("MINDHOST_PLUGINS__QUERY_SPILL_BYTES", spill_bytes)
        .start()
        .await;
    let database = Postgres::shared().database(BIG).await;
    host.postgres("pg", &database).await.load().await;
    host.sqlite("own", TAGS).await.load().await;
    let mind = host.mind("all").datasource("pg").datasource("own");
    let mind = mind.direct_queries().create().await;
    (host, mind)
}

async fn sorted(mind: &Mind) -> mindhost_tests::Reply {
    let tool = json!({"type": "sql_query", "query": SORT, "explain": true});
    let body = json!({"model": mind.name, "tools": [tool]});
    mind.host().post("/responses", body).await
}

#[tokio::test]
async fn sort_over_the_memory_limit_continues_on_disk_and_leaves_nothing_there() {
    let (host, mind) = host("1073741824").await;
    let item = sorted(&mind).await.expect_status(200).json()["output"][0].clone();
    assert_eq!(item["total"], 120_000);
    assert!(
        item["explain"]["spilled_bytes"].as_u64().unwrap() > 4 << 20,
        "{}",
        item["explain"]
    );
    let database = Postgres::shared().database(BIG).await;
    let expected = database
        .client()
        .await
        .query(
            "SELECT id::bigint FROM big ORDER BY word COLLATE \"C\" LIMIT 3",
            &[],
        )
        .await
        .unwrap();
    let expected: Vec<Value> = expected
        .iter()
        .map(|row| json!(row.get::<_, i64>(0)))
        .collect();
    let found: Vec<Value> = item["data"]
        .as_array()
        .unwrap()
        .iter()
        .take(3)
        .map(|row| row[0].clone())
        .collect();
    assert_eq!(found, expected);
    let folder = host.data_dir().join("spill");
    assert_eq!(
        std::fs::read_dir(&folder).unwrap().count(),
        0,
        "files have no names"
    );
}

#[tokio::test]
async fn without_disk_the_same_sort_is_refused() {
    let (host, mind) = host("0").await;
    let refused = sorted(&mind).await.expect_status(400).json();
    assert_eq!(refused["error"]["code"], "result_too_large");
    assert!(!host.data_dir().join("spill").exists());
}
