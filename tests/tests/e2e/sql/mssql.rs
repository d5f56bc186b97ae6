//! The lists for SQL Server. The server is a double that computes with SQLite, so it does not know every function of
//! the lists; how a statement reaches it matters here, and that nothing else does.

use mindhost_tests::{Host, Mind};
use serde_json::json;
use tds_double::{DATABASE, Double, PASSWORD, USER, batch};

use super::{check_refused, list, mind_over};

const FIXTURE: &str = include_str!("../../../sql/fixture.mssql.sql");

/// What stands around a statement in its batch, but for the milliseconds that locks are waited for: a transaction that
/// never commits, and the statement as a text to it.
const BEGIN: &str = "SET LOCK_TIMEOUT ";
const EXECUTE: &str =
    " IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION BEGIN TRANSACTION EXECUTE sys.sp_executesql N'";
const END: &str = "' IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION";

async fn on_mssql() -> (Double, Host, Mind) {
    let double = Double::start(FIXTURE);
    let host = Host::start().await;
    let data = json!({
        "host": "localhost", "port": double.port(), "user": USER, "password": PASSWORD, "database": DATABASE,
    });
    host.datasource("shop", "mssql", data).await.load().await;
    let mind = mind_over(&host, "dbo").await;
    (double, host, mind)
}

/// The statement that a batch runs, if it can do nothing else.
fn statement_of(batch: &str) -> Option<String> {
    let (timeout, rest) = batch.strip_prefix(BEGIN)?.split_once(EXECUTE)?;
    let quoted = rest.strip_suffix(END)?;
    let is_number = timeout.bytes().all(|digit| digit.is_ascii_digit());
    // A quote that is not doubled would end the text.
    let is_one_text = !quoted.replace("''", "").contains('\'');
    (is_number && is_one_text).then(|| quoted.replace("''", "'"))
}

#[tokio::test(flavor = "multi_thread")]
async fn statement_reaches_sql_server_as_one_text_in_a_transaction_that_is_rolled_back() {
    let (double, _host, mind) = on_mssql().await;
    let statements = list(include_str!("../../../sql/legitimate/mssql.sql"));
    assert!(statements.len() >= 150, "{}", statements.len());
    let mut answered = 0;
    for statement in statements {
        let text = &statement.text;
        let before = double.asked().len();
        let reply = mind.sql(text).await;
        let asked = double.asked().split_off(before);
        let batches: Vec<&String> = asked
            .iter()
            .filter(|one| one.contains("sp_executesql"))
            .collect();
        let [sent] = batches.as_slice() else {
            panic!("{text}{asked:?}\n{}", reply.text());
        };
        let Some(run) = statement_of(sent) else {
            panic!("{text}{sent}");
        };
        assert_eq!(batch::split(&run).unwrap().len(), 1, "{run}");
        let body = reply.json();
        match reply.status {
            200 => {
                answered += 1;
                assert_eq!(body["output"][0]["executed_query"], run, "{text}");
            }
            // What the double does not know; the guard has other codes.
            _ => assert_eq!(body["error"]["code"], "sql_invalid", "{text}{body}"),
        }
    }
    assert!(answered >= 100, "{answered} statements had an answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn attacks_on_sql_server_never_reach_it() {
    let (double, _host, mind) = on_mssql().await;
    let before = double.asked();
    check_refused(&mind, include_str!("../../../sql/attacks/mssql.sql")).await;
    assert_eq!(double.asked(), before);
}
