//! The hostile suite: what a plugin can do to the host, one row each, and what holds it.
//!
//! Each row is run in the same way, whatever it does: it must end as it says and within its time; it must be counted
//! and logged as the doing of that version for that target and of nobody else; another datasource of the same plugin
//! and another plugin must serve right after it; and instances, memory and sockets must be given back. The table in
//! `docs/sandbox.md` is made of these rows.

mod arrow;
mod catalogs;
mod documentation;
mod endless;
mod greedy;
mod lasting;
mod models;
mod network;
mod packages;
mod results;
mod servers;
mod stage;
mod texts;

use mindhost_base::error::{Blame, Code};
use serde_json::{Value, json};

use self::{servers::Servers, stage::Stage};

/// One thing that a hostile guest does.
struct Behaviour {
    name: &'static str,
    /// What the guest does.
    does: &'static str,
    /// The function in which it does so.
    at: &'static str,
    /// What the guest calls it.
    mode: &'static str,
    /// What else it is configured with.
    more: fn(&Servers) -> Value,
    /// Whether the call has only a short time.
    is_brief: bool,
    ends: Ends,
    /// What contains it.
    by: &'static str,
}

/// How a call ends.
#[derive(Clone, Copy)]
enum Ends {
    /// As if nothing had happened: there is nothing in it that could harm.
    Well,
    /// With its time, whoever had the last of it: the host reads and writes what it was given in the meantime.
    TimedOut,
    /// With an error of that code and blame, whose message has these words.
    Failed(Code, Blame, &'static str),
}

/// The guest comes to nothing, and says so itself.
const fn nothing(words: &'static str) -> Ends {
    Ends::Failed(Code::UpstreamUnreachable, Blame::Host, words)
}

/// Of everything that the guest tried, nothing worked.
const NOTHING_WORKED: Ends = Ends::Failed(Code::UpstreamError, Blame::Upstream, "worked: []");

/// The plugin broke its contract, or fell over.
const fn fault(words: &'static str) -> Ends {
    Ends::Failed(Code::PluginError, Blame::Plugin, words)
}

const OUT_OF_TIME: Ends = Ends::Failed(Code::Timeout, Blame::Plugin, "time limit ran out");
const OUT_OF_TIME_UPSTREAM: Ends =
    Ends::Failed(Code::Timeout, Blame::Upstream, "time limit ran out");

const TOO_LARGE: Code = Code::ResultTooLarge;

/// What most rows have in common.
const PLAIN: Behaviour = Behaviour {
    name: "",
    does: "",
    at: "check",
    mode: "",
    more: |_| json!({}),
    is_brief: false,
    ends: Ends::Well,
    by: "",
};

/// A family whose guests are connectors.
async fn connectors(rows: &[Behaviour]) {
    contain(Stage::of_connectors().await, rows).await;
}

async fn contain(stage: Stage, rows: &[Behaviour]) {
    // All that is wrong is said at once: a run takes a while.
    let mut wrong = Vec::new();
    for row in rows {
        if let Err(why) = stage.contain(row).await {
            wrong.push(format!("{}: {why}", row.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
