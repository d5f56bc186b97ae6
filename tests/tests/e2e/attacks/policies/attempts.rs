//! Statements that try to read around the policy on `staff`, each with what the holder of the key must get. The answer
//! would be another one without the filter, with the hidden column, or without the mask.

use mindhost_tests::{Reply, Value, json};

/// A statement, and what comes of it.
pub type Attempt = (&'static str, Outcome);

/// What a statement must come to.
#[derive(Clone, Copy, Debug)]
pub enum Outcome {
    /// An error with one of these codes.
    Refused(&'static [&'static str]),
    /// These rows as JSON, in any order, and no others.
    Rows(&'static str),
    /// One of both: it is up to the engine.
    Either(&'static [&'static str], &'static str),
}

impl Outcome {
    pub fn check(self, sql: &str, reply: &Reply) {
        let (codes, rows): (&[&str], Option<&str>) = match self {
            Self::Refused(codes) => (codes, None),
            Self::Rows(rows) => (&[], Some(rows)),
            Self::Either(codes, rows) => (codes, Some(rows)),
        };
        let answer = reply.json();
        if reply.status != 200 {
            let code = answer["error"]["code"].as_str().unwrap_or_default();
            assert!(codes.contains(&code), "{sql}: {answer}");
            return;
        }
        let Some(rows) = rows else {
            panic!("{sql} is not refused: {answer}");
        };
        let expected = comparable(&serde_json::from_str(rows).unwrap());
        let result = &answer["output"][0];
        assert_eq!(comparable(&result["data"]), expected, "{sql}");
        assert_eq!(result["total"], expected.len(), "{sql}: {answer}");
    }
}

/// Rows in one order, with numbers as texts: engines and files differ in both.
fn comparable(rows: &Value) -> Vec<Value> {
    let mut rows: Vec<Value> = rows.as_array().unwrap().iter().map(plain).collect();
    rows.sort_by_key(ToString::to_string);
    rows
}

fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.to_string()),
        Value::Array(items) => items.iter().map(plain).collect(),
        other => other.clone(),
    }
}

/// The engine finds no such column or name.
const HIDDEN: Outcome = Outcome::Refused(&["sql_invalid"]);
/// The guard or its parser refuses the form.
const UNSUPPORTED: Outcome = Outcome::Refused(&["sql_not_supported", "sql_syntax"]);
/// The Mind has no such table.
const NO_SUCH_TABLE: Outcome = Outcome::Refused(&["sql_table_not_allowed"]);
const NOTHING: Outcome = Outcome::Rows("[]");
/// All that the caller sees of `staff`.
const ALL: Outcome = Outcome::Rows(ALL_ROWS);
const ALL_ROWS: &str = r#"[[1, "acme", "11", "****4444"], [2, "acme", "22", "****8888"]]"#;
/// The same as whole rows of PostgreSQL.
const RECORDS: &str = r#"[["(1,acme,11,****4444)"], ["(2,acme,22,****8888)"]]"#;

/// Ways around that every dialect has.
pub const EVERYWHERE: [Attempt; 34] = [
    ("SELECT * FROM staff", ALL),
    ("SELECT s.* FROM staff AS s", ALL),
    ("SELECT count(*) FROM staff HAVING count(*) > 2", NOTHING),
    ("SELECT salary FROM staff", HIDDEN),
    ("SELECT s.salary FROM staff AS s", HIDDEN),
    ("SELECT staff.salary FROM staff", HIDDEN),
    ("SELECT max(salary) FROM staff", HIDDEN),
    ("SELECT id FROM staff ORDER BY salary", HIDDEN),
    ("SELECT id FROM staff GROUP BY id, salary", HIDDEN),
    ("SELECT id FROM staff WHERE salary > 0", HIDDEN),
    (
        "SELECT count(*) FROM staff WHERE salary BETWEEN 70000 AND 80000",
        HIDDEN,
    ),
    ("SELECT id FROM staff WHERE tenant <> 'acme'", NOTHING),
    (
        "SELECT id, tenant FROM staff WHERE tenant = 'acme' OR 1 = 1",
        Outcome::Rows(r#"[[1, "acme"], [2, "acme"]]"#),
    ),
    (
        "SELECT t.name AS team, s.name FROM teams AS t LEFT JOIN staff AS s ON s.id = t.boss",
        Outcome::Rows(r#"[["red", "11"], ["blue", null], ["green", "22"]]"#),
    ),
    (
        "SELECT t.name AS team, s.name FROM teams AS t JOIN staff AS s ON s.id = t.boss OR 1 = 1 WHERE s.tenant <> 'acme'",
        NOTHING,
    ),
    (
        "SELECT a.name FROM staff AS a JOIN staff AS b ON a.id <> b.id WHERE a.id > 2",
        NOTHING,
    ),
    // DataFusion may not plan the subquery.
    (
        "SELECT t.id FROM teams AS t WHERE EXISTS (SELECT 1 FROM staff AS s WHERE s.id = t.boss AND s.tenant <> 'acme')",
        Outcome::Either(&["sql_not_supported"], "[]"),
    ),
    (
        "SELECT t.id FROM teams AS t WHERE t.boss IN (SELECT id FROM staff WHERE id > 2)",
        NOTHING,
    ),
    (
        "SELECT (SELECT max(name) FROM staff) AS m",
        Outcome::Rows(r#"[["22"]]"#),
    ),
    (
        "SELECT (SELECT count(*) FROM staff WHERE id > 2) AS n",
        Outcome::Rows("[[0]]"),
    ),
    ("WITH x AS (SELECT * FROM staff) SELECT * FROM x", ALL),
    (
        "WITH x AS (SELECT salary FROM staff) SELECT * FROM x",
        HIDDEN,
    ),
    // In SQLite the name means the CTE itself.
    (
        "WITH staff AS (SELECT * FROM staff) SELECT * FROM staff",
        Outcome::Either(&["sql_invalid"], ALL_ROWS),
    ),
    (
        "WITH x AS (SELECT 1 AS salary) SELECT s.salary FROM staff AS s, x AS s2",
        HIDDEN,
    ),
    (
        "SELECT id FROM (SELECT * FROM staff) AS salary",
        Outcome::Rows("[[1], [2]]"),
    ),
    ("SELECT x.salary FROM (SELECT * FROM staff) AS x", HIDDEN),
    (
        "SELECT name FROM staff UNION SELECT card FROM staff",
        Outcome::Rows(r#"[["11"], ["22"], ["****4444"], ["****8888"]]"#),
    ),
    (
        "SELECT name FROM staff EXCEPT SELECT name FROM staff WHERE tenant = 'acme'",
        NOTHING,
    ),
    (
        "SELECT id, card FROM staff WHERE card LIKE '%0000%'",
        NOTHING,
    ),
    (
        "SELECT CASE WHEN tenant = 'acme' THEN 'mine' ELSE name END AS x FROM staff",
        Outcome::Rows(r#"[["mine"], ["mine"]]"#),
    ),
    ("SELECT id FROM staff WHERE name LIKE '%wick%'", NOTHING),
    (
        "SELECT id, row_number() OVER (ORDER BY salary) AS r FROM staff",
        HIDDEN,
    ),
    (
        "SELECT '{{caller.tenant}}' AS t, id FROM staff",
        Outcome::Rows(r#"[["{{caller.tenant}}", 1], ["{{caller.tenant}}", 2]]"#),
    ),
    // PostgreSQL compares no text with a number.
    (
        "SELECT id AS tenant, name FROM staff WHERE tenant = 3",
        Outcome::Either(&["sql_invalid"], "[]"),
    ),
];

/// Whole rows, system columns, and forms of its own.
pub const ON_POSTGRES: [Attempt; 26] = [
    ("SELECT staff FROM staff", Outcome::Rows(RECORDS)),
    (
        "SELECT row_to_json(staff) FROM staff",
        Outcome::Rows(
            r#"[[{"id": 1, "tenant": "acme", "name": "11", "card": "****4444"}],
            [{"id": 2, "tenant": "acme", "name": "22", "card": "****8888"}]]"#,
        ),
    ),
    (
        "SELECT to_jsonb(s) -> 'salary' FROM staff AS s",
        Outcome::Rows("[[null], [null]]"),
    ),
    (
        "SELECT (s).salary FROM staff AS s",
        Outcome::Refused(&["sql_function_not_allowed"]),
    ),
    ("SELECT (staff.*)::text FROM staff", UNSUPPORTED),
    ("SELECT s::text FROM staff AS s", Outcome::Rows(RECORDS)),
    (
        "SELECT json_agg(s) FROM staff AS s",
        Outcome::Rows(
            r#"[[[{"id": 1, "tenant": "acme", "name": "11", "card": "****4444"},
            {"id": 2, "tenant": "acme", "name": "22", "card": "****8888"}]]]"#,
        ),
    ),
    ("SELECT ctid, id FROM staff", HIDDEN),
    ("SELECT xmin FROM staff", HIDDEN),
    ("SELECT tableoid::int FROM staff", HIDDEN),
    ("SELECT staff.ctid FROM public.staff", HIDDEN),
    ("SELECT public.staff.salary FROM public.staff", HIDDEN),
    ("SELECT crew.staff.salary FROM crew.staff", HIDDEN),
    (
        "SELECT id FROM staff TABLESAMPLE BERNOULLI (100)",
        UNSUPPORTED,
    ),
    ("TABLE staff", UNSUPPORTED),
    ("SELECT * FROM staff AS s(a, b, c, d, e)", HIDDEN),
    ("SELECT * FROM staff AS s(salary)", ALL),
    ("SELECT * FROM ONLY staff", UNSUPPORTED),
    (
        "SELECT * FROM (SELECT boss AS id FROM teams) AS t NATURAL JOIN staff",
        ALL,
    ),
    (
        "SELECT * FROM teams AS t JOIN staff AS s USING (id)",
        Outcome::Rows(
            r#"[[1, 1, "red", "acme", "11", "****4444"], [2, 3, "blue", "acme", "22", "****8888"]]"#,
        ),
    ),
    (
        "SELECT * FROM teams AS t JOIN staff AS s USING (salary)",
        HIDDEN,
    ),
    (
        "SELECT t.id, l.name FROM teams AS t CROSS JOIN LATERAL (SELECT * FROM staff AS s WHERE s.id = t.boss) AS l",
        Outcome::Rows(r#"[[1, "11"], [3, "22"]]"#),
    ),
    ("SELECT policy.salary FROM staff", HIDDEN),
    ("SELECT \"policy\".\"tenant\" FROM staff", HIDDEN),
    ("SELECT n_distinct FROM pg_stats", NO_SUCH_TABLE),
    (
        "WITH RECURSIVE x AS (SELECT id, name FROM staff UNION ALL SELECT s.id, s.name FROM staff AS s, x WHERE s.id = x.id + 1) SELECT * FROM x",
        Outcome::Rows(r#"[[1, "11"], [2, "22"], [2, "22"]]"#),
    ),
];

/// SQLite may show a `rowid` of a subquery, which is NULL.
pub const ON_SQLITE: [Attempt; 8] = [
    (
        "SELECT rowid, id FROM staff",
        Outcome::Either(&["sql_invalid"], "[[null, 1], [null, 2]]"),
    ),
    (
        "SELECT _rowid_ FROM staff WHERE _rowid_ > 2",
        Outcome::Either(&["sql_invalid"], "[]"),
    ),
    (
        "SELECT oid FROM staff",
        Outcome::Either(&["sql_invalid"], "[[null], [null]]"),
    ),
    ("SELECT \"salary\" FROM staff WHERE \"salary\" > 1", HIDDEN),
    ("SELECT main.staff.salary FROM main.staff", HIDDEN),
    ("SELECT * FROM staff INDEXED BY x", UNSUPPORTED),
    ("SELECT * FROM sqlite_master", NO_SUCH_TABLE),
    (
        "SELECT * FROM staff NATURAL JOIN (SELECT boss AS id FROM teams) AS t",
        ALL,
    ),
];

/// Its names of rows, parts and catalogs.
pub const ON_MARIADB: [Attempt; 5] = [
    ("SELECT _rowid FROM staff", HIDDEN),
    ("SELECT crew.staff.salary FROM crew.staff", HIDDEN),
    (
        "SELECT * FROM staff NATURAL JOIN (SELECT boss AS id FROM teams) AS t",
        ALL,
    ),
    ("SELECT * FROM staff PARTITION (p0)", UNSUPPORTED),
    ("SELECT * FROM information_schema.columns", NO_SUCH_TABLE),
];

/// Of MariaDB, whatever the case of names is to its server.
pub const IN_ANY_CASE: [Attempt; 14] = [
    ("SELECT * FROM STAFF", ALL),
    ("SELECT * FROM `Staff`", ALL),
    ("SELECT Staff.* FROM Crew.Staff", ALL),
    (
        "SELECT Staff.* FROM CREW.Staff WHERE crew.Staff.id < 9",
        ALL,
    ),
    (
        "SELECT s.* FROM STAFF AS s JOIN Staff AS t ON s.id = t.id",
        ALL,
    ),
    ("SELECT Salary FROM STAFF", HIDDEN),
    ("SELECT Staff.salary FROM Staff", HIDDEN),
    ("SELECT Crew.Staff.salary FROM Crew.Staff", HIDDEN),
    (
        "WITH STAFF AS (SELECT * FROM Staff) SELECT * FROM STAFF",
        ALL,
    ),
    (
        "WITH STAFF AS (SELECT 9 AS id) SELECT s.* FROM crew.Staff AS s",
        ALL,
    ),
    (
        "WITH STAFF AS (SELECT 9 AS id) SELECT * FROM Staff",
        UNSUPPORTED,
    ),
    (
        "WITH t AS (SELECT 1 AS id), Staff AS (SELECT id FROM t) SELECT id FROM staff",
        UNSUPPORTED,
    ),
    (
        "WITH RECURSIVE Staff AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM STAFF WHERE id < 9) SELECT id FROM Staff",
        UNSUPPORTED,
    ),
    (
        "SELECT t.id FROM Teams AS t JOIN STAFF ON STAFF.id = t.boss",
        Outcome::Rows("[[1], [3]]"),
    ),
];

/// A WITH in place of the table would show which rows the filter lets through, and which hidden columns it reads.
pub const ON_FILES: [Attempt; 2] = [
    (
        "WITH \"files.staff\" AS (SELECT 9 AS id, 'acme' AS tenant, 'n' AS name, 1 AS salary, 'c' AS card) SELECT id FROM staff",
        UNSUPPORTED,
    ),
    (
        "SELECT id FROM (WITH \"files.teams\" AS (SELECT 9 AS id) SELECT id FROM teams) AS x",
        UNSUPPORTED,
    ),
];

/// Over `crew` and the datasource `lite`, whose table `ids` has 1 to 4.
pub const OVER_SEVERAL: [Attempt; 8] = [
    (
        "WITH \"crew.public.staff\" AS (SELECT 9 AS id) SELECT s.id FROM crew.staff AS s JOIN lite.ids AS i ON TRUE",
        UNSUPPORTED,
    ),
    (
        "SELECT s.* FROM crew.staff AS s JOIN lite.ids AS i ON i.id = s.id",
        ALL,
    ),
    (
        "SELECT i.id, s.name FROM lite.ids AS i LEFT JOIN crew.staff AS s ON i.id = s.id WHERE s.id > 0",
        Outcome::Rows(r#"[[1, "11"], [2, "22"]]"#),
    ),
    (
        "SELECT s.salary FROM crew.staff AS s JOIN lite.ids AS i ON i.id = s.id",
        HIDDEN,
    ),
    (
        "SELECT max(s.salary) AS m FROM crew.staff AS s JOIN lite.ids AS i ON i.id = s.id",
        HIDDEN,
    ),
    (
        "SELECT s.id FROM crew.staff AS s JOIN lite.ids AS i ON i.id = s.id WHERE s.tenant <> 'acme'",
        NOTHING,
    ),
    (
        "SELECT i.id FROM lite.ids AS i WHERE i.id IN (SELECT id FROM crew.staff WHERE id > 2)",
        NOTHING,
    ),
    (
        "SELECT count(*) AS n FROM crew.staff AS s JOIN lite.ids AS i ON i.id <= s.id HAVING count(*) > 3",
        NOTHING,
    ),
];
