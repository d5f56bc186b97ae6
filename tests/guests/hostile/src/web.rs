//! Attempts over HTTP: to reach what is not granted, to say what a request must not say, and to have no end.

use wasip2::{
    http::{
        outgoing_handler::{self, FutureIncomingResponse},
        types::{
            Fields, IncomingBody, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme,
        },
    },
    io::streams::StreamError,
};

use crate::component::Plan;

/// The outcome of a mode; none for other modes.
pub(crate) fn attempt(mode: &str, plan: &Plan) -> Option<String> {
    let target = plan.target.as_str();
    Some(match mode {
        "http" => answer(fetch(target)),
        "follow" => match fetch(target) {
            Ok(Some(location)) => answer(fetch(&location)),
            other => answer(other),
        },
        "http-read" => read(target),
        "http-many" => {
            let mut all = Vec::new();
            loop {
                all.push(send(&request(target)));
            }
        }
        "http-body" => fill(target),
        "header-flood" => headers(),
        "smuggle" => smuggle(target),
        _ => return None,
    })
}

fn request(authority: &str) -> OutgoingRequest {
    with(authority, Fields::new())
}

fn with(authority: &str, fields: Fields) -> OutgoingRequest {
    let request = OutgoingRequest::new(fields);
    let _ = request.set_scheme(Some(&Scheme::Http));
    let _ = request.set_authority(Some(authority));
    let _ = request.set_path_with_query(Some("/"));
    request
}

/// Sends a request; the body stays open.
fn send(request: &OutgoingRequest) -> Option<(OutgoingBody, FutureIncomingResponse)> {
    let body = request.body().ok()?;
    let copy = with(&request.authority().unwrap_or_default(), Fields::new());
    let future = outgoing_handler::handle(copy, None).ok()?;
    Some((body, future))
}

/// Where an answer leads on, if it does.
fn fetch(authority: &str) -> Result<Option<String>, String> {
    let response =
        outgoing_handler::handle(request(authority), None).map_err(|code| format!("{code:?}"))?;
    response.subscribe().block();
    match response.get() {
        Some(Ok(Ok(answer))) => {
            let location = answer.headers().get("location").into_iter().next();
            Ok(location.and_then(|value| String::from_utf8(value).ok()))
        }
        Some(Ok(Err(code))) => Err(format!("{code:?}")),
        _ => Err(String::from("nothing")),
    }
}

fn answer(fetched: Result<Option<String>, String>) -> String {
    match fetched {
        Ok(_) => String::from("reached"),
        Err(why) => format!("refused: {why}"),
    }
}

/// Reads an answer to its end.
fn read(authority: &str) -> String {
    let Ok(response) = outgoing_handler::handle(request(authority), None) else {
        return String::from("refused");
    };
    response.subscribe().block();
    let Some(Ok(Ok(answer))) = response.get() else {
        return String::from("refused: no answer");
    };
    let Ok(body) = answer.consume() else {
        return String::from("refused: no body");
    };
    let Ok(stream) = body.stream() else {
        return String::from("refused: no stream");
    };
    let mut bytes = 0;
    let ended = loop {
        match stream.blocking_read(64 << 10) {
            Ok(read) => bytes += read.len(),
            Err(StreamError::Closed) => break "the end",
            Err(StreamError::LastOperationFailed(_)) => break "an error",
        }
    };
    drop(stream);
    drop(IncomingBody::finish(body));
    format!("read {bytes} bytes and then {ended}")
}

/// A whole exchange as an SDK has it, with options, a body and what stands behind the answer; the bytes of an answer
/// that came to its end.
pub(crate) fn exchange(authority: &str) -> Option<usize> {
    let request = request(authority);
    let _ = request.set_method(&Method::Post);
    let body = request.body().ok()?;
    let options = RequestOptions::new();
    let _ = options.set_first_byte_timeout(Some(60_000_000_000));
    let future = outgoing_handler::handle(request, Some(options)).ok()?;
    let stream = body.write().ok()?;
    stream.blocking_write_and_flush(b"question").ok()?;
    drop(stream);
    OutgoingBody::finish(body, None).ok()?;
    future.subscribe().block();
    let answer = future.get()?.ok()?.ok()?;
    drop(answer.headers().entries());
    let body = answer.consume().ok()?;
    let stream = body.stream().ok()?;
    let mut bytes = 0;
    loop {
        stream.subscribe().block();
        match stream.read(64 << 10) {
            Ok(read) => bytes += read.len(),
            Err(StreamError::Closed) => break,
            Err(StreamError::LastOperationFailed(error)) => {
                drop(error.to_debug_string());
                return None;
            }
        }
    }
    drop(stream);
    let trailers = IncomingBody::finish(body);
    trailers.subscribe().block();
    let _ = trailers.get()?.ok()?.ok()?;
    Some(bytes)
}

/// Writes a body for ever, to somebody who does not read.
fn fill(authority: &str) -> String {
    let request = request(authority);
    let _ = request.set_method(&Method::Post);
    let Ok(body) = request.body() else {
        return String::from("refused: no body");
    };
    let _response = outgoing_handler::handle(request, None);
    let Ok(stream) = body.write() else {
        return String::from("refused: no stream");
    };
    loop {
        if stream.blocking_write_and_flush(&[0; 4_096]).is_err() {
            return String::from("refused: no more");
        }
    }
}

/// How many bytes of headers one request may have.
fn headers() -> String {
    let fields = Fields::new();
    let mut bytes = 0;
    while bytes < 64 << 20 && fields.append("x", &[b'x'; 1_000]).is_ok() {
        bytes += 1_000;
    }
    match bytes < 64 << 10 {
        true => String::from("worked: []"),
        false => format!("worked: {bytes} bytes of headers"),
    }
}

/// What could make one request two, or another one.
fn smuggle(target: &str) -> String {
    let fields = Fields::new();
    let mut worked = Vec::new();
    for (name, value) in [
        ("x", "a\r\nhost: evil"),
        ("x", "a\nhost: evil"),
        ("x", "a\0b"),
        ("x\r\nhost", "evil"),
        ("x y", "z"),
        ("", "z"),
        ("host", "evil"),
        ("HOST", "evil"),
        ("transfer-encoding", "chunked"),
        ("connection", "upgrade"),
        ("upgrade", "h2c"),
        ("http2-settings", "x"),
        ("keep-alive", "timeout=9999"),
        ("proxy-connection", "x"),
        ("proxy-authorization", "x"),
        ("authorization", "Bearer mine"),
    ] {
        if fields.append(name, value.as_bytes()).is_ok() {
            worked.push(format!("{name}: {value}"));
        }
    }
    let request = request(target);
    for path in [
        "/ HTTP/1.1\r\nHost: evil\r\n\r\nGET /",
        "/a b",
        "no-slash",
        "/\u{7f}",
    ] {
        if request.set_path_with_query(Some(path)).is_ok() {
            worked.push(path.to_owned());
        }
    }
    for method in ["GET / HTTP/1.1\r\nHost: evil\r\n\r\nGET", "G T", ""] {
        if request
            .set_method(&Method::Other(method.to_owned()))
            .is_ok()
        {
            worked.push(method.to_owned());
        }
    }
    for authority in ["evil\r\nhost: evil", "a b", "a/b"] {
        if request.set_authority(Some(authority)).is_ok() {
            worked.push(authority.to_owned());
        }
    }
    format!("worked: {worked:?}")
}
