//! Replays the calls of a model provider.

use std::collections::BTreeMap;

use mindhost_plugin_api::Model;
use mindhost_plugins::record::{Entry, Outcome, to_request};
use serde_json::{Value as Json, json};

use super::ReplayRun;

/// Repeats every check, list and completion, one after the other.
pub(super) async fn replay(model: &dyn Model, entries: &[Entry], again: &mut ReplayRun<'_>) {
    let mut groups: BTreeMap<u64, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        groups.entry(entry.on).or_default().push(entry);
    }
    for calls in groups.into_values() {
        let Some((first, rest)) = calls.split_first() else {
            continue;
        };
        let target = again.configured.target();
        match first.call.as_str() {
            "check" => {
                drop(model.check(&target, &again.call()).await);
                again.compare(first);
            }
            "models" => {
                drop(model.models(&target, &again.call()).await);
                again.compare(first);
            }
            "start" => completion(model, first, rest, again).await,
            _ => again.found.pass_over(),
        }
    }
}

/// Repeats a completion and compares the whole text, however it was split.
async fn completion(model: &dyn Model, start: &Entry, rest: &[&Entry], again: &mut ReplayRun<'_>) {
    let request = to_request(&start.arguments["request"]);
    let target = again.configured.target();
    let begun = model.start(&target, request, &again.call()).await;
    again.compare(start);
    let Ok(mut completion) = begun else {
        return;
    };
    let mut now = Vec::new();
    while let Ok(Some(_)) = completion.next(&again.call()).await {
        now.extend(again.came());
    }
    now.extend(again.came());
    let (before, now) = (said(rest.iter().copied()), said(now.iter()));
    for what in ["text", "calls", "stop", "error"] {
        again.found.same(start, what, &before[what], &now[what]);
    }
}

/// The sum of a completion's events.
fn said<'a>(entries: impl Iterator<Item = &'a Entry>) -> Json {
    let (mut text, mut calls) = (String::new(), Vec::new());
    let (mut stop, mut failed) = (Json::Null, Json::Null);
    for entry in entries {
        match &entry.outcome {
            Outcome::Ok(events) => {
                for event in events.as_array().into_iter().flatten() {
                    text.push_str(event["text"].as_str().unwrap_or_default());
                    if let Some(call) = event.get("tool-call") {
                        calls.push(json!([call["name"], call["arguments"]]));
                    }
                    if let Some(why) = event.get("stop") {
                        stop = why.clone();
                    }
                }
            }
            Outcome::Error(error) => failed = json!([error["code"], error["reported"]]),
        }
    }
    json!({"text": text, "calls": calls, "stop": stop, "error": failed})
}
