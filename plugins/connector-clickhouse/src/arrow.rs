//! The format `ArrowStream`: messages, cut out of a body and checked before anything in them is believed.
//!
//! Only the headers are read with a library. The values stay in the body of their message, in buffers that are checked
//! once for each message; [`crate::cells`] reads them there.

use std::ops::Range;

use arrow_ipc::{Buffer, FieldNode, MessageHeader, MetadataVersion, root_as_message};
use mindhost_sdk::http::Body;
use mindhost_sdk::{Error, ErrorKind, Result};

use crate::error::{Exception, malformed};

/// Bytes that begin a message, before its length.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// The longest header: a few hundred bytes a column.
const MAX_HEADER: usize = 4 << 20;
/// The longest body. The connector asks for blocks of 8,192 rows.
const MAX_BODY: usize = 192 << 20;
/// How much of an exception is read.
const MAX_EXCEPTION: usize = 64 << 10;
/// A server may not send more rows in one message.
const MAX_ROWS: usize = 16 << 20;

/// What a column of the stream is, physically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Physical {
    Null,
    Bool,
    Int {
        bytes: usize,
        signed: bool,
    },
    Float32,
    Float64,
    /// Little-endian, of 16 or 32 bytes.
    Decimal {
        bytes: usize,
        scale: usize,
    },
    /// Of any length; the offsets have 4 bytes.
    Bytes,
    Fixed(usize),
    Days,
    /// So many in a second.
    Timestamp(i64),
}

/// One column of one message: where its parts are in the body.
#[derive(Clone, Debug)]
pub(crate) struct ColumnBuffers {
    /// One bit a row; `None` if no row is NULL.
    pub(crate) validity: Option<Range<usize>>,
    /// The beginnings of values of any length.
    pub(crate) offsets: Range<usize>,
    pub(crate) values: Range<usize>,
}

/// The rows of one message.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) body: Vec<u8>,
    pub(crate) buffers: Vec<ColumnBuffers>,
    pub(crate) count: usize,
}

/// Cuts messages out of a body.
pub(crate) struct Messages {
    body: Body,
    buffer: Vec<u8>,
    ended: bool,
    /// How many characters before the statement are not the caller's.
    before: u32,
}

impl Messages {
    pub(crate) fn new(body: Body, before: u32) -> Self {
        Self {
            body,
            buffer: Vec::new(),
            ended: false,
            before,
        }
    }

    /// The columns: name and physical type.
    ///
    /// # Errors
    /// The server's exception, `Upstream` for what is not a schema that this plugin reads.
    pub(crate) fn schema(&mut self) -> Result<Vec<(String, Physical)>> {
        let header = self
            .header()?
            .ok_or_else(|| malformed("a result without columns"))?;
        let message = root_as_message(&header).map_err(|_| bad("header"))?;
        let schema = message
            .header_as_schema()
            .ok_or_else(|| bad("first message"))?;
        if message.bodyLength() != 0 || message.version() < MetadataVersion::V4 {
            return Err(bad("schema"));
        }
        let fields = schema.fields().ok_or_else(|| bad("schema"))?;
        fields
            .iter()
            .map(|field| {
                Ok((
                    field.name().unwrap_or_default().to_owned(),
                    physical(&field)?,
                ))
            })
            .collect()
    }

    /// The rows of the next message; `None` at the end of the stream.
    ///
    /// # Errors
    /// As [`Messages::schema`], and `ConnectionLost` for a stream without its end.
    pub(crate) fn rows(&mut self, columns: &[Physical]) -> Result<Option<Rows>> {
        let Some(header) = self.header()? else {
            return Ok(None);
        };
        let message = root_as_message(&header).map_err(|_| bad("header"))?;
        if message.header_type() != MessageHeader::RecordBatch {
            return Err(bad("message that is not one of rows"));
        }
        let batch = message
            .header_as_record_batch()
            .ok_or_else(|| bad("header"))?;
        let length = usize::try_from(message.bodyLength())
            .ok()
            .filter(|length| *length <= MAX_BODY);
        let Some(length) = length else {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!("the server sends more than {MAX_BODY} bytes at once; select fewer or shorter columns"),
            )
            .connection_usable(true));
        };
        if batch.compression().is_some() {
            return Err(bad("compressed message"));
        }
        let count = usize::try_from(batch.length())
            .ok()
            .filter(|count| *count <= MAX_ROWS);
        let count = count.ok_or_else(|| bad("number of rows"))?;
        let body = self.take(length)?;
        let parts = Parts {
            nodes: batch
                .nodes()
                .map(|nodes| nodes.iter().copied().collect())
                .unwrap_or_default(),
            buffers: batch
                .buffers()
                .map(|buffers| buffers.iter().copied().collect())
                .unwrap_or_default(),
            body: &body,
            count,
        };
        let buffers = parts.buffers(columns)?;
        Ok(Some(Rows {
            body,
            buffers,
            count,
        }))
    }

    /// The header of the next message; `None` at the end of the stream.
    fn header(&mut self) -> Result<Option<Vec<u8>>> {
        if !self.has(8)? {
            return self.no_message();
        }
        let Some((CONTINUATION, rest)) = self
            .buffer
            .split_first_chunk::<4>()
            .map(|(first, rest)| (*first, rest))
        else {
            return self.no_message();
        };
        let length = rest
            .first_chunk::<4>()
            .map_or(-1, |length| i32::from_le_bytes(*length));
        let length = usize::try_from(length)
            .ok()
            .filter(|length| *length <= MAX_HEADER);
        let length = length.ok_or_else(|| bad("length of a header"))?;
        self.buffer.drain(..8);
        if length == 0 {
            return Ok(None);
        }
        self.take(length).map(Some)
    }

    /// The next bytes of a message.
    fn take(&mut self, length: usize) -> Result<Vec<u8>> {
        if !self.has(length)? {
            return self.no_message::<Vec<u8>>().map(Option::unwrap_or_default);
        }
        // What was read ahead is small, so that it is copied and not the message.
        let rest = self.buffer.split_off(length);
        Ok(std::mem::replace(&mut self.buffer, rest))
    }

    /// Reads on until there are so many bytes. False at the end of the body.
    fn has(&mut self, length: usize) -> Result<bool> {
        while self.buffer.len() < length && !self.ended {
            match self.body.read() {
                Ok(Some(piece)) => self.buffer.extend_from_slice(&piece),
                Ok(None) => self.ended = true,
                Err(error) => return Err(self.told(error)),
            }
        }
        Ok(self.buffer.len() >= length)
    }

    /// What stands where a message should begin, or go on: an exception, or nothing that can be read.
    fn no_message<T>(&mut self) -> Result<Option<T>> {
        self.has(MAX_EXCEPTION)?;
        match self.buffer.is_empty() {
            true => Err(Error::new(
                ErrorKind::ConnectionLost,
                "the result has no end",
            )),
            false => Err(self.told(bad("message"))),
        }
    }

    /// The server's exception if there is one in what was received last, else the given error.
    fn told(&self, error: Error) -> Error {
        let from = self.buffer.len().saturating_sub(MAX_EXCEPTION);
        let rest = self.buffer.get(from..).unwrap_or_default();
        Exception::find(rest).map_or(error, |exception| exception.into_error(self.before))
    }
}

fn bad(what: &str) -> Error {
    malformed(&format!("a {what} that Arrow's format does not allow"))
}

fn physical(field: &arrow_ipc::Field<'_>) -> Result<Physical> {
    use arrow_ipc::{DateUnit, Precision, TimeUnit, Type};
    let unknown = || {
        malformed(&format!(
            "column `{}` in an unexpected form",
            field.name().unwrap_or_default()
        ))
    };
    if field.dictionary().is_some() {
        return Err(unknown());
    }
    let physical = match field.type_type() {
        Type::Null => Some(Physical::Null),
        Type::Bool => Some(Physical::Bool),
        Type::Int => field.type_as_int().and_then(|int| {
            let bits = usize::try_from(int.bitWidth()).ok()?;
            matches!(bits, 8 | 16 | 32 | 64).then(|| Physical::Int {
                bytes: bits / 8,
                signed: int.is_signed(),
            })
        }),
        Type::FloatingPoint => {
            field
                .type_as_floating_point()
                .and_then(|float| match float.precision() {
                    Precision::SINGLE => Some(Physical::Float32),
                    Precision::DOUBLE => Some(Physical::Float64),
                    _ => None,
                })
        }
        Type::Decimal => field.type_as_decimal().and_then(|decimal| {
            let bits = usize::try_from(decimal.bitWidth()).ok()?;
            let scale = usize::try_from(decimal.scale())
                .ok()
                .filter(|scale| *scale <= 76)?;
            matches!(bits, 128 | 256).then(|| Physical::Decimal {
                bytes: bits / 8,
                scale,
            })
        }),
        Type::Utf8 | Type::Binary => Some(Physical::Bytes),
        Type::FixedSizeBinary => field.type_as_fixed_size_binary().and_then(|fixed| {
            let width = usize::try_from(fixed.byteWidth())
                .ok()
                .filter(|width| *width <= MAX_BODY)?;
            Some(Physical::Fixed(width))
        }),
        Type::Date => field
            .type_as_date()
            .and_then(|date| (date.unit() == DateUnit::DAY).then_some(Physical::Days)),
        Type::Timestamp => field
            .type_as_timestamp()
            .and_then(|timestamp| match timestamp.unit() {
                TimeUnit::SECOND => Some(Physical::Timestamp(1)),
                TimeUnit::MILLISECOND => Some(Physical::Timestamp(1_000)),
                TimeUnit::MICROSECOND => Some(Physical::Timestamp(1_000_000)),
                TimeUnit::NANOSECOND => Some(Physical::Timestamp(1_000_000_000)),
                _ => None,
            }),
        _ => None,
    };
    physical.ok_or_else(unknown)
}

/// What a header says of the body behind it.
struct Parts<'b> {
    nodes: Vec<FieldNode>,
    buffers: Vec<Buffer>,
    body: &'b [u8],
    count: usize,
}

impl Parts<'_> {
    /// Where the columns are, with everything checked that is needed to read a row of any of them.
    fn buffers(&self, columns: &[Physical]) -> Result<Vec<ColumnBuffers>> {
        if self.nodes.len() != columns.len() {
            return Err(bad("number of columns"));
        }
        let mut buffers = self.buffers.iter();
        let mut next = || self.range(buffers.next());
        let mut buffers = Vec::with_capacity(columns.len());
        for (node, column) in self.nodes.iter().zip(columns) {
            if usize::try_from(node.length()) != Ok(self.count) {
                return Err(bad("length of a column"));
            }
            buffers.push(match column {
                Physical::Null => ColumnBuffers {
                    validity: None,
                    offsets: 0..0,
                    values: 0..0,
                },
                _ => self.buffers_of(*column, node.null_count() != 0, &mut next)?,
            });
        }
        Ok(buffers)
    }

    fn buffers_of(
        &self,
        column: Physical,
        has_nulls: bool,
        next: &mut dyn FnMut() -> Result<Range<usize>>,
    ) -> Result<ColumnBuffers> {
        let bits = self.count.div_ceil(8);
        let validity = next()?;
        let validity = match has_nulls {
            true => Some(long_enough(validity, bits)?),
            false => None,
        };
        let width = match column {
            Physical::Bytes => return self.of_any_length(validity, next),
            Physical::Bool => {
                return Ok(ColumnBuffers {
                    validity,
                    offsets: 0..0,
                    values: long_enough(next()?, bits)?,
                });
            }
            Physical::Null => 0,
            Physical::Int { bytes, .. }
            | Physical::Decimal { bytes, .. }
            | Physical::Fixed(bytes) => bytes,
            Physical::Float32 | Physical::Days => 4,
            Physical::Float64 | Physical::Timestamp(_) => 8,
        };
        let bytes = self
            .count
            .checked_mul(width)
            .ok_or_else(|| bad("length of a column"))?;
        Ok(ColumnBuffers {
            validity,
            offsets: 0..0,
            values: long_enough(next()?, bytes)?,
        })
    }

    /// The offsets must grow, from 0 on, and end within the values.
    fn of_any_length(
        &self,
        validity: Option<Range<usize>>,
        next: &mut dyn FnMut() -> Result<Range<usize>>,
    ) -> Result<ColumnBuffers> {
        let (offsets, values) = (next()?, next()?);
        // A column without rows may have no offsets at all.
        if self.count == 0 {
            return Ok(ColumnBuffers {
                validity,
                offsets: 0..0,
                values: 0..0,
            });
        }
        let offsets = long_enough(offsets, (self.count + 1) * 4)?;
        let mut last = 0;
        let all = self
            .body
            .get(offsets.clone())
            .unwrap_or_default()
            .as_chunks::<4>()
            .0;
        for offset in all.iter().take(self.count + 1) {
            let offset = usize::try_from(i32::from_le_bytes(*offset)).map_err(|_| bad("offset"))?;
            if offset < last {
                return Err(bad("offset"));
            }
            last = offset;
        }
        Ok(ColumnBuffers {
            validity,
            offsets,
            values: long_enough(values, last)?,
        })
    }

    fn range(&self, buffer: Option<&Buffer>) -> Result<Range<usize>> {
        let out_of_place = || bad("place of a column");
        let buffer = buffer.ok_or_else(out_of_place)?;
        let start = usize::try_from(buffer.offset()).map_err(|_| out_of_place())?;
        let length = usize::try_from(buffer.length()).map_err(|_| out_of_place())?;
        let end = start
            .checked_add(length)
            .filter(|end| *end <= self.body.len());
        Ok(start..end.ok_or_else(out_of_place)?)
    }
}

fn long_enough(range: Range<usize>, bytes: usize) -> Result<Range<usize>> {
    match range.len() >= bytes {
        true => Ok(range),
        false => Err(bad("column that is too short")),
    }
}
