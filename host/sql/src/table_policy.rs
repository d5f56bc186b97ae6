//! What a caller may see of one table: the relation that stands in its place, or that it is closed.

use sqlparser::ast::Query;

use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::TableRef;

/// What stands in place of a table for one caller, or why the caller may not read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablePolicy(pub(super) State);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A rule does not fit the table, for this reason: the table is closed.
    Closed(String),
    Open {
        relation: Box<Query>,
        visible: Vec<String>,
        fingerprint: u64,
    },
}

impl TablePolicy {
    /// Why the table is closed, if a rule does not fit it.
    pub fn closed(&self) -> Option<&str> {
        match &self.0 {
            State::Closed(reason) => Some(reason),
            State::Open { .. } => None,
        }
    }

    /// The columns that exist for the caller, in the order of the table; none of a closed table.
    pub fn visible(&self) -> &[String] {
        match &self.0 {
            State::Closed(_) => &[],
            State::Open { visible, .. } => visible,
        }
    }

    /// The same for equal policies; tells those apart that give columns of other types.
    pub fn fingerprint(&self) -> u64 {
        match &self.0 {
            State::Closed(_) => 1,
            State::Open { fingerprint, .. } => *fingerprint,
        }
    }

    /// What stands in place of the table, before the walk.
    ///
    /// # Errors
    /// `sql_table_closed`
    pub(super) fn relation(&self, table: &TableRef) -> Result<&Query> {
        match &self.0 {
            State::Open { relation, .. } => Ok(relation),
            State::Closed(_) => Err(closed(table)),
        }
    }
}

/// The refusal of a closed table. Callers do not learn why: the reason may name hidden columns.
fn closed(table: &TableRef) -> Error {
    Error::new(
        Code::SqlTableClosed,
        format!(
            "a policy of `{table}` does not fit the table, so it cannot be read; an editor can correct those of the \
             Mind, and an admin can make a key with others"
        ),
    )
}
