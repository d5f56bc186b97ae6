//! Answers of the vendor, from the transcripts beside the sources, and what the host gets to see of them.

mod checks;
mod hostile;
mod streams;

use mindhost_sdk::http::{Request as HttpRequest, Response};
use mindhost_sdk::model::{Event, Message, Request, Role};
use mindhost_sdk::testing::{all_events, transcript};
use mindhost_sdk::{Config, Error, Result};

use crate::provider;

/// The text of a file of `transcripts`.
macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/transcripts/",
            $name,
            ".http"
        ))
    };
}
use recorded;

fn config() -> Config {
    Config::from_json(r#"{"base_url": "http://127.0.0.1:9", "model": "claude-nothing"}"#)
}

/// Answers the first request, and no second one.
fn once(response: Response) -> impl Fn(&HttpRequest) -> Result<Response> {
    let slot = std::cell::RefCell::new(Some(response));
    move |_| {
        slot.borrow_mut()
            .take()
            .ok_or_else(|| Error::internal("asked twice"))
    }
}

/// All events of a response; an error ends them.
fn read(response: Response) -> Result<Vec<Event>> {
    let question = Request::new(vec![Message::text(Role::User, "Hi")]);
    let mut answer = provider::start(&config(), &question, &once(response))?;
    all_events(|| answer.read())
}

/// All events of a transcript, which are the same however it is cut.
fn play(text: &str) -> Result<Vec<Event>> {
    let whole = read(transcript(text, usize::MAX));
    for piece in [1, 7, 100] {
        assert_eq!(read(transcript(text, piece)), whole, "pieces of {piece}");
    }
    whole
}
