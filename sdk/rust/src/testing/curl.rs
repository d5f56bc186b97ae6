//! One request through the program `curl`: a native build has no HTTP of its own.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::error::{Error, ErrorKind, Result};
use crate::http::Request;

/// The largest response that is recorded.
const LARGEST: &str = "67108864";

/// Status, headers by their names in lower case, and body.
type Answer = (u16, Vec<(String, String)>, Vec<u8>);

/// Sends a request and waits for the whole answer.
///
/// # Errors
/// `Unreachable` when there is no `curl`, or no answer.
pub(super) fn send(request: &Request) -> Result<Answer> {
    let mut curl = Command::new("curl");
    curl.args([
        "--silent",
        "--show-error",
        "--include",
        "--http1.1",
        "--max-time",
        "60",
    ])
    .args(["--max-filesize", LARGEST, "--request", request.method])
    // Curl's own word for bodies of some size; the answer to it would be another head.
    .args(["--header", "expect:"]);
    for (name, value) in &request.headers {
        curl.arg("--header").arg(format!("{name}: {value}"));
    }
    if !request.body.is_empty() {
        curl.args(["--data-binary", "@-"]);
    }
    curl.arg("--url").arg(&request.url);
    let failed = |why: String| Error::new(ErrorKind::Unreachable, format!("{request:?}: {why}"));
    let mut child = curl
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("curl, which records, does not start: {error}")))?;
    if let Some(mut input) = child.stdin.take() {
        // A server that answers before it read everything is no error.
        let _ = input.write_all(&request.body);
    }
    let output = child
        .wait_with_output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        ));
    }
    parsed(&output.stdout).ok_or_else(|| failed("the answer is not HTTP".to_owned()))
}

fn parsed(printed: &[u8]) -> Option<Answer> {
    let end = printed.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let (head, rest) = printed.split_at_checked(end)?;
    let head = String::from_utf8_lossy(head).into_owned();
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    Some((status, headers, rest.get(4..)?.to_vec()))
}
