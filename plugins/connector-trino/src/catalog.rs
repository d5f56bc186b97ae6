//! Tables, columns and comments, from `information_schema` and Trino's own catalog `system`; statistics from
//! `SHOW STATS`.

use std::time::{Duration, Instant};

use mindhost_sdk::{
    ColumnStatistics, Error, ErrorKind, Result, StatisticsOptions, Table, TableColumn, TableRef,
    control,
};

use crate::client::rows;
use crate::config::ConnectionData;
use crate::error::malformed;

/// What the columns of a hundred tables may take, in bytes.
const MAX_ANSWER: usize = 64 << 20;
/// The most tables that the host takes.
const MAX_TABLES: usize = 100_000;
/// How long the rows of tables are asked for in one call; those behind it have no count.
const COUNTING: Duration = Duration::from_secs(10);

/// Looks for the schemas that the catalog is restricted to.
///
/// # Errors
/// `NotFound` with the first that the user does not see.
pub(crate) fn check_schemas(data: &ConnectionData) -> Result<()> {
    if data.schemas.is_empty() {
        return Ok(());
    }
    let sql = format!(
        "SELECT schema_name FROM {}.information_schema.schemata WHERE schema_name IN ({})",
        quoted(&data.catalog),
        literals(&data.schemas)
    );
    let known: Vec<_> = rows(data, &sql, MAX_ANSWER)?
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    match data.schemas.iter().find(|schema| !known.contains(schema)) {
        None => Ok(()),
        Some(absent) => Err(Error::not_found(format!(
            "the catalog `{}` has no schema `{absent}`, or the user may not see it; correct `schemas`",
            data.catalog
        ))),
    }
}

/// Every table and view of the catalog, or of its schemas in the connection data.
pub(crate) fn tables(data: &ConnectionData) -> Result<Vec<TableRef>> {
    let only = match data.schemas.as_slice() {
        [] => String::new(),
        schemas => format!(" AND table_schema IN ({})", literals(schemas)),
    };
    let sql = format!(
        "SELECT table_schema, table_name FROM {}.information_schema.tables \
         WHERE table_schema <> 'information_schema'{only} ORDER BY 1, 2 LIMIT {}",
        quoted(&data.catalog),
        MAX_TABLES + 1
    );
    let table = |row: Vec<Option<String>>| match row.as_slice() {
        [Some(schema), Some(name)] => Ok(TableRef::new(schema.as_str(), name.as_str())),
        _ => Err(unreadable()),
    };
    rows(data, &sql, MAX_ANSWER)?
        .into_iter()
        .map(table)
        .collect()
}

/// Columns, comments and counts of some tables.
pub(crate) fn describe(data: &ConnectionData, tables: &[TableRef]) -> Result<Vec<Table>> {
    if tables.is_empty() {
        return Ok(Vec::new());
    }
    let mut described = kinds(data, tables)?;
    for (at, column) in columns(data, tables)? {
        if let Some(table) = described.iter_mut().find(|known| known.table == at) {
            let ordinal = u32::try_from(table.columns.len() + 1).unwrap_or(u32::MAX);
            table.columns.push(TableColumn { ordinal, ..column });
        }
    }
    described.retain(|table| !table.columns.is_empty());
    comment(data, &mut described)?;
    let from = Instant::now();
    for table in described.iter_mut().filter(|table| table.kind == "TABLE") {
        if from.elapsed() > COUNTING || control::check().is_err() {
            break;
        }
        table.row_count = match stats(data, &table.table) {
            Ok(stats) => stats.count(),
            Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
            // The rest of the table is known, and serves without a count.
            Err(_) => None,
        };
    }
    Ok(described)
}

fn kinds(data: &ConnectionData, tables: &[TableRef]) -> Result<Vec<Table>> {
    let sql = format!(
        "SELECT table_schema, table_name, table_type FROM {}.information_schema.tables WHERE {}",
        quoted(&data.catalog),
        wanted(tables, "table_schema", "table_name")
    );
    let mut found = Vec::new();
    for row in rows(data, &sql, MAX_ANSWER)? {
        let [Some(schema), Some(name), kind] = row.as_slice() else {
            return Err(unreadable());
        };
        let at = TableRef::new(schema.as_str(), name.as_str());
        if tables.contains(&at) {
            let is_table = kind.as_deref() == Some("BASE TABLE");
            found.push(Table::new(at, if is_table { "TABLE" } else { "VIEW" }));
        }
    }
    Ok(found)
}

/// The columns in the order of their tables. `system.jdbc.columns` alone has their comments.
fn columns(data: &ConnectionData, tables: &[TableRef]) -> Result<Vec<(TableRef, TableColumn)>> {
    let sql = format!(
        "SELECT table_schem, table_name, column_name, type_name, is_nullable, remarks, column_def \
         FROM system.jdbc.columns WHERE table_cat = {} AND {} ORDER BY 1, 2, ordinal_position",
        literal(&data.catalog),
        wanted(tables, "table_schem", "table_name")
    );
    let column = |row: Vec<Option<String>>| {
        let [schema, name, column, native, nullable, comment, default] =
            <[Option<String>; 7]>::try_from(row).map_err(|_| unreadable())?;
        let (Some(schema), Some(name), Some(column), Some(native)) = (schema, name, column, native)
        else {
            return Err(unreadable());
        };
        let mut column = TableColumn::new(column, 0, native);
        column.nullable = nullable.as_deref() != Some("NO");
        column.comment = comment.filter(|text| !text.is_empty());
        column.default_value = default;
        Ok((TableRef::new(schema, name), column))
    };
    rows(data, &sql, MAX_ANSWER)?
        .into_iter()
        .map(column)
        .collect()
}

/// Adds the comments of tables. A user may be kept from that table of Trino's; then there are none.
fn comment(data: &ConnectionData, tables: &mut [Table]) -> Result<()> {
    let refs: Vec<TableRef> = tables.iter().map(|table| table.table.clone()).collect();
    if refs.is_empty() {
        return Ok(());
    }
    let sql = format!(
        "SELECT schema_name, table_name, comment FROM system.metadata.table_comments \
         WHERE comment IS NOT NULL AND catalog_name = {} AND {}",
        literal(&data.catalog),
        wanted(&refs, "schema_name", "table_name")
    );
    let found = match rows(data, &sql, MAX_ANSWER) {
        Err(error) if error.kind() == ErrorKind::Permission => return Ok(()),
        other => other?,
    };
    for row in found {
        let [Some(schema), Some(name), Some(comment)] = row.as_slice() else {
            return Err(unreadable());
        };
        let at = TableRef::new(schema.as_str(), name.as_str());
        if let Some(table) = tables.iter_mut().find(|table| table.table == at) {
            table.comment = (!comment.is_empty()).then(|| comment.clone());
        }
    }
    Ok(())
}

/// What the optimizer knows of the columns of a table; `None` if it knows nothing.
pub(crate) fn statistics(
    data: &ConnectionData,
    table: &TableRef,
    options: &StatisticsOptions,
) -> Result<Option<Vec<ColumnStatistics>>> {
    let stats = stats(data, table)?;
    let Some(count) = stats.count() else {
        return Ok(None);
    };
    let mut known = Vec::new();
    for column in &stats.0 {
        let wanted = options.columns.iter().find(|name| **name == column.name);
        let (Some(name), Some(distinct)) = (wanted, column.distinct) else {
            continue;
        };
        let mut statistics = ColumnStatistics::new(name.as_str());
        statistics.distinct_count = Some(distinct.min(count));
        statistics.null_fraction = column.nulls;
        statistics.min_value.clone_from(&column.low);
        statistics.max_value.clone_from(&column.high);
        statistics.estimated = true;
        known.push(statistics);
    }
    // Where some columns are unknown, a sample of the host says more.
    Ok((known.len() == options.columns.len()).then_some(known))
}

/// The answer to `SHOW STATS`: a row a column, and one without a name for the table.
struct Stats(Vec<Stat>);

struct Stat {
    name: String,
    distinct: Option<u64>,
    nulls: Option<f64>,
    rows: Option<f64>,
    low: Option<String>,
    high: Option<String>,
}

impl Stats {
    fn count(&self) -> Option<u64> {
        self.0.iter().find_map(|row| row.rows).and_then(whole)
    }
}

fn stats(data: &ConnectionData, table: &TableRef) -> Result<Stats> {
    let name = [&data.catalog, &table.schema, &table.name].map(|name| quoted(name));
    let answer = rows(
        data,
        &format!("SHOW STATS FOR {}", name.join(".")),
        MAX_ANSWER,
    );
    let found = match answer {
        // Some connectors have none, and a table may be gone.
        Err(error) if is_about_the_table(&error) => return Ok(Stats(Vec::new())),
        other => other?,
    };
    let number = |text: Option<String>| {
        let number = text.and_then(|text| text.parse::<f64>().ok());
        number.filter(|number| number.is_finite() && *number >= 0.0)
    };
    let stat = |row: Vec<Option<String>>| {
        let [name, _, distinct, nulls, rows, low, high] =
            <[Option<String>; 7]>::try_from(row).map_err(|_| unreadable())?;
        Ok(Stat {
            name: name.unwrap_or_default(),
            distinct: number(distinct).and_then(whole),
            nulls: number(nulls).filter(|share| *share <= 1.0),
            rows: number(rows),
            low,
            high,
        })
    };
    let stats = found.into_iter().map(stat).collect::<Result<_>>()?;
    Ok(Stats(stats))
}

fn is_about_the_table(error: &Error) -> bool {
    use ErrorKind::{InvalidStatement, Permission, Upstream};
    matches!(error.kind(), InvalidStatement | Permission)
        || (error.kind() == Upstream && error.engine_code() == "JDBC_ERROR")
}

/// An estimate as a count.
fn whole(number: f64) -> Option<u64> {
    let most = 9_007_199_254_740_992.0;
    // In range and not negative, so nothing is lost but the fraction.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    (0.0..=most)
        .contains(&number)
        .then(|| number.round() as u64)
}

/// A condition for the tables that are wanted, of a form that connectors can use; it may let others through.
fn wanted(tables: &[TableRef], schema: &str, name: &str) -> String {
    let mut schemas: Vec<_> = tables.iter().map(|table| table.schema.as_str()).collect();
    let mut names: Vec<_> = tables.iter().map(|table| table.name.as_str()).collect();
    for list in [&mut schemas, &mut names] {
        list.sort_unstable();
        list.dedup();
    }
    format!(
        "{schema} IN ({}) AND {name} IN ({})",
        literals(&schemas),
        literals(&names)
    )
}

fn literals(texts: &[impl AsRef<str>]) -> String {
    let texts: Vec<_> = texts.iter().map(|text| literal(text.as_ref())).collect();
    texts.join(", ")
}

/// A text of SQL.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name of SQL.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn unreadable() -> Error {
    malformed("a row of its own catalog that cannot be read")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use mindhost_sdk::http::{Request, Response};
    use mindhost_sdk::testing::{StandIn, stand_in};

    use super::*;

    fn data() -> ConnectionData {
        ConnectionData {
            url: "http://localhost:8080".into(),
            user: "app".into(),
            catalog: "c".into(),
            schemas: Vec::new(),
            session_properties: BTreeMap::new(),
            roles: BTreeMap::new(),
            spooling: false,
            segments_url: None,
        }
    }

    fn page(json: &str) -> Response {
        Response::scripted(200, vec![Ok(json.as_bytes().to_vec())])
    }

    /// A coordinator with the tables `s.a` and `s.b`. `stats` answers the first statement about rows, which is for `a`.
    fn server(stats: fn() -> Result<Response>) -> StandIn {
        stand_in(
            move |request: &Request| match &*String::from_utf8_lossy(&request.body) {
                sql if sql.contains("table_type") => Ok(page(
                    r#"{"id": "k", "data": [["s", "a", "BASE TABLE"], ["s", "b", "BASE TABLE"]]}"#,
                )),
                sql if sql.contains("jdbc.columns") => Ok(page(
                    r#"{"id": "c", "data": [["s", "a", "n", "bigint", "YES", null, null],
                        ["s", "b", "n", "bigint", "YES", null, null]]}"#,
                )),
                "SHOW STATS FOR \"c\".\"s\".\"a\"" => stats(),
                sql if sql.starts_with("SHOW STATS") => Ok(page(
                    r#"{"id": "s", "data": [[null, null, null, null, 3.0, null, null]]}"#,
                )),
                _ => Ok(page(r#"{"id": "o", "data": []}"#)),
            },
        )
    }

    fn counts() -> Result<Vec<(String, Option<u64>)>> {
        let wanted = [TableRef::new("s", "a"), TableRef::new("s", "b")];
        let described = describe(&data(), &wanted)?.into_iter();
        Ok(described
            .map(|table| (table.table.name, table.row_count))
            .collect())
    }

    #[test]
    fn a_table_whose_rows_cannot_be_counted_is_described() {
        let all: [fn() -> Result<Response>; 3] = [
            || {
                Ok(page(
                    r#"{"id": "s", "error": {"message": "no", "errorName": "HIVE_METASTORE_ERROR",
                        "errorType": "EXTERNAL"}}"#,
                ))
            },
            || Ok(page(r#"{"id": "s", "data": [["one"]]}"#)),
            || Err(Error::timeout("the answer took too long")),
        ];
        for stats in all {
            let _host = server(stats);
            let expected = [("a".to_owned(), None), ("b".to_owned(), Some(3))];
            assert_eq!(counts().unwrap(), expected);
        }
    }

    #[test]
    fn a_cancelled_description_is_cancelled() {
        let _host = server(|| Err(Error::cancelled()));
        assert_eq!(counts().unwrap_err().kind(), ErrorKind::Cancelled);
    }

    #[test]
    fn tables_are_described_if_the_time_runs_out_while_rows_are_counted() {
        let host = server(|| {
            control::stand_in::set_remaining(Some(Duration::ZERO));
            Err(Error::timeout("the time for this call ran out"))
        });
        let counted = counts();
        control::stand_in::set_remaining(None);
        let expected = [("a".to_owned(), None), ("b".to_owned(), None)];
        assert_eq!(counted.unwrap(), expected);
        let requests = host.requests();
        let asked = requests
            .iter()
            .filter(|request| request.body.starts_with(b"SHOW STATS"));
        assert_eq!(asked.count(), 1);
    }

    #[test]
    fn names_cannot_break_out_of_their_quotes() {
        assert_eq!(literal("a'b"), "'a''b'");
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
        let tables = [TableRef::new("s", "a"), TableRef::new("s", "b'")];
        assert_eq!(
            wanted(&tables, "x", "y"),
            "x IN ('s') AND y IN ('a', 'b''')"
        );
    }

    #[test]
    fn estimates_become_counts() {
        assert_eq!(whole(15_000.4), Some(15_000));
        assert_eq!(
            (whole(-1.0), whole(f64::NAN), whole(1e300)),
            (None, None, None)
        );
    }
}
