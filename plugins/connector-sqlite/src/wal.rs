//! Whether a write-ahead log holds something that the database file lacks.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::file::read_start;

const WAL_HEADER: u64 = 32;
const FRAME_HEADER: u64 = 24;
/// Two copies of the index header of 48 bytes, and how many frames were written back.
const INDEX_LEN: usize = 100;
const INDEX_VERSION: u32 = 3_007_000;

/// False when there is no log, when it has no frames, or when its index proves that all of them were written back to
/// the database. The index is what the writing programs share; one that is missing or in doubt proves nothing.
///
/// # Errors
/// When there is a log that cannot be read.
pub fn holds_changes(wal: &Path, index: &Path) -> io::Result<bool> {
    let mut header = [0; WAL_HEADER as usize];
    let Some(mut log) = read_start(wal, &mut header)? else {
        return Ok(false);
    };
    let frames_follow = log.metadata()?.len() > WAL_HEADER;
    Ok(frames_follow && !is_written_back(&mut log, &header, index).unwrap_or(false))
}

fn is_written_back(
    log: &mut File,
    header: &[u8; WAL_HEADER as usize],
    index: &Path,
) -> Option<bool> {
    let mut bytes = [0; INDEX_LEN];
    File::open(index).ok()?.read_exact(&mut bytes).ok()?;
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let salt = &header[16..24];
    let is_sound =
        word(0)? == INDEX_VERSION && bytes[..48] == bytes[48..96] && &bytes[32..40] == salt;
    let (last_frame, written_back) = (word(16)?, word(96)?);
    if !is_sound || written_back < last_frame {
        return Some(false);
    }
    // A crash of the machine may leave an index that is older than the log: no frame may follow the last known one.
    let page_size = u64::from(u32::from_be_bytes(header[8..12].try_into().ok()?));
    let next = WAL_HEADER + u64::from(last_frame) * (FRAME_HEADER + page_size);
    let mut frame = [0; FRAME_HEADER as usize];
    log.seek(SeekFrom::Start(next)).ok()?;
    Some(log.read_exact(&mut frame).is_err() || &frame[8..16] != salt)
}
