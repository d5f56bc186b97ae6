//! Dates and times in a text.

/// The length of a date that a text begins with: of `2024-03-01`, or of a month as `2024-03`.
pub fn date_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_part = |mut places: std::ops::Range<usize>| places.all(is_digit);
    let is_dash = |at: usize| bytes.get(at) == Some(&b'-');
    if !is_part(0..4) || !is_dash(4) || !is_part(5..7) {
        return None;
    }
    let length = if is_dash(7) && is_part(8..10) { 10 } else { 7 };
    let goes_on = is_digit(length) || is_dash(length) && is_digit(length + 1);
    (!goes_on).then_some(length)
}

/// The text without its dates and months that one of these moments begins with.
pub fn without_dates(text: &str, moments: &[String]) -> String {
    without(text, |rest| {
        let length = date_length(rest)?;
        let mut moments = moments.iter();
        let is_known = moments.any(|moment| moment.starts_with(&rest[..length]));
        is_known.then_some(length)
    })
}

/// The text without the time of midnight, such as `00:00` or `00:00:00.000`.
pub fn without_midnights(text: &str) -> String {
    without(text, |rest| {
        let behind = rest.strip_prefix("00:00")?;
        let behind = behind.strip_prefix(":00").unwrap_or(behind);
        let behind = match behind.strip_prefix(".0") {
            Some(fraction) => fraction.trim_start_matches('0'),
            None => behind,
        };
        let mut next = behind.chars();
        let goes_on = match next.next() {
            Some('.' | ':') => next.next().is_some_and(|letter| letter.is_ascii_digit()),
            Some(letter) => letter.is_ascii_digit(),
            None => false,
        };
        (!goes_on).then_some(rest.len() - behind.len())
    })
}

/// The text without what `found` gives the length of, where that does not begin within a number, a date or a time.
fn without(text: &str, found: impl Fn(&str) -> Option<usize>) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_within = false;
    while let Some(letter) = rest.chars().next() {
        let length = if is_within { None } else { found(rest) };
        kept.push(if length.is_some() { ' ' } else { letter });
        is_within = length.is_none() && (letter.is_ascii_digit() || "-.:".contains(letter));
        rest = rest.split_at(length.unwrap_or(letter.len_utf8())).1;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_dates_and_their_months_are_left_out() {
        let moments = ["2024-03-01".to_owned(), "2023-05-06T10:00:00".to_owned()];
        for (text, kept) in [
            ("In 2024-03, since 2024-03-01.", "In  , since  ."),
            ("On 2023-05-06T10:00:00", "On  T10:00:00"),
            ("2024-03-02, 2024-04", "2024-03-02, 2024-04"),
            ("12024-03 and 2024-03-011", "12024-03 and 2024-03-011"),
        ] {
            assert_eq!(without_dates(text, &moments), kept);
        }
    }

    #[test]
    fn midnights_are_left_out() {
        for (text, kept) in [
            ("2020-02-09T00:00:00.", "2020-02-09T ."),
            ("at 00:00, 00:00:00.000", "at  ,  "),
            (
                "at 00:00:01, 00:00:00.5, 10:00:00",
                "at 00:00:01, 00:00:00.5, 10:00:00",
            ),
        ] {
            assert_eq!(without_midnights(text), kept);
        }
    }
}
