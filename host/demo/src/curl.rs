//! The lines that are shown, and running exactly those.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::Stop;

const AUTH: &str = r#"-H "Authorization: Bearer $KEY""#;

/// A server-sent event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) data: Value,
}

/// Runs lines in a shell that knows `$URL` and `$KEY`.
pub(crate) struct Curl {
    url: String,
    key: String,
    stop: Stop,
}

pub(crate) fn get_line(path: &str) -> String {
    format!(r#"curl -sS --fail-with-body {AUTH} "$URL/api/v1{path}""#)
}

/// `body` must hold no single quote. `--retry` waits for a plugin that is still compiling: the server answers 503 with
/// `Retry-After`.
pub(crate) fn post_line(path: &str, body: &str) -> String {
    format!(
        "curl -sS --retry 5 --fail-with-body {AUTH} \"$URL/api/v1{path}\" \\\n  --json '{body}'"
    )
}

/// As [`post_line`], showing what comes as it comes.
pub(crate) fn stream_line(path: &str, body: &str) -> String {
    post_line(path, body).replacen("curl -sS", "curl -sSN", 1)
}

/// A path as one word of a shell line.
pub(crate) fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

impl Curl {
    pub(crate) fn new(url: &str, key: &str, stop: Stop) -> Self {
        Self {
            url: url.to_owned(),
            key: key.to_owned(),
            stop,
        }
    }

    /// The body of a successful answer.
    pub(crate) fn bytes(&self, line: &str) -> Result<Vec<u8>> {
        let output = self.shell(line)?.output().context("bash")?;
        let body = String::from_utf8_lossy(&output.stdout);
        ensure!(
            output.status.success(),
            "{}{body}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(output.stdout)
    }

    /// The body of a successful answer, as JSON.
    pub(crate) fn json(&self, line: &str) -> Result<Value> {
        let body = self.bytes(line)?;
        serde_json::from_slice(&body).with_context(|| String::from_utf8_lossy(&body).into_owned())
    }

    /// The body of an answer that is an error, and curl's word on its status.
    pub(crate) fn refusal(&self, line: &str) -> Result<(String, Value)> {
        let output = self.shell(line)?.output().context("bash")?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(
            output.status.code() == Some(22),
            "this should have been refused: {said}"
        );
        Ok((
            said,
            serde_json::from_slice(&output.stdout).context("the body of an error")?,
        ))
    }

    /// Events as they come; `see` gets each of them.
    pub(crate) fn events(
        &self,
        line: &str,
        mut see: impl FnMut(Event) -> Result<()>,
    ) -> Result<()> {
        let mut child = self
            .shell(line)?
            .stdout(Stdio::piped())
            .spawn()
            .context("bash")?;
        let stdout = child.stdout.take().context("the output of curl")?;
        let mut name = String::new();
        let mut other = String::new();
        for text in BufReader::new(stdout).lines() {
            let text = text?;
            if let Some(event) = text.strip_prefix("event: ") {
                event.clone_into(&mut name);
            } else if let Some(data) = text.strip_prefix("data: ") {
                let data = serde_json::from_str(data).with_context(|| data.to_owned())?;
                see(Event {
                    name: std::mem::take(&mut name),
                    data,
                })?;
            } else if !text.is_empty() && !text.starts_with(':') {
                other.push_str(&text);
            }
        }
        if !child.wait()?.success() {
            bail!("the stream failed: {other}");
        }
        Ok(())
    }

    fn shell(&self, line: &str) -> Result<Command> {
        self.stop.check()?;
        let mut command = Command::new("bash");
        command
            .args(["-c", line])
            .env("URL", &self.url)
            .env("KEY", &self.key)
            .stdin(Stdio::null());
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_path_is_one_word_for_the_shell() {
        let words = [
            ("demo/orders.csv", "'demo/orders.csv'"),
            ("my demo/$HOME", "'my demo/$HOME'"),
            ("it's", r"'it'\''s'"),
        ];
        for (path, word) in words {
            assert_eq!(quoted(Path::new(path)), word);
        }
    }
}
