//! `ANY`, `ALL`, and rows before `IN`: subqueries that DataFusion alone compares otherwise, or not at all.

mod forms;
mod lookups;

use super::{meaning::table, refused};

/// The statement reads it by the same name as its subqueries. One salary is NULL.
const EMP: &str = "emp(name, dept, salary) AS (VALUES ('Ann', 'mg', 1000), ('Bob', 'it', 800), ('Cid', 'hr', 700), \
                   ('Dan', 'it', 600), ('Eve', 'it', 600), ('Fay', 'it', 300), ('Gus', 'hr', 400), \
                   ('Zed', NULL, NULL))";

/// The names for which a condition holds.
async fn holds(condition: &str) -> String {
    table(&format!(
        ", {EMP} SELECT name FROM emp WHERE {condition} ORDER BY name"
    ))
    .await
}

#[tokio::test]
async fn any_and_all_compare_with_the_rows_of_the_subquery() {
    for (condition, expected) in [
        (
            "salary >= ALL (SELECT salary FROM emp WHERE salary IS NOT NULL)",
            "Ann",
        ),
        ("salary >= ALL (SELECT salary FROM emp)", ""),
        (
            "salary > ANY (SELECT salary FROM emp WHERE dept = 'it')",
            "Ann Bob Cid Dan Eve Gus",
        ),
        (
            "NOT salary > ANY (SELECT salary FROM emp WHERE dept = 'it')",
            "Fay",
        ),
        (
            "salary = ANY (SELECT salary FROM emp WHERE dept = 'hr')",
            "Cid Gus",
        ),
        (
            "salary = SOME (SELECT salary FROM emp WHERE dept = 'hr')",
            "Cid Gus",
        ),
        (
            "salary <> ANY (SELECT salary FROM emp WHERE dept = 'hr')",
            "Ann Bob Cid Dan Eve Fay Gus",
        ),
        (
            "salary <> ALL (SELECT salary FROM emp WHERE dept = 'it')",
            "Ann Cid Gus",
        ),
        ("salary <> ALL (SELECT salary FROM emp)", ""),
        (
            "salary = ALL (SELECT salary FROM emp WHERE name = 'Dan')",
            "Dan Eve",
        ),
        (
            "salary < ALL (SELECT salary FROM emp WHERE dept = 'hr')",
            "Fay",
        ),
        (
            "salary <= ANY (SELECT salary FROM emp WHERE dept = 'hr')",
            "Cid Dan Eve Fay Gus",
        ),
        (
            "salary > ALL (SELECT salary FROM emp WHERE dept = 'none')",
            "Ann Bob Cid Dan Eve Fay Gus Zed",
        ),
        (
            "salary >= ALL (SELECT e.salary FROM emp e WHERE e.dept = emp.dept)",
            "Ann Bob Cid Zed",
        ),
    ] {
        assert_eq!(holds(condition).await, expected, "{condition}");
    }
    for (sql, expected) in [
        (
            "emp2 AS (SELECT * FROM emp) SELECT name FROM emp2 WHERE salary >= ALL \
             (SELECT salary FROM emp2 WHERE salary IS NOT NULL)",
            "Ann",
        ),
        (
            "unused AS (SELECT 1) SELECT dept FROM emp GROUP BY dept HAVING max(salary) >= ALL \
             (SELECT max(salary) FROM emp WHERE dept IS NOT NULL GROUP BY dept)",
            "mg",
        ),
        (
            "unused AS (SELECT 1) SELECT name, salary = ANY (SELECT salary FROM emp WHERE dept = 'hr') \
             FROM emp WHERE name < 'D' ORDER BY name",
            "Ann,false Bob,false Cid,true",
        ),
    ] {
        assert_eq!(table(&format!(", {EMP}, {sql}")).await, expected, "{sql}");
    }
    let sql = format!("WITH {EMP} SELECT salary > ALL (SELECT salary FROM emp) FROM emp");
    let error = refused(&sql).await.to_string();
    assert!(error.contains("WHERE and HAVING"), "{error}");
}

#[tokio::test]
async fn rows_are_looked_for_in_a_subquery() {
    for (condition, expected) in [
        (
            "(dept, salary) IN (SELECT dept, max(salary) FROM emp GROUP BY dept)",
            "Ann Bob Cid",
        ),
        (
            "(dept, salary) = ANY (SELECT dept, max(salary) FROM emp GROUP BY dept)",
            "Ann Bob Cid",
        ),
        (
            "(dept, salary) NOT IN (SELECT dept, max(salary) FROM emp WHERE dept <> 'none' GROUP BY dept)",
            "Dan Eve Fay Gus",
        ),
        (
            "NOT ((dept, salary) IN (SELECT dept, max(salary) FROM emp WHERE dept <> 'none' GROUP BY dept))",
            "Dan Eve Fay Gus",
        ),
        // It has a row of two NULLs, which may equal each other one.
        (
            "(dept, salary) NOT IN (SELECT dept, max(salary) FROM emp GROUP BY dept)",
            "",
        ),
        (
            "name = 'Zed' OR (dept, salary) IN (SELECT 'hr', 400)",
            "Gus Zed",
        ),
        (
            "('hr', 400) IN (SELECT dept, salary FROM emp) AND name < 'C'",
            "Ann Bob",
        ),
    ] {
        assert_eq!(holds(condition).await, expected, "{condition}");
    }
    for (sql, says) in [
        (
            "SELECT (dept, salary) IN (SELECT dept, salary FROM emp) FROM emp",
            "write EXISTS",
        ),
        (
            "SELECT dept FROM emp GROUP BY dept HAVING (dept, max(salary)) IN (SELECT dept, salary FROM emp)",
            "write EXISTS",
        ),
        (
            "SELECT name FROM emp WHERE (dept, salary) > ALL (SELECT dept, salary FROM emp)",
            "write EXISTS",
        ),
        (
            "SELECT name FROM emp WHERE (dept, salary) IN (SELECT dept FROM emp)",
            "as many values",
        ),
    ] {
        let error = refused(&format!("WITH {EMP} {sql}")).await.to_string();
        assert!(error.contains(says), "{sql}: {error}");
    }
}

#[tokio::test]
async fn correlated_lookup_that_cannot_be_run_says_what_to_write() {
    for (sql, says) in [
        (
            r#"SELECT t.id, (SELECT max(u.price) FROM "main"."t" u WHERE u.id = t.id AND u.price < t.price) FROM "main"."t" t"#,
            "by `=` alone",
        ),
        (
            "SELECT e.name, l.name FROM emp e JOIN LATERAL (SELECT f.name FROM emp f WHERE f.dept = e.dept \
             ORDER BY f.salary LIMIT 1) l ON true",
            "row_number()",
        ),
        (
            "SELECT name FROM emp e WHERE salary > ANY (SELECT f.salary FROM emp f WHERE f.dept = e.dept OFFSET 1)",
            "LIMIT and OFFSET",
        ),
        (
            "SELECT name FROM emp e WHERE (dept, salary) IN (SELECT f.dept, f.salary FROM emp f \
             WHERE f.dept = e.dept LIMIT 1)",
            "LIMIT and OFFSET",
        ),
        (
            "SELECT name FROM emp e WHERE salary NOT IN (SELECT f.salary FROM (SELECT * FROM emp ORDER BY name LIMIT 9) f \
             WHERE f.dept = e.dept) OR name = 'Ann'",
            "row_number()",
        ),
        (
            "SELECT name FROM emp e WHERE 1 IN (SELECT row_number() OVER (ORDER BY f.salary) FROM emp f \
             WHERE f.dept = e.dept)",
            "with PARTITION BY",
        ),
        // As a condition behind the join it would take away the rows without a partner.
        (
            "SELECT e.name, (SELECT count(*) FROM emp f LEFT JOIN emp g ON g.dept = e.dept) FROM emp e",
            "LEFT, RIGHT or FULL JOIN",
        ),
        (
            "SELECT name FROM emp e WHERE EXISTS (SELECT 1 FROM emp f LEFT JOIN (SELECT * FROM emp h \
             WHERE h.dept = e.dept) g ON g.name = f.name)",
            "LEFT, RIGHT or FULL JOIN",
        ),
        (
            "SELECT name FROM emp e WHERE dept IN (SELECT g.dept FROM emp f RIGHT JOIN emp g ON f.name = e.name)",
            "LEFT, RIGHT or FULL JOIN",
        ),
    ] {
        let error = refused(&format!("WITH {EMP} {sql}")).await.to_string();
        assert!(error.contains(says), "{sql}: {error}");
    }
}

#[tokio::test]
async fn limit_at_the_end_of_exists_changes_nothing() {
    let richer = "EXISTS (SELECT 1 FROM emp f WHERE f.dept = e.dept AND f.name <> e.name LIMIT 1)";
    let sql = format!(", {EMP} SELECT name FROM emp e WHERE {richer} ORDER BY name");
    assert_eq!(table(&sql).await, "Bob Cid Dan Eve Fay Gus");
}

#[tokio::test]
async fn wildcard_over_natural_joins_has_the_shared_columns_first() {
    for (sql, expected) in [
        ("SELECT * FROM p NATURAL JOIN q", "2,20"),
        (
            "SELECT * FROM p z NATURAL JOIN (SELECT k AS kk, id FROM q) b ORDER BY id",
            "1,10,30 2,20,20 3,30,10",
        ),
        (
            "SELECT * FROM p NATURAL JOIN (SELECT k AS kk, id FROM q) b NATURAL JOIN (SELECT v, id FROM s) c ORDER BY id",
            "1,10,30,1.254 2,20,20,1.25 3,30,10,12",
        ),
        (
            "SELECT * FROM (SELECT * FROM (SELECT k, id FROM p) z NATURAL JOIN (SELECT k AS kk, id FROM q) b) x ORDER BY 1",
            "1,10,30 2,20,20 3,30,10",
        ),
    ] {
        assert_eq!(table(sql).await, expected, "{sql}");
    }
}

#[tokio::test]
async fn value_of_another_row_is_looked_up() {
    const DEPTS: &str = "depts(code, title, since) AS (VALUES ('mg', 'Management', 1), ('it', 'Technology', 2), \
                         ('hr', 'People', 3), ('hr', 'Hiring', 4), ('xx', NULL, 5))";
    let lookup = async |sql: &str| table(&format!(", {EMP}, {DEPTS} {sql}")).await;
    for (sql, expected) in [
        (
            "SELECT name, (SELECT title FROM depts d WHERE d.code = e.dept) AS title FROM emp e \
             WHERE dept <> 'hr' OR dept IS NULL ORDER BY name",
            "Ann,Management Bob,Technology Dan,Technology Eve,Technology Fay,Technology Zed,",
        ),
        // The rows of a value that no row asks for may be many.
        (
            "SELECT name FROM emp e WHERE dept = 'mg' AND (SELECT title || '!' FROM depts d WHERE d.code = e.dept) LIKE 'M%!'",
            "Ann",
        ),
        (
            "SELECT e.name, coalesce((SELECT d.since + 1 FROM depts d WHERE d.code = e.dept), 0) FROM emp e \
             WHERE e.salary > 700 ORDER BY 1",
            "Ann,2 Bob,3",
        ),
        (
            "SELECT name, (SELECT title FROM depts d WHERE d.code = e.dept ORDER BY since DESC LIMIT 1) FROM emp e \
             WHERE dept = 'hr' ORDER BY name",
            "Cid,Hiring Gus,Hiring",
        ),
        (
            "SELECT name, (SELECT since AS age FROM depts d WHERE d.code = e.dept ORDER BY age LIMIT 1) FROM emp e \
             WHERE dept = 'hr' ORDER BY name",
            "Cid,3 Gus,3",
        ),
        (
            "SELECT name, (SELECT f.name FROM emp f WHERE f.dept = e.dept ORDER BY f.salary, 1 LIMIT 1) FROM emp e \
             WHERE salary >= 700 ORDER BY name",
            "Ann,Ann Bob,Fay Cid,Gus",
        ),
        (
            "SELECT name, (SELECT title AS code FROM depts d WHERE d.code = e.dept ORDER BY (code) NULLS FIRST LIMIT 1) \
             FROM emp e WHERE dept = 'hr' ORDER BY name",
            "Cid,Hiring Gus,Hiring",
        ),
        (
            "SELECT dept FROM emp e GROUP BY dept HAVING (SELECT d.since FROM depts d WHERE d.code = e.dept AND since <> 4) > 2",
            "hr",
        ),
        (
            "SELECT CASE WHEN dept = 'hr' THEN 'two' ELSE (SELECT d.title FROM depts d WHERE d.code = e.dept AND \
             d.title <> 'Hiring') END AS t FROM emp e WHERE salary >= 700 ORDER BY t",
            "Management Technology two",
        ),
        // What is compared is no column.
        (
            "SELECT name, (SELECT title FROM depts d WHERE upper(d.code) = upper(e.dept) AND since < 4) FROM emp e \
             WHERE salary >= 700 ORDER BY name",
            "Ann,Management Bob,Technology Cid,People",
        ),
        // Those behind ANY and ALL have all their rows.
        (
            "SELECT name, (SELECT title FROM depts d WHERE d.code = e.dept) FROM emp e \
             WHERE salary > ANY (SELECT salary FROM emp WHERE dept = 'it') AND dept = 'it' ORDER BY name",
            "Bob,Technology Dan,Technology Eve,Technology",
        ),
        (
            "SELECT name, (SELECT title FROM depts d WHERE d.code = e.dept) FROM emp e \
             WHERE dept = 'mg' AND salary >= ALL (SELECT salary FROM emp WHERE dept = 'none' ORDER BY 1 LIMIT 1)",
            "Ann,Management",
        ),
        // An uncorrelated one beside it.
        (
            "SELECT name, (SELECT title FROM depts d WHERE d.code = e.dept), (SELECT title FROM depts WHERE since = 4) \
             FROM emp e WHERE dept = 'mg'",
            "Ann,Management,Hiring",
        ),
    ] {
        assert_eq!(lookup(sql).await, expected, "{sql}");
    }
    let sql = "SELECT e.name, (SELECT f.name FROM emp f WHERE f.name = e.name) FROM emp e WHERE salary > 900";
    assert_eq!(lookup(sql).await, "Ann,Ann");
    let sql = "SELECT name, (SELECT title FROM depts d WHERE d.code = e.dept) FROM emp e WHERE dept = 'hr'";
    let error = refused(&format!("WITH {EMP}, {DEPTS} {sql}")).await;
    assert!(error.to_string().contains("more than one row"), "{error}");
}

#[tokio::test]
async fn rows_that_a_cast_makes_equal_are_one_group() {
    const DAYS: &str = "events(at, title) AS (VALUES (timestamp '2024-03-01 08:00:00', 'a'), \
                        (timestamp '2024-03-01 09:00:00', 'b'), (timestamp '2024-03-02 09:00:00', 'c')), \
                        days(day) AS (VALUES (date '2024-03-01'), (date '2024-03-02'), (date '2024-03-03')), \
                        texts(code, n) AS (VALUES ('1', 5), ('01', 7), ('2', 9)), numbers(id) AS (VALUES (1), (2))";
    for (sql, expected) in [
        (
            "SELECT day, (SELECT title FROM events e WHERE CAST(e.at AS date) = d.day ORDER BY e.at LIMIT 1) FROM days d \
             ORDER BY day",
            "2024-03-01,a 2024-03-02,c 2024-03-03,",
        ),
        (
            "SELECT day, (SELECT count(*) FROM events e WHERE CAST(e.at AS date) = d.day) FROM days d ORDER BY day",
            "2024-03-01,2 2024-03-02,1 2024-03-03,0",
        ),
        (
            "SELECT id, (SELECT sum(n) FROM texts t WHERE t.code = m.id) FROM numbers m ORDER BY id",
            "1,12 2,9",
        ),
        (
            "SELECT id, (SELECT max(n) FROM texts t WHERE CAST(t.code AS int) + 1 = m.id + 1) FROM numbers m ORDER BY id",
            "1,7 2,9",
        ),
    ] {
        assert_eq!(table(&format!(", {DAYS} {sql}")).await, expected, "{sql}");
    }
    let sql =
        "SELECT day, (SELECT title FROM events e WHERE CAST(e.at AS date) = d.day) FROM days d";
    let error = refused(&format!("WITH {DAYS} {sql}")).await;
    assert!(error.to_string().contains("more than one row"), "{error}");
}

#[tokio::test]
async fn value_of_no_rows_is_null() {
    for (sql, expected) in [
        (
            "SELECT (SELECT 1 FROM emp WHERE name = 'Nil') IS NULL",
            "true",
        ),
        ("SELECT (SELECT 1 FROM emp WHERE name = 'Nil')", ""),
        (
            "SELECT coalesce((SELECT coalesce(salary, 0) FROM emp WHERE name = 'Nil'), 7)",
            "7",
        ),
        (
            "SELECT (SELECT count(*) FROM emp WHERE name = 'Nil' HAVING count(*) > 0) IS NULL",
            "true",
        ),
        (
            "SELECT (SELECT count(*) FROM emp WHERE name = 'Nil') IS NULL",
            "false",
        ),
        (
            "SELECT x IS NULL FROM (SELECT (SELECT 1 FROM emp WHERE name = 'Nil') AS x) AS v",
            "true",
        ),
        (
            "SELECT name FROM emp e WHERE (SELECT count(*) FROM emp f WHERE f.dept = e.dept HAVING count(*) > 1) IS NULL \
             ORDER BY name",
            "Ann Zed",
        ),
        (
            "SELECT name FROM emp e WHERE (SELECT coalesce(f.salary, 0) FROM emp f WHERE f.dept = e.dept \
             ORDER BY f.name LIMIT 1) IS NULL",
            "Zed",
        ),
    ] {
        assert_eq!(table(&format!(", {EMP} {sql}")).await, expected, "{sql}");
    }
}

#[tokio::test]
async fn exists_asks_for_no_columns() {
    for (condition, expected) in [
        ("EXISTS (SELECT a.id FROM p b WHERE b.k = a.k + 10)", "1 2"),
        (
            "EXISTS (SELECT a.k + b.k, b.id AS n FROM p b WHERE b.k = a.k + 10 ORDER BY n LIMIT 1)",
            "1 2",
        ),
        ("NOT EXISTS (SELECT a.*, b.k FROM p b WHERE b.k > a.k)", "3"),
        ("EXISTS (SELECT count(*) FROM p b WHERE b.k > 99)", "1 2 3"),
        ("EXISTS (SELECT b.id FROM p b LIMIT 0)", ""),
    ] {
        let sql = format!("SELECT id FROM p a WHERE {condition} ORDER BY id");
        assert_eq!(table(&sql).await, expected, "{condition}");
    }
}
