//! Host names: their comparable form and their addresses.

use std::{
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    sync::{Arc, LazyLock},
    time::Duration,
};

use tokio::sync::Semaphore;

use super::{host_errors::misconfigured, text::truncated};
use mindhost_base::error::{Blame, Code, Error, Result};

/// A name that is not resolved within this time counts as unknown.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);

/// Names that are looked up at once. A lookup holds a thread, also when nothing waits for it any more, and the resolver of
/// the system may take longer than [`LOOKUP_TIMEOUT`].
const MAX_LOOKUPS: usize = 64;

static LOOKUPS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(MAX_LOOKUPS)));

/// The addresses of a name or literal, in the order of the resolver and in canonical form.
pub async fn addresses(name: &str, port: u16) -> Result<Vec<IpAddr>> {
    if let Some(ip) = literal(name) {
        return Ok(vec![ip]);
    }
    if name.starts_with('/') {
        return Err(misconfigured(
            "a Unix socket cannot be used; give a host name or an address",
        ));
    }
    match tokio::time::timeout(LOOKUP_TIMEOUT, look_up(plain_name(name), port)).await {
        Ok(Ok(found)) => {
            let mut addresses = Vec::new();
            for ip in found.map(|address| address.ip().to_canonical()) {
                if !addresses.contains(&ip) {
                    addresses.push(ip);
                }
            }
            Ok(addresses)
        }
        Ok(Err(error)) => Err(unresolved(name).with_source(error)),
        Err(_) => Err(unresolved(name)),
    }
}

/// What gives up before its turn leaves nothing behind.
async fn look_up(name: String, port: u16) -> io::Result<std::vec::IntoIter<SocketAddr>> {
    let lookup = Arc::clone(&LOOKUPS).acquire_owned();
    let lookup = lookup.await.map_err(io::Error::other)?;
    let found = tokio::task::spawn_blocking(move || {
        let _lookup = lookup;
        (name, port).to_socket_addrs()
    });
    found.await.map_err(io::Error::other)?
}

/// The address of a literal host, with or without brackets.
pub fn literal(name: &str) -> Option<IpAddr> {
    let bare = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let ip: IpAddr = bare.unwrap_or(name).parse().ok()?;
    Some(ip.to_canonical())
}

/// The error for a name without an address.
pub fn unresolved(name: &str) -> Error {
    Error::new(
        Code::UpstreamUnreachable,
        format!(
            "the host name `{}` cannot be resolved; check its spelling and the server's name service",
            truncated(name, 255).escape_debug()
        ),
    )
    .blamed(Blame::Upstream)
}

/// A host name in lower case without the trailing dot, for comparison.
pub fn plain_name(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}
