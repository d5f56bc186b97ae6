//! A client of a running server's API.

use std::{
    fs,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context, bail};
use bytes::Bytes;
use clap::Args;
use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use mindhost_base::config::Config;
use reqwest::{Client, Method, RequestBuilder, Response, header};
use serde_json::Value;
use url::{Host, Url};

/// Longer than the server's own timeouts.
const TIMEOUT: Duration = Duration::from_secs(330);

/// The options to find a server.
#[derive(Debug, Args)]
pub(crate) struct Remote {
    /// The server's address. Default: `listen` of the settings.
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// A file with a key. Default: the key of the settings, or, for a server on this machine, the one that its first
    /// start made.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

/// A server, with the key for its requests.
pub(crate) struct Server {
    client: Client,
    base: Url,
    key: String,
    /// What messages of failures add if requests go through a proxy; otherwise empty.
    proxy_hint: String,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The server's error.
    #[error("{message}")]
    Answered {
        status: u16,
        /// Such as `plugin_not_found`; empty if something else answered.
        code: String,
        message: String,
        /// The time of `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The request was not sent, or its answer is unknown.
    #[error("{0}")]
    Unreachable(String),
    /// No connection came about, so the request was not sent.
    #[error("{0}")]
    NotConnected(String),
}

impl Failure {
    /// Whether the same request may succeed later.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::NotConnected(_) => true,
            Self::Answered { status, .. } => matches!(status, 429 | 500 | 502 | 503 | 504),
        }
    }

    /// Whether the server gave this code.
    pub(crate) fn is(&self, wanted: &str) -> bool {
        matches!(self, Self::Answered { code, .. } if code == wanted)
    }

    /// How long to wait before the next request.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Answered { retry_after, .. } => *retry_after,
            Self::Unreachable(_) | Self::NotConnected(_) => None,
        }
    }
}

impl Remote {
    /// Finds the server's address and the key. Sends nothing.
    pub(crate) fn server(&self) -> anyhow::Result<Server> {
        let config = Config::load()?;
        let base = match &self.server {
            Some(server) => address(server)?,
            None => address(&format!("http://{}", config.listen))?,
        };
        let key = self.key(&config, &base)?;
        let mut client = Client::builder().timeout(TIMEOUT);
        let mut proxy_hint = String::new();
        // The proxy of the environment would get the key, and could not reach the server.
        if is_own(&base, config.listen) {
            client = client.no_proxy();
        } else {
            proxy_hint = hint_of(&base, &Matcher::from_system());
        }
        let client = client.build()?;
        Ok(Server {
            client,
            base,
            key,
            proxy_hint,
        })
    }

    /// The key for a server. The key file of the data directory is of the server here, and no other may get it.
    fn key(&self, config: &Config, base: &Url) -> anyhow::Result<String> {
        match (&self.key_file, config.admin_key.get()) {
            (Some(file), _) => read(file),
            (None, Some(key)) => Ok(key.to_owned()),
            (None, None) if is_own(base, config.listen) => read(&config.data_dir.join("admin.key"))
                .context("no key was given; name a file that holds one with --key-file"),
            (None, None) => bail!(
                "no key was given for {}; name a file that holds one with --key-file, or set MINDHOST_ADMIN_KEY (the \
                 admin.key of the data directory is only sent to a server on this machine)",
                base.as_str().trim_end_matches('/')
            ),
        }
    }
}

/// Whether an address is one of this machine, or where the server of the settings listens.
fn is_own(url: &Url, listen: SocketAddr) -> bool {
    is_on_this_machine(url) || is_at(url, listen)
}

/// Whether an address is one of this machine.
fn is_on_this_machine(url: &Url) -> bool {
    let is_here = |ip: IpAddr| ip.to_canonical().is_loopback() || ip.is_unspecified();
    match url.host() {
        Some(Host::Ipv4(ip)) => is_here(ip.into()),
        Some(Host::Ipv6(ip)) => is_here(ip.into()),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        None => false,
    }
}

/// Whether an address is where the server of the settings listens.
fn is_at(url: &Url, listen: SocketAddr) -> bool {
    let ip: Option<IpAddr> = match url.host() {
        Some(Host::Ipv4(ip)) => Some(ip.into()),
        Some(Host::Ipv6(ip)) => Some(ip.into()),
        Some(Host::Domain(_)) | None => None,
    };
    ip == Some(listen.ip()) && url.port_or_known_default() == Some(listen.port())
}

/// What messages of failures add if `proxies` has one for the server: a failure may be the proxy's own. It does not
/// repeat the proxy's address, which may contain a password.
fn hint_of(base: &Url, proxies: &Matcher) -> String {
    let uri: Option<Uri> = base.as_str().parse().ok();
    if uri.and_then(|uri| proxies.intercept(&uri)).is_none() {
        return String::new();
    }
    let host = base.host_str().unwrap_or_default();
    let host = host.trim_matches(['[', ']']);
    format!(
        " (asked through the proxy of the environment; to ask it directly, add {host} to NO_PROXY)"
    )
}

impl Server {
    /// A request to `/api/v1` and path segments below it, each percent-encoded.
    pub(crate) fn request(&self, method: Method, path: &[&str]) -> RequestBuilder {
        let mut url = self.base.clone();
        // The address was checked to have a path.
        if let Ok(mut parts) = url.path_segments_mut() {
            parts.pop_if_empty().extend(["api", "v1"]).extend(path);
        }
        self.client.request(method, url).bearer_auth(&self.key)
    }

    /// The address, without a slash at its end.
    pub(crate) fn base(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// The text of the key.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Sends a request. An error of the server keeps its message.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Value, Failure> {
        let answer = request.send().await;
        self.read(answer.map_err(|error| self.unreachable(&error))?)
            .await
    }

    /// Sends a request whose answer is a stream. An error of the server keeps its message.
    pub(crate) async fn open(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let answer = request.send().await;
        let answer = answer.map_err(|error| self.unreachable(&error))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let base = self.base();
        let read = self.read(answer).await;
        Err(read
            .err()
            .unwrap_or_else(|| Failure::Unreachable(format!("{base} answered {status}"))))
    }

    /// The next piece of a stream; `None` at its end.
    pub(crate) async fn piece(&self, answer: &mut Response) -> Result<Option<Bytes>, Failure> {
        let piece = answer.chunk().await;
        piece.map_err(|error| self.unreachable(&error))
    }

    async fn read(&self, answer: Response) -> Result<Value, Failure> {
        let status = answer.status();
        let retry_after = answer.headers().get(header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
        let body = answer.bytes().await;
        let body = body.map_err(|error| self.unreachable(&error))?;
        if body.is_empty() && status.is_success() {
            return Ok(Value::Null);
        }
        let body: Option<Value> = serde_json::from_slice(&body).ok();
        let base = self.base();
        let hint = &self.proxy_hint;
        let message = match body {
            Some(body) if status.is_success() => return Ok(body),
            None => format!(
                "{base} answered {status} with something that is no JSON; is it a Mindhost?{hint}"
            ),
            Some(body) => {
                let error = &body["error"];
                let text = |name: &str| error[name].as_str().map(str::to_owned);
                return Err(Failure::Answered {
                    status: status.as_u16(),
                    code: text("code").unwrap_or_default(),
                    message: text("message").unwrap_or(format!("{base} answered {status}{hint}")),
                    retry_after: retry_after.map(Duration::from_secs),
                });
            }
        };
        Err(Failure::Answered {
            status: status.as_u16(),
            code: String::new(),
            message,
            retry_after: None,
        })
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let (base, hint) = (self.base(), &self.proxy_hint);
        let source = std::iter::successors(std::error::Error::source(error), |one| one.source());
        let cause = source.last().map(ToString::to_string);
        if error.is_connect() {
            return Failure::NotConnected(format!(
                "no server answers at {base}{hint}; start one with `mindhost serve`, or name another with --server"
            ));
        }
        Failure::Unreachable(match error.is_timeout() {
            true => format!("{base} did not answer in time{hint}"),
            false => {
                let cause = cause.unwrap_or_else(|| error.to_string());
                format!("{base}: {cause}{hint}")
            }
        })
    }
}

/// Parses the address of a server. The error does not repeat an address that may contain a password.
fn address(text: &str) -> anyhow::Result<Url> {
    const LIKE: &str = "write it like http://127.0.0.1:8080";
    if text.contains('@') {
        bail!(
            "the address of a server holds no user and password; {LIKE}, and the key is in a file"
        );
    }
    let url = Url::parse(text).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let Some(mut url) = url else {
        bail!("`{text}` is no address of a server; {LIKE}");
    };
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
}

fn read(file: &std::path::Path) -> anyhow::Result<String> {
    let text = fs::read_to_string(file).with_context(|| format!("{}", file.display()))?;
    let text = text.trim();
    match !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(text.to_owned()),
        false => bail!(
            "{} holds no key: one is a word of letters, digits and _",
            file.display()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(base: &str, parts: &[&str]) -> String {
        let client = Client::builder().build().unwrap();
        let server = Server {
            client,
            base: address(base).unwrap(),
            key: "mh_x".to_owned(),
            proxy_hint: String::new(),
        };
        let request = server.request(Method::GET, parts).build().unwrap();
        request.url().path().to_owned()
    }

    #[test]
    fn no_part_of_a_path_leads_out_of_it() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let parts = ["plugins", "x", "versions", "../../../minds/victim"];
        let escaped = "/api/v1/plugins/x/versions/..%2F..%2F..%2Fminds%2Fvictim";
        assert_eq!(path("http://127.0.0.1:8080", &parts), escaped);
        let odd = path("http://h/mindhost/", &["plugins", "a?b#c%2e"]);
        assert_eq!(odd, "/mindhost/api/v1/plugins/a%3Fb%23c%252e");
    }

    #[test]
    fn the_key_of_the_data_directory_stays_on_this_machine() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("admin.key"), "mh_local\n").unwrap();
        let key = |server: &str, more: &[(&str, &str)], file: Option<PathBuf>| {
            let remote = Remote {
                server: None,
                key_file: file,
            };
            let data = ("MINDHOST_DATA_DIR", dir.path().to_str().unwrap());
            let listen = ("MINDHOST_LISTEN", "192.0.2.7:8080");
            let vars = [data, listen].into_iter().chain(more.iter().copied());
            let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let config = Config::from_env(vars).unwrap();
            remote.key(&config, &address(server).unwrap())
        };
        for here in [
            "http://127.0.0.1:8080",
            "http://127.9.9.9",
            "http://[::1]:8080",
            "http://[::ffff:127.0.0.1]",
            "http://LOCALHOST:1234",
            "https://mindhost.localhost",
            "http://192.0.2.7:8080",
        ] {
            assert_eq!(key(here, &[], None).unwrap(), "mh_local", "{here}");
        }
        for elsewhere in [
            "http://192.0.2.7:8081",
            "http://192.0.2.8:8080",
            "https://localhost.example.com",
            "https://127.0.0.1.example.com",
        ] {
            let error = key(elsewhere, &[], None).unwrap_err().to_string();
            assert!(
                error.contains("--key-file") && error.contains("MINDHOST_ADMIN_KEY"),
                "{error}"
            );
            let set = [("MINDHOST_ADMIN_KEY", "mh_set_0123456789abcdef0123456789")];
            assert_eq!(key(elsewhere, &set, None).unwrap(), set[0].1);
            let file = dir.path().join("admin.key");
            assert_eq!(key(elsewhere, &[], Some(file)).unwrap(), "mh_local");
        }
    }

    #[test]
    fn own_server_is_asked_without_a_proxy_wherever_it_listens() {
        let is_own = |url: &str| is_own(&address(url).unwrap(), "192.0.2.7:80".parse().unwrap());
        for own in ["http://192.0.2.7", "http://192.0.2.7:80", "http://[::1]:1"] {
            assert!(is_own(own), "{own}");
        }
        for other in [
            "http://192.0.2.8",
            "https://192.0.2.7",
            "http://proxy.example",
        ] {
            assert!(!is_own(other), "{other}");
        }
    }

    #[tokio::test]
    async fn failure_behind_a_proxy_names_no_proxy_and_no_password() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let hint = |url: &str, except: &str| {
            let proxies = Matcher::builder().http("http://me:hunter2@127.0.0.1:1");
            hint_of(&address(url).unwrap(), &proxies.no(except).build())
        };
        assert_eq!(hint("http://192.0.2.8:8080", "192.0.2.0/24"), "");
        assert_eq!(hint("https://192.0.2.8", ""), "");
        assert!(hint("http://[2001:db8::1]", "").contains("add 2001:db8::1 to NO_PROXY"));

        let proxy = reqwest::Proxy::http("http://me:hunter2@127.0.0.1:1").unwrap();
        let server = Server {
            client: Client::builder().proxy(proxy).build().unwrap(),
            base: address("http://192.0.2.8:8080").unwrap(),
            key: "mh_x".to_owned(),
            proxy_hint: hint("http://192.0.2.8:8080", "elsewhere.example"),
        };
        let failure = server.send(server.request(Method::GET, &["minds"])).await;
        let message = failure.unwrap_err().to_string();
        let expected = "no server answers at http://192.0.2.8:8080 (asked through the proxy of the environment; to ask \
                        it directly, add 192.0.2.8 to NO_PROXY)";
        assert!(message.starts_with(expected), "{message}");
        assert!(!message.contains("hunter2"), "{message}");
    }

    #[test]
    fn an_address_that_is_none_says_how_one_looks() {
        for wrong in [
            "notaurl",
            "localhost:8080",
            "file:///etc/passwd",
            "http://",
            "",
        ] {
            let error = address(wrong).unwrap_err().to_string();
            assert!(error.contains("http://127.0.0.1:8080"), "{error}");
        }
        let error = address("http://me:hunter2@host").unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
}
