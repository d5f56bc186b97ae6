use super::*;

fn refusal(status: u16, body: &str) -> Refusal {
    Refusal::read(Response::scripted(status, vec![Ok(body.into())]))
}

#[test]
fn vendors_say_it_in_many_shapes() {
    for body in [
        r#"{"error": {"message": "no", "code": "c"}}"#,
        r#"{"error": {"message": "no", "type": "c"}}"#,
        r#"[{"error": {"message": "no", "status": "c", "code": 400}}]"#,
        r#"{"message": "no", "code": "c"}"#,
        r#"{"detail": "no", "code": "c"}"#,
    ] {
        let said = refusal(400, body).said;
        assert_eq!(
            (said.message.as_str(), said.code.as_str()),
            ("no", "c"),
            "{body}"
        );
    }
    for body in [
        r#"{"error": "no"}"#,
        "no\n",
        r#"{"error": null, "message": "no"}"#,
    ] {
        assert_eq!(refusal(400, body).said.message, "no", "{body}");
    }
    for body in ["", "<html>no</html>", "[]", "{}", "null", "\u{1}"] {
        assert_eq!(refusal(400, body).said.message, "", "{body}");
    }
}

#[test]
fn a_key_is_never_repeated() {
    let said = refusal(401, r#"{"error": "Incorrect key sk-abc and Bearer x1"}"#).said;
    assert_eq!(said.message, "Incorrect key (key) and Bearer (key)");
}

#[test]
fn token_after_bearer_is_never_repeated() {
    for (text, tidied) in [
        (
            "bad header Authorization: Bearer sekret-abc, try again",
            "bad header Authorization: Bearer (key) try again",
        ),
        (
            "{\"Authorization\":\"bearer sekret-1\"}",
            "{\"Authorization\":\"bearer (key)",
        ),
        ("'BEARER \n sekretsekretsekret'", "'BEARER (key)"),
        ("Bearer: \" s3kret", "Bearer: \" (key)"),
        ("Bearer bearer sekret_1", "Bearer bearer (key)"),
        (
            "Missing bearer or basic authentication",
            "Missing bearer or basic authentication",
        ),
        ("Bearer=sekret was refused", "(key) was refused"),
        ("no token as Bearer", "no token as Bearer"),
    ] {
        assert_eq!(tidy(text), tidied, "{text}");
    }
}

#[test]
fn long_messages_are_cut_to_a_line() {
    let said = refusal(500, &format!(r#"{{"error": "a\nb {}"}}"#, "x".repeat(5000))).said;
    assert!(
        said.message.chars().count() == LONGEST_MESSAGE + 1 && said.message.starts_with("a b x")
    );
}

#[test]
fn a_dialogue_that_is_too_long_has_one_code_whatever_the_vendor_says() {
    for body in [
        r#"{"error": {"message": "prompt is too long: 9 > 8", "type": "invalid_request_error"}}"#,
        r#"{"error": {"message": "no", "code": "context_length_exceeded"}}"#,
    ] {
        let refusal = refusal(400, body);
        let error = refusal.error(refusal.usual());
        let found = (error.kind(), error.engine_code());
        assert_eq!(found, (ErrorKind::TooLarge, CONTEXT_LENGTH), "{body}");
    }
    let request = refusal(413, "");
    assert_eq!(request.error(request.usual()).engine_code(), "413");
}

#[test]
fn an_endless_body_leaves_the_status() {
    let pieces = vec![Ok(vec![b'x'; 32 * 1024]); 3];
    let refusal = Refusal::read(Response::scripted(503, pieces));
    assert_eq!(refusal.said.message, "");
    assert_eq!(refusal.usual().0, ErrorKind::Upstream);
}

#[test]
fn how_long_to_wait() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let wait = |name: &'static str, value: &'static str| {
        retry_after(move |n| (n == name).then(|| value.to_owned()), now)
    };
    assert_eq!(wait("retry-after", "2"), Some(Duration::from_secs(2)));
    assert_eq!(wait("retry-after", "0.5"), Some(Duration::from_millis(500)));
    assert_eq!(
        wait("retry-after-ms", "250"),
        Some(Duration::from_millis(250))
    );
    assert_eq!(
        wait("retry-after", "Tue, 14 Nov 2023 22:13:30 GMT"),
        Some(Duration::from_secs(10))
    );
    assert_eq!(
        wait("retry-after", "Tue, 14 Nov 2023 22:00:00 GMT"),
        Some(Duration::ZERO)
    );
    for nonsense in ["-1", "NaN", "inf", "soon", "1e300"] {
        assert_eq!(wait("retry-after", nonsense), None, "{nonsense}");
    }
}

#[test]
fn a_wait_in_the_body_counts_where_no_header_says_one() {
    let body = r#"[{"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": "type.googleapis.com/google.rpc.Help"},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]}}]"#;
    assert_eq!(
        refusal(429, body).retry_after,
        Some(Duration::from_millis(34_500))
    );
    let both = Response::scripted(429, vec![Ok(body.into())]).with_header("retry-after", "1");
    assert_eq!(
        Refusal::read(both).retry_after,
        Some(Duration::from_secs(1))
    );
}
