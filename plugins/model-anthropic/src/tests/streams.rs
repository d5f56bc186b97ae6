//! Streams as the vendor's reference shows them.

use mindhost_sdk::model::{Event, Opaque, StopReason};
use mindhost_sdk::testing::{calls, stop, text, transcript, usage};
use mindhost_sdk::{ErrorKind, Result};

use super::{config, once, play, read, recorded};
use crate::assembly::THOUGHT;
use crate::provider;

#[test]
fn a_call_of_a_tool_and_the_answer_after_it() {
    let events = play(recorded!("tool_call")).unwrap();
    assert_eq!(text(&events), "I count the orders.");
    let arguments = r#"{"sql": "SELECT count(*) AS n FROM orders"}"#;
    assert_eq!(
        calls(&events),
        [("toolu_01T1x1fJ34qAmk2tNTrN7Up6", "run_sql", arguments)]
    );
    assert_eq!(stop(&events), Some((StopReason::ToolCalls, "tool_use")));
    assert_eq!(
        usage(&events),
        [("input", 1212), ("output", 89), ("cached-input", 0)]
    );

    let events = play(recorded!("answer")).unwrap();
    assert_eq!(text(&events), "There are 3 orders – größer als 2.");
    assert_eq!(stop(&events), Some((StopReason::End, "end_turn")));
    assert_eq!(
        usage(&events),
        [("input", 1304), ("output", 15), ("cached-input", 1290)]
    );
}

#[test]
fn parallel_calls_keep_their_order_and_may_have_no_arguments() {
    let events = play(recorded!("parallel_calls")).unwrap();
    let expected = [
        ("toolu_a", "search_catalog", r#"{"query": ""}"#),
        ("toolu_b", "list", "{}"),
    ];
    assert_eq!(calls(&events), expected);
}

#[test]
fn thoughts_are_no_text_and_come_back_as_they_were() {
    let events = play(recorded!("thinking")).unwrap();
    assert_eq!(text(&events), "");
    let thoughts: Vec<&Opaque> = events
        .iter()
        .filter_map(|event| match event {
            Event::Opaque(opaque) => Some(opaque),
            _ => None,
        })
        .collect();
    assert!(thoughts.iter().all(|thought| thought.kind == THOUGHT));
    let data: Vec<serde_json::Value> = thoughts
        .iter()
        .map(|thought| serde_json::from_str(&thought.data).unwrap())
        .collect();
    assert_eq!(
        data,
        [
            serde_json::json!({"type": "thinking", "thinking": "Orders are in `orders`.",
                "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"}),
            serde_json::json!({"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"}),
        ]
    );
    assert!(usage(&events).contains(&("reasoning", 31)));
}

#[test]
fn unknown_events_blocks_and_deltas_are_passed_over() {
    let events = play(recorded!("unknown_events")).unwrap();
    assert_eq!(
        (text(&events).as_str(), stop(&events)),
        ("Yes.", Some((StopReason::End, "end_turn")))
    );
}

#[test]
fn counts_that_cannot_be_are_left_out() {
    for count in ["-5", "9223372036854775809", "1e30", "\"7\""] {
        let input = format!("\"input_tokens\":{count}");
        let message =
            format!("{{\"type\":\"message_start\",\"message\":{{\"usage\":{{{input}}}}}}}");
        let start = format!("event: message_start\ndata: {message}\n\n");
        let answer = recorded!("answer");
        let (head, events) = answer.split_once("\n\n").unwrap();
        let (_, rest) = events.split_once("\n\n").unwrap();
        let read = play(&format!("{head}\n\n{start}{rest}")).unwrap();
        assert_eq!(text(&read), "There are 3 orders – größer als 2.");
        assert_eq!(stop(&read), Some((StopReason::End, "end_turn")));
    }
}

#[test]
fn counts_in_another_shape_are_left_out() {
    let thinking = recorded!("thinking");
    for shape in ["5", "\"none\"", "[[]]"] {
        let read = play(&thinking.replace("{\"thinking_tokens\": 31}", shape)).unwrap();
        assert_eq!(calls(&read).len(), 1);
        let others = [("input", 25), ("output", 60), ("cached-input", 0)];
        assert_eq!(usage(&read), others, "{shape}");

        let end = r#"{"output_tokens": 60, "output_tokens_details": {"thinking_tokens": 31}}"#;
        let read = play(&thinking.replace(end, shape)).unwrap();
        let others = [("input", 25), ("output", 1), ("cached-input", 0)];
        assert_eq!(usage(&read), others, "{shape}");
    }
}

#[test]
fn sum_of_inputs_that_cannot_be_is_left_out() {
    let most = 1_u64 << 40;
    let input =
        r#""input_tokens": 12, "cache_creation_input_tokens": 1200, "cache_read_input_tokens": 0"#;
    let large = format!(r#""input_tokens": {most}, "cache_read_input_tokens": {most}"#);
    let read = play(&recorded!("tool_call").replace(input, &large)).unwrap();
    assert_eq!(usage(&read), [("output", 89), ("cached-input", most)]);
    assert_eq!(stop(&read), Some((StopReason::ToolCalls, "tool_use")));
}

#[test]
fn null_in_place_of_no_content_is_none() {
    let answer = recorded!("tool_call");
    let null = answer.replace("\"content\": []", "\"content\": null");
    assert_ne!(null, answer);
    assert_eq!(play(&null).unwrap(), play(answer).unwrap());
}

#[test]
fn arguments_in_pieces_replace_those_of_the_start() {
    let twice = recorded!("tool_call").replace("\"input\": {}", r#""input": {"sql": "SELECT 0"}"#);
    let arguments = r#"{"sql": "SELECT count(*) AS n FROM orders"}"#;
    assert_eq!(
        calls(&play(&twice).unwrap()),
        [("toolu_01T1x1fJ34qAmk2tNTrN7Up6", "run_sql", arguments)]
    );
    let piece = r#""{\"sql\": \"SELECT count(*) AS n FROM orders\"}""#;
    let whole = recorded!("thinking")
        .replace("\"input\": {}", r#""input": {"sql": "SELECT 0"}"#)
        .replace(piece, "\"\"");
    assert_eq!(
        calls(&play(&whole).unwrap()),
        [("toolu_c", "run_sql", r#"{"sql": "SELECT 0"}"#)]
    );
}

#[test]
fn why_an_answer_ended() {
    let events = play(recorded!("max_tokens")).unwrap();
    assert_eq!(stop(&events), Some((StopReason::Length, "max_tokens")));
    let events = play(recorded!("refusal")).unwrap();
    assert_eq!(stop(&events), Some((StopReason::Refused, "refusal")));
    for (word, reason) in [
        ("model_context_window_exceeded", StopReason::Length),
        ("stop_sequence", StopReason::End),
        ("pause_turn", StopReason::Other),
        ("something_new", StopReason::Other),
    ] {
        let other = recorded!("max_tokens").replace("\"max_tokens\"", &format!("\"{word}\""));
        assert_eq!(stop(&play(&other).unwrap()), Some((reason, word)));
    }
}

#[test]
fn each_piece_is_handed_on_as_it_comes() -> Result<()> {
    let response = transcript(recorded!("answer"), 100);
    let mut answer = provider::start(&config(), &super::Request::new(Vec::new()), &once(response))?;
    let mut times = 0;
    while answer.read()?.is_some() {
        times += 1;
    }
    assert!(times > 4, "the answer came in {times} pieces");
    Ok(())
}

#[test]
fn a_server_that_does_not_stream() {
    let events = read(transcript(recorded!("not_streamed"), 50)).unwrap();
    assert_eq!(text(&events), "I count.");
    assert_eq!(
        calls(&events),
        [("toolu_d", "run_sql", r#"{"sql": "SELECT 1"}"#)]
    );
    assert_eq!(usage(&events), [("input", 5), ("output", 7)]);
}

#[test]
fn an_answer_that_breaks_is_an_error_and_never_a_short_answer() {
    let error = play(recorded!("cut")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream);
    assert!(error.message().contains("cut off"), "{error}");
    let error = play(recorded!("overloaded_midway")).unwrap_err();
    assert_eq!(
        (error.kind(), error.engine_code()),
        (ErrorKind::Upstream, "overloaded_error")
    );
    assert!(error.message().contains("ask again"), "{error}");
}
