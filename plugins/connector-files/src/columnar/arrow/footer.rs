//! The end of an Arrow file: its schema, and where its messages are.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use arrow_ipc::{self as ipc, root_as_footer};
use arrow_schema::Schema;

use super::schema;

/// What a file begins and ends with.
pub const MAGIC: &[u8] = b"ARROW1";
/// Bytes of the beginning of a file: the mark, and two that fill it up.
pub const START: u64 = 8;
/// Bytes of the end of a file: the length of the footer, and the mark.
const END: u64 = 10;
/// Bytes of the footer, at most.
const MAX_FOOTER: u64 = 16 << 20;

/// Where a message is.
#[derive(Clone, Copy)]
pub struct Block {
    /// Its first byte.
    pub offset: u64,
    /// Bytes of its description.
    pub metadata: u64,
    /// Bytes of its buffers, behind the description.
    pub body: u64,
}

impl Block {
    /// The bytes of both parts.
    pub fn length(&self) -> u64 {
        self.metadata.saturating_add(self.body)
    }

    fn of(block: &ipc::Block) -> Option<Self> {
        Some(Self {
            offset: u64::try_from(block.offset()).ok()?,
            metadata: u64::try_from(block.metaDataLength()).ok()?,
            body: u64::try_from(block.bodyLength()).ok()?,
        })
    }
}

/// The schema and the messages of a file, those of dictionaries first, and the place of the next byte of the input.
///
/// # Errors
/// When the file is not complete, or its footer does not fit it.
pub fn read(
    input: &mut BufReader<File>,
    length: u64,
) -> Result<(Schema, VecDeque<Block>, u64), String> {
    let not_complete = || "its end is cut off: the file is not complete".to_owned();
    let tail = length.checked_sub(END).ok_or_else(not_complete)?;
    let end = part(input, tail, END)?;
    let (size, magic) = end.split_first_chunk::<4>().ok_or_else(not_complete)?;
    let size = u64::from(u32::from_le_bytes(*size));
    let start = tail.checked_sub(size);
    let start = start.filter(|start| *start >= START && magic == MAGIC);
    let start = start.ok_or_else(not_complete)?;
    if size > MAX_FOOTER {
        return Err(format!("its footer has more than {} MiB", MAX_FOOTER >> 20));
    }
    let bytes = part(input, start, size)?;
    let footer =
        root_as_footer(&bytes).map_err(|error| format!("its footer is broken: {error}"))?;
    let schema = schema::of(footer.schema().ok_or("its footer has no schema")?)?;
    // Messages that lie in each other would be read as often as the footer says.
    let mut left = start;
    let mut blocks = VecDeque::new();
    let dictionaries = footer.dictionaries().into_iter().flatten();
    for block in dictionaries.chain(footer.recordBatches().into_iter().flatten()) {
        let block = Block::of(block).filter(|block| {
            let end = block.offset.checked_add(block.length());
            end.is_some_and(|end| end <= start)
        });
        let block = block.ok_or("a message is outside of the file")?;
        left = left
            .checked_sub(block.length())
            .ok_or("its messages are longer than the file")?;
        blocks.push_back(block);
    }
    Ok((schema, blocks, start + size))
}

fn part(input: &mut BufReader<File>, from: u64, count: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    input
        .seek(SeekFrom::Start(from))
        .and_then(|_| input.take(count).read_to_end(&mut bytes))
        .map_err(|error| error.to_string())?;
    Ok(bytes)
}
