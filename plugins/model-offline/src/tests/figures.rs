//! The figures in the answers are those of a statement written by hand.

use super::host::Host;

/// The answer to each question holds the one value of its reference statement, in bold.
#[test]
fn single_figures() {
    let shop = Host::shop();
    let mut wrong = Vec::new();
    for (question, reference) in [
        ("How many orders are there?", "SELECT count(*) FROM orders"),
        (
            "How many customers do we have?",
            "SELECT count(*) FROM customers",
        ),
        ("number of clients", "SELECT count(*) FROM customers"),
        ("count the products", "SELECT count(*) FROM products"),
        (
            "How many order items are there?",
            "SELECT count(*) FROM order_items",
        ),
        (
            "how many rows are in reviews?",
            "SELECT count(*) FROM reviews",
        ),
        (
            "How many customers in Germany?",
            "SELECT count(*) FROM customers WHERE country = 'Germany'",
        ),
        (
            "How many German customers are there?",
            "SELECT count(*) FROM customers WHERE country = 'Germany'",
        ),
        (
            "How many customers live in Germany or France?",
            "SELECT count(*) FROM customers WHERE country IN ('Germany', 'France')",
        ),
        (
            "How many customers are not from Germany?",
            "SELECT count(*) FROM customers WHERE country <> 'Germany'",
        ),
        (
            "How many shipped orders are there?",
            "SELECT count(*) FROM orders WHERE status = 'shipped'",
        ),
        (
            "How many orders have status cancelled?",
            "SELECT count(*) FROM orders WHERE status = 'cancelled'",
        ),
        (
            "How many orders were placed in 2024?",
            "SELECT count(*) FROM orders WHERE ordered_at LIKE '2024%'",
        ),
        (
            "how many orders in March 2024",
            "SELECT count(*) FROM orders WHERE ordered_at LIKE '2024-03%'",
        ),
        (
            "How many orders did we have last year?",
            "SELECT count(*) FROM orders WHERE ordered_at LIKE '2023%'",
        ),
        (
            "How many orders between 2024-01-01 and 2024-06-30?",
            "SELECT count(*) FROM orders WHERE ordered_at >= '2024-01-01' AND ordered_at < '2024-07-01'",
        ),
        (
            "number of orders since May 2023",
            "SELECT count(*) FROM orders WHERE ordered_at >= '2023-05-01'",
        ),
        (
            "How many delivered orders came from the app in 2023?",
            "SELECT count(*) FROM orders WHERE status = 'delivered' AND channel = 'app' AND ordered_at LIKE '2023%'",
        ),
        (
            "What is the total revenue?",
            "SELECT sum(total) FROM orders",
        ),
        (
            "How much revenue did we make in 2023?",
            "SELECT sum(total) FROM orders WHERE ordered_at LIKE '2023%'",
        ),
        (
            "total sales in 2023",
            "SELECT sum(total) FROM orders WHERE ordered_at LIKE '2023%'",
        ),
        (
            "What is the average order value?",
            "SELECT round(avg(total), 2) FROM orders",
        ),
        (
            "What is the average price of products?",
            "SELECT round(avg(price), 2) FROM products",
        ),
        (
            "average rating",
            "SELECT round(avg(rating), 2) FROM reviews",
        ),
        (
            "What is the highest price?",
            "SELECT max(price) FROM products",
        ),
        (
            "minimum price of a product",
            "SELECT min(price) FROM products",
        ),
        (
            "What is the sum of all payments?",
            "SELECT sum(amount) FROM payments",
        ),
        (
            "total amount of payments by card",
            "SELECT sum(amount) FROM payments WHERE method = 'card'",
        ),
        (
            "How many different countries do customers come from?",
            "SELECT count(DISTINCT country) FROM customers",
        ),
        (
            "How many distinct customers placed orders in 2024?",
            "SELECT count(DISTINCT customer_id) FROM orders WHERE ordered_at LIKE '2024%'",
        ),
        (
            "How many products cost more than 50?",
            "SELECT count(*) FROM products WHERE price > 50",
        ),
        (
            "How many products with a price between 20 and 40?",
            "SELECT count(*) FROM products WHERE price BETWEEN 20 AND 40",
        ),
        (
            "How many orders over 100?",
            "SELECT count(*) FROM orders WHERE total > 100",
        ),
        (
            "how many reviews with a rating of at least 4",
            "SELECT count(*) FROM reviews WHERE rating >= 4",
        ),
        (
            "How many 5 star reviews are there?",
            "SELECT count(*) FROM reviews WHERE rating = 5",
        ),
        (
            "How many products are discontinued?",
            "SELECT count(*) FROM products WHERE discontinued = 1",
        ),
        (
            "How many products are not discontinued?",
            "SELECT count(*) FROM products WHERE discontinued = 0",
        ),
        (
            "How many customers without a phone?",
            "SELECT count(*) FROM customers WHERE phone IS NULL",
        ),
        (
            "How many customers with a phone?",
            "SELECT count(*) FROM customers WHERE phone IS NOT NULL",
        ),
        (
            "How many customers have no orders?",
            "SELECT count(*) FROM customers WHERE id NOT IN (SELECT customer_id FROM orders)",
        ),
        (
            "How many products have reviews?",
            "SELECT count(DISTINCT product_id) FROM reviews",
        ),
        (
            "How many customers have more than 5 orders?",
            "SELECT count(*) FROM (SELECT 1 FROM orders GROUP BY customer_id HAVING count(*) > 5)",
        ),
        (
            "How many orders from customers in Spain?",
            "SELECT count(*) FROM orders JOIN customers ON customers.id = customer_id WHERE country = 'Spain'",
        ),
        (
            "How many orders did Anna Schmidt place?",
            "SELECT count(*) FROM orders WHERE customer_id = 7",
        ),
        (
            "How many orders does customer 'Anna Schmidt' have?",
            "SELECT count(*) FROM orders WHERE customer_id = 7",
        ),
        (
            "How many customers are from Sweden?",
            "SELECT count(*) FROM customers WHERE country = 'Sweden'",
        ),
        (
            "What is the revenue from Germany in 2024?",
            "SELECT sum(total) FROM orders JOIN customers ON customers.id = customer_id WHERE country = 'Germany' AND ordered_at LIKE '2024%'",
        ),
        (
            "How many units of 'Blue Mug' were sold?",
            "SELECT sum(quantity) FROM order_items WHERE product_id = 3",
        ),
        (
            "how many products were sold in 2023?",
            "SELECT sum(quantity) FROM order_items JOIN orders ON orders.id = order_id WHERE ordered_at LIKE '2023%'",
        ),
        (
            "When was the first order?",
            "SELECT min(ordered_at) FROM orders",
        ),
        (
            "when was the last order placed",
            "SELECT max(ordered_at) FROM orders",
        ),
        (
            "How many orders were shipped in 2024?",
            "SELECT count(DISTINCT order_id) FROM shipments WHERE shipped_on LIKE '2024%'",
        ),
        (
            "How many orders used the voucher WELCOME?",
            "SELECT count(*) FROM orders WHERE voucher = 'WELCOME'",
        ),
        (
            "How many products have a name starting with 'Product 1'?",
            "SELECT count(*) FROM products WHERE name LIKE 'Product 1%'",
        ),
        (
            "What was the total revenue in 2024?",
            "SELECT sum(total) FROM orders WHERE ordered_at LIKE '2024%'",
        ),
        (
            "What is the average rating of reviews?",
            "SELECT round(avg(rating), 2) FROM reviews",
        ),
        (
            "How many reviews does the product Blue Mug have?",
            "SELECT count(*) FROM reviews WHERE product_id = 3",
        ),
        (
            "How many orders have no delivery address?",
            "SELECT count(*) FROM orders WHERE delivery_address_id IS NULL",
        ),
        (
            "How many orders contain the product 'Blue Mug'?",
            "SELECT count(DISTINCT order_id) FROM order_items WHERE product_id = 3",
        ),
        (
            "how many customers ordered in 2024",
            "SELECT count(DISTINCT customer_id) FROM orders WHERE ordered_at LIKE '2024%'",
        ),
        (
            "What is the average price of products in the category Mugs?",
            "SELECT round(avg(price), 2) FROM products WHERE category_id = 5",
        ),
        (
            "How many products are in category Books?",
            "SELECT count(*) FROM products WHERE category_id = 1",
        ),
        (
            "How many business customers are there?",
            "SELECT count(*) FROM customers WHERE segment = 'business'",
        ),
        (
            "How many newsletter customers are there",
            "SELECT count(*) FROM customers WHERE newsletter = 1",
        ),
        (
            "How many customers registered in 2023?",
            "SELECT count(*) FROM customers WHERE registered_at LIKE '2023%'",
        ),
        (
            "How many customers never ordered?",
            "SELECT count(*) FROM customers WHERE id NOT IN (SELECT customer_id FROM orders)",
        ),
        (
            "How many shipments were never delivered?",
            "SELECT count(*) FROM shipments WHERE delivered_on IS NULL",
        ),
        (
            "How many new customers did we get in 2023?",
            "SELECT count(*) FROM customers WHERE registered_at LIKE '2023%'",
        ),
        (
            "how many customers registered before 2023",
            "SELECT count(*) FROM customers WHERE registered_at < '2023-01-01'",
        ),
        (
            "what is the average shipping fee",
            "SELECT round(avg(shipping_fee), 2) FROM orders",
        ),
        (
            "what's the total amount paid by wallet in 2023",
            "SELECT sum(amount) FROM payments WHERE method = 'wallet' AND paid_at LIKE '2023%'",
        ),
        (
            "How many returns were there in 2024?",
            "SELECT count(*) FROM returns WHERE returned_on LIKE '2024%'",
        ),
        (
            "How many payments were made by card?",
            "SELECT count(*) FROM payments WHERE method = 'card'",
        ),
        (
            "What is the maximum order total?",
            "SELECT max(total) FROM orders",
        ),
        (
            "revenue from the app in 2023",
            "SELECT sum(total) FROM orders WHERE channel = 'app' AND ordered_at LIKE '2023%'",
        ),
        (
            "How many orders with a total of more than 200 were placed in 2023?",
            "SELECT count(*) FROM orders WHERE total > 200 AND ordered_at LIKE '2023%'",
        ),
        (
            "how many orders were cancelled or returned",
            "SELECT count(*) FROM orders WHERE status IN ('cancelled', 'returned')",
        ),
        (
            "How many orders were not cancelled in 2024?",
            "SELECT count(*) FROM orders WHERE status <> 'cancelled' AND ordered_at LIKE '2024%'",
        ),
        (
            "How many addresses are in Köln?",
            "SELECT count(*) FROM addresses WHERE city = 'Köln'",
        ),
        (
            "Please tell me how many products we sell",
            "SELECT count(*) FROM products",
        ),
        (
            "How many different products were ordered in 2024?",
            "SELECT count(DISTINCT product_id) FROM order_items JOIN orders ON orders.id = order_id WHERE ordered_at LIKE '2024%'",
        ),
        (
            "How many orders in the last 30 days?",
            "SELECT count(*) FROM orders WHERE ordered_at >= '2024-10-22' AND ordered_at < '2024-11-21'",
        ),
        (
            "How many orders were placed in Q1 2024?",
            "SELECT count(*) FROM orders WHERE ordered_at >= '2024-01-01' AND ordered_at < '2024-04-01'",
        ),
        (
            "How many reviews have a comment?",
            "SELECT count(*) FROM reviews WHERE comment IS NOT NULL",
        ),
        (
            "How many reviews have no comment?",
            "SELECT count(*) FROM reviews WHERE comment IS NULL",
        ),
    ] {
        let answer = shop.ask(question);
        let expected = format!("**{}**", shop.one(reference));
        if !answer.text.contains(&expected) {
            wrong.push(format!("{question}\nexpected {expected}\n{answer:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

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
            "SELECT c.name, round(avg(price), 2) FROM products JOIN categories c ON c.id = category_id GROUP BY 1 ORDER BY 2 DESC",
        ),
        (
            "What is the average rating per product?",
            "SELECT p.name, round(avg(rating), 2) FROM reviews JOIN products p ON p.id = product_id GROUP BY p.id ORDER BY 2 DESC, 1",
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
            "SELECT p.name, round(sum(quantity * unit_price - discount), 2) FROM order_items JOIN products p ON p.id = product_id GROUP BY p.id ORDER BY 2 DESC, 1 LIMIT 5",
        ),
        (
            "top 3 customers by revenue",
            "SELECT c.name, sum(total) FROM orders JOIN customers c ON c.id = customer_id GROUP BY c.id ORDER BY 2 DESC, 1 LIMIT 3",
        ),
        (
            "which 3 customers have the most orders",
            "SELECT c.name, count(*) FROM orders JOIN customers c ON c.id = customer_id GROUP BY c.id ORDER BY 2 DESC, 1 LIMIT 3",
        ),
        (
            "Top 10 customers by number of orders",
            "SELECT c.name, count(*) FROM orders JOIN customers c ON c.id = customer_id GROUP BY c.id ORDER BY 2 DESC, 1 LIMIT 10",
        ),
        (
            "Which category has the highest revenue?",
            "SELECT g.name, round(sum(quantity * unit_price - discount), 2) FROM order_items JOIN products p ON p.id = product_id JOIN categories g ON g.id = category_id GROUP BY g.id ORDER BY 2 DESC LIMIT 1",
        ),
        (
            "Which month had the highest revenue?",
            "SELECT strftime('%Y-%m', ordered_at), sum(total) FROM orders GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
        ),
        (
            "What is the most expensive product?",
            "SELECT name, price FROM products ORDER BY price DESC LIMIT 1",
        ),
        (
            "3 cheapest products",
            "SELECT name, price FROM products ORDER BY price LIMIT 3",
        ),
        (
            "Which product has the highest price?",
            "SELECT name, price FROM products ORDER BY price DESC LIMIT 1",
        ),
        (
            "best selling products",
            "SELECT p.name, sum(quantity) FROM order_items JOIN products p ON p.id = product_id GROUP BY p.id ORDER BY 2 DESC, 1 LIMIT 5",
        ),
        (
            "best rated product",
            "SELECT p.name, round(avg(rating), 2) FROM reviews JOIN products p ON p.id = product_id GROUP BY p.id ORDER BY 2 DESC, 1 LIMIT 1",
        ),
        (
            "What is the most common payment method?",
            "SELECT method, count(*) FROM payments GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
        ),
        (
            "customers with more than 10 orders",
            "SELECT c.name, count(*) FROM orders JOIN customers c ON c.id = customer_id GROUP BY c.id HAVING count(*) > 10 ORDER BY 2 DESC, 1",
        ),
        (
            "Show the first 3 rows of categories",
            "SELECT id, parent_id, name FROM categories ORDER BY id LIMIT 3",
        ),
        (
            "list all categories",
            "SELECT id, parent_id, name FROM categories ORDER BY id LIMIT 20",
        ),
        (
            "name and price of products over 90",
            "SELECT name, price FROM products WHERE price > 90 ORDER BY id",
        ),
        (
            "list product names sorted by price",
            "SELECT name, price FROM products ORDER BY price LIMIT 20",
        ),
        (
            "What is the price of 'Blue Mug'?",
            "SELECT name, price FROM products WHERE name = 'Blue Mug'",
        ),
        (
            "units sold per category",
            "SELECT g.name, sum(quantity) FROM order_items JOIN products p ON p.id = product_id JOIN categories g ON g.id = category_id GROUP BY g.id ORDER BY 2 DESC, 1",
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
            "Which 3 products sold the most units?",
            "SELECT p.name, sum(quantity) FROM order_items JOIN products p ON p.id = product_id GROUP BY p.id ORDER BY 2 DESC, 1 LIMIT 3",
        ),
        (
            "Which product sold the most?",
            "SELECT p.name, sum(quantity) FROM order_items JOIN products p ON p.id = product_id GROUP BY p.id ORDER BY 2 DESC, 1 LIMIT 1",
        ),
        (
            "Which country has the most customers?",
            "SELECT country, count(*) FROM customers GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1",
        ),
        (
            "Which customer spent the most?",
            "SELECT c.name, sum(total) FROM orders JOIN customers c ON c.id = customer_id GROUP BY c.id ORDER BY 2 DESC, 1 LIMIT 1",
        ),
        (
            "What are the 5 most recent orders?",
            "SELECT id, ordered_at FROM orders ORDER BY ordered_at DESC, id LIMIT 5",
        ),
        (
            "largest order in 2023",
            "SELECT id, total FROM orders WHERE ordered_at LIKE '2023%' ORDER BY total DESC, id LIMIT 1",
        ),
        (
            "How many orders did each customer segment place?",
            "SELECT segment, count(*) FROM orders JOIN customers c ON c.id = customer_id GROUP BY 1 ORDER BY 2 DESC",
        ),
        (
            "average order value by channel",
            "SELECT channel, round(avg(total), 2) FROM orders GROUP BY 1 ORDER BY 2 DESC",
        ),
        (
            "products that cost less than 20",
            "SELECT id, category_id, sku, name, price, weight_kg, introduced_on, discontinued FROM products WHERE price < 20 ORDER BY id",
        ),
        (
            "Which products have an average rating above 3?",
            "SELECT p.name, round(avg(rating), 2) FROM reviews JOIN products p ON p.id = product_id GROUP BY p.id HAVING avg(rating) > 3 ORDER BY 2 DESC, 1",
        ),
        (
            "customers by country",
            "SELECT country, count(*) FROM customers GROUP BY 1 ORDER BY 2 DESC, 1",
        ),
        (
            "What are the top 3 categories by revenue in 2024?",
            "SELECT g.name, round(sum(quantity * unit_price - discount), 2) FROM order_items JOIN orders o ON o.id = order_id JOIN products p ON p.id = product_id JOIN categories g ON g.id = category_id WHERE ordered_at LIKE '2024%' GROUP BY g.id ORDER BY 2 DESC, 1 LIMIT 3",
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
            "SELECT p.name, round(avg(rating), 2) FROM reviews JOIN products p ON p.id = product_id GROUP BY p.id ORDER BY 2, 1 LIMIT 5",
        ),
        (
            "Which month of 2023 had the fewest orders?",
            "SELECT strftime('%Y-%m', ordered_at), count(*) FROM orders WHERE ordered_at LIKE '2023%' GROUP BY 1 ORDER BY 2, 1 LIMIT 1",
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
