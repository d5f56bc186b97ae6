//! Coming in to a real PostgreSQL through the sandbox: methods of authentication, TLS, and what is said when it fails.

use mindhost_tests::{Host, Postgres, Reply, Value, json};

use super::pages;

/// Connects as `user` with `more`; the table list is read, so the connection works when it is made.
async fn connect(host: &Host, user: &str, more: Value) -> Reply {
    let mut data = json!({
        "host": "localhost", "port": Postgres::shared().port(), "database": "postgres",
        "user": user, "password": format!("secret of {user}")
    });
    for (name, value) in more.as_object().unwrap() {
        data[name] = value.clone();
    }
    let name = format!("d{}", uuid::Uuid::new_v4().simple());
    let body = json!({"name": name, "engine": "postgres", "connection_data": data});
    host.post("/datasources", body).await
}

async fn works(host: &Host, user: &str, more: Value) {
    let reply = connect(host, user, more.clone()).await;
    assert_eq!(reply.status, 201, "{user} {more}: {}", reply.text());
}

/// The message of a refused attempt, which names no password.
async fn fails(host: &Host, user: &str, more: Value) -> String {
    let reply = connect(host, user, more.clone()).await;
    assert_eq!(reply.status, 400, "{user} {more}: {}", reply.text());
    assert!(!reply.text().contains("secret of"), "{}", reply.text());
    let error = reply.expect_error(400, "connection_failed");
    error["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn schema_that_does_not_exist_is_refused_when_it_is_named() {
    let host = Host::start().await;
    let database = Postgres::shared().database("CREATE SCHEMA shop").await;
    let mut data = database.connection_data();
    data["schema"] = json!("shpo");
    let body = json!({"name": "pg", "engine": "postgres", "connection_data": data});
    let refused = host.post("/datasources", body).await;
    let error = refused.expect_error(400, "connection_failed");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("no schema `shpo`"),
        "{error}"
    );
    // One without a table is no mistake.
    data["schema"] = json!("shop");
    host.datasource("pg", "postgres", data).await;
    let change = json!({"connection_data": {"schema": ["shop", "shpo"]}});
    host.patch("/datasources/pg", change.clone())
        .await
        .expect_error(400, "connection_failed");
    let untested = host
        .patch("/datasources/pg?check_connection=false", change)
        .await;
    untested.expect_status(200);
    let shown = host
        .get("/datasources/pg?check_connection=true")
        .await
        .json();
    let told = shown["connection_status"]["error_message"]
        .as_str()
        .unwrap();
    assert!(told.contains("no schema `shpo`"), "{shown}");
}

#[tokio::test]
async fn passwords_are_checked_by_every_method() {
    let host = Host::start().await;
    Postgres::shared().special_roles().await;
    for user in ["password_user", "md5_user", "tls_user"] {
        let sslmodes: &[&str] = match user {
            "tls_user" => &["require"],
            _ => &["disable", "require"],
        };
        for sslmode in sslmodes {
            works(&host, user, json!({"sslmode": sslmode})).await;
            let wrong = json!({"sslmode": sslmode, "password": "wrong"});
            let message = fails(&host, user, wrong).await;
            assert!(
                message.contains("password authentication failed"),
                "{message}"
            );
        }
    }
}

#[tokio::test]
async fn each_sslmode_does_what_libpq_does() {
    let host = Host::start().await;
    let server = Postgres::shared();
    server.special_roles().await;
    for (sslmode, plain, tls) in [
        ("disable", true, false),
        ("allow", true, true),
        ("prefer", true, true),
        ("require", false, true),
    ] {
        for (user, expected) in [("plain_user", plain), ("tls_user", tls)] {
            match expected {
                true => works(&host, user, json!({"sslmode": sslmode})).await,
                false => drop(fails(&host, user, json!({"sslmode": sslmode})).await),
            }
        }
    }
    let with = |sslmode: &str, host: &str| json!({"sslmode": sslmode, "host": host, "sslrootcert": server.ca()});
    // The same server by a name that its certificate does not have.
    let stranger = "0x7f000001";
    works(&host, "tls_user", with("verify-ca", "localhost")).await;
    works(&host, "tls_user", with("verify-ca", stranger)).await;
    works(&host, "tls_user", with("verify-full", "localhost")).await;
    works(&host, "tls_user", with("verify-full", "127.0.0.1")).await;
    fails(&host, "tls_user", with("verify-full", stranger)).await;
    // Without its authority the public ones count, and none of them signed this certificate.
    for sslmode in ["verify-ca", "verify-full"] {
        fails(&host, "tls_user", json!({"sslmode": sslmode})).await;
    }
}

#[tokio::test]
async fn a_client_may_show_a_certificate() {
    let host = Host::start().await;
    let server = Postgres::shared();
    server.special_roles().await;
    let (certificate, key) = server.client_certificate();
    let shown = json!({"sslmode": "require", "sslcert": certificate, "sslkey": key});
    works(&host, "certified_user", shown).await;
    fails(&host, "certified_user", json!({"sslmode": "require"})).await;
}

#[tokio::test]
async fn a_server_without_room_says_so_in_its_own_words() {
    let host = Host::start().await;
    Postgres::shared().special_roles().await;
    let message = fails(&host, "crowded_user", json!({})).await;
    assert!(message.contains("too many connections"), "{message}");
}

#[tokio::test]
async fn what_the_server_refuses_later_is_no_fault_of_the_question() {
    let host = Host::start().await;
    let database = Postgres::shared().database("CREATE TABLE t (id int)").await;
    host.postgres("pg", &database).await;
    let mind = json!({
        "name": "m", "datasources": ["pg"], "parameters": {"allow_direct_queries": true}
    });
    host.post("/minds", mind).await.expect_status(200);
    let ask = async || {
        let tool = json!({"type": "sql_query", "query": "SELECT id FROM t"});
        host.post("/responses", json!({"model": "m", "tools": [tool]}))
            .await
    };
    ask().await.expect_status(200);
    let admin = Postgres::shared().admin("postgres").await;
    let statement = format!(
        "ALTER ROLE {name} PASSWORD 'another'; \
         SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{name}'",
        name = database.name
    );
    admin.batch_execute(&statement).await.unwrap();
    // A connection that was used a moment ago is taken for alive. The statement that finds it dead gets a new one.
    let reply = ask().await;
    let error = reply.expect_error(502, "upstream_error");
    assert_eq!(error["blame"], "upstream");
    assert_eq!(error["engine_code"], "28P01");
}

#[tokio::test]
async fn rows_with_equal_sort_keys_are_on_one_page_each() {
    let host = Host::start().await;
    // JSON has no order of its own.
    let database = Postgres::shared()
        .database(
            "CREATE TABLE sale (\"Id\" int PRIMARY KEY, customer int, note json);
             INSERT INTO sale SELECT id, id % 3, '{}' FROM generate_series(1, 20000) AS id;
             CREATE TABLE customer (id int PRIMARY KEY, name text);
             INSERT INTO customer VALUES (0, 'Ada'), (1, 'Bob'), (2, 'Bob')",
        )
        .await;
    host.postgres("shop", &database).await.load().await;
    let mind = host.mind("sales").datasource("shop");
    let mind = mind.direct_queries().create().await;
    for sql in [
        "SELECT * FROM sale ORDER BY customer",
        r#"SELECT s."Id", upper(c.name) FROM sale s JOIN customer c ON c.id = s.customer ORDER BY c.name"#,
        r#"SELECT DISTINCT "Id", customer FROM sale ORDER BY customer"#,
        r#"SELECT "Id", count(*) FROM sale GROUP BY 1 ORDER BY 2"#,
        r#"SELECT "Id" FROM sale UNION SELECT -id FROM customer WHERE id < 0 ORDER BY 1"#,
    ] {
        pages::each_row_is_on_one_page(&mind, sql, 20_000).await;
    }
}
