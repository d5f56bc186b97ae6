//! Host names: their comparable form and their addresses.

use std::{
    net::{IpAddr, ToSocketAddrs as _},
    sync::LazyLock,
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use super::{
    host_errors::misconfigured,
    permits::{Hangs, ThreadPermits},
    text::truncated,
};
use mindhost_base::error::{Blame, Code, Error, Result};
use mindhost_plugin_api::Call;

/// A name that is not resolved within this time counts as unknown. A lookup waits as long for its turn.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);

/// Names that are looked up at once. A lookup holds a thread, also when nothing waits for it any more, and the resolver
/// of the system may take longer than [`LOOKUP_TIMEOUT`].
const MAX_LOOKUPS: u32 = 64;

static LOOKUPS: LazyLock<ThreadPermits> =
    LazyLock::new(|| ThreadPermits::new(MAX_LOOKUPS, "lookups of host names"));

/// The addresses of a name or literal, in the order of the resolver and in canonical form. `workspace` asks for them,
/// and its name service may hang.
pub async fn addresses(name: &str, port: u16, workspace: &str) -> Result<Vec<IpAddr>> {
    if let Some(ip) = literal(name) {
        return Ok(vec![ip]);
    }
    if name.starts_with('/') {
        return Err(misconfigured(
            "a Unix socket cannot be used; give a host name or an address",
        ));
    }
    let turn = Call::new(LOOKUP_TIMEOUT, CancellationToken::new());
    let thread = LOOKUPS.acquire(workspace, Hangs::Perhaps, &turn).await?;
    let host = plain_name(name);
    let lookup = tokio::task::spawn_blocking(move || {
        let _thread = thread;
        (host, port).to_socket_addrs()
    });
    let Ok(found) = tokio::time::timeout(LOOKUP_TIMEOUT, lookup).await else {
        return Err(unresolved(name));
    };
    let found = found.map_err(Error::internal)?;
    let mut addresses = Vec::new();
    let found = found.map_err(|error| match Error::is_out_of_files(&error) {
        true => Error::out_of_files().with_source(error),
        false => unresolved(name).with_source(error),
    })?;
    for address in found {
        let ip = address.ip().to_canonical();
        if !addresses.contains(&ip) {
            addresses.push(ip);
        }
    }
    Ok(addresses)
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
    let has_port = name
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let advice = match has_port {
        true => "give its port apart, without the colon",
        false => "check its spelling and the server's name service",
    };
    Error::new(
        Code::UpstreamUnreachable,
        format!(
            "the host name `{}` cannot be resolved; {advice}",
            truncated(name, 255).escape_debug()
        ),
    )
    .blamed(Blame::Upstream)
}

/// A host name in lower case without the trailing dot, for comparison.
pub fn plain_name(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_with_a_port_is_told_where_the_port_belongs() {
        let message = |name| unresolved(name).message().to_owned();
        assert!(message("127.0.0.1:5432").contains("give its port apart"));
        assert!(message("db.example.com").contains("check its spelling"));
    }

    #[tokio::test]
    async fn hanging_lookups_of_one_workspace_leave_the_names_of_others_resolved() {
        let call = Call::new(Duration::from_secs(60), CancellationToken::new());
        let mut hanging = Vec::new();
        for _ in 0..MAX_LOOKUPS / 4 {
            hanging.push(
                LOOKUPS
                    .acquire("crowded", Hangs::Perhaps, &call)
                    .await
                    .ok()
                    .unwrap(),
            );
        }
        let waits = addresses("localhost", 1, "crowded");
        let waits = tokio::time::timeout(Duration::from_millis(20), waits);
        assert!(waits.await.is_err(), "one workspace took all lookups");
        assert!(!addresses("localhost", 1, "other").await.unwrap().is_empty());
        hanging.clear();
        assert!(addresses("localhost", 1, "crowded").await.is_ok());
    }
}
