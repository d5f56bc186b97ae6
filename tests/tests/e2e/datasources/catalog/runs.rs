//! Runs: every status is reached and read, and neither a fault nor a crash loses anything.

use super::*;
use crate::stores;

#[tokio::test]
async fn missing_only_twice_changes_nothing() {
    let host = Host::start().await;
    let shop = host.sqlite("shop", SHOP).await;
    let missing = json!({"mode": "missing_only"});
    let first = shop
        .refresh(missing.clone())
        .await
        .expect_status(200)
        .json();
    let second = shop.refresh(missing).await.expect_status(200).json();
    assert_eq!(first["status"]["overall_status"], "COMPLETED");
    assert_eq!(second["status"]["overall_status"], "COMPLETED");
    assert_eq!(first["tables"], second["tables"]);
    assert_eq!(first["datasource"], second["datasource"]);
}

#[tokio::test]
async fn missing_only_loads_what_is_new_and_all_reads_again() {
    let host = Host::start().await;
    let shop = host.sqlite("shop", SHOP).await;
    let before = shop.load().await;
    host.write_sqlite(
        "shop.db",
        "CREATE TABLE added (id INTEGER); INSERT INTO customer (name) VALUES ('Eve');",
    );
    let missing = shop.refresh(json!({"mode": "missing_only"})).await.json();
    assert_eq!(table(&missing, "added")["status"], "COMPLETED");
    assert_eq!(table(&missing, "customer"), table(&before, "customer"));
    let all = shop
        .refresh(json!({"table_names": ["customer"], "mode": "all"}))
        .await
        .json();
    assert_eq!(table(&all, "customer")["row_count"], 5);
}

#[tokio::test]
async fn force_deletes_first_and_needs_a_mind() {
    let host = Host::start().await;
    let shop = host.sqlite("shop", SHOP).await;
    let force = json!({"mode": "force", "table_names": ["customer"]});
    let code = "mind_datasource_relationship_required";
    post(&shop, "refresh", force.clone())
        .await
        .expect_error(409, code);
    post(&shop, "tables", json!({"table_names": ["item"]}))
        .await
        .expect_error(409, code);
    assert_eq!(
        shop.catalog().await["status"]["overall_status"],
        "NOT_STARTED"
    );
    shop.load().await;
    let path = format!("{}/tables/customer", shop.catalog_path());
    host.patch(&path, json!({"description": "mine"}))
        .await
        .expect_status(200);
    host.mind("m").datasource("shop").create().await;
    let forced = shop.refresh(force).await.expect_status(200).json();
    assert_eq!(table(&forced, "customer")["description"], Value::Null);
    assert_eq!(table(&forced, "customer")["status"], "COMPLETED");
}

#[tokio::test]
async fn tables_are_loaded_by_name() {
    let host = Host::start().await;
    let shop = host.sqlite("shop", SHOP).await;
    // The Mind has another table, so making it loads nothing of this one.
    host.mind("m").tables("shop", &["item"]).create().await;
    let body = json!({"table_names": ["main.customer"]});
    let catalog = post(&shop, "tables?wait=60", body)
        .await
        .expect_status(200)
        .json();
    assert_eq!(table(&catalog, "customer")["status"], "COMPLETED");
    assert_eq!(table(&catalog, "cheap")["status"], "NOT_CATALOGED");
}

#[tokio::test]
async fn making_a_mind_loads_its_tables() {
    let host = Host::start().await;
    let shop = host.sqlite("shop", SHOP).await;
    host.mind("m").tables("shop", &["item"]).create().await;
    let catalog = until(&shop, |catalog| {
        catalog["status"]["overall_status"] == "COMPLETED"
    })
    .await;
    assert_eq!(table(&catalog, "item")["status"], "COMPLETED");
    assert_eq!(table(&catalog, "customer")["status"], "NOT_CATALOGED");
    let mind = host.get("/minds/m").await.expect_status(200).json();
    assert_eq!(mind["status"], catalog["status"]);
}

#[tokio::test]
async fn one_table_that_fails_does_not_fail_the_others() {
    let host = Host::start().await;
    let sql = format!("{SHOP} CREATE VIEW broken AS SELECT * FROM gone;");
    let shop = host.sqlite("shop", &sql).await;
    let catalog = shop.refresh(json!({})).await.expect_status(200).json();
    let status = &catalog["status"];
    assert_eq!(
        (&status["overall_status"], &status["active_flow_runs"]),
        (&json!("FAILED"), &json!(0))
    );
    let message = status["message"].as_str().unwrap();
    assert!(
        message.contains("main.broken") && message.contains("gone"),
        "{message}"
    );
    assert_eq!(table(&catalog, "broken")["status"], "FAILED");
    assert!(
        table(&catalog, "broken")["error"]
            .as_str()
            .unwrap()
            .contains("gone")
    );
    assert_eq!(table(&catalog, "customer")["status"], "COMPLETED");
    host.write_sqlite("shop.db", "CREATE TABLE gone (id INTEGER)");
    let again = shop.refresh(json!({"mode": "missing_only"})).await.json();
    assert_eq!(again["status"]["overall_status"], "COMPLETED");
    assert_eq!(table(&again, "broken")["status"], "COMPLETED");
}

#[tokio::test]
async fn a_table_whose_rows_cannot_be_read_has_columns_and_can_be_asked() {
    let sql = "
        CREATE TABLE sale (id int PRIMARY KEY, amount int);
        INSERT INTO sale VALUES (1, 10), (2, 20);
        CREATE VIEW share AS SELECT id, amount / (id - 1) AS part FROM sale;
        COMMENT ON VIEW share IS 'who has how much';
        COMMENT ON COLUMN share.part IS 'of the amount';
        CREATE MATERIALIZED VIEW total AS SELECT sum(amount) AS amount FROM sale WITH NO DATA;
    ";
    let host = Host::start().await;
    let database = Postgres::shared().database(sql).await;
    let shop = host.postgres("shop", &database).await;
    let catalog = shop.refresh(json!({})).await.expect_status(200).json();
    assert_eq!(catalog["status"]["overall_status"], "FAILED");
    let message = catalog["status"]["message"].as_str().unwrap();
    for part in [
        "2 of 3 tables failed",
        "public.share: division by zero",
        "public.total",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let share = table(&catalog, "share");
    assert_eq!(
        (&share["status"], &share["type"]),
        (&json!("FAILED"), &json!("VIEW"))
    );
    assert_eq!(share["description"], "who has how much");
    assert!(
        share["error"]
            .as_str()
            .unwrap()
            .contains("division by zero"),
        "{share}"
    );
    let part = column(share, "part");
    assert_eq!(
        (&part["data_type"], &part["description"]),
        (&json!("integer"), &json!("of the amount"))
    );
    let statistics = &part["statistics"];
    assert_eq!(
        (&statistics["estimated"], &statistics["sampled_rows"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(
        column(table(&catalog, "total"), "amount")["data_type"],
        "bigint"
    );

    let mind = host
        .mind("m")
        .datasource("shop")
        .direct_queries()
        .create()
        .await;
    assert_eq!(
        mind.rows("SELECT id FROM share ORDER BY id").await,
        [[json!(1)], [json!(2)]]
    );
    // They have columns, so they are not missing.
    let missing = shop
        .refresh(json!({"mode": "missing_only"}))
        .await
        .expect_status(200)
        .json();
    assert_eq!(missing["tables"], catalog["tables"]);
    database
        .run("DELETE FROM sale WHERE id = 1; REFRESH MATERIALIZED VIEW total")
        .await;
    let all = shop.refresh(json!({})).await.expect_status(200).json();
    assert_eq!(all["status"]["overall_status"], "COMPLETED");
    let part = &column(table(&all, "share"), "part")["statistics"];
    assert_eq!(
        (&part["min_value"], &table(&all, "share")["error"]),
        (&json!("20"), &Value::Null)
    );
}

#[tokio::test]
async fn a_file_with_an_odd_value_far_down_has_columns() {
    let host = Host::start().await;
    let mut rows = String::from("id,amount\n");
    for row in 1..2_000 {
        rows += &format!("{row},{row}\n");
    }
    rows += "2000,many\n";
    let folder = host.files_dir().join("folder");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("sale.csv"), rows).unwrap();
    let files = host
        .datasource("files", "files", json!({"path": "folder"}))
        .await;
    let catalog = files.refresh(json!({})).await.expect_status(200).json();
    let sale = table(&catalog, "sale");
    assert_eq!(sale["status"], "FAILED", "{sale}");
    assert!(
        sale["error"]
            .as_str()
            .unwrap()
            .contains("is not of the type int64"),
        "{sale}"
    );
    assert_eq!(column(sale, "amount")["data_type"], "int64");
}

#[tokio::test]
async fn failed_run_and_its_tables_name_the_request_that_began_it() {
    for host in stores::both().await {
        let sql = "CREATE TABLE item (id INTEGER); CREATE VIEW broken AS SELECT * FROM gone";
        let shop = host.sqlite("shop", sql).await;
        let never = shop.catalog().await;
        assert_eq!(never["status"]["request_id"], Value::Null);
        let failed = shop.refresh(json!({})).await.expect_status(200);
        let request = failed.header("x-request-id").to_owned();
        // For every reader, at any time.
        for catalog in [failed.json(), shop.catalog().await] {
            assert_eq!(catalog["status"]["overall_status"], "FAILED");
            assert_eq!(catalog["status"]["request_id"], request);
            assert_eq!(table(&catalog, "broken")["error_request_id"], request);
            assert_eq!(table(&catalog, "item")["error_request_id"], Value::Null);
        }
        eventually(
            async || host.log(),
            |log| {
                let mut lines = log.lines().filter(|line| line.contains(&request));
                lines.any(|line| line.contains("catalog run ended"))
            },
        )
        .await;
        // A Mind that loads what is missing begins a run too.
        host.mind("m").datasource("shop").create().await;
        let retried = until(&shop, |catalog| catalog["status"]["request_id"] != request).await;
        assert!(retried["status"]["request_id"].is_string(), "{retried}");
    }
}

#[tokio::test]
async fn an_engine_out_of_reach_fails_the_run_and_keeps_what_is_stored() {
    let host = Host::start().await;
    let shop = host.sqlite("shop", SHOP).await;
    shop.load().await;
    std::fs::remove_file(host.files_dir().join("shop.db")).unwrap();
    let catalog = shop.refresh(json!({})).await.expect_status(200).json();
    assert_eq!(catalog["status"]["overall_status"], "FAILED");
    assert_eq!(
        table(&catalog, "customer")["columns"]
            .as_array()
            .map(Vec::len),
        Some(3)
    );
}

#[tokio::test]
async fn a_run_under_way_is_joined_and_can_be_cancelled_down_to_the_database() {
    let host = patient_host().await;
    let (database, _lock) = with_locked_table().await;
    let source = host.postgres("locked", &database).await;
    let first = post(&source, "refresh", json!({}))
        .await
        .expect_status(200)
        .json();
    assert!(
        ["PENDING", "LOADING"].contains(&first["status"]["overall_status"].as_str().unwrap()),
        "{first}"
    );
    // The run and its tables are two rows, read one after the other.
    let loading = until(&source, |catalog| {
        table(catalog, "a")["status"] == "COMPLETED"
            && table(catalog, "z")["status"] == "LOADING"
            && catalog["status"]["progress"] == 0.5
    });
    assert_eq!(loading.await["status"]["overall_status"], "LOADING");
    let joined = post(&source, "refresh", json!({}))
        .await
        .expect_status(200)
        .json();
    assert_eq!(joined["status"]["active_flow_runs"], 1);
    host.mind("m").datasource("locked").create().await;
    post(&source, "refresh", json!({"mode": "force"}))
        .await
        .expect_error(409, "run_active");
    let cancelled = cancel(&source).await;
    assert_eq!(cancelled["status"]["overall_status"], "CANCELLED");
    assert_eq!(cancelled["status"]["active_flow_runs"], 0);
    assert_eq!(table(&cancelled, "z")["status"], "CANCELLED");
    assert_eq!(table(&cancelled, "a")["status"], "COMPLETED");
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let watcher = database.client().await;
    let waiting = async || -> i64 { watcher.query_one(waiting, &[]).await.unwrap().get(0) };
    eventually(waiting, |count| *count == 0).await;
}

#[tokio::test]
async fn a_run_waits_for_its_turn_while_others_take_all_places() {
    let host = patient_host().await;
    let (database, lock) = with_locked_table().await;
    let mut busy = Vec::new();
    for number in 0..4 {
        let source = host.postgres(&format!("busy{number}"), &database).await;
        post(&source, "refresh", json!({"table_names": ["z"]}))
            .await
            .expect_status(200);
        until(&source, |catalog| {
            catalog["status"]["overall_status"] == "LOADING"
        })
        .await;
        busy.push(source);
    }
    let last = host.postgres("last", &database).await;
    let catalog = post(&last, "refresh", json!({"table_names": ["a"]}))
        .await
        .expect_status(200)
        .json();
    assert_eq!(catalog["status"]["overall_status"], "PENDING");
    assert_eq!(
        (
            &catalog["status"]["progress"],
            &catalog["status"]["active_flow_runs"]
        ),
        (&json!(0.0), &json!(1))
    );
    assert_eq!(table(&catalog, "a")["status"], "PENDING");
    lock.batch_execute("ROLLBACK").await.unwrap();
    for source in busy.iter().chain([&last]) {
        until(source, |catalog| {
            catalog["status"]["overall_status"] == "COMPLETED"
        })
        .await;
    }
}

#[tokio::test]
async fn a_run_survives_kill_and_goes_on_where_it_was() {
    let host = patient_host().await;
    let (database, lock) = with_locked_table().await;
    let source = host.postgres("locked", &database).await;
    post(&source, "refresh", json!({})).await.expect_status(200);
    let before = until(&source, |catalog| {
        table(catalog, "a")["status"] == "COMPLETED" && table(catalog, "z")["status"] == "LOADING"
    })
    .await;
    host.kill().await;
    lock.batch_execute("ROLLBACK").await.unwrap();
    host.restart().await;
    let after = until(&source, |catalog| {
        catalog["status"]["overall_status"] == "COMPLETED"
    })
    .await;
    assert_eq!(
        table(&after, "a"),
        table(&before, "a"),
        "what was done is not done again"
    );
    assert_eq!(table(&after, "z")["status"], "COMPLETED");
}

#[tokio::test]
async fn a_table_that_vanished_stays_marked_until_it_is_deleted() {
    let host = Host::start().await;
    let shop = host.sqlite("shop", SHOP).await;
    shop.load().await;
    host.write_sqlite("shop.db", "DROP VIEW cheap");
    let catalog = shop.load().await;
    let cheap = table(&catalog, "cheap");
    assert_eq!(
        (&cheap["missing"], &cheap["status"]),
        (&json!(true), &json!("COMPLETED"))
    );
    assert_eq!(cheap["columns"].as_array().map(Vec::len), Some(4));
    let path = format!("{}/tables/cheap", shop.catalog_path());
    host.delete(&path).await.expect_status(204);
    assert_eq!(shop.catalog().await["total_tables"], 2);
}
