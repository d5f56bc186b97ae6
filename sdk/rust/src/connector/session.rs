//! One connection and its cursor, held so that any order of calls and drops is survived. Nothing here knows of
//! handles, so that native tests reach all of it.

use std::cell::{Cell, RefCell, RefMut};
use std::rc::Rc;
use std::time::Duration;

use super::{Connector, ServerInfo, Statement};
use crate::batch::BatchLimits;
use crate::catalog::{ColumnStatistics, StatisticsOptions, Table, TableRef};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::sanity;
use crate::values::{Batch, Column};

/// What the host's handle of a connection points to.
pub struct Connection<T: Connector>(Rc<SharedConnector<T>>);

/// What the host's handle of a cursor points to. It keeps the connection alive.
pub struct Cursor<T: Connector> {
    shared: Rc<SharedConnector<T>>,
    /// Empty once closed.
    cursor: RefCell<Option<T::Cursor>>,
}

struct SharedConnector<T> {
    connector: RefCell<T>,
    cursor_is_open: Cell<bool>,
}

impl<T: Connector> Connection<T> {
    pub fn open(config: &Config) -> Result<Self> {
        let connector = RefCell::new(T::open(config)?);
        Ok(Self(Rc::new(SharedConnector {
            connector,
            cursor_is_open: Cell::new(false),
        })))
    }

    /// Also while a cursor is open, when the connector is idle.
    pub fn cancel_key(&self) -> Option<Vec<u8>> {
        self.0.connector.try_borrow().ok()?.cancel_key()
    }

    pub fn check(&self) -> Result<ServerInfo> {
        self.idle("check")?.check()
    }

    pub fn tables(&self) -> Result<Vec<TableRef>> {
        let tables = self.idle("tables")?.tables()?;
        sanity::tables(&tables)?;
        Ok(tables)
    }

    pub fn describe_tables(&self, tables: &[TableRef]) -> Result<Vec<Table>> {
        let described = self.idle("describe-tables")?.describe_tables(tables)?;
        sanity::described(&described)?;
        Ok(described)
    }

    pub fn statistics(
        &self,
        table: &TableRef,
        options: &StatisticsOptions,
    ) -> Result<Option<Vec<ColumnStatistics>>> {
        let statistics = self.idle("statistics")?.statistics(table, options)?;
        sanity::statistics(statistics.as_deref().unwrap_or_default())?;
        Ok(statistics)
    }

    pub fn begin_snapshot(&self, timeout: Duration) -> Result<bool> {
        self.idle("begin-snapshot")?.begin_snapshot(timeout)
    }

    pub fn end_snapshot(&self) -> Result<()> {
        self.idle("end-snapshot")?.end_snapshot()
    }

    pub fn query(&self, statement: &Statement) -> Result<Cursor<T>> {
        let cursor = self.idle("query")?.query(statement)?;
        self.0.cursor_is_open.set(true);
        Ok(Cursor {
            shared: self.0.clone(),
            cursor: RefCell::new(Some(cursor)),
        })
    }

    /// Any function of the connector, for tests.
    #[cfg(not(target_family = "wasm"))]
    pub fn with<R>(&self, call: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        call(&mut *self.idle("a function")?)
    }

    fn idle(&self, call: &str) -> Result<RefMut<'_, T>> {
        if self.0.cursor_is_open.get() {
            let message =
                format!("`{call}` was called while a cursor is open; close the cursor first");
            return Err(Error::internal(message).connection_usable(true));
        }
        self.0.connector()
    }
}

impl<T: Connector> Cursor<T> {
    pub fn schema(&self) -> Result<Vec<Column>> {
        let columns = self.with(T::schema)?;
        sanity::columns(&columns)?;
        Ok(columns)
    }

    pub fn cancel_key(&self) -> Option<Vec<u8>> {
        let connector = self.shared.connector.try_borrow().ok()?;
        connector.cursor_cancel_key(self.cursor.try_borrow().ok()?.as_ref()?)
    }

    pub fn next(&self, limits: BatchLimits) -> Result<Option<Batch>> {
        self.with(|connector, cursor| connector.next(cursor, limits))
    }

    pub fn close(&self) -> Result<bool> {
        let mut slot = self.cursor.try_borrow_mut().map_err(|_| reentered())?;
        let mut connector = self.shared.connector()?;
        let cursor = slot.take().ok_or_else(closed)?;
        self.shared.cursor_is_open.set(false);
        connector.close(cursor)
    }

    fn with<R>(&self, call: impl FnOnce(&mut T, &mut T::Cursor) -> Result<R>) -> Result<R> {
        let mut cursor = self.cursor.try_borrow_mut().map_err(|_| reentered())?;
        call(
            &mut *self.shared.connector()?,
            cursor.as_mut().ok_or_else(closed)?,
        )
    }
}

impl<T: Connector> Drop for Cursor<T> {
    /// A cursor that the host dropped without closing it still ends its execution.
    fn drop(&mut self) {
        let Some(cursor) = self.cursor.get_mut().take() else {
            return;
        };
        self.shared.cursor_is_open.set(false);
        if let Ok(mut connector) = self.shared.connector() {
            // Nobody is left to hear of an error.
            let _ = connector.close(cursor);
        }
    }
}

impl<T> SharedConnector<T> {
    fn connector(&self) -> Result<RefMut<'_, T>> {
        self.connector.try_borrow_mut().map_err(|_| reentered())
    }
}

fn reentered() -> Error {
    Error::internal("the connection was called while another call of it was running")
}

fn closed() -> Error {
    Error::internal("the cursor is closed").connection_usable(true)
}
