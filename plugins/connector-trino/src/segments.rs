//! Pages that travel as files: from the server's answer, from the coordinator, or from its storage.

use std::collections::VecDeque;
use std::io::Read as _;

use base64::Engine as _;
use mindhost_sdk::http::{self, Request};
use mindhost_sdk::{Error, ErrorKind, Result};

use crate::config::ConnectionData;
use crate::error::malformed;
use crate::http::{answer, headed, own, same_origin};
use crate::wire::{EncodedRows, Segment, SegmentMetadata, SpooledSegment};

/// The largest piece, as it travels and unpacked, in bytes.
const MAX_SEGMENT: u64 = 128 << 20;
/// Most pieces that one answer may name.
const MAX_SEGMENTS: usize = 10_000;
/// Most headers that a piece may be asked for with.
const MAX_HEADERS: usize = 16;

/// Pieces that are still to be read.
#[derive(Default)]
pub(crate) struct Segments {
    is_packed: bool,
    waiting: VecDeque<Segment>,
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

    /// The rows of the next piece, as JSON; `None` if there is none.
    pub(crate) fn next(&mut self, data: &ConnectionData) -> Result<Option<String>> {
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
        if let Segment::Spooled(SpooledSegment {
            ack_uri: Some(ack), ..
        }) = &segment
        {
            // The server removes it in any case, later.
            if own(data, ack).is_ok() {
                let _ = answer(&headed(data, Request::get(ack.as_str())));
            }
        }
        Ok(Some(text))
    }
}

/// Fetches a piece from the coordinator, which wants to know who asks, or from the storage, whose URL is signed.
fn fetch(data: &ConnectionData, spooled: &SpooledSegment) -> Result<Vec<u8>> {
    let size = spooled.metadata.segment_size.unwrap_or(MAX_SEGMENT);
    if size > MAX_SEGMENT {
        return Err(too_large(size));
    }
    let request = Request::get(spooled.uri.as_str());
    let is_stored = data
        .segments_url
        .as_deref()
        .is_some_and(|url| same_origin(url, &spooled.uri) && !same_origin(data.base(), url));
    let request = if is_stored {
        with_headers(request, spooled)?
    } else {
        own(data, &spooled.uri).map_err(|_| {
            Error::invalid_config(
                "spooled results are at a place that the connection data does not name; set `segments_url` to the \
                 storage, or protocol.spooling.retrieval-mode=COORDINATOR_PROXY at the server, or leave out `spooling`",
            )
        })?;
        headed(data, with_headers(request, spooled)?)
    };
    let mut response = match is_stored {
        false => answer(&request)?,
        true => http::send(&request)?,
    };
    if response.status != 200 {
        let message = format!("the storage answered with HTTP status {}", response.status);
        return Err(Error::new(ErrorKind::Upstream, message));
    }
    let limit = usize::try_from(MAX_SEGMENT).unwrap_or(usize::MAX);
    response.body.read_to_end(limit)
}

fn with_headers(mut request: Request, spooled: &SpooledSegment) -> Result<Request> {
    if spooled.headers.len() > MAX_HEADERS {
        return Err(malformed("too many headers for a segment"));
    }
    for (name, values) in &spooled.headers {
        // Those of a storage's encryption; the host refuses those that are its own.
        if !name.to_ascii_lowercase().starts_with("x-") {
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
        segments.next(&data()).map(|text| text.unwrap_or_default())
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
    fn a_piece_of_elsewhere_is_not_fetched() {
        let answer = r#"{"encoding": "json", "segments": [{"type": "spooled", "uri": "http://evil.example.org/x",
            "metadata": {"segmentSize": 5}}]}"#;
        let mut segments = Segments::default();
        segments.take(answer).unwrap();
        let error = segments.next(&data()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        assert!(!error.message().contains("evil"));
    }
}
