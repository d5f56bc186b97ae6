//! Guests that take too much, or fall over.

use serde_json::json;

use super::{Behaviour, Ends, PLAIN, connectors, fault, nothing};

const INSTANCE: &str = "the trap ends one call and one instance";
const HANDLES: &str = "at most 1,024 handles of the host for each instance";

pub const ROWS: &[Behaviour] = &[
    Behaviour {
        name: "memory",
        does: "takes memory for ever",
        at: "next",
        mode: "memory",
        ends: fault("out of memory"),
        by: "`plugins.max_memory_bytes`, and the same for each datasource, plugin, workspace and all together",
        ..PLAIN
    },
    Behaviour {
        name: "memory-steps",
        does: "asks for 4 GiB a page at a time without touching one",
        mode: "memory-steps",
        ends: fault("out of memory"),
        by: "growth is counted when it is asked for, not when it is used",
        ..PLAIN
    },
    Behaviour {
        name: "stack",
        does: "calls itself for ever",
        mode: "stack",
        ends: fault("stack overflowed"),
        by: INSTANCE,
        ..PLAIN
    },
    Behaviour {
        name: "stack-in-host",
        does: "calls itself for ever with a call of the host in between",
        at: "describe-tables",
        mode: "stack-in-host",
        ends: fault("stack overflowed"),
        by: "guest code has a stack of its own; the host's is never below it",
        ..PLAIN
    },
    Behaviour {
        name: "trap",
        does: "executes an instruction that traps",
        at: "query",
        mode: "trap",
        ends: fault("panicked"),
        by: INSTANCE,
        ..PLAIN
    },
    Behaviour {
        name: "trap-at-close",
        does: "traps when a cursor is closed",
        at: "close",
        mode: "trap",
        ends: Ends::Well,
        by: "the rows are delivered: the trap costs the connection",
        ..PLAIN
    },
    Behaviour {
        name: "panic-with-secret",
        does: "panics with its password in the message",
        mode: "panic",
        more: |_| json!({"password": "hunter22"}),
        ends: fault("panicked"),
        by: "the message goes to the guest's own log, where secrets are masked",
        ..PLAIN
    },
    Behaviour {
        name: "exit",
        does: "ends its process with 0, in the middle of a statement",
        at: "next",
        mode: "exit-0",
        ends: fault("tried to exit"),
        by: INSTANCE,
        ..PLAIN
    },
    Behaviour {
        name: "late-trap",
        does: "is decent when it is checked, and traps at its third statement",
        at: "query",
        mode: "trap",
        more: |_| json!({"after": 2}),
        ends: fault("panicked"),
        by: INSTANCE,
        ..PLAIN
    },
    Behaviour {
        name: "pollables",
        does: "makes pollables and never drops one",
        mode: "resources",
        ends: fault("returned an invalid value"),
        by: HANDLES,
        ..PLAIN
    },
    Behaviour {
        name: "headers-objects",
        does: "makes headers of requests that it never sends",
        mode: "fields",
        ends: fault("returned an invalid value"),
        by: HANDLES,
        ..PLAIN
    },
    Behaviour {
        name: "lookups",
        does: "looks names up and never drops an answer",
        mode: "dns",
        more: |_| json!({"host": "localhost", "port": 5432}),
        ends: fault("returned an invalid value"),
        by: HANDLES,
        ..PLAIN
    },
    Behaviour {
        name: "poll-nothing",
        does: "polls an empty list, which WASI forbids",
        mode: "poll-none",
        ends: fault("returned an invalid value"),
        by: INSTANCE,
        ..PLAIN
    },
    Behaviour {
        name: "random",
        does: "asks for 1 TiB of random bytes",
        mode: "random",
        ends: fault("returned an invalid value"),
        by: "at most 1 MiB of random bytes for one call",
        ..PLAIN
    },
    Behaviour {
        name: "header-flood",
        does: "adds headers to one request for ever",
        mode: "header-flood",
        ends: fault("returned an invalid value"),
        by: "at most 32 KiB of headers",
        ..PLAIN
    },
    Behaviour {
        name: "files",
        does: "opens its file a thousand times and closes none",
        mode: "files",
        more: |_| json!({"path": "own.db", "target": "/data/own.db"}),
        ends: nothing("opened: 63"),
        by: "at most 64 open files for each instance",
        ..PLAIN
    },
    Behaviour {
        name: "readers",
        does: "reads its file a thousand times at once, and closes the file each time",
        mode: "readers",
        more: |_| json!({"path": "own.db", "target": "own.db"}),
        ends: nothing("reading: 64"),
        by: "at most 64 readers of files for each instance",
        ..PLAIN
    },
    Behaviour {
        name: "giant-key",
        does: "gives a cancel key of 8 MiB, to be kept and copied for each call",
        at: "cancel-key",
        mode: "giant-key",
        ends: fault("cancel key"),
        by: "at most 4,096 bytes",
        ..PLAIN
    },
    Behaviour {
        name: "giant-cursor-key",
        does: "gives such a key for each statement",
        at: "cursor-cancel-key",
        mode: "giant-key",
        ends: fault("cancel key"),
        by: "at most 4,096 bytes",
        ..PLAIN
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn guests_that_take_too_much_or_fall_over_cost_one_instance() {
    connectors(ROWS).await;
}
