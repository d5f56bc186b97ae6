//! The rows in the answers are those of a statement written by hand.

use super::host::Host;

/// The statement of each question gives exactly the rows of its reference statement.
#[test]
fn rows_of_figures() {
    let shop = Host::shop();
    let mut wrong = Vec::new();
    for (question, reference) in [
        (
            "orders by status",
            "SELECT status, count(*) FROM orders GROUP BY 1 ORDER BY 2 DESC, 1",
        ),
        (
            "How many orders per status?",
            "SELECT status, count(*) FROM orders GROUP BY 1 ORDER BY 2 DESC, 1",
        ),
        (
            "Number of customers in each country",
            "SELECT country, count(*) FROM customers GROUP BY 1 ORDER BY 2 DESC, 1",
        ),
        (
            "revenue per month in 2023",
            "SELECT strftime('%Y-%m', ordered_at), sum(total) FROM orders WHERE ordered_at LIKE '2023%' GROUP BY 1 ORDER BY 1",
        ),
        (
            "monthly revenue in 2023",
            "SELECT strftime('%Y-%m', ordered_at), sum(total) FROM orders WHERE ordered_at LIKE '2023%' GROUP BY 1 ORDER BY 1",
        ),
        (
            "Show me the number of orders by year",
            "SELECT strftime('%Y', ordered_at), count(*) FROM orders GROUP BY 1 ORDER BY 1",
        ),
        (
            "orders per quarter",
            "SELECT strftime('%Y', ordered_at) || '-Q' || ((strftime('%m', ordered_at) + 2) / 3), count(*) FROM orders GROUP BY 1 ORDER BY 1",
        ),
        (
            "average price per category",
            "SELECT c.name, c.id, avg(price) FROM products JOIN categories c ON c.id = category_id GROUP BY 2 ORDER BY 3 DESC, 2",
        ),
        (
            "What is the average rating per product?",
            "SELECT p.name, p.id, avg(rating) FROM reviews JOIN products p ON p.id = product_id GROUP BY p.id ORDER BY 3 DESC, 2",
        ),
        (
            "revenue by country",
            "SELECT country, sum(total) FROM orders JOIN customers c ON c.id = customer_id GROUP BY 1 ORDER BY 2 DESC",
        ),
        (
            "revenue by channel and status",
            "SELECT channel, status, sum(total) FROM orders GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2",
        ),
        (
            "top 5 products by revenue",
            "SELECT p.name, p.id, round(sum(quantity * unit_price - discount), 2) FROM order_items JOIN products p ON p.id = product_id GROUP BY p.id ORDER BY 3 DESC, 2 LIMIT 5",
        ),
        (
            "top customers by revenue",
            "SELECT c.name, c.id, sum(total) FROM orders JOIN customers c ON c.id = customer_id GROUP BY c.id ORDER BY 3 DESC, 2 LIMIT 5",
        ),
        (
            "orders per year by status",
            "SELECT strftime('%Y', ordered_at), status, count(*) FROM orders GROUP BY 1, 2 ORDER BY 1, 2",
        ),
        (
            "What are total sales by country in 2024?",
            "SELECT country, sum(total) FROM orders JOIN customers c ON c.id = customer_id WHERE ordered_at LIKE '2024%' GROUP BY 1 ORDER BY 2 DESC",
        ),
        (
            "top 3 customers by revenue",
            "SELECT c.name, c.id, sum(total) FROM orders JOIN customers c ON c.id = customer_id GROUP BY c.id ORDER BY 3 DESC, 2 LIMIT 3",
        ),
        (
            "Top 10 customers by number of orders",
            "SELECT c.name, c.id, count(*) FROM orders JOIN customers c ON c.id = customer_id GROUP BY c.id ORDER BY 3 DESC, 2 LIMIT 10",
        ),
        (
            "Which category has the highest revenue?",
            "SELECT g.name, g.id, round(sum(quantity * unit_price - discount), 2) FROM order_items JOIN products p ON p.id = product_id JOIN categories g ON g.id = category_id GROUP BY g.id ORDER BY 3 DESC LIMIT 1",
        ),
        (
            "Which month had the highest revenue?",
            "SELECT strftime('%Y-%m', ordered_at), sum(total) FROM orders GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
        ),
        (
            "What is the most expensive product?",
            "SELECT name, id, price FROM products ORDER BY price DESC LIMIT 1",
        ),
        (
            "3 cheapest products",
            "SELECT name, id, price FROM products ORDER BY price LIMIT 3",
        ),
        (
            "Which product has the highest price?",
            "SELECT name, id, price FROM products ORDER BY price DESC LIMIT 1",
        ),
        (
            "best selling products",
            "SELECT p.name, p.id, sum(quantity) FROM order_items JOIN products p ON p.id = product_id GROUP BY p.id ORDER BY 3 DESC, 2 LIMIT 5",
        ),
        (
            "What is the most common payment method?",
            "SELECT method, count(*) FROM payments GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
        ),
        (
            "customers with more than 10 orders",
            "SELECT c.name, c.id, count(*) FROM orders JOIN customers c ON c.id = customer_id GROUP BY c.id HAVING count(*) > 10 ORDER BY 3 DESC, 2",
        ),
        (
            "Show the first 3 rows of categories",
            "SELECT id, parent_id, name FROM categories ORDER BY id LIMIT 3",
        ),
        (
            "list all categories",
            "SELECT id, parent_id, name FROM categories ORDER BY id",
        ),
        (
            "name and price of products over 90",
            "SELECT name, price FROM products WHERE price > 90 ORDER BY id",
        ),
        (
            "list product names sorted by price",
            "SELECT name FROM products ORDER BY price",
        ),
        (
            "What is the price of 'Blue Mug'?",
            "SELECT price FROM products WHERE name = 'Blue Mug'",
        ),
        (
            "units sold per category",
            "SELECT g.name, g.id, sum(quantity) FROM order_items JOIN products p ON p.id = product_id JOIN categories g ON g.id = category_id GROUP BY g.id ORDER BY 3 DESC, 2",
        ),
        (
            "number of customers per country by newsletter",
            "SELECT country, newsletter, count(*) FROM customers GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2",
        ),
        (
            "shipments per carrier in 2024",
            "SELECT carrier, count(*) FROM shipments WHERE shipped_on LIKE '2024%' GROUP BY 1 ORDER BY 2 DESC",
        ),
        (
            "Top 5 countries by number of customers",
            "SELECT country, count(*) FROM customers GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5",
        ),
        (
            "Which country has the most customers?",
            "SELECT country, count(*) FROM customers GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1",
        ),
        (
            "Which customer spent the most?",
            "SELECT c.name, c.id, sum(total) FROM orders JOIN customers c ON c.id = customer_id GROUP BY c.id ORDER BY 3 DESC, 2 LIMIT 1",
        ),
        (
            "What are the 5 most recent orders?",
            "SELECT id, ordered_at FROM orders ORDER BY ordered_at DESC, id LIMIT 5",
        ),
        (
            "How many orders did each customer segment place?",
            "SELECT segment, count(*) FROM orders JOIN customers c ON c.id = customer_id GROUP BY 1 ORDER BY 2 DESC",
        ),
        (
            "average order value by channel",
            "SELECT channel, avg(total) FROM orders GROUP BY 1 ORDER BY 2 DESC",
        ),
        (
            "products that cost less than 20",
            "SELECT name, id FROM products WHERE price < 20 ORDER BY id",
        ),
        (
            "Which products have an average rating above 3?",
            "SELECT p.name, p.id, avg(rating) FROM reviews JOIN products p ON p.id = product_id GROUP BY p.id HAVING avg(rating) > 3 ORDER BY 3 DESC, 2",
        ),
        (
            "customers by country",
            "SELECT country, count(*) FROM customers GROUP BY 1 ORDER BY 2 DESC, 1",
        ),
        (
            "What are the top 3 categories by revenue in 2024?",
            "SELECT g.name, g.id, round(sum(quantity * unit_price - discount), 2) FROM order_items JOIN orders o ON o.id = order_id JOIN products p ON p.id = product_id JOIN categories g ON g.id = category_id WHERE ordered_at LIKE '2024%' GROUP BY g.id ORDER BY 3 DESC, 2 LIMIT 3",
        ),
        (
            "total payments by method",
            "SELECT method, count(*) FROM payments GROUP BY 1 ORDER BY 2 DESC",
        ),
        (
            "sum of payments by method",
            "SELECT method, sum(amount) FROM payments GROUP BY 1 ORDER BY 2 DESC",
        ),
        (
            "How many reviews per rating?",
            "SELECT rating, count(*) FROM reviews GROUP BY 1 ORDER BY 2 DESC, 1",
        ),
        (
            "Number of new customers per year",
            "SELECT strftime('%Y', registered_at), count(*) FROM customers GROUP BY 1 ORDER BY 1",
        ),
        (
            "lowest rated products",
            "SELECT p.name, p.id, avg(rating) FROM reviews JOIN products p ON p.id = product_id GROUP BY p.id ORDER BY 3, 2 LIMIT 5",
        ),
        (
            "Which carrier has the most shipments?",
            "SELECT carrier, count(*) FROM shipments GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1",
        ),
    ] {
        let answer = shop.ask(question);
        let texts = |sql: &str| -> Vec<Vec<String>> {
            shop.rows(sql)
                .unwrap()
                .1
                .iter()
                .map(|r| r.iter().map(crate::markdown::value).collect())
                .collect()
        };
        let expected = texts(reference);
        let found = answer.sql.last().map(|sql| texts(sql));
        if found.as_ref() != Some(&expected) {
            wrong.push(format!("{question}\n{answer:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn shared_first_places_are_asked_back() {
    let shop = Host::shop();
    for question in [
        "best rated product",
        "largest order in 2023",
        "Which product sold the most?",
        "Which month of 2023 had the fewest orders?",
    ] {
        let answer = shop.ask(question);
        assert!(
            answer.is_declined
                && answer
                    .text
                    .starts_with("Several rows share the first place"),
            "{question}: {answer:#?}"
        );
    }
}

#[test]
fn cuts_between_equal_rows_are_asked_back() {
    let shop = Host::shop();
    for question in [
        "which 3 customers have the most orders",
        "Which 3 products sold the most units?",
    ] {
        let answer = shop.ask(question);
        assert!(
            answer.is_declined && answer.text.starts_with("Several rows share place 3"),
            "{question}: {answer:#?}"
        );
    }
}

#[test]
fn a_question_may_go_on_from_the_one_before() {
    let shop = Host::shop();
    for (before, question, reference) in [
        (
            vec!["How many orders in 2024?"],
            "and in 2023?",
            "SELECT count(*) FROM orders WHERE ordered_at LIKE '2023%'",
        ),
        (
            vec!["How many customers in Germany?"],
            "What about France?",
            "SELECT count(*) FROM customers WHERE country = 'France'",
        ),
        (
            vec!["How many orders in 2024?", "and in 2023?"],
            "and shipped?",
            "SELECT count(*) FROM orders WHERE ordered_at LIKE '2023%' AND status = 'shipped'",
        ),
        (
            vec!["revenue by status"],
            "How many orders are there?",
            "SELECT count(*) FROM orders",
        ),
    ] {
        let answer = shop.ask_after(&before, question);
        let expected = format!("**{}**", shop.one(reference));
        assert!(
            answer.text.contains(&expected),
            "{question}: {expected}\n{answer:#?}"
        );
    }
    let grouped = shop.ask_after(&["How many orders in 2024?"], "and by month?");
    let expected = shop.rows("SELECT strftime('%Y-%m', ordered_at), count(*) FROM orders WHERE ordered_at LIKE '2024%' GROUP BY 1 ORDER BY 1");
    assert_eq!(
        shop.rows(grouped.sql.last().unwrap()).unwrap().1,
        expected.unwrap().1
    );
}
