//! Somebody reads exports as slowly as can be, or goes on reading when there is nothing to be read any more.

use std::time::Duration;

use mindhost_tests::{Host, Mind, eventually, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, timeout},
};

/// A Mind over a table from which a short statement makes gigabytes, the path of such an export, and a user's key.
async fn endless(host: &Host) -> (Mind, String) {
    let sql = "CREATE TABLE words (w TEXT); CREATE TABLE other (w TEXT);
        WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3000)
        INSERT INTO words SELECT hex(zeroblob(500)) FROM c;";
    host.sqlite("words", sql).await.load().await;
    let mind = host.mind("clerk").datasource("words").direct_queries();
    let mind = mind.create().await;
    let tool = json!({
        "type": "sql_query", "query": "SELECT a.w FROM words a CROSS JOIN words b", "max_inline_rows": 1,
    });
    let asked = host.post("/responses", json!({"model": "clerk", "tools": [tool]}));
    let response = asked.await.expect_status(200).json();
    let path = format!(
        "/conversations/{}/items/{}/export",
        response["conversation"]["id"].as_str().unwrap(),
        response["output"][0]["id"].as_str().unwrap()
    );
    (mind, path)
}

async fn key(host: &Host) -> (String, String) {
    let made = host.post("/keys", json!({"name": "reader", "role": "admin"}));
    let made = made.await.expect_status(201).json();
    let text = |field: &str| made[field].as_str().unwrap().to_owned();
    (text("id"), text("key"))
}

/// Two hundred exports whose client reads nothing. Another key's query takes no longer than without them.
#[tokio::test]
async fn slow_exports_hold_up_no_queries() {
    let host = Host::start().await;
    let (mind, path) = endless(&host).await;
    let (_, greedy) = key(&host).await;
    let exports: Vec<_> = (0..200)
        .map(|_| tokio::spawn(host.get(&path).key(&greedy).open()))
        .collect();
    // Those that were not let in are answered at once; the others have a connection, or wait for one.
    let refused = async || exports.iter().filter(|one| one.is_finished()).count();
    eventually(refused, |refused| *refused >= 200 - 16 + 4).await;
    let begun = Instant::now();
    assert_eq!(
        mind.rows("SELECT count(*) FROM words").await,
        [[json!(3000)]]
    );
    assert!(
        begun.elapsed() < Duration::from_secs(45),
        "{:?}",
        begun.elapsed()
    );

    let mut too_many = 0;
    for export in exports {
        if !export.is_finished() {
            export.abort();
            continue;
        }
        let export = export.await.unwrap();
        if export.status() == 429 {
            too_many += 1;
            let body: mindhost_tests::Value = export.json().await.unwrap();
            let message = body["error"]["message"].as_str().unwrap();
            assert!(message.contains("limits.exports_per_key"), "{message}");
        }
    }
    assert_eq!(too_many, 200 - 16);
}

/// A client that holds an export when the right to it ends gets no more of it, and sees that it is cut.
#[tokio::test]
async fn an_export_ends_with_what_allowed_it() {
    for ending in [
        "the key",
        "the text of the key",
        "the Mind",
        "the datasource",
        "the table",
        "the permission",
    ] {
        let host = Host::start().await;
        let (_, path) = endless(&host).await;
        let (id, reader) = key(&host).await;
        let mut export = host.get(&path).key(&reader).open().await;
        assert_eq!(export.status(), 200);
        assert!(export.chunk().await.unwrap().is_some());
        match ending {
            "the key" => {
                let revoked = host.delete(&format!("/keys/{id}"));
                revoked.await.expect_status(204)
            }
            "the text of the key" => {
                let rotated = host.post(&format!("/keys/{id}/rotate"), json!({}));
                rotated.await.expect_status(200)
            }
            "the Mind" => host.delete("/minds/clerk").await.expect_status(200),
            "the datasource" => {
                let deleted = host.delete("/datasources/words?cascade=true");
                deleted.await.expect_status(204)
            }
            "the table" => {
                let other = json!({"datasources": [{"name": "words", "tables": ["other"]}]});
                host.put("/minds/clerk", other).await.expect_status(200)
            }
            _ => {
                let without = json!({"parameters": {"allow_direct_queries": false}});
                host.put("/minds/clerk", without).await.expect_status(200)
            }
        };
        // Read as fast as it comes: nine gigabytes would take longer.
        let rest = async {
            loop {
                match export.chunk().await {
                    Ok(Some(_)) => {}
                    Ok(None) => return "whole",
                    Err(_) => return "cut",
                }
            }
        };
        let end = timeout(Duration::from_secs(60), rest).await;
        assert_eq!(end, Ok("cut"), "{ending}");
    }
}

/// HTTP/1.0 has no chunks: only the way in which the connection closes says whether an export is whole.
#[tokio::test]
async fn cut_export_over_http_1_0_ends_with_a_reset() {
    for encoding in ["identity", "gzip"] {
        let host = Host::start().await;
        let (_, path) = endless(&host).await;
        let (id, reader) = key(&host).await;
        let address = host.url();
        let address = address.strip_prefix("http://").unwrap();
        let open = async |path: &str| {
            let mut connection = TcpStream::connect(address).await.unwrap();
            let request = format!(
                "GET /api/v1{path} HTTP/1.0\r\nAccept-Encoding: {encoding}\r\nAuthorization: Bearer {reader}\r\n\r\n"
            );
            connection.write_all(request.as_bytes()).await.unwrap();
            connection
        };
        let mut export = open(&path).await;
        let mut read = vec![0; 64 << 10];
        export.read_exact(&mut read[..12]).await.unwrap();
        assert_eq!(&read[..12], b"HTTP/1.0 200");
        let revoked = host.delete(&format!("/keys/{id}"));
        revoked.await.expect_status(204);
        let rest = async {
            loop {
                match export.read(&mut read).await {
                    Ok(0) => return "whole",
                    Ok(_) => {}
                    Err(_) => return "cut",
                }
            }
        };
        let end = timeout(Duration::from_secs(60), rest).await;
        assert_eq!(end, Ok("cut"), "{encoding}");
    }
}
