//! A model vendor for many streams at once: every delta says when it was sent.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderName, header::CONTENT_TYPE},
    response::IntoResponse,
    routing::{get, post},
    serve::ListenerExt,
};
use futures_util::stream;
use tokio::{
    net::TcpListener,
    sync::watch,
    time::{Instant, sleep_until},
};

use super::clock;

/// Time between two deltas of one stream, on average.
const PACE: Duration = Duration::from_millis(200);

/// The server. Streams begin to speak together, when they are told to.
pub struct Upstream {
    /// Where providers find it.
    pub base_url: String,
    shared: Arc<Shared>,
}

struct Shared {
    /// Streams that were asked for.
    asked: watch::Sender<u64>,
    /// How many deltas the streams send; none before they may begin.
    deltas: watch::Sender<Option<u64>>,
    seed: AtomicU64,
}

/// A stream that is told.
struct Told {
    shared: Arc<Shared>,
    sent: u64,
    due: Instant,
    dice: u64,
}

impl Upstream {
    /// A server whose streams wait.
    pub async fn start() -> Self {
        let shared = Arc::new(Shared {
            asked: watch::Sender::new(0),
            deltas: watch::Sender::new(None),
            seed: AtomicU64::new(1),
        });
        let routes = Router::new()
            .route("/v1/chat/completions", post(complete))
            .route("/v1/models", get(async || MODELS))
            .with_state(shared.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let listener = listener.tap_io(|connection| connection.set_nodelay(true).unwrap());
        tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { base_url, shared }
    }

    /// Lets those that come from now on wait.
    pub fn hold(&self) {
        self.shared.deltas.send_replace(None);
        self.shared.asked.send_replace(0);
    }

    /// Waits until so many streams were asked for since the last [`Upstream::hold`].
    pub async fn wait_for(&self, streams: u64) {
        let mut asked = self.shared.asked.subscribe();
        asked.wait_for(|count| *count >= streams).await.unwrap();
    }

    /// Lets all of them speak so many deltas and end.
    pub fn speak(&self, deltas: u64) {
        self.shared.deltas.send_replace(Some(deltas));
    }
}

async fn complete(State(shared): State<Arc<Shared>>, _body: Bytes) -> impl IntoResponse {
    shared.asked.send_modify(|count| *count += 1);
    let told = Told {
        dice: shared
            .seed
            .fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed),
        shared,
        sent: 0,
        due: Instant::now(),
    };
    let body = stream::unfold(Some(told), |told| async {
        let mut told = told?;
        let piece = told.next().await;
        let rest = piece.is_some().then_some(told);
        let piece = piece.unwrap_or_else(|| END.to_owned());
        Some((Ok::<_, std::convert::Infallible>(piece), rest))
    });
    (
        [(CONTENT_TYPE, "text/event-stream")],
        Body::from_stream(body),
    )
}

const MODELS: ([(HeaderName, &str); 1], &str) = (
    [(CONTENT_TYPE, "application/json")],
    "{\"object\":\"list\",\"data\":[{\"id\":\"m\",\"object\":\"model\"}]}",
);
const END: &str = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

impl Told {
    /// The next piece, when it is due; none at the end.
    async fn next(&mut self) -> Option<String> {
        let mut deltas = self.shared.deltas.subscribe();
        let deltas = (*deltas.wait_for(Option::is_some).await.ok()?)?;
        if self.sent == deltas {
            return None;
        }
        // Streams of real vendors are not in step: the first waits for a part of the pace, each other for 50 to 150 %.
        let wait = match self.sent {
            0 => {
                self.due = Instant::now();
                PACE.mul_f64(self.roll())
            }
            _ => PACE.mul_f64(0.5 + self.roll()),
        };
        self.due += wait;
        sleep_until(self.due).await;
        self.sent += 1;
        let now = clock();
        Some(format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"@{now} some words \"}},\"finish_reason\":null}}]}}\n\n"
        ))
    }

    /// A number from 0 to 1 (splitmix64).
    fn roll(&mut self) -> f64 {
        self.dice = self.dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.dice;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
