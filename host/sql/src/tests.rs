//! The guard against the lists in `tests/sql`, and against statements made by chance.

use super::{GuardedStatement, Scope, ScopeDatasource, ScopeTable, guard};
use mindhost_base::error::Result;
use mindhost_plugin_api::{Dialect, TableRef};

/// A statement of a list, with the code that it is expected to end in.
struct Case {
    expect: Option<&'static str>,
    statement: String,
}

/// Reads a list; `tests/sql/README.md` describes the format.
fn cases(list: &'static str) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut expect = None;
    let mut statement = String::new();
    for line in list.lines().chain([";;"]) {
        if let Some(code) = line.strip_prefix("-- expect:") {
            expect = Some(code.trim());
        } else if line == ";;" {
            let text = std::mem::take(&mut statement).trim_matches('\n').to_owned();
            if !text.is_empty() {
                cases.push(Case {
                    expect,
                    statement: text,
                });
            }
        } else if !line.starts_with("-- #") {
            statement += line;
            statement.push('\n');
        }
    }
    cases
}

pub(crate) fn datasource(name: &str, dialect: Dialect) -> ScopeDatasource {
    let schema = match dialect {
        Dialect::Sqlite => "main",
        Dialect::Datafusion => "files",
        Dialect::Clickhouse | Dialect::Mysql | Dialect::Trino => "shop",
        Dialect::Mssql => "dbo",
        _ => "public",
    };
    let tables = [
        "customers",
        "orders",
        "order_items",
        "products",
        "categories",
        "Order Notes",
        "order_totals",
    ];
    let tables = tables.map(|name| table(schema, name)).into();
    ScopeDatasource::new(name, dialect, tables)
}

pub(crate) fn table(schema: &str, name: &str) -> ScopeTable {
    ScopeTable::new(TableRef::new(schema, name), &[])
}

pub(super) fn shop(dialect: Dialect) -> Scope {
    Scope {
        datasources: vec![datasource("shop", dialect)],
    }
}

fn code(result: &Result<GuardedStatement>) -> &'static str {
    result
        .as_ref()
        .map_or_else(|error| error.code().as_str(), |_| "passed")
}

fn legitimate(dialect: Dialect, list: &'static str) {
    let scope = shop(dialect);
    let cases = cases(list);
    assert!(cases.len() >= 60);
    let mut wrong = Vec::new();
    for case in cases {
        match guard(&case.statement, &scope) {
            Ok(guarded) => match guard(guarded.text(), &scope) {
                Ok(again) if is_same(&again, &guarded) => {}
                Ok(again) => wrong.push(format!(
                    "not stable:\n  {}\n  {}",
                    guarded.text(),
                    again.text()
                )),
                Err(error) => wrong.push(format!("refused again: {}\n  {error}", guarded.text())),
            },
            Err(error) => wrong.push(format!(
                "{}\n  {} {error} {:?}",
                case.statement,
                error.code().as_str(),
                std::error::Error::source(&error).map(ToString::to_string)
            )),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Whether two statements do the same, however their callers wrote them.
pub fn is_same(a: &GuardedStatement, b: &GuardedStatement) -> bool {
    a.text() == b.text()
        && a.shown() == b.shown()
        && a.reads() == b.reads()
        && a.tables() == b.tables()
        && a.page(3, 5) == b.page(3, 5)
        && a.count() == b.count()
        && a.is_ordered() == b.is_ordered()
        && a.is_volatile() == b.is_volatile()
}

fn attacks(dialect: Dialect, list: &'static str) {
    let cases = cases(list);
    assert!(cases.len() >= 100);
    refused(&shop(dialect), cases);
}

fn refused(scope: &Scope, cases: Vec<Case>) {
    let mut wrong = Vec::new();
    for case in cases {
        let expect = case.expect.unwrap_or("no expectation");
        let result = guard(&case.statement, scope);
        let found = code(&result);
        // What only the engine refuses must have passed here, or the list says less than it could.
        if !(found == expect || (expect == "sql_invalid" && found == "passed")) {
            wrong.push(format!(
                "{expect}, but {found}: {}\n  {:?}",
                case.statement,
                result.as_ref().map(GuardedStatement::text)
            ));
        }
        if let Ok(guarded) = result {
            assert!(
                !guarded
                    .tables()
                    .iter()
                    .any(|read| read.table.name.contains("salar"))
            );
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn legitimate_statements_for_sqlite_pass() {
    legitimate(
        Dialect::Sqlite,
        include_str!("../../../tests/sql/legitimate/sqlite.sql"),
    );
}

#[test]
fn legitimate_statements_for_postgresql_pass() {
    legitimate(
        Dialect::Postgresql,
        include_str!("../../../tests/sql/legitimate/postgresql.sql"),
    );
}

#[test]
fn legitimate_statements_for_sql_server_pass() {
    legitimate(
        Dialect::Mssql,
        include_str!("../../../tests/sql/legitimate/mssql.sql"),
    );
}

#[test]
fn attacks_on_sql_server_are_refused() {
    attacks(
        Dialect::Mssql,
        include_str!("../../../tests/sql/attacks/mssql.sql"),
    );
}

#[test]
fn attacks_on_sqlite_are_refused() {
    attacks(
        Dialect::Sqlite,
        include_str!("../../../tests/sql/attacks/sqlite.sql"),
    );
}

#[test]
fn attacks_on_postgresql_are_refused() {
    attacks(
        Dialect::Postgresql,
        include_str!("../../../tests/sql/attacks/postgresql.sql"),
    );
}

#[test]
fn legitimate_statements_for_mysql_pass() {
    legitimate(
        Dialect::Mysql,
        include_str!("../../../tests/sql/legitimate/mysql.sql"),
    );
}

#[test]
fn attacks_on_mysql_are_refused() {
    attacks(
        Dialect::Mysql,
        include_str!("../../../tests/sql/attacks/mysql.sql"),
    );
}

#[test]
fn legitimate_statements_for_datafusion_pass() {
    legitimate(
        Dialect::Datafusion,
        include_str!("../../../tests/sql/legitimate/datafusion.sql"),
    );
}

#[test]
fn attacks_on_datafusion_are_refused() {
    attacks(
        Dialect::Datafusion,
        include_str!("../../../tests/sql/attacks/datafusion.sql"),
    );
}

#[test]
fn legitimate_statements_for_clickhouse_pass() {
    legitimate(
        Dialect::Clickhouse,
        include_str!("../../../tests/sql/legitimate/clickhouse.sql"),
    );
}

#[test]
fn attacks_on_clickhouse_are_refused() {
    attacks(
        Dialect::Clickhouse,
        include_str!("../../../tests/sql/attacks/clickhouse.sql"),
    );
}

#[test]
fn legitimate_statements_for_trino_pass() {
    legitimate(
        Dialect::Trino,
        include_str!("../../../tests/sql/legitimate/trino.sql"),
    );
}

#[test]
fn attacks_on_trino_are_refused() {
    attacks(
        Dialect::Trino,
        include_str!("../../../tests/sql/attacks/trino.sql"),
    );
}

#[test]
fn attacks_over_several_datasources_are_refused() {
    let scope = Scope {
        datasources: vec![
            datasource("shop", Dialect::Postgresql),
            datasource("lite", Dialect::Sqlite),
            datasource("files", Dialect::Datafusion),
        ],
    };
    let cases = cases(include_str!("../../../tests/sql/attacks/federated.sql"));
    assert!(cases.len() >= 40);
    refused(&scope, cases);
}
