//! An answer that is being read: the body of a response, and what was made of it.

use mindhost_sdk::http::Response;
use mindhost_sdk::model::Event;
use mindhost_sdk::{Error, ErrorKind, Result};

use crate::assembly::Assembly;
use crate::chunk::Chunk;
use crate::sse::Parser;

/// The largest completion that is taken whole, from servers that do not stream.
const LARGEST_WHOLE: usize = 16 * 1024 * 1024;
/// What a stream may send between two pieces of its answer: comments that keep it open, and fields that say nothing.
const MOST_BETWEEN: usize = 64 * 1024 * 1024;

/// An answer on its way.
pub struct Completion {
    response: Response,
    form: Form,
    parser: Parser,
    assembly: Assembly,
    /// Bytes since the last piece of the answer.
    between: usize,
    /// What stopped the reading, to be told after the events that came before it.
    failure: Option<Error>,
    ended: bool,
}

/// How the vendor answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Events,
    Whole,
}

impl Completion {
    /// Starts to read a response with a status of success.
    ///
    /// # Errors
    /// `InvalidConfig` when it is a web page.
    pub fn of(response: Response) -> Result<Self> {
        let kind = response
            .header("content-type")
            .unwrap_or_default()
            .to_ascii_lowercase();
        if kind.starts_with("text/html") {
            return Err(Error::invalid_config(
                "the address answers with a web page, not with a chat completion; check `base_url` (it usually ends in /v1)",
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
            assembly: Assembly::default(),
            between: 0,
            failure: None,
            ended: false,
        })
    }

    /// Waits for at least one event and gives those that are there; `None` after the stop event.
    ///
    /// # Errors
    /// Those of the vendor and of the connection; `Upstream` for an answer that was cut off.
    pub fn next(&mut self) -> Result<Option<Vec<Event>>> {
        let mut events = Vec::new();
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
            self.ended |= self.assembly.is_closed();
            if self.ended {
                // What comes after the stop event changes nothing.
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
            if !self.assembly.is_closed() {
                self.assembly.data(one, events)?;
            }
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

    /// The body is over. Whole is an answer that has its reason to end; anything else was cut.
    fn at_end(&mut self, events: &mut Vec<Event>, error: Option<Error>) -> Result<()> {
        let asked = error
            .as_ref()
            .is_some_and(|e| matches!(e.kind(), ErrorKind::Cancelled));
        if error.is_none()
            && let Some(rest) = self.parser.finish()
        {
            // Half an event is what a cut leaves behind; the cut is told below.
            let _ = self.assembly.data(&rest, events);
        }
        if !asked && (self.assembly.is_finished() || self.assembly.is_closed()) {
            self.assembly.close(events);
            return Ok(());
        }
        Err(match error {
            Some(error) if error.kind() != ErrorKind::ConnectionLost => error,
            Some(error) => cut_off(&format!(": {}", error.message())),
            None => cut_off(""),
        })
    }

    fn read_whole(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let body = self
            .response
            .body
            .read_to_end(LARGEST_WHOLE)
            .map_err(|error| match error.kind() {
                ErrorKind::ConnectionLost => cut_off(&format!(": {}", error.message())),
                _ => error,
            })?;
        let chunk: Chunk = serde_json::from_slice(&body).map_err(|_| {
            Error::new(
                ErrorKind::Upstream,
                "the vendor's answer is not a chat completion",
            )
        })?;
        self.assembly.chunk(chunk, events)?;
        if !self.assembly.is_finished() && !self.assembly.is_closed() && events.is_empty() {
            return Err(Error::new(
                ErrorKind::Upstream,
                "the vendor's answer is a chat completion without an answer",
            ));
        }
        self.assembly.close(events);
        Ok(())
    }
}

fn cut_off(how: &str) -> Error {
    Error::new(
        ErrorKind::Upstream,
        format!("the answer was cut off before its end{how}; ask again"),
    )
}
