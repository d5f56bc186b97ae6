//! A model that obeys writes what it read in one database into an answer, and sends it to another one with the next
//! question.

use mindhost_tests::{Host, Mind, Reply, ScriptedModel, Turn, Value, json};

use super::{both, run_sql, told};

const READ_HR: &str = "SELECT name, salary FROM hr.staff";
const READ_CRM: &str = "SELECT count(*) FROM crm.customers";

/// Asks in the conversation of an earlier answer.
async fn ask_on(host: &Host, first: &Reply, question: &str) -> Value {
    let body = json!({
        "model": "clerk", "input": question, "previous_response_id": first.json()["id"],
    });
    let response = host.post("/responses", body).await;
    response.expect_status(200).json()
}

async fn ask_first(mind: &Mind) -> Reply {
    let first = mind.ask("Who is on the staff?").await;
    first.expect_status(200)
}

#[tokio::test]
async fn value_beside_those_of_the_last_statement_is_not_sent_to_its_database() {
    let find = Turn::call("find_values", json!({"value": "miller"}));
    let salary = "There are 2 customers, and Miller earns 73,421.";
    let name = "There are 2 customers, and Miller is not among them.";
    for (read, said, statement) in [
        (
            run_sql(READ_HR),
            salary,
            "SELECT count(*) FROM crm.customers WHERE id <> 73421",
        ),
        (
            run_sql(READ_HR),
            name,
            "SELECT count(*) FROM crm.customers WHERE note <> 'miller'",
        ),
        (
            find,
            name,
            "SELECT count(*) FROM crm.customers WHERE note <> 'miller'",
        ),
    ] {
        let turns = [
            read,
            run_sql(READ_CRM),
            Turn::text(said),
            run_sql(statement),
            Turn::text("Done."),
        ];
        let model = ScriptedModel::start(turns).await;
        let (host, mind) = both(&model).await;
        let first = ask_first(&mind).await;
        ask_on(&host, &first, "And how many are the others?").await;
        let told = told(&model);
        assert_eq!(
            told["error"]["code"], "sql_literal_not_allowed",
            "{statement}: {told}"
        );
    }
}

#[tokio::test]
async fn values_of_the_last_statement_may_be_sent_to_its_database_again() {
    let statement = "SELECT count(*) FROM hr.staff WHERE salary = 73421 AND name = 'Miller'";
    let turns = [
        run_sql("SELECT name, note FROM crm.customers"),
        run_sql(READ_HR),
        Turn::text("Miller earns 73,421, and Ann has orders."),
        run_sql(statement),
        Turn::text("Done."),
    ];
    let model = ScriptedModel::start(turns).await;
    let (host, mind) = both(&model).await;
    let first = ask_first(&mind).await;
    ask_on(&host, &first, "And with whom?").await;
    let told = told(&model);
    assert_eq!(told["row_count"], 1, "{told}");
}

/// A Mind over hr, which answers and then gets other datasources in its place.
async fn after_a_change(datasources: &[&str], statement: &str) -> Value {
    let model = ScriptedModel::start([
        run_sql("SELECT name, salary FROM staff WHERE name = 'Miller'"),
        Turn::text("Miller earns 73,421."),
        run_sql(statement),
        Turn::text("Done."),
    ])
    .await;
    let (host, _both) = both(&model).await;
    let copy = "CREATE TABLE staff (id INTEGER PRIMARY KEY, name TEXT, salary INTEGER);
        INSERT INTO staff VALUES (1, 'Ann', 51980);";
    host.sqlite("copy", copy).await.load().await;
    let clerk = |names: &[&str]| {
        let named = names.iter().map(|name| json!({"name": name}));
        json!({"datasources": named.collect::<Vec<Value>>()})
    };
    let changed = host.put("/minds/clerk", clerk(&["hr"])).await;
    changed.expect_status(200);
    let body = json!({"model": "clerk", "input": "Who is on the staff?"});
    let first = host.post("/responses", body).await.expect_status(200);
    let changed = host.put("/minds/clerk", clerk(datasources)).await;
    changed.expect_status(200);
    ask_on(&host, &first, "And the others?").await;
    told(&model)
}

#[tokio::test]
async fn value_of_a_database_that_the_mind_had_is_not_sent_to_the_one_that_it_got() {
    for (datasources, statement) in [
        (
            &["crm"][..],
            "SELECT count(*) FROM customers WHERE id <> 73421",
        ),
        (
            &["crm"][..],
            "SELECT count(*) FROM customers WHERE note <> 'Miller'",
        ),
        // The earlier statement could run on this one, too.
        (
            &["copy"][..],
            "SELECT count(*) FROM staff WHERE name <> 'Miller'",
        ),
        (
            &["copy", "crm"][..],
            "SELECT count(*) FROM staff WHERE salary <> 73421",
        ),
    ] {
        let told = after_a_change(datasources, statement).await;
        assert_eq!(
            told["error"]["code"], "sql_literal_not_allowed",
            "{statement}: {told}"
        );
    }
    let kept = "SELECT count(*) FROM staff WHERE salary = 73421 AND name = 'Miller'";
    let told = after_a_change(&["hr"], kept).await;
    assert_eq!(told["row_count"], 1, "{told}");
}
