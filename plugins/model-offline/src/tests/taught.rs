//! What the editors taught is a part of the vocabulary: metrics as measures, terms as names, joins as keys.

use super::host::{Answer, Host};

/// Entries as the host tells them.
const METRICS: &str = "\n\
    - Metric \"revenue\" (also: turnover): Sold and not cancelled.\n  SELECT sum(i.quantity * i.unit_price) \
    FROM order_items i JOIN orders o ON o.id = i.order_id WHERE o.status <> 'cancelled'\n\
    - Metric \"intake\"\n  SELECT sum(total) FROM orders WHERE status = 'delivered' OR status = 'shipped'\n\
    - Metric \"basket size\"\n  SELECT avg(total) FROM orders\n\
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
        (
            "active buyers per country",
            "SELECT c.country, count(DISTINCT customer_id) FROM orders JOIN customers c ON c.id = customer_id \
             WHERE status = 'delivered' GROUP BY 1 ORDER BY 2 DESC, 1"
                .to_owned(),
        ),
        (
            "What was the intake in 2023?",
            format!("SELECT sum(total) FROM orders WHERE status IN ('delivered', 'shipped') AND {in_2023}"),
        ),
        (
            "basket size in 2023",
            format!("SELECT avg(total) FROM orders WHERE {in_2023}"),
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
        "total basket size in 2023",
        "revenue per carrier",
        // The other figure would be of the rows of the metric too.
        "number of orders and intake per customer",
        "average shipping fee and intake per customer",
        "customers with more than 5 orders and intake",
        // These ask for rows, which a count does not have.
        "List the active buyers in Germany",
        "Which active buyers are from Germany?",
        "Show the active buyers",
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
fn taught_metric_with_the_name_of_a_table_is_meant_where_it_is_counted() {
    let kept = "SELECT count(*) FROM orders WHERE status <> 'cancelled'";
    let host = shop(&format!("\n- Metric \"orders\"\n  {kept}\n"));
    let answer = host.ask("How many orders are there?");
    assert!(has_rows(&host, &answer, kept), "{answer:#?}");
    let answer = host.ask("Show the cancelled orders");
    let rows = "SELECT id FROM orders WHERE status = 'cancelled'";
    assert!(has_rows(&host, &answer, rows), "{answer:#?}");
}

#[test]
fn taught_metric_joins_its_tables_over_keys() {
    let mut host = Host::over(
        "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
         CREATE TABLE orders (id INTEGER PRIMARY KEY, buyer_id INTEGER NOT NULL REFERENCES users (id),
             seller_id INTEGER NOT NULL, total INTEGER NOT NULL);
         INSERT INTO users VALUES (1, 'Ann'), (2, 'Bo');
         INSERT INTO orders VALUES (1, 1, 2, 10), (2, 1, 2, 20), (3, 2, 1, 5);",
    );
    for (on, is_declined) in [
        ("u.id = o.buyer_id", false),
        ("u.id = o.seller_id", true),
        ("u.id = o.buyer_id OR u.id = o.seller_id", true),
    ] {
        host.knowledge = format!(
            "\n- Metric \"takings\"\n  SELECT sum(o.total) FROM orders o JOIN users u ON {on}\n"
        );
        let answer = host.ask("takings per user");
        assert_eq!(answer.is_declined, is_declined, "{on}: {answer:#?}");
    }
}

#[test]
fn date_of_other_rows_is_not_that_of_a_measure() {
    let mut host = Host::over(
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, registered_at DATE NOT NULL);
         CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id),
             total INTEGER NOT NULL, shipped_at DATE NOT NULL, delivered_at DATE NOT NULL);
         INSERT INTO customers VALUES (1, 'Ann', '2024-01-01'), (2, 'Bo', '2023-01-01');
         INSERT INTO orders VALUES (1, 1, 10, '2023-12-30', '2024-01-02'), (2, 2, 20, '2024-02-01', '2024-02-03');",
    );
    host.knowledge = "\n- Metric \"takings\"\n  SELECT sum(total) FROM orders\n".to_owned();
    for question in [
        "takings in 2024",
        "takings per month",
        "top 2 customers by takings in 2024",
        "revenue in 2024",
    ] {
        let answer = host.ask(question);
        assert!(answer.is_declined, "{question}: {answer:#?}");
    }
    let answer = host.ask("takings per customer");
    assert!(!answer.is_declined, "{answer:#?}");
}

#[test]
fn term_that_names_one_thing_is_another_word_for_it() {
    let host = shop(
        "\n- Term \"member\" (also: patron): A customer.\n\
         - Term \"lost\": An order whose status is cancelled.\n\
         - Term \"tier\" (column segment of main.customers): The segment of a customer.\n\
         - Term \"business\" (also: firm): A segment of customers.\n\
         - Term \"reachable\": A customer with a phone.\n\
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
        (
            // The value stays a value.
            "How many business customers are there?",
            "SELECT count(*) FROM customers WHERE segment = 'business'",
        ),
    ] {
        let answer = host.ask(question);
        assert!(
            has_rows(&host, &answer, reference),
            "{question}: {answer:#?}"
        );
    }
    for question in [
        "How many regulars are there?",
        "List the reachable customers",
    ] {
        let answer = host.ask(question);
        assert!(answer.is_declined, "{question}: {answer:#?}");
    }
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
    // The host tells metrics first.
    host.knowledge = format!(
        "\n- Metric \"crowd\"\n  SELECT sum(guests) FROM visits JOIN stores ON code = shop{turned}"
    );
    let answer = host.ask("crowd by city");
    let reference = "SELECT city, sum(guests) FROM visits JOIN stores ON code = shop GROUP BY 1 ORDER BY 2 DESC";
    assert!(has_rows(&host, &answer, reference), "{answer:#?}");
}
