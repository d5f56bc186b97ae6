//! `(SELECT …)` as the value of another row, beside the columns of the statement around it and in all of its clauses.

use super::EMP;
use crate::tests::{meaning::table, refused};

/// Of the buyers, one has no weight, one no id, and two have the same id.
pub const SHOP: &str = "sales(n, buyer, amt) AS (VALUES (1, 10, 100), (2, 20, 50), (3, NULL, 7), (4, 99, 1), \
                    (5, 10, NULL)), buyers(id, w) AS (VALUES (10, 5), (20, NULL), (NULL, 1), (30, 3), (30, 4))";

/// The weight of the buyer of a sale.
const WEIGHT: &str = "(SELECT b.w FROM buyers b WHERE b.id = s.buyer)";

pub async fn shop(sql: &str) -> String {
    table(&format!(", {SHOP} {sql}")).await
}

#[tokio::test]
async fn value_is_computed_of_both_rows() {
    for (value, expected) in [
        (
            "(SELECT s.amt + b.w FROM buyers b WHERE b.id = s.buyer)",
            "1,105 2, 3, 4, 5,",
        ),
        // No row is NULL, whatever the value would be of a row of NULLs.
        (
            "(SELECT coalesce(b.w, 0) + s.amt FROM buyers b WHERE b.id = s.buyer)",
            "1,105 2,50 3, 4, 5,",
        ),
        (
            "(SELECT s.amt FROM buyers b WHERE b.id = s.buyer)",
            "1,100 2,50 3, 4, 5,",
        ),
        (
            "coalesce((SELECT coalesce(s.amt, 9) FROM buyers b WHERE b.id = s.buyer), 0)",
            "1,100 2,50 3,0 4,0 5,9",
        ),
        (
            "(SELECT CASE WHEN b.w IS NULL THEN s.n ELSE b.w * s.n END FROM buyers b WHERE b.id = s.buyer)",
            "1,5 2,2 3, 4, 5,25",
        ),
        (
            "(SELECT s.n * 10 + b.w FROM buyers b WHERE b.id = s.buyer + 20 ORDER BY b.w DESC LIMIT 1)",
            "1,14 2, 3, 4, 5,54",
        ),
        (
            "(SELECT s.n + b.w FROM buyers b WHERE b.id = 10)",
            "1,6 2,7 3,8 4,9 5,10",
        ),
        ("(SELECT s.amt + 1)", "1,101 2,51 3,8 4,2 5,"),
        // An aggregate has a row of no rows, a group has none.
        (
            "(SELECT coalesce(max(b.w), 0) + s.amt FROM buyers b WHERE b.id = s.buyer)",
            "1,105 2,50 3,7 4,1 5,",
        ),
        (
            "(SELECT count(*) * 10 + s.n FROM buyers b WHERE b.id = s.buyer)",
            "1,11 2,12 3,3 4,4 5,15",
        ),
        (
            "(SELECT coalesce(max(b.w), 0) + s.amt FROM buyers b WHERE b.id = s.buyer GROUP BY b.id)",
            "1,105 2,50 3, 4, 5,",
        ),
        // The rows of a value that no row asks for may be many.
        (
            "CASE WHEN s.buyer = 10 THEN 0 ELSE (SELECT s.n + b.w FROM buyers b WHERE b.id = s.buyer + 20) END",
            "1,0 2, 3, 4, 5,0",
        ),
    ] {
        let sql = format!("SELECT s.n, {value} FROM sales s ORDER BY s.n");
        assert_eq!(shop(&sql).await, expected, "{value}");
    }
    for (condition, expected) in [
        (
            "(SELECT s.amt - b.w FROM buyers b WHERE b.id = s.buyer) > 90",
            "1",
        ),
        (
            "(SELECT coalesce(b.w, 0) + coalesce(s.amt, 0) FROM buyers b WHERE b.id = s.buyer) IS NULL",
            "3 4",
        ),
        (
            "s.n > 1 AND (SELECT s.n * 10 + coalesce(b.w, 0) FROM buyers b WHERE b.id = s.buyer) < 60",
            "2 5",
        ),
    ] {
        let sql = format!("SELECT s.n FROM sales s WHERE {condition} ORDER BY s.n");
        assert_eq!(shop(&sql).await, expected, "{condition}");
    }
}

#[tokio::test]
async fn value_of_another_row_is_ordered_by() {
    for (sql, expected) in [
        (
            format!("SELECT n FROM sales s ORDER BY {WEIGHT} DESC NULLS LAST, n"),
            "1 5 2 3 4",
        ),
        (
            String::from(
                "SELECT n FROM sales s ORDER BY (SELECT b.w - s.n FROM buyers b WHERE b.id = s.buyer), n",
            ),
            "5 1 2 3 4",
        ),
        (
            format!("SELECT n FROM sales s ORDER BY {WEIGHT}, n DESC LIMIT 1"),
            "5",
        ),
        // The name of another column of the result.
        (
            format!("SELECT n + 1 AS buyer FROM sales s ORDER BY {WEIGHT}, n"),
            "2 6 3 4 5",
        ),
        (
            format!(
                "SELECT buyer, count(*) FROM sales s GROUP BY buyer ORDER BY {WEIGHT} NULLS FIRST, buyer"
            ),
            "20,1 99,1 ,1 10,2",
        ),
        // It is not the maximum of the result, which has the same text.
        (
            String::from(
                "SELECT b.id, max(s.amt) FROM buyers b JOIN sales s ON s.buyer = b.id WHERE s.n > 1 GROUP BY b.id \
                 ORDER BY (SELECT max(s.amt) FROM sales s WHERE s.buyer = b.id) DESC NULLS LAST",
            ),
            "10, 20,50",
        ),
        // It is that of the result.
        (
            format!(
                "SELECT n, {WEIGHT} AS w FROM sales s ORDER BY coalesce({WEIGHT}, 6), n DESC LIMIT 3"
            ),
            "5,5 1,5 4,",
        ),
        (
            String::from(
                "SELECT n FROM sales s \
                 ORDER BY (SELECT b.w FROM buyers b WHERE b.id = s.buyer + 20 ORDER BY w DESC LIMIT 1), n",
            ),
            "1 5 2 3 4",
        ),
    ] {
        assert_eq!(shop(&sql).await, expected, "{sql}");
    }
}

#[tokio::test]
async fn value_of_another_row_is_aggregated_and_grouped_by() {
    for (sql, expected) in [
        (format!("SELECT sum({WEIGHT}) FROM sales s"), "10"),
        (
            format!(
                "SELECT count({WEIGHT}), sum((SELECT s.amt + b.w FROM buyers b WHERE b.id = s.buyer)) FROM sales s"
            ),
            "2,105",
        ),
        // Two of one text, by other keys.
        (
            format!(
                "SELECT sum({WEIGHT}), sum((SELECT b.w FROM buyers b WHERE b.id = s.n + 9)) FROM sales s"
            ),
            "10,5",
        ),
        (
            String::from(
                "SELECT sum((SELECT count(*) FROM buyers b WHERE b.id = s.buyer)) FROM sales s",
            ),
            "3",
        ),
        (
            String::from(
                "SELECT sum((SELECT b.w FROM buyers b WHERE b.id = s.buyer + 20 ORDER BY w DESC LIMIT 1)) FROM sales s",
            ),
            "8",
        ),
        (
            format!("SELECT count(*) FILTER (WHERE {WEIGHT} = 5) FROM sales s"),
            "2",
        ),
        (
            String::from(
                "SELECT buyer, max((SELECT b.w + s.n FROM buyers b WHERE b.id = s.buyer)) FROM sales s \
                 GROUP BY buyer ORDER BY buyer",
            ),
            "10,10 20, 99, ,",
        ),
        (
            format!("SELECT n, sum({WEIGHT}) OVER (ORDER BY n) FROM sales s ORDER BY n"),
            "1,5 2,5 3,5 4,5 5,10",
        ),
        (
            format!("SELECT {WEIGHT} AS w, count(*) FROM sales s GROUP BY w ORDER BY w"),
            "5,2 ,3",
        ),
        (
            format!("SELECT {WEIGHT}, count(*) FROM sales s GROUP BY 1 ORDER BY 2"),
            "5,2 ,3",
        ),
        (
            format!("SELECT count(*) FROM sales s GROUP BY {WEIGHT} ORDER BY 1"),
            "2 3",
        ),
        (
            String::from(
                "SELECT (SELECT b.w * s.n FROM buyers b WHERE b.id = s.buyer) AS x, count(*) FROM sales s \
                 GROUP BY 1 ORDER BY x",
            ),
            "5,1 25,1 ,3",
        ),
        (
            format!("SELECT {WEIGHT} AS w FROM sales s GROUP BY {WEIGHT} HAVING sum({WEIGHT}) > 5"),
            "5",
        ),
        (
            String::from(
                "SELECT buyer FROM sales s GROUP BY buyer \
                 HAVING (SELECT b.w + s.buyer FROM buyers b WHERE b.id = s.buyer) > 14",
            ),
            "10",
        ),
    ] {
        assert_eq!(shop(&sql).await, expected, "{sql}");
    }
}

#[tokio::test]
async fn second_row_of_a_value_is_an_error_in_each_clause() {
    let two = "(SELECT b.w FROM buyers b WHERE b.id = s.buyer + 20)";
    let of_both = "(SELECT s.n + b.w FROM buyers b WHERE b.id = s.buyer + 20)";
    for sql in [
        format!("SELECT {of_both} FROM sales s"),
        String::from("SELECT (SELECT s.n + b.w FROM buyers b WHERE b.id = 30) FROM sales s"),
        format!("SELECT n FROM sales s WHERE {of_both} > 0"),
        format!("SELECT n FROM sales s ORDER BY {two}"),
        format!("SELECT n FROM sales s ORDER BY {of_both}"),
        format!("SELECT sum({two}) FROM sales s"),
        format!("SELECT sum({of_both}) FROM sales s"),
        format!("SELECT count(*) FROM sales s GROUP BY {two}"),
        format!("SELECT buyer FROM sales s GROUP BY buyer HAVING {two} > 0"),
    ] {
        let error = refused(&format!("WITH {SHOP} {sql}")).await.to_string();
        assert!(error.contains("more than one row"), "{sql}: {error}");
    }
}

#[tokio::test]
async fn value_that_cannot_be_joined_says_what_to_write() {
    for (sql, says) in [
        (
            format!("SELECT DISTINCT n FROM sales s ORDER BY {WEIGHT}"),
            "ORDER BY of DISTINCT",
        ),
        (
            String::from(
                "SELECT s.n FROM sales s JOIN buyers c \
                 ON c.id = (SELECT max(b.id) FROM buyers b WHERE b.id = s.buyer)",
            ),
            "cannot stand in ON",
        ),
        (
            String::from(
                "SELECT (SELECT sum(b.w * s.amt) FROM buyers b WHERE b.id = s.buyer) FROM sales s",
            ),
            "in none of its aggregates",
        ),
        (
            String::from(
                "SELECT (SELECT s.n + b.w FROM buyers b WHERE b.id = s.buyer ORDER BY b.w - s.n LIMIT 1) FROM sales s",
            ),
            "not in its ORDER BY",
        ),
        (
            String::from(
                "SELECT (SELECT DISTINCT b.w + s.n FROM buyers b WHERE b.id = s.buyer) FROM sales s",
            ),
            "LEFT JOIN",
        ),
        (
            String::from(
                "SELECT sum((SELECT max(b.w) AS m FROM buyers b WHERE b.id = s.buyer GROUP BY b.id)) FROM sales s",
            ),
            "leave the name out",
        ),
    ] {
        let error = refused(&format!("WITH {SHOP} {sql}")).await.to_string();
        assert!(error.contains(says), "{sql}: {error}");
    }
}

#[tokio::test]
async fn subquery_groups_by_the_key_of_a_table_of_with() {
    for (sql, expected) in [
        (
            "SELECT name, (SELECT max(f.salary) FROM emp f WHERE f.dept = e.dept GROUP BY f.dept) FROM emp e \
             ORDER BY name",
            "Ann,1000 Bob,800 Cid,700 Dan,800 Eve,800 Fay,800 Gus,700 Zed,",
        ),
        (
            "SELECT name, (SELECT count(*) FROM emp f WHERE f.dept = e.dept GROUP BY f.dept HAVING count(*) > 1) \
             FROM emp e WHERE name IN ('Ann', 'Bob', 'Cid', 'Zed') ORDER BY name",
            "Ann, Bob,4 Cid,2 Zed,",
        ),
    ] {
        assert_eq!(table(&format!(", {EMP} {sql}")).await, expected, "{sql}");
    }
    let sql = "SELECT name, (SELECT sum(s) FROM low WHERE d = e.dept GROUP BY d) FROM emp e WHERE name < 'C' \
               ORDER BY name";
    let low = "low(d, s) AS (SELECT dept, salary FROM emp WHERE salary < 900)";
    let rows = table(&format!(", {EMP}, {low} {sql}")).await;
    assert_eq!(rows, "Ann, Bob,2300");
    let sql =
        "SELECT (SELECT max(f.salary) FROM emp f WHERE f.dept = e.dept GROUP BY f.name) FROM emp e";
    let error = refused(&format!("WITH {EMP} {sql}")).await.to_string();
    assert!(error.contains("may group only by"), "{error}");
}
