//! What the engine has, and whether it is what a statement gets.

use std::{collections::HashSet, time::Duration};

use mindhost_plugin_api::{Connection, StatisticsOptions, TableInfo, TableRef, Value};

use crate::{
    bench::{Bench, statement, usual},
    case::{Case, Expect, Stop, Verdict, counted, ensure, passed, skipped},
};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "tables",
        proves: "`tables` lists every table once, by schema and name.",
        run: |bench| Box::pin(tables(bench)),
    },
    Case {
        name: "describe",
        proves: "`describe-tables` answers for what it was asked, with columns in order and keys over columns that exist.",
        run: |bench| Box::pin(describe(bench)),
    },
    Case {
        name: "describe-gone",
        proves: "A table that is not there is left out, and the others are described.",
        run: |bench| Box::pin(describe_gone(bench)),
    },
    Case {
        name: "describe-matches-select",
        proves: "The described columns are those of SELECT *, and one that is not nullable holds no NULL.",
        run: |bench| Box::pin(matches_select(bench)),
    },
    Case {
        name: "statistics",
        proves: "`statistics` answers for the columns that were asked, with shares between 0 and 1, or has none.",
        run: |bench| Box::pin(statistics(bench)),
    },
];

async fn tables(bench: &Bench) -> Verdict {
    let mut connection = bench.open().await?;
    let tables = connection
        .tables(&usual())
        .await
        .expect_to("tables are listed")?;
    let nameless = tables
        .iter()
        .find(|table| table.name.is_empty() || table.schema.is_empty());
    ensure(
        nameless.is_none(),
        "a schema and a name for every table",
        format!("{nameless:?}"),
        "an engine without schemas uses one fixed name, such as `main`",
    )?;
    let names: HashSet<_> = tables
        .iter()
        .map(|table| (&table.schema, &table.name))
        .collect();
    ensure(
        names.len() == tables.len(),
        "every table once",
        format!(
            "{} entries for {}",
            tables.len(),
            counted(names.len(), "table")
        ),
        "list each table once, whatever number of partitions or synonyms it has",
    )?;
    Ok(counted(tables.len(), "table"))
}

async fn described(bench: &Bench, connection: &mut dyn Connection) -> Result<Vec<TableInfo>, Stop> {
    let tables = bench.some_tables(connection).await?;
    let described = connection.describe_tables(&tables, &usual()).await;
    let described = described.expect_to("tables that were listed are described")?;
    ensure(
        described.len() == tables.len(),
        format!("{} described", counted(tables.len(), "table")),
        format!("{} of them", described.len()),
        "describe every table that `tables` lists; only one that is gone is left out",
    )?;
    Ok(described)
}

async fn describe(bench: &Bench) -> Verdict {
    let mut connection = bench.open().await?;
    let tables = described(bench, &mut *connection).await?;
    for table in &tables {
        columns_are_sound(table)?;
        keys_are_sound(table)?;
    }
    let columns: usize = tables.iter().map(|table| table.columns.len()).sum();
    Ok(format!(
        "{} of {}",
        counted(columns, "column"),
        counted(tables.len(), "table")
    ))
}

fn columns_are_sound(table: &TableInfo) -> Result<(), Stop> {
    let name = table.table.to_string();
    let ordinals: Vec<u32> = table.columns.iter().map(|column| column.ordinal).collect();
    ensure(
        !ordinals.is_empty() && ordinals.iter().copied().eq(1..=ordinals.len() as u32),
        format!("columns of {name} with the ordinals 1, 2, 3, …"),
        format!("{ordinals:?}"),
        "number the columns from 1 without gaps, in the order of the table; dropped columns do not count",
    )?;
    let nameless = table.columns.iter().any(|column| column.name.is_empty());
    ensure(
        !nameless,
        format!("a name for every column of {name}"),
        "an empty name",
        "give each column the name by which a statement can select it",
    )
}

fn keys_are_sound(table: &TableInfo) -> Result<(), Stop> {
    let name = table.table.to_string();
    let has = |column: &String| table.columns.iter().any(|known| known.name == *column);
    let primary = table.primary_key.iter().map(|key| &key.column);
    let foreign = table.foreign_keys.iter().map(|key| &key.column);
    let stray = primary.chain(foreign).find(|column| !has(column));
    ensure(
        stray.is_none(),
        format!("keys of {name} over its own columns"),
        format!("{stray:?}"),
        "name a key's columns as the columns of the table are named",
    )
}

async fn describe_gone(bench: &Bench) -> Verdict {
    let mut connection = bench.open().await?;
    let mut tables = bench.some_tables(&mut *connection).await?;
    tables.truncate(1);
    let there = tables.clone();
    tables.push(TableRef::new(
        there.first().map_or("main", |table| &table.schema),
        "mindhost_conformance_nowhere",
    ));
    let described = connection.describe_tables(&tables, &usual()).await;
    let described =
        described.expect_to("a table that is gone does not keep others from being described")?;
    let names: Vec<_> = described
        .iter()
        .map(|table| table.table.to_string())
        .collect();
    let expected: Vec<_> = there.iter().map(TableRef::to_string).collect();
    ensure(
        names == expected,
        format!("{expected:?}"),
        format!("{names:?}"),
        "leave out what is not there, without an error",
    )?;
    passed()
}

async fn matches_select(bench: &Bench) -> Verdict {
    let mut connection = bench.open().await?;
    let tables = described(bench, &mut *connection).await?;
    let mut seen = 0;
    for table in &tables {
        // An answer that is not read to its end may cost the connection.
        seen += compare(bench, &mut *bench.open().await?, table).await?;
    }
    Ok(format!(
        "{}, {}",
        counted(tables.len(), "table"),
        counted(seen, "row")
    ))
}

/// Compares a table with the head of its rows; gives how many rows were looked at.
async fn compare(
    bench: &Bench,
    connection: &mut dyn Connection,
    table: &TableInfo,
) -> Result<usize, Stop> {
    let name = table.table.to_string();
    let sql = bench.samples.all_of(&table.table);
    let columns = connection.query(&statement(&sql), &usual()).await;
    let columns = columns.expect_to(format!("`{sql}` runs"))?;
    let rows = connection
        .next(1_000, &usual())
        .await
        .expect_to(format!("rows of {name}"))?;
    connection
        .close(&usual())
        .await
        .expect_to("the cursor closes")?;
    let selected: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
    let described: Vec<_> = table
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    ensure(
        selected == described,
        format!("the columns that {name} is described with: {described:?}"),
        format!("the columns of SELECT *: {selected:?}"),
        "describe the columns that a statement gets, in that order",
    )?;
    let rows = rows.map(|batch| batch.into_values(&columns));
    let rows = rows.unwrap_or_default();
    for (index, column) in table
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| !column.nullable)
    {
        let has_null = rows.iter().any(|row| row.get(index) == Some(&Value::Null));
        ensure(
            !has_null,
            format!(
                "no NULL in {name}.{}, which is described as not nullable",
                column.name
            ),
            "a row with NULL",
            "when unsure, a column is nullable",
        )?;
    }
    Ok(rows.len())
}

async fn statistics(bench: &Bench) -> Verdict {
    let mut connection = bench.open().await?;
    let tables = described(bench, &mut *connection).await?;
    let mut told = 0;
    for table in &tables {
        let options = StatisticsOptions {
            columns: table
                .columns
                .iter()
                .map(|column| column.name.clone())
                .collect(),
            max_rows: 1_000,
            max_time: Duration::from_secs(5),
        };
        let name = table.table.to_string();
        let found = connection
            .statistics(&table.table, &options, &usual())
            .await;
        let Some(found) = found.expect_to(format!(
            "`statistics` of {name} succeeds, with or without an answer"
        ))?
        else {
            continue;
        };
        told += 1;
        for column in &found {
            let shares = column.common_values.iter().map(|(_, share)| *share);
            let wrong = shares
                .chain(column.null_fraction)
                .find(|share| !(0.0..=1.0).contains(share));
            ensure(
                wrong.is_none() && options.columns.contains(&column.column),
                format!("shares from 0 to 1 of a column of {name}"),
                format!("{}: {wrong:?}", column.column),
                "fractions are shares of all rows; answer only for the columns that were asked",
            )?;
        }
    }
    match told {
        0 => Err(skipped(
            "the plugin has no statistics of its own; the host samples the rows itself",
        )),
        told => Ok(format!("{told} of {}", counted(tables.len(), "table"))),
    }
}
