//! Statements that mean more than they say.

use super::{GuardedStatement, guard, tests::shop};
use mindhost_base::error::{Code, Result};
use mindhost_plugin_api::Dialect;

const DIALECTS: [Dialect; 4] = [
    Dialect::Sqlite,
    Dialect::Postgresql,
    Dialect::Generic,
    Dialect::Datafusion,
];

fn in_each_dialect(sql: &str) -> impl Iterator<Item = (Dialect, Result<GuardedStatement>)> {
    DIALECTS
        .map(|dialect| (dialect, guard(sql, &shop(dialect))))
        .into_iter()
}

fn passes(sql: &str) {
    for (dialect, guarded) in in_each_dialect(sql) {
        assert!(guarded.is_ok(), "{dialect:?}: {guarded:?}");
    }
}

fn refused(sql: &str, why: &str) {
    for (dialect, guarded) in in_each_dialect(sql) {
        let error = guarded.expect_err(&format!("{dialect:?}"));
        assert_eq!(error.code(), Code::SqlNotSupported, "{dialect:?}: {error}");
        assert!(error.message().contains(why), "{dialect:?}: {error}");
    }
}

/// `c0`, then so many names that are each made of the one before.
fn chain(first: &str, next: impl Fn(usize) -> String, length: usize) -> String {
    let names = (1..length).map(|nth| format!(", c{nth} AS ({})", next(nth - 1)));
    format!("WITH c0 AS ({first}){}", names.collect::<String>())
}

#[test]
fn hundred_names_pass_and_one_more_does_not() {
    let names = |length| {
        let chain = chain(
            "SELECT id FROM orders",
            |before| format!("SELECT id FROM c{before}"),
            length,
        );
        format!("{chain} SELECT * FROM c{}", length - 1)
    };
    passes(&names(100));
    refused(&names(101), "at most 100 names");
    refused(&names(1_200), "at most 100 names");
    // Names of inner lists count too.
    let inner = "(WITH a AS (SELECT 1 AS x) SELECT x FROM a)";
    let many = vec![inner; 101].join(", ");
    refused(&format!("SELECT {many}"), "at most 100 names");
}

#[test]
fn name_counts_as_often_as_it_is_mentioned() {
    let doubling = |length| {
        let next = |before: usize| format!("SELECT x.id FROM c{before} x, c{before} y");
        format!(
            "{} SELECT id FROM c{}",
            chain("SELECT id FROM orders", next, length),
            length - 1
        )
    };
    passes(&doubling(9));
    refused(&doubling(10), "more than 500 tables");
    refused(&doubling(60), "more than 500 tables");
}

/// Columns are compared with all that stands in FROM, so there is a bound on both before that begins.
#[test]
fn many_columns_of_many_tables_are_refused_while_they_are_read() {
    let statement = |columns: usize, tables: usize| {
        format!(
            "SELECT {} FROM {}",
            vec!["id"; columns].join(","),
            vec!["orders"; tables].join(",")
        )
    };
    passes(&statement(1_000, 500));
    refused(&statement(40_000, 15_000), "names more than 500 tables");
    refused(&statement(1, 501), "names more than 500 tables");
    let subqueries = vec!["(SELECT 1 AS x) AS t"; 501].join(", ");
    refused(
        &format!("SELECT 1 FROM {subqueries}"),
        "names more than 500 tables",
    );
    let functions = vec!["generate_series(1, 2) AS t"; 501].join(", ");
    let functions = format!("SELECT 1 FROM {functions}");
    let error = guard(&functions, &shop(Dialect::Postgresql)).unwrap_err();
    assert!(error.message().contains("names more than 500"), "{error}");
}

#[test]
fn columns_that_many_subqueries_hand_on_are_counted() {
    let columns: Vec<String> = (0..8_000).map(|nth| format!("id AS a{nth}")).collect();
    let statement = |mentions: usize| {
        format!(
            "WITH c AS (SELECT {} FROM orders) SELECT a1 FROM {}",
            columns.join(", "),
            vec!["(SELECT * FROM c) AS t"; mentions].join(", ")
        )
    };
    passes(&statement(10));
    refused(&statement(200), "hand on too many columns");
}

#[test]
fn name_that_only_follows_counts_too() {
    let mut names: Vec<String> = (0..30)
        .map(|nth| format!("c{nth} AS (SELECT x.id FROM c{0} x, c{0} y)", nth + 1))
        .collect();
    names.push("c30 AS (SELECT id FROM orders)".to_owned());
    let sql = format!("WITH RECURSIVE {} SELECT id FROM c0", names.join(", "));
    for dialect in [Dialect::Sqlite, Dialect::Postgresql] {
        let error = guard(&sql, &shop(dialect)).unwrap_err();
        assert!(
            error.message().contains("more than 500 tables"),
            "{dialect:?}: {error}"
        );
    }
}

#[test]
fn column_counts_as_often_as_it_is_used() {
    let doubling = |length: usize| {
        let next = |before: usize| format!("SELECT x || x AS x FROM c{before}");
        let first = "SELECT status AS x FROM orders";
        format!(
            "{} SELECT x FROM c{}",
            chain(first, next, length),
            length - 1
        )
    };
    passes(&doubling(8));
    refused(&doubling(40), "parts of expressions");
    let mut nested = "SELECT status AS x FROM orders".to_owned();
    for _ in 0..10 {
        nested = format!("SELECT x || x || x || x || x || x AS x FROM ({nested}) AS t");
    }
    refused(&nested, "parts of expressions");
    // By another name, without a name, by a star, as a whole row.
    let renamed = chain(
        "SELECT status AS x FROM orders",
        |before| format!("SELECT t.y || t.y || t.y || t.y AS x FROM c{before} AS t (y)"),
        30,
    );
    refused(
        &format!("{renamed} SELECT x FROM c29"),
        "parts of expressions",
    );
    let starred = chain(
        "SELECT status AS x FROM orders",
        |before| {
            format!("SELECT s.x || s.x || s.x || s.x AS x FROM (SELECT * FROM c{before}) AS s")
        },
        30,
    );
    refused(
        &format!("{starred} SELECT x FROM c29"),
        "parts of expressions",
    );
}

/// Each subquery sees those before it in the same FROM.
#[test]
fn column_of_a_subquery_beside_it_counts_too() {
    let mut from = "orders, LATERAL (SELECT status || status AS x) AS t0".to_owned();
    for nth in 1..40 {
        let before = format!("t{}.x", nth - 1);
        from.push_str(&format!(
            ", LATERAL (SELECT {before} || {before} AS x) AS t{nth}"
        ));
    }
    let statement = format!("SELECT t39.x FROM {from}");
    let error = guard(&statement, &shop(Dialect::Postgresql)).unwrap_err();
    assert!(error.message().contains("parts of expressions"), "{error}");
}

#[test]
fn column_that_grows_step_by_step_is_refused_where_the_engine_would_go_too_deep() {
    let growing = |terms: usize| {
        let more = " + 1".repeat(terms);
        let next = |before: usize| format!("SELECT x{more} AS x FROM c{before}");
        format!(
            "{} SELECT x FROM c89",
            chain("SELECT total AS x FROM orders", next, 90)
        )
    };
    guard(&growing(4), &shop(Dialect::Sqlite)).unwrap();
    guard(&growing(10), &shop(Dialect::Postgresql)).unwrap();
    for (terms, dialect) in [(5, Dialect::Sqlite), (3, Dialect::Datafusion)] {
        let error = guard(&growing(terms), &shop(dialect)).unwrap_err();
        assert!(
            error.message().contains("levels of an expression"),
            "{error}"
        );
    }
}

#[test]
fn what_is_computed_as_a_whole_is_written_nowhere_else() {
    let grouped = chain(
        "SELECT status AS x FROM orders",
        |before| format!("SELECT x || x || x AS x FROM c{before} GROUP BY x"),
        40,
    );
    passes(&format!("{grouped} SELECT x FROM c39"));
}

#[test]
fn limit_over_files_computes_nothing_as_a_whole() {
    let next = |before: usize| {
        let more = " || lower('q')".repeat(20);
        format!("SELECT upper(x){more} AS x FROM c{before} LIMIT 1000")
    };
    let limited = |length: usize| {
        let chain = chain("SELECT status AS x FROM orders", next, length);
        format!("{chain} SELECT x FROM c{}", length - 1)
    };
    guard(&limited(4), &shop(Dialect::Datafusion)).unwrap();
    let error = guard(&limited(40), &shop(Dialect::Datafusion)).unwrap_err();
    assert!(
        error.message().contains("levels of an expression"),
        "{error}"
    );
    guard(&limited(40), &shop(Dialect::Postgresql)).unwrap();
}

#[test]
fn groups_over_files_do_not_hide_what_is_computed_above_them() {
    let files = shop(Dialect::Datafusion);
    let more = |terms: usize| " + 1".repeat(terms);
    let above = |inner: &str| {
        let (sum, next) = (more(60), more(60));
        format!(
            "SELECT x{next} AS x FROM (SELECT {inner}{sum} AS x FROM orders GROUP BY total) AS t"
        )
    };
    let error = guard(&above("total"), &files).unwrap_err();
    assert!(
        error.message().contains("levels of an expression"),
        "{error}"
    );
    guard(&above("total"), &shop(Dialect::Postgresql)).unwrap();
    let distinct = above("total").replace("SELECT total", "SELECT DISTINCT total");
    let distinct = distinct.replace(" GROUP BY total", "");
    guard(&distinct, &files).unwrap();
}

#[test]
fn recursive_name_weighs_what_is_written() {
    for dialect in [Dialect::Sqlite, Dialect::Postgresql] {
        let sql = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + i FROM n WHERE i < 100) SELECT i FROM n";
        guard(sql, &shop(dialect)).unwrap();
    }
}

#[test]
fn chain_of_operators_ends_where_the_planner_of_files_would_not() {
    let files = shop(Dialect::Datafusion);
    let chained =
        |terms: usize| format!("SELECT {} FROM orders", vec!["status"; terms].join(" || "));
    guard(&chained(90), &files).unwrap();
    let error = guard(&chained(600), &files).unwrap_err();
    assert_eq!(error.code(), Code::SqlNotSupported);
    assert!(error.message().contains("chains more than 100"), "{error}");
    guard(&chained(600), &shop(Dialect::Postgresql)).unwrap();
    // As the message says.
    let piece = format!("({})", vec!["total"; 50].join(" + "));
    guard(
        &format!("SELECT {piece} + {piece} + {piece} FROM orders"),
        &files,
    )
    .unwrap();
}

#[test]
fn long_chain_of_conditions_is_balanced_for_files() {
    for (dialect, op, length) in [
        (Dialect::Datafusion, "AND", 101),
        (Dialect::Datafusion, "OR", 101),
        (Dialect::Datafusion, "AND", 999),
        (Dialect::Sqlite, "OR", 999),
    ] {
        let files = shop(dialect);
        let terms: Vec<String> = (0..length).map(|nth| format!("total <> {nth}")).collect();
        let statement = |terms: &[String]| {
            format!(
                "SELECT id FROM orders WHERE {}",
                terms.join(&format!(" {op} "))
            )
        };
        let guarded = guard(&statement(&terms), &files).unwrap();
        let without_brackets = guarded.text().replace(['(', ')'], "");
        assert!(without_brackets.ends_with(&terms.join(&format!(" {op} "))));
        // A short one stays as it was written.
        let guarded = guard(&statement(&terms[..50]), &files).unwrap();
        assert!(!guarded.text().contains('('), "{}", guarded.text());
    }
    let files = shop(Dialect::Datafusion);
    let endless = vec!["total"; 1_200].join(" AND ");
    let error = guard(&format!("SELECT id FROM orders WHERE {endless}"), &files).unwrap_err();
    assert!(error.message().contains("chains more than 100"), "{error}");
}

#[test]
fn grouping_sets_are_counted() {
    let of = |dialect, group: &str| {
        guard(
            &format!("SELECT count(*) FROM orders GROUP BY {group}"),
            &shop(dialect),
        )
    };
    let columns = |count: usize| vec!["total"; count].join(", ");
    for dialect in [Dialect::Datafusion, Dialect::Postgresql, Dialect::Mssql] {
        for (group, passes) in [
            (format!("CUBE ({})", columns(12)), true),
            (format!("CUBE ({})", columns(13)), false),
            (format!("CUBE ({})", columns(200)), false),
            (format!("ROLLUP ({})", columns(30)), true),
            (
                format!("CUBE ({}), ROLLUP ({})", columns(10), columns(4)),
                false,
            ),
        ] {
            let guarded = of(dialect, &group);
            assert_eq!(guarded.is_ok(), passes, "{dialect:?} {group}");
            if let Err(error) = guarded {
                assert!(error.message().contains("4096 grouping sets"), "{error}");
            }
        }
    }
    let cube = format!("{} WITH CUBE", columns(13));
    assert!(of(Dialect::Clickhouse, &cube).is_err());
}

#[test]
fn reports_of_usual_size_pass() {
    let columns: Vec<String> = (0..60)
        .map(|nth| format!("CASE WHEN total > {nth} AND total <= {nth} + 1 THEN total * {nth} ELSE 0 END AS s{nth}"))
        .collect();
    let sums: Vec<String> = (0..60)
        .map(|nth| format!("sum(s{nth}) AS s{nth}"))
        .collect();
    let shares: Vec<String> = (0..60)
        .map(|nth| format!("s{nth} / (s{nth} + 1) AS p{nth}"))
        .collect();
    passes(&format!(
        "WITH split AS (SELECT status, {} FROM orders), summed AS (SELECT status, {} FROM split GROUP BY status) \
         SELECT status, {} FROM summed ORDER BY status",
        columns.join(", "),
        sums.join(", "),
        shares.join(", ")
    ));
}
