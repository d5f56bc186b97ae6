//! Whole answers: empty ones, long ones, and the same one in small and large batches.

use std::time::Duration;

use mindhost_plugin_api::{Connection, Paging, Value};

use crate::{
    bench::{Bench, ROWS, integer, read, read_for, statement, usual},
    case::{Case, Expect, Stop, Verdict, counted, ensure, passed, shown, skipped},
};

const BATCHES_AGREE: Case = Case {
    name: "batches-agree",
    proves: "The rows of a table are the same, read 3 or 8,192 at a time.",
    run: |bench| Box::pin(batches_agree(bench)),
};

/// What is the plugin's own doing where the host makes the SQL.
pub(super) const OF_SCANNERS: &[Case] = &[BATCHES_AGREE];

pub(super) const CASES: &[Case] = &[
    Case {
        name: "one-row",
        proves: "A statement with one row gives that row, then the end, and the end stays the end.",
        run: |bench| Box::pin(one_row(bench)),
    },
    Case {
        name: "empty-result",
        proves: "A statement without rows has columns, and ends at once.",
        run: |bench| Box::pin(empty(bench)),
    },
    Case {
        name: "order",
        proves: "A hundred thousand ordered rows come all, once, in order, and never more at a time than were asked for.",
        run: |bench| Box::pin(order(bench)),
    },
    BATCHES_AGREE,
    Case {
        name: "paging",
        proves: "A page that is cut by LIMIT and OFFSET holds the rows that it should.",
        run: |bench| Box::pin(paging(bench)),
    },
];

async fn one_row(bench: &Bench) -> Verdict {
    let sql = bench.sample("one", bench.samples.one.clone())?;
    let mut connection = bench.open().await?;
    let columns = connection.query(&statement(&sql), &usual()).await;
    columns.expect_to(format!("`{sql}` runs"))?;
    let mut rows = 0;
    while let Some(batch) = next(&mut *connection, &sql).await? {
        rows += batch;
    }
    ensure(
        rows == 1,
        "one row",
        format!("{rows} rows"),
        "give each row once",
    )?;
    let after = next(&mut *connection, &sql).await?;
    ensure(
        after.is_none(),
        "the end again, when a cursor at its end is asked once more",
        "rows",
        "remember that the cursor is at its end",
    )?;
    connection
        .close(&usual())
        .await
        .expect_to("the cursor closes")?;
    bench
        .works(
            &mut *connection,
            "after a statement that was read to its end",
        )
        .await?;
    passed()
}

async fn next(connection: &mut dyn Connection, sql: &str) -> Result<Option<usize>, Stop> {
    let batch = connection.next(ROWS, &usual()).await;
    let batch = batch.expect_to(format!("the rows of `{sql}` can be read"))?;
    Ok(batch.map(|batch| batch.rows()))
}

async fn empty(bench: &Bench) -> Verdict {
    let sql = bench.sample("empty", bench.samples.empty.clone())?;
    let mut connection = bench.open().await?;
    let answer = read(&mut *connection, &sql, ROWS).await;
    let answer = answer.expect_to(format!("`{sql}` runs"))?;
    ensure(
        answer.rows.is_empty() && !answer.columns.is_empty(),
        "columns and no row",
        format!(
            "{} columns and {} rows",
            answer.columns.len(),
            answer.rows.len()
        ),
        "a result without rows still has its columns",
    )?;
    passed()
}

async fn order(bench: &Bench) -> Verdict {
    const COUNT: u64 = 100_000;
    const AT_A_TIME: u32 = 1_000;
    // A slow source is not a wrong one: what came until then is compared. Less than the statement may take.
    const ENOUGH: Duration = Duration::from_secs(50);
    let sql = bench.sample("numbers", bench.samples.numbers(COUNT))?;
    let mut connection = bench.open().await?;
    let answer = read_for(&mut *connection, &sql, AT_A_TIME, ENOUGH).await;
    let (answer, has_ended) = answer.expect_to(format!("`{sql}` runs"))?;
    let numbers = answer.rows.iter().map(|row| row.first().and_then(integer));
    let wrong = (1..=i128::from(COUNT))
        .zip(numbers.clone())
        .find(|(expected, number)| *number != Some(*expected));
    let came = numbers.len();
    ensure(
        wrong.is_none()
            && (came == COUNT as usize || (!has_ended && (1..COUNT as usize).contains(&came))),
        format!("the integers from 1 to {COUNT}"),
        format!("{came} rows; the first wrong one: {wrong:?}"),
        "hand every row on once, in the order of the engine, across the bounds of batches too",
    )?;
    let rest = match has_ended {
        true => String::new(),
        false => format!(", of {COUNT}; no more came within {}", shown(ENOUGH)),
    };
    Ok(format!(
        "{came} rows in {} batches{rest}",
        answer.batches.len()
    ))
}

async fn batches_agree(bench: &Bench) -> Verdict {
    const MOST: usize = 300;
    let mut connection = bench.open().await?;
    let mut compared = 0;
    for table in bench.some_tables(&mut *connection).await? {
        let sql = bench.samples.all_of(&table);
        let Some(large) = head(bench, &sql, ROWS, MOST).await? else {
            continue;
        };
        let Some(small) = head(bench, &sql, 3, MOST).await? else {
            continue;
        };
        let (large, small) = (sorted(&large), sorted(&small));
        let differs = large
            .iter()
            .zip(&small)
            .find(|(large, small)| large != small);
        ensure(
            large.len() == small.len() && differs.is_none(),
            format!(
                "the same rows of {}.{} whatever the size of a batch",
                table.schema, table.name
            ),
            format!("{} and {} rows; {differs:?}", large.len(), small.len()),
            "encode a value the same way in every batch: as Arrow, as rows, in a column with the dynamic mark",
        )?;
        compared += 1;
    }
    match compared {
        0 => Err(skipped(format!("no table has from 1 to {MOST} rows"))),
        compared => Ok(counted(compared, "table")),
    }
}

/// All rows, if there are some but not more than `most`. Over a connection of its own: one on which an answer was not
/// read to its end may be of no use any more.
async fn head(
    bench: &Bench,
    sql: &str,
    max_rows: u32,
    most: usize,
) -> Result<Option<Vec<Vec<Value>>>, Stop> {
    let runs = || format!("`{sql}` runs");
    let mut connection = bench.open().await?;
    let columns = connection.query(&statement(sql), &usual()).await;
    let columns = columns.expect_to(runs())?;
    let mut rows = Vec::new();
    while rows.len() <= most
        && let Some(batch) = connection
            .next(max_rows, &usual())
            .await
            .expect_to(runs())?
    {
        rows.extend(batch.into_values(&columns));
    }
    connection
        .close(&usual())
        .await
        .expect_to("the cursor closes")?;
    Ok((1..=most).contains(&rows.len()).then_some(rows))
}

/// Rows in an order that does not depend on the engine's.
fn sorted(rows: &[Vec<Value>]) -> Vec<String> {
    let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort_unstable();
    rows
}

async fn paging(bench: &Bench) -> Verdict {
    if bench.manifest().capabilities.paging == Paging::InMemory {
        return Err(skipped(
            "capabilities.paging is `in-memory`: the host cuts the pages",
        ));
    }
    let sql = bench.sample("numbers", bench.samples.numbers(20))?;
    let page = bench.sample("page", bench.samples.page(&sql, 3, 5))?;
    let mut connection = bench.open().await?;
    let answer = read(&mut *connection, &page, ROWS).await;
    let answer = answer.expect_to(format!("`{page}` runs"))?;
    let numbers: Vec<_> = answer
        .rows
        .iter()
        .filter_map(|row| integer(row.first()?))
        .collect();
    ensure(
        numbers == [6, 7, 8],
        "the rows 6, 7 and 8",
        format!("{numbers:?}"),
        "where the engine cannot cut pages, declare `\"paging\": \"in-memory\"` in the manifest's capabilities",
    )?;
    passed()
}
