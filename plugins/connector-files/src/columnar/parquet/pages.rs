//! The pages of one column in one row group.

use std::fs::File;
use std::io::{Cursor, Read as _, Seek as _, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};

use super::general;
use super::sound::Shape;
use super::thrift::{PageHeader, page_header};

/// Bytes of one page, decompressed, at most.
pub const MAX_PAGE: usize = 128 << 20;
/// Bytes of the header of a page, at most: statistics may hold long values.
const MAX_HEADER: usize = 1 << 20;
/// Bytes that the columns of a row group read ahead, all together and each.
const READ_AHEAD: usize = 16 << 20;
const MOST_AHEAD: usize = 256 << 10;
const LEAST_AHEAD: usize = 8 << 10;
/// Bytes by which a column may be longer than its footer says: parquet-mr up to 1.2.8 did not count the header of the
/// dictionary. The number of values says where a column ends.
const UNCOUNTED: u64 = 100;

/// Data, by Parquet's numbers of kinds of pages.
pub const DATA: i64 = 0;
/// A dictionary.
pub const DICTIONARY: i64 = 2;
/// Data in the second version of the format.
pub const DATA_V2: i64 = 3;

/// A file that several readers share, each with a place of its own.
#[derive(Clone)]
pub struct Source {
    file: Arc<Mutex<File>>,
    length: u64,
}

impl Source {
    /// A file of so many bytes.
    pub fn new(file: File, length: u64) -> Self {
        Self {
            file: Arc::new(Mutex::new(file)),
            length,
        }
    }

    /// Bytes of the file.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Exactly these bytes.
    ///
    /// # Errors
    /// When the file does not have them any more.
    pub fn bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if start
            .checked_add(length as u64)
            .is_none_or(|end| end > self.length)
        {
            return Err(general("a part of it is outside of the file"));
        }
        let mut bytes = Vec::with_capacity(length);
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(start))?;
        let read = file.by_ref().take(length as u64).read_to_end(&mut bytes)?;
        match read == length {
            true => Ok(Bytes::from(bytes)),
            false => Err(general("it became shorter while it was read")),
        }
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Source {
    type T = Cursor<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let length = self.length.saturating_sub(start).min(LEAST_AHEAD as u64);
        Ok(Cursor::new(self.bytes(
            start,
            usize::try_from(length).unwrap_or_default(),
        )?))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        match length <= MAX_PAGE {
            true => self.bytes(start, length),
            false => Err(general("a part of it is too large")),
        }
    }
}

/// One column of a row group, from its first page on.
pub struct Chunk {
    source: Source,
    codec: Compression,
    shape: Shape,
    /// Where the next page begins, and where the last one ends at the latest.
    at: u64,
    end: u64,
    /// Bytes that were read ahead, from `ahead_at` on.
    ahead: Bytes,
    ahead_at: u64,
    ahead_bytes: usize,
    /// What the footer says is left: bytes when decompressed, and values.
    bytes_left: u64,
    values_left: u64,
    header: Option<PageHeader>,
    /// Whether there was a dictionary, and how many entries it has.
    has_dictionary: bool,
    entries: usize,
}

impl Chunk {
    /// The pages of a column; `columns` of them are read at the same time.
    ///
    /// # Errors
    /// When the footer gives it an impossible place.
    pub fn new(source: &Source, column: &ColumnChunkMetaData, columns: usize) -> Result<Self> {
        let wrong = |_| general("a column has an impossible place");
        let first = column.dictionary_page_offset().filter(|offset| *offset > 0);
        let first = first
            .unwrap_or(column.data_page_offset())
            .min(column.data_page_offset());
        let at = u64::try_from(first).map_err(wrong)?;
        let size = u64::try_from(column.compressed_size()).map_err(wrong)?;
        // Some writers leave out the headers of pages where they count bytes.
        let uncompressed = u64::try_from(column.uncompressed_size()).map_err(wrong)?;
        Ok(Self {
            source: source.clone(),
            codec: column.compression(),
            shape: Shape::of(column.column_descr()),
            at,
            end: at
                .saturating_add(size)
                .saturating_add(UNCOUNTED)
                .min(source.length()),
            ahead: Bytes::new(),
            ahead_at: at,
            ahead_bytes: (READ_AHEAD / columns.max(1)).clamp(LEAST_AHEAD, MOST_AHEAD),
            bytes_left: uncompressed
                .saturating_add(uncompressed / 8)
                .saturating_add(1 << 20),
            values_left: u64::try_from(column.num_values()).map_err(wrong)?,
            header: None,
            has_dictionary: false,
            entries: 0,
        })
    }

    /// Bytes of the longest value of the dictionary; 0 if the column does not begin with one.
    ///
    /// # Errors
    /// When the page is broken.
    pub fn widest_of_dictionary(mut self) -> Result<usize> {
        match self.header()? {
            Some(header) if header.kind == DICTIONARY => {}
            _ => return Ok(0),
        }
        let Some(Page::DictionaryPage { buf, .. }) = self.page()? else {
            return Ok(0);
        };
        let (mut widest, mut rest) = (0, buf.as_ref());
        while let Some((length, more)) = rest.split_first_chunk::<4>() {
            let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
            widest = widest.max(length.min(more.len()));
            rest = more.get(length..).unwrap_or_default();
        }
        Ok(widest)
    }

    /// Bytes of the column from a place on, as many as are there.
    fn peek(&mut self, from: u64, wanted: usize) -> Result<Bytes> {
        let left = usize::try_from(self.end.saturating_sub(from)).unwrap_or(usize::MAX);
        let wanted = wanted.min(left);
        let offset = from
            .checked_sub(self.ahead_at)
            .and_then(|offset| usize::try_from(offset).ok());
        let known = offset.filter(|offset| offset.saturating_add(wanted) <= self.ahead.len());
        if let Some(offset) = known {
            return Ok(self.ahead.slice(offset..offset + wanted));
        }
        self.ahead = self
            .source
            .bytes(from, wanted.max(self.ahead_bytes).min(left))?;
        self.ahead_at = from;
        Ok(self.ahead.slice(..wanted))
    }

    /// The header of the next page; none at the end.
    fn header(&mut self) -> Result<Option<&PageHeader>> {
        if self.header.is_none() {
            self.header = self.read_header()?;
        }
        Ok(self.header.as_ref())
    }

    fn read_header(&mut self) -> Result<Option<PageHeader>> {
        while self.at < self.end && self.values_left > 0 {
            let mut wanted = 1 << 10;
            let header = loop {
                let bytes = self.peek(self.at, wanted)?;
                match page_header(&bytes) {
                    Some(header) => break header,
                    None if bytes.len() < wanted || wanted >= MAX_HEADER => {
                        return Err(general("the header of a page is broken"));
                    }
                    None => wanted *= 4,
                }
            };
            let after = self
                .at
                .saturating_add(header.length as u64)
                .saturating_add(header.compressed as u64);
            if after > self.end || header.uncompressed > MAX_PAGE || header.compressed > MAX_PAGE {
                return Err(general(
                    "a page is larger than what is read, or than its column",
                ));
            }
            match header.kind {
                DATA | DICTIONARY | DATA_V2 => {
                    self.count(&header)?;
                    return Ok(Some(header));
                }
                // Pages of a kind that came later: they may be passed over.
                _ => self.at = after,
            }
        }
        Ok(None)
    }

    /// Compares a page with what the footer says of the column.
    fn count(&mut self, header: &PageHeader) -> Result<()> {
        let wrong = || general("its pages have more than its footer says");
        self.bytes_left = self
            .bytes_left
            .checked_sub(header.uncompressed as u64)
            .ok_or_else(wrong)?;
        if header.kind != DICTIONARY {
            self.values_left = self
                .values_left
                .checked_sub(u64::from(header.values))
                .ok_or_else(wrong)?;
        }
        // The decoder relies on both.
        let is_of_dictionary = header.kind != DICTIONARY && matches!(header.encoding, 2 | 8);
        if header.kind == DICTIONARY && self.has_dictionary
            || is_of_dictionary && !self.has_dictionary
        {
            return Err(general("its pages do not fit their dictionary"));
        }
        self.has_dictionary |= header.kind == DICTIONARY;
        if header.rows > header.values || header.nulls > header.values {
            return Err(general("a page has an impossible number of rows"));
        }
        Ok(())
    }

    /// Goes behind the page of the header that was read.
    fn take(&mut self) -> Option<(PageHeader, u64)> {
        let header = self.header.take()?;
        let start = self.at.saturating_add(header.length as u64);
        self.at = start.saturating_add(header.compressed as u64);
        Some((header, start))
    }

    fn page(&mut self) -> Result<Option<Page>> {
        self.header()?;
        let Some((header, start)) = self.take() else {
            return Ok(None);
        };
        let data = self.peek(start, header.compressed)?;
        if data.len() != header.compressed {
            return Err(general("a page is cut off"));
        }
        let levels = (header.level_bytes.0 as usize).saturating_add(header.level_bytes.1 as usize);
        let buf = match header.kind {
            DATA_V2 if !header.is_compressed => data,
            DATA_V2 => self.decompressed(&data, header.uncompressed, levels)?,
            _ => self.decompressed(&data, header.uncompressed, 0)?,
        };
        if header.kind == DICTIONARY {
            self.entries = buf.len().checked_div(self.shape.width).unwrap_or_default();
        }
        let buf = self.shape.sound(&header, buf, self.entries)?;
        page_of(&header, buf).map(Some)
    }

    /// A page decompressed, but for its first bytes.
    fn decompressed(&self, data: &Bytes, size: usize, plain: usize) -> Result<Bytes> {
        if self.codec == Compression::UNCOMPRESSED {
            return Ok(data.clone());
        }
        let cut_off = || general("the levels of a page are outside of it");
        let (head, tail) = data.split_at_checked(plain).ok_or_else(cut_off)?;
        let wanted = size.checked_sub(plain).ok_or_else(cut_off)?;
        let mut out = Vec::with_capacity(size);
        out.extend_from_slice(head);
        if wanted > 0 {
            decompress(self.codec, tail, &mut out, wanted)?;
        }
        match out.len() == size {
            true => Ok(Bytes::from(out)),
            false => Err(general("a page has another length than it says")),
        }
    }
}

/// Appends what compressed bytes hold: `wanted` bytes, and one more at most.
fn decompress(codec: Compression, data: &[u8], out: &mut Vec<u8>, wanted: usize) -> Result<()> {
    let broken =
        |error: &dyn std::fmt::Display| general(&format!("a page cannot be decompressed: {error}"));
    let from = out.len();
    let most = wanted as u64 + 1;
    match codec {
        Compression::SNAPPY => {
            out.resize(from + wanted, 0);
            let place = out.get_mut(from..).unwrap_or_default();
            let length = snap::raw::Decoder::new()
                .decompress(data, place)
                .map_err(|error| broken(&error))?;
            out.truncate(from + length);
        }
        Compression::GZIP(_) => {
            let read = MultiGzDecoder::new(data).take(most).read_to_end(out);
            read.map_err(|error| broken(&error))?;
        }
        Compression::ZSTD(_) => {
            let decoder =
                zstd::stream::read::Decoder::with_buffer(data).map_err(|error| broken(&error))?;
            decoder
                .take(most)
                .read_to_end(out)
                .map_err(|error| broken(&error))?;
        }
        Compression::LZ4_RAW => {
            out.resize(from + wanted, 0);
            let place = out.get_mut(from..).unwrap_or_default();
            let length =
                lz4_flex::block::decompress_into(data, place).map_err(|error| broken(&error))?;
            out.truncate(from + length);
        }
        Compression::LZ4 => hadoop_lz4(data, out, wanted)?,
        other => {
            let message =
                format!("its compression, {other}, is not read; write it with zstd or snappy");
            return Err(ParquetError::General(message));
        }
    }
    Ok(())
}

/// The old LZ4 of Parquet: frames of Hadoop (two lengths before each block), or a single block without a frame.
fn hadoop_lz4(data: &[u8], out: &mut Vec<u8>, wanted: usize) -> Result<()> {
    let from = out.len();
    let mut rest = data;
    while let Some((lengths, more)) = rest.split_first_chunk::<8>() {
        let [a, b, c, d, e, f, g, h] = *lengths;
        let (size, packed) = (
            u32::from_be_bytes([a, b, c, d]),
            u32::from_be_bytes([e, f, g, h]),
        );
        let fits = (out.len() - from).saturating_add(size as usize) <= wanted;
        let Some((block, behind)) = more.split_at_checked(packed as usize).filter(|_| fits) else {
            break;
        };
        let at = out.len();
        out.resize(at + size as usize, 0);
        if lz4_flex::block::decompress_into(block, out.get_mut(at..).unwrap_or_default()).ok()
            != Some(size as usize)
        {
            break;
        }
        rest = behind;
    }
    if rest.is_empty() && out.len() - from == wanted {
        return Ok(());
    }
    out.truncate(from);
    decompress(Compression::LZ4_RAW, data, out, wanted)
}

fn page_of(header: &PageHeader, buf: Bytes) -> Result<Page> {
    let encoding = encoding(header.encoding)?;
    Ok(match header.kind {
        DICTIONARY => Page::DictionaryPage {
            buf,
            num_values: header.values,
            encoding,
            is_sorted: false,
        },
        DATA => Page::DataPage {
            buf,
            num_values: header.values,
            encoding,
            def_level_encoding: self::encoding(header.level_encodings.0)?,
            rep_level_encoding: self::encoding(header.level_encodings.1)?,
            statistics: None,
        },
        _ => Page::DataPageV2 {
            buf,
            num_values: header.values,
            encoding,
            num_nulls: header.nulls,
            num_rows: header.rows,
            def_levels_byte_len: header.level_bytes.0,
            rep_levels_byte_len: header.level_bytes.1,
            is_compressed: false,
            statistics: None,
        },
    })
}

#[expect(deprecated, reason = "old files have levels in bits")]
fn encoding(number: i64) -> Result<Encoding> {
    Ok(match number {
        0 => Encoding::PLAIN,
        2 => Encoding::PLAIN_DICTIONARY,
        3 => Encoding::RLE,
        4 => Encoding::BIT_PACKED,
        5 => Encoding::DELTA_BINARY_PACKED,
        6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        7 => Encoding::DELTA_BYTE_ARRAY,
        8 => Encoding::RLE_DICTIONARY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        _ => return Err(general("a page has an unknown encoding")),
    })
}

impl PageReader for Chunk {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.page()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        let is_flat = self.shape.max_levels[0] == 0;
        Ok(self.header()?.map(|header| {
            let rows = match header.kind {
                DATA_V2 => Some(header.rows),
                DATA if is_flat => Some(header.values),
                _ => None,
            };
            let is_dict = header.kind == DICTIONARY;
            PageMetadata {
                num_rows: rows.map(|rows| rows as usize),
                num_levels: (!is_dict).then_some(header.values as usize),
                is_dict,
            }
        }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.header()?;
        self.take();
        Ok(())
    }
}

impl Iterator for Chunk {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.page().transpose()
    }
}

/// A column chunk as the reader wants it.
pub struct OneChunk(Option<Chunk>);

impl OneChunk {
    /// One chunk.
    pub fn new(chunk: Chunk) -> Self {
        Self(Some(chunk))
    }
}

impl Iterator for OneChunk {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0
            .take()
            .map(|chunk| Ok(Box::new(chunk) as Box<dyn PageReader>))
    }
}

impl PageIterator for OneChunk {}
