//! What the host's query engine makes of a scanner: whatever it pushes down, the rows must be those that the kit finds
//! by itself among all rows.

use mindhost_sdk::{TableRef, Value};

use crate::{
    bench::{Bench, ROWS, read},
    case::{Case, Expect, Stop, Verdict, ensure, passed, skipped_until},
    subject::Connection,
};

pub(super) const CASES: &[Case<Bench>] = &[
    Case {
        name: "projection",
        proves: "Columns come in the order in which they are asked for, each with its own values.",
        run: |bench| Box::pin(projection(bench)),
    },
    Case {
        name: "filters",
        proves: "A filter gives the rows that it should, whether the plugin claims to apply it exactly, roughly or not at all.",
        run: |bench| Box::pin(filters(bench)),
    },
    Case {
        name: "limit",
        proves: "A limit gives that many rows, with a filter before it too.",
        run: |bench| Box::pin(limit(bench)),
    },
];

/// Rows of a table that are compared at most.
const MOST: usize = 2_000;

/// A small table with all of its rows.
struct Whole {
    table: TableRef,
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

impl Whole {
    fn select(&self, what: &str, rest: &str) -> String {
        let (schema, name) = (quoted(&self.table.schema), quoted(&self.table.name));
        format!("SELECT {what} FROM {schema}.{name}{rest}")
    }

    /// Values of a column that a statement can spell, each once.
    fn literals(&self, column: usize) -> Vec<(String, Value)> {
        let mut found: Vec<(String, Value)> = Vec::new();
        for value in self.rows.iter().filter_map(|row| row.get(column)) {
            let literal = match value {
                Value::Int64(number) => number.to_string(),
                Value::Uint64(number) => number.to_string(),
                Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
                _ => continue,
            };
            if found.len() < 4 && found.iter().all(|(known, _)| *known != literal) {
                found.push((literal, value.clone()));
            }
        }
        found
    }

    fn count(&self, column: usize, holds: impl Fn(&Value) -> bool) -> usize {
        let values = self.rows.iter().filter_map(|row| row.get(column));
        values.filter(|value| holds(value)).count()
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

async fn tables(bench: &Bench, connection: &mut dyn Connection) -> Result<Vec<Whole>, Stop> {
    let mut found = Vec::new();
    for table in bench.some_tables(connection).await? {
        let sql = format!("{} LIMIT {}", bench.samples.all_of(&table), MOST + 1);
        let answer = read(connection, &sql, ROWS).await;
        let answer = answer.expect_to(format!("`{sql}` runs"))?;
        if (1..=MOST).contains(&answer.rows.len()) {
            found.push(Whole {
                table,
                columns: answer
                    .columns
                    .into_iter()
                    .map(|column| column.name)
                    .collect(),
                rows: answer.rows,
            });
        }
    }
    match found.is_empty() {
        false => Ok(found),
        true => Err(skipped_until(
            format!("no table has from 1 to {MOST} rows"),
            "connection_data that reach such a table",
        )),
    }
}

async fn projection(bench: &Bench) -> Verdict {
    let mut connection = bench.open().await?;
    for whole in tables(bench, &mut *connection).await? {
        let names: Vec<String> = whole
            .columns
            .iter()
            .rev()
            .map(|name| quoted(name))
            .collect();
        let sql = whole.select(&names.join(", "), "");
        let answer = read(&mut *connection, &sql, ROWS).await;
        let answer = answer.expect_to(format!("`{sql}` runs"))?;
        let turned = whole
            .rows
            .iter()
            .map(|row| row.iter().rev().cloned().collect());
        let (expected, came) = (sorted(turned.collect()), sorted(answer.rows));
        ensure(
            expected == came,
            format!(
                "the columns of {}.{} in reverse",
                whole.table.schema, whole.table.name
            ),
            format!("other values for `{sql}`"),
            "give the columns of `projection` in its order, and no others",
        )?;
    }
    passed()
}

fn sorted(rows: Vec<Vec<Value>>) -> Vec<String> {
    let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort_unstable();
    rows
}

async fn filters(bench: &Bench) -> Verdict {
    let mut connection = bench.open().await?;
    let mut tried = 0;
    for whole in tables(bench, &mut *connection).await? {
        for (index, name) in whole.columns.iter().enumerate() {
            let column = quoted(name);
            let is_null = |value: &Value| *value == Value::Null;
            let nulls = whole.count(index, is_null);
            let others = whole.rows.len() - nulls;
            let mut expected = vec![
                (format!("{column} IS NULL"), nulls),
                (format!("{column} IS NOT NULL"), others),
            ];
            for (literal, value) in whole.literals(index) {
                let same = whole.count(index, |other| *other == value);
                let less = whole.count(index, |other| is_less(other, &value));
                let rest = others - same - less;
                expected.extend([
                    (format!("{column} = {literal}"), same),
                    (format!("{column} <> {literal}"), others - same),
                    (format!("{column} < {literal}"), less),
                    (format!("{column} <= {literal}"), less + same),
                    (format!("{column} > {literal}"), rest),
                    (format!("{column} >= {literal}"), rest + same),
                    (format!("{column} IN ({literal})"), same),
                ]);
            }
            for (filter, count) in expected {
                let sql = whole.select("*", &format!(" WHERE {filter}"));
                has_rows(&mut *connection, &sql, count).await?;
                tried += 1;
            }
        }
    }
    Ok(format!("{tried} filters"))
}

/// Order of numbers, and of texts byte by byte, as the host's query engine has it.
fn is_less(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Int64(one), Value::Int64(other)) => one < other,
        (Value::Uint64(one), Value::Uint64(other)) => one < other,
        (Value::Text(one), Value::Text(other)) => one.as_bytes() < other.as_bytes(),
        _ => false,
    }
}

async fn has_rows(connection: &mut dyn Connection, sql: &str, count: usize) -> Result<(), Stop> {
    let answer = read(connection, sql, ROWS).await;
    let answer = answer.expect_to(format!("`{sql}` runs"))?;
    ensure(
        answer.rows.len() == count,
        format!("{count} rows for `{sql}`, as among all rows of the table"),
        format!("{} rows", answer.rows.len()),
        "claim `exact` only for a filter that leaves the very rows that SQL would, `inexact` for one that leaves more, `no` for the rest; apply a limit only after exact filters",
    )
}

async fn limit(bench: &Bench) -> Verdict {
    let mut connection = bench.open().await?;
    for whole in tables(bench, &mut *connection).await? {
        for most in [0, 1, 2, MOST] {
            let sql = whole.select("*", &format!(" LIMIT {most}"));
            has_rows(&mut *connection, &sql, whole.rows.len().min(most)).await?;
        }
        for (index, name) in whole.columns.iter().enumerate() {
            let Some((literal, value)) = whole.literals(index).pop() else {
                continue;
            };
            let count = whole.count(index, |other| *other == value);
            let filter = format!(" WHERE {} = {literal} LIMIT 1", quoted(name));
            has_rows(&mut *connection, &whole.select("*", &filter), count.min(1)).await?;
        }
    }
    passed()
}
