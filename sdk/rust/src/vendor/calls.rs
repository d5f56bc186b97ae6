//! Tool calls that come in pieces.

use crate::error::{Error, ErrorKind, Result};
use crate::model::{Event, ToolCall};

/// More calls than this in one answer, or larger ones, are a fault of the vendor.
const MOST_CALLS: usize = 128;
const LARGEST_CALL: usize = 1024 * 1024;
const LARGEST_TOGETHER: usize = 8 * 1024 * 1024;

/// The calls of one answer, in the order in which they began: at most 128 of 1 MiB each, and 8 MiB together.
///
/// `K` is what a vendor numbers them by.
///
/// ```
/// use mindhost_sdk::vendor::ToolCalls;
///
/// let mut calls = ToolCalls::default();
/// let at = calls.begin(0).unwrap();
/// calls.add(at, "run_sql", r#"{"sql":"#).unwrap();
/// calls.add(at, "", r#""SELECT 1"}"#).unwrap();
/// assert_eq!(calls.take()[0].arguments, r#"{"sql":"SELECT 1"}"#);
/// ```
#[derive(Debug)]
pub struct ToolCalls<K> {
    calls: Vec<(K, ToolCall)>,
    /// Bytes of all names and arguments.
    bytes: usize,
}

impl<K> Default for ToolCalls<K> {
    fn default() -> Self {
        Self {
            calls: Vec::new(),
            bytes: 0,
        }
    }
}

impl<K> ToolCalls<K> {
    /// Begins a call that the vendor numbers `key`; gives its place.
    ///
    /// # Errors
    /// `TooLarge` for too many calls.
    pub fn begin(&mut self, key: K) -> Result<usize> {
        if self.calls.len() >= MOST_CALLS {
            let what = format!("more than {MOST_CALLS} tool calls in one answer");
            return Err(too_large(&what));
        }
        let call = ToolCall {
            id: String::new(),
            name: String::new(),
            arguments: String::new(),
        };
        self.calls.push((key, call));
        Ok(self.calls.len() - 1)
    }

    /// The place of the newest call that fits.
    pub fn position(&self, fits: impl Fn(&K, &ToolCall) -> bool) -> Option<usize> {
        self.calls.iter().rposition(|(key, call)| fits(key, call))
    }

    /// The call at a place.
    pub fn get(&self, at: usize) -> Option<&ToolCall> {
        self.calls.get(at).map(|(_, call)| call)
    }

    /// Sets the id of a call.
    pub fn identify(&mut self, at: usize, id: String) {
        if let Some((_, call)) = self.calls.get_mut(at) {
            call.id = id;
        }
    }

    /// Adds to the name and the arguments of a call.
    ///
    /// # Errors
    /// `TooLarge` when they are longer than any model writes.
    pub fn add(&mut self, at: usize, name: &str, arguments: &str) -> Result<()> {
        let Some((_, call)) = self.calls.get_mut(at) else {
            return Ok(());
        };
        let more = name.len() + arguments.len();
        self.bytes += more;
        let length = call.name.len() + call.arguments.len() + more;
        if length > LARGEST_CALL {
            let what = format!("a tool call of more than {LARGEST_CALL} bytes");
            return Err(too_large(&what));
        }
        if self.bytes > LARGEST_TOGETHER {
            let what = format!("tool calls of more than {LARGEST_TOGETHER} bytes together");
            return Err(too_large(&what));
        }
        call.name.push_str(name);
        call.arguments.push_str(arguments);
        Ok(())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Gives all calls away. One without an id is named by its place: `call_0`.
    pub fn take(&mut self) -> Vec<ToolCall> {
        let calls = std::mem::take(&mut self.calls).into_iter().enumerate();
        let named = calls.map(|(at, (_, mut call))| {
            if call.id.is_empty() {
                call.id = format!("call_{at}");
            }
            call
        });
        named.collect()
    }

    /// Adds all calls to `events`.
    pub fn take_into(&mut self, events: &mut Vec<Event>) {
        events.extend(self.take().into_iter().map(Event::ToolCall));
    }
}

fn too_large(what: &str) -> Error {
    Error::new(ErrorKind::TooLarge, format!("the vendor sent {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_calls_are_refused() {
        let mut calls = ToolCalls::default();
        for key in 0..MOST_CALLS {
            assert_eq!(calls.begin(key).ok(), Some(key));
        }
        let error = calls.begin(0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        // The host ends the answer with these words.
        assert!(error.message().contains("more than 128 tool calls"));
    }

    #[test]
    fn a_call_without_end_is_refused() {
        let mut calls = ToolCalls::default();
        let at = calls.begin(()).unwrap();
        let half = "x".repeat(LARGEST_CALL / 2);
        assert!(calls.add(at, "", &half).is_ok());
        assert!(calls.add(at, "", &half).is_ok());
        assert_eq!(
            calls.add(at, "y", "").unwrap_err().kind(),
            ErrorKind::TooLarge
        );
    }
}
