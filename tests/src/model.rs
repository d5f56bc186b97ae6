//! A language model that says what the test wrote: a real HTTP server that speaks OpenAI chat completions.

mod play;
mod turn;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::State,
    http::HeaderMap,
    response::Response,
    routing::{get, post},
    serve::ListenerExt,
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

pub use turn::{Gate, Turn};

use crate::Host;

/// The key that a provider must send.
const KEY: &str = "sk-scripted-0123456789";
/// What a test waits for happens within this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// The server. It plays one turn a request, in order, and remembers what it was asked.
#[derive(Debug)]
pub struct ScriptedModel {
    base_url: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

/// A request as it came in.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Value,
}

#[derive(Debug)]
struct Shared {
    turns: Mutex<VecDeque<Turn>>,
    asked: Mutex<Vec<Asked>>,
    /// Requests that came in.
    begun: watch::Sender<usize>,
    /// Answers whose reader went away before their end.
    abandoned: watch::Sender<usize>,
}

impl ScriptedModel {
    /// A server with turns to play.
    pub async fn start(turns: impl IntoIterator<Item = Turn>) -> Self {
        let shared = Arc::new(Shared {
            turns: Mutex::new(turns.into_iter().collect()),
            asked: Mutex::default(),
            begun: watch::Sender::new(0),
            abandoned: watch::Sender::new(0),
        });
        let routes = Router::new()
            .route("/v1/chat/completions", post(complete))
            .route("/v1/models", get(models))
            .with_state(shared.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("its address");
        let server = tokio::spawn(async move {
            // As real vendors send: every event at once.
            let listener = listener.tap_io(|connection| {
                connection.set_nodelay(true).expect("a connection");
            });
            axum::serve(listener, routes)
                .await
                .expect("the scripted model");
        });
        Self {
            base_url: format!("http://{address}/v1"),
            shared,
            server,
        }
    }

    /// Adds turns behind those that are still to be played.
    pub fn play(&self, turns: impl IntoIterator<Item = Turn>) {
        lock(&self.shared.turns).extend(turns);
    }

    /// The base URL that a provider is configured with.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// What a provider is made with.
    pub fn connection_data(&self) -> Value {
        json!({"base_url": self.base_url, "api_key": KEY, "model": "scripted-1"})
    }

    /// Everything that it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.shared.asked).clone()
    }

    /// The body of the newest request.
    ///
    /// # Panics
    /// When there was none.
    pub fn last(&self) -> Value {
        self.asked().pop().expect("a request to the model").body
    }

    /// How many turns are still to be played.
    pub fn left(&self) -> usize {
        lock(&self.shared.turns).len()
    }

    /// Waits until so many requests have come in.
    pub async fn wait_for_requests(&self, count: usize) {
        wait_for(&self.shared.begun, count, "requests").await;
    }

    /// Waits until the reader of so many answers has gone away before their end.
    pub async fn wait_for_abandoned(&self, count: usize) {
        wait_for(&self.shared.abandoned, count, "abandoned answers").await;
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Asked {
    /// The text of the messages of one role, joined.
    pub fn text_of(&self, role: &str) -> String {
        let messages = self.body["messages"].as_array().into_iter().flatten();
        let texts = messages.filter(|message| message["role"] == role).map(
            |message| match &message["content"] {
                Value::String(text) => text.clone(),
                Value::Array(parts) => parts
                    .iter()
                    .filter_map(|part| part["text"].as_str())
                    .collect(),
                _ => String::new(),
            },
        );
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl Host {
    /// Makes a model provider that asks a scripted model.
    pub async fn scripted_provider(&self, name: &str, model: &ScriptedModel) {
        self.provider(name, "model-openai", model.connection_data())
            .await;
    }

    /// Makes any model provider.
    pub async fn provider(&self, name: &str, plugin: &str, connection_data: Value) {
        let body = json!({"name": name, "plugin": plugin, "connection_data": connection_data});
        self.post("/providers", body).await.expect_status(201);
    }
}

async fn complete(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    let authorized = is_authorized(&headers);
    let stream = body["stream"] == true;
    let usage = body["stream_options"]["include_usage"] == true;
    lock(&shared.asked).push(Asked { headers, body });
    shared.begun.send_modify(|count| *count += 1);
    if !authorized {
        return play::refusal(401, "Incorrect API key provided.", "invalid_api_key");
    }
    let turn = lock(&shared.turns).pop_front();
    match turn {
        None => play::refusal(
            500,
            "the script of the test has no more turns",
            "script_ended",
        ),
        Some(turn) if stream => play::stream(turn, usage, shared),
        Some(turn) => play::whole(turn),
    }
}

async fn models(headers: HeaderMap) -> Response {
    match is_authorized(&headers) {
        true => play::json(
            200,
            &json!({"object": "list", "data": [{"id": "scripted-1", "object": "model"}]}),
        ),
        false => play::refusal(401, "Incorrect API key provided.", "invalid_api_key"),
    }
}

fn is_authorized(headers: &HeaderMap) -> bool {
    headers
        .get("authorization")
        .is_some_and(|value| value == &format!("Bearer {KEY}"))
}

async fn wait_for(counter: &watch::Sender<usize>, count: usize, what: &str) {
    let mut counter = counter.subscribe();
    let enough = tokio::time::timeout(PATIENCE, counter.wait_for(|seen| *seen >= count)).await;
    assert!(
        enough.is_ok(),
        "{what}: fewer than {count} after {PATIENCE:?}"
    );
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
