//! Names of columns without an alias: those that the engine's own client gets for the same text, whatever the guard
//! writes in its place.

use mindhost_tests::{ClickHouse, Host, Mind, Value, json};
use tds_double::{DATABASE, Double, PASSWORD, USER};

use super::{on_clickhouse, on_files, on_mariadb, on_postgres, on_sqlite};

/// Expressions over `customers` that every engine takes.
const EXPRESSIONS: &[&str] = &[
    "1+1",
    "1 +  1",
    "1+\n1",
    "1 /* one */ + 1",
    "1 + 1 /* behind */",
    "/* before */ 1+ 1",
    "1+1 -- behind\n",
    "1 -- one\n + 1",
    "(1+1)",
    "( ( 1 + 1 ) )",
    "id",
    "(id)",
    "((id))",
    "c.id",
    "id+1",
    "c.id+1",
    "( c.id )+1",
    "-id",
    "- id",
    "-( -id)",
    "id*2 - 1",
    "id/ 2",
    "id % 2",
    "id = 1",
    "id=1",
    "id <> 1",
    "id != 1",
    "id>=1 and id<2",
    "id IS NULL",
    "id is not null",
    "id IN (1,2)",
    "id NOT IN (1, 2)",
    "id BETWEEN 1 AND  2",
    "name LIKE 'A%'",
    "NOT (id=1)",
    "case when id=1 then 'a' else 'b' END",
    "CASE id WHEN 1 THEN 2  END",
    "coalesce( name ,'x')",
    "upper( name )",
    "replace(name,'a','\"')",
    "concat(name,'#')",
    "concat(name, '--', '/*')",
    "concat(name,'`')",
    "concat(name,'''')",
    "concat('ä', 'é\u{1F600}')",
    "concat('a\nb','c')",
    "'text'",
    "'it''s'",
    "('x')",
    "'x'  /* behind */",
    "NULL",
    "null",
    "(NULL)",
    "7",
    "( 7 )",
    "-7",
    "1.50",
    "1e3",
    "(SELECT max( id ) FROM customers)",
    "(SELECT 1+1)",
];

/// The same, over groups.
const GROUPS: &[&str] = &[
    "count(*)",
    "COUNT( * )",
    "Count(*)+1",
    "sum(id)+1",
    "Max( id )",
    "count(DISTINCT id)",
    "count( distinct  id )",
    "sum(case when id=1 then 1 else 0 end)",
    "max(\n id\n)",
];

/// The names that the host gives, or what it says in place of a result.
async fn names(mind: &Mind, sql: &str) -> Value {
    let reply = mind.sql(sql).await.json();
    match &reply["output"][0]["column_names"] {
        Value::Null => reply["error"].clone(),
        names => names.clone(),
    }
}

/// A statement for each expression; long ones too.
fn statements(of_engine: &[&str]) -> Vec<String> {
    let long = [
        format!("1{}", "+1".repeat(60)),
        format!("1{}", " +  1".repeat(60)),
        format!("concat('{}')", "\u{65E5}".repeat(100)),
    ];
    let rows = EXPRESSIONS.iter().chain(of_engine).copied();
    let rows = rows.chain(long.iter().map(String::as_str));
    let rows = rows.map(|expression| format!("SELECT {expression} FROM customers c WHERE id = 1"));
    let groups = GROUPS
        .iter()
        .map(|expression| format!("SELECT {expression} FROM customers"));
    let statements: Vec<String> = rows.chain(groups).collect();
    assert!(statements.len() >= 70);
    statements
}

/// Fails with all that differ.
fn check(found: Vec<(String, Value, Value)>) {
    let wrong: Vec<String> = found
        .into_iter()
        .filter(|(_, ours, theirs)| ours != theirs)
        .map(|(sql, ours, theirs)| format!("{ours} for {theirs}: {sql}"))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} names:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

const SQLITE: &[&str] = &[
    "ID",
    "name || 'x\"y'",
    "\"name\"||'x'",
    "[name]||'`'",
    "`name`||'#'",
    "'a\\b'",
    "0x1F",
    "x'41'",
    "true",
    "+id",
    "id collate nocase",
    "CAST(id AS  TEXT)",
    "name GLOB 'A*'",
    "id isnull",
    "id  NOTNULL",
    "id IS 1",
    "iif(id=1,2,3)",
    "rowid",
    "strftime('%Y',  '2024-01-01')",
    "''''''",
    "id  /* one */ /* two */",
    "1+1, 1+1",
    "c.*, 1+'\"'",
    "1+'\"', *, 2+'\"', *, 3+'\"'",
];

const SQLITE_STATEMENTS: &[&str] = &[
    "SELECT 1+1",
    "SELECT\n  1+1\n;",
    "SELECT 1+1/* end */",
    "SELECT DISTINCT 1+'\"', name FROM customers",
    "SELECT ALL 1+ 1 FROM customers",
    "SELECT 1+'\"' UNION SELECT 2",
    "VALUES (1+1, 2)",
    "SELECT * FROM (SELECT 1+1, (id), count( * ), 'a\"'||'b', id collate nocase FROM customers)",
    "SELECT * FROM (SELECT 1+ 1, 1+ 1)",
    "WITH x AS (SELECT 1+'\"', 2+\n2) SELECT * FROM x",
    "WITH x(n) AS (SELECT 1+1) SELECT *, n+ 1 FROM x",
    "SELECT x.*, 2+ 2, y.*, 3+'\"' FROM (SELECT 1+1) x, (SELECT 2 AS n, 3) y",
    "SELECT id+ 1 FROM customers ORDER BY id+ 1",
    "SELECT count( * ) FROM customers GROUP BY name HAVING count( * ) > 0 LIMIT 1",
];

#[tokio::test]
async fn names_are_those_of_sqlite() {
    let (host, mind) = on_sqlite().await;
    let direct = rusqlite::Connection::open(host.files_dir().join("shop.db")).unwrap();
    let mut statements = statements(SQLITE);
    statements.extend(SQLITE_STATEMENTS.iter().map(ToString::to_string));
    let mut found = Vec::new();
    for sql in statements {
        let prepared = direct.prepare(&sql).unwrap();
        let theirs = json!(prepared.column_names());
        found.push((sql.clone(), names(&mind, &sql).await, theirs));
    }
    check(found);
}

const MARIADB: &[&str] = &[
    "ID",
    "`name`",
    "c.`id`+1",
    "concat(`name`,'x')",
    "'a\\\\b'",
    "\"text\"",
    "N'text'",
    "'a' 'b'",
    "x'41'",
    "0x41",
    "(0x41)",
    "b'1'",
    "true",
    "TRUE",
    "( true )",
    "+id",
    "+7",
    "+(1+1)",
    "(+ 7)",
    ".5",
    "' x'",
    "CAST(id AS  char)",
    "convert(name using utf8mb4)",
    "id div 2",
    "id<=>1",
    "date '2024-01-01'",
    "interval 1 day + '2020-01-01'",
    "if(id=1,2,3)",
    "extract(year from '2024-01-01')",
    "trim( both 'x' from name )",
    "substring(name from 1 for 2)",
    "1 # behind\n + 1",
    "1+1, 1+ 1",
    "c.*, concat('\"')",
    "concat('\"'), c.*, concat('`')",
];

const MARIADB_STATEMENTS: &[&str] = &[
    "SELECT 1+1",
    "SELECT\n  1+1\n",
    "SELECT DISTINCT 1+ 1, 2",
    "SELECT 1+ 1 UNION SELECT 2",
    "VALUES (1+ 1, 2), (3, 4)",
    "SELECT * FROM (SELECT 1+ 1, (id), count( * ), concat('\"') FROM customers GROUP BY id) x",
    "WITH x AS (SELECT 1+'\"', 2+\n2) SELECT * FROM x",
    "SELECT `id+ 1` FROM (SELECT id+ 1 FROM customers) x",
    "SELECT id+ 1 FROM customers ORDER BY `id+ 1`",
    "SELECT count( * ) FROM customers HAVING `count( * )` > 0",
    "SELECT max(id) OVER ( ORDER BY id ) FROM customers",
];

#[tokio::test]
async fn names_are_those_of_mariadb() {
    let (_host, mind, database) = on_mariadb().await;
    let mut statements = statements(MARIADB);
    statements.extend(MARIADB_STATEMENTS.iter().map(ToString::to_string));
    let mut found = Vec::new();
    for sql in statements {
        let printed = database.run_with_names(&sql).await;
        let ours = names(&mind, &sql).await;
        let cells = ours.as_array().unwrap().iter();
        let line: Vec<&str> = cells.map(|name| name.as_str().unwrap()).collect();
        // A name may have several lines.
        let theirs = match printed.starts_with(&format!("{}\n", line.join("\t"))) {
            true => ours.clone(),
            false => json!(printed),
        };
        found.push((sql, ours, theirs));
    }
    check(found);
}

const POSTGRESQL: &[&str] = &[
    "ID",
    "\"name\"",
    "name || 'x\"y'",
    "id::text",
    "1::text",
    "'a'::text",
    "CAST(id AS  bigint)",
    "CAST(1 AS numeric(5,2))",
    "'1 day'::interval",
    "interval '1 day'",
    "interval(0) '1.6 sec'",
    "date '2024-01-01'",
    "E'a\\nb'",
    "$$text$$",
    "true",
    "extract(year from date '2024-01-01')",
    "trim( both 'x' from name )",
    "substring(name from 1 for 2)",
    "position('a' in name)",
    "overlay(name placing 'x' from 1)",
    "current_date",
    "nullif(id,1)",
    "greatest(id, 2)",
    "ARRAY[1,2]",
    "(ARRAY[1,2])[1]",
    "array(select 1)",
    "row(1,2)",
    "(1,2)",
    "exists(select 1)",
    "id = any(array[1])",
    "name ~ 'a'",
    "ceil(1.5)",
    "id is distinct from 2",
    "(SELECT max(id) AS most FROM customers)",
    "sum(id) over ()",
    "c.*, 1+1",
];

#[tokio::test]
async fn names_are_those_of_postgresql() {
    let (_host, mind, database) = on_postgres().await;
    let direct = database.client().await;
    let mut found = Vec::new();
    for sql in statements(POSTGRESQL) {
        let prepared = direct.prepare(&sql).await;
        let prepared = prepared.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        let columns = prepared.columns().iter();
        let theirs: Vec<&str> = columns.map(|column| column.name()).collect();
        found.push((sql.clone(), names(&mind, &sql).await, json!(theirs)));
    }
    check(found);
}

const CLICKHOUSE: &[&str] = &[
    "`name`",
    "\"name\"",
    "concat(`name`,'x')",
    "name || 'x'",
    "CAST(id AS String)",
    "CAST(id AS Int8)",
    "cast(id as  Nullable(String))",
    "CAST(id AS Decimal(10,2))",
    "CAST(id AS Text)",
    "toString( id )",
    "0x1F",
    "true",
    "'a\\nb'",
    "[1,2]",
    "[1, 2][1]",
    "tuple(1,'a')",
    "arrayMap(x->x+1, [1,2])",
    "if(id=1,2,3)",
    "toDate('2024-01-01')",
    "interval 1 day",
    "now() > toDateTime('2024-01-01 00:00:00') + interval 1 day",
    "extract(year from toDate('2024-01-01'))",
    "trim( both 'x' from name )",
    "substring(name from 1 for 2)",
    "ceil(1.5)",
    "floor(1.55, 1)",
    "id is not distinct from 1",
    "1+1, 1+ 1",
    "c.*, CAST(id AS String)",
];

/// Those of the two lists that came after Debian's version.
const NEW_IN_CLICKHOUSE: &[&str] = &[
    "id::String",
    "plus(id::Int8, 1)",
    "sum(id) over ()",
    "date_trunc('month', toDate('2024-01-01'))",
];

/// The names that the server itself gives; none if it does not take the statement.
async fn names_of_clickhouse(server: &ClickHouse, sql: &str, database: &str) -> Option<Value> {
    let settings = [("default_format", "JSONCompact"), ("database", database)];
    let answer = server.answer(sql, &settings).await.ok()?;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let columns = answer["meta"].as_array().unwrap().iter();
    Some(
        columns
            .map(|column| unnumbered(column["name"].as_str().unwrap()))
            .collect(),
    )
}

/// ClickHouse numbers the subqueries of a statement, and what the host sends may be the second one of its kind.
fn unnumbered(name: &str) -> Value {
    match name.starts_with("_subquery") {
        true => json!("_subquery"),
        false => json!(name),
    }
}

async fn unnumbered_names(mind: &Mind, sql: &str) -> Value {
    match names(mind, sql).await {
        Value::Array(names) => names
            .iter()
            .map(|name| unnumbered(name.as_str().unwrap()))
            .collect(),
        refusal => refusal,
    }
}

#[tokio::test]
async fn names_are_those_of_clickhouse() {
    let (_host, mind, server) = on_clickhouse().await;
    let of_engine = [CLICKHOUSE, NEW_IN_CLICKHOUSE].concat();
    let mut found = Vec::new();
    for sql in statements(&of_engine) {
        let theirs = names_of_clickhouse(&server, &sql, "shop").await;
        let theirs = theirs.unwrap_or_else(|| panic!("{sql}"));
        found.push((sql.clone(), unnumbered_names(&mind, &sql).await, theirs));
    }
    check(found);
}

#[tokio::test]
async fn names_are_those_of_an_old_clickhouse() {
    let server = ClickHouse::old();
    let made = "CREATE DATABASE named\n;;\nCREATE TABLE named.customers (id Int32, name String) ENGINE = Memory\n;;
        INSERT INTO named.customers VALUES (1, 'Ada'), (2, 'Bob')";
    server.run(made).await;
    let host = Host::start().await;
    let mut data = server.connection_data();
    data["database"] = json!("named");
    host.datasource("shop", "clickhouse", data)
        .await
        .load()
        .await;
    let mind = host.mind("all").datasource("shop").direct_queries();
    let mind = mind.create().await;
    let (mut found, mut skipped) = (Vec::new(), Vec::new());
    for sql in statements(CLICKHOUSE) {
        // What it does not know has no name.
        match names_of_clickhouse(server, &sql, "named").await {
            None => skipped.push(sql),
            Some(theirs) => {
                let ours = unnumbered_names(&mind, &sql).await;
                found.push((sql, ours, theirs));
            }
        }
    }
    assert!(found.len() >= 60, "{skipped:?}");
    check(found);
}

/// Over files the host runs the statement, and its rule is its own: the text of the caller.
#[tokio::test]
async fn names_over_files_are_the_text_of_the_caller() {
    let (_host, mind) = on_files().await;
    let own = [
        "CAST(id AS varchar)",
        "id::varchar",
        "\"name\"||'x'",
        "name || 'x\"y'",
        "date '2024-01-01'",
        "extract(year from date '2024-01-01')",
        "trim( both 'x' from name )",
        "'a\\b'",
    ];
    let is_column = |expression: &str| {
        let bare = expression.trim_matches(['(', ')', ' ']).to_lowercase();
        ["id", "c.id"].contains(&bare.as_str())
    };
    let mut found = Vec::new();
    for expression in EXPRESSIONS.iter().chain(&own) {
        let sql = format!("SELECT {expression} FROM customers c WHERE id = 1");
        let theirs = match is_column(expression) {
            true => "id",
            false => expression
                .trim_start_matches("/* before */ ")
                .trim_end_matches("/* behind */")
                .trim_end_matches("-- behind\n")
                .trim_end(),
        };
        found.push((sql.clone(), names(&mind, &sql).await, json!([theirs])));
    }
    for (sql, theirs) in [
        (
            "SELECT * FROM (SELECT 1+1, count(*), upper( 'x' ) FROM customers) x",
            json!(["1+1", "count(*)", "upper( 'x' )"]),
        ),
        (
            "WITH x AS (SELECT id, id+ 1 FROM customers) SELECT *, 2+ 1 FROM x LIMIT 1",
            json!(["id", "id+ 1", "2+ 1"]),
        ),
        (
            "SELECT max(1), max( 1 ), max(1) FROM customers",
            json!(["max(1)", "max( 1 )", "max(1)"]),
        ),
        (
            "SELECT c.*, 1+ 2, o.*, 3+ 4 FROM customers c JOIN orders o ON o.id = c.id LIMIT 1",
            json!([
                "id",
                "name",
                "city",
                "1+ 2",
                "id",
                "customer_id",
                "total",
                "paid",
                "placed",
                "3+ 4"
            ]),
        ),
    ] {
        found.push((sql.to_owned(), names(&mind, sql).await, theirs));
    }
    check(found);
}

/// SQL Server gives a column without an alias no name, and neither does the host.
#[tokio::test(flavor = "multi_thread")]
async fn columns_of_sql_server_without_an_alias_have_no_name() {
    let double = Double::start("CREATE TABLE dbo.item (id int); INSERT INTO dbo.item VALUES (1)");
    let host = Host::start().await;
    let data = json!({
        "host": "localhost", "port": double.port(), "user": USER, "password": PASSWORD, "database": DATABASE,
    });
    host.datasource("shop", "mssql", data).await.load().await;
    let mind = host.mind("all").datasource("shop").direct_queries();
    let mind = mind.create().await;
    assert_eq!(
        names(&mind, "SELECT 1+1, id, id+1 AS n FROM item").await,
        json!(["", "id", "n"])
    );
}

/// Whatever reads a result has the same names.
#[tokio::test]
async fn pages_exports_and_items_have_the_same_names() {
    let (host, mind) = on_sqlite().await;
    let sql = "SELECT 'a\"'||\n'b', id+ 1, name /* of them */, count( * ) FROM customers GROUP BY id ORDER BY id";
    let expected = json!(["'a\"'||\n'b'", "id+ 1", "name", "count( * )"]);
    let response = mind.sql(sql).await.expect_status(200).json();
    let item = &response["output"][0];
    assert_eq!(item["column_names"], expected);
    let types = item["column_types"].as_array().unwrap().iter();
    let names: Vec<&Value> = types.map(|column| &column["name"]).collect();
    assert_eq!(json!(names), expected);
    // The statement that ran has an alias where it reads well.
    let executed = item["executed_query"].as_str().unwrap();
    assert!(
        executed.contains(r#"id + 1 AS "id+ 1""#) && !executed.contains('\n'),
        "{executed}"
    );
    let path = format!(
        "/conversations/{}/items/{}",
        response["conversation"]["id"].as_str().unwrap(),
        item["id"].as_str().unwrap()
    );
    let page = host.get(&format!("{path}/result?limit=1&offset=1")).await;
    let page = page.expect_status(200).json();
    assert_eq!(page["result"]["column_names"], expected, "{page}");
    let export = host.get(&format!("{path}/export")).await.expect_status(200);
    let header = "\"'a\"\"'||\n'b'\",id+ 1,name,count( * )\n";
    assert!(export.text().starts_with(header), "{}", export.text());
}
