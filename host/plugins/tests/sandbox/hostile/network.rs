//! Guests that reach out: for what is not theirs, for too much, or to those who never answer.

use serde_json::json;

use super::{Behaviour, Ends, NOTHING_WORKED, PLAIN, contain, nothing, stage::Stage};

const FILES: &str = "one read-only folder that shows the file and its siblings; every path is looked up there, without links";
const GRANT: &str =
    "the grants of the instance, made of its own configuration: one place gives out sockets";

pub const ROWS: &[Behaviour] = &[
    Behaviour {
        name: "paths",
        does: "reads what is not its own, by a dozen spellings",
        mode: "paths",
        more: |_| json!({"path": "own.db"}),
        ends: NOTHING_WORKED,
        by: FILES,
        ..PLAIN
    },
    Behaviour {
        name: "writes",
        does: "writes, cuts, removes, renames and links files and makes folders",
        mode: "writes",
        more: |_| json!({"path": "own.db"}),
        ends: NOTHING_WORKED,
        by: "the folder is read-only for every function of WASI",
        ..PLAIN
    },
    Behaviour {
        name: "link-race",
        does: "reads a file again and again while it is exchanged with a link to a secret",
        mode: "reread",
        more: |_| json!({"path": "own.db"}),
        ends: nothing("found: {}"),
        by: "links are refused by the call that opens, not by a look before it",
        ..PLAIN
    },
    Behaviour {
        name: "no-files",
        does: "reads files though its configuration names none",
        mode: "paths",
        ends: NOTHING_WORKED,
        by: "without a grant there is no folder",
        ..PLAIN
    },
    Behaviour {
        name: "connections",
        does: "opens a thousand connections to its server",
        mode: "connections",
        more: |servers| servers.tcp(true),
        ends: nothing("made: 64"),
        by: "at most 64 sockets at once for each instance",
        ..PLAIN
    },
    Behaviour {
        name: "sockets",
        does: "makes a thousand sockets and connects none",
        mode: "sockets",
        more: |servers| servers.tcp(true),
        ends: nothing("made: 64"),
        by: "at most 64 sockets at once for each instance",
        ..PLAIN
    },
    Behaviour {
        name: "deaf-server",
        does: "sends without an end to a server that does not read",
        mode: "send",
        more: |servers| servers.tcp(false),
        is_brief: true,
        ends: Ends::TimedOut,
        by: "what is not sent yet is held by the guest: the host keeps one buffer for each socket, and the deadline",
        ..PLAIN
    },
    Behaviour {
        name: "scan",
        does: "connects to another port than its server's",
        mode: "connect",
        more: |servers| {
            let mut data = servers.tcp(true);
            data["target"] = json!("127.0.0.1:1");
            data
        },
        ends: nothing("egress rules"),
        by: GRANT,
        ..PLAIN
    },
    Behaviour {
        name: "metadata",
        does: "connects to the address at which clouds keep credentials",
        mode: "connect",
        more: |servers| {
            let mut data = servers.tcp(true);
            data["target"] = json!("169.254.169.254:80");
            data
        },
        ends: nothing("egress rules"),
        by: GRANT,
        ..PLAIN
    },
    Behaviour {
        name: "lookup-tunnel",
        does: "carries its password out in the names of a thousand look-ups",
        mode: "resolve-many",
        more: |_| json!({"host": "localhost", "password": "hunter22"}),
        ends: nothing("looked up `********"),
        by: "only the granted name is looked up, by the host, before the call",
        ..PLAIN
    },
    Behaviour {
        name: "udp",
        does: "sends a datagram to its server",
        mode: "udp",
        more: |servers| servers.tcp(true),
        ends: nothing("refused"),
        by: "there is no UDP",
        ..PLAIN
    },
    Behaviour {
        name: "listen",
        does: "listens on a port",
        mode: "listen",
        more: |servers| {
            let mut data = servers.tcp(true);
            data["target"] = json!("0.0.0.0:0");
            data
        },
        ends: nothing("refused"),
        by: "no guest listens",
        ..PLAIN
    },
    Behaviour {
        name: "unnamed-http",
        does: "sends an HTTP request though its manifest names none",
        mode: "http",
        more: |servers| servers.tcp(true),
        ends: nothing("its manifest has no `http`"),
        by: "requests are sent by the host, to granted origins",
        ..PLAIN
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_granted_is_out_of_reach() {
    let stage = Stage::of_connectors().await;
    stage.exchange_files();
    contain(stage, ROWS).await;
}
