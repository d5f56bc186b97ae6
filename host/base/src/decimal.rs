//! Decimal numbers of any length, compared by their digits: a float would round them.

/// A number in its shortest spelling without an exponent and a sign: 12.5 for `-1.250E1`. `None` if it is no number, or
/// if that spelling has more than `most` digits.
pub fn plain(number: &str, most: usize) -> Option<String> {
    let number = number.strip_prefix(['-', '+']).unwrap_or(number);
    let (written, exponent) = match number.split_once(['e', 'E']) {
        Some((written, exponent)) => (written, exponent.parse::<i32>().ok()?),
        None => (number, 0),
    };
    let (whole, fraction) = written.split_once('.').unwrap_or((written, ""));
    let mut digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    // How many digits stand before the point.
    let mut before = i64::try_from(whole.len()).ok()? + i64::from(exponent);
    digits.truncate(digits.trim_end_matches('0').len());
    let zeros = digits.len() - digits.trim_start_matches('0').len();
    digits.drain(..zeros);
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    before -= i64::try_from(zeros).ok()?;
    let length = i64::try_from(digits.len()).ok()?;
    let all = before.max(length).max(length.saturating_sub(before));
    if all > i64::try_from(most).ok()? {
        return None;
    }
    let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or_default());
    Some(match usize::try_from(before) {
        Ok(before) if before >= digits.len() => format!("{digits}{}", zeros(all - length)),
        Ok(before) if before > 0 => {
            let (whole, fraction) = digits.split_at(before);
            format!("{whole}.{fraction}")
        }
        _ => format!("0.{}{digits}", zeros(-before)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_keeps_its_digits_and_loses_its_exponent() {
        for (written, expected) in [
            ("4111111111111111e0", Some("4111111111111111")),
            ("411111111111111.1E+1", Some("4111111111111111")),
            ("1234567890123456789", Some("1234567890123456789")),
            ("-1.250E1", Some("12.5")),
            ("1234e-2", Some("12.34")),
            ("0012.500", Some("12.5")),
            ("1e3", Some("1000")),
            ("12e-5", Some("0.00012")),
            (".5", Some("0.5")),
            ("5.", Some("5")),
            ("-0.00e7", Some("0")),
            ("1e19", Some("10000000000000000000")),
            ("1e20", None),
            ("1e-21", None),
            ("1e999999999999", None),
            ("", None),
            (".", None),
            ("e5", None),
            ("--5", None),
            ("1_0", None),
            ("0x10", None),
        ] {
            assert_eq!(plain(written, 20).as_deref(), expected, "{written}");
        }
    }
}
