//! The values of which packets are made.

/// What is left of a packet. Each function takes a value from the front; `None` when it is not there.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn u8(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Up to a zero, which is taken too.
    pub(crate) fn until_zero(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let bytes = self.bytes(end)?;
        self.u8()?;
        Some(bytes)
    }

    /// A number of one to nine bytes.
    #[inline]
    pub(crate) fn number(&mut self) -> Option<u64> {
        match self.u8()? {
            small @ ..=0xfa => Some(small.into()),
            0xfc => self.u16().map(u64::from),
            0xfd => {
                let [a, b, c] = self.array()?;
                Some(u32::from_le_bytes([a, b, c, 0]).into())
            }
            0xfe => self.array().map(u64::from_le_bytes),
            _ => None,
        }
    }

    /// Bytes after their number.
    #[inline]
    pub(crate) fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.bytes(usize::try_from(length).ok()?)
    }

    /// The cell of a row: `Some(None)` is NULL.
    #[inline]
    pub(crate) fn cell(&mut self) -> Option<Option<&'a [u8]>> {
        if let Some((0xfb, rest)) = self.0.split_first() {
            self.0 = rest;
            return Some(None);
        }
        self.text().map(Some)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*array)
    }
}

/// Appends a number in its shortest form.
pub(crate) fn put_number(number: usize, output: &mut Vec<u8>) {
    match number {
        0..=0xfa => output.push(number as u8),
        0xfb..=0xffff => {
            output.push(0xfc);
            output.extend((number as u16).to_le_bytes());
        }
        _ => {
            output.push(0xfe);
            output.extend((number as u64).to_le_bytes());
        }
    }
}

/// Appends bytes after their number.
pub(crate) fn put_text(bytes: &[u8], output: &mut Vec<u8>) {
    put_number(bytes.len(), output);
    output.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(number in any::<u32>()) {
            let mut bytes = Vec::new();
            put_number(number as usize, &mut bytes);
            let mut reader = Reader(&bytes);
            prop_assert_eq!(reader.number(), Some(u64::from(number)));
            prop_assert!(reader.0.is_empty());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut reader = Reader(&bytes);
            while reader.cell().is_some() && !reader.0.is_empty() {}
        }
    }
}
