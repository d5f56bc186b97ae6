//! The refusals of one instance, for its log and for the error of its caller.

use std::{
    io,
    sync::{Arc, Mutex},
};

use super::guest_log::GuestLog;
use mindhost_base::{error::Error, locks::lock};

/// Longest reason, in bytes.
const MAX_REASON: usize = 512;
/// Longest piece of a guest's text in a reason, in bytes.
const MAX_QUOTE: usize = 200;

/// Why the host did not do what the guest wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The grants do not allow it, for this reason.
    NotAllowed(String),
    /// The host got no access token for the request.
    NoToken(String),
    /// The host may open no more files and connections.
    OutOfFiles,
}

/// The refusals of one instance. A reason may hold text of the guest, so secrets are removed first.
pub struct Refusals {
    log: Arc<GuestLog>,
    first: Mutex<Option<Refusal>>,
}

impl Refusals {
    /// Refusals that go to `log` as well.
    pub fn new(log: Arc<GuestLog>) -> Arc<Self> {
        Arc::new(Self {
            log,
            first: Mutex::default(),
        })
    }

    /// The log that they go to.
    pub fn log(&self) -> &Arc<GuestLog> {
        &self.log
    }

    /// Clears the refusal of an earlier call.
    pub fn begin(&self) {
        *lock(&self.first) = None;
    }

    /// Records why something was refused. The first reason of a call stays: later ones mostly follow from it.
    pub fn note(&self, why: &str) {
        let why = self.log.clean(why, MAX_REASON);
        self.log.refused(&why);
        lock(&self.first).get_or_insert_with(|| Refusal::NotAllowed(why));
    }

    /// As [`Self::note`], for a request that had no access token. The guest asked for nothing that it may not have.
    pub fn note_no_token(&self, why: &str) {
        let why = self.log.clean(why, MAX_REASON);
        self.log.without_token(&why);
        lock(&self.first).get_or_insert_with(|| Refusal::NoToken(why));
    }

    /// Records an error on opening a file or a connection, if the host may open no more of them.
    pub fn note_out_of_files(&self, error: &io::Error) {
        if Error::is_out_of_files(error) {
            self.log.out_of_files();
            lock(&self.first).get_or_insert(Refusal::OutOfFiles);
        }
    }

    /// Cleans a guest's text for use in a reason.
    pub fn quoted(&self, text: &str) -> String {
        self.log.redacted(text, MAX_QUOTE)
    }

    /// Takes the reason of this call's first refusal.
    pub fn take(&self) -> Option<Refusal> {
        lock(&self.first).take()
    }
}
