//! An answer that is being read: the body of a response, and what was made of it.

use super::surrogates::Surrogates;
use crate::error::{Error, ErrorKind, Result};
use crate::http::{Body, Response, sse::Parser};
use crate::model::{Event, StopReason};

/// The largest answer that is taken whole, from servers that do not stream.
const LARGEST_WHOLE: usize = 16 * 1024 * 1024;
/// What a stream may send between two pieces of its answer: comments that keep it open, and fields that say nothing.
const MOST_BETWEEN: usize = 64 * 1024 * 1024;

/// How one kind of vendor writes an answer. It adds what it reads to a list of events: text at once, a call when it is
/// whole.
pub trait Protocol: Default {
    /// For messages: `a chat completion`.
    const ANSWER: &'static str;
    /// For messages, how `base_url` looks: `it usually ends in /v1`.
    const BASE_URL: &'static str;

    /// Takes the data of one server-sent event.
    ///
    /// # Errors
    /// `Upstream` for data that makes no sense, and what the vendor says is wrong in the middle of an answer.
    fn event(&mut self, data: &str, events: &mut Vec<Event>) -> Result<()>;

    /// Takes an answer that was not streamed.
    ///
    /// # Errors
    /// As [`Protocol::event`].
    fn whole(&mut self, body: &[u8], events: &mut Vec<Event>) -> Result<()>;

    /// Whether the vendor gave a reason for the end, so that nothing of the answer is missing.
    fn is_finished(&self) -> bool;

    /// Gives what is left and the stop event. Called once, when the vendor sends no more or [`Protocol::event`] says so by
    /// [`Protocol::is_complete`].
    fn close(&mut self, events: &mut Vec<Event>);

    /// Whether nothing that is worth waiting for can follow.
    fn is_complete(&self) -> bool;
}

/// An answer on its way.
///
/// Memory is bounded, whatever the vendor sends: 4 MiB for an event, 16 MiB for an answer that is not streamed.
pub struct Answer<P> {
    response: Response,
    form: Form,
    parser: Parser,
    protocol: P,
    /// Characters that come in two events.
    surrogates: Surrogates,
    /// Bytes since the last piece of the answer.
    between: usize,
    /// What stopped the reading, to be told after the events that came before it.
    failure: Option<Error>,
    /// The stop event was given.
    closed: bool,
    ended: bool,
    /// What was known before anything was read.
    ready: Vec<Event>,
}

/// How the vendor answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Events,
    Whole,
}

impl<P: Protocol> Answer<P> {
    /// Starts to read a response with a status of success.
    ///
    /// # Errors
    /// `InvalidConfig` when it is a web page, `Upstream` when it is compressed.
    pub fn of(response: Response) -> Result<Self> {
        let kind = response
            .header("content-type")
            .unwrap_or_default()
            .to_ascii_lowercase();
        if kind.starts_with("text/html") {
            return Err(Error::invalid_config(format!(
                "the address answers with a web page, not with {}; check `base_url` ({})",
                P::ANSWER,
                P::BASE_URL
            )));
        }
        let encoding = response.header("content-encoding").unwrap_or_default();
        if !matches!(
            encoding.trim().to_ascii_lowercase().as_str(),
            "" | "identity"
        ) {
            return Err(Error::new(
                ErrorKind::Upstream,
                "the vendor's answer is compressed (`Content-Encoding`), which was not asked for and cannot be read; \
                 turn compression off at the server or gateway behind `base_url`",
            ));
        }
        // Some servers do not know `stream` and answer in one piece.
        let form = if kind.starts_with("application/json") {
            Form::Whole
        } else {
            Form::Events
        };
        Ok(Self {
            response,
            form,
            parser: Parser::default(),
            protocol: P::default(),
            surrogates: Surrogates::default(),
            between: 0,
            failure: None,
            closed: false,
            ended: false,
            ready: Vec::new(),
        })
    }

    /// An answer of which only the end is known: the vendor refused to give one.
    ///
    /// # Errors
    /// None; it fits [`Answer::of`].
    pub fn stopped(reason: StopReason, word: &str) -> Result<Self> {
        let nothing = Response {
            status: 200,
            headers: Vec::new(),
            body: Body::empty(),
        };
        let mut answer = Self::of(nothing)?;
        answer.closed = true;
        answer.ended = true;
        answer.ready.push(Event::Stop((reason, word.to_owned())));
        Ok(answer)
    }

    /// Waits for at least one event and gives those that are there; `None` after the stop event.
    ///
    /// # Errors
    /// Those of the vendor and of the connection; `Upstream` for an answer that was cut off.
    pub fn read(&mut self) -> Result<Option<Vec<Event>>> {
        let mut events = std::mem::take(&mut self.ready);
        while events.is_empty() {
            if let Some(failure) = self.failure.take() {
                self.ended = true;
                return Err(failure);
            }
            if self.ended {
                return Ok(None);
            }
            let read = match self.form {
                Form::Events => self.read_events(&mut events),
                Form::Whole => self.read_whole(&mut events),
            };
            self.failure = read.err();
            if self.closed {
                // What comes after the stop event changes nothing.
                self.ended = true;
                self.failure = None;
            }
        }
        Ok(Some(events))
    }

    fn read_events(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let data = match self.response.body.read() {
            Ok(Some(piece)) => {
                self.between += piece.len();
                self.parser.push(&piece)?
            }
            Ok(None) => return self.at_end(events, None),
            Err(error) => return self.at_end(events, Some(error)),
        };
        for one in &data {
            self.take(one, events)?;
        }
        if !events.is_empty() {
            self.between = 0;
        }
        match self.between <= MOST_BETWEEN {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Upstream,
                "the vendor goes on sending and says nothing",
            )),
        }
    }

    fn take(&mut self, data: &str, events: &mut Vec<Event>) -> Result<()> {
        if self.closed {
            return Ok(());
        }
        let joined = self.surrogates.join(data);
        self.protocol
            .event(joined.as_deref().unwrap_or(data), events)?;
        if self.protocol.is_complete() {
            self.close(events);
        }
        Ok(())
    }

    fn close(&mut self, events: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.closed, true) {
            self.protocol.close(events);
        }
    }

    /// The body is over. Whole is an answer that has its reason to end; anything else was cut.
    fn at_end(&mut self, events: &mut Vec<Event>, error: Option<Error>) -> Result<()> {
        let asked = error
            .as_ref()
            .is_some_and(|e| matches!(e.kind(), ErrorKind::Cancelled));
        if error.is_none()
            && let Some(rest) = self.parser.finish()
        {
            // Half an event is what a cut leaves behind; the cut is told below.
            let _ = self.take(&rest, events);
        }
        if !asked && (self.protocol.is_finished() || self.closed) {
            self.close(events);
            return Ok(());
        }
        Err(match error {
            Some(error) if error.kind() != ErrorKind::ConnectionLost => error,
            Some(error) => cut_off(&format!(": {}", error.message())),
            None => cut_off(""),
        })
    }

    fn read_whole(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let body = self.response.body.read_to_end(LARGEST_WHOLE);
        let body = body.map_err(|error| match error.kind() {
            ErrorKind::ConnectionLost => cut_off(&format!(": {}", error.message())),
            _ => error,
        })?;
        self.protocol.whole(&body, events)?;
        if !self.protocol.is_finished() && events.is_empty() {
            return Err(Error::new(
                ErrorKind::Upstream,
                format!("the vendor's answer is {} without an answer", P::ANSWER),
            ));
        }
        self.close(events);
        Ok(())
    }
}

fn cut_off(how: &str) -> Error {
    Error::new(
        ErrorKind::Upstream,
        format!("the answer was cut off before its end{how}; ask again"),
    )
}
