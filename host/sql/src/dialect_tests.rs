//! What one dialect means otherwise than others: operators that they read themselves, and where a limit may stand.

use super::{
    GuardedStatement, PageStatement, guard,
    tests::{shop, table},
};
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::Dialect;

const ENGINES: [Dialect; 7] = [
    Dialect::Sqlite,
    Dialect::Postgresql,
    Dialect::Mysql,
    Dialect::Mssql,
    Dialect::Clickhouse,
    Dialect::Trino,
    Dialect::Generic,
];

fn guarded(sql: &str, dialect: Dialect) -> Result<GuardedStatement> {
    guard(sql, &shop(dialect))
}

/// The text for the engine, which must pass again as it is.
fn text(sql: &str, dialect: Dialect) -> String {
    let read = |sql: &str| {
        let guarded = guarded(sql, dialect);
        let guarded = guarded.unwrap_or_else(|error| panic!("{dialect:?}: {sql}: {error}"));
        guarded.text().to_owned()
    };
    let text = read(sql);
    assert_eq!(read(&text), text);
    text
}

fn refused(sql: &str, dialect: Dialect) -> Error {
    guarded(sql, dialect).unwrap_err()
}

/// The condition as the engine gets it.
fn condition(condition: &str, dialect: Dialect) -> String {
    let text = text(&format!("SELECT id FROM orders WHERE {condition}"), dialect);
    text.split_once(" WHERE ").unwrap().1.to_owned()
}

#[test]
fn pattern_may_be_null() {
    for kept in [
        "'' RLIKE NULL",
        "status NOT REGEXP NULL",
        "status RLIKE 'a'",
    ] {
        assert_eq!(condition(kept, Dialect::Mysql), kept);
    }
    let sent = text("SELECT '' RLIKE NULL AS c1", Dialect::Mysql);
    assert_eq!(sent, "SELECT '' RLIKE NULL AS c1");
}

#[test]
fn list_that_begins_with_a_subquery_is_sent_as_it_is() {
    for dialect in ENGINES {
        for kept in [
            "id IN ((SELECT 1), 2)",
            "id NOT IN ((SELECT 1), ((SELECT 4)), 2, (SELECT 3))",
            "id + 1 IN ((SELECT 1) + 1) AND id > 0",
            "1 = 2 IN ((SELECT 1), 0)",
            "NOT id IN ((SELECT 1), 2)",
            "id IN ((SELECT 1))",
            "id IN (((SELECT 1)))",
        ] {
            assert_eq!(condition(kept, dialect), kept, "{dialect:?}");
        }
    }
    let random = "random() IN ((SELECT 1), 2)";
    assert_eq!(condition(random, Dialect::Sqlite), random);
}

#[test]
fn two_signs_do_not_become_a_comment() {
    for dialect in ENGINES.into_iter().chain([Dialect::Datafusion]) {
        let kept = condition("id < - - CAST('1' AS DECIMAL(9, 2))", dialect);
        assert_eq!(kept, "id < -(-CAST('1' AS DECIMAL(9,2)))", "{dialect:?}");
        let kept = condition("id < - + - CASE WHEN id > 1 THEN 2 ELSE 3 END", dialect);
        let expected = "id < -(+(-CASE WHEN id > 1 THEN 2 ELSE 3 END))";
        assert_eq!(kept, expected, "{dialect:?}");
    }
    for dialect in [Dialect::Postgresql, Dialect::Datafusion] {
        let kept = condition("id < - - id::int", dialect);
        assert_eq!(kept, "id < -(-id::INT)", "{dialect:?}");
    }
}

/// With a copy of what stands before it for each member, this would take all memory.
#[test]
fn chain_of_lists_that_begin_with_a_subquery_does_not_grow() {
    for dialect in ENGINES {
        let chain = format!("1{}", " IN ((SELECT 1), 2)".repeat(40));
        assert_eq!(condition(&chain, dialect), chain, "{dialect:?}");
    }
    let sum = vec!["1"; 200].join(" + ");
    let list = vec!["(SELECT 1)"; 400].join(", ");
    let long = format!("{sum} IN ({list})");
    assert_eq!(condition(&long, Dialect::Sqlite), long);
}

#[test]
fn host_repeats_only_names_and_short_literals_before_a_list() {
    let host = |sql: &str| condition(sql, Dialect::Datafusion);
    assert_eq!(
        host("id IN ((SELECT 1), 2)"),
        "(id = (SELECT 1) OR id IN (2))"
    );
    assert_eq!(
        host("id NOT IN ((SELECT 1), (SELECT 2))"),
        "(id <> (SELECT 1) AND id <> (SELECT 2))"
    );
    assert_eq!(
        host("id + 1 IN (2, (SELECT 1))"),
        "id + 1 IN (2, (SELECT 1))"
    );
    let text = format!("'{}'", "x".repeat(300));
    for before in [
        "id + 1",
        "random()",
        "1 = 2",
        "1 IN ((SELECT 1), 2)",
        text.as_str(),
    ] {
        let sql = format!("SELECT id FROM orders WHERE {before} IN ((SELECT 1), 2)");
        let error = refused(&sql, Dialect::Datafusion);
        let says = "begin it with a value, IN (2, (SELECT 1))";
        assert!(error.message().contains(says), "{before}: {error}");
    }
}

#[test]
fn isnull_and_notnull_are_operators_of_postgresql_and_of_the_host() {
    for dialect in [Dialect::Postgresql, Dialect::Datafusion] {
        for (written, meant) in [
            ("id isnull", "id IS NULL"),
            ("id NOTNULL", "id IS NOT NULL"),
            ("id = 1 isnull", "id = 1 IS NULL"),
            (
                "id + 1 notnull and id ISNULL",
                "id + 1 IS NOT NULL AND id IS NULL",
            ),
            ("not id isnull", "NOT id IS NULL"),
        ] {
            assert_eq!(condition(written, dialect), condition(meant, dialect));
            let column = |written: &str| format!("SELECT {written} AS x FROM orders");
            assert_eq!(
                text(&column(written), dialect),
                text(&column(meant), dialect)
            );
        }
        let test = text("SELECT id ISNULL FROM orders", dialect);
        assert!(test.starts_with("SELECT id IS NULL"), "{dialect:?}: {test}");
        let alias = text(r#"SELECT id AS isnull, id "notnull" FROM orders"#, dialect);
        let expected = r#"SELECT id AS isnull, id AS "notnull" FROM"#;
        assert!(alias.starts_with(expected), "{dialect:?}: {alias}");
    }
}

#[test]
fn operators_that_copy_what_stands_before_them_are_limited() {
    let list = vec!["1"; 20_000].join(", ");
    let chain =
        |start: &str, next: &str, times: usize| format!("SELECT {start}{}", next.repeat(times));
    let start = format!("1 IN ({list})");
    for (dialect, next) in [
        (Dialect::Sqlite, " IS 1"),
        (Dialect::Sqlite, " ISNULL"),
        (Dialect::Postgresql, " NOTNULL"),
        (Dialect::Mssql, " IN ((SELECT 1), 2)"),
    ] {
        let error = refused(&chain(&start, next, 1_000), dialect);
        let says = "more than 100 operators such as IS";
        assert!(error.message().contains(says), "{next}: {error}");
        assert!(
            guarded(&chain("lower('a')", next, 100), dialect).is_ok(),
            "{next}"
        );
        let error = refused(&chain("lower('a')", next, 101), dialect);
        assert!(error.message().contains(says), "{next}: {error}");
    }
    // A subquery is tried as another thing after the failure.
    let inner = format!("SELECT 1 IN ({})", chain("1", " IS 1", 200));
    let error = refused(&inner, Dialect::Sqlite);
    assert!(
        error.message().contains("more than 100 operators"),
        "{error}"
    );
    // What is copied are names.
    let many = vec!["id IS 1"; 500].join(" OR ");
    let many = format!("SELECT id FROM orders WHERE {many}");
    assert!(guarded(&many, Dialect::Sqlite).is_ok());
}

#[test]
fn last_select_of_a_union_is_not_limited_in_clickhouse() {
    for sql in [
        "SELECT id FROM orders UNION ALL SELECT id FROM customers ORDER BY id",
        "SELECT id FROM orders EXCEPT SELECT id FROM customers",
        "(SELECT id FROM orders)",
    ] {
        let guarded = guarded(sql, Dialect::Clickhouse).unwrap();
        assert!(
            matches!(guarded.page(10, 0), PageStatement::Skip { .. }),
            "{sql}"
        );
        assert!(!guarded.is_ordered(), "{sql}");
    }
}

#[test]
fn words_of_the_grammar_with_arguments_are_called_without_quotes_alone() {
    for (dialect, name, arguments) in [
        (Dialect::Clickhouse, "date_add", "(DAY, 1, today())"),
        (Dialect::Clickhouse, "DATE_ADD", "(today(), INTERVAL 1 DAY)"),
        (Dialect::Clickhouse, "dateAdd", "(month, 1, now())"),
        (Dialect::Clickhouse, "dateSub", "(week, 1, now())"),
        (Dialect::Clickhouse, "timestampAdd", "(hour, 1, now())"),
        (Dialect::Clickhouse, "TIMESTAMP_SUB", "(hour, 1, now())"),
        (Dialect::Clickhouse, "GROUPING", "(1)"),
        (Dialect::Trino, "json_exists", "('[1]', 'lax $[0]')"),
        (Dialect::Trino, "json_query", "('[1]', 'lax $')"),
        (Dialect::Trino, "JSON_VALUE", "('[1]', 'lax $[0]')"),
        (
            Dialect::Trino,
            "json_value",
            "('[1]', 'lax $[0]' RETURNING BIGINT)",
        ),
        (Dialect::Trino, "json_array", "(1, 'a')"),
    ] {
        let sql = format!("SELECT {name}{arguments}");
        assert_eq!(text(&sql, dialect), sql);
        let error = refused(&format!("SELECT \"{name}\"{arguments}"), dialect);
        assert_eq!(error.code(), Code::SqlFunctionNotAllowed, "{name}");
    }
    for sql in [
        "SELECT dateAdd(day, sleep(1), now())",
        "SELECT grouping(file('x'))",
    ] {
        let error = refused(sql, Dialect::Clickhouse);
        assert_eq!(error.code(), Code::SqlFunctionNotAllowed, "{sql}");
    }
    let error = refused("SELECT json_value(fail('x'), 'lax $')", Dialect::Trino);
    assert_eq!(error.code(), Code::SqlFunctionNotAllowed);
}

#[test]
fn functions_that_compute_of_their_arguments_alone_pass_in_clickhouse() {
    for call in [
        "timestampDiff(day, today(), now())",
        "TIMESTAMPDIFF(day, today(), now())",
        "`timestampDiff`(day, today(), now())",
        "emptyArrayToSingle([1])",
    ] {
        let sql = format!("SELECT {call}");
        assert_eq!(text(&sql, Dialect::Clickhouse), sql);
    }
}

#[test]
fn name_of_a_with_has_one_case_in_mysql() {
    let sql = "WITH Orders AS (SELECT 9 AS id) SELECT id FROM orders";
    let error = refused(sql, Dialect::Mysql);
    assert_eq!(error.code(), Code::SqlNotSupported, "{error}");
    assert!(
        error.message().contains("`orders` is `Orders` in WITH"),
        "{error}"
    );
    let text = guarded(
        &sql.replace("FROM orders", "FROM shop.orders"),
        Dialect::Mysql,
    )
    .unwrap();
    assert!(
        text.text().ends_with("FROM `shop`.`orders`"),
        "{}",
        text.text()
    );
}

#[test]
fn innermost_name_of_a_with_counts_in_any_case_in_mysql() {
    let outer = "WITH a AS (SELECT 1 AS id) SELECT id FROM (WITH A AS (SELECT 2 AS id) SELECT id FROM {}) AS x";
    let error = refused(&outer.replace("{}", "a"), Dialect::Mysql);
    assert!(error.message().contains("`a` is `A` in WITH"), "{error}");
    let sql = outer.replace("{}", "A");
    assert_eq!(text(&sql, Dialect::Mysql), sql);
}

#[test]
fn table_of_mysql_is_found_in_any_case() {
    for (sql, sent) in [
        (
            "SELECT Orders.id FROM Orders",
            "SELECT Orders.id FROM `shop`.`orders` AS `Orders`",
        ),
        (
            "SELECT `ORDERS`.* FROM SHOP.`ORDERS`",
            "SELECT `ORDERS`.* FROM `shop`.`orders` AS `ORDERS`",
        ),
        (
            "SELECT O.id FROM Shop.Orders O",
            "SELECT O.id FROM `shop`.`orders` O",
        ),
        (
            "WITH Orders AS (SELECT id FROM Orders) SELECT id FROM Orders",
            "WITH Orders AS (SELECT id FROM `shop`.`orders` AS `Orders`) SELECT id FROM Orders",
        ),
    ] {
        assert_eq!(text(sql, Dialect::Mysql), sent);
    }
    let mut scope = shop(Dialect::Mysql);
    scope.datasources[0].name = "db".to_owned();
    let guarded = guard("SELECT db.Orders.id FROM db.Orders", &scope).unwrap();
    assert_eq!(
        guarded.text(),
        "SELECT `shop`.Orders.id FROM `shop`.`orders` AS `Orders`"
    );
    // A server that keeps the case apart may have both.
    scope.datasources[0].tables.push(table("shop", "Orders"));
    let text = |sql| guard(sql, &scope).map(|guarded| guarded.text().to_owned());
    assert_eq!(
        text("SELECT id FROM Orders").unwrap(),
        "SELECT id FROM `shop`.`Orders`"
    );
    assert_eq!(
        text("SELECT id FROM orders").unwrap(),
        "SELECT id FROM `shop`.`orders`"
    );
    let error = text("SELECT id FROM ORDERS").unwrap_err();
    assert_eq!(error.code(), Code::SqlTableAmbiguous, "{error}");
    let error = refused("SELECT * FROM Salaries", Dialect::Mysql);
    assert_eq!(error.code(), Code::SqlTableNotAllowed, "{error}");
}

#[test]
fn name_of_a_with_takes_the_place_of_no_table_with_its_schema() {
    for name in ["files.orders", "shop.files.orders", "a.b"] {
        let sql = format!("WITH \"{name}\" AS (SELECT 1 AS id) SELECT id FROM orders");
        for dialect in [Dialect::Datafusion, Dialect::Clickhouse] {
            let error = refused(&sql, dialect);
            assert_eq!(error.code(), Code::SqlNotSupported, "{name}");
        }
        // The engines have the name of a table with its schema for that table alone.
        assert!(guarded(&sql, Dialect::Postgresql).is_ok(), "{name}");
    }
    let sql = "WITH \"open orders\" AS (SELECT 1 AS id) SELECT id FROM \"open orders\"";
    assert!(guarded(sql, Dialect::Datafusion).is_ok());
}

#[test]
fn name_of_a_recursive_with_begins_as_no_table() {
    for sql in [
        "WITH RECURSIVE salaries AS (SELECT * FROM salaries) SELECT * FROM salaries",
        "WITH RECURSIVE salaries AS (SELECT id FROM salaries UNION ALL SELECT 1) SELECT id FROM salaries",
        "WITH RECURSIVE salaries AS (SELECT * FROM (SELECT 1 AS id UNION ALL SELECT id FROM salaries) AS t) \
         SELECT id FROM salaries",
        "WITH RECURSIVE salaries AS (WITH x AS (SELECT id FROM salaries) SELECT id FROM x UNION ALL SELECT 1) \
         SELECT id FROM salaries",
        "WITH RECURSIVE salaries AS ((SELECT 1 AS id UNION ALL SELECT id FROM salaries) UNION ALL SELECT 1) \
         SELECT id FROM salaries",
        // The UNION makes one query of all that stands before it, with which the recursion begins.
        "WITH RECURSIVE salaries AS (SELECT 1 AS id UNION ALL SELECT id FROM salaries UNION DISTINCT SELECT 2 \
         UNION ALL SELECT 3) SELECT id FROM salaries",
        "WITH RECURSIVE salaries AS (SELECT 1 AS id EXCEPT SELECT id FROM salaries) SELECT id FROM salaries",
    ] {
        for dialect in [Dialect::Trino, Dialect::Datafusion] {
            let error = refused(sql, dialect);
            assert_eq!(error.code(), Code::SqlTableNotAllowed, "{dialect:?}: {sql}");
        }
    }
    // A table of the Mind is that table there.
    let sql = "WITH RECURSIVE orders AS (SELECT id FROM orders) SELECT id FROM orders";
    let sent = guarded(sql, Dialect::Trino).unwrap();
    assert!(
        sent.text().contains(r#""."orders") SELECT id FROM orders"#),
        "{}",
        sent.text()
    );
    for sql in [
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 5) \
         SELECT i FROM n UNION ALL SELECT i FROM n",
    ] {
        assert!(guarded(sql, Dialect::Trino).is_ok(), "{sql}");
    }
}

#[test]
fn recursive_with_is_refused_over_clickhouse() {
    for sql in [
        // Version 24.8 reads the table in the subquery.
        "WITH RECURSIVE salaries AS (SELECT 1 AS id, '' AS pay UNION ALL \
         SELECT 2, (SELECT max(pay) FROM salaries) FROM salaries WHERE id < 2) SELECT * FROM salaries",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n",
        "SELECT id FROM orders WHERE id IN (WITH RECURSIVE n AS (SELECT 1 AS i) SELECT i FROM n)",
        "WITH a AS (WITH RECURSIVE n AS (SELECT 1 AS i) SELECT i FROM n) SELECT i FROM a",
    ] {
        let error = refused(sql, Dialect::Clickhouse);
        assert_eq!(error.code(), Code::SqlNotSupported, "{sql}");
        assert!(error.message().contains("WITH RECURSIVE"), "{error}");
    }
}
