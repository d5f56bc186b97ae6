//! Pages that travel as files: from the server's answer, from the coordinator, or from its storage.

use std::collections::VecDeque;
use std::io::Read as _;
use std::time::Duration;

use base64::Engine as _;
use mindhost_sdk::http::{self, Request, Response};
use mindhost_sdk::{Error, ErrorKind, Result};

use crate::config::ConnectionData;
use crate::error::malformed;
use crate::http::{answer_or, headed, own, same_origin, send_with_repeats};
use crate::wire::{EncodedRows, Segment, SegmentMetadata, SpooledSegment};

/// The largest piece, as it travels and unpacked, in bytes.
const MAX_SEGMENT: u64 = 128 << 20;
/// Most pieces that one answer may name.
const MAX_SEGMENTS: usize = 10_000;
/// Most headers that a piece may be asked for with.
const MAX_HEADERS: usize = 16;
/// The headers that a piece may be asked for with begin so: keys of encryption, and whatever S3 has signed, such as
/// `x-amz-request-payer`. With any others, the server could say who asks its proxies, and by which method.
const HEADERS: [&str; 3] = ["x-amz-", "x-goog-encryption-", "x-ms-encryption-"];
/// How long the rows of a piece wait for the server to hear that it was read.
const ACKNOWLEDGEMENT: Duration = Duration::from_secs(2);

/// Pieces that are still to be read.
#[derive(Default)]
pub(crate) struct Segments {
    is_packed: bool,
    waiting: VecDeque<Segment>,
    /// No piece of the statement is acknowledged any more.
    is_silent: bool,
}

/// The rows of one piece.
#[derive(Debug)]
pub(crate) struct Piece {
    /// JSON.
    pub(crate) text: String,
    /// What the server says.
    pub(crate) rows_count: Option<u64>,
}

impl Segments {
    /// Takes the pieces of an answer.
    pub(crate) fn take(&mut self, text: &str) -> Result<()> {
        let encoded: EncodedRows =
            serde_json::from_str(text).map_err(|_| malformed("segments that cannot be read"))?;
        self.is_packed = match encoded.encoding.as_str() {
            "json" => false,
            "json+zstd" => true,
            _ => return Err(malformed("rows in an encoding that was not asked for")),
        };
        if encoded.segments.len() > MAX_SEGMENTS {
            return Err(malformed("too many segments in one answer"));
        }
        self.waiting.extend(encoded.segments);
        Ok(())
    }

    /// The rows of the next piece; `None` if there is none.
    pub(crate) fn next(&mut self, data: &ConnectionData) -> Result<Option<Piece>> {
        let Some(segment) = self.waiting.pop_front() else {
            return Ok(None);
        };
        let (bytes, about) = match &segment {
            Segment::Inline { data, metadata } => {
                let bytes = base64::engine::general_purpose::STANDARD.decode(data);
                let bytes = bytes.map_err(|_| malformed("a segment that is not base64"))?;
                (bytes, metadata)
            }
            Segment::Spooled(spooled) => (fetch(data, spooled)?, &spooled.metadata),
        };
        let text = unpacked(bytes, *about, self.is_packed)?;
        match &segment {
            // The server removes a piece in any case, later. If it does not answer to one, the rows do not wait again.
            Segment::Spooled(spooled) if !self.is_silent => {
                self.is_silent = acknowledge(data, spooled).is_err();
            }
            _ => {}
        }
        Ok(Some(Piece {
            text,
            rows_count: about.rows_count,
        }))
    }
}

/// Where a piece is fetched from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The coordinator, which wants to know who asks. It may name the storage in a redirect.
    Coordinator,
    /// The origin of `segments_url`. Its URLs are signed, and no credential is sent.
    Storage,
}

impl Place {
    /// # Errors
    /// `InvalidConfig` for every other place.
    fn of(url: &str, data: &ConnectionData) -> Result<Self> {
        let is_storage = data
            .segments_url
            .as_deref()
            .is_some_and(|storage| same_origin(storage, url) && !same_origin(data.base(), storage));
        if is_storage {
            return Ok(Self::Storage);
        }
        own(data, url).map(|()| Self::Coordinator).map_err(|_| {
            Error::invalid_config(
                "spooled results are at a place that the connection data does not name; set `segments_url` to the \
                 storage, or protocol.spooling.retrieval-mode=COORDINATOR_PROXY at the server, or leave out `spooling`",
            )
        })
    }
}

/// What Trino answers if a piece is elsewhere (`COORDINATOR_STORAGE_REDIRECT` and `WORKER_PROXY`).
const SEE_OTHER: u16 = 303;

fn fetch(data: &ConnectionData, spooled: &SpooledSegment) -> Result<Vec<u8>> {
    let size = spooled.metadata.segment_size.unwrap_or(MAX_SEGMENT);
    if size > MAX_SEGMENT {
        return Err(too_large(size));
    }
    let mut response = match Place::of(&spooled.uri, data)? {
        Place::Storage => stored(&spooled.uri, spooled)?,
        Place::Coordinator => {
            let request = with_headers(Request::get(spooled.uri.as_str()), spooled)?;
            let response = answer_or(&headed(data, request), &[SEE_OTHER])?;
            match response.status {
                SEE_OTHER => stored(redirected(&response, data)?, spooled)?,
                _ => response,
            }
        }
    };
    let limit = usize::try_from(MAX_SEGMENT).unwrap_or(usize::MAX);
    response.body.read_to_end(limit)
}

/// The storage that the coordinator names in place of a piece. One redirect is followed, and never to the coordinator.
fn redirected<'a>(response: &'a Response, data: &ConnectionData) -> Result<&'a str> {
    let place = response.header("location").unwrap_or_default();
    match Place::of(place, data)? {
        Place::Storage => Ok(place),
        Place::Coordinator => Err(malformed(
            "a redirect of a segment to the coordinator itself",
        )),
    }
}

/// Fetches a piece from the storage.
fn stored(url: &str, spooled: &SpooledSegment) -> Result<Response> {
    let response = send_with_repeats(&with_headers(Request::get(url), spooled)?)?;
    match response.status {
        200 => Ok(response),
        status => Err(Error::new(
            ErrorKind::Upstream,
            format!("the storage of spooled results answered with HTTP status {status}"),
        )),
    }
}

/// Tells the server once that a piece was read. It wants the headers of an encrypted one here too.
fn acknowledge(data: &ConnectionData, spooled: &SpooledSegment) -> Result<()> {
    let Some(url) = &spooled.ack_uri else {
        return Ok(());
    };
    own(data, url)?;
    let request = with_headers(Request::get(url.as_str()), spooled)?;
    let request = Request {
        connect_timeout: ACKNOWLEDGEMENT,
        first_byte_timeout: ACKNOWLEDGEMENT,
        ..headed(data, request)
    };
    match http::send(&request)?.status {
        200 | 204 => Ok(()),
        _ => Err(malformed("a refusal of an acknowledgement")),
    }
}

fn with_headers(mut request: Request, spooled: &SpooledSegment) -> Result<Request> {
    if spooled.headers.len() > MAX_HEADERS {
        return Err(malformed("too many headers for a segment"));
    }
    for (name, values) in &spooled.headers {
        let lower = name.to_ascii_lowercase();
        if !HEADERS.iter().any(|start| lower.starts_with(start)) {
            continue;
        }
        for value in values {
            request = request.header(name, value);
        }
    }
    Ok(request)
}

/// The JSON of a piece. A piece is packed only if it says how large it is unpacked: small ones are not.
fn unpacked(bytes: Vec<u8>, about: SegmentMetadata, is_packed: bool) -> Result<String> {
    let not_text = |_| malformed("a segment that is not text");
    let size = match (about.uncompressed_size, is_packed) {
        (Some(size), true) => size,
        _ => return String::from_utf8(bytes).map_err(not_text),
    };
    if size > MAX_SEGMENT {
        return Err(too_large(size));
    }
    let broken = |_| malformed("a segment that cannot be unpacked");
    let decoder = zstd::stream::read::Decoder::new(bytes.as_slice()).map_err(broken)?;
    let mut text = Vec::new();
    decoder
        .take(size + 1)
        .read_to_end(&mut text)
        .map_err(broken)?;
    if text.len() as u64 != size {
        return Err(malformed("a segment of another size than it says"));
    }
    String::from_utf8(text).map_err(not_text)
}

fn too_large(size: u64) -> Error {
    let message = format!("a segment has {size} bytes; at most {MAX_SEGMENT} are allowed");
    Error::new(ErrorKind::TooLarge, message)
}

#[cfg(test)]
mod tests {
    use mindhost_sdk::testing::stand_in;

    use super::*;

    fn data() -> ConnectionData {
        ConnectionData {
            url: "http://localhost:8080".into(),
            user: "app".into(),
            catalog: "tpch".into(),
            schemas: Vec::new(),
            session_properties: Default::default(),
            roles: Default::default(),
            spooling: true,
            segments_url: None,
        }
    }

    fn inline(encoding: &str, bytes: &[u8], size: Option<usize>) -> Result<String> {
        let piece = base64::engine::general_purpose::STANDARD.encode(bytes);
        let mut metadata = serde_json::json!({"segmentSize": bytes.len(), "rowsCount": 1});
        if let Some(size) = size {
            metadata["uncompressedSize"] = size.into();
        }
        let answer = serde_json::json!({"encoding": encoding, "metadata": {},
            "segments": [{"type": "inline", "data": piece, "metadata": metadata}]});
        let mut segments = Segments::default();
        segments.take(&answer.to_string())?;
        let piece = segments.next(&data())?.expect("one piece");
        assert_eq!(piece.rows_count, Some(1));
        Ok(piece.text)
    }

    const STORAGE: &str = "http://bucket.example.org";

    /// The pieces `1` and `2`, which are at `origin`.
    fn spooled(origin: &str) -> Segments {
        let piece = |number: u32| {
            serde_json::json!({"type": "spooled", "uri": format!("{origin}/v1/spooled/download/{number}"),
                "ackUri": format!("http://localhost:8080/v1/spooled/ack/{number}"),
                "metadata": {"segmentSize": 5, "rowsCount": 1}})
        };
        let answer = serde_json::json!({"encoding": "json", "segments": [piece(1), piece(2)]});
        let mut segments = Segments::default();
        segments.take(&answer.to_string()).unwrap();
        segments
    }

    fn said(status: u16, text: &str) -> Response {
        Response::scripted(status, vec![Ok(text.as_bytes().to_vec())])
    }

    fn texts(segments: &mut Segments, data: &ConnectionData) -> Result<Vec<String>> {
        let pieces = std::iter::from_fn(|| segments.next(data).transpose());
        pieces.map(|piece| piece.map(|piece| piece.text)).collect()
    }

    #[test]
    fn pieces_are_unpacked() {
        let rows = "[[1],[2]]";
        let packed = zstd::encode_all(rows.as_bytes(), 1).unwrap();
        assert_eq!(inline("json", rows.as_bytes(), None).unwrap(), rows);
        assert_eq!(inline("json+zstd", rows.as_bytes(), None).unwrap(), rows);
        assert_eq!(
            inline("json+zstd", &packed, Some(rows.len())).unwrap(),
            rows
        );
    }

    #[test]
    fn lies_about_pieces_are_refused() {
        let packed = zstd::encode_all(&[b' '; 10_000][..], 1).unwrap();
        assert!(inline("json+zstd", &packed, Some(9_999)).is_err());
        assert!(inline("json+zstd", &packed, Some(10_001)).is_err());
        assert!(inline("json+zstd", &packed, Some(usize::MAX)).is_err());
        assert!(inline("json+zstd", b"x", Some(1)).is_err());
        assert!(inline("json+lz4", b"[]", None).is_err());
        assert!(inline("json", &[255], None).is_err());
    }

    #[test]
    fn rows_do_not_wait_twice_for_an_acknowledgement() {
        let ended: [fn() -> Result<Response>; 3] = [
            || Ok(said(503, "")),
            || Err(Error::timeout("the head of the answer took too long")),
            || Ok(said(404, "")),
        ];
        for acknowledged in ended {
            let host = stand_in(move |request| match request.url.contains("/ack/") {
                true => acknowledged(),
                false => Ok(said(200, "[[1]]")),
            });
            let mut segments = spooled("http://localhost:8080");
            assert_eq!(texts(&mut segments, &data()).unwrap(), ["[[1]]", "[[1]]"]);
            let requests = host.requests().into_iter();
            let sent: Vec<_> = requests.filter(|one| one.url.contains("/ack/")).collect();
            assert_eq!(sent.len(), 1, "{sent:?}");
            assert!(sent[0].url.ends_with("/ack/1"));
            let limits = (sent[0].connect_timeout, sent[0].first_byte_timeout);
            assert_eq!(limits, (ACKNOWLEDGEMENT, ACKNOWLEDGEMENT));
        }
    }

    #[test]
    fn every_piece_is_acknowledged() {
        let host = stand_in(|request| match request.url.contains("/ack/") {
            true => Ok(said(200, "")),
            false => Ok(said(200, "[[1]]")),
        });
        texts(&mut spooled("http://localhost:8080"), &data()).unwrap();
        let requests = host.requests().into_iter();
        let sent: Vec<_> = requests
            .map(|one| one.url)
            .filter(|url| url.contains("/ack/"))
            .collect();
        let acknowledgement = |number| format!("http://localhost:8080/v1/spooled/ack/{number}");
        assert_eq!(sent, [1, 2].map(acknowledgement));
    }

    #[test]
    fn a_busy_storage_is_asked_again() {
        let mut data = data();
        data.segments_url = Some(STORAGE.into());
        let mut busy = [503, 429, 503].into_iter();
        let host = stand_in(move |request| match request.url.starts_with(STORAGE) {
            true => Ok(busy
                .next()
                .map_or_else(|| said(200, "[[1]]"), |status| said(status, ""))),
            false => Ok(said(200, "")),
        });
        assert_eq!(
            texts(&mut spooled(STORAGE), &data).unwrap(),
            ["[[1]]", "[[1]]"]
        );
        let requests = host.requests().into_iter();
        assert_eq!(
            requests.filter(|one| one.url.starts_with(STORAGE)).count(),
            5
        );
        assert_eq!(host.slept().len(), 3);
    }

    #[test]
    fn a_storage_that_stays_busy_or_refuses_is_named() {
        let mut data = data();
        data.segments_url = Some(STORAGE.into());
        for (status, times) in [(503, 20), (403, 1)] {
            let host = stand_in(move |_| Ok(said(status, "<Error/>")));
            let error = texts(&mut spooled(STORAGE), &data).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Upstream);
            let words =
                format!("the storage of spooled results answered with HTTP status {status}");
            assert_eq!(error.message(), words);
            assert_eq!(host.requests().len(), times);
        }
    }

    /// Trino writes those of the three storages, and what S3 has signed.
    #[test]
    fn the_server_chooses_no_header_but_those_of_its_storages() {
        let taken = [
            "x-amz-server-side-encryption-customer-algorithm",
            "x-amz-server-side-encryption-customer-key",
            "x-amz-server-side-encryption-customer-key-MD5",
            "x-amz-request-payer",
            "x-goog-encryption-key",
            "x-goog-encryption-key-sha256",
            "X-MS-Encryption-Key",
        ];
        let dropped = [
            "x-trino-user",
            "X-Trino-Role",
            "x-http-method-override",
            "x-forwarded-for",
            "x-amzn-oidc-identity",
            "authorization",
            "host",
        ];
        let all = taken.iter().chain(&dropped);
        let headers: serde_json::Map<_, _> = all
            .map(|name| ((*name).to_owned(), serde_json::json!(["v"])))
            .collect();
        let piece = serde_json::json!({"uri": STORAGE, "metadata": {}, "headers": headers});
        let piece: SpooledSegment = serde_json::from_value(piece).unwrap();
        let request = with_headers(Request::get(STORAGE), &piece).unwrap();
        let mut sent: Vec<_> = request
            .headers
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        sent.sort_unstable();
        let mut taken = taken.to_vec();
        taken.sort_unstable();
        assert_eq!(sent, taken);
    }

    #[test]
    fn a_piece_of_elsewhere_is_not_fetched() {
        let answer = r#"{"encoding": "json", "segments": [{"type": "spooled", "uri": "http://evil.example.org/x",
            "metadata": {"segmentSize": 5}}]}"#;
        let mut segments = Segments::default();
        segments.take(answer).unwrap();
        let error = segments.next(&data()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        assert!(!error.message().contains("evil"));
    }

    #[test]
    fn redirect_is_followed_to_the_storage_alone() {
        let mut data = data();
        let to = |url: &str| Response::scripted(303, Vec::new()).with_header("location", url);
        let bucket = "http://bucket.example.org/x?signature=1";
        assert!(redirected(&to(bucket), &data).is_err());
        data.segments_url = Some("http://bucket.example.org".into());
        assert_eq!(redirected(&to(bucket), &data).unwrap(), bucket);
        for elsewhere in [
            "http://evil.example.org/x",
            "https://bucket.example.org/x",
            "http://bucket.example.org:8080/x",
            "http://localhost:8080/v1/spooled/download/x",
            "/v1/spooled/download/x",
            "",
        ] {
            assert!(redirected(&to(elsewhere), &data).is_err(), "{elsewhere}");
        }
    }
}
