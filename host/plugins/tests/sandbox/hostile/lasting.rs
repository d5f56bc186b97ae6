//! Guests that live long: they make far more of a resource than an instance may hold, and give each back. Nothing of it
//! may be left, for a pooled instance serves for days.

use serde_json::json;

use super::{Behaviour, PLAIN, connectors, contain, stage::Stage};

const GIVEN_BACK: &str = "what the guest drops or gives away leaves the table of its instance";

/// Ends well, after the guest has seen that there is room for a thousand of another kind.
const CHURN: Behaviour = Behaviour {
    by: GIVEN_BACK,
    ..PLAIN
};

const CONNECTORS: usize = 11;

pub const ROWS: &[Behaviour] = &[
    Behaviour {
        name: "lasting-pollables",
        does: "makes ten thousand times two pollables and polls them",
        mode: "churn-pollables",
        ..CHURN
    },
    Behaviour {
        name: "lasting-streams",
        does: "takes its standard streams ten thousand times",
        mode: "churn-streams",
        ..CHURN
    },
    Behaviour {
        name: "lasting-headers",
        does: "makes ten thousand lists of headers and copies each",
        mode: "churn-fields",
        ..CHURN
    },
    Behaviour {
        name: "lasting-options",
        does: "makes options for ten thousand requests that it never sends",
        mode: "churn-options",
        ..CHURN
    },
    Behaviour {
        name: "lasting-requests",
        does: "makes ten thousand requests with bodies and sends none",
        mode: "churn-requests",
        ..CHURN
    },
    Behaviour {
        name: "lasting-networks",
        does: "asks for the network ten thousand times",
        mode: "churn-networks",
        ..CHURN
    },
    Behaviour {
        name: "lasting-lookups",
        does: "looks its host up ten thousand times",
        mode: "churn-lookups",
        more: |_| json!({"host": "localhost", "port": 5432, "target": "localhost"}),
        ..CHURN
    },
    Behaviour {
        name: "lasting-sockets",
        does: "makes ten thousand sockets and connects none",
        mode: "churn-sockets",
        more: |servers| servers.tcp(true),
        ..CHURN
    },
    Behaviour {
        name: "lasting-connections",
        does: "connects to its server two thousand times",
        mode: "churn-connections",
        more: |servers| servers.tcp(true),
        ..CHURN
    },
    Behaviour {
        name: "lasting-files",
        does: "reads its file ten thousand times",
        mode: "churn-files",
        more: |_| json!({"path": "own.db", "target": "/data/own.db"}),
        ..CHURN
    },
    Behaviour {
        name: "lasting-listings",
        does: "lists its folder ten thousand times",
        mode: "churn-listings",
        more: |_| json!({"path": "own.db", "target": "/data"}),
        ..CHURN
    },
    Behaviour {
        name: "lasting-exchanges",
        does: "sends ten thousand requests with options and reads each answer to its end",
        mode: "churn-http",
        more: |servers| servers.answers(),
        ..CHURN
    },
    Behaviour {
        name: "lasting-failures",
        does: "sends two thousand requests whose answers break off",
        mode: "churn-http-broken",
        more: |servers| servers.breaks(),
        ..CHURN
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_ten_thousand_resources_of_each_kind() {
    connectors(&ROWS[..CONNECTORS]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_ten_thousand_http_exchanges() {
    contain(Stage::of_models().await, &ROWS[CONNECTORS..]).await;
}
