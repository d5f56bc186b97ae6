//! Columns with the schema of their table, where the relation of a policy has only its name.

use super::*;

fn guarded_beside(dialect: Dialect, sql: &str) -> Result<String> {
    let hidden = rule(Some(FILTER), &["salary"], &[]);
    let mut scope = scope(dialect, &hidden, &of(&[("tenant", text("acme"))]));
    scope.datasources[0].tables.push(table("archive", "orders"));
    let schema = schema(dialect);
    let guarded = guard(&sql.replace("shop.", &format!("{schema}.")), &scope)?;
    Ok(guarded.text().replace(['"', '`', '[', ']'], ""))
}

#[test]
fn column_is_of_the_table_that_its_schema_says() {
    for dialect in [
        Dialect::Postgresql,
        Dialect::Mysql,
        Dialect::Mssql,
        Dialect::Clickhouse,
        Dialect::Sqlite,
    ] {
        for sql in [
            "SELECT shop.orders.id FROM shop.orders WHERE EXISTS \
             (SELECT 1 FROM archive.orders WHERE archive.orders.id = shop.orders.id)",
            "SELECT shop.orders.id FROM shop.orders WHERE EXISTS \
             (SELECT 1 FROM customers AS orders WHERE orders.id = shop.orders.id)",
            "SELECT (SELECT max(orders.id) FROM (SELECT 7 AS id) AS orders WHERE orders.id > shop.orders.id) AS m \
             FROM shop.orders",
            "WITH orders AS (SELECT 7 AS id) SELECT shop.orders.id FROM shop.orders CROSS JOIN orders",
            "SELECT (SELECT archive.orders.id FROM archive.orders ORDER BY shop.orders.id) AS m FROM shop.orders",
        ] {
            let error = guarded_beside(dialect, sql).unwrap_err();
            assert_eq!(error.code(), Code::SqlNotSupported, "{dialect:?}: {sql}");
            assert!(
                error.message().contains("give the table an alias"),
                "{error}"
            );
        }
        for sql in [
            "SELECT shop.orders.id FROM shop.orders WHERE shop.orders.id > 1",
            "SELECT shop.orders.id FROM shop.orders WHERE EXISTS \
             (SELECT 1 FROM archive.orders AS a WHERE a.id = shop.orders.id)",
            "SELECT o.id FROM shop.orders AS o WHERE EXISTS \
             (SELECT 1 FROM archive.orders WHERE archive.orders.id = o.id)",
            "SELECT shop.orders.id FROM shop.orders CROSS JOIN (SELECT id FROM archive.orders) AS x",
        ] {
            let text = guarded_beside(dialect, sql).unwrap();
            assert!(
                text.contains("orders.id") || text.contains("o.id"),
                "{text}"
            );
        }
    }
}

#[test]
fn element_of_a_column_is_one_of_the_policy() {
    for (sql, column) in [
        (
            "SELECT shop.orders.tags[1] FROM shop.orders",
            "orders.tags1",
        ),
        ("SELECT orders.salary[1] FROM orders", "orders.salary1"),
        ("SELECT o.salary[1] FROM shop.orders AS o", "o.salary1"),
    ] {
        let sql = sql.replace("FROM orders", "FROM shop.orders");
        let text = guarded_beside(Dialect::Postgresql, &sql).unwrap();
        // Without the brackets, like all quotes.
        let (before, relation) = text.split_once(" FROM (").unwrap();
        assert_eq!(before, format!("SELECT {column}"), "{sql}");
        // A hidden column is none of the relation.
        assert!(!relation.contains("salary"), "{text}");
    }
}

#[test]
fn table_of_mysql_has_its_policy_in_any_case() {
    let hidden = rule(Some(FILTER), &["salary"], &[]);
    for (sql, end) in [
        ("SELECT * FROM Orders", "AS `Orders`"),
        ("SELECT * FROM `ORDERS`", "AS `ORDERS`"),
        ("SELECT Orders.id FROM Shop.Orders", "AS `Orders`"),
        ("SELECT o.id FROM ORDERS AS o", "AS o"),
        (
            "SELECT Shop.Orders.id FROM Orders WHERE shop.Orders.id > 1",
            "AS `Orders` WHERE Orders.id > 1",
        ),
        (
            "WITH ORDERS AS (SELECT * FROM Orders) SELECT id FROM ORDERS",
            "AS `Orders`) SELECT id FROM ORDERS",
        ),
    ] {
        let sent = sent(Dialect::Mysql, &hidden, sql);
        let relation = "(SELECT `mindhost_policy`.`id` AS `id`";
        assert!(sent.contains(relation), "{sent}");
        assert!(sent.ends_with(end), "{sent}");
        assert_eq!(sent.matches("`shop`.`orders`").count(), 1, "{sent}");
        assert!(!sent.to_lowercase().contains("shop.orders"), "{sent}");
    }
    for sql in [
        "WITH Orders AS (SELECT 7 AS id) SELECT shop.ORDERS.id FROM shop.ORDERS CROSS JOIN Orders",
        "SELECT shop.Orders.id FROM shop.Orders JOIN archive.orders",
        "WITH Orders AS (SELECT 7 AS id) SELECT id FROM ORDERS",
    ] {
        let error = guarded_beside(Dialect::Mysql, sql).unwrap_err();
        assert_eq!(error.code(), Code::SqlNotSupported, "{sql}");
    }
}
