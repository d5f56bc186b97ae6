//! The health of plugin versions, from a server.

use std::collections::HashMap;

use reqwest::Method;
use serde_json::Value;

use super::super::remote::{Failure, Server};

/// The server's data about each used version, by digest.
pub(super) type Health = HashMap<String, Value>;

/// The health of a plugin's versions. Empty if the key has no access or no version was used.
pub(super) async fn of(server: &Server, name: &str) -> Result<Health, Failure> {
    let request = server.request(Method::GET, &["plugins", name, "usage"]);
    let usage = match server.send(request.query(&[("limit", 1)])).await {
        Ok(usage) => usage,
        Err(Failure::Answered {
            status: 403 | 404, ..
        }) => return Ok(Health::new()),
        Err(failure) => return Err(failure),
    };
    let versions = usage["since_start"].as_array().cloned();
    let health = |version: Value| {
        let digest = version["digest"].as_str()?.to_owned();
        Some((digest, version["health"].clone()))
    };
    let versions = versions.unwrap_or_default().into_iter();
    Ok(versions.filter_map(health).collect())
}

/// The problem of a version, if it has one.
pub(super) fn trouble(health: &Value) -> Option<String> {
    let text = |name: &str| health[name].as_str().unwrap_or("unknown");
    let reason = || match health["reason"].as_str() {
        Some(reason) => format!(": {reason}"),
        None => String::new(),
    };
    let count = |name: &str| health[name].as_array().map_or(0, Vec::len);
    let (targets, workspaces) = (count("targets"), count("workspaces"));
    match health["status"].as_str() {
        Some("quarantined") => Some(format!("quarantined since {}{}", text("since"), reason())),
        Some("backing_off") => Some(format!("backing off until {}{}", text("until"), reason())),
        Some("ok") if workspaces > 0 => Some(format!(
            "not called for {workspaces} of the workspaces that use it"
        )),
        Some("ok") if targets > 0 => {
            Some(format!("backing off for {targets} of those that use it"))
        }
        _ => None,
    }
}
