//! What Trino is sent, as a double hears it: credentials, and requests for results that travel as files. The rest is tested
//! against a real Trino, apart from these tests (`just test-trino`).

use mindhost_tests::{HeardRequest, Host, Lie, LyingHttp, Mind, Value, eventually, json};

/// A Mind over the double.
async fn mind(trino: &LyingHttp, more: Value) -> (Host, Mind) {
    let host = Host::start().await;
    let mut data = json!({"url": trino.origin(), "user": "ann", "catalog": "c"});
    let (all, more) = (data.as_object_mut().unwrap(), more.as_object().unwrap());
    all.extend(more.clone());
    host.datasource("lake", "trino", data).await.load().await;
    let mind = host
        .mind("clerk")
        .datasource("lake")
        .direct_queries()
        .create()
        .await;
    (host, mind)
}

fn all_have(heard: &[HeardRequest], authorization: Option<&str>) {
    assert!(!heard.is_empty());
    for request in heard {
        assert_eq!(
            request.authorization.as_deref(),
            authorization,
            "{request:?}"
        );
    }
}

#[tokio::test]
async fn each_request_has_the_credential_of_the_connection_data() {
    for (credential, expected) in [
        (json!({}), None),
        (
            json!({"password": "s3cret"}),
            Some("Basic YW5uOnMzY3JldA=="),
        ),
        (
            json!({"token": "eyJhbGciOiJub25lIn0.e30."}),
            Some("Bearer eyJhbGciOiJub25lIn0.e30."),
        ),
    ] {
        let trino = LyingHttp::trino().await;
        let (_host, mind) = mind(&trino, credential).await;
        assert_eq!(
            mind.rows("SELECT id FROM item").await,
            [[json!(1)], [json!(2)], [json!(3)]]
        );
        all_have(&trino.heard(), expected);
    }
}

#[tokio::test]
async fn session_properties_and_roles_go_with_each_statement() {
    let trino = LyingHttp::trino().await;
    let more = json!({
        "session_properties": {"join_distribution_type": "BROADCAST"},
        "roles": {"system": "analyst"},
    });
    let (host, mind) = mind(&trino, more).await;
    mind.rows("SELECT id FROM item").await;
    let heard = trino.heard();
    let begun: Vec<_> = heard.iter().filter(|one| one.method == "POST").collect();
    assert!(!begun.is_empty());
    for request in begun {
        let session = request.header("x-trino-session").unwrap();
        let (limit, own) = session.split_once(',').unwrap();
        assert!(limit.starts_with("query_max_run_time="), "{session}");
        assert_eq!(own, "join_distribution_type=BROADCAST");
        assert_eq!(
            request.header("x-trino-role"),
            Some("system=ROLE%7Banalyst%7D")
        );
    }
    // The limit of time is the host's.
    let data = json!({
        "url": trino.origin(), "user": "ann", "catalog": "c",
        "session_properties": {"query_max_run_time": "1d"},
    });
    let body = json!({"name": "endless", "engine": "trino", "connection_data": data});
    let refused = host.post("/datasources", body).await.expect_status(400);
    assert!(
        refused.text().contains("query_max_run_time"),
        "{}",
        refused.text()
    );
}

/// An answer whose rows are in two segments.
fn spooled(origin: &str, coordinator: &str) -> Lie {
    let segment = |number: u32| {
        json!({
            "type": "spooled",
            "uri": format!("{origin}/v1/spooled/download/{number}"),
            "ackUri": format!("{coordinator}/v1/spooled/ack/{number}"),
            "metadata": {"segmentSize": 9, "rowsCount": 2},
        })
    };
    let data = json!({"encoding": "json", "metadata": {}, "segments": [segment(1), segment(2)]});
    let columns = [json!({"name": "id", "type": "bigint"})];
    Lie::page(&json!({"id": "q1", "columns": columns, "data": data}))
}

fn segment(path: &str) -> Option<Lie> {
    match path {
        "/v1/spooled/download/1" => Some(Lie::text("[[1],[2]]")),
        "/v1/spooled/download/2" => Some(Lie::text("[[3],[4]]")),
        _ => None,
    }
}

/// Whether a text is the statement of the test, and not one for the catalog.
fn is_read(sql: &str) -> bool {
    sql.contains("\"item\"") && sql.contains("id") && !sql.contains("SHOW")
}

#[tokio::test]
async fn segments_of_the_coordinator_are_fetched_with_the_credential_and_acknowledged() {
    let trino = LyingHttp::trino().await;
    let (_host, mind) = mind(&trino, json!({"spooling": true, "password": "s3cret"})).await;
    let origin = trino.origin().to_owned();
    trino.lie(move |text| match is_read(text) {
        true => Some(spooled(&origin, &origin)),
        false => segment(text),
    });
    let rows = mind.rows("SELECT id FROM item ORDER BY id").await;
    assert_eq!(rows, [[json!(1)], [json!(2)], [json!(3)], [json!(4)]]);
    let heard = trino.heard();
    all_have(&heard, Some("Basic YW5uOnMzY3JldA=="));
    for path in ["download/1", "download/2", "ack/1", "ack/2"] {
        assert!(
            heard
                .iter()
                .any(|request| request.path == format!("/v1/spooled/{path}")),
            "no request for {path}"
        );
    }
}

#[tokio::test]
async fn segments_of_a_storage_are_fetched_without_the_credential() {
    let (trino, storage) = (LyingHttp::trino().await, LyingHttp::trino().await);
    storage.lie(segment);
    let more = json!({"spooling": true, "password": "s3cret", "segments_url": storage.origin()});
    let (_host, mind) = mind(&trino, more).await;
    let (stored, own) = (storage.origin().to_owned(), trino.origin().to_owned());
    trino.lie(move |sql| is_read(sql).then(|| spooled(&stored, &own)));
    let rows = mind.rows("SELECT id FROM item ORDER BY id").await;
    assert_eq!(rows, [[json!(1)], [json!(2)], [json!(3)], [json!(4)]]);
    all_have(&storage.heard(), None);
}

/// Trino tells the columns only when a statement has left its queue.
#[tokio::test]
async fn statement_that_waits_in_the_queue_is_ended_when_its_client_leaves() {
    let trino = LyingHttp::trino().await;
    let (_host, mind) = mind(&trino, json!({})).await;
    let next = format!("{}/v1/statement/queued/q1/1", trino.origin());
    trino.lie(move |text| {
        let waits = is_read(text) || text.contains("/queued/");
        waits.then(|| Lie::page(&json!({"id": "q1", "nextUri": next})))
    });
    let heard = async || -> Vec<String> {
        let heard = trino.heard().into_iter();
        heard
            .map(|one| format!("{} {}", one.method, one.path))
            .collect()
    };
    let has = |line: &'static str| {
        move |heard: &Vec<String>| heard.iter().any(|one| one.starts_with(line))
    };
    tokio::select! {
        reply = mind.sql("SELECT id FROM item ORDER BY id") => panic!("{}", reply.text()),
        _ = eventually(heard, has("GET /v1/statement/queued/q1/1")) => {}
    }
    eventually(heard, has("DELETE /v1/query/q1")).await;
}

#[tokio::test]
async fn segments_elsewhere_are_not_fetched() {
    let (trino, elsewhere) = (LyingHttp::trino().await, LyingHttp::trino().await);
    let (_host, mind) = mind(&trino, json!({"spooling": true, "password": "s3cret"})).await;
    let (foreign, own) = (elsewhere.origin().to_owned(), trino.origin().to_owned());
    trino.lie(move |sql| is_read(sql).then(|| spooled(&foreign, &own)));
    let refused = mind.sql("SELECT id FROM item ORDER BY id").await;
    assert!(refused.status >= 400, "{}", refused.text());
    assert!(
        refused.text().contains("segments_url"),
        "{}",
        refused.text()
    );
    assert!(elsewhere.heard().is_empty());
}
