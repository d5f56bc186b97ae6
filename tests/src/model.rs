//! A language model that says what the test wrote: a real HTTP server that speaks OpenAI chat completions, or plays what
//! another vendor published.

mod embeddings;
mod judge;
mod play;
mod turn;
mod vendor;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, Method, Uri},
    response::Response,
    serve::ListenerExt,
};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

pub use embeddings::Embeddings;
pub use turn::{Gate, Turn};
use vendor::Purpose;
pub use vendor::Vendor;

use crate::Host;

/// The key that a provider must send.
const KEY: &str = "sk-scripted-0123456789";
/// What a test waits for happens within this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// The server. It plays one turn a request, in order, and remembers what it was asked.
pub struct ScriptedModel {
    origin: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

impl std::fmt::Debug for ScriptedModel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ScriptedModel")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

/// A request as it came in.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Value,
}

/// Decides what to say by what it is asked.
type Reaction = Box<dyn FnMut(&Value) -> Turn + Send>;

struct Shared {
    vendor: Vendor,
    turns: Mutex<VecDeque<Turn>>,
    /// Speaks when there is no turn left to play.
    reaction: Mutex<Option<Reaction>>,
    asked: Mutex<Vec<Asked>>,
    /// What texts become.
    embeddings: Mutex<Embeddings>,
    /// Texts of all requests for vectors.
    embedded: Mutex<Vec<String>>,
    /// Requests that came in.
    begun: watch::Sender<usize>,
    /// Answers whose reader went away before their end.
    abandoned: watch::Sender<usize>,
}

impl ScriptedModel {
    /// A server with turns to play.
    pub async fn start(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self::of(Vendor::OpenAi, turns).await
    }

    /// A server with the paths, the credentials and the strictness of a vendor.
    pub async fn of(vendor: Vendor, turns: impl IntoIterator<Item = Turn>) -> Self {
        let shared = Arc::new(Shared {
            vendor,
            turns: Mutex::new(turns.into_iter().collect()),
            reaction: Mutex::default(),
            asked: Mutex::default(),
            embeddings: Mutex::default(),
            embedded: Mutex::default(),
            begun: watch::Sender::new(0),
            abandoned: watch::Sender::new(0),
        });
        let routes = Router::new().fallback(answer).with_state(shared.clone());
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
            origin: format!("http://{address}"),
            shared,
            server,
        }
    }

    /// A server that decides each turn by the body of the request.
    pub async fn reacting(reaction: impl FnMut(&Value) -> Turn + Send + 'static) -> Self {
        let model = Self::start([]).await;
        *lock(&model.shared.reaction) = Some(Box::new(reaction));
        model
    }

    /// Decides what texts become from now on. Without it there is no API for vectors.
    pub fn embed(&self, embeddings: Embeddings) {
        *lock(&self.shared.embeddings) = embeddings;
    }

    /// Every text that it was to embed so far.
    pub fn embedded(&self) -> Vec<String> {
        lock(&self.shared.embedded).clone()
    }

    /// Adds turns behind those that are still to be played.
    pub fn play(&self, turns: impl IntoIterator<Item = Turn>) {
        lock(&self.shared.turns).extend(turns);
    }

    /// The base URL that a provider is configured with.
    pub fn base_url(&self) -> String {
        self.shared.vendor.base_url(&self.origin)
    }

    /// What a provider is made with.
    pub fn connection_data(&self) -> Value {
        self.shared.vendor.connection_data(&self.origin)
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
        self.provider(name, model.shared.vendor.plugin(), model.connection_data())
            .await;
    }

    /// Makes any model provider.
    pub async fn provider(&self, name: &str, plugin: &str, connection_data: Value) {
        let body = json!({"name": name, "plugin": plugin, "connection_data": connection_data});
        self.post("/providers", body).await.expect_status(201);
    }
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let vendor = shared.vendor;
    let purpose = vendor.purpose(&method, &uri);
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let stream = body["stream"] == true;
    let usage = body["stream_options"]["include_usage"] == true;
    let mut next = None;
    if purpose == Purpose::Complete {
        next = lock(&shared.turns).pop_front();
        if next.is_none() {
            next = lock(&shared.reaction).as_mut().map(|react| react(&body));
        }
    }
    let authorized = vendor.is_authorized(&uri, &headers, &body);
    let fault = judge::fault(vendor, &body);
    if purpose == Purpose::Complete {
        let body = body.clone();
        lock(&shared.asked).push(Asked { headers, body });
        shared.begun.send_modify(|count| *count += 1);
    }
    match purpose {
        Purpose::Nothing => play::refusal(404, &format!("{method} {uri} is no API"), "no_api"),
        _ if !authorized => play::refusal(401, "Incorrect API key provided.", "invalid_api_key"),
        Purpose::Models => play::json(200, &vendor.models()),
        Purpose::Embed => embeddings::answer(&shared, &body).await,
        Purpose::Complete => match (fault, next) {
            (Some(fault), _) => play::refusal(400, &fault, "judge"),
            (None, None) => play::refusal(
                500,
                "the script of the test has no more turns",
                "script_ended",
            ),
            (None, Some(turn)) if stream => play::stream(turn, usage, shared.clone()),
            (None, Some(turn)) => play::whole(turn),
        },
    }
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
