//! Values of the type `bit`.
//!
//! MariaDB sends a stored value as bytes, the highest first. A computed one (`max`, `coalesce`, a scalar subquery) it
//! sends as the digits of the number or as bytes, and describes both in the same way.

/// The type of a column, as far as it tells how the values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BitType {
    bits: u32,
    /// Whether the server may send digits.
    is_computed: bool,
}

/// What a cell says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BitValue {
    Number(u64),
    /// It is both the digits of one number and the bytes of another.
    Ambiguous,
    Malformed,
}

impl BitType {
    /// A type of so many bits, at least 1 and at most 64.
    pub(crate) fn new(bits: u32, is_computed: bool) -> Self {
        let bits = bits.clamp(1, 64);
        Self { bits, is_computed }
    }

    /// Reads a cell.
    pub(crate) fn read(self, cell: &[u8]) -> BitValue {
        let digits = match self.is_computed {
            true => digits(cell),
            false => None,
        };
        match (self.bytes(cell), digits) {
            (Some(number), None) | (None, Some(number)) => BitValue::Number(number),
            (Some(_), Some(_)) => BitValue::Ambiguous,
            (None, None) => BitValue::Malformed,
        }
    }

    /// The number that the cell is as bytes, if it has as many as the type and fits its bits.
    fn bytes(self, cell: &[u8]) -> Option<u64> {
        let width = usize::try_from(self.bits.div_ceil(8)).ok()?;
        if cell.len() != width {
            return None;
        }
        let number = cell
            .iter()
            .fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        // A shift by all 64 bits is none.
        (number.checked_shr(self.bits).unwrap_or(0) == 0).then_some(number)
    }
}

/// The number that the cell is as digits, written as the server writes numbers: without a sign or zeros before it.
fn digits(cell: &[u8]) -> Option<u64> {
    let is_plain = match cell {
        [b'0', _, ..] => false,
        digits => digits.iter().all(u8::is_ascii_digit),
    };
    match is_plain {
        true => std::str::from_utf8(cell).ok()?.parse().ok(),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_value_is_bytes_of_the_width_of_its_type() {
        let read = |bits, cell: &[u8]| BitType::new(bits, false).read(cell);
        assert_eq!(read(1, &[1]), BitValue::Number(1));
        assert_eq!(read(8, b"5"), BitValue::Number(53));
        assert_eq!(read(16, b"10"), BitValue::Number(0x3130));
        assert_eq!(read(64, &[255; 8]), BitValue::Number(u64::MAX));
        for (bits, cell) in [
            (1, &b"1"[..]),
            (12, b"5"),
            (12, b"4095"),
            (64, b"123456789"),
        ] {
            assert_eq!(read(bits, cell), BitValue::Malformed, "{bits}");
        }
    }

    #[test]
    fn computed_value_is_read_where_only_one_form_fits() {
        let read = |bits, cell: &[u8]| BitType::new(bits, true).read(cell);
        for (bits, cell, number) in [
            (1, &b"0"[..], 0),
            (1, b"1", 1),
            (1, b"\x01", 1),
            (5, b"9", 9),
            (8, b"53", 53),
            (8, b"\x05", 5),
            (12, b"5", 5),
            (12, b"10", 10),
            (12, b"4095", 4095),
            (12, b"\x0f\xff", 4095),
            (16, b"07", 0x3037),
            (64, b"18446744073709551615", u64::MAX),
            (64, &[255; 8], u64::MAX),
        ] {
            assert_eq!(
                read(bits, cell),
                BitValue::Number(number),
                "{bits} {cell:?}"
            );
        }
        for (bits, cell) in [(6, &b"7"[..]), (8, b"0"), (16, b"10"), (64, b"12345678")] {
            assert_eq!(read(bits, cell), BitValue::Ambiguous, "{bits} {cell:?}");
        }
        for cell in [&b""[..], b"-1", b"007", b"18446744073709551616", b"+5 "] {
            assert_eq!(read(12, cell), BitValue::Malformed, "{cell:?}");
        }
    }

    proptest::proptest! {
        /// Either form of a number is read as that number, or not at all.
        #[test]
        fn no_computed_value_is_taken_for_another(
            bits in 1_u32..=64,
            random in proptest::num::u64::ANY,
            fewer in 0_u32..64,
        ) {
            let number = random >> (64 - bits) >> (fewer % bits);
            let width = bits.div_ceil(8) as usize;
            let bytes = number.to_be_bytes()[8 - width..].to_vec();
            for cell in [bytes, number.to_string().into_bytes()] {
                let read = BitType::new(bits, true).read(&cell);
                assert!(matches!(read, BitValue::Ambiguous) || read == BitValue::Number(number), "{read:?}");
            }
        }
    }
}
