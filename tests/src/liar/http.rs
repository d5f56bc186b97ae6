//! Servers that speak HTTP and lie: ClickHouse in front of the real one, and Trino.

use std::sync::{Arc, Mutex, PoisonError};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Method, Uri},
    response::{IntoResponse as _, Response},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::{ClickHouse, client::CLIENT};

/// The body of an answer that is not true.
pub enum Lie {
    /// These bytes.
    Body(Vec<u8>),
    /// The first bytes, and then the second ones without an end.
    Forever(Vec<u8>, Vec<u8>),
}

impl Lie {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Body(text.into().into_bytes())
    }

    /// One page of a statement of Trino.
    pub fn page(page: &Value) -> Self {
        Self::text(page.to_string())
    }

    fn into_body(self) -> Body {
        match self {
            Self::Body(bytes) => Body::from(bytes),
            Self::Forever(first, more) => {
                let more = std::iter::repeat(Bytes::from(more));
                let all = std::iter::once(Bytes::from(first)).chain(more);
                Body::from_stream(futures_util::stream::iter(all.map(Ok::<_, std::io::Error>)))
            }
        }
    }
}

/// A request that the server got.
#[derive(Clone, Debug)]
pub struct HeardRequest {
    /// Its method.
    pub method: String,
    /// Its path with the query.
    pub path: String,
    /// The text of its header `Authorization`.
    pub authorization: Option<String>,
    /// Its other headers, for [`HeardRequest::header`].
    headers: HeaderMap,
}

impl HeardRequest {
    /// The text of a header, if it has that one.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

type Script = dyn Fn(&str) -> Option<Lie> + Send + Sync;

/// Who knows the truth.
#[derive(Clone)]
enum Truth {
    /// A real server at this URL.
    Server(String),
    /// A Trino with one table, `s.item`.
    Trino,
}

/// The server. It ends when it is dropped.
pub struct LyingHttp {
    origin: String,
    script: Arc<Mutex<Arc<Script>>>,
    heard: Arc<Mutex<Vec<HeardRequest>>>,
    server: JoinHandle<()>,
}

#[derive(Clone)]
struct Shared {
    truth: Truth,
    script: Arc<Mutex<Arc<Script>>>,
    heard: Arc<Mutex<Vec<HeardRequest>>>,
}

impl LyingHttp {
    /// A ClickHouse that says what the real one says, until it is told to lie.
    pub async fn clickhouse(real: &ClickHouse) -> Self {
        Self::start(Truth::Server(real.url.clone())).await
    }

    /// A Trino that says the truth about one table, `s.item`, until it is told to lie.
    pub async fn trino() -> Self {
        Self::start(Truth::Trino).await
    }

    async fn start(truth: Truth) -> Self {
        let script: Arc<Mutex<Arc<Script>>> = Arc::new(Mutex::new(Arc::new(|_: &str| None)));
        let heard = Arc::default();
        let shared = Shared {
            truth,
            script: Arc::clone(&script),
            heard: Arc::clone(&heard),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("its address");
        let routes = Router::new().fallback(answer).with_state(shared);
        let server = tokio::spawn(async move {
            axum::serve(listener, routes).await.expect("a server");
        });
        Self {
            origin: format!("http://{address}"),
            script,
            heard,
            server,
        }
    }

    /// All requests so far.
    pub fn heard(&self) -> Vec<HeardRequest> {
        self.heard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// From now on statements are answered so, and a `GET` by its path; `None` is the truth.
    pub fn lie(&self, script: impl Fn(&str) -> Option<Lie> + Send + Sync + 'static) {
        *self.script.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(script);
    }

    /// `http://127.0.0.1:…`
    pub fn origin(&self) -> &str {
        &self.origin
    }
}

impl Drop for LyingHttp {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(
    State(shared): State<Shared>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: String,
) -> Response {
    let script = shared
        .script
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let authorization = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok());
    shared
        .heard
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(HeardRequest {
            method: method.to_string(),
            path: uri.to_string(),
            authorization: authorization.map(str::to_owned),
            headers: headers.clone(),
        });
    let lie = match method {
        Method::POST => script(&body),
        Method::GET => script(uri.path()),
        _ => None,
    };
    let said = match (lie, &shared.truth) {
        (Some(lie), _) => lie.into_body(),
        (None, Truth::Server(url)) => return forward(url, &uri, headers, body).await,
        (None, Truth::Trino) => Body::from(trino(&body).to_string()),
    };
    // What the connectors know their servers by.
    let headers = [
        ("x-clickhouse-summary", "{}"),
        ("x-trino-started-transaction-id", "t1"),
    ];
    (headers, said).into_response()
}

async fn forward(url: &str, uri: &Uri, mut headers: HeaderMap, body: String) -> Response {
    headers.remove("host");
    headers.remove("content-length");
    let request = CLIENT
        .post(format!("{url}{uri}"))
        .headers(headers)
        .body(body);
    let answer = request.send().await.expect("the real server");
    let (status, mut headers) = (answer.status(), answer.headers().clone());
    headers.remove("transfer-encoding");
    (status, headers, Body::from_stream(answer.bytes_stream())).into_response()
}

/// What an honest Trino says to the statements of the connector.
fn trino(sql: &str) -> Value {
    let data = match sql {
        sql if sql.contains("version()") => json!([["479 (honest)", 1]]),
        sql if sql.contains("table_type") => json!([["s", "item", "BASE TABLE"]]),
        sql if sql.contains("information_schema.tables") => json!([["s", "item"]]),
        sql if sql.contains("jdbc.columns") => {
            json!([["s", "item", "id", "bigint", "NO", null, null]])
        }
        sql if sql.starts_with("SHOW STATS") => json!([
            ["id", null, 3.0, 0.0, null, "1", "3"],
            [null, null, null, null, 3.0, null, null],
        ]),
        sql if sql.contains("\"item\"") => {
            let columns = [json!({"name": "id", "type": "bigint"})];
            return json!({"id": "q1", "columns": columns, "data": [[1], [2], [3]]});
        }
        _ => json!([]),
    };
    json!({"id": "q1", "data": data})
}
