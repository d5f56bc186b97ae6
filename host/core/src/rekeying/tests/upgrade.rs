//! A filled store of an earlier version comes up to this one, on both databases, and nothing of it is lost.

use sqlx::AssertSqlSafe;

use super::*;
use mindhost_base::config::Config;
use mindhost_store::Row;

/// What an earlier version left.
const EARLIER: &str = include_str!("../../../tests/stores/at_0009.sql");
const EARLIER_VERSION: i64 = 9;

async fn earlier_store(postgres: bool, dir: &std::path::Path) -> Store {
    let mut vars = vec![("MINDHOST_DATA_DIR".to_owned(), dir.display().to_string())];
    if postgres {
        let database = mindhost_tests::Postgres::shared().database("").await;
        let password = database.password.replace(' ', "%20");
        let (name, port) = (database.name, database.port);
        let url = format!("postgres://{name}:{password}@127.0.0.1:{port}/{name}");
        vars.push(("MINDHOST_DATABASE_URL".to_owned(), url));
    }
    let store = Store::open(&Config::from_env(vars).unwrap()).await.unwrap();
    mindhost_store::testing::migrate_to(&store, EARLIER_VERSION).await;
    let sql = match postgres {
        true => EARLIER.replace(" x'", r" '\x"),
        false => EARLIER.to_owned(),
    };
    for statement in sql.split(";\n").filter(|one| !one.trim().is_empty()) {
        sqlx::query(AssertSqlSafe(statement))
            .execute(store.pool())
            .await
            .unwrap();
    }
    store
}

/// Bytes of what a key has stored, added up from the rows themselves.
async fn recount(store: &Store, key: &str) -> i64 {
    let mut bytes = 0;
    for sql in [
        "SELECT metadata FROM conversations WHERE key_id = $1",
        "SELECT m.content, m.sql FROM messages m JOIN conversations c ON c.id = m.conversation_id WHERE c.key_id = $1",
        "SELECT output, metadata, instructions, error FROM responses WHERE key_id = $1",
    ] {
        let rows = sqlx::query(sql).bind(key.to_owned());
        for row in rows.fetch_all(store.pool()).await.unwrap() {
            let text = |column| row.get::<Option<String>, _>(column).unwrap_or_default();
            let texts: usize = (0..row.len()).map(|column| text(column).len()).sum();
            bytes += texts + mindhost_store::ROW_BYTES;
        }
    }
    i64::try_from(bytes).unwrap()
}

#[tokio::test]
async fn upgrade_keeps_the_content_of_the_store() {
    for postgres in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let store = earlier_store(postgres, dir.path()).await;
        store.migrate().await.unwrap();

        for (key, rows) in [("key-user", 7), ("key-operator", 1)] {
            let counted: i64 =
                sqlx::query_scalar("SELECT bytes FROM stored_bytes WHERE key_id = $1")
                    .bind(key)
                    .fetch_one(store.pool())
                    .await
                    .unwrap();
            assert_eq!(counted, recount(&store, key).await, "{key}");
            assert!(counted > rows * 256, "{key} has {rows} rows: {counted}");
        }
        let names = |sql: &'static str| {
            let store = store.clone();
            async move {
                let names = sqlx::query_scalar::<_, String>(sql).fetch_all(store.pool());
                names.await.unwrap()
            }
        };
        let former = names("SELECT name FROM former_workspaces ORDER BY name").await;
        assert_eq!(former, ["cli", "old"]);
        let settings = names("SELECT settings FROM responses").await;
        assert_eq!(settings, ["{}", "{}"]);
        let shown = names("SELECT id FROM catalog_tables WHERE listing_id IS NULL").await;
        assert_eq!(shown, ["table-1"]);

        let path = dir.path().join("earlier.key");
        std::fs::write(&path, SecretKey::new([1; 32]).text().as_bytes()).unwrap();
        let keys = open(&Source::at(&path), &store).await.unwrap();
        for text in ["mh_earlier_operator", "mh_earlier_user"] {
            assert!(is_valid(&store, &keys, "ws-default", text).await, "{text}");
        }
        let revoked = "mh_earlier_revoked";
        assert!(!is_valid(&store, &keys, "ws-default", revoked).await);
        for sql in [
            "SELECT secrets FROM datasources WHERE secrets IS NOT NULL",
            "SELECT secrets FROM providers WHERE secrets IS NOT NULL",
        ] {
            let sealed: Vec<Vec<u8>> = sqlx::query_scalar(sql)
                .fetch_all(store.pool())
                .await
                .unwrap();
            assert_eq!(sealed.len(), 1);
            assert!(sealed.iter().all(|one| keys.is_current(one)));
        }
        store.close().await;
    }
}
