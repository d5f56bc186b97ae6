//! Access tokens by OAuth 2.0 client credentials (RFC 6749, section 4.4). The host asks for them and renews them, so
//! the guest sees neither the client's secret nor a token.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex as StdMutex, Weak},
    time::{Duration, Instant},
};

use base64::Engine as _;
use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};
use serde::Deserialize;
use tokio::sync::Mutex;
use wasmtime_wasi_http::{Error as HttpError, WasiBody};

use super::client::{self, Client as HttpClient, Failure};
use mindhost_base::locks::lock;

/// Longest answer of a token endpoint, in bytes.
const MAX_ANSWER: usize = 64 * 1024;
/// How long a token is used whose lifetime the endpoint does not say.
const USUAL_LIFETIME: Duration = Duration::from_secs(300);
/// The longest time that a token is used, whatever the endpoint says.
const LONGEST_LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// How often an endpoint that is busy is asked again for one token.
const MAX_REPEATS: u32 = 3;
/// The first wait, if the endpoint says none; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// A longer wait is the caller's: the answer says that there is no token.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// How long before its end a token is renewed: a request may be on its way for a while. Of a short lifetime, a tenth.
const MARGIN: Duration = Duration::from_secs(60);

/// The tokens of all connections: those of one client share theirs while one of them is open.
#[derive(Default)]
pub struct TokenStore(StdMutex<HashMap<Client, Weak<AccessTokens>>>);

impl TokenStore {
    /// The tokens of a client.
    pub fn of(&self, client: Client) -> Arc<AccessTokens> {
        let mut all = lock(&self.0);
        if let Some(tokens) = all.get(&client).and_then(Weak::upgrade) {
            return tokens;
        }
        all.retain(|_, tokens| tokens.strong_count() > 0);
        let tokens = Arc::new(AccessTokens {
            client: client.clone(),
            current: Mutex::default(),
        });
        all.insert(client, Arc::downgrade(&tokens));
        tokens
    }
}

/// A client of a token endpoint, as it is configured.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Client {
    /// Workspace that it is configured in; workspaces share no tokens.
    pub workspace: String,
    /// Where tokens come from.
    pub endpoint: Uri,
    /// Name of the property with the endpoint, for messages.
    pub property: String,
    /// `client_id` of the OAuth 2.0 client credentials grant.
    pub id: String,
    /// `client_secret` of that grant.
    pub secret: String,
    /// What the tokens are for; empty for what the endpoint gives unasked.
    pub scope: String,
}

/// Asks for a token when there is none that is valid long enough, and keeps it for all requests of the client.
pub struct AccessTokens {
    client: Client,
    /// Locked while a token is asked for, so that requests at the same time share it.
    current: Mutex<Current>,
}

#[derive(Default)]
struct Current {
    token: Option<Token>,
    /// Whether the endpoint wants the secret in the body. RFC 6749 prefers the header, which not all servers take.
    in_body: bool,
}

struct Token {
    /// `Bearer …`
    header: HeaderValue,
    renew_at: Instant,
}

/// A successful answer.
#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    token_type: String,
    expires_in: Option<Seconds>,
}

/// Some endpoints send the number as a string.
#[derive(Deserialize)]
#[serde(untagged)]
enum Seconds {
    Number(f64),
    Text(String),
}

/// A refusal.
#[derive(Deserialize)]
struct ErrorResponse {
    error: String,
}

impl AccessTokens {
    /// Where tokens come from.
    pub fn endpoint(&self) -> &Uri {
        &self.client.endpoint
    }

    /// The header `Authorization` with a token that is valid now.
    pub async fn header(&self, http: &HttpClient) -> Result<HeaderValue, Failure> {
        let mut current = self.current.lock().await;
        let valid = current.token.as_ref();
        if let Some(token) = valid.filter(|token| Instant::now() < token.renew_at) {
            return Ok(token.header.clone());
        }
        current.token = None;
        let in_body = current.in_body;
        let asked = Instant::now();
        let granted = match self.ask(http, in_body).await? {
            Err(refusal) if refusal.is_of_client() => {
                let other = self.ask(http, !in_body).await?;
                // The first refusal is the one that counts if neither way works.
                let granted = other.map_err(|_| self.failure(&refusal.message()))?;
                current.in_body = !in_body;
                granted
            }
            other => other.map_err(|refusal| self.failure(&refusal.message()))?,
        };
        let token = self.token(granted, asked)?;
        let header = token.header.clone();
        current.token = Some(token);
        Ok(header)
    }

    /// Drops a token that the server did not accept, so that the next request gets a new one.
    pub async fn drop(&self, header: &HeaderValue) {
        let mut current = self.current.lock().await;
        if current
            .token
            .as_ref()
            .is_some_and(|token| token.header == *header)
        {
            current.token = None;
        }
    }

    /// Asks for a token, and again while the endpoint is busy.
    async fn ask(
        &self,
        http: &HttpClient,
        in_body: bool,
    ) -> Result<Result<TokenResponse, Refusal>, Failure> {
        let mut wait = FIRST_WAIT;
        for _ in 0..MAX_REPEATS {
            let answer = self.ask_once(http, in_body).await?;
            let Err(refusal) = &answer else {
                return Ok(answer);
            };
            let asked = refusal.retry_after.unwrap_or(wait);
            if !refusal.is_busy() || asked > LONGEST_WAIT {
                return Ok(answer);
            }
            // The caller's time limit ends this too.
            tokio::time::sleep(asked).await;
            wait *= 2;
        }
        self.ask_once(http, in_body).await
    }

    async fn ask_once(
        &self,
        http: &HttpClient,
        in_body: bool,
    ) -> Result<Result<TokenResponse, Refusal>, Failure> {
        let request = self.request(in_body)?;
        let response = http.request(request).await;
        let response = response.map_err(|error| self.unreached(client::failure(&error)))?;
        let status = response.status();
        let retry_after = response.headers().get(header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let body = Limited::new(response.into_body(), MAX_ANSWER)
            .collect()
            .await;
        let body = body.map_err(|_| self.failure("broke off its answer, or made it too long"))?;
        let body = body.to_bytes();
        if status.is_success() {
            let granted = serde_json::from_slice(&body);
            return granted
                .map(Ok)
                .map_err(|_| self.failure("gave no access token"));
        }
        let code = serde_json::from_slice::<ErrorResponse>(&body).ok();
        Ok(Err(Refusal {
            status,
            code: code.and_then(|refused| error_code(&refused.error)),
            retry_after: retry_after.map(Duration::from_secs),
        }))
    }

    fn request(&self, in_body: bool) -> Result<Request<WasiBody>, Failure> {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        if !self.client.scope.is_empty() {
            form.append_pair("scope", &self.client.scope);
        }
        let mut request = Request::post(&self.client.endpoint)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::ACCEPT, "application/json");
        if in_body {
            form.append_pair("client_id", &self.client.id);
            form.append_pair("client_secret", &self.client.secret);
        } else {
            request = request.header(header::AUTHORIZATION, self.basic()?);
        }
        let body = Full::new(Bytes::from(form.finish()));
        let body = body.map_err(HttpError::from).boxed_unsync();
        request
            .body(body)
            .map_err(|_| self.failure("cannot be asked"))
    }

    /// The client's id and secret as the header `Authorization`, each encoded as in a form (RFC 6749, section 2.3.1).
    fn basic(&self) -> Result<HeaderValue, Failure> {
        let encoded = |text: &str| {
            let bytes = url::form_urlencoded::byte_serialize(text.as_bytes());
            bytes.collect::<String>()
        };
        let pair = format!(
            "{}:{}",
            encoded(&self.client.id),
            encoded(&self.client.secret)
        );
        let pair = base64::engine::general_purpose::STANDARD.encode(pair);
        let value = HeaderValue::try_from(format!("Basic {pair}"));
        let mut value = value.map_err(|_| self.failure("cannot be asked"))?;
        value.set_sensitive(true);
        Ok(value)
    }

    fn token(&self, granted: TokenResponse, asked: Instant) -> Result<Token, Failure> {
        if !granted.token_type.eq_ignore_ascii_case("bearer") {
            return Err(self.failure("gave a token that is no bearer token"));
        }
        let header = HeaderValue::try_from(format!("Bearer {}", granted.access_token));
        let header = header.map_err(|_| self.failure("gave a token that cannot be sent"));
        let mut header = header?;
        header.set_sensitive(true);
        let seconds = granted.expires_in.map(|seconds| match seconds {
            Seconds::Number(number) => number,
            Seconds::Text(text) => text.trim().parse().unwrap_or_default(),
        });
        let lifetime = seconds.map_or(USUAL_LIFETIME, |seconds| {
            Duration::try_from_secs_f64(seconds).unwrap_or_default()
        });
        let lifetime = lifetime.min(LONGEST_LIFETIME);
        Ok(Token {
            header,
            renew_at: asked + lifetime - MARGIN.min(lifetime / 10),
        })
    }

    /// Why a request for a token failed. It names the endpoint: the request of the plugin went to another server.
    fn unreached(&self, why: Failure) -> Failure {
        match why {
            Failure::Http(error) => self.failure(&format!(
                "cannot be reached ({error}); check its URL, and that it is running"
            )),
            other => other,
        }
    }

    fn failure(&self, what: &str) -> Failure {
        Failure::NoToken(format!(
            "the token endpoint (`{}`) {what}",
            self.client.property
        ))
    }
}

/// Why the endpoint gives no token.
struct Refusal {
    status: StatusCode,
    code: Option<&'static str>,
    /// As the endpoint asks, in seconds; a date counts as not said.
    retry_after: Option<Duration>,
}

impl Refusal {
    /// Whether the same request may be granted later.
    fn is_busy(&self) -> bool {
        self.status == StatusCode::TOO_MANY_REQUESTS || self.status.is_server_error()
    }

    /// Whether the client was not recognized, which is also how endpoints answer that want the secret elsewhere.
    fn is_of_client(&self) -> bool {
        self.code == Some("invalid_client")
            || (self.code.is_none() && self.status == StatusCode::UNAUTHORIZED)
    }

    fn message(&self) -> String {
        let status = self.status.as_u16();
        let advice = match self.code {
            _ if self.is_of_client() => "check the client's id and secret",
            None if self.is_busy() => "it is busy or broken; try again later",
            Some("invalid_scope") => "check the scope",
            Some("unauthorized_client" | "unsupported_grant_type") => {
                "allow client credentials for this client there"
            }
            _ => "look into its log",
        };
        match self.code {
            Some(code) => format!("answered {status} ({code}); {advice}"),
            None => format!("answered {status}; {advice}"),
        }
    }
}

/// The codes of RFC 6749, section 5.2. Other text of the endpoint is not passed on.
fn error_code(code: &str) -> Option<&'static str> {
    const CODES: [&str; 6] = [
        "invalid_request",
        "invalid_client",
        "invalid_grant",
        "unauthorized_client",
        "unsupported_grant_type",
        "invalid_scope",
    ];
    CODES.into_iter().find(|known| *known == code)
}
