//! Messages with numbers that are not aligned.
//!
//! Polars before 1.31 aligns the length in front of `variadicBufferCounts` instead of the numbers behind it, in every
//! file with a column of texts or bytes. Other readers accept that, and the checks of `flatbuffers` refuse it.

use arrow_ipc::{DictionaryBatch, Message, MessageHeader, RecordBatch};

/// Bytes of an offset, and of the length in front of a vector.
const OFFSET: usize = 4;
/// Bytes of a number of the vector, and what it begins at a multiple of.
const NUMBER: usize = 8;

/// The message with its `variadicBufferCounts` aligned. Nothing else is looked at: a message that is broken stays so,
/// and is still to be checked.
pub fn aligned(metadata: Vec<u8>) -> Vec<u8> {
    with_moved_counts(&metadata).unwrap_or(metadata)
}

/// The message with a copy of the vector behind its end, where the table finds it; none if it need not move.
fn with_moved_counts(metadata: &[u8]) -> Option<Vec<u8>> {
    let place = place_of_counts(metadata)?;
    let from = target(metadata, place)?;
    let numbers = from + OFFSET;
    if numbers.is_multiple_of(NUMBER) {
        return None;
    }
    let count = usize::try_from(u32::from_le_bytes(bytes(metadata, from)?)).ok()?;
    let end = numbers.checked_add(count.checked_mul(NUMBER)?)?;
    let vector = metadata.get(from..end)?;
    let to = metadata.len().next_multiple_of(NUMBER) + OFFSET;
    let distance = u32::try_from(to.checked_sub(place)?).ok()?;
    let mut moved = metadata.to_vec();
    moved.resize(to, 0);
    moved.extend_from_slice(vector);
    moved
        .get_mut(place..place + OFFSET)?
        .copy_from_slice(&distance.to_le_bytes());
    Some(moved)
}

/// Where a record batch or the values of a dictionary have the offset of the vector.
fn place_of_counts(metadata: &[u8]) -> Option<usize> {
    let message = target(metadata, 0)?;
    let kind = field(metadata, message, Message::VT_HEADER_TYPE)?;
    let header = target(metadata, field(metadata, message, Message::VT_HEADER)?)?;
    let batch = match MessageHeader(*metadata.get(kind)?) {
        MessageHeader::RecordBatch => header,
        MessageHeader::DictionaryBatch => {
            target(metadata, field(metadata, header, DictionaryBatch::VT_DATA)?)?
        }
        _ => return None,
    };
    field(metadata, batch, RecordBatch::VT_VARIADICBUFFERCOUNTS)
}

/// The place of a field of a table, by its place in the table's list of fields; none if the table has no such field.
fn field(metadata: &[u8], table: usize, entry: u16) -> Option<usize> {
    let back = i32::from_le_bytes(bytes(metadata, table)?);
    let list = usize::try_from(i64::try_from(table).ok()? - i64::from(back)).ok()?;
    let length = u16::from_le_bytes(bytes(metadata, list)?);
    if entry >= length {
        return None;
    }
    let entry = list.checked_add(usize::from(entry))?;
    match u16::from_le_bytes(bytes(metadata, entry)?) {
        0 => None,
        offset => table.checked_add(usize::from(offset)),
    }
}

/// What the offset at a place points to, if it is within the message.
fn target(metadata: &[u8], place: usize) -> Option<usize> {
    let offset = u32::from_le_bytes(bytes(metadata, place)?);
    let target = place.checked_add(usize::try_from(offset).ok()?)?;
    (target < metadata.len()).then_some(target)
}

fn bytes<const N: usize>(metadata: &[u8], place: usize) -> Option<[u8; N]> {
    metadata.get(place..)?.first_chunk::<N>().copied()
}

#[cfg(test)]
mod tests {
    use arrow_ipc::root_as_message;
    use proptest::prelude::*;

    use super::*;

    /// The messages in `fixture/polars_1_17_uncompressed.arrow`: a dictionary, and rows.
    fn messages() -> [Vec<u8>; 2] {
        let file = include_bytes!("../../../fixture/polars_1_17_uncompressed.arrow");
        [&file[448..624], &file[696..1064]].map(<[u8]>::to_vec)
    }

    #[test]
    fn counts_that_are_not_aligned_are_moved() {
        for (message, expected) in messages().into_iter().zip([0_i64, 1]) {
            assert!(root_as_message(&message).is_err());
            let moved = aligned(message);
            let parsed = root_as_message(&moved).expect("a message");
            let values = parsed
                .header_as_dictionary_batch()
                .and_then(|dictionary| dictionary.data());
            let batch = parsed.header_as_record_batch().or(values).expect("a batch");
            let counts = batch.variadicBufferCounts().expect("counts");
            assert_eq!(counts.into_iter().collect::<Vec<_>>(), [expected]);
            // A message that is aligned stays as it is.
            assert_eq!(aligned(moved.clone()), moved);
        }
    }

    proptest! {
        #[test]
        fn changed_and_cut_messages_are_survived(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            cut in any::<prop::sample::Index>(),
            message in 0..2_usize,
        ) {
            let mut message = messages()[message].clone();
            for (index, value) in changes {
                let place = index.index(message.len());
                message[place] = value;
            }
            message.truncate(cut.index(message.len() + 1));
            let moved = aligned(message.clone());
            prop_assert!(moved.len() < 2 * message.len() + 16);
        }
    }
}
