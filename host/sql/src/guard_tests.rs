//! What the guard makes of a statement: tables, pages, counts, datasources, messages.

use proptest::prelude::*;

use super::{
    GuardedStatement, PageStatement, Scope, guard,
    tests::{is_same, shop, table},
};
use mindhost_base::error::{Code, Error, Kind};
use mindhost_plugin_api::{Dialect, Paging};

fn sqlite(sql: &str) -> GuardedStatement {
    guard(sql, &shop(Dialect::Sqlite)).unwrap()
}

fn postgres(sql: &str) -> GuardedStatement {
    guard(sql, &shop(Dialect::Postgresql)).unwrap()
}

fn refused(sql: &str, scope: &Scope) -> Error {
    guard(sql, scope).unwrap_err()
}

#[test]
fn precision_of_an_interval_is_kept() {
    for (sql, expected) in [
        (
            "SELECT interval(0) '1.6 sec' AS i",
            "SELECT CAST('1.6 sec' AS INTERVAL(0)) AS i",
        ),
        (
            "SELECT INTERVAL (3) '1.2345 sec' AS i",
            "SELECT CAST('1.2345 sec' AS INTERVAL(3)) AS i",
        ),
        (
            "SELECT interval '1.6 sec' AS i",
            "SELECT INTERVAL '1.6 sec' AS i",
        ),
    ] {
        assert_eq!(postgres(sql).text(), expected);
    }
}

#[test]
fn isnull_and_notnull_are_operators_of_sqlite() {
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
        let sql = |condition: &str| format!("SELECT id FROM orders WHERE {condition}");
        assert_eq!(sqlite(&sql(written)).text(), sqlite(&sql(meant)).text());
    }
}

#[test]
fn table_gets_its_stored_name() {
    let check = |sql: &str, expected: &str| assert_eq!(postgres(sql).text(), expected);
    check(
        "SELECT id FROM ORDERS",
        r#"SELECT id FROM "public"."orders""#,
    );
    check(
        "SELECT o.id FROM public.orders o",
        r#"SELECT o.id FROM "public"."orders" o"#,
    );
    check(
        "SELECT orders.id FROM shop.orders",
        r#"SELECT orders.id FROM "public"."orders""#,
    );
    check(
        "SELECT shop.orders.id FROM orders",
        r#"SELECT "public".orders.id FROM "public"."orders""#,
    );
    check(
        "SELECT shop.public.orders.id FROM shop.public.orders",
        r#"SELECT public.orders.id FROM "public"."orders""#,
    );
    check(
        "SELECT shop.orders.* FROM orders",
        r#"SELECT "public".orders.* FROM "public"."orders""#,
    );
    let files = |sql: &str| guard(sql, &shop(Dialect::Datafusion)).unwrap();
    assert_eq!(
        files("SELECT Orders.* FROM orders").text(),
        r#"SELECT "files"."orders".* FROM "files"."orders""#
    );
    assert_eq!(
        files("SELECT Files.Orders.* FROM orders").text(),
        r#"SELECT "files"."orders".* FROM "files"."orders""#
    );
    assert_eq!(
        files("SELECT orders.* FROM (SELECT * FROM orders) orders").text(),
        r#"SELECT orders.* FROM (SELECT * FROM "files"."orders") orders"#
    );
    check(
        "WITH orders AS (SELECT id FROM orders) SELECT id FROM orders",
        r#"WITH orders AS (SELECT id FROM "public"."orders") SELECT id FROM orders"#,
    );
    assert_eq!(
        sqlite("select * from Orders").text(),
        r#"SELECT * FROM "main"."orders""#
    );
    assert_eq!(
        sqlite("select * from [order notes]").text(),
        r#"SELECT * FROM "main"."Order Notes""#
    );
}

#[test]
fn functions_and_literals_get_their_plain_form() {
    let check = |sql: &str, expected: &str| assert_eq!(postgres(sql).text(), expected);
    check("SELECT Lower('A')", "SELECT pg_catalog.lower('A')");
    check("SELECT ceil(1.5)", r#"SELECT pg_catalog."ceil"(1.5)"#);
    check(
        "SELECT substr('abc', 2)",
        r#"SELECT pg_catalog."substr"('abc', 2)"#,
    );
    check("SELECT coalesce(1, 2)", "SELECT coalesce(1, 2)");
    // Beside a `regtype` a text is the name of a type, and an error tells whether it exists.
    check(
        "SELECT CASE WHEN false THEN pg_typeof(1) ELSE 'private.t' END",
        "SELECT CASE WHEN false THEN CAST(pg_catalog.pg_typeof(1) AS TEXT) ELSE 'private.t' END",
    );
    check(
        r"SELECT 'a\b', $$x'y$$, N'n', U&'\0061'",
        r"SELECT E'a\\b', 'x''y', 'n', 'a'",
    );
    check("SELECT 1 /* ; DROP */ -- x", "SELECT 1");
    check("SELECT - -1", "SELECT -(-1)");
    assert_eq!(
        sqlite("SELECT 0x1F, 'a''''b'").text(),
        r#"SELECT 31 AS "0x1F", ('a''' || '''b') AS "'a''''b'""#
    );
}

#[test]
fn tables_are_reported_once_and_in_order() {
    let guarded = postgres(
        "WITH x AS (SELECT * FROM customers) SELECT * FROM orders o, x, (SELECT 1 FROM orders) y WHERE EXISTS (SELECT 1 FROM products)",
    );
    let names: Vec<_> = guarded
        .tables()
        .iter()
        .map(|read| read.table.name.as_str())
        .collect();
    assert_eq!(names, ["customers", "orders", "products"]);
}

#[test]
fn page_is_a_limit_of_the_statement() {
    let guarded = postgres("SELECT id FROM orders ORDER BY total");
    assert!(guarded.is_ordered());
    let page = PageStatement::Engine(
        r#"SELECT id FROM "public"."orders" ORDER BY total LIMIT 10 OFFSET 20"#.to_owned(),
    );
    assert_eq!(guarded.page(10, 20), page);
    assert_eq!(
        guarded.count().as_deref(),
        Some(r#"SELECT pg_catalog.count(*) FROM (SELECT id FROM "public"."orders") AS counted"#)
    );
}

#[test]
fn statement_with_its_own_limit_is_paged_by_the_host() {
    let check = |guarded: GuardedStatement| {
        let text = guarded.text().to_owned();
        assert_eq!(
            guarded.page(10, 0),
            PageStatement::Skip { text: text.clone() },
            "{text}"
        );
        assert!(guarded.count().unwrap().contains(&text), "{text}");
    };
    check(postgres("SELECT id FROM orders ORDER BY id LIMIT 3"));
    check(postgres("SELECT id FROM orders OFFSET 3"));
    check(postgres("SELECT id FROM orders FETCH FIRST 2 ROWS ONLY"));
    check(sqlite("SELECT id FROM orders LIMIT 1, 2"));
    check(sqlite(
        "SELECT id FROM orders UNION SELECT id FROM customers LIMIT 1",
    ));
    check(postgres("(SELECT id FROM orders ORDER BY id LIMIT 3)"));
    check(postgres("((SELECT id FROM orders OFFSET 3))"));
}

#[test]
fn values_in_sqlite_take_no_limit_and_are_wrapped() {
    let page = sqlite("VALUES (1), (2)").page(1, 0);
    assert_eq!(
        page,
        PageStatement::Engine("SELECT * FROM (VALUES (1), (2)) LIMIT 1 OFFSET 0".to_owned())
    );
    let page = postgres("VALUES (1), (2)").page(1, 0);
    assert_eq!(
        page,
        PageStatement::Engine("VALUES (1), (2) LIMIT 1 OFFSET 0".to_owned())
    );
}

#[test]
fn paging_by_the_host_keeps_the_statement() {
    let mut scope = shop(Dialect::Mssql);
    let skipped = |scope: &Scope| {
        let guarded = guard("SELECT id FROM orders ORDER BY id", scope).unwrap();
        let text = guarded.text().to_owned();
        assert_eq!(guarded.page(1, 1), PageStatement::Skip { text });
        assert_eq!(guarded.count(), None);
    };
    skipped(&scope);
    scope = shop(Dialect::Sqlite);
    scope.datasources[0].paging = Paging::InMemory;
    skipped(&scope);
}

#[test]
fn volatile_statement_has_no_count() {
    assert_eq!(
        postgres("SELECT id FROM orders WHERE random() < 0.5").count(),
        None
    );
    assert_eq!(
        sqlite("SELECT id FROM orders WHERE random() > 0").count(),
        None
    );
    assert_eq!(
        postgres("SELECT id FROM orders TABLESAMPLE SYSTEM (50)").count(),
        None
    );
}

#[test]
fn order_counts_only_at_the_top() {
    assert!(!postgres("SELECT * FROM (SELECT id FROM orders ORDER BY id) x").is_ordered());
    assert!(!postgres("SELECT row_number() OVER (ORDER BY id) FROM orders").is_ordered());
    assert!(postgres("(SELECT id FROM orders ORDER BY id)").is_ordered());
}

#[test]
fn an_unknown_table_gets_similar_names_of_the_scope_only() {
    let scope = shop(Dialect::Postgresql);
    let error = refused("SELECT 1,\n  x FROM custommers", &scope);
    assert_eq!(error.code(), Code::SqlTableNotAllowed);
    assert_eq!(
        error.message(),
        "`custommers` is not a table of this Mind; similar ones are: public.customers"
    );
    assert_eq!(error.position(), Some(20));
    let error = refused(r#"SELECT * FROM "Order Note""#, &scope);
    assert!(
        error.message().ends_with(r#"public."Order Notes""#),
        "{error}"
    );
    let error = refused("SELECT * FROM salaries", &scope);
    assert!(
        !error
            .message()
            .replacen("salaries", "", 1)
            .contains("salar"),
        "{error}"
    );
}

#[test]
fn syntax_error_has_its_position_in_characters() {
    let error = refused("SELECT 'ü',\n  ,", &shop(Dialect::Postgresql));
    assert_eq!(
        (error.code(), error.position()),
        (Code::SqlSyntax, Some(15))
    );
    let error = refused("SELECT pg_sleep(1)", &shop(Dialect::Postgresql));
    assert_eq!(error.position(), Some(8));
}

#[test]
fn word_directly_behind_a_number_is_refused() {
    let check = |sql: &str, dialect: Dialect| {
        let error = refused(sql, &shop(dialect));
        assert_eq!(error.code(), Code::SqlSyntax, "{dialect:?} {sql}");
        assert!(
            error.message().contains("directly follows a number"),
            "{dialect:?} {error}"
        );
    };
    for dialect in [Dialect::Sqlite, Dialect::Trino, Dialect::Datafusion] {
        check("SELECT 1_000", dialect);
        check("SELECT 1a", dialect);
        check("SELECT id FROM orders WHERE id = 1AND id = 2", dialect);
    }
    check("SELECT 1a", Dialect::Postgresql);
    check("SELECT 1a", Dialect::Clickhouse);
    assert_eq!(postgres("SELECT 1_000").text(), "SELECT 1_000");
    assert_eq!(sqlite("SELECT 1 a").text(), "SELECT 1 AS a");
}

#[test]
fn hash_is_refused_where_it_is_no_operator() {
    for dialect in [Dialect::Sqlite, Dialect::Trino, Dialect::Datafusion] {
        for sql in ["SELECT 5 # 1", "SELECT 5 #1", "SELECT 5 #a comment"] {
            let error = refused(sql, &shop(dialect));
            assert_eq!(error.code(), Code::SqlSyntax, "{dialect:?} {sql}");
            assert!(error.message().contains("`--`"), "{dialect:?} {error}");
        }
    }
}

#[test]
fn functions_of_listed_schemas_are_allowed_when_they_are_qualified() {
    let mut scope = shop(Dialect::Postgresql);
    assert_eq!(
        refused("SELECT geo.area(1)", &scope).code(),
        Code::SqlFunctionNotAllowed
    );
    scope.datasources[0].function_schemas = vec!["geo".to_owned()];
    let passes = |sql: &str| guard(sql, &scope).map(|guarded| guarded.text().to_owned());
    assert_eq!(
        passes("SELECT geo.area(1), 'x'::geo.shape").ok().as_deref(),
        Some("SELECT geo.area(1), 'x'::geo.shape")
    );
    assert!(passes("SELECT 1 OPERATOR(geo.+) 2").is_ok());
    assert!(passes("SELECT * FROM geo.parts(1) AS p(a, b)").is_ok());
    assert!(passes("SELECT area_of(1)").is_err());
    assert!(passes(r#"SELECT "GEO".area(1)"#).is_err());
}

#[test]
fn scope_without_datasources_is_refused() {
    assert_eq!(
        refused("SELECT 1", &Scope::default()).code(),
        Code::DatasourceNotInMind
    );
}

#[test]
fn long_and_deep_statements_are_refused() {
    let scope = shop(Dialect::Postgresql);
    let check = |sql: String| {
        let error = refused(&sql, &scope);
        let expected = [Code::SqlNotSupported, Code::SqlSyntax, Code::SqlNotReadOnly];
        assert!(
            expected.contains(&error.code()),
            "{} {}",
            error.code().as_str(),
            &sql[..40.min(sql.len())]
        );
    };
    let many = |piece: &str, count: usize| piece.repeat(count);
    check(format!("SELECT '{}'", many("x", 300_000)));
    check(format!("SELECT 1{}", many(" + 1", 20_000)));
    check(format!("SELECT {}1{}", many("(", 60), many(")", 60)));
    check(format!("SELECT {}1", many("- ", 5_000)));
    check(format!("SELECT {}true", many("NOT ", 5_000)));
    check(format!("SELECT 1{}", many(" UNION SELECT 1", 5_000)));
    check(format!("SELECT 1{}", many("::int", 5_000)));
    check(format!(
        "SELECT * FROM {}orders{}",
        many("(", 45),
        many(")", 45)
    ));
    check(format!("SELECT {}1{}", many("lower(", 45), many("", 45)));
    check(format!(
        "{}SELECT 1{}",
        many("SELECT * FROM (", 45),
        many(")", 44)
    ));
    check(many("(", 100_000));
    check("SELECT '\0'".to_owned());
}

/// The parser reads some constructs twice. Would one of these take it twice as long for each level, this test would
/// not end. What is closed is accepted or refused like any statement; what is left open is always refused.
#[test]
fn nested_statement_takes_no_exponential_time() {
    let pairs = [
        ("(", ")"),
        ("lower(", ")"),
        ("(SELECT * FROM (", "))"),
        ("(SELECT ", ")"),
        ("EXISTS (SELECT ", ")"),
        ("CAST(", " AS int)"),
        ("ARRAY[", "]"),
        ("ARRAY(", ")"),
        ("INTERVAL (", ")"),
        ("INTERVAL ", ""),
        ("DATE ", ""),
        ("STRUCT(", ")"),
        ("f(a => ", ")"),
        ("(1, ", ")"),
        ("(CASE WHEN ", " THEN 1 END)"),
        ("1 = ANY (SELECT ", ")"),
        ("1 IN ((SELECT ", "), 2)"),
        ("1 IN ((SELECT ", "))"),
        ("sum(1) OVER (PARTITION BY ", ")"),
        ("a[", "]"),
        ("LATERAL (SELECT * FROM ", ") x"),
    ];
    for dialect in [
        Dialect::Sqlite,
        Dialect::Postgresql,
        Dialect::Mysql,
        Dialect::Mssql,
        Dialect::Generic,
    ] {
        let scope = shop(dialect);
        for (before, behind) in pairs {
            for depth in [11, 23, 46] {
                for start in ["SELECT ", "SELECT * FROM ", ""] {
                    let nested = before.repeat(depth);
                    let closed = format!("{start}{nested}1{}", behind.repeat(depth));
                    if let Err(error) = guard(&closed, &scope) {
                        assert_eq!(error.kind(), Kind::Invalid, "{closed}: {error}");
                    }
                    if !behind.is_empty() {
                        let open = refused(&format!("{start}{nested}1"), &scope);
                        assert_eq!(open.kind(), Kind::Invalid, "{open}");
                    }
                }
            }
        }
    }
}

#[test]
fn long_lists_and_chains_within_the_bounds_pass() {
    let numbers: Vec<_> = (0..10_000).map(|number| number.to_string()).collect();
    postgres(&format!(
        "SELECT id FROM orders WHERE id IN ({})",
        numbers.join(", ")
    ));
    postgres(&format!("SELECT 1{}", " + 1".repeat(1_500)));
    postgres(&format!(
        "SELECT {}1{}",
        "CASE WHEN true THEN ".repeat(200),
        " END".repeat(200)
    ));
    sqlite(&format!(
        "SELECT id FROM orders WHERE {}",
        vec!["id = 1"; 900].join(" OR ")
    ));
    postgres(&format!(
        "SELECT * FROM {}(SELECT 1 AS a) x{}",
        "(SELECT * FROM ".repeat(10),
        ") x".repeat(10)
    ));
}

const ALL: [Dialect; 8] = [
    Dialect::Sqlite,
    Dialect::Postgresql,
    Dialect::Mysql,
    Dialect::Mssql,
    Dialect::Clickhouse,
    Dialect::Trino,
    Dialect::Generic,
    Dialect::Datafusion,
];

proptest! {
    #[test]
    fn texts_reach_the_engine_as_they_are(text in "[a-z'\\\\\" \n;$-]{0,12}") {
        let literal = format!("'{}'", text.replace('\'', "''"));
        for scope in [shop(Dialect::Sqlite), shop(Dialect::Postgresql)] {
            let guarded = guard(&format!("SELECT {literal}"), &scope).unwrap();
            prop_assert_eq!(read_text(guarded.text()), text.clone());
        }
    }

    #[test]
    fn names_survive_quoting(name in "[a-zA-Z \"'.;-]{1,12}") {
        prop_assume!(!name.contains("\"\""));
        let mut scope = shop(Dialect::Postgresql);
        scope.datasources[0].tables.push(table("public", &name));
        let quoted = format!("\"{}\"", name.replace('"', "\"\""));
        let guarded = guard(&format!("SELECT * FROM {quoted}"), &scope).unwrap();
        prop_assert_eq!(guarded.text(), format!("SELECT * FROM \"public\".{quoted}"));
    }

    #[test]
    fn no_text_makes_it_panic(sql in "\\PC{0,80}") {
        for dialect in ALL {
            let _ = guard(&sql, &shop(dialect));
            let _ = guard(&format!("SELECT {sql}"), &shop(dialect));
        }
    }

    #[test]
    fn what_passes_passes_again_unchanged(words in prop::collection::vec(prop::sample::select(WORDS), 1..14)) {
        for dialect in ALL {
            // A heading with a backslash gets no alias, but the guard writes this text without one.
            if dialect == Dialect::Datafusion && words.contains(&"E'\\''") {
                continue;
            }
            let scope = shop(dialect);
            if let Ok(guarded) = guard(&format!("SELECT {}", words.join(" ")), &scope) {
                let again = guard(guarded.text(), &scope);
                prop_assert!(again.is_ok_and(|again| is_same(&again, &guarded)), "{}", guarded.text());
            }
        }
    }
}

const WORDS: &[&str] = &[
    "id",
    "orders",
    "customers",
    "salaries",
    "FROM",
    "JOIN",
    "ON",
    "WHERE",
    "AS",
    "x",
    ",",
    "(",
    ")",
    "=",
    "-",
    "--",
    "/*",
    "*/",
    "1",
    "'a'",
    "'",
    "E'\\''",
    "\"x\"",
    ".",
    "*",
    "SELECT",
    "UNION",
    "WITH",
    "count(*)",
    "lower('A')",
    "LIMIT",
    "ORDER BY",
    "NOT",
    "IN",
    "::int",
    "[1]",
    "$$a$$",
    "U&",
    "||",
    "NULL",
    "CASE",
    "WHEN",
    "END",
    "INTERVAL",
    "LATERAL",
    "unnest",
    "TABLESAMPLE",
    "FOR",
    "INTO",
    "@",
    "`",
    "\\",
    "#",
    ";",
];

/// Reads `SELECT` and a text back as the engine does: one or more literals, joined by `||`.
fn read_text(sql: &str) -> String {
    let mut rest = sql.strip_prefix("SELECT ").unwrap();
    let mut text = String::new();
    rest = rest.trim_start_matches('(');
    loop {
        let escapes = rest.starts_with('E');
        let mut characters = rest
            .trim_start_matches('E')
            .char_indices()
            .skip(1)
            .peekable();
        let mut end = 0;
        while let Some((at, character)) = characters.next() {
            match (character, characters.peek().map(|(_, next)| *next)) {
                ('\'', Some('\'')) | ('\\', Some('\'' | '\\')) if character == '\'' || escapes => {
                    text.push(characters.next().unwrap().1);
                }
                ('\\', Some('n')) if escapes => {
                    characters.next();
                    text.push('\n');
                }
                ('\'', _) => {
                    end = at + 1;
                    break;
                }
                _ => text.push(character),
            }
        }
        rest = &rest.trim_start_matches('E')[end..];
        match rest.strip_prefix(" || ") {
            Some(next) => rest = next,
            None => return text,
        }
    }
}
