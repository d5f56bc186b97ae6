//! The order of calls and drops, with a connector that writes down what it is asked.

use std::cell::RefCell;
use std::rc::Rc;

use super::session::Connection;
use super::*;
use crate::error::ErrorKind;

thread_local! {
    static CALLS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

struct Recorder(Rc<()>);

fn note(call: &'static str) {
    CALLS.with_borrow_mut(|calls| calls.push(call));
}

/// What was called since the last time.
fn calls() -> Vec<&'static str> {
    CALLS.take()
}

impl Connector for Recorder {
    const MANIFEST: &'static str = "{}";
    /// Shares something with its connection, as real cursors do.
    type Cursor = Rc<()>;

    fn open(_: &Config) -> Result<Self> {
        Ok(Self(Rc::new(())))
    }

    fn check(&mut self) -> Result<ServerInfo> {
        note("check");
        Ok(ServerInfo::new("Recorder", "1"))
    }

    fn tables(&mut self) -> Result<Vec<TableRef>> {
        Ok(Vec::new())
    }

    fn describe_tables(&mut self, _: &[TableRef]) -> Result<Vec<Table>> {
        Ok(Vec::new())
    }

    fn query(&mut self, statement: &Statement) -> Result<Rc<()>> {
        note("query");
        match statement.text.as_str() {
            "bad" => Err(Error::invalid_statement("bad")),
            _ => Ok(self.0.clone()),
        }
    }

    fn schema(&mut self, _: &mut Rc<()>) -> Result<Vec<Column>> {
        Ok(Vec::new())
    }

    fn next(&mut self, _: &mut Rc<()>, _: BatchLimits) -> Result<Option<Batch>> {
        note("next");
        Ok(None)
    }

    fn close(&mut self, _: Rc<()>) -> Result<bool> {
        note("close");
        Ok(true)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        note("drop");
    }
}

const LIMITS: BatchLimits = BatchLimits {
    max_rows: 1,
    max_bytes: 1,
};

fn open() -> Connection<Recorder> {
    Connection::open(&Config::from_json("{}")).unwrap()
}

fn query(connection: &Connection<Recorder>) -> session::Cursor<Recorder> {
    connection.query(&Statement::new("SELECT 1")).unwrap()
}

#[test]
fn the_usual_order() {
    let connection = open();
    let cursor = query(&connection);
    assert_eq!(cursor.next(LIMITS), Ok(None));
    assert_eq!(cursor.close(), Ok(true));
    drop(cursor);
    assert!(connection.check().is_ok());
    drop(connection);
    assert_eq!(calls(), ["query", "next", "close", "check", "drop"]);
}

#[test]
fn a_connection_dropped_before_its_cursor_lives_as_long() {
    let connection = open();
    let cursor = query(&connection);
    drop(connection);
    assert_eq!(cursor.next(LIMITS), Ok(None));
    drop(cursor);
    assert_eq!(calls(), ["query", "next", "close", "drop"]);
}

#[test]
fn a_call_beside_an_open_cursor_is_an_error() {
    let connection = open();
    let cursor = query(&connection);
    let error = connection.check().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert_eq!(
        error.message(),
        "`check` was called while a cursor is open; close the cursor first"
    );
    assert!(connection.query(&Statement::new("SELECT 2")).is_err());
    drop(cursor);
    assert!(connection.check().is_ok());
    assert_eq!(calls(), ["query", "close", "check"]);
}

#[test]
fn a_closed_cursor_gives_nothing_more() {
    let connection = open();
    let cursor = query(&connection);
    assert_eq!(cursor.close(), Ok(true));
    let error = cursor.next(LIMITS).unwrap_err();
    assert_eq!(
        (error.message(), error.is_connection_usable()),
        ("the cursor is closed", true)
    );
    assert!(cursor.close().is_err());
    // The next cursor is not disturbed by what becomes of this one.
    let next = query(&connection);
    drop(cursor);
    assert!(connection.check().is_err());
    assert_eq!(next.close(), Ok(true));
}

#[test]
fn a_statement_that_is_refused_leaves_no_cursor() {
    let connection = open();
    assert!(connection.query(&Statement::new("bad")).is_err());
    assert!(connection.check().is_ok());
}
