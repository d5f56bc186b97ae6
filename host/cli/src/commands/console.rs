//! `mindhost console`

use anyhow::Context;
use clap::Args;
use reqwest::Method;
use serde_json::json;

use super::remote::Remote;
use crate::commands::say::say;

/// The options of `mindhost console`.
#[derive(Debug, Args)]
pub(crate) struct Console {
    #[command(flatten)]
    remote: Remote,
}

/// Asks a server for a one-time link and prints it. The key goes to the server only, and is in no address.
pub(super) async fn run(console: &Console) -> anyhow::Result<()> {
    let server = console.remote.server()?;
    let request = server.request(Method::POST, &["console", "links"]);
    let request = request.json(&json!({"key": server.key()}));
    let link = server.send(request).await?;
    let path = link["path"].as_str();
    let path = path.context("the server's answer holds no link; does it run the same version?")?;
    say!("{}{path}", server.base());
    Ok(())
}
