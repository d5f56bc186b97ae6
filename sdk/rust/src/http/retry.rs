//! Asking a busy server again, later.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, SystemTime};

use super::{Request, Response, send_once};
use crate::control;
use crate::error::{Error, ErrorKind, Result};
use crate::vendor;

/// A server that says these wants the same request again, later.
const BUSY: [u16; 2] = [429, 503];
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Time for the request after a wait.
const MARGIN: Duration = Duration::from_secs(1);
/// A call that has not even so long left has used its time up; what it lacks is time, and not a calmer server.
const SHORT_WAIT: Duration = Duration::from_secs(5);

/// Sends a request, and sends it again while the server is busy and [`Request::retries`] and the call's time allow it.
pub(super) fn send(request: &Request) -> Result<Response> {
    let mut attempts = 0;
    loop {
        let response = send_once(request)?;
        if request.retries == 0 || !BUSY.contains(&response.status) {
            return Ok(response);
        }
        let asked = retry_after(&response);
        let wait = asked.unwrap_or_else(|| back_off(attempts));
        attempts += 1;
        let left = control::remaining();
        if attempts > request.retries {
            return Err(busy(response.status, asked, attempts));
        }
        if wait.saturating_add(MARGIN) > left {
            let status = response.status.to_string();
            return Err(too_late(&status, wait, asked, left));
        }
        // The body that nobody reads must not hold the connection while this waits.
        drop(response);
        control::sleep(wait)?;
    }
}

/// Calls a function again while it returns `RateLimited`, up to `retries` times: after the wait of the error, or after
/// those of [`Request::retries`]. For servers that say in the body of an answer that they are busy, as GraphQL does.
///
/// # Errors
/// Those of the function: `RateLimited` if it still returns that at the end. A wait that leaves the call less than a
/// second is not begun: then the error is `Timeout` if the wait is at most 5 s, and `RateLimited` if it is longer.
///
/// ```
/// use mindhost_sdk::http::{self, Request, Response};
/// use mindhost_sdk::testing::stand_in;
/// use mindhost_sdk::{Error, ErrorKind, Result};
///
/// fn ask(query: &str) -> Result<String> {
///     http::retry(5, || {
///         let request = Request::post("https://api.example.com/graphql", query.into());
///         let text = http::send(&request)?.body.read_to_end(1 << 20)?;
///         let text = String::from_utf8_lossy(&text).into_owned();
///         match text.contains("THROTTLED") {
///             true => Err(Error::new(ErrorKind::RateLimited, "the server is busy").code("THROTTLED")),
///             false => Ok(text),
///         }
///     })
/// }
///
/// let mut bodies = [r#"{"errors": [{"code": "THROTTLED"}]}"#, r#"{"data": {}}"#].into_iter();
/// let host = stand_in(move |_| {
///     let body = bodies.next().unwrap_or_default().as_bytes().to_vec();
///     Ok(Response::scripted(200, vec![Ok(body)]))
/// });
/// assert_eq!(ask("{ shop }")?, r#"{"data": {}}"#);
/// // A test does not wait, and sees how long a plugin would have waited.
/// assert!((250..=500).contains(&host.slept()[0].as_millis()));
/// # Ok::<(), Error>(())
/// ```
pub fn retry<T>(retries: u32, mut ask: impl FnMut() -> Result<T>) -> Result<T> {
    let mut attempts = 0;
    loop {
        let error = match ask() {
            Err(error) if error.kind() == ErrorKind::RateLimited && attempts < retries => error,
            ended => return ended,
        };
        let asked = error.wait();
        let wait = asked.unwrap_or_else(|| back_off(attempts));
        let left = control::remaining();
        if wait.saturating_add(MARGIN) > left {
            return Err(too_late(error.engine_code(), wait, asked, left));
        }
        control::sleep(wait)?;
        attempts += 1;
    }
}

/// How long the server asks to wait, by its header `Retry-After`: seconds, or a date by the server's own clock.
pub fn retry_after(response: &Response) -> Option<Duration> {
    let date = response.header("date");
    let now = date.and_then(|date| httpdate::parse_http_date(date).ok());
    let now = now.unwrap_or_else(SystemTime::now);
    vendor::retry_after(|name| response.header(name).map(str::to_owned), now)
}

/// Twice as long each time, and not the same for everybody who was sent away together.
fn back_off(attempts: u32) -> Duration {
    let longest = FIRST_WAIT.saturating_mul(1 << attempts.min(16));
    let chance = RandomState::new().build_hasher().finish() % 1024;
    longest
        .min(LONGEST_WAIT)
        .mul_f64(0.5 + chance as f64 / 2048.0)
}

fn busy(status: u16, asked: Option<Duration>, attempts: u32) -> Error {
    let times = match attempts {
        1 => "1 attempt".to_owned(),
        more => format!("{more} attempts"),
    };
    let message = format!("the server is busy (status {status}, {times})");
    let error = Error::new(ErrorKind::RateLimited, message).code(status.to_string());
    match asked {
        Some(wait) => error.retry_after(wait),
        None => error,
    }
}

/// The wait does not fit into the time of the call.
fn too_late(status: &str, wait: Duration, asked: Option<Duration>, left: Duration) -> Error {
    // A server that says in a body that it is busy may have no code for it.
    let status_shown = match status {
        "" => String::new(),
        status => format!(" (status {status})"),
    };
    let message = format!(
        "the server is busy{status_shown}; it is asked again in {:.1} s at the earliest, and {:.1} s are left for this call",
        wait.as_secs_f64(),
        left.as_secs_f64()
    );
    let kind = match wait <= SHORT_WAIT {
        true => ErrorKind::Timeout,
        false => ErrorKind::RateLimited,
    };
    let error = Error::new(kind, message).code(status);
    match asked.filter(|_| kind == ErrorKind::RateLimited) {
        Some(wait) => error.retry_after(wait),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_without_time_for_a_short_wait_is_a_timeout() {
        for (wait, kind) in [(1, ErrorKind::Timeout), (600, ErrorKind::RateLimited)] {
            let wait = Duration::from_secs(wait);
            let error = too_late("429", wait, Some(wait), Duration::from_millis(400));
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains("0.4 s are left"), "{error}");
        }
        let wait = Duration::from_secs(1);
        let of_body = too_late("", wait, None, Duration::ZERO).to_string();
        assert!(of_body.contains("is busy; it is asked"), "{of_body}");
    }

    #[test]
    fn waits_grow_up_to_a_limit() {
        for (attempts, longest) in [(0, 500), (1, 1_000), (5, 16_000), (6, 30_000), (40, 30_000)] {
            let wait = back_off(attempts).as_millis();
            assert!(
                (longest / 2..=longest).contains(&wait),
                "{attempts}: {wait} ms"
            );
        }
    }

    #[test]
    fn a_date_counts_from_the_clock_of_the_server() {
        let response = |name: &str, value: &str| {
            let response = Response::scripted(429, Vec::new()).with_header(name, value);
            retry_after(&response.with_header("Date", "Sun, 06 Nov 1994 08:49:37 GMT"))
        };
        let date = response("Retry-After", "Sun, 06 Nov 1994 08:49:49 GMT");
        assert_eq!(date, Some(Duration::from_secs(12)));
        assert_eq!(response("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(response("Retry-After", "soon"), None);
    }
}
