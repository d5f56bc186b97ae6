//! The order of dates and times that their types cannot hold, such as `infinity`, `2024-02-00` and `-838:59:59`.
//! Plugins send them as text, and text has another order.

const MICROS_PER_SECOND: i128 = 1_000_000;
const MICROS_PER_DAY: i128 = 86_400 * MICROS_PER_SECOND;

/// Where a date or time stands among the values of its column; `None` if the text has no known form.
///
/// A date counts as its year, month and day, and not in days: MySQL has the month 0 and the day 0.
pub fn place(text: &str) -> Option<i128> {
    match text {
        "infinity" => return Some(i128::MAX),
        "-infinity" => return Some(i128::MIN),
        _ => {}
    }
    let (text, is_before_christ) = match text.strip_suffix(" BC") {
        Some(text) => (text, true),
        None => (text, false),
    };
    let (day, time) = match text.split_once([' ', 'T']) {
        Some((day, time)) => (Some(day), Some(time)),
        None if text.contains(':') => (None, Some(text)),
        None => (Some(text), None),
    };
    let day = match day {
        Some(day) => place_of_day(day, is_before_christ)?,
        None => 0,
    };
    let time = match time {
        Some(time) => place_of_time(time)?,
        None => 0,
    };
    Some(day + time)
}

fn place_of_day(text: &str, is_before_christ: bool) -> Option<i128> {
    let (sign, text) = signed(text);
    let (year, rest) = text.split_once('-')?;
    let (month, day) = rest.split_once('-')?;
    let (year, month, day) = (sign * number(year)?, number(month)?, number(day)?);
    // The year 1 BC is the year 0.
    let year = if is_before_christ { 1 - year } else { year };
    let is_date = month <= 12 && day <= 31;
    is_date.then_some(((year * 16 + month) * 32 + day) * MICROS_PER_DAY)
}

fn place_of_time(text: &str) -> Option<i128> {
    let utc = ["Z", "+00", "+00:00"];
    let text = utc
        .iter()
        .find_map(|zone| text.strip_suffix(*zone))
        .unwrap_or(text);
    let (sign, text) = signed(text);
    let (hours, rest) = text.split_once(':')?;
    let (minutes, seconds) = rest.split_once(':')?;
    let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let seconds = (number(hours)? * 60 + number(minutes)?) * 60 + number(seconds)?;
    let micros = number(format!("{fraction:0<6}").get(..6)?)?;
    Some(sign * (seconds * MICROS_PER_SECOND + micros))
}

fn signed(text: &str) -> (i128, &str) {
    match text.strip_prefix('-') {
        Some(text) => (-1, text),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// A number of at most 12 digits, so that no sum can overflow.
fn number(text: &str) -> Option<i128> {
    let are_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match are_digits && text.len() <= 12 {
        true => text.parse().ok(),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check_order(texts: &[&str]) {
        let places: Vec<_> = texts.iter().map(|text| place(text).unwrap()).collect();
        assert!(places.is_sorted_by(|a, b| a < b), "{texts:?} {places:?}");
    }

    #[test]
    fn dates_beyond_their_type_have_their_order() {
        check_order(&[
            "-infinity",
            "-290308-12-21",
            "0044-03-15 BC",
            "0001-01-01 BC",
            "0000-02-01",
            "0001-01-01",
            "2024-01-31",
            "2024-02-00",
            "2024-02-01",
            "9999-12-31",
            "10000-01-01",
            "+5881580-07-11",
            "infinity",
        ]);
    }

    #[test]
    fn instants_beyond_their_type_have_their_order() {
        check_order(&[
            "0000-00-00 00:00:00",
            "1999-12-31T23:59:59.999999Z",
            "2000-01-01 00:00:00+00",
            "2000-01-01T00:00:00.5Z",
            "294276-12-31 23:59:59+00",
        ]);
        assert_eq!(
            place("2000-01-01 00:00:00+00"),
            place("2000-01-01T00:00:00")
        );
    }

    #[test]
    fn times_beyond_a_day_have_their_order() {
        check_order(&[
            "-838:59:59.999999",
            "-00:00:01",
            "00:00:00",
            "00:00:00.05",
            "23:59:59",
            "24:00:00",
            "838:59:59",
        ]);
    }

    #[test]
    fn other_texts_have_no_place() {
        for text in ["", "soon", "2024-02", "2024-13-01", "12:30", "--1-1-1"] {
            assert_eq!(place(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[-+0-9:.TZ BC]{0,40}") {
            let _ = place(&text);
        }
    }
}
