//! What Trino expects of a statement of a model before it runs.

use serde_json::{Value, json};

use crate::host::Host;
use crate::trino::Trino;

/// The texts with which the statement was started that is to be refused, without those that only check it: knowledge is
/// checked again from time to time.
const STARTED: &str = "SELECT query FROM system.runtime.queries WHERE query LIKE '%refused_for_its_plan%' \
     AND query NOT LIKE '%system.runtime%' AND query NOT LIKE 'EXPLAIN%' AND query NOT LIKE '%LIMIT 0%'";

/// Asks in words, and gives the response with the steps of its answer. The offline model runs the query that was
/// verified for a question.
fn asked(host: &Host, question: &str) -> (Value, String) {
    let body = json!({"model": "m", "input": question});
    let response = host.post("/responses", &body).expect(200);
    let conversation = response["conversation"]["id"].as_str().unwrap();
    let items = host.get(&format!(
        "/conversations/{conversation}/items?include=answer"
    ));
    let steps = items.expect(200)["data"][0]["answer"]["steps"].to_string();
    (response, steps)
}

#[test]
fn statement_whose_plan_has_too_many_rows_is_refused_before_it_runs() {
    let trino = Trino::shared();
    let host = Host::with(&[("MINDHOST_ANSWERING__MAX_PLAN_COST", "100000")]);
    let mut data = trino.connection_data("tpch");
    data["schemas"] = json!(["tiny"]);
    host.datasource("lake", "trino", data);
    host.mind("m", &json!(["lake"]));
    let teach = |question: &str, sql: &str| {
        let body = json!({"kind": "verified_query", "question": question, "sql": sql});
        host.post("/minds/m/knowledge", &body).expect(201);
    };
    // 390,625 pairs of pairs, which Trino joins in a moment: it is refused for its plan, not for its time.
    let nations =
        "FROM nation AS a CROSS JOIN nation AS b CROSS JOIN nation AS c CROSS JOIN nation AS d";
    teach(
        "How many journeys are there?",
        &format!("SELECT count(*) AS refused_for_its_plan {nations}"),
    );
    // As many rows, of which ten are made.
    teach(
        "Which journeys are there?",
        &format!("SELECT a.name {nations} LIMIT 10"),
    );
    let (_, refused) = asked(&host, "How many journeys are there?");
    assert!(
        refused.contains("the engine estimates a cost of"),
        "{refused}"
    );
    assert!(refused.contains("at most 100000 is allowed"), "{refused}");
    assert_eq!(trino.rows(STARTED), [json!([]); 0], "it ran");
    for (question, rows) in [
        ("How many orders are there?", 1),
        ("Which journeys are there?", 10),
    ] {
        let (answer, steps) = asked(&host, question);
        assert!(!steps.contains("estimates a cost"), "{question}: {steps}");
        let conversation = answer["conversation"]["id"].as_str().unwrap();
        let item = answer["output"][0]["id"].as_str().unwrap();
        let path = format!("/conversations/{conversation}/items/{item}/result");
        assert_eq!(host.get(&path).expect(200)["total"], rows, "{question}");
    }
}
