//! Guests that lie of their tables.

use mindhost_base::error::Blame;

use super::{Behaviour, Ends, PLAIN, TOO_LARGE, connectors, fault};

const BOUNDED: &str = "counts and lengths are bounded where they enter";
const ASKED: &str = "answers are matched with what was asked for, each once";

pub const ROWS: &[Behaviour] = &[
    Behaviour {
        name: "endless-tables",
        does: "lists 200,000 tables",
        at: "tables",
        mode: "many",
        ends: Ends::Failed(TOO_LARGE, Blame::Upstream, "max_tables"),
        by: "`plugins.max_tables`",
        ..PLAIN
    },
    Behaviour {
        name: "endless-table-name",
        does: "lists a table with a name of 1 MiB",
        at: "tables",
        mode: "long-name",
        ends: fault("too long"),
        by: BOUNDED,
        ..PLAIN
    },
    Behaviour {
        name: "colliding-names",
        does: "lists 50,000 tables whose names have one hash",
        at: "tables",
        mode: "collide",
        by: "the host's maps have a random seed",
        ..PLAIN
    },
    Behaviour {
        name: "escapes-in-names",
        does: "lists a table that is named with commands to a terminal",
        at: "tables",
        mode: "escapes",
        by: "names are data: JSON and log lines escape them",
        ..PLAIN
    },
    Behaviour {
        name: "endless-columns",
        does: "describes a table of 250,000 columns",
        at: "describe-tables",
        mode: "millions",
        ends: fault("too many columns"),
        by: "`plugins.max_columns`",
        ..PLAIN
    },
    Behaviour {
        name: "unasked-table",
        does: "describes another table than it was asked for",
        at: "describe-tables",
        mode: "unasked",
        ends: fault("not asked for"),
        by: ASKED,
        ..PLAIN
    },
    Behaviour {
        name: "table-twice",
        does: "describes one table twice",
        at: "describe-tables",
        mode: "twice",
        ends: fault("one twice"),
        by: ASKED,
        ..PLAIN
    },
    Behaviour {
        name: "other-columns",
        does: "describes columns that no result has",
        at: "describe-tables",
        mode: "other-columns",
        by: "a result is read by the schema of its own cursor; the catalog is only advice",
        ..PLAIN
    },
    Behaviour {
        name: "endless-comment",
        does: "describes a table in 8 MiB",
        at: "describe-tables",
        mode: "comments",
        by: "comments are cut at 64 KiB",
        ..PLAIN
    },
    Behaviour {
        name: "impossible-share",
        does: "gives shares of rows above one",
        at: "statistics",
        mode: "shares",
        ends: fault("statistics that cannot be"),
        by: BOUNDED,
        ..PLAIN
    },
    Behaviour {
        name: "no-number",
        does: "gives NaN for a share",
        at: "statistics",
        mode: "nonsense",
        ends: fault("statistics that cannot be"),
        by: BOUNDED,
        ..PLAIN
    },
    Behaviour {
        name: "endless-statistics",
        does: "gives 100,000 most common values",
        at: "statistics",
        mode: "common",
        ends: fault("statistics that cannot be"),
        by: BOUNDED,
        ..PLAIN
    },
    Behaviour {
        name: "column-twice",
        does: "gives statistics of one column twice",
        at: "statistics",
        mode: "twice",
        ends: fault("statistics that cannot be"),
        by: ASKED,
        ..PLAIN
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn catalogs_that_cannot_be_are_refused() {
    connectors(ROWS).await;
}
