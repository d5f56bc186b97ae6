//! Statements that end before their last row.

use std::process::Stdio;

use serde_json::json;

use crate::host::{Host, query};
use crate::programs::until;
use crate::trino::Trino;

/// Runs for much longer than any test: no key joins the tables, so the condition is tried on 5 * 10^13 rows.
pub fn slow(mark: &str) -> String {
    format!(
        "SELECT count(*) AS {mark} FROM lineitem AS a CROSS JOIN lineitem AS b CROSS JOIN orders AS c \
         WHERE a.orderkey + b.orderkey + c.orderkey < 0"
    )
}

#[test]
fn a_client_that_leaves_ends_its_statement() {
    let trino = Trino::shared();
    let host = Host::over(trino, "tpch", &["tiny"]);
    let mut client = host.posting("/responses", &query("m", &slow("left_by_its_client")));
    let mut client = client.stdout(Stdio::null()).spawn().unwrap();
    until("it runs", || {
        (trino.awaited("left_by_its_client") > 0).then_some(())
    });
    client.kill().unwrap();
    client.wait().unwrap();
    until("it ended", || {
        (trino.running("left_by_its_client") == 0).then_some(())
    });
    assert_eq!(
        host.query("m", "SELECT count(*) FROM nation")["data"][0][0],
        25
    );
}

#[test]
fn client_that_leaves_ends_the_part_of_trino_in_a_statement_over_two_datasources() {
    let trino = Trino::shared();
    let host = Host::start();
    let mut data = trino.connection_data("tpch");
    data["schemas"] = json!(["sf1"]);
    host.datasource("lake", "trino", data);
    let few = "CREATE TABLE few (id INTEGER); INSERT INTO few VALUES (1), (2);";
    host.sqlite("own", few);
    host.mind("both", &json!(["lake", "own"]));
    // Six million rows move, which takes minutes.
    let sql = "SELECT max(l.orderkey + f.id) FROM lake.lineitem l CROSS JOIN own.few f
        WHERE l.comment <> 'part_of_two_datasources'";
    let mut client = host.posting("/responses", &query("both", sql));
    let mut client = client.stdout(Stdio::null()).spawn().unwrap();
    let runs = || trino.awaited("part_of_two_datasources") > 0;
    until("it runs", || runs().then_some(()));
    client.kill().unwrap();
    client.wait().unwrap();
    until("Trino calls it cancelled", || {
        trino.was_cancelled("part_of_two_datasources").then_some(())
    });
    assert_eq!(trino.running("part_of_two_datasources"), 0);
    assert_eq!(
        host.query("both", "SELECT count(*) FROM own.few")["data"],
        json!([[2]])
    );
}

#[test]
fn a_worker_that_is_gone_is_an_upstream_error() {
    let mut trino = Trino::with_worker(&[]);
    let host = Host::over(&trino, "tpch", &["tiny"]);
    assert_eq!(
        host.query("m", "SELECT count(*) FROM nation")["data"][0][0],
        25
    );
    let mut client = host.posting("/responses", &query("m", &slow("without_its_worker")));
    let client = client.stdout(Stdio::piped()).spawn().unwrap();
    until("it runs", || {
        (trino.running("without_its_worker") > 0).then_some(())
    });
    drop(trino.worker.take());
    let said = client.wait_with_output().unwrap().stdout;
    let said = String::from_utf8_lossy(&said).into_owned();
    let (body, status) = said.rsplit_once('\n').unwrap();
    assert!(status.starts_with('5'), "{said}");
    assert!(
        body.contains("worker") || body.contains("node") || body.contains("task"),
        "{said}"
    );
}
