//! The events of a finished answer, rebuilt from the stored response.

use std::sync::Arc;

use serde::Deserialize;
use uuid::Uuid;

use super::{
    events::{Event, EventLog},
    record::{ResponseRecord, ResponseStatus},
};
use mindhost_base::error::{Code, Error, Result};

/// A stored output item.
#[derive(Deserialize)]
struct Item<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    id: Uuid,
    #[serde(default)]
    query: String,
    #[serde(default)]
    content: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    text: String,
}

/// A finished log. The text is one delta, because the original deltas are not stored.
///
/// # Errors
/// When a stored item is malformed.
pub fn log(record: ResponseRecord) -> Result<Arc<EventLog>> {
    let raw = record.output.first().cloned();
    let item: Option<Item<'_>> = match &raw {
        Some(raw) => Some(serde_json::from_str(raw.get()).map_err(Error::internal)?),
        None => None,
    };
    let log = EventLog::of_message(item.as_ref().map_or(Uuid::nil(), |item| item.id));
    let begun = |status| {
        Arc::new(ResponseRecord {
            status,
            error: None,
            output: Vec::new(),
            completed_at: None,
            ending: None,
            ..record.clone()
        })
    };
    log.push(Event::Created(begun(ResponseStatus::Created)));
    log.push(Event::InProgress(begun(ResponseStatus::InProgress)));
    if let (Some(item), Some(raw)) = (item, &raw) {
        push_item(&log, &item, raw);
    }
    let record = Arc::new(record);
    log.push(match failure(&record) {
        Some(error) => Event::Failed(Arc::new(error), record),
        None => Event::Completed(record),
    });
    Ok(log)
}

fn push_item(log: &EventLog, item: &Item<'_>, raw: &Arc<serde_json::value::RawValue>) {
    if item.kind == "message" {
        let text: String = item.content.iter().map(|part| part.text.as_str()).collect();
        log.push(Event::MessageAdded);
        if !text.is_empty() {
            log.push(Event::Delta(text.as_str().into()));
        }
        log.push(Event::TextDone(text.into()));
    } else {
        log.push(Event::QueryAdded(item.query.as_str().into()));
    }
    log.push(Event::ItemDone(raw.clone()));
}

/// The stored error of a response that failed.
fn failure(record: &ResponseRecord) -> Option<Error> {
    if record.status == ResponseStatus::Completed {
        return None;
    }
    let field = |name: &str| {
        record
            .error
            .as_ref()
            .and_then(|error| error.get(name))
            .and_then(serde_json::Value::as_str)
            .unwrap_or_default()
    };
    let code = Code::ALL
        .iter()
        .find(|code| code.as_str() == field("code"))
        .copied()
        .unwrap_or(Code::Internal);
    Some(Error::new(code, field("message")))
}
