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
            "What is the average total of the orders?",
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
