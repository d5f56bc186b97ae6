//! Statements that need more memory than they may use: refused, or continued on disk.

use super::*;

#[tokio::test]
async fn statement_over_the_memory_limit_is_refused() {
    let settings = PluginSettings {
        query_memory_bytes: 4 << 20,
        ..settings()
    };
    let connector = connector(&scripted(400_000, Pushdown::No), &settings);
    for sql in [
        r#"SELECT id, name, doc FROM "main"."t" ORDER BY doc DESC, id"#,
        r#"SELECT doc, count(*) FROM "main"."t" GROUP BY doc"#,
        r#"SELECT count(*) FROM "main"."t" AS a JOIN "main"."t" AS b ON a.doc = b.doc"#,
        r#"SELECT array_agg(doc) FROM "main"."t""#,
        r#"SELECT id, sum(id) OVER (PARTITION BY name), doc FROM "main"."t""#,
    ] {
        let error = rows(&connector, sql).await.err();
        let error = error.unwrap_or_else(|| panic!("{sql} passed"));
        assert_eq!(error.code(), Code::ResultTooLarge, "{sql}: {error}");
        assert!(error.message().contains("query_memory_bytes"), "{error}");
    }
    assert_eq!(
        connector.engine.memory.used(),
        0,
        "all of it was given back"
    );
    // What streams needs little.
    let streams = rows(&connector, r#"SELECT doc FROM "main"."t" WHERE id >= 0"#).await;
    assert_eq!(streams.unwrap().len(), 400_000);
}

#[tokio::test]
async fn sorts_and_groups_over_the_memory_limit_continue_on_disk() {
    let settings = PluginSettings {
        query_memory_bytes: 4 << 20,
        ..settings()
    };
    let folder = tempfile::tempdir().unwrap();
    let scanner = scripted(60_000, Pushdown::No);
    let engine = QueryEngine::new(&settings, Some(folder.path()), TaskTracker::new());
    let spilling = engine.connector(Arc::new(scanner.clone()));
    let ample = connector(&scanner, &super::settings());
    for sql in [
        r#"SELECT id, name, doc FROM "main"."t" ORDER BY doc DESC, id"#,
        r#"SELECT doc, count(*) FROM "main"."t" GROUP BY doc ORDER BY doc"#,
        r#"SELECT DISTINCT doc, price FROM "main"."t" ORDER BY doc"#,
    ] {
        let found = rows(&spilling, sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert!(
            found == rows(&ample, sql).await.unwrap(),
            "other rows: {sql}"
        );
    }
    assert_eq!(engine.memory.used(), 0);
    assert_eq!(engine.disk.as_ref().unwrap().used(), 0);
    // The smaller side of a join stays in memory.
    let spilling = engine.connector(Arc::new(scripted(400_000, Pushdown::No)));
    let join = r#"SELECT count(*) FROM "main"."t" AS a JOIN "main"."t" AS b ON a.doc = b.doc"#;
    let error = rows(&spilling, join).await.unwrap_err();
    assert_eq!(error.code(), Code::ResultTooLarge, "{error}");
}

#[tokio::test]
async fn statement_over_the_limit_of_disk_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let sql = r#"SELECT id, name, doc FROM "main"."t" ORDER BY doc DESC, id"#;
    for (one, all, code, setting) in [
        (1 << 20, 1 << 30, Code::ResultTooLarge, "query_spill_bytes"),
        (
            1 << 30,
            1 << 20,
            Code::Overloaded,
            "max_total_query_spill_bytes",
        ),
        (0, 1 << 30, Code::ResultTooLarge, "query_memory_bytes"),
    ] {
        let settings = PluginSettings {
            query_memory_bytes: 5 << 20,
            query_spill_bytes: one,
            max_total_query_spill_bytes: all,
            ..settings()
        };
        let engine = QueryEngine::new(&settings, Some(folder.path()), TaskTracker::new());
        let connector = engine.connector(Arc::new(scripted(100_000, Pushdown::No)));
        let error = rows(&connector, sql).await.unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.message().contains(setting), "{error}");
        assert_eq!(engine.disk.as_ref().map_or(0, |disk| disk.used()), 0);
    }
}
