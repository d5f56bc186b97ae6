//! Messages of Arrow IPC, taken apart.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufReader, Cursor, Read};

use arrow_ipc::{
    self as ipc, CompressionType, DictionaryBatchArgs, FieldNode, MessageArgs, MessageHeader,
    MetadataVersion, RecordBatch, RecordBatchArgs, root_as_message,
};
use arrow_schema::{DataType, Field, Schema};
use flatbuffers::FlatBufferBuilder;

use super::aligned::aligned;
use super::footer::{self, Block};
use super::schema;

/// Bytes of the description of a message, at most.
const MAX_METADATA: u64 = 16 << 20;
/// Bytes of the rows of a message, at most: as stored, and decompressed.
const MAX_BODY: u64 = 128 << 20;
const CONTINUATION: [u8; 4] = [0xFF; 4];
/// What each buffer begins at a multiple of.
const ALIGNMENT: usize = 64;

/// One message.
pub struct Message {
    /// A flatbuffer.
    pub metadata: Vec<u8>,
    /// The buffers of its arrays.
    pub body: Vec<u8>,
}

/// The messages of a file behind its schema.
pub struct Reader {
    input: BufReader<File>,
    /// Bytes that were read in advance.
    ahead: Vec<u8>,
    /// Bytes that are not read yet, those in advance included: of a stream, or of one message of a file.
    left: u64,
    /// Where the messages of a file are, as its footer says it. A stream has one behind the other, and may just end.
    blocks: Option<VecDeque<Block>>,
    /// The next byte of a file.
    at: u64,
}

impl Reader {
    /// Reads the schema: of a file from its footer, since some writers put it nowhere else; of a stream from its first
    /// message.
    pub fn start(mut input: BufReader<File>, length: u64) -> Result<(Self, Schema), String> {
        let mut start = Vec::new();
        input
            .by_ref()
            .take(footer::START)
            .read_to_end(&mut start)
            .map_err(|error| error.to_string())?;
        if start.starts_with(b"FEA1") {
            return Err("it is Feather 1; write Feather 2, which is Arrow IPC".to_owned());
        }
        let mut reader = Self {
            input,
            ahead: Vec::new(),
            left: 0,
            blocks: None,
            at: 0,
        };
        if start.starts_with(footer::MAGIC) {
            let (schema, blocks, at) = footer::read(&mut reader.input, length)?;
            reader.blocks = Some(blocks);
            reader.at = at;
            return Ok((reader, schema));
        }
        reader.ahead = start;
        reader.left = length;
        let first = reader.next()?.ok_or("it does not begin with a schema")?;
        let schema = schema::read(&first.metadata)?;
        Ok((reader, schema))
    }

    /// The next message; none at the end.
    pub fn next(&mut self) -> Result<Option<Message>, String> {
        match &mut self.blocks {
            None => self.next_of_stream(),
            Some(blocks) => match blocks.pop_front() {
                None => Ok(None),
                Some(block) => self.message(&block).map(Some),
            },
        }
    }

    fn message(&mut self, block: &Block) -> Result<Message, String> {
        let distance = i64::try_from(block.offset)
            .ok()
            .zip(i64::try_from(self.at).ok())
            .map(|(to, from)| to - from);
        self.input
            .seek_relative(distance.ok_or("a message has an impossible place")?)
            .map_err(|error| error.to_string())?;
        self.left = block.length();
        self.at = block.offset + self.left;
        let mut metadata = self.metadata(block.metadata)?;
        // The length again, in newer files behind a mark.
        let prefix = if metadata.starts_with(&CONTINUATION) {
            8
        } else {
            4
        };
        let metadata = aligned(metadata.split_off(prefix.min(metadata.len())));
        let body = self.bytes(block.body, MAX_BODY, "a record batch")?;
        Ok(Message { metadata, body })
    }

    fn next_of_stream(&mut self) -> Result<Option<Message>, String> {
        if self.left == 0 {
            return Ok(None);
        }
        let mut length = self.array()?;
        if length == CONTINUATION {
            length = self.array()?;
        }
        let length = u32::from_le_bytes(length);
        if length == 0 {
            return Ok(None);
        }
        let metadata = aligned(self.metadata(u64::from(length))?);
        let parsed =
            root_as_message(&metadata).map_err(|error| format!("a message is broken: {error}"))?;
        let body =
            u64::try_from(parsed.bodyLength()).map_err(|_| "a message has a negative length")?;
        let body = self.bytes(body, MAX_BODY, "a record batch")?;
        Ok(Some(Message { metadata, body }))
    }

    fn metadata(&mut self, length: u64) -> Result<Vec<u8>, String> {
        self.bytes(length, MAX_METADATA, "the description of a message")
    }

    fn array(&mut self) -> Result<[u8; 4], String> {
        let bytes = self.bytes(4, 4, "the length of a message")?;
        bytes
            .try_into()
            .map_err(|_| "a length is cut off".to_owned())
    }

    fn bytes(&mut self, count: u64, most: u64, what: &str) -> Result<Vec<u8>, String> {
        if count > self.left {
            return Err(format!("{what} is cut off: the file is not complete"));
        }
        if count > most {
            return Err(format!(
                "{what} has more than {} MiB; write smaller ones",
                most >> 20
            ));
        }
        self.left -= count;
        let from_ahead = self
            .ahead
            .len()
            .min(usize::try_from(count).unwrap_or(usize::MAX));
        let mut bytes: Vec<u8> = self.ahead.drain(..from_ahead).collect();
        let rest = count - from_ahead as u64;
        bytes.reserve_exact(usize::try_from(rest).unwrap_or_default());
        let read = self
            .input
            .by_ref()
            .take(rest)
            .read_to_end(&mut bytes)
            .map_err(|error| error.to_string())?;
        match read as u64 == rest {
            true => Ok(bytes),
            false => Err(format!("{what} is cut off: the file is not complete")),
        }
    }
}

/// What a buffer is for.
#[derive(Clone, Copy)]
struct Need {
    /// Whether it belongs to a wanted column.
    wanted: bool,
    /// If it has a bit a value: the node of the values, and whether it may be absent when no value is NULL.
    bits: Option<(usize, bool)>,
    /// Bytes of one of its values. `arrow-ipc` panics where a part of one stands at the end.
    width: usize,
}

/// What a field needs of a record batch.
#[derive(Default)]
struct Needs {
    nodes: usize,
    /// The nodes of columns, each with as many values as there are rows.
    columns: Vec<usize>,
    buffers: Vec<Need>,
    /// Whether each view takes further buffers, by the same mark.
    views: Vec<(usize, bool)>,
}

impl Needs {
    fn add(&mut self, data_type: &DataType, wanted: bool) {
        self.nodes += 1;
        let own = match data_type {
            DataType::Null => 0,
            DataType::Struct(_) | DataType::FixedSizeList(..) => 1,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => 3,
            _ => 2,
        };
        let node = self.nodes - 1;
        self.buffers.extend((0..own).map(|index| Need {
            wanted,
            bits: match index {
                0 => Some((node, true)),
                1 if *data_type == DataType::Boolean => Some((node, false)),
                _ => None,
            },
            width: if index == 1 { width(data_type) } else { 1 },
        }));
        match data_type {
            DataType::Utf8View | DataType::BinaryView => {
                self.views.push((self.buffers.len(), wanted))
            }
            DataType::List(child)
            | DataType::LargeList(child)
            | DataType::FixedSizeList(child, _)
            | DataType::Map(child, _) => self.add(child.data_type(), wanted),
            DataType::Struct(children) => children
                .iter()
                .for_each(|child| self.add(child.data_type(), wanted)),
            _ => {}
        }
    }

    /// Puts the further buffers of views where they are.
    fn with_views(mut self, counts: &[i64]) -> Result<Self, String> {
        if counts.len() != self.views.len() {
            return Err("a record batch does not fit its schema".to_owned());
        }
        for ((place, wanted), count) in self.views.iter().zip(counts).rev() {
            let count = usize::try_from(*count)
                .ok()
                .filter(|count| *count <= 100_000);
            let count = count.ok_or("a record batch has an impossible number of buffers")?;
            let more = std::iter::repeat_n(
                Need {
                    wanted: *wanted,
                    bits: None,
                    width: 1,
                },
                count,
            );
            self.buffers.splice(place..place, more);
        }
        Ok(self)
    }
}

/// The message as `arrow-ipc` can read it: what it says of itself fits the schema and its body, no buffer is
/// compressed,
/// and those of columns that nobody wants are empty.
///
/// # Errors
/// When it does not fit, or is larger than what is read.
pub fn checked(
    metadata: &[u8],
    body: Vec<u8>,
    schema: &Schema,
    wanted: &[usize],
) -> Result<Message, String> {
    let message = root_as_message(metadata).map_err(|error| error.to_string())?;
    let mut needs = Needs::default();
    match message.header_type() {
        MessageHeader::RecordBatch => {
            for (index, field) in schema.fields().iter().enumerate() {
                needs.columns.push(needs.nodes);
                needs.add(field.data_type(), wanted.binary_search(&index).is_ok());
            }
            let batch = message
                .header_as_record_batch()
                .ok_or("a record batch is absent")?;
            rebuilt(batch, needs, &body, message.version(), None)
        }
        MessageHeader::DictionaryBatch => {
            let dictionary = message
                .header_as_dictionary_batch()
                .ok_or("a dictionary is absent")?;
            let values = dictionary_type(schema, dictionary.id())
                .ok_or("a dictionary belongs to no column")?;
            needs.add(&values, true);
            let batch = dictionary.data().ok_or("a dictionary has no values")?;
            let around = Some((dictionary.id(), dictionary.isDelta()));
            rebuilt(batch, needs, &body, message.version(), around)
        }
        _ => Ok(Message {
            metadata: metadata.to_vec(),
            body,
        }),
    }
}

/// The type of the values of a dictionary, by its identity.
#[expect(
    deprecated,
    reason = "`read_dictionary` finds the field in the same way"
)]
fn dictionary_type(schema: &Schema, id: i64) -> Option<DataType> {
    let fields = schema.fields_with_dict_id(id);
    match fields.first().map(|field| Field::data_type(field)) {
        Some(DataType::Dictionary(_, values)) => Some(values.as_ref().clone()),
        _ => None,
    }
}

fn rebuilt(
    batch: RecordBatch<'_>,
    needs: Needs,
    body: &[u8],
    version: MetadataVersion,
    dictionary: Option<(i64, bool)>,
) -> Result<Message, String> {
    let rows = batch.length();
    let mut builder = FlatBufferBuilder::new();
    let nodes: Vec<FieldNode> = batch.nodes().into_iter().flatten().copied().collect();
    let sane = |node: &FieldNode| {
        (0..=i64::from(i32::MAX)).contains(&node.length()) && node.null_count() >= 0
    };
    // Those of all columns, wanted or not: a count believes the number of rows.
    let is_whole = |column: &usize| nodes.get(*column).is_some_and(|node| node.length() == rows);
    if nodes.len() != needs.nodes
        || !nodes.iter().all(sane)
        || !needs.columns.iter().all(is_whole)
        || !(0..=i64::from(i32::MAX)).contains(&rows)
    {
        return Err("a record batch does not fit its schema".to_owned());
    }
    let counts: Vec<i64> = batch.variadicBufferCounts().into_iter().flatten().collect();
    let needs = needs.with_views(&counts)?;
    let (buffers, out) = repacked(batch, &needs, &nodes, body)?;
    let nodes = builder.create_vector(&nodes);
    let buffers = builder.create_vector(&buffers);
    let counts = (!counts.is_empty()).then(|| builder.create_vector(&counts));
    let args = RecordBatchArgs {
        length: rows,
        nodes: Some(nodes),
        buffers: Some(buffers),
        compression: None,
        variadicBufferCounts: counts,
    };
    let data = RecordBatch::create(&mut builder, &args);
    let (header_type, header) = match dictionary {
        None => (MessageHeader::RecordBatch, data.as_union_value()),
        Some((id, is_delta)) => {
            let args = DictionaryBatchArgs {
                id,
                data: Some(data),
                isDelta: is_delta,
            };
            let around = ipc::DictionaryBatch::create(&mut builder, &args);
            (MessageHeader::DictionaryBatch, around.as_union_value())
        }
    };
    let length = i64::try_from(out.len()).unwrap_or(i64::MAX);
    let args = MessageArgs {
        version,
        header_type,
        header: Some(header),
        bodyLength: length,
        ..MessageArgs::default()
    };
    let message = ipc::Message::create(&mut builder, &args);
    builder.finish(message, None);
    Ok(Message {
        metadata: builder.finished_data().to_vec(),
        body: out,
    })
}

/// The wanted buffers, decompressed, one after another.
fn repacked(
    batch: RecordBatch<'_>,
    needs: &Needs,
    nodes: &[FieldNode],
    body: &[u8],
) -> Result<(Vec<ipc::Buffer>, Vec<u8>), String> {
    let codec = batch.compression().map(|compression| compression.codec());
    let given = batch.buffers().map_or(0, |buffers| buffers.len());
    if given != needs.buffers.len() {
        return Err("a record batch does not fit its schema".to_owned());
    }
    let mut out: Vec<u8> = Vec::new();
    let mut buffers = Vec::with_capacity(given);
    for (buffer, need) in batch.buffers().into_iter().flatten().zip(&needs.buffers) {
        let start = usize::try_from(buffer.offset()).ok();
        let end = usize::try_from(buffer.length())
            .ok()
            .and_then(|length| start?.checked_add(length));
        let range = start.zip(end).and_then(|(start, end)| body.get(start..end));
        let bytes = range.ok_or("a buffer is outside of its record batch")?;
        let from = out.len();
        if need.wanted && !bytes.is_empty() {
            match codec {
                None => out.extend_from_slice(bytes),
                Some(codec) => decompress(bytes, codec, &mut out)?,
            }
        }
        let part = (out.len() - from) % need.width;
        out.truncate(out.len() - part);
        if need.wanted && !has_bits(need, nodes, out.len() - from) {
            return Err("a buffer is shorter than its values".to_owned());
        }
        let place = |place: usize| i64::try_from(place).unwrap_or(i64::MAX);
        buffers.push(ipc::Buffer::new(place(from), place(out.len() - from)));
        out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
        if out.len() as u64 > MAX_BODY {
            return Err(too_large());
        }
    }
    Ok((buffers, out))
}

/// Bytes of one value of the buffer behind the one of NULLs: an offset, a view, a key of a dictionary or the value.
fn width(data_type: &DataType) -> usize {
    match data_type {
        DataType::Utf8 | DataType::Binary | DataType::List(_) | DataType::Map(..) => 4,
        DataType::LargeUtf8 | DataType::LargeBinary | DataType::LargeList(_) => 8,
        DataType::Utf8View | DataType::BinaryView => 16,
        DataType::Dictionary(key, _) => width(key),
        other => other.primitive_width().unwrap_or(1),
    }
}

/// Whether a buffer of so many bytes has a bit for each value.
fn has_bits(need: &Need, nodes: &[FieldNode], bytes: usize) -> bool {
    let Some((node, may_be_absent)) = need.bits else {
        return true;
    };
    let Some(node) = nodes.get(node) else {
        return false;
    };
    let wanted = usize::try_from(node.length()).map_or(usize::MAX, |length| length.div_ceil(8));
    may_be_absent && node.null_count() == 0 || bytes >= wanted
}

fn too_large() -> String {
    format!(
        "a record batch has more than {} MiB; write smaller ones",
        MAX_BODY >> 20
    )
}

/// A compressed buffer begins with its length; -1 says that it is not compressed after all.
fn decompress(bytes: &[u8], codec: CompressionType, out: &mut Vec<u8>) -> Result<(), String> {
    let (length, data) = bytes
        .split_at_checked(8)
        .ok_or("a compressed buffer is cut off")?;
    let length = i64::from_le_bytes(
        length
            .try_into()
            .map_err(|_| "a compressed buffer is cut off")?,
    );
    if length == -1 {
        out.extend_from_slice(data);
        return Ok(());
    }
    let length = u64::try_from(length).map_err(|_| "a compressed buffer has a negative length")?;
    let from = out.len() as u64;
    if from.saturating_add(length) > MAX_BODY {
        return Err(too_large());
    }
    let mut input: Box<dyn Read + '_> = match codec {
        CompressionType::LZ4_FRAME => {
            Box::new(lz4_flex::frame::FrameDecoder::new(Cursor::new(data)))
        }
        CompressionType::ZSTD => Box::new(
            zstd::stream::read::Decoder::with_buffer(Cursor::new(data))
                .map_err(|error| error.to_string())?,
        ),
        _ => return Err("its compression is unknown".to_owned()),
    };
    // One byte more than it says is an error.
    let read = input.by_ref().take(length + 1).read_to_end(out);
    let read = read.map_err(|error| format!("a compressed buffer is broken: {error}"))?;
    match read as u64 == length {
        true => Ok(()),
        false => Err("a compressed buffer has another length than it says".to_owned()),
    }
}
