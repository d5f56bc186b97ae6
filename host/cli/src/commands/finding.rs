//! What `doctor` finds, whichever part looks.

/// What was found out about one thing.
pub(super) enum Finding {
    /// It is as it should be.
    Good(String),
    /// It works, but the operator should know.
    Note(String),
    /// It keeps the server from working; what to do.
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
