//! Guests that misuse what people read: errors, log lines, names of products.

use mindhost_base::error::{Blame, Code};
use serde_json::json;

use super::{Behaviour, Ends, PLAIN, connectors, fault};

const UPSTREAM: Code = Code::UpstreamError;

pub const ROWS: &[Behaviour] = &[
    Behaviour {
        name: "log-flood",
        does: "logs 100,000 lines, some with its password",
        mode: "log",
        more: |_| json!({"password": "hunter22"}),
        by: "`plugins.log_lines_per_second` for each instance; what is above is counted; secrets are masked",
        ..PLAIN
    },
    Behaviour {
        name: "long-lines",
        does: "logs lines of 1 MiB",
        mode: "log-long",
        by: "a line is cut at 2,048 bytes",
        ..PLAIN
    },
    Behaviour {
        name: "output-flood",
        does: "writes 32 MB without a line break to standard output, and 100,000 lines to standard error",
        mode: "stdout",
        by: "both are log lines like all others; of a line nothing is kept beyond its limit",
        ..PLAIN
    },
    Behaviour {
        name: "forged-lines",
        does: "logs line breaks and commands to a terminal",
        mode: "log-escapes",
        by: "control characters are escaped: one call is one line",
        ..PLAIN
    },
    Behaviour {
        name: "forged-error",
        does: "fails with a message that forges log lines and commands a terminal, and has its password",
        mode: "error-escapes",
        more: |_| json!({"password": "hunter22"}),
        ends: Ends::Failed(UPSTREAM, Blame::Upstream, "with ********"),
        by: "messages lose control characters and secrets; what is logged or printed of an error is one line",
        ..PLAIN
    },
    Behaviour {
        name: "endless-error",
        does: "fails with a message of 10 MiB",
        mode: "long-error",
        ends: Ends::Failed(UPSTREAM, Blame::Upstream, "xxx"),
        by: "`plugins.max_message_bytes`",
        ..PLAIN
    },
    Behaviour {
        name: "empty-error",
        does: "fails without a word",
        mode: "empty-error",
        ends: fault("without a message"),
        by: "an error without a message is a fault of the plugin",
        ..PLAIN
    },
    Behaviour {
        name: "endless-error-fields",
        does: "fails with a code of 1 MB, at the last position, to be tried again in 500 million years",
        mode: "error-fields",
        ends: Ends::Failed(Code::RateLimited, Blame::Upstream, "come back later"),
        by: "a code is cut at 64 bytes, a wait at an hour; what is not known is dropped",
        ..PLAIN
    },
    Behaviour {
        name: "another-product",
        does: "opens a connection and then calls itself another product, in colours",
        mode: "escapes",
        by: "the name of a product is text for people, cut and cleaned: nothing depends on it",
        ..PLAIN
    },
    Behaviour {
        name: "endless-product",
        does: "gives 200 MiB for its name",
        mode: "giant-text",
        ends: fault("out of memory"),
        by: "its own memory comes first, then 128 MiB for all that one call returns",
        ..PLAIN
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn texts_say_no_more_than_they_should() {
    connectors(ROWS).await;
}
