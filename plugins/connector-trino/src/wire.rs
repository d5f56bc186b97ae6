//! What the server answers: one page of a statement.

use serde::Deserialize;
use serde_json::value::RawValue;

/// One answer of the protocol.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Page<'a> {
    pub(crate) id: String,
    /// Where the next answer is; none behind the last one.
    pub(crate) next_uri: Option<String>,
    pub(crate) columns: Option<Vec<WireColumn>>,
    /// An array of rows, or an object with segments.
    #[serde(borrow)]
    pub(crate) data: Option<&'a RawValue>,
    pub(crate) error: Option<Failure>,
}

/// A column of the result.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct WireColumn {
    pub(crate) name: String,
    /// As SQL writes it: `map(varchar(3), bigint)`.
    #[serde(rename = "type")]
    pub(crate) of: String,
}

/// Why a statement failed.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) error_name: String,
    /// `USER_ERROR`, `INTERNAL_ERROR`, `INSUFFICIENT_RESOURCES` or `EXTERNAL`.
    pub(crate) error_type: String,
    pub(crate) error_location: Option<ErrorLocation>,
}

/// A place in the statement, both from 1.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorLocation {
    pub(crate) line_number: u32,
    pub(crate) column_number: u32,
}

/// Rows that travel in pieces of their own.
#[derive(Debug, Deserialize)]
pub(crate) struct EncodedRows {
    pub(crate) encoding: String,
    pub(crate) segments: Vec<Segment>,
}

/// One piece.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Segment {
    /// The piece itself, in base64.
    Inline {
        data: String,
        metadata: SegmentMetadata,
    },
    /// Where the piece is.
    Spooled(SpooledSegment),
}

/// Where a piece is.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SpooledSegment {
    pub(crate) uri: String,
    /// What is asked for once the piece was read, so that the server removes it.
    pub(crate) ack_uri: Option<String>,
    pub(crate) metadata: SegmentMetadata,
    #[serde(default)]
    pub(crate) headers: std::collections::BTreeMap<String, Vec<String>>,
}

/// What a piece holds.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SegmentMetadata {
    pub(crate) rows_count: Option<u64>,
    /// In bytes, as it travels.
    pub(crate) segment_size: Option<u64>,
    /// In bytes; none if the piece is not compressed.
    pub(crate) uncompressed_size: Option<u64>,
}
