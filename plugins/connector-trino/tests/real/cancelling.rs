//! Statements that end before their last row.

use std::process::Stdio;

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
fn a_worker_that_is_gone_is_an_upstream_error() {
    let mut trino = Trino::with_worker();
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
