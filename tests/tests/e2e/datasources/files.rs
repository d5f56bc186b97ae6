//! `/datasources/{name}/files`, and questions over what was uploaded.

use std::{cell::Cell, ffi::OsStr, fs, os::unix::ffi::OsStrExt as _};

use mindhost_tests::{Host, Reply, Value, json};
use reqwest::Method;

/// A datasource over an empty directory.
pub async fn empty() -> Host {
    empty_on(Host::start().await).await
}

/// As [`empty`], on a host with other settings.
pub async fn empty_on(host: Host) -> Host {
    host.datasource("sales", "files", json!({"path": "sales"}))
        .await;
    host
}

/// Uploads a file as the body of a request.
pub async fn upload(host: &Host, name: &str, content: &[u8]) -> Reply {
    let request = host
        .api(Method::POST, "/datasources/sales/files")
        .query("name", name);
    request.raw(content.to_vec()).await
}

async fn listed(host: &Host) -> Vec<Value> {
    let files = host
        .get("/datasources/sales/files")
        .await
        .expect_status(200)
        .json();
    files
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["name"].clone())
        .collect()
}

/// Nobody needs a shell on the server: a datasource begins empty, and its files come over the API.
#[tokio::test]
async fn a_datasource_begins_empty_and_is_filled_by_uploads() {
    let host = empty().await;
    assert_eq!(listed(&host).await, Vec::<Value>::new());
    let stored = upload(&host, "item.csv", b"id,name\n1,tea\n2,salt\n")
        .await
        .expect_status(201)
        .json();
    assert_eq!(
        (&stored["name"], &stored["bytes"]),
        (&json!("item.csv"), &json!(21))
    );
    let orders = "{\"item\": 1, \"on\": \"2024-02-29\"}\n{\"item\": 1, \"on\": \"2024-03-01\"}\n";
    upload(&host, "orders.jsonl", orders.as_bytes())
        .await
        .expect_status(201);
    assert_eq!(listed(&host).await, ["item.csv", "orders.jsonl"]);

    host.post("/datasources/sales/catalog/refresh", json!({}))
        .await;
    let mind = host
        .mind("sales")
        .datasource("sales")
        .direct_queries()
        .create()
        .await;
    let sql = "SELECT name, count(*) FROM orders JOIN item ON item.id = orders.item \
               WHERE orders.\"on\" >= DATE '2024-03-01' GROUP BY name";
    assert_eq!(mind.rows(sql).await, [[json!("tea"), json!(1)]]);

    host.delete("/datasources/sales/files/item.csv")
        .await
        .expect_status(204);
    assert_eq!(listed(&host).await, ["orders.jsonl"]);
    let gone = host.delete("/datasources/sales/files/item.csv").await;
    gone.expect_error(404, "file_not_found");
}

/// The first lines of each file say what stands between two fields.
#[tokio::test]
async fn delimiter_is_recognised() {
    let host = Host::start().await;
    let directory = host.files_dir().join("sales");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("semi.csv"), "id;price\n1;2,50\n2;3,75\n").unwrap();
    fs::write(directory.join("usual.csv"), "id,note\n1,a;b\n").unwrap();
    let data = json!({"path": "sales"});
    host.datasource("sales", "files", data).await.load().await;
    let mind = host
        .mind("sales")
        .datasource("sales")
        .direct_queries()
        .create()
        .await;
    assert_eq!(
        mind.rows("SELECT price, note FROM semi JOIN usual USING (id)")
            .await,
        [[json!("2,50"), json!("a;b")]]
    );
    assert_eq!(mind.rows("SELECT count(*) FROM semi").await, [[json!(2)]]);
}

#[tokio::test]
async fn a_file_is_replaced_only_where_that_is_wanted() {
    let host = empty().await;
    upload(&host, "item.csv", b"id\n1\n")
        .await
        .expect_status(201);
    upload(&host, "item.csv", b"id\n2\n")
        .await
        .expect_error(409, "name_taken");
    let request = host.api(Method::POST, "/datasources/sales/files");
    let request = request.query("name", "item.csv").query("overwrite", "true");
    request.raw(b"id\n30\n".to_vec()).await.expect_status(201);
    assert_eq!(
        fs::read(host.files_dir().join("sales/item.csv")).unwrap(),
        b"id\n30\n"
    );
}

#[tokio::test]
async fn a_form_is_taken_as_a_browser_sends_it() {
    let host = empty().await;
    let form = "--b\r\ncontent-disposition: form-data; name=\"note\"\r\n\r\nx\r\n\
                --b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"item.csv\"\r\n\
                content-type: text/csv\r\n\r\nid\n7\n\r\n--b--\r\n";
    let send = |body: &str| {
        let request = host.api(Method::POST, "/datasources/sales/files");
        request
            .raw(body.as_bytes().to_vec())
            .header("content-type", "multipart/form-data; boundary=b")
    };
    send(form).await.expect_status(201);
    assert_eq!(
        fs::read(host.files_dir().join("sales/item.csv")).unwrap(),
        b"id\n7\n"
    );
    for broken in [&form[..form.len() - 20], "--b--\r\n", ""] {
        send(&broken.replace("item.csv", "other.csv"))
            .await
            .expect_error(400, "invalid_body");
    }
    assert_eq!(listed(&host).await, ["item.csv"]);
}

#[tokio::test]
async fn engines_without_a_directory_take_no_files() {
    let host = Host::start().await;
    host.sqlite("sales", "CREATE TABLE item (id INTEGER)").await;
    upload(&host, "item.csv", b"id\n")
        .await
        .expect_error(409, "wrong_state");
    host.get("/datasources/sales/files")
        .await
        .expect_error(409, "wrong_state");
}

#[tokio::test]
async fn an_upload_is_audited() {
    let host = empty().await;
    upload(&host, "item.csv", b"id\n1\n")
        .await
        .expect_status(201);
    let notes = host.get("/audit?limit=20").await.expect_status(200).text();
    assert!(notes.contains("item.csv bytes=5"), "{notes}");
}

/// An old datasource of the engine `csv` is served by the same plugin, as it was.
#[tokio::test]
async fn a_datasource_of_csv_files_is_one_of_files() {
    let host = Host::start().await;
    let directory = host.files_dir().join("old");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("x.csv"), "zip;n\n01234;1\n").unwrap();
    fs::write(directory.join("x.CSV"), "other\n1\n").unwrap();
    let data = json!({"path": "old", "delimiter": ";", "types": {"x.n": "decimal"}, "types_from_rows": 10});
    host.datasource("old", "csv", data).await.load().await;
    let mind = host
        .mind("old")
        .datasource("old")
        .direct_queries()
        .create()
        .await;
    assert_eq!(
        mind.rows("SELECT zip, n FROM x").await,
        [[json!("01234"), json!("1.0000000000")]]
    );
    assert_eq!(
        mind.rows("SELECT other FROM files.\"x.CSV\"").await,
        [[json!(1)]]
    );
}

/// A count converts no values, so one that does not fit its column is not in its way.
#[tokio::test]
async fn a_count_succeeds_over_values_that_do_not_fit() {
    let host = Host::start().await;
    let directory = host.files_dir().join("mixed");
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("item.csv");
    fs::write(&file, "id\n1\n").unwrap();
    let data = json!({"path": "mixed", "types_from_rows": 1});
    host.datasource("mixed", "files", data).await.load().await;
    let mind = host
        .mind("mixed")
        .datasource("mixed")
        .direct_queries()
        .create()
        .await;
    fs::write(&file, "id\n1\nx\n").unwrap();
    mind.sql("SELECT id FROM item")
        .await
        .expect_error(502, "upstream_error");
    assert_eq!(mind.rows("SELECT count(*) FROM item").await, [[json!(2)]]);
}

/// Such a name cannot be asked for in the sandbox. It hides none of the other files.
#[tokio::test]
async fn name_that_is_not_utf_8_hides_no_other_file() {
    let host = Host::start().await;
    let directory = host.files_dir().join("sales/item");
    fs::create_dir_all(&directory).unwrap();
    for number in 1..=9 {
        let odd = [
            b"caf\xe9".as_slice(),
            number.to_string().as_bytes(),
            b".csv",
        ]
        .concat();
        fs::write(directory.join(OsStr::from_bytes(&odd)), "x\n100\n").unwrap();
        let file = directory.join(format!("{number}.csv"));
        fs::write(file, format!("x\n{number}\n")).unwrap();
    }
    let data = json!({"path": "sales"});
    host.datasource("sales", "files", data).await.load().await;
    let mind = host
        .mind("sales")
        .datasource("sales")
        .direct_queries()
        .create()
        .await;
    assert_eq!(
        mind.rows("SELECT count(*), max(x) FROM item").await,
        [[json!(9), json!(9)]]
    );
}

/// Replaces a file until it is told to stop.
async fn upload_on(host: &Host, name: &str, is_done: &Cell<bool>) {
    while !is_done.get() {
        let request = host.api(Method::POST, "/datasources/sales/files");
        let request = request.query("name", name).query("overwrite", "true");
        request.raw(b"note".to_vec()).await.expect_status(201);
    }
}

/// A file that is being received has a name that vanishes at any moment, also while the directory is listed.
#[tokio::test]
async fn uploads_change_no_answer_about_other_files() {
    const FILES: usize = 500;
    let host = Host::start().await;
    let directory = host.files_dir().join("sales");
    fs::create_dir_all(&directory).unwrap();
    for number in 1..=FILES {
        let file = directory.join(format!("item-{number}.csv"));
        fs::write(file, format!("x\n{number}\n")).unwrap();
    }
    let data = json!({"path": "sales", "tables": {"item": {"glob": "item-*.csv"}}});
    host.datasource("sales", "files", data).await.load().await;
    let mind = host
        .mind("sales")
        .datasource("sales")
        .direct_queries()
        .create()
        .await;
    let is_done = Cell::new(false);
    let ask = async {
        for _ in 0..40 {
            let rows = mind.rows("SELECT count(*), max(x) FROM item").await;
            assert_eq!(rows, [[json!(FILES), json!(FILES)]]);
        }
        is_done.set(true);
    };
    tokio::join!(
        ask,
        upload_on(&host, "a.txt", &is_done),
        upload_on(&host, "b.txt", &is_done),
        upload_on(&host, "c.txt", &is_done)
    );
}

/// Neither takes the memory of the plugin: an instance that ran out of it would be a fault of the plugin.
#[tokio::test]
async fn row_of_millions_of_fields_is_read_within_the_memory_of_a_plugin() {
    let host = Host::start().await;
    let directory = host.files_dir().join("wide");
    fs::create_dir_all(&directory).unwrap();
    let (commas, members) = ("a,b\n1,2\n", "{\"a\":1}\n");
    fs::write(directory.join("commas.csv"), commas).unwrap();
    fs::write(directory.join("members.jsonl"), members).unwrap();
    let data = json!({"path": "wide"});
    host.datasource("wide", "files", data).await.load().await;
    let mind = host
        .mind("wide")
        .datasource("wide")
        .direct_queries()
        .create()
        .await;
    // Behind the rows that decide the types.
    let commas = format!("a,b\n{}{}\n", "1,2\n".repeat(1_001), ",".repeat(60 << 20));
    fs::write(directory.join("commas.csv"), commas).unwrap();
    let members = format!("{members}{{{}\"a\":2}}\n", "\"a\":1,".repeat(9_000_000));
    fs::write(directory.join("members.jsonl"), members).unwrap();
    let reply = mind.sql("SELECT count(*) FROM commas").await;
    reply.expect_error(502, "upstream_error");
    assert!(reply.text().contains("line 1003"), "{}", reply.text());
    assert_eq!(
        mind.rows("SELECT a FROM members ORDER BY a").await,
        [[json!(1)], [json!(2)]]
    );
}
