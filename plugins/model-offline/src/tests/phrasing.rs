//! What the answers look like.

use super::host::Host;

#[test]
fn one_figure_is_a_sentence() {
    let shop = Host::shop();
    let answer = shop.ask("How many shipped orders are there in 2024?");
    let count = shop
        .one("SELECT count(*) FROM orders WHERE status = 'shipped' AND ordered_at LIKE '2024%'");
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
fn a_definition_that_was_chosen_is_told() {
    let answer = Host::shop().ask("total revenue");
    assert!(
        answer
            .text
            .ends_with("How I read it: revenue is the sum of `orders.total`."),
        "{}",
        answer.text
    );
}

#[test]
fn the_catalog_can_be_asked_about() {
    let shop = Host::shop();
    for question in [
        "What tables are there?",
        "list tables",
        "show me all the tables",
        "which tables do you have",
        "What data do you have?",
    ] {
        let answer = shop.ask(question);
        assert!(
            answer.text.starts_with("There are 12 tables and views:"),
            "{question}: {}",
            answer.text
        );
    }
    for question in [
        "describe table orders",
        "Describe orders",
        "What columns does orders have?",
    ] {
        let answer = shop.ask(question);
        assert!(
            answer.text.contains("| ordered_at | TIMESTAMP |"),
            "{question}: {}",
            answer.text
        );
    }
    assert!(shop.ask("help").text.contains("- How many"));
    assert!(shop.ask("Hello").text.contains("- How many"));
}
