//! HTTP in unit tests: a function stands in for the servers.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::time::Duration;

use crate::control::stand_in as control;
use crate::error::Result;
use crate::http::{Request, Response};

type Answer = Box<dyn FnMut(&Request) -> Result<Response>>;

thread_local! {
    static ANSWER: RefCell<Option<Answer>> = const { RefCell::new(None) };
    static REQUESTS: RefCell<Vec<Request>> = const { RefCell::new(Vec::new()) };
}

/// From here to the drop of what it gives, [`crate::http::send`] on this thread asks this function, and
/// [`crate::control::sleep`] does not wait.
///
/// ```
/// use std::time::Duration;
///
/// use mindhost_sdk::http::{self, Request, Response};
/// use mindhost_sdk::testing::stand_in;
///
/// let mut answers = vec![
///     Response::scripted(200, vec![Ok(b"[1]".to_vec())]),
///     Response::scripted(429, Vec::new()).with_header("retry-after", "7"),
/// ];
/// let host = stand_in(move |_| Ok(answers.pop().expect("two requests")));
/// let numbers: Vec<u8> = http::send(&Request::get("https://a.test").retries(1)).unwrap().json().unwrap();
/// assert_eq!(numbers, [1]);
/// assert_eq!(host.slept(), [Duration::from_secs(7)]);
/// assert_eq!(host.requests()[0].url, "https://a.test");
/// ```
pub fn stand_in(http: impl FnMut(&Request) -> Result<Response> + 'static) -> StandIn {
    ANSWER.set(Some(Box::new(http)));
    REQUESTS.take();
    control::skip_waits(true);
    StandIn(PhantomData)
}

/// The host of a unit test. It ends with its drop.
#[derive(Debug)]
#[must_use = "the stand-in ends when this is dropped"]
pub struct StandIn(PhantomData<*const ()>);

impl StandIn {
    /// What was sent so far, retries included.
    pub fn requests(&self) -> Vec<Request> {
        REQUESTS.with_borrow(Vec::clone)
    }

    /// The waits of [`crate::control::sleep`] so far, which took no time.
    pub fn slept(&self) -> Vec<Duration> {
        control::skipped_waits()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        ANSWER.set(None);
        control::skip_waits(false);
    }
}

/// The answer of the stand-in; none where there is none.
pub(crate) fn send(request: &Request) -> Option<Result<Response>> {
    // Taken out, so that the function may send requests of its own without an answer.
    let mut answer = ANSWER.take()?;
    REQUESTS.with_borrow_mut(|requests| requests.push(request.clone()));
    let response = answer(request);
    ANSWER.set(Some(answer));
    Some(response)
}
