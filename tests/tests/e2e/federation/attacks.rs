//! What a statement over several datasources must not do.

use mindhost_tests::{Host, Postgres};
use serde_json::json;

const POSTGRES_FIXTURE: &str = include_str!("../../../sql/fixture.postgresql.sql");
const SQLITE_FIXTURE: &str = include_str!("../../../sql/fixture.sqlite.sql");
const TABLES: [&str; 6] = [
    "customers",
    "orders",
    "order_items",
    "products",
    "categories",
    "Order Notes",
];

#[tokio::test]
async fn attacks_over_several_datasources_are_refused() {
    let database = Postgres::shared().database(POSTGRES_FIXTURE).await;
    let host = Host::start().await;
    host.postgres("shop", &database).await.load().await;
    host.sqlite("lite", SQLITE_FIXTURE).await.load().await;
    let folder = host.files_dir().join("files");
    std::fs::create_dir_all(&folder).unwrap();
    for name in TABLES.iter().chain(&["salaries"]) {
        std::fs::write(folder.join(format!("{name}.csv")), "id,name\n1,Ada\n").unwrap();
    }
    host.datasource("files", "csv", json!({"path": "files"}))
        .await
        .load()
        .await;
    let of = |schema: &str| TABLES.map(|table| format!("{schema}.{table}"));
    let (shop, lite, files) = (of("public"), of("main"), of("files"));
    let mind = host
        .mind("guarded")
        .tables("shop", &shop.each_ref().map(String::as_str))
        .tables("lite", &lite.each_ref().map(String::as_str))
        .tables("files", &files.each_ref().map(String::as_str))
        .direct_queries()
        .create()
        .await;
    mind.query("SELECT s.id FROM shop.orders s JOIN lite.orders l ON l.id = s.id JOIN files.orders f ON f.id = s.id")
        .await;
    let mut count = 0;
    let mut code = "";
    for block in include_str!("../../../sql/attacks/federated.sql").split("\n;;") {
        for line in block.lines() {
            code = line.strip_prefix("-- expect:").map_or(code, str::trim);
        }
        let lines = block.lines().filter(|line| !line.starts_with("-- "));
        let statement = lines.collect::<Vec<_>>().join("\n");
        if statement.trim().is_empty() {
            continue;
        }
        let reply = mind.sql(&statement).await;
        assert_eq!(
            (reply.status, reply.json()["error"]["code"].as_str()),
            (400, Some(code)),
            "{statement}"
        );
        count += 1;
    }
    assert!(count >= 40, "{count}");
}
