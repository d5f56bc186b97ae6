//! A file of text as a stream of bytes, decompressed on the way.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;
use mindhost_sdk::{Error, ErrorKind, Result};
use zstd::stream::read::Decoder;

use crate::directory::unreadable;
use crate::format::Codec;

const READ_BYTES: usize = 256 << 10;
/// The window of a Zstandard frame, as a power of two: what `zstd` decompresses unless it is told otherwise.
const MAX_WINDOW: u32 = 27;
/// Bytes of one row, at most. Somewhat more than the largest cell of the host.
pub const MAX_ROW: usize = 64 << 20;

/// A file, decompressed. Reading fails when one row becomes too long: [`Budget::next_row`] begins the next.
pub type Input = BufReader<Bounded>;

/// Bytes that are left for the current row.
#[derive(Clone)]
pub struct Budget(Rc<Cell<usize>>);

impl Budget {
    /// Begins a row. What is read ahead for the next rows counts too, so one read may be more.
    pub fn next_row(&self) {
        self.0.set(MAX_ROW + READ_BYTES);
    }
}

/// Reads no more than the budget.
pub struct Bounded {
    inner: Box<dyn Read>,
    left: Budget,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let left = self.left.0.get().checked_sub(read);
        let message = format!("a row has more than {} MiB", MAX_ROW >> 20);
        self.left
            .0
            .set(left.ok_or_else(|| io::Error::new(io::ErrorKind::FileTooLarge, message))?);
        Ok(read)
    }
}

/// gzip whose errors say what is wrong with the file.
struct Gzip<R> {
    decoder: MultiGzDecoder<R>,
    has_data: bool,
}

impl<R: BufRead> Gzip<R> {
    fn new(file: R) -> Self {
        Self {
            decoder: MultiGzDecoder::new(file),
            has_data: false,
        }
    }

    fn explained(&self, error: io::Error) -> io::Error {
        let is_cut = error.kind() == io::ErrorKind::UnexpectedEof;
        if !is_cut && error.kind() != io::ErrorKind::InvalidInput {
            return error;
        }
        // The decoder has a header while it reads what is behind it, so an error without one is of a header.
        let what = match (self.decoder.header(), self.has_data) {
            (None, false) => "it is not gzip, although its name ends like that of such a file",
            (None, true) => {
                "behind its gzip data are other bytes, so it may be damaged; compress it again"
            }
            (Some(_), _) if is_cut => {
                "its gzip data end too early, so it may be cut off; copy it again"
            }
            (Some(_), _) => return error,
        };
        io::Error::new(error.kind(), what)
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self
            .decoder
            .read(buffer)
            .map_err(|error| self.explained(error))?;
        self.has_data |= read > 0;
        Ok(read)
    }
}

/// Opens a file for reading from its beginning, at most `most` bytes of what is in it.
///
/// # Errors
/// When it cannot be opened.
pub fn open(root: &str, path: &str, codec: Codec, most: u64) -> Result<(Input, Budget)> {
    let failed = |error: io::Error| unreadable(&error).context(format_args!("`{path}`"));
    let file = File::open(Path::new(root).join(path)).map_err(failed)?;
    let file = BufReader::with_capacity(READ_BYTES, file);
    let inner: Box<dyn Read> = match codec {
        Codec::Plain => Box::new(file.take(most)),
        Codec::Gzip => Box::new(Gzip::new(file).take(most)),
        Codec::Zstd => {
            let mut decoder = Decoder::with_buffer(file).map_err(failed)?;
            decoder.window_log_max(MAX_WINDOW).map_err(failed)?;
            Box::new(decoder.take(most))
        }
    };
    let left = Budget(Rc::new(Cell::new(0)));
    left.next_row();
    let bounded = Bounded {
        inner,
        left: left.clone(),
    };
    Ok((BufReader::with_capacity(READ_BYTES, bounded), left))
}

/// The next line without its end, in `line`, and how many bytes both have; 0 at the end of the file.
///
/// # Errors
/// When the line is too long, or the file cannot be read.
pub fn line(input: &mut Input, line: &mut Vec<u8>) -> io::Result<usize> {
    line.clear();
    let read = input.read_until(b'\n', line)?;
    while let [.., b'\n' | b'\r'] = line.as_slice() {
        line.pop();
    }
    Ok(read)
}

/// What a reader says of a file.
pub fn fault(path: &str, error: &dyn std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Upstream,
        format!("`{path}` cannot be read: {error}"),
    )
}
