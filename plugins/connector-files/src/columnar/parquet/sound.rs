//! What the decoder relies on in a page without looking: where a page lies about it, the decoder would panic.

use bytes::{Bytes, BytesMut};
use parquet::basic::Type;
use parquet::errors::Result;
use parquet::schema::types::ColumnDescriptor;

use super::general;
use super::pages::{DATA, DATA_V2, DICTIONARY, MAX_PAGE};
use super::thrift::PageHeader;

/// Bits of a place in a dictionary, at most.
const MAX_INDEX_BITS: u8 = 32;

// Parquet's numbers of encodings.
const PLAIN: i64 = 0;
const PLAIN_DICTIONARY: i64 = 2;
const RUNS: i64 = 3;
const DICTIONARY_RUNS: i64 = 8;
const BYTE_STREAM_SPLIT: i64 = 9;

/// What a column says of the values in its pages.
pub struct Shape {
    /// How a value is stored.
    pub physical: Type,
    /// Bytes of a value; 0 if they differ in length or are bits.
    pub width: usize,
    /// The highest levels of repetition and definition.
    pub max_levels: [i16; 2],
}

impl Shape {
    /// What a column says.
    pub fn of(column: &ColumnDescriptor) -> Self {
        let width = match column.physical_type() {
            Type::INT32 | Type::FLOAT => 4,
            Type::INT64 | Type::DOUBLE => 8,
            Type::INT96 => 12,
            Type::FIXED_LEN_BYTE_ARRAY => usize::try_from(column.type_length()).unwrap_or_default(),
            Type::BOOLEAN | Type::BYTE_ARRAY => 0,
        };
        Self {
            physical: column.physical_type(),
            width,
            max_levels: [column.max_rep_level(), column.max_def_level()],
        }
    }

    /// The page as the decoder can read it, of a column whose dictionary has so many entries.
    ///
    /// # Errors
    /// When the page is not what its header or its column says.
    pub fn sound(&self, header: &PageHeader, page: Bytes, entries: usize) -> Result<Bytes> {
        if header.kind == DICTIONARY {
            // The decoder divides by the number of values.
            if header.values == 0 && !page.is_empty() {
                return Err(general("a dictionary without values has bytes"));
            }
            return self.plain(header.values, &page).map(|()| page);
        }
        let start = self.levels(header, &page)?;
        match header.encoding {
            PLAIN => self.plain(header.values, page.get(start..).unwrap_or_default())?,
            PLAIN_DICTIONARY | DICTIONARY_RUNS => return self.places(header, page, start, entries),
            BYTE_STREAM_SPLIT if self.width > 0 => {
                return self.streams(header, page, start);
            }
            _ => {}
        }
        Ok(page)
    }

    /// Refuses a value that is longer than the page: the decoder's sum of place and length overflows with 32 bits.
    fn plain(&self, count: u32, values: &[u8]) -> Result<()> {
        let mut rest = values;
        for _ in 0..if self.physical == Type::BYTE_ARRAY {
            count
        } else {
            0
        } {
            let Some((length, more)) = rest.split_first_chunk::<4>() else {
                break;
            };
            let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
            rest = more
                .get(length..)
                .ok_or_else(|| general("a value is longer than its page"))?;
        }
        Ok(())
    }

    /// Looks at places in a dictionary: the number of their bits, and for values of a fixed length each place.
    fn places(
        &self,
        header: &PageHeader,
        page: Bytes,
        start: usize,
        entries: usize,
    ) -> Result<Bytes> {
        let wrong = || general("a page has impossible places in its dictionary");
        let Some((bits, runs)) = page.get(start..).and_then(<[u8]>::split_first) else {
            // A page of nulls alone. The decoder wants the number of bits all the same.
            let mut bytes = BytesMut::from(page.as_ref());
            bytes.resize(start + 1, 0);
            return Ok(bytes.freeze());
        };
        if *bits > MAX_INDEX_BITS {
            return Err(wrong());
        }
        // The decoder compares the places of all other types itself. Without entries it reads none.
        if self.physical == Type::FIXED_LEN_BYTE_ARRAY && entries > 0 {
            for run in Runs::new(runs, *bits, header.values) {
                if run.max().is_some_and(|place| place >= entries as u64) {
                    return Err(wrong());
                }
            }
        }
        Ok(page)
    }

    /// Makes the streams of bytes as long as the page says that it has values.
    fn streams(&self, header: &PageHeader, page: Bytes, start: usize) -> Result<Bytes> {
        let count = (header.values - header.nulls) as usize;
        let values = page.get(start..).unwrap_or_default();
        let stride = values.len() / self.width;
        if stride >= count {
            return Ok(page);
        }
        let length = count
            .checked_mul(self.width)
            .filter(|length| *length <= MAX_PAGE);
        let length = length.ok_or_else(|| general("a page is larger than what is read"))?;
        let mut bytes = BytesMut::zeroed(start + length);
        let (levels, streams) = bytes.split_at_mut(start);
        levels.copy_from_slice(page.get(..start).unwrap_or_default());
        if stride > 0 {
            for (to, from) in streams
                .chunks_exact_mut(count)
                .zip(values.chunks_exact(stride))
            {
                if let Some(to) = to.get_mut(..stride) {
                    to.copy_from_slice(from);
                }
            }
        }
        Ok(bytes.freeze())
    }

    /// How many bytes the levels of a data page take.
    fn levels(&self, header: &PageHeader, page: &[u8]) -> Result<usize> {
        let outside = || general("the levels of a page are outside of it");
        let encodings = [header.level_encodings.1, header.level_encodings.0];
        let lengths = [header.level_bytes.1, header.level_bytes.0];
        let mut at = 0usize;
        let non_null = u64::from(header.values - header.nulls);
        // The decoder divides by what is left of this number when it reads a text.
        let is_divisor =
            header.kind == DATA_V2 && header.encoding == PLAIN && self.physical == Type::BYTE_ARRAY;
        for which in 0..2 {
            let (max, mut encoding) = (self.max_levels[which], encodings[which]);
            let mut length = lengths[which] as usize;
            let bits = 16 - max.unsigned_abs().leading_zeros();
            if header.kind == DATA {
                if max == 0 {
                    continue;
                }
                length = match encoding {
                    RUNS => {
                        let length = page.get(at..).and_then(<[u8]>::first_chunk);
                        at = at.saturating_add(4);
                        u32::from_le_bytes(*length.ok_or_else(outside)?) as usize
                    }
                    _ => usize::try_from((u64::from(bits) * u64::from(header.values)).div_ceil(8))
                        .map_err(|_| outside())?,
                };
            } else {
                encoding = RUNS;
            }
            let end = at.checked_add(length).ok_or_else(outside)?;
            let levels = page.get(at..end).ok_or_else(outside)?;
            if max > 0 && encoding == RUNS {
                let bits = u8::try_from(bits).unwrap_or(u8::MAX);
                let (mut found, mut seen) = (0, 0);
                for run in Runs::new(levels, bits, header.values) {
                    if run.is_cut_off {
                        return Err(general("the levels of a page are cut off"));
                    }
                    seen += run.length;
                    if is_divisor && which == 1 {
                        found += run.count(u64::from(max.unsigned_abs()));
                    }
                }
                // The decoder skips rows in a loop that only levels end.
                if seen < u64::from(header.values) {
                    return Err(general("a page has fewer levels than values"));
                }
                if found > non_null {
                    return Err(general("a page has fewer nulls than it says"));
                }
            }
            at = end;
        }
        Ok(at)
    }
}

/// The runs of Parquet's hybrid of run lengths and packed bits:
/// <https://parquet.apache.org/docs/file-format/data-pages/encodings/#RLE>
struct Runs<'a> {
    rest: &'a [u8],
    bits: u8,
    /// How many values are still wanted.
    left: u64,
}

/// Some values that follow each other.
struct Run<'a> {
    values: Values<'a>,
    bits: u8,
    /// How many of them count: the last run may be filled up.
    length: u64,
    /// Whether its bytes end before its values.
    is_cut_off: bool,
}

enum Values<'a> {
    Same(u64),
    Packed(&'a [u8]),
}

impl<'a> Runs<'a> {
    fn new(rest: &'a [u8], bits: u8, count: u32) -> Self {
        let left = u64::from(count);
        Self { rest, bits, left }
    }

    /// A number of seven bits in each byte.
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

impl<'a> Iterator for Runs<'a> {
    type Item = Run<'a>;

    fn next(&mut self) -> Option<Run<'a>> {
        if self.left == 0 || self.rest.is_empty() {
            return None;
        }
        let bits = self.bits;
        let cut_off = |rest: &'a [u8]| Run {
            values: Values::Packed(rest),
            bits,
            length: 0,
            is_cut_off: true,
        };
        let Some(header) = self.varint() else {
            self.left = 0;
            return Some(cut_off(self.rest));
        };
        let packed = header & 1 == 1;
        let many = (header >> 1).saturating_mul(if packed { 8 } else { 1 });
        let length = many.min(self.left);
        self.left -= length;
        let bytes = match packed {
            true => (header >> 1).saturating_mul(u64::from(bits)),
            false => u64::from(bits.div_ceil(8)),
        };
        let needed = match packed {
            true => length.saturating_mul(u64::from(bits)).div_ceil(8),
            false => bytes,
        };
        let is_cut_off = needed > self.rest.len() as u64;
        let bytes = usize::try_from(bytes)
            .unwrap_or(usize::MAX)
            .min(self.rest.len());
        let (now, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        let values = match packed {
            true => Values::Packed(now),
            false => Values::Same(little_endian(now)),
        };
        Some(Run {
            values,
            bits,
            length,
            is_cut_off,
        })
    }
}

impl Run<'_> {
    /// The highest value; none without values.
    fn max(&self) -> Option<u64> {
        match self.values {
            Values::Same(value) => (self.length > 0).then_some(value),
            Values::Packed(_) => self.packed().max(),
        }
    }

    /// How many values are this one.
    fn count(&self, wanted: u64) -> u64 {
        match self.values {
            Values::Same(value) => {
                if value == wanted {
                    self.length
                } else {
                    0
                }
            }
            Values::Packed(_) => self.packed().filter(|value| *value == wanted).count() as u64,
        }
    }

    /// The values of packed bits, as far as there are bytes.
    fn packed(&self) -> impl Iterator<Item = u64> {
        let bytes = match self.values {
            Values::Packed(bytes) => bytes,
            Values::Same(_) => &[],
        };
        let bits = u64::from(self.bits);
        let there = (bytes.len() as u64 * 8)
            .checked_div(bits)
            .unwrap_or(self.length);
        (0..self.length.min(there)).map(move |place| {
            let (first, shift) = ((place * bits / 8) as usize, place * bits % 8);
            let some = bytes.get(first..).unwrap_or_default();
            let some = some.get(..5).unwrap_or(some);
            (little_endian(some) >> shift) & ((1u64 << bits) - 1)
        })
    }
}

/// At most eight bytes as a number.
fn little_endian(bytes: &[u8]) -> u64 {
    let mut whole = [0; 8];
    whole
        .iter_mut()
        .zip(bytes)
        .for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer to a page of eight values in a list, with so many levels of repetition.
    fn judged(kind: i64, levels: u8) -> Result<Bytes> {
        let shape = Shape {
            physical: Type::INT32,
            width: 4,
            max_levels: [1, 0],
        };
        // A run of the level 0.
        let mut page = vec![levels << 1, 0];
        if kind == DATA {
            page.splice(0..0, [2, 0, 0, 0]);
        }
        page.extend([0; 32]);
        let header = PageHeader {
            kind,
            values: 8,
            level_encodings: (RUNS, RUNS),
            level_bytes: (0, 2),
            ..PageHeader::default()
        };
        shape.sound(&header, Bytes::from(page), 0)
    }

    #[test]
    fn each_value_has_its_level() {
        for kind in [DATA, DATA_V2] {
            assert!(judged(kind, 8).is_ok());
            assert!(judged(kind, 60).is_ok());
            let error = judged(kind, 7).unwrap_err().to_string();
            assert!(error.contains("fewer levels than values"), "{error}");
        }
    }
}
