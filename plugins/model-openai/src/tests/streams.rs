//! Streams of several servers.

use mindhost_sdk::http::Response;
use mindhost_sdk::model::{Event, StopReason, ToolCall};
use mindhost_sdk::testing::{calls, stop, text, usage};
use mindhost_sdk::{Error, ErrorKind};

use super::{config, events, question, read};
use crate::provider;

const HELLO: &str = r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}

data: {"choices":[{"index":0,"delta":{"content":"lo"}}]}

"#;
const END: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const USAGE: &str = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2,\
                     \"prompt_tokens_details\":{\"cached_tokens\":3},\"completion_tokens_details\":{\"reasoning_tokens\":1}}}\n\n";

#[test]
fn text_usage_and_end() {
    let events = events(&[HELLO, END, USAGE, "data: [DONE]\n\n"]).unwrap();
    assert_eq!(text(&events), "Hello");
    assert_eq!(stop(&events), Some((StopReason::End, "stop")));
    let counted = |e: &Event| matches!(e, Event::Usage(counts) if counts.len() == 4 && counts[0] == ("input".to_owned(), 7));
    assert!(events.iter().any(counted));
}

#[test]
fn counts_that_cannot_be_are_left_out() {
    for count in ["-5", "9223372036854775809", "1e30", "\"7\""] {
        let input = format!("\"prompt_tokens\":{count}");
        let counts = USAGE.replace("\"prompt_tokens\":7", &input);
        let events = events(&[HELLO, END, &counts]).unwrap();
        assert_eq!(text(&events), "Hello");
        assert_eq!(stop(&events), Some((StopReason::End, "stop")));
        let others = [("output", 2), ("cached-input", 3), ("reasoning", 1)];
        assert_eq!(usage(&events), others);
    }
}

#[test]
fn counts_in_another_shape_are_left_out() {
    let prompt = (
        "{\"cached_tokens\":3}",
        vec![("input", 7), ("output", 2), ("reasoning", 1)],
    );
    let completion = (
        "{\"reasoning_tokens\":1}",
        vec![("input", 7), ("output", 2), ("cached-input", 3)],
    );
    for (details, others) in [prompt, completion] {
        for shape in ["12", "\"none\"", "true", "[[]]"] {
            let counts = USAGE.replace(details, shape);
            let events = events(&[HELLO, END, &counts, "data: [DONE]\n\n"]).unwrap();
            assert_eq!(text(&events), "Hello");
            assert_eq!(usage(&events), others, "{shape}");
        }
    }
    for shape in ["13", "\"none\"", "[{}]"] {
        let counts = format!("data: {{\"choices\":[],\"usage\":{shape}}}\n\n");
        let events = events(&[HELLO, END, &counts, "data: [DONE]\n\n"]).unwrap();
        assert_eq!(text(&events), "Hello");
        assert_eq!(stop(&events), Some((StopReason::End, "stop")));
        assert!(usage(&events).is_empty(), "{shape}: {events:?}");
    }
}

#[test]
fn reason_and_counts_with_every_piece_do_not_end_an_answer() {
    let piece = |text: &str, count: u64| {
        let choice =
            format!(r#"{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":"stop"}}"#);
        format!("data: {{\"choices\":[{choice}],\"usage\":{{\"completion_tokens\":{count}}}}}\n\n")
    };
    let (first, second) = (piece("There are 4", 3), piece("2 orders", 5));
    for end in ["data: [DONE]\n\n", ": the end\n\n"] {
        let events = events(&[&first, &second, end]).unwrap();
        assert_eq!(text(&events), "There are 42 orders");
        assert_eq!(stop(&events), Some((StopReason::End, "stop")));
        assert_eq!(usage(&events), [("output", 5)]);
    }
}

#[test]
fn message_beside_deltas_is_not_read_twice() {
    let piece = |delta: &str, message: &str| {
        format!(
            r#"data: {{"choices":[{{"delta":{{"content":"{delta}"}},"message":{{"content":"{message}"}}}}]}}"#
        ) + "\n\n"
    };
    let grown = [
        piece("Hel", "Hel"),
        piece("lo", "Hello"),
        piece("", "Hello"),
    ]
    .concat();
    let whole = r#"{"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]}"#;
    let whole = format!("data: {whole}\n\n");
    let whole = whole.as_str();
    for pieces in [
        [grown.as_str(), END],
        [grown.as_str(), whole],
        [HELLO, whole],
        [": ping\n\n", whole],
    ] {
        let events = events(&pieces).unwrap();
        assert_eq!(text(&events), "Hello", "{pieces:?}");
        assert_eq!(stop(&events), Some((StopReason::End, "stop")));
    }
    let call = r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}"#;
    let called = format!("data: {{\"choices\":[{{\"delta\":{call}}}]}}\n\n");
    let whole =
        format!("data: {{\"choices\":[{{\"message\":{call},\"finish_reason\":\"stop\"}}]}}\n\n");
    assert_eq!(
        calls(&events(&[&called, &whole]).unwrap()),
        [("a", "f", "{}")]
    );
}

#[test]
fn whole_answer_with_delta_is_its_message() {
    let body = r#"{"choices":[{"delta":{"content":"lo"},"message":{"content":"Hello"},"finish_reason":"stop"}]}"#;
    let response = Response::scripted(200, vec![Ok(body.into())]);
    let events = read(response.with_header("content-type", "application/json")).unwrap();
    assert_eq!(text(&events), "Hello");
    assert_eq!(stop(&events), Some((StopReason::End, "stop")));
}

#[test]
fn each_piece_is_handed_on_as_it_comes() {
    let pieces = [HELLO, END].map(|p| Ok(p.as_bytes().to_vec())).to_vec();
    let response = std::cell::RefCell::new(Some(Response::scripted(200, pieces)));
    let send = move |_: &_| {
        response
            .borrow_mut()
            .take()
            .ok_or_else(|| Error::internal("asked twice"))
    };
    let mut completion = provider::start(&config(), &question(), &send).unwrap();
    assert_eq!(text(&completion.read().unwrap().unwrap()), "Hello");
    assert!(matches!(
        completion.read().unwrap().unwrap().as_slice(),
        [Event::Stop(_)]
    ));
    assert!(completion.read().unwrap().is_none());
}

#[test]
fn comments_blank_lines_and_carriage_returns_are_nothing() {
    let all = [": ping\n\n", HELLO, ": ping\n\n", END, "data: [DONE]\n\n"]
        .concat()
        .replace('\n', "\r\n");
    assert_eq!(text(&events(&[&all]).unwrap()), "Hello");
}

#[test]
fn two_calls_in_pieces() {
    let events = events(&[
        r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"run_sql","arguments":""}}]}}]}"#,
        "\n\n",
        r#"data: {"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"search","arguments":"{}"}},{"index":0,"function":{"arguments":"{\"sql\""}}]}}]}"#,
        "\n\n",
        r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}]}"#,
        "\n\ndata: [DONE]\n\n",
    ])
    .unwrap();
    let call = |id: &str, name: &str, arguments: &str| {
        Event::ToolCall(ToolCall {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
        })
    };
    assert_eq!(
        format!("{:?}", &events[..2]),
        format!(
            "{:?}",
            [
                call("a", "run_sql", "{\"sql\":1}"),
                call("b", "search", "{}")
            ]
        )
    );
    assert_eq!(stop(&events), Some((StopReason::ToolCalls, "tool_calls")));
}

#[test]
fn calls_without_index_or_id() {
    let events = events(&[
        r#"data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":{"x":1}}}]},"finish_reason":"stop"}]}"#,
        "\n\ndata: [DONE]\n\n",
    ])
    .unwrap();
    assert!(
        matches!(&events[0], Event::ToolCall(c) if c.id == "call_0" && c.arguments == "{\"x\":1}"),
        "{events:?}"
    );
    assert_eq!(stop(&events).map(|s| s.0), Some(StopReason::ToolCalls));
}

#[test]
fn new_id_without_index_or_name_goes_on_with_the_last_call() {
    let piece = |id: &str, function: &str| {
        let call = format!(r#"{{"id":"{id}","function":{function}}}"#);
        format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{call}]}}}}]}}\n\n")
    };
    let events = events(&[
        &piece("a1", r#"{"name":"run_sql","arguments":"{\"sql\":"}"#),
        &piece("a2", r#"{"arguments":"\"SELECT 1\"}"}"#),
        &piece("b1", r#"{"name":"search","arguments":"{"}"#),
        &piece("b2", r#"{"name":"","arguments":"}"}"#),
        END,
    ])
    .unwrap();
    let expected = [
        ("a1", "run_sql", r#"{"sql":"SELECT 1"}"#),
        ("b1", "search", "{}"),
    ];
    assert_eq!(calls(&events), expected);
}

#[test]
fn additions_to_calls_are_kept_as_written_and_bounded() {
    let signed = |count: usize, extra: &str| {
        let pieces = (0..count).map(|index| {
            let call = format!(
                r#"{{"index":{index},"id":"c{index}","function":{{"name":"f"}},"extra_content":{extra}}}"#
            );
            format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{call}]}}}}]}}\n\n")
        });
        let pieces: Vec<String> = pieces.chain([END.to_owned()]).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        events(&pieces)
    };
    let read = signed(1, r#"{"n": 1.50e2}"#).unwrap();
    let written = r#"{"id":"c0","extra_content":{"n": 1.50e2}}"#;
    assert!(
        matches!(&read[0], Event::Opaque(opaque) if opaque.data == written),
        "{read:?}"
    );

    let large = format!("\"{}\"", "x".repeat(1_000_000));
    let read = signed(8, &large).unwrap();
    let opaque = read.iter().filter(|e| matches!(e, Event::Opaque(_)));
    assert_eq!(opaque.count(), 8);
    for (count, extra) in [(9, large), (1, format!("\"{}\"", "x".repeat(1024 * 1024)))] {
        let error = signed(count, &extra).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(error.message().contains("additions"), "{error}");
    }
}

#[test]
fn why_an_answer_ended() {
    for (word, reason) in [
        ("length", StopReason::Length),
        ("content_filter", StopReason::Refused),
        ("model_length", StopReason::Length),
        ("stop", StopReason::End),
        ("eos_token", StopReason::End),
        ("stop_sequence", StopReason::End),
        ("insufficient_system_resource", StopReason::Other),
    ] {
        let end = END.replace("\"stop\"", &format!("\"{word}\""));
        assert_eq!(stop(&events(&[HELLO, &end]).unwrap()), Some((reason, word)));
    }
    let refusal = "data: {\"choices\":[{\"delta\":{\"refusal\":\"No.\"}}]}\n\n";
    let refused = events(&[refusal, END]).unwrap();
    assert_eq!(
        (text(&refused), stop(&refused).map(|s| s.0)),
        ("No.".into(), Some(StopReason::Refused))
    );
}

#[test]
fn a_compressed_answer_is_named() {
    let answer = |encoding: &str| {
        let pieces = [HELLO, END].map(|p| Ok(p.as_bytes().to_vec())).to_vec();
        let response = Response::scripted(200, pieces);
        let response = response.with_header("content-type", "text/event-stream");
        read(response.with_header("content-encoding", encoding))
    };
    let error = answer("gzip").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream);
    assert!(error.message().contains("compressed"), "{error}");
    assert!(!error.message().contains("cut off"), "{error}");
    assert_eq!(text(&answer("identity").unwrap()), "Hello");
}

#[test]
fn a_cut_stream_is_an_error_after_what_came() {
    let pieces = vec![Ok(HELLO.as_bytes().to_vec()), Ok(b"data: {\"choi".to_vec())];
    let response = std::cell::RefCell::new(Some(Response::scripted(200, pieces)));
    let send = move |_: &_| {
        response
            .borrow_mut()
            .take()
            .ok_or_else(|| Error::internal("asked twice"))
    };
    let mut completion = provider::start(&config(), &question(), &send).unwrap();
    assert_eq!(text(&completion.read().unwrap().unwrap()), "Hello");
    let error = completion.read().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream);
    assert!(error.message().contains("cut off"), "{error}");
}

#[test]
fn a_broken_connection_is_a_cut_but_not_after_the_end() {
    let lost = || Err(Error::new(ErrorKind::ConnectionLost, "reset"));
    let broken = read(Response::scripted(200, vec![Ok(HELLO.into()), lost()])).unwrap_err();
    assert_eq!(broken.kind(), ErrorKind::Upstream);
    let whole = read(Response::scripted(
        200,
        vec![Ok(HELLO.into()), Ok(END.into()), lost()],
    ))
    .unwrap();
    assert_eq!(stop(&whole).map(|s| s.0), Some(StopReason::End));
}

#[test]
fn a_server_that_does_not_stream() {
    let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello","tool_calls":[{"id":"a","type":"function",
        "function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
    let response = Response::scripted(200, vec![Ok(body.into())])
        .with_header("content-type", "application/json; charset=utf-8");
    let events = read(response).unwrap();
    assert_eq!(text(&events), "Hello");
    assert!(
        events
            .iter()
            .any(|e| matches!(e, Event::ToolCall(c) if c.name == "f"))
    );
    assert_eq!(stop(&events).map(|s| s.0), Some(StopReason::ToolCalls));
}

#[test]
fn a_stream_of_comments_without_an_end_is_the_vendors_fault() {
    let comments = ": still here\n\n".repeat(5_000);
    let pieces = vec![comments.as_str(); 1_000];
    let error = events(&pieces).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream);
    assert!(error.message().contains("says nothing"), "{error:?}");
}
