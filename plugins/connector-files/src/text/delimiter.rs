//! Which delimiter a CSV file has, where the configuration does not say it.

use std::io::Read as _;

use super::csv_rows::{BYTE_ORDER_MARK, CsvRows};
use super::sample::{FEWEST_ROWS, MAX_LOOK};
use crate::input;
use crate::layout::File;

/// What a file has, unless it shows another one.
pub const USUAL_DELIMITER: u8 = b',';
/// Those that a file may show.
const OTHERS: [u8; 3] = [b';', b'\t', b'|'];
/// Bytes in which the first line is looked for.
const MAX_HEADER: u64 = 64 << 10;

/// The delimiter that the first line and the first rows of a file show: the one under which each of them has the same
/// number of fields, at least two. It is the comma where the first line has one outside of quotes, where several
/// delimiters would do, and where the file cannot be read: reading it for its columns says why.
pub fn recognised_delimiter(root: &str, file: &File, rows: u32) -> u8 {
    let head = head(root, file).unwrap_or_default();
    let rows = rows.max(FEWEST_ROWS);
    let mut fitting = OTHERS
        .into_iter()
        .filter(|other| divides(&head, *other) && fits(root, file, *other, rows));
    match (fitting.next(), fitting.next()) {
        (Some(only), None) => only,
        _ => USUAL_DELIMITER,
    }
}

/// The beginning of a file.
fn head(root: &str, file: &File) -> Option<Vec<u8>> {
    let (mut input, _) = input::open(root, &file.path, file.codec, MAX_HEADER).ok()?;
    let mut head = Vec::new();
    input.read_to_end(&mut head).ok()?;
    Some(head)
}

/// Whether the first line has this delimiter and no comma, both outside of quotes.
fn divides(head: &[u8], delimiter: u8) -> bool {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let (mut is_quoted, mut is_there) = (false, false);
    for byte in head.iter().skip_while(|byte| is_end(byte)) {
        match *byte {
            // A doubled quote closes and opens.
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            USUAL_DELIMITER => return false,
            b'\n' | b'\r' => break,
            other => is_there |= other == delimiter,
        }
    }
    is_there
}

/// Whether the first rows have as many fields as the first line.
fn fits(root: &str, file: &File, delimiter: u8, rows: u32) -> bool {
    let Ok(mut reader) = CsvRows::open(root, file, delimiter, MAX_LOOK) else {
        return false;
    };
    for _ in 0..rows {
        let more = reader.advance();
        // A line that ends where the look does may be cut.
        if reader.bytes() >= MAX_LOOK {
            break;
        }
        match more {
            Ok(true) => {}
            Ok(false) => break,
            Err(_) => return false,
        }
    }
    true
}
