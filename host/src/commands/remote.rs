//! A server that runs, asked over its API.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::{Context, bail};
use clap::Args;
use mindhost::config::Config;
use reqwest13::{Client, Method, RequestBuilder};
use serde_json::Value;

/// Longer than the server lets a request wait.
const TIMEOUT: Duration = Duration::from_secs(330);

/// Which server.
#[derive(Debug, Args)]
pub(crate) struct Remote {
    /// The server's address; where its settings say that it listens unless given.
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// A file with the key of an operator; that of the settings, or the one that the first start made, unless given.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

/// The server, and the key that it is asked with.
pub(crate) struct Server {
    client: Client,
    base: String,
    key: String,
}

impl Remote {
    /// Finds out where the server is and which key to use. Sends nothing.
    pub(crate) fn server(&self) -> anyhow::Result<Server> {
        let config = Config::load()?;
        let base = match &self.server {
            Some(server) => server.trim_end_matches('/').to_owned(),
            None => format!("http://{}", config.listen),
        };
        let key = match (&self.key_file, config.admin_key.get()) {
            (Some(file), _) => read(file)?,
            (None, Some(key)) => key.to_owned(),
            (None, None) => read(&config.data_dir.join("admin.key"))
                .context("no key was given; name a file that holds one with --key-file")?,
        };
        let client = Client::builder().timeout(TIMEOUT).build()?;
        Ok(Server { client, base, key })
    }
}

impl Server {
    /// A request to `/api/v1{path}`.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}/api/v1{path}", self.base);
        self.client.request(method, url).bearer_auth(&self.key)
    }

    /// Sends a request. An error of the server becomes one of ours, in the server's words.
    pub(crate) async fn send(&self, request: RequestBuilder) -> anyhow::Result<Value> {
        let answer = request
            .send()
            .await
            .map_err(|error| self.unreachable(&error))?;
        let status = answer.status();
        let body = answer.bytes().await?;
        if body.is_empty() && status.is_success() {
            return Ok(Value::Null);
        }
        let body: Value = serde_json::from_slice(&body).with_context(|| {
            format!(
                "{} answered {status} with something that is no JSON",
                self.base
            )
        })?;
        match (status.is_success(), body["error"]["message"].as_str()) {
            (true, _) => Ok(body),
            (false, Some(message)) => bail!("{message}"),
            (false, None) => bail!("{} answered {status}", self.base),
        }
    }

    fn unreachable(&self, error: &reqwest13::Error) -> anyhow::Error {
        match error.is_connect() {
            true => anyhow::anyhow!(
                "no server answers at {}; start one with `mindhost serve`, or name another with --server",
                self.base
            ),
            false => anyhow::anyhow!("{}: {error}", self.base),
        }
    }
}

fn read(file: &std::path::Path) -> anyhow::Result<String> {
    let text = fs::read_to_string(file).with_context(|| format!("{}", file.display()))?;
    Ok(text.trim().to_owned())
}
