//! Values of two datasources are equal as `host/docs/sql.md` says in "What values mean".

use mindhost_tests::{Host, MariaDb, Mind, Postgres, PostgresDatabase};
use serde_json::{Value, json};

/// A datasource, the type of a column there, and its values. A row has the number of its value as its id.
type Side = (&'static str, &'static str, &'static [&'static str]);

const ID: &str = "'0a1b2c3d-0000-4000-8000-00000000000f'";
const UPPER_ID: &str = "'0A1B2C3D-0000-4000-8000-00000000000F'";

/// Two columns, and the ids of the rows that are equal.
type Join = (Side, Side, &'static [(u64, u64)]);

/// The second column has many rows without a value, so that it is asked for the keys of the first.
const JOINS: &[Join] = &[
    // Unsigned and signed integers.
    (
        (
            "maria",
            "bigint unsigned",
            &["0", "9223372036854775807", "18446744073709551615"],
        ),
        ("pg", "bigint", &["0", "9223372036854775807", "-1"]),
        &[(1, 1), (2, 2)],
    ),
    (
        ("pg", "bigint", &["0", "9223372036854775807", "-1"]),
        (
            "maria",
            "bigint unsigned",
            &["0", "9223372036854775807", "18446744073709551615"],
        ),
        &[(1, 1), (2, 2)],
    ),
    (
        ("sqlite", "INTEGER", &["4294967295", "-1"]),
        ("maria", "int unsigned", &["4294967295", "0"]),
        &[(1, 1)],
    ),
    // Beside 5, a year is 2005 for MariaDB, and beside -1 an OID is a large one for PostgreSQL.
    (
        ("sqlite", "INTEGER", &["5", "1970", "2005"]),
        ("maria", "year", &["1970", "2005"]),
        &[(2, 1), (3, 2)],
    ),
    (
        ("sqlite", "INTEGER", &["-1", "5", "4000000000"]),
        ("pg", "oid", &["5", "4000000000"]),
        &[(2, 1), (3, 2)],
    ),
    // Integers and decimals.
    (
        (
            "pg",
            "numeric(22,2)",
            &["5.00", "18446744073709551615.00", "5.01"],
        ),
        ("maria", "bigint unsigned", &["5", "18446744073709551615"]),
        &[(1, 1), (2, 2)],
    ),
    (
        ("sqlite", "INTEGER", &["1", "2"]),
        ("pg", "numeric(10,2)", &["1.00", "2.50"]),
        &[(1, 1)],
    ),
    (
        ("maria", "decimal(10,2)", &["1.00", "2.50"]),
        ("pg", "integer", &["1", "2"]),
        &[(1, 1)],
    ),
    // Decimals of another scale.
    (
        ("pg", "numeric(10,2)", &["1.50", "2.00"]),
        ("maria", "decimal(12,4)", &["1.5000", "2.0001"]),
        &[(1, 1)],
    ),
    (
        ("maria", "decimal(12,4)", &["1.5000", "2.0001"]),
        ("sqlite", "DECIMAL(5,1)", &["1.5", "2"]),
        &[(1, 1)],
    ),
    (
        ("sqlite", "DECIMAL(5,1)", &["1.5", "2"]),
        ("pg", "numeric", &["1.5", "2.0000000001"]),
        &[(1, 1)],
    ),
    // Floats.
    (
        ("pg", "double precision", &["0.1", "2", "1e300"]),
        ("maria", "double", &["0.1", "2", "1e300"]),
        &[(1, 1), (2, 2), (3, 3)],
    ),
    (
        ("sqlite", "INTEGER", &["2", "3"]),
        ("pg", "double precision", &["2.0", "3.5"]),
        &[(1, 1)],
    ),
    // Moments, with a zone and without.
    (
        (
            "maria",
            "datetime(6)",
            &["'2024-02-29 12:00:00'", "'2024-02-29 12:00:00.000001'"],
        ),
        (
            "pg",
            "timestamptz",
            &[
                "'2024-02-29 14:00:00+02'",
                "'2024-02-29 12:00:00.000001+00'",
            ],
        ),
        &[(1, 1), (2, 2)],
    ),
    (
        (
            "pg",
            "timestamptz",
            &[
                "'2024-02-29 14:00:00+02'",
                "'2024-02-29 12:00:00.000001+00'",
            ],
        ),
        (
            "maria",
            "datetime(6)",
            &["'2024-02-29 12:00:00'", "'2024-02-29 12:00:00.000001'"],
        ),
        &[(1, 1), (2, 2)],
    ),
    (
        (
            "maria",
            "timestamp(6)",
            &["'2024-02-29 12:00:00'", "'2024-02-29 12:00:00.5'"],
        ),
        (
            "pg",
            "timestamp",
            &["'2024-02-29 12:00:00'", "'2024-02-29 12:00:00.500001'"],
        ),
        &[(1, 1)],
    ),
    (
        (
            "pg",
            "timestamptz",
            &["'2024-02-29 12:00:00+00'", "'0001-01-01 00:00:00+00'"],
        ),
        (
            "sqlite",
            "DATETIME",
            &["'2024-02-29 12:00:00'", "'0001-01-01 00:00:00'"],
        ),
        &[(1, 1), (2, 2)],
    ),
    // A day is its first moment, also far from today.
    (
        (
            "pg",
            "date",
            &["'2024-02-29'", "'9999-12-31'", "'0001-01-01'"],
        ),
        (
            "maria",
            "datetime(6)",
            &[
                "'2024-02-29 00:00:00'",
                "'9999-12-31 00:00:00'",
                "'2024-02-29 12:00:00'",
            ],
        ),
        &[(1, 1), (2, 2)],
    ),
    (
        ("maria", "date", &["'2024-02-29'", "'9999-12-31'"]),
        (
            "pg",
            "timestamptz",
            &[
                "'2024-02-29 00:00:00+00'",
                "'9999-12-31 00:00:00+00'",
                "'2024-02-29 00:00:00+02'",
            ],
        ),
        &[(1, 1), (2, 2)],
    ),
    (
        (
            "pg",
            "timestamp",
            &["'2024-02-29 00:00:00'", "'1600-01-01 00:00:00'"],
        ),
        ("sqlite", "DATE", &["'2024-02-29'", "'1600-01-01'"]),
        &[(1, 1), (2, 2)],
    ),
    // Texts by their bytes, whatever the collation.
    (
        ("pg", "text", &["'a'", "'A'", "'a '", "'ä'"]),
        ("maria", "varchar(10)", &["'a'", "'A'", "'a '", "'a'"]),
        &[(1, 1), (1, 4), (2, 2), (3, 3)],
    ),
    (
        ("maria", "varchar(10)", &["'a'", "'A'", "'a '"]),
        ("sqlite", "TEXT COLLATE NOCASE", &["'A'", "'a'"]),
        &[(1, 2), (2, 1)],
    ),
    (
        ("sqlite", "TEXT COLLATE NOCASE", &["'A'", "'ab   '"]),
        ("pg", "character(5)", &["'a'", "'ab'"]),
        &[(2, 2)],
    ),
    (
        ("pg", "text", &["'B'", "'a'"]),
        ("maria", "enum('a', 'b')", &["'a'", "'b'"]),
        &[(2, 1)],
    ),
    (
        ("sqlite", "TEXT", &[UPPER_ID, ID, "'no id'"]),
        ("pg", "uuid", &[ID]),
        &[(2, 1)],
    ),
    (
        ("pg", "uuid", &[ID]),
        ("sqlite", "TEXT", &[UPPER_ID, ID]),
        &[(1, 2)],
    ),
    // Truth values.
    (
        ("pg", "boolean", &["true", "false"]),
        ("maria", "tinyint(1)", &["0", "1", "7", "-1"]),
        &[(1, 2), (1, 3), (1, 4), (2, 1)],
    ),
];

/// Values that no type of the host holds.
const UNFIT: &[(&str, &str)] = &[
    ("numeric", "'NaN'"),
    ("numeric", "0.00000000001"),
    ("numeric(40,0)", "1e39"),
    ("date", "'infinity'"),
    ("timestamp", "'infinity'"),
    ("timestamptz", "'-infinity'"),
];

/// The statements that make one column: `l0`, `r0` and so on.
fn column(name: &str, (source, data_type, values): Side, is_large: bool) -> String {
    let rows = values.iter().zip(1..);
    let rows: Vec<String> = rows.map(|(value, id)| format!("({id}, {value})")).collect();
    let many = match source {
        "pg" => "SELECT i, NULL FROM generate_series(100, 2600) i",
        "maria" => "SELECT seq, NULL FROM seq_100_to_2600",
        _ => {
            "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 2600) SELECT i, NULL FROM n"
        }
    };
    let null = if source == "maria" { " NULL" } else { "" };
    let mut sql = format!(
        "CREATE TABLE {name} (id integer, v {data_type}{null}); INSERT INTO {name} VALUES {}, (99, NULL);",
        rows.join(", ")
    );
    if is_large {
        sql += &format!("INSERT INTO {name} {many};");
    }
    sql + &match source {
        "pg" => format!("ANALYZE {name};"),
        "maria" => format!("ANALYZE TABLE {name};"),
        _ => String::new(),
    }
}

async fn three() -> (Host, Mind) {
    let of = |source: &str| {
        let mut sql = String::new();
        for (at, (left, right, _)) in JOINS.iter().enumerate() {
            for (name, side, is_large) in [("l", left, false), ("r", right, true)] {
                if side.0 == source {
                    sql += &column(&format!("{name}{at}"), *side, is_large);
                }
            }
        }
        sql
    };
    let mut postgres = of("pg");
    for (at, (data_type, value)) in UNFIT.iter().enumerate() {
        postgres += &format!(
            "CREATE TABLE unfit{at} (v {data_type}); INSERT INTO unfit{at} VALUES ({value});"
        );
    }
    let host = Host::start().await;
    let postgres = Postgres::shared().database(&postgres).await;
    host.postgres("pg", &postgres).await.load().await;
    let maria = MariaDb::shared().database(&of("maria")).await;
    host.datasource("maria", "mysql", maria.connection_data())
        .await
        .load()
        .await;
    host.sqlite("sqlite", &of("sqlite")).await.load().await;
    let mind = host.mind("all").datasource("pg").datasource("maria");
    let mind = mind.datasource("sqlite").direct_queries().create().await;
    (host, mind)
}

#[tokio::test]
async fn values_of_two_datasources_are_equal_by_the_rules() {
    let (_host, mind) = three().await;
    let mut found = Vec::new();
    for (at, (left, right, pairs)) in JOINS.iter().enumerate() {
        let (a, b) = (left.0, right.0);
        let sql = format!(
            "SELECT l.id, r.id FROM {a}.l{at} l JOIN {b}.r{at} r ON l.v = r.v ORDER BY 1, 2"
        );
        let reply: Value = mind.sql(&sql).await.json();
        let data = &reply["output"][0]["data"];
        if *data != json!(pairs) {
            found.push(format!(
                "{left:?} and {right:?}: {data} for {pairs:?}; {}",
                reply["error"]
            ));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[tokio::test]
async fn value_that_no_type_holds_is_an_error() {
    let (_host, mind) = three().await;
    for (at, (data_type, value)) in UNFIT.iter().enumerate() {
        let sql = format!("SELECT t.v, l.id FROM pg.unfit{at} t CROSS JOIN sqlite.l2 l");
        let reply = mind.sql(&sql).await.json();
        assert_eq!(
            reply["error"]["code"], "sql_invalid",
            "{data_type} {value}: {reply}"
        );
    }
}

/// A database in LATIN1.
async fn latin1(sql: &str) -> PostgresDatabase {
    let database = Postgres::shared().database("").await;
    let admin = Postgres::shared().admin("postgres").await;
    let name = &database.name;
    for statement in [
        format!("DROP DATABASE {name} WITH (FORCE)"),
        format!(
            "CREATE DATABASE {name} OWNER {name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        ),
    ] {
        admin.batch_execute(&statement).await.unwrap();
    }
    database.run(sql).await;
    database
}

#[tokio::test]
async fn text_that_a_character_set_lacks_is_equal_to_nothing_there() {
    let host = Host::start().await;
    let postgres = "CREATE TABLE t (id integer, name text); INSERT INTO t VALUES (1, 'é');
        INSERT INTO t SELECT i, 'x' || i FROM generate_series(2, 2500) i; ANALYZE t;";
    host.postgres("pg", &latin1(postgres).await)
        .await
        .load()
        .await;
    let maria = "CREATE TABLE t (id integer, name varchar(20) CHARACTER SET latin1); INSERT INTO t VALUES (1, 'é');
        INSERT INTO t SELECT seq, concat('x', seq) FROM seq_2_to_2500; ANALYZE TABLE t;";
    let maria = MariaDb::shared().database(maria).await;
    host.datasource("maria", "mysql", maria.connection_data())
        .await
        .load()
        .await;
    let names = "CREATE TABLE names (name TEXT); INSERT INTO names VALUES ('é'), ('日本'), ('😀');";
    host.sqlite("own", names).await.load().await;
    let mind = host.mind("all").datasource("pg").datasource("maria");
    let mind = mind.datasource("own").direct_queries().create().await;
    for source in ["pg", "maria"] {
        let sql = format!("SELECT t.id FROM own.names n JOIN {source}.t t ON t.name = n.name");
        assert_eq!(json!(mind.rows(&sql).await), json!([[1]]), "{sql}");
    }
    let constant = "SELECT count(*) FROM maria.t t CROSS JOIN own.names n WHERE t.name = '日本'";
    assert_eq!(json!(mind.rows(constant).await), json!([[0]]));
}
