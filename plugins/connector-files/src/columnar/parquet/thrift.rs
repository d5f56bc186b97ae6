//! The little of Thrift's compact protocol that is needed to look at a structure without building it.

/// Structures and lists in each other, at most.
const MAX_DEPTH: usize = 32;

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// A cursor over bytes. `None` means that they end too early, or cannot be.
pub struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The value of a field of a structure.
pub enum Value {
    /// A truth value.
    Bool(bool),
    /// A number.
    Int(i64),
    /// Any other, which is passed over when it is not read as a structure.
    Other(u8),
}

impl<'a> Input<'a> {
    /// At the beginning.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes were read.
    pub fn position(&self) -> usize {
        self.at
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }

    /// The next field of a structure: its number and value; the number 0 at the end. A value of the kind
    /// [`Value::Other`] is still to be read or passed over.
    pub fn field(&mut self, last: &mut i16) -> Option<(i16, Value)> {
        let byte = self.byte()?;
        if byte == 0 {
            return Some((0, Value::Bool(false)));
        }
        let number = match byte >> 4 {
            0 => i16::try_from(self.zigzag()?).ok()?,
            delta => last.checked_add(i16::from(delta))?,
        };
        *last = number;
        let value = match byte & 0x0F {
            TRUE => Value::Bool(true),
            FALSE => Value::Bool(false),
            BYTE => Value::Int(i64::from(self.byte()?.cast_signed())),
            I16 | I32 | I64 => Value::Int(self.zigzag()?),
            other => Value::Other(other),
        };
        Some((number, value))
    }

    /// Passes over a value.
    pub fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match kind {
            TRUE | FALSE => {}
            BYTE => self.advance(1)?,
            I16 | I32 | I64 => drop(self.varint()?),
            DOUBLE => self.advance(8)?,
            BINARY => {
                let length = usize::try_from(self.varint()?).ok()?;
                self.advance(length)?;
            }
            LIST | SET => {
                let (count, element) = self.list()?;
                for _ in 0..count {
                    self.skip_element(element, depth + 1)?;
                }
            }
            MAP => self.skip_map(depth)?,
            STRUCT => {
                let mut last = 0;
                loop {
                    match self.field(&mut last)? {
                        (0, _) => return Some(()),
                        (_, Value::Other(kind)) => self.skip(kind, depth + 1)?,
                        _ => {}
                    }
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Truth values have a byte of their own in lists.
    fn skip_element(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            TRUE | FALSE => self.advance(1),
            kind => self.skip(kind, depth),
        }
    }

    /// A list has no more elements than there are bytes: each takes one at least.
    fn list(&mut self) -> Option<(usize, u8)> {
        let byte = self.byte()?;
        let count = match byte >> 4 {
            15 => usize::try_from(self.varint()?).ok()?,
            count => usize::from(count),
        };
        (count <= self.bytes.len().saturating_sub(self.at)).then_some((count, byte & 0x0F))
    }

    fn skip_map(&mut self, depth: usize) -> Option<()> {
        let count = usize::try_from(self.varint()?).ok()?;
        if count == 0 {
            return Some(());
        }
        let kinds = self.byte()?;
        if count > self.bytes.len().saturating_sub(self.at) {
            return None;
        }
        for _ in 0..count {
            self.skip_element(kinds >> 4, depth + 1)?;
            self.skip_element(kinds & 0x0F, depth + 1)?;
        }
        Some(())
    }

    fn advance(&mut self, count: usize) -> Option<()> {
        let at = self.at.checked_add(count)?;
        (at <= self.bytes.len()).then(|| self.at = at)
    }
}

/// Whether bytes are one structure, of lists that are as long as they say.
///
/// # Errors
/// When they are not.
pub fn check(bytes: &[u8]) -> Result<(), String> {
    let read = Input::new(bytes).skip(STRUCT, 0);
    read.ok_or_else(|| "its footer is broken".to_owned())
}

/// What the header of a page says.
#[derive(Clone, Debug, Default)]
pub struct PageHeader {
    /// 0: data, 2: dictionary, 3: data, version 2.
    pub kind: i64,
    /// Bytes of the page when it is decompressed.
    pub uncompressed: usize,
    /// Bytes of the page in the file.
    pub compressed: usize,
    /// Values, NULL included.
    pub values: u32,
    /// By Parquet's numbers.
    pub encoding: i64,
    /// Of definition and repetition levels, by Parquet's numbers.
    pub level_encodings: (i64, i64),
    /// Version 2 only.
    pub nulls: u32,
    /// Version 2 only.
    pub rows: u32,
    /// Bytes of definition and repetition levels; version 2 only.
    pub level_bytes: (u32, u32),
    /// Version 2 only; true unless the page says no.
    pub is_compressed: bool,
    /// Bytes of the header itself.
    pub length: usize,
}

/// The header of a page at the beginning of some bytes; none if it does not end in them, or is none.
pub fn page_header(bytes: &[u8]) -> Option<PageHeader> {
    let mut input = Input::new(bytes);
    let mut header = PageHeader {
        is_compressed: true,
        kind: -1,
        ..PageHeader::default()
    };
    let mut last = 0;
    loop {
        match input.field(&mut last)? {
            (0, _) => break,
            (1, Value::Int(kind)) => header.kind = kind,
            (2, Value::Int(size)) => header.uncompressed = usize::try_from(size).ok()?,
            (3, Value::Int(size)) => header.compressed = usize::try_from(size).ok()?,
            (5 | 7 | 8, Value::Other(STRUCT)) => kind_header(&mut input, last, &mut header)?,
            (_, Value::Other(kind)) => input.skip(kind, 1)?,
            _ => {}
        }
    }
    header.length = input.position();
    Some(header)
}

fn kind_header(input: &mut Input<'_>, which: i16, header: &mut PageHeader) -> Option<()> {
    let small = |value: i64| u32::try_from(value).ok();
    let mut last = 0;
    loop {
        match (which, input.field(&mut last)?) {
            (_, (0, _)) => return Some(()),
            (_, (1, Value::Int(values))) => header.values = small(values)?,
            (5 | 7, (2, Value::Int(encoding))) => header.encoding = encoding,
            (5, (3, Value::Int(encoding))) => header.level_encodings.0 = encoding,
            (5, (4, Value::Int(encoding))) => header.level_encodings.1 = encoding,
            (8, (2, Value::Int(nulls))) => header.nulls = small(nulls)?,
            (8, (3, Value::Int(rows))) => header.rows = small(rows)?,
            (8, (4, Value::Int(encoding))) => header.encoding = encoding,
            (8, (5, Value::Int(bytes))) => header.level_bytes.0 = small(bytes)?,
            (8, (6, Value::Int(bytes))) => header.level_bytes.1 = small(bytes)?,
            (8, (7, Value::Bool(is_compressed))) => header.is_compressed = is_compressed,
            (_, (_, Value::Other(kind))) => input.skip(kind, 2)?,
            _ => {}
        }
    }
}
