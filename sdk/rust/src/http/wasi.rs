//! Requests over `wasi:http`, without a reactor: every wait is one poll of what is waited for, the host's wish to
//! cancel, and a timer.

use std::time::Duration;

use wasip2::clocks::monotonic_clock;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingBody, IncomingResponse, Method,
    OutgoingBody, OutgoingRequest, RequestOptions, Scheme, http_error_code,
};
use wasip2::io::poll::{Pollable, poll};
use wasip2::io::streams::{InputStream, OutputStream, StreamError};

use super::{Body, Request, Response, Source, Url};
use crate::control;
use crate::error::{Error, ErrorKind, Result};

/// Bytes that one read takes at most.
const READ: u64 = 64 * 1024;

pub(super) fn send(request: &Request, url: &Url) -> Result<Response> {
    control::check()?;
    let outgoing = head(request, url)?;
    let body = outgoing
        .body()
        .map_err(|()| Error::internal("the request has no body to write"))?;
    let response =
        outgoing_handler::handle(outgoing, Some(options(request))).map_err(|code| failed(&code))?;
    write(body, request)?;
    let incoming = wait_for_head(&response, request.first_byte_timeout)?;
    read_head(incoming, request.between_bytes_timeout)
}

fn head(request: &Request, url: &Url) -> Result<OutgoingRequest> {
    let mut headers: Vec<(String, Vec<u8>)> = request
        .headers
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value.clone().into_bytes()))
        .collect();
    // Without a length an empty body would be sent in chunks, which not every server reads.
    if !request.body.is_empty() || request.method == "POST" {
        headers.push((
            "content-length".into(),
            request.body.len().to_string().into_bytes(),
        ));
    }
    let fields = Fields::from_list(&headers)
        .map_err(|error| Error::invalid_config(format!("a header cannot be sent: {error}")))?;
    let outgoing = OutgoingRequest::new(fields);
    let method = match request.method {
        "GET" => Method::Get,
        "POST" => Method::Post,
        other => Method::Other(other.to_owned()),
    };
    let scheme = if url.https {
        Scheme::Https
    } else {
        Scheme::Http
    };
    outgoing
        .set_method(&method)
        .and_then(|()| outgoing.set_scheme(Some(&scheme)))
        .and_then(|()| outgoing.set_authority(Some(&url.authority)))
        .and_then(|()| outgoing.set_path_with_query(Some(&url.path_and_query)))
        .map_err(|()| Error::invalid_config("the URL is not one that can be requested"))?;
    Ok(outgoing)
}

/// The host's own timers. One that it refuses is left to its default; ours hold in any case.
fn options(request: &Request) -> RequestOptions {
    let options = RequestOptions::new();
    let _ = options.set_connect_timeout(Some(nanoseconds(request.connect_timeout)));
    let _ = options.set_first_byte_timeout(Some(nanoseconds(request.first_byte_timeout)));
    let _ = options.set_between_bytes_timeout(Some(nanoseconds(request.between_bytes_timeout)));
    options
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Writes the body. A peer that answers before it read everything is no error: its answer says what is wrong.
fn write(body: OutgoingBody, request: &Request) -> Result<()> {
    let stream = body
        .write()
        .map_err(|()| Error::internal("the request's body cannot be written"))?;
    let complete = write_all(&stream, &request.body, request.between_bytes_timeout)?;
    // The stream is a child of the body, and must be gone before it.
    drop(stream);
    if complete {
        // What is wrong with the request is told with the response.
        let _ = OutgoingBody::finish(body, None);
    }
    Ok(())
}

fn write_all(stream: &OutputStream, mut rest: &[u8], timeout: Duration) -> Result<bool> {
    while !rest.is_empty() {
        match stream.check_write() {
            Ok(0) => {
                let ready = stream.subscribe();
                wait(&ready, timeout, "the request was not taken")?;
            }
            Ok(room) => {
                let (now, later) =
                    rest.split_at(rest.len().min(usize::try_from(room).unwrap_or(usize::MAX)));
                if stream.write(now).is_err() {
                    return Ok(false);
                }
                rest = later;
            }
            Err(_) => return Ok(false),
        }
    }
    Ok(stream.flush().is_ok())
}

fn wait_for_head(response: &FutureIncomingResponse, timeout: Duration) -> Result<IncomingResponse> {
    let ready = response.subscribe();
    loop {
        match response.get() {
            Some(Ok(Ok(incoming))) => return Ok(incoming),
            Some(Ok(Err(code))) => return Err(failed(&code)),
            Some(Err(())) => return Err(Error::internal("the response was taken twice")),
            None => wait(&ready, timeout, "no answer came")?,
        }
    }
}

fn read_head(incoming: IncomingResponse, timeout: Duration) -> Result<Response> {
    let status = incoming.status();
    let headers = incoming.headers().entries();
    let text = |value: Vec<u8>| String::from_utf8_lossy(&value).into_owned();
    let headers = headers
        .into_iter()
        .map(|(name, value)| (name, text(value)))
        .collect();
    let body = incoming
        .consume()
        .map_err(|()| Error::internal("the response has no body to read"))?;
    let stream = body
        .stream()
        .map_err(|()| Error::internal("the response's body cannot be read"))?;
    let source = Stream {
        stream,
        _body: body,
        _response: incoming,
        timeout,
        ended: false,
    };
    Ok(Response {
        status,
        headers,
        body: Body(Box::new(source)),
    })
}

/// A body on its way. The order of the fields is the order in which they are dropped: children first.
struct Stream {
    stream: InputStream,
    _body: IncomingBody,
    _response: IncomingResponse,
    timeout: Duration,
    ended: bool,
}

impl Source for Stream {
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            if self.ended {
                return Ok(None);
            }
            // Bytes that are there are handed on before any question to the host.
            match self.stream.read(READ) {
                Ok(piece) if !piece.is_empty() => return Ok(Some(piece)),
                Ok(_) => {
                    let ready = self.stream.subscribe();
                    wait(&ready, self.timeout, "the answer fell silent")?;
                }
                Err(StreamError::Closed) => self.ended = true,
                Err(StreamError::LastOperationFailed(error)) => {
                    self.ended = true;
                    return Err(match http_error_code(&error) {
                        Some(code) => broken(&code),
                        None => Error::new(ErrorKind::ConnectionLost, "the answer broke off"),
                    });
                }
            }
        }
    }
}

/// Waits until `ready`, but not longer than the timeout, the host's deadline and the host's patience.
fn wait(ready: &Pollable, timeout: Duration, what: &str) -> Result<()> {
    let limit = timeout.min(control::remaining());
    let timer = monotonic_clock::subscribe_duration(nanoseconds(limit));
    let cancelled = control::cancelled();
    let woken = poll(&[ready, &cancelled, &timer]);
    if woken.contains(&1) {
        return Err(Error::cancelled());
    }
    if woken.contains(&0) {
        return Ok(());
    }
    Err(Error::timeout(format!(
        "{what} within {} ms",
        limit.as_millis()
    )))
}

/// An error in the middle of a body: the connection is what broke, unless the code says more.
fn broken(code: &ErrorCode) -> Error {
    let error = failed(code);
    match error.kind() {
        ErrorKind::Upstream | ErrorKind::Unreachable => Error::new(
            ErrorKind::ConnectionLost,
            format!("the answer broke off: {}", error.message()),
        ),
        _ => error,
    }
}

fn failed(code: &ErrorCode) -> Error {
    use ErrorCode as Code;
    let (kind, message) = match code {
        Code::DnsTimeout | Code::DnsError(_) | Code::DestinationNotFound => (
            ErrorKind::Unreachable,
            "the host name could not be resolved",
        ),
        Code::DestinationUnavailable
        | Code::DestinationIpUnroutable
        | Code::ConnectionLimitReached => {
            (ErrorKind::Unreachable, "the server could not be reached")
        }
        Code::ConnectionRefused => (ErrorKind::Unreachable, "the server refused the connection"),
        Code::DestinationIpProhibited | Code::HttpRequestDenied => (
            ErrorKind::Denied,
            "the host does not allow a connection to this address",
        ),
        Code::ConnectionTimeout => (ErrorKind::Timeout, "the connection was not made in time"),
        Code::ConnectionReadTimeout | Code::ConnectionWriteTimeout | Code::HttpResponseTimeout => {
            (ErrorKind::Timeout, "the server did not answer in time")
        }
        Code::TlsProtocolError | Code::TlsAlertReceived(_) => {
            (ErrorKind::Tls, "the TLS handshake failed")
        }
        Code::TlsCertificateError => (ErrorKind::Tls, "the server's certificate was not accepted"),
        Code::ConnectionTerminated | Code::HttpResponseIncomplete => (
            ErrorKind::ConnectionLost,
            "the connection broke before the answer was whole",
        ),
        Code::HttpRequestBodySize(_)
        | Code::HttpRequestHeaderSectionSize(_)
        | Code::HttpRequestHeaderSize(_) => (ErrorKind::TooLarge, "the request is too large"),
        Code::HttpRequestMethodInvalid
        | Code::HttpRequestUriInvalid
        | Code::HttpRequestUriTooLong => (ErrorKind::InvalidConfig, "the URL cannot be requested"),
        Code::HttpResponseBodySize(_)
        | Code::HttpResponseHeaderSectionSize(_)
        | Code::HttpResponseHeaderSize(_) => (ErrorKind::TooLarge, "the answer is too large"),
        _ => (
            ErrorKind::Upstream,
            "the server's answer is not proper HTTP",
        ),
    };
    Error::new(kind, message)
}
