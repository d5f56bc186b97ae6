//! Hostile models.

use mindhost_base::error::{Blame, Code};
use serde_json::json;

use super::{
    Behaviour, Ends, NOTHING_WORKED, OUT_OF_TIME, OUT_OF_TIME_UPSTREAM, PLAIN, contain, fault,
    nothing, stage::Stage,
};

const LENGTH: &str =
    "`plugins.max_completion_bytes` for all events of a completion, whatever they are";
const TOO_LONG: Ends = Ends::Failed(Code::UpstreamError, Blame::Upstream, "max_completion_bytes");
const NEXT: Behaviour = Behaviour {
    at: "next",
    ..PLAIN
};

pub const ROWS: &[Behaviour] = &[
    Behaviour {
        name: "model-loop",
        does: "computes for ever before it answers",
        at: "start",
        mode: "loop",
        is_brief: true,
        ends: OUT_OF_TIME,
        by: "the deadline of the answer",
        ..PLAIN
    },
    Behaviour {
        name: "token-drip",
        does: "gives one letter at a time, for ever",
        mode: "drip",
        is_brief: true,
        ends: Ends::TimedOut,
        by: "the deadline of the answer, which all of its events share",
        ..NEXT
    },
    Behaviour {
        name: "no-events",
        does: "gives no event, for ever",
        mode: "nothing",
        is_brief: true,
        ends: OUT_OF_TIME,
        by: "the deadline of the answer, which all of its events share",
        ..NEXT
    },
    Behaviour {
        name: "endless-text",
        does: "gives 1 MiB of text at a time, for ever",
        mode: "large",
        ends: TOO_LONG,
        by: LENGTH,
        ..NEXT
    },
    Behaviour {
        name: "endless-events",
        does: "gives 200,000 events at once",
        mode: "many",
        ends: fault("too many events"),
        by: "at most 100,000 events a call",
        ..NEXT
    },
    Behaviour {
        name: "unknown-events",
        does: "gives 1 MiB of an event that nobody knows, for ever",
        mode: "other",
        ends: TOO_LONG,
        by: LENGTH,
        ..NEXT
    },
    Behaviour {
        name: "after-stop",
        does: "goes on after its last event",
        mode: "after-stop",
        ends: fault("after the stop event"),
        by: "the stop event is the last one",
        ..NEXT
    },
    Behaviour {
        name: "no-stop",
        does: "ends without saying why",
        mode: "no-stop",
        ends: fault("without a stop event"),
        by: "an answer that was cut off is no answer",
        ..NEXT
    },
    Behaviour {
        name: "long-arguments",
        does: "calls a tool with 10 MiB of arguments",
        mode: "long-arguments",
        ends: TOO_LONG,
        by: LENGTH,
        ..NEXT
    },
    Behaviour {
        name: "long-call-id",
        does: "calls a tool with an id of 10 kB",
        mode: "long-call",
        ends: fault("too long a name or id"),
        by: "at most 512 bytes",
        ..NEXT
    },
    Behaviour {
        name: "opaque-bomb",
        does: "gives 10 MiB to be kept with the message and sent back with every turn",
        mode: "opaque",
        ends: TOO_LONG,
        by: LENGTH,
        ..NEXT
    },
    Behaviour {
        name: "long-last-word",
        does: "says in 10 MiB why it stopped",
        mode: "stop-word",
        ends: TOO_LONG,
        by: LENGTH,
        ..NEXT
    },
    Behaviour {
        name: "token-overflow",
        does: "says twice that it used as many tokens as there are numbers",
        mode: "usage",
        ends: fault("a number of tokens that cannot be"),
        by: "at most 2^40 tokens, so that sums of them never run over",
        ..NEXT
    },
    Behaviour {
        name: "token-names",
        does: "counts 700,000 kinds of tokens",
        mode: "usage-names",
        ends: TOO_LONG,
        by: LENGTH,
        ..NEXT
    },
    Behaviour {
        name: "model-memory",
        does: "takes memory for ever while it answers",
        mode: "memory",
        ends: fault("out of memory"),
        by: "`plugins.max_memory_bytes`",
        ..NEXT
    },
    Behaviour {
        name: "model-list",
        does: "lists 20,000 models",
        at: "models",
        mode: "many",
        ends: fault("a list of models that is too long"),
        by: "at most 10,000 models of 1,024 bytes each",
        ..PLAIN
    },
    Behaviour {
        name: "smuggling",
        does: "puts line breaks, a second host, lengths and other requests into headers, paths, methods and authorities",
        mode: "smuggle",
        more: |servers| servers.listens(),
        ends: NOTHING_WORKED,
        by: "requests are built of checked parts; the headers that frame a message, and those of credentials, are the host's",
        ..PLAIN
    },
    Behaviour {
        name: "endless-body",
        does: "reads an answer whose body never ends",
        mode: "http-read",
        more: |servers| servers.endless(),
        is_brief: true,
        ends: Ends::TimedOut,
        by: "a body is read as fast as the guest takes it, and the deadline",
        ..PLAIN
    },
    Behaviour {
        name: "stalled-body",
        does: "reads an answer that stops in the middle",
        mode: "http-read",
        more: |servers| servers.stalls(),
        is_brief: true,
        ends: OUT_OF_TIME_UPSTREAM,
        by: "`plugins.http_idle_timeout`, and the deadline",
        ..PLAIN
    },
    Behaviour {
        name: "endless-headers",
        does: "asks a server that answers with 100,000 headers",
        mode: "http-read",
        more: |servers| servers.headers(),
        ends: nothing("refused"),
        by: "the client reads at most 100 headers",
        ..PLAIN
    },
    Behaviour {
        name: "response-splitting",
        does: "asks a server that puts two answers into one, with two lengths",
        mode: "http-read",
        more: |servers| servers.splits(),
        ends: nothing("refused"),
        by: "an answer with two lengths is refused, and its connection is not used again",
        ..PLAIN
    },
    Behaviour {
        name: "exchanges",
        does: "sends requests for ever and reads no answer",
        mode: "http-many",
        more: |servers| servers.listens(),
        ends: fault("returned an invalid value"),
        by: "at most 8 exchanges in progress; those that wait are handles, of which there are at most 1,024",
        ..PLAIN
    },
    Behaviour {
        name: "endless-request",
        does: "sends a body for ever to a server that takes none of it",
        mode: "http-body",
        more: |servers| servers.ignores(),
        is_brief: true,
        ends: OUT_OF_TIME_UPSTREAM,
        by: "a body is taken from the guest as fast as the server reads, and the deadline",
        ..PLAIN
    },
    Behaviour {
        name: "other-origin",
        does: "sends a request to another port of its vendor's host",
        mode: "http",
        more: |servers| {
            let mut data = servers.listens();
            data["target"] = json!("127.0.0.1:1");
            data
        },
        ends: nothing("does not name"),
        by: "requests are sent by the host, to granted origins, whatever a redirect says",
        ..PLAIN
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn hostile_models_end_their_completion_and_nothing_else() {
    contain(Stage::of_models().await, ROWS).await;
}
