//! The findings of `doctor`.

/// The result of one check.
pub(super) enum Finding {
    /// All is well.
    Good(String),
    /// It works, but the operator should know.
    Note(String),
    /// The server cannot work; how to fix it.
    Bad { what: String, fix: String },
}

impl Finding {
    /// Something that must be fixed, and how.
    pub(super) fn bad(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Bad {
            what: what.into(),
            fix: fix.into(),
        }
    }
}
