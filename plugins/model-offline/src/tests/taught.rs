//! What the editors taught is a part of the vocabulary: metrics as measures, terms as names, joins as keys.

use super::host::{Answer, Host};

/// Entries as the host tells them.
const METRICS: &str = "\n\
    - Metric \"revenue\" (also: turnover): Sold and not cancelled.\n  SELECT sum(i.quantity * i.unit_price) \
    FROM order_items i JOIN orders o ON o.id = i.order_id WHERE o.status <> 'cancelled'\n\
    - Metric \"active buyers\"\n  SELECT count(DISTINCT customer_id) FROM orders WHERE status = 'delivered'\n\
    - Metric \"basket\"\n  SELECT avg(o.total) FROM orders o LEFT JOIN customers c ON c.id = o.customer_id\n";
/// What the metric is over, for references.
const SOLD: &str = "FROM order_items i JOIN orders o ON o.id = order_id JOIN customers c ON c.id = customer_id \
    JOIN products p ON p.id = product_id WHERE o.status <> 'cancelled'";
const REVENUE: &str = "sum(i.quantity * i.unit_price)";

fn shop(knowledge: &str) -> Host {
    let mut host = Host::shop();
    host.knowledge = knowledge.to_owned();
    host
}

/// Whether the last statement of an answer has the rows of another one, each with its columns among others.
fn has_rows(host: &Host, answer: &Answer, reference: &str) -> bool {
    let Some(sql) = answer.sql.last().filter(|_| !answer.is_declined) else {
        return false;
    };
    let given = host.texts(sql);
    let expected = host.texts(reference);
    let mut pairs = given.iter().zip(&expected);
    given.len() == expected.len()
        && pairs.all(|(row, wanted)| wanted.iter().all(|cell| row.contains(cell)))
}

#[test]
fn taught_metric_is_a_measure_like_any_other() {
    let host = shop(METRICS);
    let in_2023 = "ordered_at >= '2023-01-01' AND ordered_at < '2024-01-01'";
    let month = "strftime('%Y-%m', ordered_at)";
    for (question, reference) in [
        (
            "revenue per customer",
            format!("SELECT c.name, {REVENUE} {SOLD} GROUP BY c.id ORDER BY 2 DESC, c.id"),
        ),
        (
            "What was the revenue in May 2024?",
            format!("SELECT {REVENUE} {SOLD} AND {month} = '2024-05'"),
        ),
        (
            "revenue of 'Blue Mug'",
            format!("SELECT {REVENUE} {SOLD} AND p.id = 3"),
        ),
        (
            "top 3 customers by revenue",
            format!("SELECT c.name, {REVENUE} {SOLD} GROUP BY c.id ORDER BY 2 DESC LIMIT 3"),
        ),
        (
            "What is the total turnover by country in 2023?",
            format!("SELECT c.country, {REVENUE} {SOLD} AND {in_2023} GROUP BY 1 ORDER BY 2 DESC"),
        ),
        (
            "monthly revenue in 2023",
            format!("SELECT {month}, {REVENUE} {SOLD} AND {in_2023} GROUP BY 1 ORDER BY 1"),
        ),
        (
            "How many active buyers were there in 2024?",
            "SELECT count(DISTINCT customer_id) FROM orders WHERE status = 'delivered' AND ordered_at LIKE '2024%'"
                .to_owned(),
        ),
    ] {
        let answer = host.ask(question);
        let fits = has_rows(&host, &answer, &reference);
        let said = answer.text.contains(" as taught: `");
        assert!(fits && said, "{question}: {answer:#?}");
    }
    let reference = format!("SELECT {month}, {REVENUE} {SOLD} GROUP BY 1 ORDER BY 1");
    let answer = host.ask_after(&["What was our turnover?"], "and by month?");
    assert!(has_rows(&host, &answer, &reference), "{answer:#?}");
}

#[test]
fn statement_has_the_rows_of_the_metric_and_joins_only_what_each_leads_to() {
    let answer = shop(METRICS).ask("revenue of 'Blue Mug' in May 2024");
    let note = "revenue as taught: `sum(i.quantity * i.unit_price) FROM order_items i \
        JOIN orders o ON o.id = i.order_id WHERE o.status <> 'cancelled'`";
    assert!(answer.text.contains(note), "{answer:#?}");
    assert_eq!(
        answer.sql.last().map(String::as_str),
        Some(
            "SELECT (sum(i.quantity * i.unit_price)) AS \"revenue\"\n\
             FROM order_items i JOIN orders o ON o.id = i.order_id\n\
             JOIN \"main\".\"products\" AS \"products\" ON \"products\".\"id\" = i.\"product_id\"\n\
             WHERE (o.status <> 'cancelled')\n  AND \"products\".\"name\" = 'Blue Mug'\n  \
             AND o.\"ordered_at\" >= '2024-05-01' AND o.\"ordered_at\" < '2024-06-01'"
        )
    );
}

#[test]
fn taught_metric_has_no_other_meaning() {
    let host = shop(METRICS);
    for question in [
        // A line has several reviews of its product, or none.
        "revenue per review",
        "average revenue per customer",
        "sales revenue in 2023",
        "total basket in 2023",
        "revenue per warehouse",
        // Rows of a left join may have no partner.
        "basket per month",
    ] {
        let answer = host.ask(question);
        assert!(answer.is_declined, "{question}: {answer:#?}");
    }
    let answer = host.ask("basket per month");
    assert!(answer.text.contains("bare name"), "{answer:#?}");
    let bare = host.ask("What is our basket?");
    let runs = bare.sql.last().is_some_and(|s| s.contains("LEFT JOIN"));
    assert!(runs && !bare.is_declined, "{bare:#?}");
}

#[test]
fn term_that_names_one_thing_is_another_word_for_it() {
    let host = shop(
        "\n- Term \"member\" (also: patron): A customer.\n\
         - Term \"lost\": An order whose status is cancelled.\n\
         - Term \"tier\" (column segment of main.customers): The segment of a customer.\n\
         - Term \"regular\" (table customers): A customer with three orders or more.\n",
    );
    for (question, reference) in [
        (
            "How many patrons are there?",
            "SELECT count(*) FROM customers",
        ),
        (
            "How many lost orders are there?",
            "SELECT count(*) FROM orders WHERE status = 'cancelled'",
        ),
        (
            "Number of customers per tier",
            "SELECT segment, count(*) FROM customers GROUP BY 1 ORDER BY 2 DESC",
        ),
    ] {
        let answer = host.ask(question);
        assert!(
            has_rows(&host, &answer, reference),
            "{question}: {answer:#?}"
        );
    }
    let answer = host.ask("How many regulars are there?");
    assert!(answer.is_declined, "{answer:#?}");
}

#[test]
fn taught_join_leads_from_table_to_table() {
    let mut host = Host::over(
        "CREATE TABLE stores (code TEXT, city TEXT);
         CREATE TABLE visits (id INTEGER PRIMARY KEY, shop TEXT, guests INTEGER);
         INSERT INTO stores VALUES ('a', 'Ulm'), ('b', 'Bonn');
         INSERT INTO visits VALUES (1, 'a', 2), (2, 'a', 3), (3, 'b', 1);",
    );
    let question = "number of visits by city";
    assert!(host.ask(question).is_declined);
    let join = "\n- Join (store of a visit): visits.shop = stores.code";
    for (cardinality, is_declined) in [
        (", many to one", false),
        ("", true),
        (", many to many", true),
    ] {
        host.knowledge = format!("{join}{cardinality}; each visit is one of a store\n");
        let answer = host.ask(question);
        assert_eq!(answer.is_declined, is_declined, "{answer:#?}");
    }
    let turned = "\n- Join (visits of a store): main.stores.code = main.visits.shop, one to many\n";
    host.knowledge = turned.to_owned();
    let answer = host.ask(question);
    let reference =
        "SELECT city, count(*) FROM visits JOIN stores ON code = shop GROUP BY 1 ORDER BY 2 DESC";
    assert!(has_rows(&host, &answer, reference), "{answer:#?}");
}
