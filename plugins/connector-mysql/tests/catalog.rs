//! Tables, columns, keys and statistics, compared with what was created.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "tests")]

mod support;

use std::sync::Once;
use std::time::{Duration, Instant};

use connector_mysql::MySql;
use mindhost_sdk::{Connector, ErrorKind, StatisticsOptions, Table, TableRef, Value};
use serde_json::json;
use support::{Server, connect, data, query};

const SHOP: &str = "
    CREATE DATABASE store CHARACTER SET utf8mb4; USE store;
    CREATE TABLE customers (
        id int unsigned AUTO_INCREMENT PRIMARY KEY,
        name varchar(40) NOT NULL DEFAULT 'nobody' COMMENT 'how they sign',
        born date, secret varchar(10), upper_name varchar(40) AS (upper(name)) VIRTUAL
    ) COMMENT 'who buys';
    CREATE TABLE orders (
        region char(2), number bigint, customer int unsigned NOT NULL, placed timestamp DEFAULT CURRENT_TIMESTAMP,
        PRIMARY KEY (number, region), CONSTRAINT buyer FOREIGN KEY (customer) REFERENCES customers (id)
    );
    CREATE TABLE items (
        region char(2), number bigint, place int,
        CONSTRAINT of_order FOREIGN KEY (number, region) REFERENCES orders (number, region)
    );
    CREATE TABLE `odd ``name` (`a b` int, `ü` int);
    CREATE TABLE parted (a int) PARTITION BY HASH (a) PARTITIONS 4;
    CREATE SEQUENCE counter;
    CREATE VIEW young AS SELECT id, name FROM customers WHERE born > '2000-01-01';
    INSERT INTO customers (name) VALUES ('Ada'), ('Bob'), ('Cyd');
    ANALYZE TABLE customers;
    GRANT SELECT ON store.orders TO reader; GRANT SELECT ON store.items TO reader;
    GRANT SELECT (id, name) ON store.customers TO reader; GRANT INSERT ON store.parted TO reader;
";

fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        Server::shared().sql(SHOP);
    });
}

fn store() -> MySql {
    prepare();
    MySql::open(&data(json!({"database": "store"}))).unwrap()
}

fn reader() -> MySql {
    prepare();
    let reader = json!({"user": "reader", "password": "hunter2 reader", "database": "store"});
    MySql::open(&data(reader)).unwrap()
}

fn names(tables: &[TableRef]) -> Vec<&str> {
    tables.iter().map(|table| table.name.as_str()).collect()
}

fn describe(mysql: &mut MySql, name: &str) -> Table {
    let tables = [TableRef::new("store", name)];
    mysql.describe_tables(&tables).unwrap().remove(0)
}

#[test]
fn all_tables_and_views_of_the_database_are_listed() {
    let tables = store().tables().unwrap();
    let expected = [
        "customers",
        "items",
        "odd `name",
        "orders",
        "parted",
        "young",
    ];
    assert_eq!(names(&tables), expected);
    assert!(tables.iter().all(|table| table.schema == "store"));
    let mut everywhere = connect();
    let tables = everywhere.tables().unwrap();
    assert!(tables.iter().any(|table| table.schema == "store"));
    assert!(
        tables
            .iter()
            .all(|table| !["mysql", "sys"].contains(&table.schema.as_str()))
    );
    let mut elsewhere = MySql::open(&data(json!({"schema": "shop, nowhere"}))).unwrap();
    assert!(
        elsewhere
            .tables()
            .unwrap()
            .iter()
            .all(|table| table.schema == "shop")
    );
    // This server keeps `STORE` and `store` apart, but its catalog compares them without case.
    let mut other_case = MySql::open(&data(json!({"schema": "STORE"}))).unwrap();
    assert!(other_case.tables().unwrap().is_empty());
}

#[test]
fn database_that_the_server_lacks_is_named_by_a_check() {
    store();
    let check = |schema: &str| {
        MySql::open(&data(json!({"schema": schema})))
            .unwrap()
            .check()
    };
    assert!(check("store").is_ok());
    for schema in ["nowhere", "store, nowhere"] {
        let refused = check(schema).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotFound);
        assert!(
            refused.message().contains("no database `nowhere`"),
            "{refused}"
        );
    }
    // This server keeps the two apart.
    assert!(check("STORE").is_err());
}

#[test]
fn columns_have_types_defaults_and_comments() {
    let table = describe(&mut store(), "customers");
    assert_eq!(
        (table.kind.as_str(), table.comment.as_deref()),
        ("TABLE", Some("who buys"))
    );
    assert_eq!(table.row_count, Some(3));
    let columns: Vec<_> = table
        .columns
        .iter()
        .map(|column| {
            let default = column.default_value.as_deref();
            (
                column.ordinal,
                column.name.as_str(),
                column.native_type.as_str(),
                column.nullable,
                default,
            )
        })
        .collect();
    let upper = "GENERATED ALWAYS AS (ucase(`name`))";
    assert_eq!(
        columns,
        [
            (1, "id", "int(10) unsigned", false, Some("AUTO_INCREMENT")),
            (2, "name", "varchar(40)", false, Some("'nobody'")),
            (3, "born", "date", true, None),
            (4, "secret", "varchar(10)", true, None),
            (5, "upper_name", "varchar(40)", true, Some(upper)),
        ]
    );
    assert_eq!(table.columns[1].comment.as_deref(), Some("how they sign"));
    let view = describe(&mut store(), "young");
    assert_eq!(
        (view.kind.as_str(), view.comment, view.row_count),
        ("VIEW", None, None)
    );
    assert_eq!(view.columns.len(), 2);
    let odd = describe(&mut store(), "odd `name");
    assert_eq!(odd.columns[1].name, "ü");
}

#[test]
fn defaults_are_expressions() {
    Server::shared().sql(
        r"CREATE DATABASE defaulted; CREATE TABLE defaulted.t (
            none varchar(9), word varchar(9) DEFAULT 'NULL', empty varchar(9) DEFAULT '',
            made varchar(36) DEFAULT (uuid()), named varchar(36) DEFAULT 'uuid()',
            odd varchar(9) DEFAULT 'it''s \\ \n', day date DEFAULT '2020-01-01', amount decimal(5,2) DEFAULT 1.5,
            bits bit(3) DEFAULT b'101', required int NOT NULL)",
    );
    let mut mysql = connect();
    let tables = [TableRef::new("defaulted", "t")];
    let table = mysql.describe_tables(&tables).unwrap().remove(0);
    let defaults: Vec<_> = table
        .columns
        .iter()
        .map(|column| (column.name.as_str(), column.default_value.as_deref()))
        .collect();
    assert_eq!(
        defaults,
        [
            ("none", None),
            ("word", Some("'NULL'")),
            ("empty", Some("''")),
            ("made", Some("uuid()")),
            ("named", Some("'uuid()'")),
            ("odd", Some(r"'it''s \\ \n'")),
            ("day", Some("'2020-01-01'")),
            ("amount", Some("1.50")),
            ("bits", Some("b'101'")),
            ("required", None),
        ]
    );
}

#[test]
fn keys_are_complete_and_in_order() {
    for mut mysql in [store(), reader()] {
        let orders = describe(&mut mysql, "orders");
        let key: Vec<_> = orders
            .primary_key
            .iter()
            .map(|key| {
                (
                    key.constraint_name.as_str(),
                    key.ordinal,
                    key.column.as_str(),
                )
            })
            .collect();
        assert_eq!(key, [("PRIMARY", 1, "number"), ("PRIMARY", 2, "region")]);
    }
    let items = describe(&mut store(), "items");
    let key: Vec<_> = items
        .foreign_keys
        .iter()
        .map(|key| {
            let to = (key.referenced.schema.as_str(), key.referenced.name.as_str());
            (
                key.constraint_name.as_str(),
                key.ordinal,
                key.column.as_str(),
                to,
                key.referenced_column.as_str(),
            )
        })
        .collect();
    let to = ("store", "orders");
    assert_eq!(
        key,
        [
            ("of_order", 1, "number", to, "number"),
            ("of_order", 2, "region", to, "region")
        ]
    );
}

#[test]
fn a_reader_sees_what_it_may_select() {
    let mut mysql = reader();
    let customers = describe(&mut mysql, "customers");
    let columns: Vec<_> = customers
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(columns, ["id", "name"]);
    assert_eq!(describe(&mut mysql, "parted").columns.len(), 0);
}

#[test]
fn many_tables_take_few_statements_and_the_lost_are_left_out() {
    let mut mysql = store();
    let mut wanted: Vec<_> = (0..300)
        .map(|n| TableRef::new("store", format!("gone_{n}")))
        .collect();
    wanted.push(TableRef::new("store", "orders"));
    // The server would take this for the table above.
    wanted.push(TableRef::new("STORE", "orders"));
    let before = questions(&mut mysql);
    let described = mysql.describe_tables(&wanted).unwrap();
    assert!(questions(&mut mysql) - before < 10);
    assert_eq!(described.len(), 1);
    assert!(mysql.describe_tables(&[]).unwrap().is_empty());
}

/// The statements of this session so far.
fn questions(mysql: &mut MySql) -> u64 {
    let sql = "SELECT CAST(VARIABLE_VALUE AS UNSIGNED) FROM information_schema.SESSION_STATUS
        WHERE VARIABLE_NAME = 'QUESTIONS'";
    match query(mysql, sql).unwrap().1[0][0] {
        Value::Uint64(questions) => questions,
        ref other => panic!("{other:?} is no number"),
    }
}

fn statistics_of(columns: &[&str]) -> StatisticsOptions {
    StatisticsOptions {
        columns: columns.iter().map(|&column| column.to_owned()).collect(),
        max_rows: 1000,
        max_ms: 1000,
        extra: Vec::new(),
    }
}

#[test]
fn histograms_count_until_a_row_is_written_and_never_for_instants() {
    let server = Server::shared();
    prepare();
    server.sql(
        "USE store; CREATE TABLE moments (id int PRIMARY KEY, word varchar(10), placed timestamp NULL);
        INSERT INTO moments SELECT seq, CONCAT('w', seq % 7), FROM_UNIXTIME(seq) FROM seq_1_to_2000;
        SET time_zone = @@GLOBAL.time_zone, histogram_type = JSON_HB; ANALYZE TABLE moments PERSISTENT FOR ALL",
    );
    let mut mysql = store();
    let table = TableRef::new("store", "moments");
    let mut found = |columns: &[&str]| {
        let found = mysql.statistics(&table, &statistics_of(columns)).unwrap();
        found.is_some()
    };
    assert!(found(&["word"]));
    assert!(!found(&["placed"]));
    assert!(!found(&["word", "placed"]));
    // An UPDATE leaves the number of rows as it was. The server knows the time of the last one to the second.
    let deadline = Instant::now() + Duration::from_secs(30);
    while found(&["word"]) {
        assert!(Instant::now() < deadline, "the histogram is still fresh");
        server.sql("UPDATE store.moments SET word = CONCAT('x', word)");
        server.sql("UPDATE store.moments SET word = SUBSTRING(word, 2)");
    }
}

#[test]
fn histogram_with_a_time_in_the_future_is_not_fresh() {
    let server = Server::shared();
    prepare();
    server.sql(
        "USE store; CREATE TABLE zoned (id int PRIMARY KEY, word varchar(10));
        INSERT INTO zoned SELECT seq, CONCAT('w', seq % 7) FROM seq_1_to_2000",
    );
    let mut mysql = store();
    let table = TableRef::new("store", "zoned");
    for (zone, expected) in [("'+13:00'", false), ("@@GLOBAL.time_zone", true)] {
        server.sql(&format!(
            "USE store; SET time_zone = {zone}, histogram_type = JSON_HB; ANALYZE TABLE zoned PERSISTENT FOR ALL"
        ));
        let found = mysql.statistics(&table, &statistics_of(&["word"])).unwrap();
        assert_eq!(found.is_some(), expected, "{zone}");
    }
}

#[test]
fn statistics_are_the_histograms_of_the_server_while_they_are_fresh() {
    let server = Server::shared();
    prepare();
    server.sql(
        "USE store; CREATE TABLE measured (id int PRIMARY KEY, color varchar(10), empty int);
        INSERT INTO measured SELECT seq, IF(seq <= 600, 'red', IF(seq <= 900, 'blue', CONCAT('c', seq))), NULL
        FROM seq_1_to_2000;
        SET time_zone = @@GLOBAL.time_zone, histogram_type = JSON_HB, histogram_size = 50;
        ANALYZE TABLE measured PERSISTENT FOR ALL;
        CREATE TABLE unmeasured (a int)",
    );
    let mut mysql = store();
    let table = TableRef::new("store", "measured");
    let found = mysql
        .statistics(&table, &statistics_of(&["color"]))
        .unwrap()
        .unwrap();
    let color = &found[0];
    assert_eq!(color.null_fraction, Some(0.0));
    assert_eq!(color.common_values[0].0, "red");
    assert!(
        (color.common_values[0].1 - 0.3).abs() < 0.05,
        "{:?}",
        color.common_values
    );
    assert!((900..1300).contains(&color.distinct_count.unwrap()));
    assert_eq!(color.min_value.as_deref(), Some("blue"));
    let other = TableRef::new("store", "unmeasured");
    assert_eq!(
        mysql.statistics(&other, &statistics_of(&["a"])).unwrap(),
        None
    );
    let mut reader = reader();
    assert_eq!(
        reader
            .statistics(&table, &statistics_of(&["color"]))
            .unwrap(),
        None
    );
    server.sql("USE store; INSERT INTO measured SELECT seq, 'new', 1 FROM seq_5000_to_9000; ANALYZE TABLE measured");
    assert_eq!(
        mysql
            .statistics(&table, &statistics_of(&["color"]))
            .unwrap(),
        None
    );
}
