//! One source and its scans, held so that any order of calls and drops is survived. Nothing here knows of handles, so
//! that native tests reach all of it.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use super::{ScanRequest, Scanner};
use crate::config::Config;
use crate::error::{Error, Result};

/// What the host's handle of a source points to.
pub struct Source<T: Scanner>(Rc<RefCell<T>>);

/// What the host's handle of a cursor points to. It keeps the source alive.
pub struct Cursor<T: Scanner> {
    source: Rc<RefCell<T>>,
    /// Empty once closed.
    scan: RefCell<Option<T::Scan>>,
}

impl<T: Scanner> Source<T> {
    pub fn open(config: &Config) -> Result<Self> {
        Ok(Self(Rc::new(RefCell::new(T::open(config)?))))
    }

    pub fn with<R>(&self, call: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        call(&mut *borrowed(&self.0)?)
    }

    pub fn scan(&self, request: &ScanRequest) -> Result<Cursor<T>> {
        let scan = self.with(|scanner| scanner.scan(request))?;
        Ok(Cursor {
            source: Rc::clone(&self.0),
            scan: RefCell::new(Some(scan)),
        })
    }
}

impl<T: Scanner> Cursor<T> {
    pub fn with<R>(&self, call: impl FnOnce(&mut T, &mut T::Scan) -> Result<R>) -> Result<R> {
        let mut scan = borrowed(&self.scan)?;
        call(
            &mut *borrowed(&self.source)?,
            scan.as_mut().ok_or_else(closed)?,
        )
    }

    pub fn close(&self) -> Result<bool> {
        let scan = borrowed(&self.scan)?.take().ok_or_else(closed)?;
        borrowed(&self.source)?.close(scan)
    }
}

impl<T: Scanner> Drop for Cursor<T> {
    /// A cursor that the host dropped without closing it still ends its scan.
    fn drop(&mut self) {
        if let Some(scan) = self.scan.get_mut().take()
            && let Ok(mut source) = borrowed(&self.source)
        {
            // Nobody is left to hear of an error.
            let _ = source.close(scan);
        }
    }
}

fn borrowed<T>(cell: &RefCell<T>) -> Result<RefMut<'_, T>> {
    cell.try_borrow_mut()
        .map_err(|_| Error::internal("the source was called while another call of it was running"))
}

fn closed() -> Error {
    Error::internal("the scan is closed").connection_usable(true)
}
