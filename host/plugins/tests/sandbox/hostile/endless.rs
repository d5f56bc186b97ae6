//! Guests that do not end.

use serde_json::json;

use super::{Behaviour, Ends, OUT_OF_TIME, PLAIN, connectors, fault};

const DEADLINE: &str = "the deadline of the call: the engine's clock interrupts guest code";
const TIMER: &str = "the deadline of the call: a timer of the host ends every wait";

pub const ROWS: &[Behaviour] = &[
    Behaviour {
        name: "endless-loop",
        does: "computes for ever",
        at: "next",
        mode: "loop",
        is_brief: true,
        ends: OUT_OF_TIME,
        by: DEADLINE,
        ..PLAIN
    },
    Behaviour {
        name: "endless-open",
        does: "computes for ever before there is a connection",
        at: "open",
        mode: "loop",
        is_brief: true,
        ends: OUT_OF_TIME,
        by: DEADLINE,
        ..PLAIN
    },
    Behaviour {
        name: "endless-host-calls",
        does: "calls the host for ever, each time for a moment",
        mode: "host-calls",
        is_brief: true,
        ends: OUT_OF_TIME,
        by: DEADLINE,
        ..PLAIN
    },
    Behaviour {
        name: "sleep",
        does: "waits an hour in the host",
        at: "query",
        mode: "sleep",
        is_brief: true,
        ends: OUT_OF_TIME,
        by: TIMER,
        ..PLAIN
    },
    Behaviour {
        name: "centuries",
        does: "waits on clocks for centuries and for the largest numbers that there are",
        mode: "clock",
        is_brief: true,
        ends: OUT_OF_TIME,
        by: TIMER,
        ..PLAIN
    },
    Behaviour {
        name: "poll-many",
        does: "polls a list of a hundred thousand pollables",
        mode: "poll-many",
        ends: fault("returned an invalid value"),
        by: "the trap ends one call and one instance",
        ..PLAIN
    },
    Behaviour {
        name: "drip",
        does: "gives one row at a time, for ever",
        at: "next",
        mode: "drip",
        is_brief: true,
        ends: Ends::TimedOut,
        by: "the time of the statement, which all of its batches share",
        ..PLAIN
    },
    Behaviour {
        name: "endless-rows",
        does: "gives full batches for ever",
        at: "next",
        mode: "endless-rows",
        is_brief: true,
        ends: Ends::TimedOut,
        by: "the time of the statement; a page stops reading when it is full",
        ..PLAIN
    },
    Behaviour {
        name: "nothing-yet",
        does: "gives empty batches for ever, each of which means: nothing yet",
        at: "next",
        mode: "empty",
        is_brief: true,
        ends: OUT_OF_TIME,
        by: "the time of the statement, which all of its batches share",
        ..PLAIN
    },
    Behaviour {
        name: "time-bomb",
        does: "is decent until its third statement",
        at: "query",
        mode: "loop",
        more: |_| json!({"after": 2}),
        is_brief: true,
        ends: OUT_OF_TIME,
        by: "every call is bounded, not only the first",
    },
    Behaviour {
        name: "endless-close",
        does: "never ends to close a cursor",
        at: "close",
        mode: "loop",
        is_brief: true,
        ends: Ends::Well,
        by: "the rows are delivered: the connection is thrown away after 5 s or at the deadline, whichever is first",
        ..PLAIN
    },
    Behaviour {
        name: "endless-cancel",
        does: "never ends to cancel a statement",
        at: "cancel",
        mode: "loop",
        by: "`cancel` runs in an instance of its own, from places and memory of its own, for `plugins.cancel_timeout`",
        ..PLAIN
    },
    Behaviour {
        name: "deaf",
        does: "goes on after it was told to stop",
        at: "statistics",
        mode: "host-calls",
        is_brief: true,
        ends: OUT_OF_TIME,
        by: "the instance is dropped after `plugins.cancel_grace`",
        ..PLAIN
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn guests_that_do_not_end_are_ended() {
    connectors(ROWS).await;
}
