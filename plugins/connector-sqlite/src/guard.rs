//! What a statement may do, and for how long. The host guards every statement before it comes here; this is the second
//! line of defence, in the engine itself.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mindhost_sdk::{Error, Result, control};
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, ffi};

use crate::errors;
use crate::tokens::{Token, tokens};

/// SELECT and VALUES in one statement: each may stand in another, and SQLite takes stack for each of them.
const MAX_SELECTS: usize = 500;

/// Virtual machine instructions between two looks at the clock: well below a millisecond.
const STEPS_BETWEEN_CHECKS: i32 = 20_000;

const MIB: i32 = 1 << 20;

/// SQLite's number for the optimization that runs EXISTS as a join.
const EXISTS_TO_JOIN: std::ffi::c_int = 0x4000_0000;

/// Watches over the statement that is running.
#[derive(Default)]
pub struct Watch {
    /// The connector's own statements may read what a caller's may not.
    is_internal: AtomicBool,
    deadline: Mutex<Option<Instant>>,
    ended: AtomicU8,
}

const RUNNING: u8 = 0;
const CANCELLED: u8 = 1;
const TIMED_OUT: u8 = 2;

impl Watch {
    /// Sets up a connection: what it refuses, and that this watch may interrupt it.
    pub fn install(self: &Arc<Self>, connection: &Connection) -> Result<()> {
        self.harden(connection)
            .map_err(|error| errors::from_sqlite(error, ""))
    }

    fn harden(self: &Arc<Self>, connection: &Connection) -> rusqlite::Result<()> {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        // A misspelt "column" should be an error, not the constant text 'column'.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
        for (limit, value) in [
            (Limit::SQLITE_LIMIT_SQL_LENGTH, MIB),
            (Limit::SQLITE_LIMIT_EXPR_DEPTH, 400),
            (Limit::SQLITE_LIMIT_ATTACHED, 0),
            (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
            (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000),
        ] {
            connection.set_limit(limit, value)?;
        }
        without_exists_to_join(connection)?;
        // The sandbox has no directory for temporary files, so sorting stays in memory. A page that is read again costs a
        // call out of the sandbox, hence the large cache; it grows with what is read.
        connection.execute_batch(
            "PRAGMA query_only = 1; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -131072;",
        )?;
        // The limit is of the process, which is the connector's own only in the sandbox. There, growing beyond what the
        // host allows ends the instance; staying below it gives the caller an error that says why. Small pieces take up
        // to twice as much as SQLite counts, so this is half of what the host allows.
        if cfg!(target_family = "wasm") {
            connection.execute_batch("PRAGMA hard_heap_limit = 268435456")?;
        }
        let watch = self.clone();
        connection.authorizer(Some(move |context: AuthContext<'_>| {
            watch.authorize(&context)
        }))?;
        let watch = self.clone();
        connection.progress_handler(STEPS_BETWEEN_CHECKS, Some(move || watch.must_end()))
    }

    /// Runs something of the connector's own.
    pub fn internal<R>(&self, run: impl FnOnce() -> R) -> R {
        self.is_internal.store(true, Ordering::Relaxed);
        let result = run();
        self.is_internal.store(false, Ordering::Relaxed);
        result
    }

    /// Gives what runs from here on so much time.
    pub fn start(&self, timeout: Duration) {
        self.ended.store(RUNNING, Ordering::Relaxed);
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) =
            Instant::now().checked_add(timeout);
    }

    /// Why the statement was interrupted, if it was.
    pub fn ended(&self) -> Option<Error> {
        match self.ended.load(Ordering::Relaxed) {
            CANCELLED => Some(Error::cancelled().connection_usable(true)),
            TIMED_OUT => Some(Error::timeout("the statement ran longer than it may")),
            _ => None,
        }
    }

    fn must_end(&self) -> bool {
        let deadline = *self.deadline.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = if control::is_cancelled() {
            CANCELLED
        } else if deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || control::remaining().is_zero()
        {
            TIMED_OUT
        } else {
            return false;
        };
        self.ended.store(ended, Ordering::Relaxed);
        true
    }

    fn authorize(&self, context: &AuthContext<'_>) -> Authorization {
        let is_internal = self.is_internal.load(Ordering::Relaxed);
        let allowed = match context.action {
            AuthAction::Select | AuthAction::Recursive => true,
            AuthAction::Read { table_name, .. } => is_internal || !is_internal_table(table_name),
            AuthAction::Function { function_name } => !is_dangerous(function_name),
            // Full-text tables ask by themselves whether the file changed.
            AuthAction::Pragma {
                pragma_name,
                pragma_value,
            } => is_internal || (pragma_name == "data_version" && pragma_value.is_none()),
            // An R*Tree compiles, when it is opened, what would change the tables that hold its nodes. A statement of the
            // caller's that does is no reading one, and the connection and the file only read.
            AuthAction::Insert { table_name }
            | AuthAction::Delete { table_name }
            | AuthAction::Update { table_name, .. } => is_of_rtree(table_name),
            _ => false,
        };
        if allowed {
            Authorization::Allow
        } else {
            Authorization::Deny
        }
    }
}

/// Has SQLite run EXISTS as a subquery. It came to run it as a join with 3.51.0, and up to the bundled 3.51.3 at least,
/// OFFSET in such a statement counts a row once for each row that the EXISTS finds for it, and so skips too few. No
/// PRAGMA and no setting turns that off.
fn without_exists_to_join(connection: &Connection) -> rusqlite::Result<()> {
    // SAFETY: the connection is open, and so its handle is valid for the call, which keeps nothing of it. For this
    // operation it takes a handle and an int, and sets a field of the connection.
    #[allow(unsafe_code, reason = "rusqlite has no safe call for this")]
    let code = unsafe {
        ffi::sqlite3_test_control(
            ffi::SQLITE_TESTCTRL_OPTIMIZATIONS,
            connection.handle(),
            EXISTS_TO_JOIN,
        )
    };
    match code {
        ffi::SQLITE_OK => Ok(()),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}

/// Refuses a statement that SQLite would go too deep into.
pub fn check_size(statement: &str) -> Result<()> {
    let is_select =
        |token: &Token<'_>| token.kind.is_word("select") || token.kind.is_word("values");
    let selects = tokens(statement).into_iter().filter(is_select).count();
    if selects <= MAX_SELECTS {
        return Ok(());
    }
    Err(Error::invalid_statement(format!(
        "the statement is too complex: it has {selects} SELECTs and may have {MAX_SELECTS}; write fewer subqueries"
    )))
}

/// SQLite's own tables show the definitions of tables that the caller may not see.
fn is_internal_table(name: &str) -> bool {
    const PREFIX: &str = "sqlite_";
    name.get(..PREFIX.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(PREFIX))
}

/// Whether a table is called as those in which an R*Tree keeps its nodes.
fn is_of_rtree(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["_node", "_rowid", "_parent"]
        .iter()
        .any(|end| name.ends_with(end))
}

fn is_dangerous(function: &str) -> bool {
    ["load_extension", "fts3_tokenizer"]
        .iter()
        .any(|name| function.eq_ignore_ascii_case(name))
}
