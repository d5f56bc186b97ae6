//! One running statement.

use std::rc::Rc;
use std::time::{Duration, Instant};

use mindhost_sdk::{Batch, BatchBuilder, BatchLimits, Column, Error, ErrorKind, Result};
use rusqlite::limits::Limit;
use rusqlite::{Connection, Rows};
use self_cell::{MutBorrow, self_cell};

use crate::database::Database;
use crate::guard;
use crate::types::{self, Cells};

/// The least that SQLite may use for one value while it computes: an intermediate value may be larger than a cell.
const MIN_VALUE_BYTES: u64 = 1 << 20;

self_cell!(
    /// A compiled statement with the connection that it borrows from.
    struct Prepared {
        owner: Rc<Connection>,
        #[covariant]
        dependent: CompiledStatement,
    }
);

self_cell!(
    /// A statement with the rows that it is giving.
    struct Running {
        owner: MutBorrow<Prepared>,
        #[covariant]
        dependent: Rows,
    }
);

type CompiledStatement<'connection> = rusqlite::Statement<'connection>;

/// A statement that gives rows.
pub struct Cursor {
    text: String,
    /// None once the last row was read.
    running: Option<Running>,
    batch: BatchBuilder,
    cells: Cells,
    /// What is left of the statement's time. Only time in calls counts: a slow reader costs the engine nothing.
    time_left: Duration,
}

impl Cursor {
    pub fn start(database: &Database, statement: &mindhost_sdk::Statement) -> Result<Self> {
        let started = Instant::now();
        guard::check_size(&statement.text)?;
        database.watch().start(statement.timeout);
        let value_bytes = statement
            .max_cell_bytes
            .saturating_mul(2)
            .max(MIN_VALUE_BYTES);
        let value_bytes = i32::try_from(value_bytes).unwrap_or(i32::MAX);
        let failed = |error| database.error(error, &statement.text);
        database
            .connection()
            .set_limit(Limit::SQLITE_LIMIT_LENGTH, value_bytes)
            .map_err(failed)?;

        let connection = database.connection().clone();
        let prepared = Prepared::try_new(connection, |connection| {
            connection.prepare(&statement.text).map_err(failed)
        })?;
        refuse_others(prepared.borrow_dependent())?;
        let columns = types::columns(prepared.borrow_dependent());
        let cells = Cells::new(&columns, statement.max_cell_bytes);
        let running = Running::new(MutBorrow::new(prepared), |prepared| {
            prepared
                .borrow_mut()
                .with_dependent_mut(|_, compiled| compiled.raw_query())
        });
        Ok(Self {
            text: statement.text.clone(),
            running: Some(running),
            batch: BatchBuilder::new(columns),
            cells,
            time_left: statement.timeout.saturating_sub(started.elapsed()),
        })
    }

    pub fn columns(&self) -> &[Column] {
        self.batch.columns()
    }

    pub fn next(&mut self, database: &Database, limits: BatchLimits) -> Result<Option<Batch>> {
        // Nothing is read any more, so neither the clock nor the file is asked: each is a call out of the sandbox.
        let Some(statement) = &mut self.running else {
            return Ok(None);
        };
        let started = Instant::now();
        database.watch().start(self.time_left);
        self.batch.start(limits);
        let failed = |error| database.error(error, &self.text);
        let filled = fill(statement, &mut self.batch, &mut self.cells, failed);
        self.time_left = self.time_left.saturating_sub(started.elapsed());
        if !filled? {
            self.running = None;
        }
        database.verify_unchanged()?;
        self.batch.finish()
    }
}

/// Reads rows until the batch is full or the statement has no more. Whether it may have more.
fn fill(
    statement: &mut Running,
    batch: &mut BatchBuilder,
    cells: &mut Cells,
    failed: impl Fn(rusqlite::Error) -> Error,
) -> Result<bool> {
    statement.with_dependent_mut(|_, rows| {
        while !batch.is_full() {
            let Some(row) = rows.next().map_err(&failed)? else {
                return Ok(false);
            };
            for index in 0..cells.len() {
                cells.append(batch, index, row.get_ref(index).map_err(&failed)?)?;
            }
            batch.end_row();
        }
        Ok(true)
    })
}

fn refuse_others(statement: &rusqlite::Statement<'_>) -> Result<()> {
    if statement.column_count() == 0 {
        return Err(Error::invalid_statement(
            "the statement gives no rows; only a SELECT can be run",
        ));
    }
    if !statement.readonly() || statement.is_explain() != 0 {
        return Err(Error::new(
            ErrorKind::Permission,
            "only a statement that reads can be run",
        ));
    }
    Ok(())
}
