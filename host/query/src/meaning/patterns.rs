//! Patterns of `to_char`, `to_date` and `to_timestamp`: those of PostgreSQL, which people write, as those of chrono,
//! which DataFusion takes.

use datafusion::common::{Result, plan_err};

/// What PostgreSQL writes for a date or a time, and chrono's word for it. Of two that begin alike, the longer is
/// first. Those without a word of chrono's are refused.
const PARTS: [(&str, &str); 30] = [
    ("FMMonth", "%B"),
    ("FMDay", "%A"),
    ("FMHH24", "%-H"),
    ("FMHH12", "%-I"),
    ("FMHH", "%-I"),
    ("FMDD", "%-d"),
    ("FMMM", "%-m"),
    ("FMMI", "%-M"),
    ("FMSS", "%-S"),
    ("YYYY", "%Y"),
    ("IYYY", "%G"),
    ("YY", "%y"),
    ("IW", "%V"),
    ("IDDD", ""),
    ("ID", "%u"),
    ("HH24", "%H"),
    ("HH12", "%I"),
    ("HH", "%I"),
    ("MI", "%M"),
    ("SSSS", ""),
    ("SS", "%S"),
    ("MS", "%3f"),
    ("US", "%6f"),
    ("MM", "%m"),
    ("Mon", "%b"),
    ("DDD", "%j"),
    ("DD", "%d"),
    ("Dy", "%a"),
    ("AM", "%p"),
    ("PM", "%p"),
];

/// The pattern of a function in chrono's words. One with a `%` is in them already.
///
/// # Errors
/// A word that has none there, with those that have one.
pub fn of_chrono(function: &str, pattern: &str) -> Result<String> {
    if pattern.contains('%') {
        return Ok(pattern.to_owned());
    }
    let mut written = String::new();
    let mut rest = pattern;
    while let Some(next) = rest.chars().next() {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (text, after) = quoted.split_once('"').unwrap_or((quoted, ""));
            written.push_str(text);
            rest = after;
        } else if !next.is_ascii_alphabetic() {
            written.push(next);
            rest = rest.get(next.len_utf8()..).unwrap_or_default();
        } else if let Some((word, part)) = part(rest) {
            written.push_str(part);
            rest = rest.get(word.len()..).unwrap_or_default();
        } else {
            return plan_err!(
                "{function} does not know {rest:?} of the pattern {pattern:?} here; it knows YYYY YY MM Mon DD DDD Dy \
                 IYYY IW ID HH24 HH12 MI SS MS US AM, FMMonth, FMDay, texts in double quotes, and the patterns of \
                 strftime (%Y-%m-%d)"
            );
        }
    }
    Ok(written)
}

/// The word at the start, in capitals or not where that makes no difference.
fn part(rest: &str) -> Option<(&'static str, &'static str)> {
    let starts = |word: &str| {
        let head = rest.get(..word.len());
        // The case of a name is that of what is shown.
        match word.bytes().any(|byte| byte.is_ascii_lowercase()) {
            true => head == Some(word),
            false => head.is_some_and(|head| head.eq_ignore_ascii_case(word)),
        }
    };
    let (word, part) = PARTS.into_iter().find(|(word, _)| starts(word))?;
    (!part.is_empty()).then_some((word, part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_postgresql_are_those_of_chrono() {
        for (pattern, expected) in [
            ("YYYY-MM-DD HH24:MI:SS", "%Y-%m-%d %H:%M:%S"),
            ("yyyy\"W\"iw", "%YW%V"),
            ("FMDay, DD. Mon", "%A, %d. %b"),
            ("FMMM/FMDD", "%-m/%-d"),
            ("%Y-%m", "%Y-%m"),
            ("HH12:MI AM", "%I:%M %p"),
        ] {
            let found = of_chrono("to_char", pattern).unwrap();
            assert_eq!(found, expected, "{pattern}");
        }
        for pattern in ["Day", "YYYY-Q", "SSSS", "MONTH", "words"] {
            of_chrono("to_char", pattern).unwrap_err();
        }
    }
}
