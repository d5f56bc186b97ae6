//! Statements in a scope of several datasources.

use super::{
    Reads, Scope, guard,
    tests::{datasource, shop, table},
};
use mindhost_base::error::{Code, Error};
use mindhost_plugin_api::Dialect;

fn refused(sql: &str, scope: &Scope) -> Error {
    guard(sql, scope).unwrap_err()
}

fn two() -> Scope {
    let mut west = datasource("west", Dialect::Sqlite);
    west.tables.push(table("main", "stores"));
    let mut east = datasource("east", Dialect::Postgresql);
    east.tables.push(table("audit", "orders"));
    Scope {
        datasources: vec![west, east],
    }
}

#[test]
fn a_statement_goes_to_the_datasource_of_its_tables_in_that_dialect() {
    let scope = two();
    let check = |sql: &str, datasource: usize, text: &str| {
        let guarded = guard(sql, &scope).unwrap();
        assert_eq!(
            (guarded.reads().one(), guarded.text()),
            (Some(datasource), text)
        );
    };
    check(
        "SELECT * FROM stores",
        0,
        r#"SELECT * FROM "main"."stores""#,
    );
    check(
        "SELECT * FROM west.orders",
        0,
        r#"SELECT * FROM "main"."orders""#,
    );
    check(
        "SELECT id::text, orders.total FROM east.public.orders",
        1,
        r#"SELECT id::TEXT, orders.total FROM "public"."orders""#,
    );
    check(
        "SELECT * FROM audit.orders",
        1,
        r#"SELECT * FROM "audit"."orders""#,
    );
    check(
        "SELECT west.orders.id, WEST.stores.* FROM west.orders, west.stores",
        0,
        r#"SELECT "main".orders.id, "main".stores.* FROM "main"."orders", "main"."stores""#,
    );
    check("SELECT 1", 0, "SELECT 1");
}

#[test]
fn tables_of_several_datasources_get_full_names_for_the_host() {
    let check = |sql: &str, text: &str| {
        let guarded = guard(sql, &two()).unwrap();
        assert_eq!(
            (guarded.reads(), guarded.text()),
            (&Reads::Several(vec![0, 1]), text)
        );
        assert_eq!(guarded.count(), None, "the host counts");
        assert_eq!(guard(text, &two()).unwrap(), guarded);
    };
    check(
        "SELECT * FROM west.orders w JOIN east.public.orders e ON e.id = w.id",
        r#"SELECT * FROM "west"."main"."orders" w JOIN "east"."public"."orders" e ON e.id = w.id"#,
    );
    check(
        "SELECT stores.city, west.orders.id, public.orders.id, east.audit.orders.* FROM stores, West.ORDERS, \
         east.public.orders, east.audit.orders",
        r#"SELECT stores.city, "west"."main"."orders".id, "east"."public"."orders".id, "east"."audit"."orders".* FROM "west"."main"."stores", "west"."main"."orders", "east"."public"."orders", "east"."audit"."orders""#,
    );
    check(
        "WITH o AS (SELECT * FROM stores) SELECT * FROM o WHERE id IN (SELECT id FROM east.customers)",
        r#"WITH o AS (SELECT * FROM "west"."main"."stores") SELECT * FROM o WHERE id IN (SELECT id FROM "east"."public"."customers")"#,
    );
}

/// A server of MySQL may take names of tables in any case, and SQLite takes them so in quotes too.
#[test]
fn qualifier_is_compared_as_from_compares_it() {
    let mut scope = two();
    scope.datasources.push(datasource("south", Dialect::Mysql));
    for (table, column) in [
        (r#"south."ORDERS""#, r#"south."ORDERS".id"#),
        (r#"south."ORDERS""#, r#"south.shop."ORDERS".id"#),
        (r#"west."ORDERS""#, r#"west."Orders".id"#),
    ] {
        let sql = format!("SELECT {column} FROM {table}, east.customers");
        let guarded = guard(&sql, &scope).unwrap();
        let text = guarded.text();
        assert!(text.contains(r#"."orders".id FROM"#), "{text}");
    }
}

#[test]
fn statement_over_several_datasources_has_the_functions_of_the_host() {
    let join =
        |what: &str| format!("SELECT {what} FROM stores s JOIN east.customers c ON c.id = s.id");
    assert!(guard(&join("date_trunc('month', c.since)"), &two()).is_ok());
    let error = refused(&join("pg_catalog.pg_backend_pid()"), &two());
    assert_eq!(error.code(), Code::SqlFunctionNotAllowed);
    let error = refused(&join("(SELECT max(id) FROM salaries)"), &two());
    assert_eq!(error.code(), Code::SqlTableNotAllowed);
}

#[test]
fn list_that_begins_with_a_subquery_is_read() {
    for (written, meant) in [
        (
            "s.id IN ((SELECT max(id) FROM east.customers), 2)",
            "(s.id = (SELECT max(id) FROM east.customers) OR s.id IN (2))",
        ),
        (
            "s.id NOT IN ((SELECT max(id) FROM east.customers), ((SELECT 4)), 2, (SELECT 3))",
            "(s.id <> (SELECT max(id) FROM east.customers) AND s.id <> ((SELECT 4)) AND s.id NOT IN (2, (SELECT 3)))",
        ),
        (
            "s.id IN ((SELECT max(id) FROM east.customers) + 1) AND s.id > 0",
            "(s.id = ((SELECT max(id) FROM east.customers) + 1)) AND s.id > 0",
        ),
        (
            "s.id IN ((WITH x AS (SELECT 1 AS n) SELECT n FROM x), (SELECT max(id) FROM east.customers))",
            "(s.id = (WITH x AS (SELECT 1 AS n) SELECT n FROM x) OR s.id = (SELECT max(id) FROM east.customers))",
        ),
    ] {
        let sql = |condition: &str| format!("SELECT s.id FROM stores s WHERE {condition}");
        let texts = [written, meant].map(|condition| guard(&sql(condition), &two()).unwrap());
        assert_eq!(texts[0].text(), texts[1].text(), "{written}");
    }
    // It is a subquery in brackets.
    for kept in [
        "s.id IN ((SELECT id FROM east.customers))",
        "s.id IN ((SELECT id FROM east.customers) UNION (SELECT 1))",
    ] {
        let sql = format!("SELECT s.id FROM stores s WHERE {kept}");
        let guarded = guard(&sql, &two()).unwrap();
        assert!(
            guarded.text().contains(" IN ((SELECT"),
            "{}",
            guarded.text()
        );
    }
}

#[test]
fn refusal_is_that_of_the_engine_that_would_run_the_statement() {
    let mut scope = two();
    scope.datasources.push(datasource("south", Dialect::Mysql));
    scope.datasources.reverse();
    for (sql, says) in [
        (
            "SELECT date_trunc('month', since) FROM west.customers",
            "SQLite functions",
        ),
        ("SELECT foo(id) FROM stores", "SQLite functions"),
        ("SELECT foo(id) FROM east.customers", "PostgreSQL functions"),
        (
            "WITH orders AS (SELECT foo(id) FROM west.customers) SELECT * FROM orders",
            "SQLite functions",
        ),
        (
            "SELECT median(s.id), no_such(s.id) FROM stores s JOIN east.customers c ON c.id = s.id",
            "`no_such` is not on the list of harmless DataFusion functions",
        ),
        (
            "SELECT s.id FROM west.customers s, east.customers c WHERE s.id = = c.id",
            "cannot be read as DataFusion",
        ),
        (
            "SELECT id FROM west.customers WHERE id = = 1",
            "cannot be read as SQLite",
        ),
    ] {
        let error = refused(sql, &scope);
        assert!(error.message().contains(says), "{sql}: {error}");
    }
}

#[test]
fn one_statement_reads_at_most_sixteen_datasources() {
    let names: Vec<_> = (0..17).map(|index| format!("d{index}")).collect();
    let datasources = names.iter().map(|name| datasource(name, Dialect::Sqlite));
    let scope = Scope {
        datasources: datasources.collect(),
    };
    let all = |count: usize| {
        let tables: Vec<_> = names
            .iter()
            .take(count)
            .map(|name| format!("{name}.orders"))
            .collect();
        format!("SELECT 1 FROM {}", tables.join(", "))
    };
    assert!(guard(&all(16), &scope).is_ok());
    assert_eq!(
        refused(&all(17), &scope).code(),
        Code::SqlSeveralDatasources
    );
}

#[test]
fn an_ambiguous_name_lists_its_candidates() {
    let error = refused("SELECT * FROM orders", &two());
    assert_eq!(error.code(), Code::SqlTableAmbiguous);
    assert!(
        error
            .message()
            .ends_with("west.main.orders, east.public.orders, east.audit.orders"),
        "{error}"
    );
    let error = refused("SELECT * FROM east.orders", &two());
    assert_eq!(error.code(), Code::SqlTableAmbiguous);
}

#[test]
fn hash_begins_no_comment_where_another_dialect_may_have_it_as_an_operator() {
    let mut scope = two();
    let south = datasource("south", Dialect::Mysql);
    scope.datasources.insert(0, south);
    let join = "FROM west.stores s JOIN east.customers c ON c.id = s.id";
    let error = refused(&format!("SELECT 5 # 1 {join}"), &scope);
    assert!(error.message().contains("`--`"), "{error}");
    let error = refused("SELECT id FROM south.orders # the old form", &scope);
    assert_eq!(error.code(), Code::SqlNotSupported);
    assert!(error.message().contains("`--`"), "{error}");
    assert!(guard("SELECT '#', id FROM south.orders -- #", &scope).is_ok());
    let guarded = guard("SELECT 5 # 1", &scope).unwrap();
    assert_eq!(
        (guarded.reads().one(), guarded.text()),
        (Some(2), "SELECT 5 # 1"),
        "an operator of PostgreSQL"
    );
    assert!(
        guard(
            "SELECT id FROM orders # the old form",
            &shop(Dialect::Mysql)
        )
        .is_ok()
    );
}

#[test]
fn refused_function_of_the_host_says_what_to_write() {
    for (call, says) in [
        ("age(c.since, s.since)", "a - b"),
        ("make_interval(0, 0, 0, 3)", "n * interval"),
        ("md5(c.name)", "hashes"),
        ("strftime(c.since, '%Y')", "to_char"),
        ("foo(c.name)", "without it"),
    ] {
        let sql = format!("SELECT {call} FROM stores s JOIN east.customers c ON c.id = s.id");
        let error = refused(&sql, &two());
        assert_eq!(error.code(), Code::SqlFunctionNotAllowed, "{call}");
        let message = error.message();
        assert!(
            message.contains("DataFusion functions, by which the server") && message.contains(says),
            "{call}: {message}"
        );
    }
    for call in [
        "mod(c.id, 2)",
        "sign(c.id)",
        "last_day(c.since)",
        "ceiling(c.id)",
    ] {
        let sql = format!("SELECT {call} FROM stores s JOIN east.customers c ON c.id = s.id");
        assert!(guard(&sql, &two()).is_ok(), "{call}");
    }
}

#[test]
fn full_join_of_one_mysql_is_refused_and_of_several_datasources_not() {
    let scope = Scope {
        datasources: vec![
            datasource("north", Dialect::Mysql),
            datasource("south", Dialect::Mysql),
        ],
    };
    let join = |left: &str, right: &str| {
        format!(
            "SELECT c.id FROM {left}.customers c FULL JOIN {right}.orders o ON o.customer_id = c.id"
        )
    };
    let error = refused(&join("south", "south"), &scope);
    assert_eq!(error.code(), Code::SqlNotSupported);
    assert!(error.message().contains("LEFT JOIN"), "{error}");
    let guarded = guard(&join("north", "south"), &scope).unwrap();
    assert_eq!(guarded.reads(), &Reads::Several(vec![0, 1]));
}

#[test]
fn form_that_cannot_be_read_says_what_to_write() {
    let scope = Scope::from(datasource("files", Dialect::Datafusion));
    for (condition, says) in [
        ("id BETWEEN SYMMETRIC 3 AND 1", "least(b, c)"),
        ("id DIV 2 = 1", "trunc(a / b)"),
        ("id = ANY (VALUES (1), (2))", "IN (VALUES …)"),
        ("id = = 1", "cannot be read as DataFusion: Expected"),
        (
            "id = = 1 ORDER BY div DESC",
            "cannot be read as DataFusion: Expected",
        ),
    ] {
        let error = refused(
            &format!("SELECT id FROM customers WHERE {condition}"),
            &scope,
        );
        assert_eq!(error.code(), Code::SqlSyntax, "{condition}");
        assert!(error.message().contains(says), "{condition}: {error}");
    }
    for (sql, says) in [
        (
            "SELECT j.id FROM customers a JOIN customers b USING (id) AS j",
            "by the tables",
        ),
        (
            "SELECT sum(id) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW) FROM customers",
            "sum(x) OVER (…) - x",
        ),
    ] {
        let error = refused(sql, &scope);
        assert!(error.message().contains(says), "{sql}: {error}");
    }
}

#[test]
fn materialized_is_no_part_of_a_statement_of_the_host() {
    let scope = Scope::from(datasource("files", Dialect::Datafusion));
    for written in ["AS MATERIALIZED (", "AS NOT MATERIALIZED ("] {
        let sql = format!("WITH x {written}SELECT id FROM customers) SELECT id FROM x");
        let guarded = guard(&sql, &scope).unwrap();
        assert!(
            guarded.text().starts_with("WITH x AS (SELECT"),
            "{guarded:?}"
        );
    }
}
