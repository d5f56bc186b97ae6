//! What the answers look like, what they are sent with, and the statements in each dialect.

use serde_json::json;

use super::host::Host;
use crate::catalog::Catalog;
use crate::turn::Action;
use crate::{lookup, ranked, tools, write};

#[test]
fn one_figure_is_a_sentence() {
    let shop = Host::shop();
    let answer = shop.ask("How many shipped orders are there in 2024?");
    let count = "SELECT count(*) FROM orders WHERE status = 'shipped' AND ordered_at LIKE '2024%'";
    let count = shop.one(count);
    assert_eq!(
        answer.text,
        format!(
            "The number of orders where orders.status is 'shipped' and orders.ordered_at is in 2024 is **{count}**."
        )
    );
}

#[test]
fn several_rows_are_a_table() {
    let answer = Host::shop().ask("Number of customers per segment");
    assert_eq!(
        answer.text,
        "Number of customers per segment, by count (largest first):\n\n| segment | count |\n| --- | ---: |\n| private | 45 |\n| business | 15 |\n"
    );
}

#[test]
fn how_words_were_read_is_said_and_sent_as_assumptions() {
    let answer = Host::shop().ask("total revenue");
    let note = "revenue is the sum of `orders.total`";
    let said = format!("How I read it: {note}.");
    assert!(answer.text.ends_with(&said), "{}", answer.text);
    assert_eq!(answer.assumptions, json!([note]));
    let nine = vec![note.to_owned(); 9];
    let Action::Call { arguments, .. } = tools::run("shop", "SELECT 1", 5, &nine) else {
        panic!("no call");
    };
    let given: serde_json::Value = serde_json::from_str(&arguments).unwrap();
    assert_eq!(given["assumptions"].as_array().map(Vec::len), Some(8));
}

#[test]
fn statement_of_the_answer_runs_last() {
    let answer = Host::shop().ask("What is the most expensive product?");
    let last = answer.sql.last().map(String::as_str).unwrap_or_default();
    assert!(
        answer.sql.len() > 1 && last.ends_with("LIMIT 1"),
        "{answer:#?}"
    );
}

#[test]
fn the_catalog_can_be_asked_about() {
    let shop = Host::shop();
    for (question, said) in [
        ("What tables are there?", "There are 12 tables and views:"),
        ("show me all the tables", "There are 12 tables and views:"),
        ("What data do you have?", "There are 12 tables and views:"),
        ("describe table orders", "| ordered_at | TIMESTAMP |"),
        (
            "What columns does orders have?",
            "| ordered_at | TIMESTAMP |",
        ),
        ("help", "- How many"),
        ("Hello", "- How many"),
    ] {
        let answer = shop.ask(question);
        assert!(answer.text.contains(said), "{question}: {}", answer.text);
    }
}

#[test]
fn request_that_names_no_rows_is_declined() {
    let answer = Host::shop().ask("list them");
    let said = "I cannot tell what \"them\" stands for";
    assert!(
        answer.is_declined && answer.text.contains(said),
        "{answer:?}"
    );
}

#[test]
fn no_digit_of_an_answer_is_made_up() {
    let shop = Host::shop();
    let answer = shop.ask("How many orders were placed in 1999?");
    assert!(answer.text.contains("**0**"), "{answer:?}");
    let answer = shop.ask("What was the revenue in 1999?");
    let said = "There is no total revenue";
    assert!(
        answer.text.contains(said) && !answer.text.contains("**"),
        "{answer:?}"
    );
}

#[test]
fn rows_that_are_withheld_are_not_taken_for_none() {
    let mut host = Host::shop();
    host.withhold_rows = true;
    let answer = host.ask("How many orders are there?");
    let said = "gave one row, but the rows were not shown to me";
    assert!(answer.text.contains(said), "{answer:?}");
    let answer = host.ask("List the customers");
    assert!(answer.text.contains("gave many rows"), "{answer:?}");
}

#[test]
fn in_a_large_catalog_the_tables_of_the_question_are_found_and_all_are_counted() {
    let table = |n: u8| format!("CREATE TABLE archive_{n} (id INTEGER PRIMARY KEY);\n");
    let many: String = (1..130).map(table).collect();
    let guests = "CREATE TABLE guests (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO guests VALUES (1, 'Ann'), (2, 'Bo');";
    let host = Host::over(&format!("{many}{guests}"));
    let answer = host.ask("How many guests are there?");
    assert!(answer.text.contains("**2**"), "{answer:#?}");
    let answer = host.ask("What tables are there?");
    let said = "There are 130 tables and views. The first 100 are:";
    assert!(answer.text.starts_with(said), "{answer:#?}");
}

#[test]
fn a_look_up_that_is_full_is_not_taken_for_all_there_is() {
    let row = |n: usize| format!("INSERT INTO track VALUES ({n}, 'Track {n}');\n");
    let rows: String = (0..80).map(row).collect();
    let host = Host::over(&format!(
        "CREATE TABLE track (id INTEGER, name TEXT);\n{rows}"
    ));
    let catalog = Catalog::parse(&host.catalog().to_string()).unwrap();
    let learns = |count: usize| {
        let columns = [json!({"name": "column"}), json!({"name": "value"})];
        let rows = vec![json!(["track.name", "Hello"]); count];
        let found = json!({"columns": columns, "rows": rows, "row_count": count});
        let known = lookup::learned(&catalog, &serde_json::from_value(found).unwrap());
        let values = &known.tables[0].columns[1].common_values;
        values.iter().any(|v| v == "Hello")
    };
    assert!(learns(1) && !learns(60));
}

fn statement(question: &str, dialect: &str) -> String {
    let mut json = Host::shop().catalog();
    for table in json["tables"].as_array_mut().unwrap() {
        table["dialect"] = dialect.into();
    }
    let catalog = Catalog::parse(&json.to_string()).unwrap();
    let today = "2024-11-20".parse().ok();
    let query = ranked::understand(&catalog, question, &[], today).unwrap();
    write::write(&catalog, &query, true)
}

#[test]
fn statements_in_each_dialect() {
    for (question, dialect, expected) in [
        (
            "How many shipped orders in 2024?",
            "sqlite",
            "SELECT COUNT(*) AS \"count\"\nFROM \"main\".\"orders\" AS \"orders\"\nWHERE \"orders\".\"status\" = 'shipped'\n  \
             AND \"orders\".\"ordered_at\" >= '2024-01-01' AND \"orders\".\"ordered_at\" < '2025-01-01'",
        ),
        (
            "revenue per month",
            "postgresql",
            "SELECT to_char(date_trunc('month', \"orders\".\"ordered_at\"), 'YYYY-MM') AS \"month\", \
             ROUND(CAST(SUM(\"orders\".\"total\") AS numeric), 2) AS \"revenue\"\nFROM \"main\".\"orders\" AS \"orders\"\n\
             GROUP BY to_char(date_trunc('month', \"orders\".\"ordered_at\"), 'YYYY-MM')\nORDER BY \"month\"",
        ),
        (
            "What is the total weight kg of products?",
            "postgresql",
            "SELECT CAST(ROUND(CAST(SUM(CAST(\"products\".\"weight_kg\" AS double precision)) AS numeric), 6) \
             AS double precision) AS \"total_weight_kg\"\nFROM \"main\".\"products\" AS \"products\"",
        ),
        (
            "top 3 products by price",
            "mssql",
            "SELECT TOP (3) [products].[name], [products].[id], [products].[price]\nFROM [main].[products] AS [products]\n\
             ORDER BY [products].[price] DESC, [products].[id]",
        ),
    ] {
        assert_eq!(statement(question, dialect), expected);
    }
    let text = statement("How many orders in 2024 by week", "mysql");
    let week = "DATE_FORMAT(DATE_SUB(`orders`.`ordered_at`, INTERVAL WEEKDAY(`orders`.`ordered_at`) DAY), '%Y-%m-%d')";
    assert!(text.contains(week), "{text}");
    // A quoted text stays a literal.
    let text = statement("How many customers with name 'x'' OR 1=1 --'?", "sqlite");
    assert!(text.contains("LOWER('x'' OR 1=1 --')"), "{text}");
}
