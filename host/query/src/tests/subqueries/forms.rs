//! The forms of a value of another row: with HAVING, with a value of a third row in it, of a derived table, and with
//! conditions about the statement around it alone.

use super::lookups::{SHOP, shop};
use crate::tests::refused;

/// The value for each sale.
async fn values(value: &str) -> String {
    shop(&format!("SELECT s.n, {value} FROM sales s ORDER BY s.n")).await
}

async fn check(cases: &[(&str, &str)]) {
    for (value, expected) in cases {
        assert_eq!(values(value).await, *expected, "{value}");
    }
}

/// The sales for which a condition holds.
async fn holds(condition: &str) -> String {
    shop(&format!(
        "SELECT s.n FROM sales s WHERE {condition} ORDER BY s.n"
    ))
    .await
}

#[tokio::test]
async fn having_is_tested_of_both_rows() {
    check(&[
        // Of no rows there is a count, too.
        (
            "(SELECT count(*) FROM buyers b WHERE b.id = s.buyer HAVING count(*) < s.n)",
            "1, 2,1 3,0 4,0 5,1",
        ),
        (
            "(SELECT coalesce(max(b.w), 0) FROM buyers b WHERE b.id = s.buyer HAVING s.amt > 10)",
            "1,5 2,0 3, 4, 5,",
        ),
        (
            "(SELECT max(b.w) + s.n FROM buyers b WHERE b.id = s.buyer HAVING count(*) > 0)",
            "1,6 2, 3, 4, 5,10",
        ),
        (
            "(SELECT count(*) + s.n FROM buyers b WHERE b.id = s.buyer HAVING count(*) = 0)",
            "1, 2, 3,3 4,4 5,",
        ),
        (
            "(SELECT coalesce(max(b.w), 0) + s.n FROM buyers b WHERE b.id = s.buyer GROUP BY b.id \
             HAVING count(*) < s.n)",
            "1, 2,2 3, 4, 5,10",
        ),
    ])
    .await;
    let none = "(SELECT count(*) FROM buyers b WHERE b.id = s.buyer HAVING count(*) < s.n) = 0";
    assert_eq!(holds(none).await, "3 4");
}

#[tokio::test]
async fn value_of_a_third_row_is_looked_up() {
    check(&[
        (
            "(SELECT (SELECT max(c.w) FROM buyers c WHERE c.id = b.id + 10) FROM buyers b WHERE b.id = s.buyer)",
            "1, 2,4 3, 4, 5,",
        ),
        // Two rows are no error for a buyer that no sale has.
        (
            "(SELECT coalesce(b.w, 0) + (SELECT c.w FROM buyers c WHERE c.id = b.id) FROM buyers b \
             WHERE b.id = s.buyer)",
            "1,10 2, 3, 4, 5,10",
        ),
        (
            "(SELECT s.n + (SELECT c.w FROM buyers c WHERE c.id = b.id) FROM buyers b WHERE b.id = s.buyer)",
            "1,6 2, 3, 4, 5,10",
        ),
        (
            "(SELECT (SELECT count(*) FROM buyers c WHERE c.id = b.id + 10) FROM buyers b WHERE b.id = s.buyer \
             ORDER BY b.w LIMIT 1)",
            "1,1 2,2 3, 4, 5,1",
        ),
        (
            "(SELECT b.w + s.n + (SELECT max(c.w) FROM buyers c) FROM buyers b WHERE b.id = s.buyer)",
            "1,11 2, 3, 4, 5,15",
        ),
        (
            "(SELECT max(b.w) + (SELECT min(c.w) FROM buyers c) FROM buyers b WHERE b.id = s.buyer)",
            "1,6 2, 3, 4, 5,6",
        ),
    ])
    .await;
    let two = "(SELECT (SELECT c.w FROM buyers c WHERE c.id = b.id + 10) FROM buyers b WHERE b.id = s.buyer)";
    let sql = format!("WITH {SHOP} SELECT {two} FROM sales s");
    let error = refused(&sql).await.to_string();
    assert!(error.contains("more than one row"), "{error}");
}

#[tokio::test]
async fn derived_table_depends_on_the_statement_around() {
    check(&[
        (
            "(SELECT max(d.w) FROM (SELECT w FROM buyers b WHERE b.id = s.buyer) d)",
            "1,5 2, 3, 4, 5,5",
        ),
        (
            "(SELECT d.w FROM (SELECT z.w FROM (SELECT w FROM buyers b WHERE b.id = s.buyer) z) d)",
            "1,5 2, 3, 4, 5,5",
        ),
        (
            "(SELECT count(*) FROM (SELECT DISTINCT w > 0 AS e FROM buyers b WHERE b.id = s.buyer + 20) d)",
            "1,1 2,0 3,0 4,0 5,1",
        ),
        (
            "(SELECT sum(d.k) FROM (SELECT w, count(*) AS k FROM buyers b WHERE b.id = s.buyer + 20 GROUP BY w) d)",
            "1,2 2, 3, 4, 5,2",
        ),
        (
            "(SELECT count(*) FROM (SELECT w FROM buyers b WHERE b.id = s.buyer + 20) d \
             JOIN (SELECT w AS v FROM buyers c WHERE c.id = s.buyer + 20) e ON d.w <= e.v)",
            "1,3 2,0 3,0 4,0 5,3",
        ),
        (
            "(SELECT max(d.w) + s.n FROM (SELECT w FROM buyers b \
             WHERE upper(CAST(b.id AS text)) = CAST(s.buyer AS text)) d)",
            "1,6 2, 3, 4, 5,10",
        ),
    ])
    .await;
    for (condition, expected) in [
        (
            "EXISTS (SELECT 1 FROM (SELECT w FROM buyers b WHERE b.id = s.buyer) d WHERE d.w > 1)",
            "1 5",
        ),
        (
            "EXISTS (SELECT 1 FROM (SELECT w FROM buyers b WHERE b.id < s.buyer) d WHERE d.w > 4)",
            "2 4",
        ),
        (
            "EXISTS (SELECT 1 FROM (SELECT w, count(*) AS k FROM buyers b WHERE b.id = s.buyer + 20 GROUP BY w) d \
             WHERE d.k = 1)",
            "1 5",
        ),
        (
            "s.n IN (SELECT d.w FROM (SELECT w FROM buyers b WHERE b.id = s.buyer) d)",
            "5",
        ),
        (
            "s.n NOT IN (SELECT d.w FROM (SELECT w FROM buyers b WHERE b.id = s.buyer) d)",
            "1 3 4",
        ),
        (
            "s.n >= ALL (SELECT d.w FROM (SELECT DISTINCT w FROM buyers b WHERE b.id = s.buyer) d)",
            "3 4 5",
        ),
    ] {
        assert_eq!(holds(condition).await, expected, "{condition}");
    }
}

#[tokio::test]
async fn condition_may_be_about_the_statement_around_alone() {
    check(&[
        (
            "(SELECT count(*) FROM buyers b WHERE b.id = s.buyer AND s.amt > 50)",
            "1,1 2,0 3,0 4,0 5,0",
        ),
        (
            "(SELECT count(*) FROM buyers b WHERE s.amt > 50)",
            "1,5 2,0 3,0 4,0 5,0",
        ),
        (
            "(SELECT b.w FROM buyers b WHERE b.id = s.buyer AND s.n > 1 AND s.n IS NOT NULL)",
            "1, 2, 3, 4, 5,5",
        ),
        (
            "EXISTS (SELECT 1 FROM buyers b WHERE b.id = s.buyer AND s.amt > 50)",
            "1,true 2,false 3,false 4,false 5,false",
        ),
    ])
    .await;
}

#[tokio::test]
async fn value_has_groups_by_the_key_of_a_table_of_groups() {
    let sums = "sums AS (SELECT id, count(*) AS k FROM buyers GROUP BY id)";
    for (value, expected) in [
        (
            "(SELECT max(t.k) FROM sums t WHERE t.id = s.buyer + 20 GROUP BY t.id)",
            "1,2 2, 3, 4, 5,2",
        ),
        (
            "(SELECT sum(t.k) + s.n FROM sums t WHERE t.id = s.buyer + 20 GROUP BY t.id HAVING count(*) = 1)",
            "1,3 2, 3, 4, 5,7",
        ),
        (
            "(SELECT max(t.k) FROM (SELECT id, count(*) AS k FROM buyers GROUP BY id) t WHERE t.id = s.buyer + 20 \
             GROUP BY t.id)",
            "1,2 2, 3, 4, 5,2",
        ),
    ] {
        let sql = format!(", {sums} SELECT s.n, {value} FROM sales s ORDER BY s.n");
        let rows = crate::tests::meaning::table(&format!(", {SHOP}{sql}")).await;
        assert_eq!(rows, expected, "{value}");
    }
}

#[tokio::test]
async fn rows_are_ordered_by_whether_there_are_others() {
    for (sql, expected) in [
        (
            "SELECT n FROM sales s ORDER BY EXISTS (SELECT 1 FROM buyers b WHERE b.id = s.buyer), n",
            "3 4 1 2 5",
        ),
        (
            "SELECT n FROM sales s ORDER BY CASE WHEN NOT EXISTS (SELECT 1 FROM buyers b WHERE b.id = s.buyer \
             AND b.w > 1) THEN n END, n",
            "2 3 4 1 5",
        ),
        (
            "SELECT n + 1 AS k FROM sales s ORDER BY k IN (SELECT w FROM buyers WHERE w > 2) DESC, k LIMIT 3",
            "3 4 5",
        ),
        (
            "SELECT n FROM sales s ORDER BY buyer IN (SELECT id FROM buyers), n",
            "1 2 5 3 4",
        ),
        (
            "SELECT n FROM sales s ORDER BY EXISTS (SELECT 1 FROM buyers WHERE id = 7), n DESC",
            "5 4 3 2 1",
        ),
        (
            "SELECT buyer, count(*) FROM sales s GROUP BY buyer \
             ORDER BY EXISTS (SELECT 1 FROM buyers b WHERE b.id = s.buyer), buyer",
            "99,1 ,1 10,2 20,1",
        ),
        (
            "SELECT n, EXISTS (SELECT 1 FROM buyers b WHERE b.id = s.n) FROM sales s \
             ORDER BY EXISTS (SELECT 1 FROM buyers b WHERE b.id = s.buyer), n",
            "3,false 4,false 1,false 2,false 5,false",
        ),
    ] {
        assert_eq!(shop(sql).await, expected, "{sql}");
    }
}

#[tokio::test]
async fn lateral_table_whose_condition_is_never_true_has_no_rows() {
    let never = "FROM buyers b WHERE b.id = s.buyer AND 1 = 2";
    for (table, expected) in [
        (
            format!("CROSS JOIN LATERAL (SELECT count(*) AS v {never}) l"),
            "1,0 2,0 3,0 4,0 5,0",
        ),
        (
            format!("LEFT JOIN LATERAL (SELECT b.w AS v {never}) l ON true"),
            "1, 2, 3, 4, 5,",
        ),
        (
            format!("CROSS JOIN LATERAL (SELECT b.w AS v {never}) l"),
            "",
        ),
    ] {
        let sql = format!("SELECT s.n, l.v FROM sales s {table} ORDER BY s.n");
        assert_eq!(shop(&sql).await, expected, "{table}");
    }
}

#[tokio::test]
async fn form_that_cannot_be_run_says_why() {
    let value = |value: &str| format!("SELECT {value} FROM sales s");
    let of_buyers = |condition: &str| {
        value(&format!(
            "(SELECT count(*) FROM buyers b WHERE {condition})"
        ))
    };
    for (sql, says) in [
        (of_buyers("b.id < s.buyer"), "by `=` alone here"),
        (
            of_buyers("b.id IS NOT DISTINCT FROM s.buyer"),
            "by `=` alone here",
        ),
        (
            of_buyers("b.id = s.buyer OR b.w = s.n"),
            "by `=` alone here",
        ),
        (of_buyers("b.id - s.buyer = 0"), "by `=` alone here"),
        (of_buyers("b.id IN (s.buyer, s.n)"), "by `=` alone here"),
        (
            value("(SELECT b.w FROM buyers b WHERE b.id < s.buyer ORDER BY b.id LIMIT 1)"),
            "by `=` alone here",
        ),
        (
            value(
                "(SELECT max(b.w) FROM buyers b WHERE b.id = s.buyer AND b.w = \
                 (SELECT max(c.w) FROM buyers c WHERE c.id = s.amt))",
            ),
            "right around it alone",
        ),
        (
            String::from(
                "SELECT n FROM sales s WHERE EXISTS (SELECT 1 FROM buyers b WHERE b.id = s.buyer \
                 AND EXISTS (SELECT 1 FROM buyers c WHERE c.id = s.amt))",
            ),
            "right around it alone",
        ),
        (
            value("(SELECT count(*) FROM (SELECT w FROM buyers b WHERE b.id = s.buyer LIMIT 1) d)"),
            "a table (SELECT …) of a subquery",
        ),
        (
            value(
                "(SELECT max(d.w) FROM (SELECT max(w) AS w FROM buyers b WHERE b.id = s.buyer) d)",
            ),
            "an aggregate without GROUP BY",
        ),
        (
            value(
                "(SELECT max(b.w) FROM buyers b WHERE b.id = s.buyer UNION ALL SELECT 1 LIMIT 1)",
            ),
            "no UNION",
        ),
        (
            String::from(
                "SELECT s.n, d.w FROM sales s JOIN LATERAL (SELECT max(b.w) AS w FROM buyers b \
                 WHERE b.id < s.buyer) d ON true",
            ),
            "a LATERAL table with an aggregate",
        ),
        (
            String::from(
                "SELECT DISTINCT n FROM sales s ORDER BY EXISTS (SELECT 1 FROM buyers b WHERE b.id = s.buyer)",
            ),
            "give them a name in SELECT",
        ),
    ] {
        let error = refused(&format!("WITH {SHOP} {sql}")).await.to_string();
        assert!(error.contains(says), "{sql}: {error}");
    }
}

#[tokio::test]
async fn condition_of_all_alternatives_joins_with_the_statement_around_it() {
    check(&[
        (
            "(SELECT count(*) FROM buyers b WHERE (b.id = s.buyer AND b.w > 2) OR (b.w < 1 AND (b.id = s.buyer)))",
            "1,1 2,0 3,0 4,0 5,1",
        ),
        (
            "(SELECT count(*) FROM buyers b WHERE (b.id = s.buyer AND b.w < 0) OR b.id = s.buyer)",
            "1,1 2,1 3,0 4,0 5,1",
        ),
    ])
    .await;
}
