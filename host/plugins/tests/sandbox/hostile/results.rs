//! Guests whose results cannot be, or that a careless reader would trip over.

use mindhost_base::error::Blame;
use serde_json::json;

use super::{Behaviour, Ends, PLAIN, TOO_LARGE, connectors, fault};

const COUNTED: &str = "rows, values and bytes are counted where a batch enters";
const CHECKED: &str = "every value is checked where it enters";
const NEXT: Behaviour = Behaviour {
    at: "next",
    ..PLAIN
};

pub const ROWS: &[Behaviour] = &[
    Behaviour {
        name: "more-rows",
        does: "gives one row more than it was asked for",
        mode: "rows",
        ends: fault("11 rows where at most 10"),
        by: COUNTED,
        ..NEXT
    },
    Behaviour {
        name: "million-rows",
        does: "gives two million rows of nothing",
        mode: "million-rows",
        ends: fault("2000000 rows"),
        by: COUNTED,
        ..NEXT
    },
    Behaviour {
        name: "wide-row",
        does: "gives more values than there are columns",
        mode: "wide",
        ends: fault("a row of 2 values"),
        by: COUNTED,
        ..NEXT
    },
    Behaviour {
        name: "narrow-row",
        does: "gives fewer values than there are columns",
        mode: "narrow",
        ends: fault("a row of 0 values"),
        by: COUNTED,
        ..NEXT
    },
    Behaviour {
        name: "giant-cell",
        does: "gives a cell of 20 MiB",
        mode: "cell",
        ends: Ends::Failed(TOO_LARGE, Blame::Upstream, "max_cell_bytes"),
        by: "`plugins.max_cell_bytes`",
        ..NEXT
    },
    Behaviour {
        name: "giant-batch",
        does: "gives more bytes than a batch may have",
        mode: "batch",
        ends: fault("a batch of"),
        by: "`plugins.max_batch_bytes`; above it, 128 MiB for all that one call returns",
        ..NEXT
    },
    Behaviour {
        name: "other-type",
        does: "says integer in its schema and gives text",
        mode: "type",
        ends: fault("another type than its column's"),
        by: CHECKED,
        ..NEXT
    },
    Behaviour {
        name: "no-decimal",
        does: "gives SQL where a decimal belongs",
        mode: "decimal",
        more: |_| json!({"column": "decimal"}),
        ends: fault("a decimal that is not a number"),
        by: CHECKED,
        ..NEXT
    },
    Behaviour {
        name: "no-json",
        does: "gives two documents where one belongs",
        mode: "json",
        more: |_| json!({"column": "json"}),
        ends: fault("not JSON"),
        by: CHECKED,
        ..NEXT
    },
    Behaviour {
        name: "deep-json",
        does: "gives JSON that is a million arrays deep",
        mode: "json-deep",
        more: |_| json!({"column": "json"}),
        ends: fault("not JSON"),
        by: "the parser ends at a depth of 128",
        ..NEXT
    },
    Behaviour {
        name: "late-time",
        does: "gives a time of day after midnight",
        mode: "time",
        more: |_| json!({"column": "time"}),
        ends: fault("beyond the day"),
        by: CHECKED,
        ..NEXT
    },
    Behaviour {
        name: "nan-boxes",
        does: "hides bits in numbers that are none",
        mode: "nan",
        more: |_| json!({"column": "float64"}),
        by: "every one of them is written as `NaN`",
        ..NEXT
    },
    Behaviour {
        name: "far-dates",
        does: "gives the first and the last date that fit",
        mode: "dates",
        more: |_| json!({"column": "date"}),
        by: "dates are written by arithmetic that has no bounds of its own",
        ..NEXT
    },
    Behaviour {
        name: "far-timestamps",
        does: "gives the first and the last microsecond that fit",
        mode: "timestamps",
        more: |_| json!({"column": "any"}),
        by: "timestamps are written by arithmetic that has no bounds of its own",
        ..NEXT
    },
    Behaviour {
        name: "huge-decimals",
        does: "gives numbers of a million digits, written out and as an exponent",
        mode: "huge-decimal",
        more: |_| json!({"column": "decimal"}),
        by: "decimals stay text: nobody calculates with them",
        ..NEXT
    },
    Behaviour {
        name: "text-with-escapes",
        does: "gives text that a terminal, a spreadsheet or a page would obey",
        mode: "text",
        more: |_| json!({"column": "text"}),
        by: "the encoders write it as the data that it is",
        ..NEXT
    },
    Behaviour {
        name: "colliding-keys",
        does: "gives an object whose keys all have one hash",
        mode: "json-keys",
        more: |_| json!({"column": "json"}),
        by: "documents are checked without building a map; the host's own maps have a random seed",
        ..NEXT
    },
    Behaviour {
        name: "json-on-lines",
        does: "breaks lines between the parts of a document",
        mode: "json-lines",
        more: |_| json!({"column": "json"}),
        by: "line breaks between the parts of a document become blanks",
        ..NEXT
    },
    Behaviour {
        name: "no-columns",
        does: "gives a result without columns",
        at: "schema",
        mode: "none",
        ends: fault("a result of 0 columns"),
        by: CHECKED,
        ..PLAIN
    },
    Behaviour {
        name: "endless-schema",
        does: "gives 400,000 columns",
        at: "schema",
        mode: "millions",
        ends: fault("a result of 400000 columns"),
        by: "`plugins.max_columns`",
        ..PLAIN
    },
    Behaviour {
        name: "endless-column-name",
        does: "gives a column with a name of 1 MiB",
        at: "schema",
        mode: "long-name",
        ends: fault("too long"),
        by: "at most 4,096 bytes",
        ..PLAIN
    },
    Behaviour {
        name: "endless-extras",
        does: "adds 200,000 things to a column that nobody knows",
        at: "schema",
        mode: "extras",
        by: "what is not known is dropped where it enters",
        ..PLAIN
    },
    Behaviour {
        name: "escapes-in-columns",
        does: "names a column with commands to a terminal",
        at: "schema",
        mode: "escapes",
        by: "names are data: JSON and log lines escape them",
        ..PLAIN
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn results_that_cannot_be_are_refused_and_odd_ones_do_no_harm() {
    connectors(ROWS).await;
}
