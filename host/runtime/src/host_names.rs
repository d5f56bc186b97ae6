//! Host names: their comparable form and their addresses.

use std::{net::IpAddr, time::Duration};

use super::{host_errors::misconfigured, text::truncated};
use mindhost_base::error::{Blame, Code, Error, Result};

/// A name that is not resolved within this time counts as unknown.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);

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
    let lookup = tokio::net::lookup_host((plain_name(name), port));
    match tokio::time::timeout(LOOKUP_TIMEOUT, lookup).await {
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
