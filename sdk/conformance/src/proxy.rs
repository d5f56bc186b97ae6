//! A TCP proxy between a plugin and its engine, which the kit cuts as a network would.

use std::{
    io, mem,
    sync::{Arc, Mutex, PoisonError},
};

use mindhost_plugin_api::Manifest;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    case::{Stop, skipped},
    config::Data,
};

/// What a server of another protocol says first.
const STRANGER: &[u8] = b"220 mail.example ESMTP ready\r\n";

/// Forwards every connection until it is cut.
pub(crate) struct Proxy {
    port: u16,
    up: Arc<Mutex<Connections>>,
    server: JoinHandle<()>,
}

/// The connections since the last cut.
#[derive(Clone, Default)]
struct Connections {
    cut: CancellationToken,
    open: TaskTracker,
}

impl Proxy {
    /// A proxy on a free port of this machine, to `host:port`.
    pub async fn to(host: String, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let own = listener.local_addr()?.port();
        let up = Arc::new(Mutex::new(Connections::default()));
        let current = Arc::clone(&up);
        let server = tokio::spawn(async move {
            while let Ok((mut inner, _)) = listener.accept().await {
                let Connections { cut, open } = lock(&current).clone();
                let host = host.clone();
                open.spawn(async move {
                    let forward = async {
                        let mut outer = TcpStream::connect((host.as_str(), port)).await?;
                        copy_bidirectional(&mut inner, &mut outer).await
                    };
                    // How a connection ended is for its ends to say.
                    let _ = cut.run_until_cancelled(forward).await;
                });
            }
        });
        Ok(Self {
            port: own,
            up,
            server,
        })
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Breaks every connection there is; new ones work. Returns once they are closed: what begins afterwards does not
    /// find one of them open.
    pub async fn cut(&self) {
        let Connections { cut, open } = mem::take(&mut *lock(&self.up));
        cut.cancel();
        open.close();
        open.wait().await;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        lock(&self.up).cut.cancel();
        self.server.abort();
    }
}

fn lock(up: &Mutex<Connections>) -> std::sync::MutexGuard<'_, Connections> {
    up.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a configuration points, and how to point it elsewhere.
pub(crate) struct Route<'a> {
    data: &'a Data,
    way: Way<'a>,
    pub host: String,
    pub port: u16,
}

enum Way<'a> {
    Network { host: &'a str, port: &'a str },
    Http { url: &'a str, rest: String },
}

/// What a plugin has of the network between its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// One lasting connection, with the state of a session.
    Session,
    /// Nothing: each request is an exchange of its own, on whatever connection there is.
    Exchanges,
}

impl<'a> Route<'a> {
    /// What goes over it.
    pub fn transport(&self) -> Transport {
        match self.way {
            Way::Network { .. } => Transport::Session,
            Way::Http { .. } => Transport::Exchanges,
        }
    }

    /// The first TCP or plain HTTP destination of a configuration.
    pub fn of(manifest: &'a Manifest, data: &'a Data) -> Result<Self, Stop> {
        let text = |name: &str| match data.get(name) {
            Some(serde_json::Value::String(text)) => text.clone(),
            Some(serde_json::Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        for rule in &manifest.network {
            let host = text(&rule.host);
            if !host.is_empty() {
                return Ok(Self {
                    data,
                    way: Way::Network {
                        host: &rule.host,
                        port: &rule.port,
                    },
                    host,
                    port: text(&rule.port).parse().unwrap_or(rule.default_port),
                });
            }
        }
        for rule in &manifest.http {
            let given = text(&rule.url);
            let url = match given.is_empty() {
                true => rule.default.clone().unwrap_or_default(),
                false => given,
            };
            if let Some((host, port, rest)) = plain_http(&url) {
                return Ok(Self {
                    data,
                    way: Way::Http {
                        url: &rule.url,
                        rest,
                    },
                    host,
                    port,
                });
            }
        }
        Err(skipped(
            match manifest.network.is_empty() && manifest.http.is_empty() {
                true => "the plugin reaches no network",
                false => {
                    "the configuration names no TCP destination and no plain http:// one; behind TLS nothing can be put between"
                }
            },
        ))
    }

    /// The configuration, pointed at a port of this machine.
    pub fn to(&self, port: u16) -> Data {
        let mut data = self.data.clone();
        match &self.way {
            Way::Network { host, port: name } => {
                data.insert((*host).to_owned(), "127.0.0.1".into());
                data.insert((*name).to_owned(), port.into());
            }
            Way::Http { url, rest } => {
                data.insert(
                    (*url).to_owned(),
                    format!("http://127.0.0.1:{port}{rest}").into(),
                );
            }
        }
        data
    }
}

/// Host, port and the rest of a URL without TLS.
fn plain_http(url: &str) -> Option<(String, u16, String)> {
    let after = url.trim().strip_prefix("http://")?;
    let end = after.find(['/', '?']).unwrap_or(after.len());
    let (authority, rest) = after.split_at(end);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (authority, 80),
    };
    Some((host.to_owned(), port, rest.to_owned()))
}

/// A port of this machine on which nobody listens.
pub(crate) async fn closed_port() -> io::Result<u16> {
    TcpListener::bind("127.0.0.1:0")
        .await?
        .local_addr()
        .map(|own| own.port())
}

/// A server that speaks another protocol; it ends when dropped.
pub(crate) struct Stranger {
    pub port: u16,
    server: JoinHandle<()>,
}

impl Stranger {
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let server = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut heard = [0; 64];
                    let _ = stream.write_all(STRANGER).await;
                    let _ = stream.read(&mut heard).await;
                });
            }
        });
        Ok(Self { port, server })
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.server.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_http_can_be_led_elsewhere() {
        let parts = |url| plain_http(url);
        assert_eq!(
            parts("http://api.test:8080/v1"),
            Some(("api.test".into(), 8080, "/v1".into()))
        );
        assert_eq!(
            parts("http://api.test"),
            Some(("api.test".into(), 80, String::new()))
        );
        assert_eq!(parts("https://api.test/v1"), None);
    }

    #[tokio::test]
    async fn a_cut_breaks_what_there_is_and_lets_new_ones_through() {
        let echo = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = echo.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = echo.accept().await {
                tokio::spawn(async move {
                    let (mut read, mut write) = stream.split();
                    tokio::io::copy(&mut read, &mut write).await
                });
            }
        });
        let proxy = Proxy::to("127.0.0.1".into(), port).await.unwrap();
        for _ in 0..2 {
            let mut stream = TcpStream::connect(("127.0.0.1", proxy.port()))
                .await
                .unwrap();
            stream.write_all(b"x").await.unwrap();
            let mut heard = [0; 1];
            stream.read_exact(&mut heard).await.unwrap();
            proxy.cut().await;
            assert!(!matches!(stream.read(&mut heard).await, Ok(1..)));
        }
    }
}
