//! Each vendor as its reference shows it: the transcripts beside the sources.

use std::time::Duration;

use mindhost_sdk::http::Response;
use mindhost_sdk::model::{Event, StopReason};
use mindhost_sdk::testing::{calls, damaged, stop, text, transcript, usage};
use mindhost_sdk::{ErrorKind, Result};

use super::{read, recorded};

/// All events of a transcript, which are the same however it is cut.
fn play(text: &str) -> Result<Vec<Event>> {
    let whole = read(transcript(text, usize::MAX));
    for piece in [1, 7, 100] {
        assert_eq!(read(transcript(text, piece)), whole, "pieces of {piece}");
    }
    whole
}

#[test]
fn every_vendor_calls_a_tool_and_answers() {
    for (vendor, call, answer, id) in [
        (
            "OpenAI",
            recorded!("openai/tool_call"),
            recorded!("openai/answer"),
            "call_DdmO9pD3xa9XTPNJ32zg2hcA",
        ),
        (
            "Azure",
            recorded!("azure/tool_call"),
            recorded!("azure/answer"),
            "call_8ms4ZuSXJjoVbDXz3zV3VOmI",
        ),
        (
            "Gemini",
            recorded!("gemini/tool_call"),
            recorded!("gemini/answer"),
            "function-call-13927409",
        ),
        (
            "Ollama",
            recorded!("ollama/tool_call"),
            recorded!("ollama/answer"),
            "call_c1u8cvkf",
        ),
        (
            "vLLM",
            recorded!("vllm/tool_call"),
            recorded!("vllm/answer"),
            "chatcmpl-tool-aaaa",
        ),
        (
            "LM Studio",
            recorded!("lm-studio/tool_call"),
            recorded!("lm-studio/answer"),
            "365174485",
        ),
    ] {
        let events = play(call).unwrap();
        let [(own, name, arguments)] = calls(&events)[..] else {
            panic!("{vendor}: {events:?}");
        };
        assert_eq!((own, name), (id, "run_sql"), "{vendor}");
        let arguments: serde_json::Value = serde_json::from_str(arguments).unwrap();
        assert_eq!(
            arguments["sql"], "SELECT count(*) AS n FROM orders",
            "{vendor}"
        );
        assert_eq!(
            stop(&events).map(|stop| stop.0),
            Some(StopReason::ToolCalls),
            "{vendor}"
        );
        assert_eq!(text(&events), "", "{vendor}: thoughts are no text");

        let events = play(answer).unwrap();
        assert_eq!(text(&events), "There are 3 orders.", "{vendor}");
        assert_eq!(stop(&events), Some((StopReason::End, "stop")), "{vendor}");
    }
}

#[test]
fn tokens_are_counted_once_and_to_the_end() {
    for (recorded, counts) in [
        (
            recorded!("openai/tool_call"),
            vec![
                ("input", 412),
                ("output", 41),
                ("cached-input", 0),
                ("reasoning", 19),
            ],
        ),
        (
            recorded!("azure/answer"),
            vec![
                ("input", 330),
                ("output", 6),
                ("cached-input", 256),
                ("reasoning", 0),
            ],
        ),
        (
            recorded!("gemini/answer"),
            vec![("input", 240), ("output", 6)],
        ),
        (
            recorded!("ollama/answer"),
            vec![("input", 420), ("output", 6)],
        ),
        (
            recorded!("vllm/answer"),
            vec![("input", 440), ("output", 6)],
        ),
        (
            recorded!("lm-studio/answer"),
            vec![("input", 390), ("output", 6)],
        ),
    ] {
        assert_eq!(usage(&play(recorded).unwrap()), counts);
    }
}

#[test]
fn an_answer_that_is_too_long_says_so() {
    for recorded in [
        recorded!("openai/length"),
        recorded!("azure/length"),
        recorded!("gemini/length"),
        recorded!("ollama/length"),
        recorded!("vllm/length"),
        recorded!("lm-studio/length"),
    ] {
        let events = play(recorded).unwrap();
        assert_eq!(text(&events), "There are");
        assert_eq!(stop(&events), Some((StopReason::Length, "length")));
    }
}

#[test]
fn an_error_in_the_middle_is_never_a_short_answer() {
    for (recorded, words) in [
        (recorded!("openai/broken"), "The server had an error"),
        (recorded!("azure/broken"), "invalid content"),
        (recorded!("gemini/broken"), "overloaded"),
        (recorded!("ollama/broken"), "unexpected EOF"),
        (recorded!("vllm/broken"), "EngineCore"),
        (recorded!("lm-studio/broken"), "crashed"),
    ] {
        let error = play(recorded).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Upstream, "{error}");
        assert!(error.message().contains(words), "{words}: {error}");
    }
}

#[test]
fn each_refusal_has_its_kind_and_says_what_to_do() {
    for (recorded, kind, words) in [
        (
            recorded!("openai/refused"),
            ErrorKind::RateLimited,
            "Rate limit reached",
        ),
        (
            recorded!("azure/refused"),
            ErrorKind::NotFound,
            "no model 'm'",
        ),
        (recorded!("azure/unauthorized"), ErrorKind::Auth, "api_key"),
        (recorded!("gemini/refused"), ErrorKind::RateLimited, "quota"),
        (recorded!("gemini/unauthorized"), ErrorKind::Auth, "api_key"),
        (
            recorded!("ollama/refused"),
            ErrorKind::NotFound,
            "try pulling it first",
        ),
        (
            recorded!("ollama/no_tools"),
            ErrorKind::Unsupported,
            "choose one that can",
        ),
        (
            recorded!("ollama/plain"),
            ErrorKind::Upstream,
            "more system memory",
        ),
        (
            recorded!("vllm/refused"),
            ErrorKind::TooLarge,
            "maximum context length",
        ),
        (
            recorded!("vllm/no_tools"),
            ErrorKind::Unsupported,
            "--enable-auto-tool-choice",
        ),
        (
            recorded!("lm-studio/refused"),
            ErrorKind::InvalidStatement,
            "No models loaded",
        ),
        (
            recorded!("lm-studio/wrong_path"),
            ErrorKind::Upstream,
            "Unexpected endpoint",
        ),
    ] {
        let error = play(recorded).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(words), "{words}: {error}");
    }
}

#[test]
fn waits_are_kept_from_headers_and_bodies() {
    for (recorded, seconds) in [
        (recorded!("openai/refused"), 2),
        (recorded!("gemini/refused"), 34),
    ] {
        let error = play(recorded).unwrap_err();
        let same = error.clone().retry_after(Duration::from_secs(seconds));
        assert_eq!(error, same);
    }
}

#[test]
fn a_question_that_azure_filters_is_a_refusal_and_no_fault() {
    let events = play(recorded!("azure/filtered")).unwrap();
    assert_eq!(stop(&events), Some((StopReason::Refused, "content_filter")));
    assert_eq!(events.len(), 1);
}

#[test]
fn gemini_numbers_all_parallel_calls_alike() {
    let events = play(recorded!("gemini/parallel_calls")).unwrap();
    let expected = [
        ("function-call-1", "search_catalog", r#"{"query":""}"#),
        ("function-call-2", "run_sql", r#"{"sql": "SELECT 1"}"#),
        ("function-call-3", "run_sql", r#"{"sql": "SELECT 2"}"#),
    ];
    assert_eq!(calls(&events), expected);
    assert_eq!(usage(&events), [("input", 200), ("output", 27)]);
}

#[test]
fn signatures_of_thoughts_go_back_with_their_call() {
    use mindhost_sdk::model::{Message, Part, Request, Role};
    let events = play(recorded!("gemini/tool_call")).unwrap();
    let parts = events.into_iter().filter_map(|event| match event {
        Event::ToolCall(call) => Some(Part::ToolCall(call)),
        Event::Opaque(opaque) => Some(Part::Opaque(opaque)),
        _ => None,
    });
    let request = Request::new(vec![Message {
        role: Role::Assistant,
        parts: parts.collect(),
    }]);
    let sent = super::sent(r#"{"model": "m"}"#, &request);
    let call = &sent["messages"][0]["tool_calls"][0];
    assert_eq!(call["id"], "function-call-13927409");
    assert_eq!(
        call["extra_content"]["google"]["thought_signature"],
        "CiQB0e2Kb2zPd9rGcm9s"
    );
}

#[test]
fn a_damaged_answer_ends_with_a_stop_or_an_error() {
    for text in [
        recorded!("gemini/parallel_calls"),
        recorded!("lm-studio/tool_call"),
        recorded!("azure/answer"),
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
        recorded!("gemini/parallel_calls"),
        recorded!("lm-studio/tool_call"),
        recorded!("azure/answer"),
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
