//! An editor wants to write where it should not, or more than it may.

use std::fs;

use mindhost_tests::{Host, eventually, json};
use reqwest::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::datasources::files::{empty, empty_on, upload};

/// Every name that is not one plain file in the directory is refused, and nothing is written anywhere.
#[tokio::test]
async fn a_file_name_leads_nowhere_else() {
    let host = empty().await;
    let long = "x".repeat(300);
    for name in [
        "",
        ".",
        "..",
        "../x.csv",
        "../../x.csv",
        "a/b.csv",
        "/etc/x.csv",
        "a\\..\\b.csv",
        ".hidden",
        ".upload-1",
        "x\ny.csv",
        "C:x.csv",
        "_SUCCESS",
        "x.csv ",
        long.as_str(),
    ] {
        let refused = upload(&host, name, b"id\n1\n").await;
        let error = refused.expect_error(400, "invalid_parameter");
        assert_eq!(error["param"], "name", "{name:?}");
    }
    for name in ["..%2Fsales", "x%00"] {
        let reply = host
            .delete(&format!("/datasources/sales/files/{name}"))
            .await;
        assert!(
            [400, 404].contains(&reply.status),
            "{name}: {}",
            reply.text()
        );
    }
    assert_eq!(fs::read_dir(host.files_dir()).unwrap().count(), 1);
    assert_eq!(
        fs::read_dir(host.files_dir().join("sales"))
            .unwrap()
            .count(),
        0
    );
}

/// A link in place of the directory, or of the file, is not followed.
#[tokio::test]
async fn a_link_is_not_written_through() {
    let host = empty().await;
    let outside = host.data_dir().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "kept").unwrap();
    let directory = host.files_dir().join("sales");
    std::os::unix::fs::symlink(outside.join("secret"), directory.join("x.csv")).unwrap();
    upload(&host, "x.csv", b"id\n1\n")
        .await
        .expect_error(409, "name_taken");
    let request = host.api(Method::POST, "/datasources/sales/files");
    let request = request.query("name", "x.csv").query("overwrite", "true");
    request.raw(b"id\n1\n".to_vec()).await.expect_status(201);
    assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "kept");

    fs::remove_dir_all(&directory).unwrap();
    std::os::unix::fs::symlink(&outside, &directory).unwrap();
    upload(&host, "y.csv", b"id\n1\n")
        .await
        .expect_error(409, "wrong_state");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

/// Files that are too large, one by one and together, are refused and leave nothing behind.
#[tokio::test]
async fn an_editor_uploads_no_more_than_it_may() {
    let host = Host::builder()
        .env("MINDHOST_FILES__MAX_UPLOAD_BYTES", "1000")
        .env("MINDHOST_FILES__MAX_WORKSPACE_BYTES", "2500")
        .start()
        .await;
    let host = empty_on(host).await;
    upload(&host, "large.csv", &[b'x'; 1001])
        .await
        .expect_error(413, "body_too_large");
    for name in ["a.csv", "b.csv"] {
        upload(&host, name, &[b'x'; 1000]).await.expect_status(201);
    }
    let refused = upload(&host, "c.csv", &[b'x'; 1000]).await;
    let error = refused.expect_error(429, "quota_exceeded");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("files.max_workspace_bytes")
    );
    let together = futures_util::future::join_all((0..8).map(async |n| {
        upload(&host, &format!("{n}.csv"), &[b'x'; 400])
            .await
            .status
    }));
    let taken = together
        .await
        .into_iter()
        .filter(|status| *status == 201)
        .count();
    assert!(taken <= 1, "{taken}");
    let names = fs::read_dir(host.files_dir().join("sales")).unwrap();
    assert_eq!(names.count(), 2 + taken);
}

/// What stands around the file of a form is bounded, so that it cannot fill the memory: what comes before the first
/// boundary, headers without an end, other fields, and what follows the file.
#[tokio::test]
async fn a_form_brings_little_beside_its_file() {
    let host = empty().await;
    let much = "x".repeat(600 << 10);
    let field = "--b\r\ncontent-disposition: form-data; name=\"note\"\r\n";
    let file = "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"item.csv\"\r\n\r\nid\n7\n\r\n--b";
    for form in [
        much.clone(),
        format!("--b\r\nx-header: {much}"),
        format!("{field}\r\n{much}\r\n{file}--\r\n"),
        format!("{file}\r\nx-header: {much}"),
    ] {
        let request = host.api(Method::POST, "/datasources/sales/files");
        let request = request
            .raw(form.into_bytes())
            .header("content-type", "multipart/form-data; boundary=b");
        let error = request.await.expect_error(413, "body_too_large");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("64 KiB beside its file"), "{message}");
    }
    assert_eq!(host.get("/datasources/sales/files").await.json(), json!([]));
}

/// The workspace's own directories are read before those that an operator granted, so a directory of the same name
/// would hide the files that others put there.
#[tokio::test]
async fn an_upload_hides_no_granted_directory() {
    let granted = tempfile::tempdir().unwrap();
    fs::create_dir(granted.path().join("sales")).unwrap();
    fs::write(granted.path().join("sales/item.csv"), "id\n1\n").unwrap();
    let root = granted.path().to_str().unwrap();
    let host = Host::builder()
        .env("MINDHOST_FILES__ROOTS", root)
        .start()
        .await;
    let host = empty_on(host).await;
    upload(&host, "other.csv", b"id\n2\n")
        .await
        .expect_error(409, "wrong_state");
    for path in ["/datasources/sales/files", "/datasources/sales/files/x.csv"] {
        let reply = match path.ends_with("files") {
            true => host.get(path).await,
            false => host.delete(path).await,
        };
        reply.expect_error(409, "wrong_state");
    }
    // One within it would hide it too.
    let inner =
        json!({"name": "inner", "engine": "files", "connection_data": {"path": "sales/mine"}});
    let made = host
        .post("/datasources?check_connection=false", inner)
        .await;
    made.expect_status(201);
    host.get("/datasources/inner/files")
        .await
        .expect_error(409, "wrong_state");
    assert!(!host.files_dir().join("sales").exists());
    let tables = host
        .post("/datasources/sales/catalog/refresh", json!({}))
        .await;
    tables.expect_status(200);
    let mind = host
        .mind("sales")
        .datasource("sales")
        .direct_queries()
        .create()
        .await;
    assert_eq!(mind.rows("SELECT id FROM item").await, [[json!(1)]]);
}

/// A client that leaves in the middle leaves no file, not even a part of one.
#[tokio::test]
async fn an_upload_that_breaks_off_leaves_nothing() {
    let host = empty().await;
    let (mut stream, directory) = begin_upload(&host).await;
    let count = async || fs::read_dir(&directory).unwrap().count();
    assert_eq!(host.get("/datasources/sales/files").await.json(), json!([]));
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    drop(stream);
    eventually(count, |count| *count == 0).await;
}

/// A killed server cannot remove what it was receiving: the next start does.
#[tokio::test]
async fn an_upload_to_a_killed_server_leaves_nothing() {
    let host = empty().await;
    let (_stream, directory) = begin_upload(&host).await;
    host.kill().await;
    let partial = fs::read_dir(&directory).unwrap().next().unwrap().unwrap();
    let file = fs::File::options().write(true).open(partial.path());
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(5);
    file.unwrap().set_modified(earlier).unwrap();
    host.restart().await;
    let count = async || fs::read_dir(&directory).unwrap().count();
    eventually(count, |count| *count == 0).await;
}

/// Sends the beginning of a file. Gives the connection, and the directory that has the beginning.
async fn begin_upload(host: &Host) -> (tokio::net::TcpStream, std::path::PathBuf) {
    let url = host.base_url();
    let address = url
        .trim_start_matches("http://")
        .split('/')
        .next()
        .unwrap()
        .to_owned();
    let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
    let head = format!(
        "POST /api/v1/datasources/sales/files?name=x.csv HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\n\
         content-type: text/csv\r\ncontent-length: 1000\r\n\r\nid\n1\n",
        host.key()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let directory = host.files_dir().join("sales");
    let count = async || fs::read_dir(&directory).unwrap().count();
    eventually(count, |count| *count == 1).await;
    (stream, directory)
}
