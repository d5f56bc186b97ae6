//! Decimals as texts.

use std::iter;

use arrow_array::types::Decimal128Type;
use arrow_array::{Array, PrimitiveArray, StringArray};
use arrow_buffer::{OffsetBufferBuilder, ScalarBuffer};

/// Room for the digits of 64 bits, a sign, a point and a zero before it.
const ROOM: usize = 24;
/// The largest scale of [`put_small`].
const MAX_SMALL_SCALE: usize = 18;

/// Decimals of one scale as texts.
///
/// # Errors
/// When the texts are longer than an array of texts can be.
pub fn texts(decimals: &PrimitiveArray<Decimal128Type>, scale: i8) -> Result<StringArray, String> {
    let mut text = Vec::with_capacity(decimals.len() * 12);
    let mut offsets = OffsetBufferBuilder::<i32>::new(decimals.len());
    for value in decimals {
        let before = text.len();
        if let Some(value) = value {
            match (u64::try_from(value.unsigned_abs()), usize::try_from(scale)) {
                (Ok(magnitude), Ok(scale)) if scale <= MAX_SMALL_SCALE => {
                    put_small(&mut text, value < 0, magnitude, scale);
                }
                _ => text.extend_from_slice(text_of(value, scale).as_bytes()),
            }
        }
        offsets.push_length(text.len() - before);
    }
    let text = ScalarBuffer::from(text).into_inner();
    StringArray::try_new(offsets.finish(), text, decimals.nulls().cloned())
        .map_err(|error| error.to_string())
}

/// `-12.50` of -1250 with two digits behind the point; with a negative number of them, zeros follow the digits.
pub fn text_of(value: i128, scale: i8) -> String {
    placed(value < 0, &value.unsigned_abs().to_string(), scale)
}

/// The same of a number that was written without its sign.
pub fn placed(is_negative: bool, digits: &str, scale: i8) -> String {
    let mut text = String::with_capacity(digits.len() + 3);
    if is_negative {
        text.push('-');
    }
    let Ok(scale) = usize::try_from(scale) else {
        text.push_str(digits);
        if digits != "0" {
            text.extend(iter::repeat_n('0', usize::from(scale.unsigned_abs())));
        }
        return text;
    };
    let (whole, part) = digits.split_at(digits.len().saturating_sub(scale));
    text.push_str(if whole.is_empty() { "0" } else { whole });
    if scale > 0 {
        text.push('.');
        text.extend(iter::repeat_n('0', scale - part.len()));
        text.push_str(part);
    }
    text
}

/// As [`placed`], for the numbers that nearly all are. It writes each digit where it belongs: to copy a few bytes of
/// text is a call out of the sandbox, and there would be several for one number.
fn put_small(text: &mut Vec<u8>, is_negative: bool, magnitude: u64, scale: usize) {
    let digits = magnitude.checked_ilog10().map_or(1, |log| log as usize + 1);
    let point = usize::from(scale > 0);
    let length = usize::from(is_negative) + digits.max(scale + 1) + point;
    let start = text.len();
    // A constant size, so that this is no copy of unknown length.
    text.extend_from_slice(&[b'0'; ROOM]);
    let mut rest = magnitude;
    for (place, byte) in text[start..start + length].iter_mut().rev().enumerate() {
        if place == scale && scale > 0 {
            *byte = b'.';
            continue;
        }
        *byte = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    if is_negative {
        text[start] = b'-';
    }
    text.truncate(start + length);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(value: i128, scale: i8) -> String {
        let array = PrimitiveArray::<Decimal128Type>::from_iter([None, Some(value), Some(0)]);
        let texts = texts(&array, scale).unwrap();
        assert!(texts.is_null(0));
        assert_eq!(texts.value(2), text_of(0, scale));
        texts.value(1).to_owned()
    }

    #[test]
    fn the_point_stands_before_the_digits_of_the_scale() {
        for (value, scale, text) in [
            (-1250, 2, "-12.50"),
            (-5, 2, "-0.05"),
            (0, 0, "0"),
            (7, 0, "7"),
            (0, 3, "0.000"),
            (100, 2, "1.00"),
            (12, -3, "12000"),
            (0, -3, "0"),
            (i128::from(u64::MAX), 18, "18.446744073709551615"),
            (-i128::from(u64::MAX), 0, "-18446744073709551615"),
            (
                10i128.pow(37),
                37,
                "1.0000000000000000000000000000000000000",
            ),
            (-1, 38, "-0.00000000000000000000000000000000000001"),
        ] {
            assert_eq!(written(value, scale), text);
        }
    }

    proptest! {
        #[test]
        fn both_ways_of_writing_agree(value: i64, cut in 0u32..63, scale in -4i8..=38) {
            let value = i128::from(value >> cut);
            prop_assert_eq!(written(value, scale), text_of(value, scale));
        }
    }
}
