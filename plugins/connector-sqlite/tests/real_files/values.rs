//! Values as their columns declare them, and what does not fit.

use mindhost_sdk::{Batch, BatchLimits, DataType, ErrorKind, Statement, Value};

use crate::support::{LIMITS, Shop, batches, text};

/// The rows of the table in the README: declared types, and what they become.
#[test]
fn readme_lists_what_declared_types_become() {
    let readme = include_str!("../../README.md");
    let section = readme.split("## Types").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let mut seen = 0;
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let mut cells = line.trim_matches('|').split(" | ");
        let (declared, becomes) = (cells.next().unwrap(), cells.next().unwrap().trim());
        for declared in declared.split('`').skip(1).step_by(2) {
            let shop = Shop::new(&format!("CREATE TABLE t (value {declared})"));
            let statement = Statement::new("SELECT value FROM t");
            let (columns, _) = batches(&mut shop.open().unwrap(), &statement, LIMITS).unwrap();
            let found = columns[0].data_type.name();
            assert_eq!(format!("`{found}`"), becomes, "{declared}");
            seen += 1;
        }
    }
    assert!(seen >= 25, "{seen} types");
}

/// The bundled SQLite gives other rows if it runs EXISTS as a join.
#[test]
fn offset_skips_a_row_once_however_many_exists_finds_for_it() {
    let shop = Shop::new(
        "CREATE TABLE artist (id INTEGER PRIMARY KEY); CREATE TABLE album (artist INTEGER);
         INSERT INTO artist VALUES (1), (2), (3), (4); INSERT INTO album VALUES (1), (1), (1), (2), (2), (3), (4);",
    );
    let sql = "SELECT a.id FROM artist a WHERE EXISTS (SELECT 1 FROM album b WHERE b.artist = a.id) ORDER BY a.id";
    for (paging, expected) in [
        ("", 1..=4),
        (" LIMIT 2 OFFSET 1", 2..=3),
        (" LIMIT 9 OFFSET 2", 3..=4),
    ] {
        let expected: Vec<_> = expected.map(|id| vec![Value::Int64(id)]).collect();
        assert_eq!(shop.rows(&format!("{sql}{paging}")), expected, "{paging}");
    }
}

#[test]
fn each_declared_type_has_its_own_form() {
    let shop = Shop::new(
        "CREATE TABLE t (i INTEGER, r REAL, b BOOLEAN, d DATE, ts TIMESTAMP, tz TIMESTAMPTZ, tm TIME, n DECIMAL(10, 2),
                         s VARCHAR(9), x BLOB, j JSON, u UUID);
         INSERT INTO t VALUES (9007199254740993, 2, 1, '2026-11-20', '2026-11-20 09:30:15.5', '1970-01-01T01:00:00+01:00',
                               '09:30', 12.50, 'Zoë', x'00ff', '{\"a\": 1}', '6f9619ff-8b86-d011-b42d-00cf4fc964ff');
         INSERT INTO t (i) VALUES (NULL);",
    );
    let (columns, answer) = batches(
        &mut shop.open().unwrap(),
        &Statement::new("SELECT * FROM t"),
        LIMITS,
    )
    .unwrap();
    assert!(matches!(answer[..], [Batch::Rows(_)]));
    let native: Vec<&str> = columns
        .iter()
        .map(|column| column.native_type.as_str())
        .collect();
    assert_eq!(native[6..9], ["TIME", "DECIMAL(10, 2)", "VARCHAR(9)"]);
    let rows = mindhost_sdk::testing::rows(&answer[0], &columns).unwrap();
    let expected = [
        Value::Int64(9_007_199_254_740_993),
        Value::Float64(2.0),
        Value::Boolean(true),
        Value::Date(20_777),
        Value::Timestamp(1_795_167_015_500_000),
        Value::TimestampUtc(0),
        Value::Time(34_200_000_000),
        Value::Decimal("12.5".into()),
        text("Zoë"),
        Value::Bytes(vec![0, 255]),
        Value::Json("{\"a\": 1}".into()),
        text("6f9619ff-8b86-d011-b42d-00cf4fc964ff"),
    ];
    assert_eq!(rows[0], expected);
    assert!(rows[1].iter().all(|value| *value == Value::Null));
}

#[test]
fn a_value_of_another_type_keeps_its_own() {
    let shop = Shop::new("CREATE TABLE t (declared, stored); ");
    let check = |declared: &str, stored: &str, expected: Value| {
        shop.write(&format!(
            "DROP TABLE t; CREATE TABLE t (v {declared}); INSERT INTO t VALUES ({stored});"
        ));
        assert_eq!(
            shop.rows("SELECT v FROM t"),
            [[expected]],
            "{stored} in {declared}"
        );
    };
    check("INTEGER", "'many'", text("many"));
    check("INTEGER", "1.5", Value::Float64(1.5));
    check("TEXT", "x'ff'", Value::Bytes(vec![255]));
    check("BLOB", "'text'", text("text"));
    check("BOOLEAN", "2", Value::Int64(2));
    check("BOOLEAN", "'true'", text("true"));
    check("DATE", "'tomorrow'", text("tomorrow"));
    check("DATE", "20260101", Value::Int64(20_260_101));
    check(
        "DATETIME",
        "'2026-01-01 00:00:00Z'",
        text("2026-01-01 00:00:00Z"),
    );
    check(
        "DATETIME",
        "'2026-01-01 00:00:00.1234567'",
        text("2026-01-01 00:00:00.1234567"),
    );
    check("TIME", "'25:00'", text("25:00"));
    check("DECIMAL", "'n/a'", text("n/a"));
    check("DECIMAL", "9e999", Value::Float64(f64::INFINITY));
    check("JSON", "'{broken'", text("{broken"));
    check("TEXT", "CAST(x'ff' AS TEXT)", Value::Bytes(vec![255]));
}

#[test]
fn decimals_keep_the_digits_that_are_stored() {
    let shop = Shop::new(
        "CREATE TABLE t (v NUMERIC); INSERT INTO t VALUES (0.1), (1e20), (-3), ('9999999999999999999999.5');",
    );
    let decimals =
        ["0.1", "100000000000000000000", "-3"].map(|digits| vec![Value::Decimal(digits.into())]);
    // SQLite itself makes a float of the last one when it is stored.
    assert_eq!(shop.rows("SELECT v FROM t LIMIT 3"), decimals);
}

#[test]
fn only_the_batch_with_an_off_type_value_travels_as_rows() {
    let shop = Shop::new(
        "CREATE TABLE t (v INTEGER);
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
         INSERT INTO t SELECT CASE WHEN i = 150 THEN 'odd' ELSE i END FROM n;",
    );
    let limits = BatchLimits {
        max_rows: 100,
        ..LIMITS
    };
    let (_, answer) = batches(
        &mut shop.open().unwrap(),
        &Statement::new("SELECT v FROM t"),
        limits,
    )
    .unwrap();
    assert!(matches!(
        &answer[..],
        [Batch::Arrow(_), Batch::Rows(_), Batch::Arrow(_)]
    ));
}

#[test]
fn expressions_have_no_type_and_travel_as_rows() {
    let shop = Shop::new("CREATE TABLE t (v INTEGER); INSERT INTO t VALUES (1), (2);");
    let statement = Statement::new("SELECT v, count(*) AS n, 'x' || v FROM t GROUP BY v");
    let (columns, answer) = batches(&mut shop.open().unwrap(), &statement, LIMITS).unwrap();
    let types: Vec<DataType> = columns.iter().map(|column| column.data_type).collect();
    assert_eq!(types, [DataType::Int64, DataType::Any, DataType::Any]);
    assert_eq!(columns[1].name, "n");
    let expected = [
        [Value::Int64(1), Value::Int64(1), text("x1")],
        [Value::Int64(2), Value::Int64(1), text("x2")],
    ];
    assert_eq!(answer, [Batch::Rows(expected.map(Vec::from).into())]);
}

#[test]
fn an_answer_without_rows_has_columns() {
    let shop = Shop::new("CREATE TABLE t (v INTEGER);");
    let (columns, answer) = batches(
        &mut shop.open().unwrap(),
        &Statement::new("SELECT v FROM t"),
        LIMITS,
    )
    .unwrap();
    assert_eq!((columns.len(), answer.len()), (1, 0));
}

#[test]
fn batches_keep_to_their_limits_and_lose_nothing() {
    let shop = Shop::new(
        "CREATE TABLE t (i INTEGER, s TEXT);
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
         INSERT INTO t SELECT i, printf('%.*c', i % 200, 'x') FROM n;",
    );
    let limits = BatchLimits {
        max_rows: 700,
        max_bytes: 20_000,
    };
    let statement = Statement::new("SELECT i, s FROM t");
    let (columns, answer) = batches(&mut shop.open().unwrap(), &statement, limits).unwrap();
    let batches: Vec<_> = answer
        .iter()
        .map(|batch| mindhost_sdk::testing::rows(batch, &columns).unwrap())
        .collect();
    assert!(batches.iter().all(|rows| rows.len() <= 700));
    assert!(
        answer
            .iter()
            .all(|batch| matches!(batch, Batch::Arrow(bytes) if bytes.len() <= 20_500))
    );
    let numbers: Vec<Value> = batches
        .into_iter()
        .flatten()
        .map(|row| row[0].clone())
        .collect();
    assert_eq!(numbers, (1..=5000).map(Value::Int64).collect::<Vec<_>>());
}

#[test]
fn a_cell_above_its_limit_is_too_large() {
    let shop =
        Shop::new("CREATE TABLE t (v TEXT); INSERT INTO t VALUES (printf('%.*c', 5000, 'x'));");
    let statement = Statement {
        max_cell_bytes: 4999,
        ..Statement::new("SELECT v FROM t")
    };
    let error = batches(&mut shop.open().unwrap(), &statement, LIMITS).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert_eq!(
        error.message(),
        "a value of column `v` has 5000 bytes, more than the limit of 4999; select a part of it"
    );
    // What SQLite would have to hold in memory in the meantime has a limit too.
    assert_eq!(
        shop.error("SELECT zeroblob(1000000000)").kind(),
        ErrorKind::TooLarge
    );
}
