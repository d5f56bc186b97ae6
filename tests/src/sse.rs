//! Server-sent events, read one at a time.

use std::{pin::Pin, time::Duration};

use eventsource_stream::Eventsource;
use futures_util::{Stream, StreamExt};
use serde_json::Value;

/// The next event of any test comes within this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The `event:` line.
    pub name: String,
    /// The `data:` line.
    pub data: Value,
}

/// A stream of events. Dropping it is what a client does that goes away.
pub struct EventStream {
    /// The status of the reply.
    pub status: u16,
    /// The headers of the reply.
    pub headers: reqwest::header::HeaderMap,
    events: Pin<Box<dyn Stream<Item = Result<Event, String>> + Send>>,
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventStream")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

impl EventStream {
    /// Sends a request and reads its reply as events.
    ///
    /// # Panics
    /// When the reply is not a stream of events.
    pub async fn open(request: crate::Request) -> Self {
        Self::of(request.open().await).await
    }

    /// # Panics
    /// When the reply is not a stream of events.
    pub(crate) async fn of(response: reqwest::Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let kind = headers
            .get("content-type")
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default();
        if !kind.starts_with("text/event-stream") {
            let body = response.text().await.unwrap_or_default();
            panic!("{status} with content type {kind:?} in place of events: {body}");
        }
        let events = response.bytes_stream().eventsource().map(|event| {
            let event = event.map_err(|error| error.to_string())?;
            // The mark at the end of a chat stream is no JSON.
            let data = serde_json::from_str(&event.data).unwrap_or(Value::String(event.data));
            Ok(Event {
                name: event.event,
                data,
            })
        });
        Self {
            status,
            headers,
            events: Box::pin(events),
        }
    }

    /// The next event, none at the end.
    ///
    /// # Panics
    /// When the transfer breaks or nothing comes.
    pub async fn next(&mut self) -> Option<Event> {
        self.try_next()
            .await
            .unwrap_or_else(|error| panic!("the stream broke: {error}"))
    }

    /// The next event, or how the transfer broke.
    ///
    /// # Panics
    /// When nothing comes.
    pub async fn try_next(&mut self) -> Result<Option<Event>, String> {
        tokio::time::timeout(PATIENCE, self.events.next())
            .await
            .expect("an event within a minute")
            .transpose()
    }

    /// Reads up to and including the first event of this name, and gives all that were read.
    ///
    /// # Panics
    /// When the stream ends without it.
    pub async fn until(&mut self, name: &str) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
            if events.last().is_some_and(|event| event.name == name) {
                return events;
            }
        }
        panic!("the stream ended without {name}: {events:#?}");
    }

    /// Reads to the end.
    pub async fn all(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}
