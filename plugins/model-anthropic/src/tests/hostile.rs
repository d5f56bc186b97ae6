//! A vendor that sends what it should not: an error each time, and no more memory than there should be.

use mindhost_sdk::http::Response;
use mindhost_sdk::model::Event;
use mindhost_sdk::testing::{damaged, stop};
use mindhost_sdk::{Error, ErrorKind};

use super::{play, read, recorded};

fn stream(pieces: Vec<String>) -> Error {
    let pieces = pieces
        .into_iter()
        .map(|piece| Ok(piece.into_bytes()))
        .collect();
    let response = Response::scripted(200, pieces).with_header("content-type", "text/event-stream");
    read(response).unwrap_err()
}

fn event(data: &str) -> String {
    format!("data: {data}\n\n")
}

#[test]
fn junk_is_refused() {
    for data in [
        "nonsense",
        "[]",
        r#"{"type":"content_block_delta"}"#,
        r#"{"type":"content_block_start","index":-1,"content_block":{}}"#,
    ] {
        assert_eq!(
            stream(vec![event(data)]).kind(),
            ErrorKind::Upstream,
            "{data}"
        );
    }
}

#[test]
fn ten_megabytes_without_an_end_of_line() {
    let error = stream(vec!["x".repeat(64 * 1024); 160]);
    assert_eq!(error.kind(), ErrorKind::TooLarge);
}

#[test]
fn pings_without_end() {
    let pings = event(r#"{"type":"ping"}"#).repeat(4_000);
    let error = stream(vec![pings; 1_000]);
    assert!(error.message().contains("says nothing"), "{error}");
}

#[test]
fn arguments_without_end() {
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f"}}"#;
    let piece = "x".repeat(100_000);
    let delta = format!(
        r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":"{piece}"}}}}"#
    );
    let error = stream([vec![event(start)], vec![event(&delta); 20]].concat());
    assert_eq!(error.kind(), ErrorKind::TooLarge);
}

#[test]
fn thoughts_without_end() {
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking"}}"#;
    let piece = "x".repeat(100_000);
    let delta = format!(
        r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"thinking_delta","thinking":"{piece}"}}}}"#
    );
    let error = stream([vec![event(start)], vec![event(&delta); 50]].concat());
    assert_eq!(error.kind(), ErrorKind::TooLarge);
}

#[test]
fn parts_without_end() {
    let parts = (0..2_000).map(|index| {
        event(&format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"text"}}}}"#
        ))
    });
    assert_eq!(stream(parts.collect()).kind(), ErrorKind::TooLarge);
}

#[test]
fn a_damaged_answer_ends_with_a_stop_or_an_error() {
    for text in [
        recorded!("tool_call"),
        recorded!("thinking"),
        recorded!("answer"),
    ] {
        for response in damaged(text) {
            match read(response) {
                Ok(events) => assert!(stop(&events).is_some()),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Upstream, "{error}"),
            }
        }
    }
}

/// What a caller gets of an answer, without the counts, which may be missing.
fn said(events: &[Event]) -> Vec<&Event> {
    let said = events.iter().filter(|e| !matches!(e, Event::Usage(_)));
    said.collect()
}

#[test]
fn cut_answer_is_whole_or_an_error() {
    for recorded in [
        recorded!("tool_call"),
        recorded!("thinking"),
        recorded!("answer"),
    ] {
        let whole = play(recorded).unwrap();
        let (_, body) = recorded.split_once("\n\n").unwrap();
        let (mut wholes, mut errors) = (0, 0);
        for end in 1..body.len() {
            match read(Response::scripted(
                200,
                vec![Ok(body.as_bytes()[..end].to_vec())],
            )) {
                Ok(events) => {
                    assert_eq!(said(&events), said(&whole), "{end}");
                    wholes += 1;
                }
                Err(error) => {
                    assert!(error.message().contains("cut off"), "{end}: {error}");
                    errors += 1;
                }
            }
        }
        assert!(wholes > 0 && errors > 0, "{wholes} and {errors}");
    }
}
