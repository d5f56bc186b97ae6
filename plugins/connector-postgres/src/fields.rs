//! The fields of an error or a notice that is too long to be kept whole: the statement's own text may stand in it.

/// Bytes of one field that are kept: more than an error of the connector's shows, in any characters.
const MAX_FIELD: usize = (16 << 10) + 4;
/// Fields that are kept; the protocol knows eighteen.
const MAX_FIELDS: usize = 32;

/// The body of such a message, each field cut, taken piece by piece as it arrives.
#[derive(Default)]
pub(crate) struct CutFields {
    kept: Vec<u8>,
    fields: usize,
    /// Bytes of the field that has begun.
    length: Option<usize>,
}

impl CutFields {
    /// Takes the next piece.
    pub(crate) fn take(&mut self, mut piece: &[u8]) {
        while let Some((first, rest)) = piece.split_first() {
            let Some(length) = self.length else {
                // The last field has no type but a zero, after which nothing comes.
                self.length = (*first != 0).then_some(0);
                self.fields += usize::from(*first != 0);
                self.keep(&[*first][..usize::from(*first != 0)]);
                piece = rest;
                continue;
            };
            let end = piece.iter().position(|byte| *byte == 0);
            let text = &piece[..end.unwrap_or(piece.len())];
            self.keep(&text[..text.len().min(MAX_FIELD - length)]);
            self.length = Some((length + text.len()).min(MAX_FIELD));
            piece = &piece[text.len()..];
            if end.is_some() {
                self.keep(&[0]);
                self.length = None;
                piece = &piece[1..];
            }
        }
    }

    /// The body of a message of the same meaning; `None` when its last field has no end.
    pub(crate) fn finish(mut self) -> Option<Vec<u8>> {
        self.kept.push(0);
        self.length.is_none().then_some(self.kept)
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.fields <= MAX_FIELDS {
            self.kept.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(body: &[u8], piece: usize) -> Option<Vec<u8>> {
        let mut fields = CutFields::default();
        body.chunks(piece).for_each(|piece| fields.take(piece));
        fields.finish()
    }

    #[test]
    fn every_field_is_there_and_none_is_longer_than_its_bound() {
        let long = "x".repeat(100_000);
        let body = format!("SERROR\0C22P02\0M{long}\0P7\0\0");
        let kept = "x".repeat(MAX_FIELD);
        let expected = format!("SERROR\0C22P02\0M{kept}\0P7\0\0");
        for piece in [1, 2, 7, 4_096, body.len()] {
            assert_eq!(
                cut(body.as_bytes(), piece),
                Some(expected.clone().into_bytes()),
                "{piece}"
            );
        }
    }

    #[test]
    fn no_number_of_fields_takes_more_room_than_some() {
        let body = format!("{}\0", "Dmore\0".repeat(100_000));
        assert_eq!(cut(body.as_bytes(), 100).unwrap().len(), MAX_FIELDS * 6 + 1);
    }

    #[test]
    fn a_field_without_an_end_is_refused() {
        assert_eq!(cut(b"SERROR\0Mno end", 5), None);
        assert_eq!(cut(b"", 1), Some(vec![0]));
    }
}
