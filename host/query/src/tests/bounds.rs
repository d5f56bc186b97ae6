//! What a statement may not do: take the one thread for itself, or give a number that is wrong.

use super::*;

#[tokio::test]
async fn no_function_exceeds_the_deadline_of_its_statement() {
    let connector = connector(&scripted(20_000, Pushdown::No), &settings());
    // Each match reads all of the rest, in each of the rows.
    let sql = r#"SELECT sum(length(regexp_replace(repeat(name, 30000), '.*[^ -~]|[a-z]', '', 'g'))) FROM "main"."t" WHERE id < 500"#;
    let mut connection = connector.connect(&target(), &call()).await.unwrap();
    let short = Statement {
        timeout: Duration::from_secs(3),
        ..statement(sql)
    };
    // On a busy machine already while it is planned.
    let error = match connection.query(&short, &call()).await {
        Ok(_) => connection.next(10, &call()).await.unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(error.code(), Code::Timeout);
    drop(connection);
    let free = rows(&connector, r#"SELECT count(*) FROM "main"."t""#);
    let free = tokio::time::timeout(Duration::from_secs(60), free).await;
    free.expect("the thread is free again").unwrap();
}

/// A join that compares every two of 50,000 rows, and finds nothing before the end.
const FRUITLESS: [&str; 6] = [
    "count(*) FROM main.t AS a, main.t AS b WHERE a.name > b.name AND a.name < b.name",
    "count(*) FROM main.t AS a JOIN main.t AS b ON a.id + b.id < 0",
    "count(b.id) FROM main.t AS a LEFT JOIN main.t AS b ON a.id + b.id < 0",
    "count(*) FROM main.t AS a JOIN main.t AS b ON a.id % 2 = b.id % 2 AND a.name || b.name = 'q'",
    "count(*) FROM main.t AS a WHERE EXISTS (SELECT 1 FROM main.t AS b WHERE a.id % 2 = b.id % 2 AND a.name || b.name = 'q')",
    "count(*) FROM main.t AS a, main.t AS b WHERE regexp_like(a.name || b.name, '(n|e)*q')",
];

#[tokio::test]
async fn join_that_finds_nothing_leaves_the_thread_to_others_and_ends_when_cancelled() {
    const ROWS: u64 = 50_000;
    // Longer than any of them takes, however busy the machine is.
    const HOUR: Duration = Duration::from_secs(3600);
    for sql in FRUITLESS {
        let scanner = scripted(ROWS, Pushdown::No);
        let connector = Arc::new(connector(&scanner, &settings()));
        let cancel = CancellationToken::new();
        let fruitless = tokio::spawn({
            let (connector, sql) = (Arc::clone(&connector), format!("SELECT {sql}"));
            let call = Call::new(HOUR, cancel.clone());
            async move {
                let mut connection = connector.connect(&target(), &call).await?;
                let long = Statement {
                    timeout: HOUR,
                    ..statement(&sql)
                };
                connection.query(&long, &call).await?;
                connection.next(10, &call).await
            }
        });
        // One side is read, and the first rows of the other.
        while lock(&scanner.log).given <= ROWS && !fruitless.is_finished() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let other = Target {
            id: String::from("2"),
            ..target()
        };
        let mut connection = connector.connect(&other, &call()).await.unwrap();
        let few = statement("SELECT count(*) FROM main.t WHERE id < 10");
        connection.query(&few, &call()).await.unwrap();
        assert!(connection.next(10, &call()).await.unwrap().is_some());
        assert!(!fruitless.is_finished(), "{sql}");
        cancel.cancel();
        let error = fruitless.await.unwrap().unwrap_err();
        assert_eq!(error.code(), Code::Cancelled, "{sql}: {error}");
        let free = rows(&connector, "SELECT count(*) FROM main.t WHERE id < 10");
        let free = tokio::time::timeout(Duration::from_secs(60), free).await;
        free.expect("the thread is free again").unwrap();
    }
}

#[tokio::test]
async fn row_that_would_take_too_long_is_refused() {
    // One that is computed all the same has the code of its deadline.
    for (sql, code) in [
        (
            "levenshtein(repeat(name, 100000), repeat(name, 100000))",
            Code::SqlInvalid,
        ),
        ("regexp_count(name, 'a')", Code::SqlInvalid),
        (
            "regexp_like(repeat(name, 100000), 'a')",
            Code::ResultTooLarge,
        ),
        ("regexp_like(name, '(a{1000}){1000}')", Code::SqlInvalid),
        ("regexp_like(name, '(')", Code::SqlInvalid),
        (
            "strpos(repeat(name, 1000000), repeat(doc, 1000000))",
            Code::ResultTooLarge,
        ),
        (
            "strpos(repeat(name, 2000), repeat(doc, 200000))",
            Code::ResultTooLarge,
        ),
        (
            "ltrim(repeat(name, 1000), repeat(doc, 200000))",
            Code::ResultTooLarge,
        ),
        ("array_agg(id) OVER (ORDER BY id)", Code::SqlNotSupported),
        ("median(id) OVER (ORDER BY id)", Code::SqlNotSupported),
    ] {
        let error = refused(&format!(r#"SELECT {sql} FROM "main"."t""#)).await;
        assert_eq!(error.code(), code, "{sql}: {error}");
    }
}

#[tokio::test]
async fn patterns_replace_as_in_postgresql() {
    assert_eq!(
        one(r"SELECT regexp_replace('foobarbaz', 'b(..)', 'X\1Y', 'g'), regexp_replace('foobarbaz', 'b(..)', 'X\1Y'),
              regexp_replace('aBa', 'b', '-', 'i'), regexp_replace(NULL, 'a', 'b'), regexp_like('Ab', 'B$', 'i')")
        .await,
        ["fooXarYXazY", "fooXarYbaz", "a-a", "", "true"]
    );
    let sql = r#"SELECT count(DISTINCT regexp_replace(name, '[0-8]', 'x')), sum(length(btrim(name, 'n e0'))) FROM "main"."t""#;
    assert_eq!(one(sql).await, ["1", "4200"]);
}

#[tokio::test]
async fn overflow_is_an_error() {
    for sql in [
        "SELECT 9223372036854775807 + 1",
        "SELECT id + 9223372036854775807 FROM \"main\".\"t\"",
        "SELECT (id - 9223372036854775807) - 9223372036854775807 FROM \"main\".\"t\"",
        "SELECT id * 9223372036854775807 FROM \"main\".\"t\"",
        "SELECT count(*) FROM \"main\".\"t\" WHERE id * 9223372036854775807 > 5",
        "SELECT -(id - 9223372036854775807 - 1) FROM \"main\".\"t\" WHERE id = 0",
        "SELECT sum(id + 9223372036854770000) FROM \"main\".\"t\"",
        "SELECT name, sum(id + 9223372036854770000) FROM \"main\".\"t\" GROUP BY name",
        "SELECT sum(id + 9223372036854770000) OVER (ORDER BY id) FROM \"main\".\"t\"",
        "SELECT sum(id + 9223372036854770000) OVER (ORDER BY id ROWS 3 PRECEDING) FROM \"main\".\"t\"",
        "SELECT sum(DISTINCT id + 9223372036854770000) FROM \"main\".\"t\"",
        "SELECT sum(price + 99999999999999999999999999999999999.00) FROM \"main\".\"t\"",
        "SELECT 99999999999999999999999999999999999999 + 1",
        "SELECT 99999999999999999999999999999999999999 * 10",
        "SELECT from_unixtime(9223372036854775807)",
        "SELECT to_timestamp_seconds(99999999999999)",
        "SELECT to_timestamp_seconds(id + 99999999999999) FROM \"main\".\"t\"",
    ] {
        let error = refused(sql).await;
        assert_eq!(error.code(), Code::SqlInvalid, "{sql}: {error}");
    }
}

#[tokio::test]
async fn result_without_overflow_is_unchanged() {
    for (sql, expected) in [
        (
            r#"sum(id), avg(id), sum(DISTINCT id), sum(price), -min(id), max(id) * 2 + 1 - 3"#,
            vec!["499500", "499.5", "499500", "50000.00", "0", "1996"],
        ),
        // What goes beyond on the way comes back.
        (
            r#"sum(CASE WHEN id < 500 THEN 9223372036854775807 ELSE -9223372036854775807 END)"#,
            vec!["0"],
        ),
    ] {
        let sql = format!(r#"SELECT {sql} FROM "main"."t""#);
        assert_eq!(one(&sql).await, expected, "{sql}");
    }
    assert_eq!(
        one(r#"SELECT max(s) FROM (SELECT sum(id) OVER (ORDER BY id ROWS 1 PRECEDING) AS s FROM "main"."t") AS x"#).await,
        ["1997"]
    );
    assert_eq!(
        one("SELECT 1.5 * 2 + 1, NULL + 1, -(-3), date '2024-01-31' + interval '1 day', date '2024-01-03' - date '2024-01-01'").await,
        ["4.0", "", "3", "2024-02-01", "2"]
    );
    // Columns are named by their text.
    let connector = connector(&scripted(10, Pushdown::No), &settings());
    let mut connection = connector.connect(&target(), &call()).await.unwrap();
    let sql = r#"SELECT id + 1, sum(id) FROM "main"."t" GROUP BY id + 1"#;
    let columns = connection.query(&statement(sql), &call()).await.unwrap();
    assert_eq!(columns[0].name, "id + 1");
    assert_eq!(columns[1].name, "sum(id)");
}

#[tokio::test]
async fn times_go_beyond_2262() {
    assert_eq!(
        one("SELECT timestamp '3000-01-01 00:00:00', cast('0001-01-01' AS timestamp), timestamp '3000-01-01' > timestamp '2000-01-01'").await,
        ["3000-01-01T00:00:00", "0001-01-01T00:00:00", "true"]
    );
}

#[tokio::test]
async fn message_names_columns_as_in_the_statement() {
    for (sql, message) in [
        (
            r#"SELECT resource.x FROM "main"."t" AS resource"#,
            "resource.x",
        ),
        (r#"SELECT source.x FROM "main"."t" AS source"#, "source.x"),
        ("SELECT * FROM nothing", "table 'nothing' not found"),
    ] {
        let error = refused(sql).await;
        assert!(error.message().contains(message), "{error}");
        assert!(!error.message().contains(['\0', '\\']), "{error}");
    }
}

/// As the guard writes a long chain.
fn balanced(terms: &[String], op: &str) -> String {
    match terms {
        [one] => one.clone(),
        _ => {
            let (first, second) = terms.split_at(terms.len().div_ceil(2));
            format!("{} {op} ({})", balanced(first, op), balanced(second, op))
        }
    }
}

/// A planner whose work doubles with each condition does not end before the deadline.
#[tokio::test]
async fn long_chain_of_conditions_is_planned_in_time() {
    for (op, expected) in [("AND", "1000"), ("OR", "0")] {
        let terms: Vec<String> = (0..150)
            .map(|nth| match op {
                "AND" => format!("(price > -{nth} OR name = 'a{nth}')"),
                _ => format!("(price < -{nth} AND name = 'a{nth}')"),
            })
            .collect();
        let chain = balanced(&terms, op);
        let sql = format!(r#"SELECT count(*) FROM "main"."t" WHERE {chain}"#);
        assert_eq!(one(&sql).await, [expected]);
    }
}
