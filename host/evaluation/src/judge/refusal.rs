//! What a text that gives no answer may say without a statement.

/// Words that decline, in English, German and French.
const DECLINING: [&str; 22] = [
    "no", "not", "none", "nothing", "neither", "nor", "never", "cannot", "unable", "without",
    "outside", "lack", "lacks", "nicht", "nichts", "kein", "keine", "keinen", "keiner", "pas",
    "aucun", "aucune",
];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Whether a text has a word that declines.
pub(super) fn has_word(text: &str) -> bool {
    let text = text.to_lowercase().replace('’', "'");
    let mut words = text.split(|letter: char| !letter.is_alphabetic() && letter != '\'');
    words.any(|word| word.ends_with("n't") || DECLINING.contains(&word))
}

/// The text without the digits of its dates, such as 2024-03-31, 31.3.2024 and March 31.
pub(super) fn without_dates(text: &str) -> String {
    let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    let is_month = |at: Option<usize>| {
        let word = at.and_then(|at| words.get(at)).map(|word| bare(word));
        word.is_some_and(|word| {
            word.len() >= 3 && MONTHS.iter().any(|month| month.starts_with(word))
        })
    };
    let mut kept = String::new();
    for (at, word) in words.iter().enumerate() {
        let beside_month = is_month(at.checked_sub(1)) || is_month(Some(at + 1));
        if is_date(bare(word)) || is_day(bare(word)) && beside_month {
            kept.extend(word.chars().filter(|letter| !letter.is_ascii_digit()));
        } else {
            kept.push_str(word);
        }
    }
    kept
}

/// A word without the signs around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|letter: char| !letter.is_alphanumeric())
}

/// Whether a word is a day of a year in digits.
fn is_date(word: &str) -> bool {
    let is_of = |part: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    ['-', '.', '/'].into_iter().any(|sign| {
        let parts: Vec<&str> = word.split(sign).collect();
        let [first, month, last] = parts[..] else {
            return false;
        };
        let begins_with_year = is_of(first, 4..=4) && is_of(last, 1..=2);
        let ends_with_year = is_of(first, 1..=2) && is_of(last, 4..=4);
        is_of(month, 1..=2) && (begins_with_year || ends_with_year)
    })
}

/// Whether a word may be the day of a month: 31, 31st.
fn is_day(word: &str) -> bool {
    let digits = word.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
    let suffix = word.strip_prefix(digits);
    let is_ordinal = suffix.is_some_and(|suffix| ["", "st", "nd", "rd", "th"].contains(&suffix));
    is_ordinal && digits.parse().is_ok_and(|day: u32| (1..=31).contains(&day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_no_digits() {
        for (text, expected) in [
            ("until 2024-03-31.", "until --."),
            ("(31.3.2024), 3/31/2024\nand 7", "(..), //\nand 7"),
            ("March 31, 2024", "March , 2024"),
            ("the 31st March 2024", "the st March 2024"),
            ("Mar. 1: 41,200", "Mar. : 41,200"),
        ] {
            assert_eq!(without_dates(text), expected);
        }
        for text in [
            "41,200 or 1.25",
            "1.2.3",
            "10-20-30",
            "the 31 orders",
            "March 41",
            "A 5",
        ] {
            assert_eq!(without_dates(text), text);
        }
    }

    #[test]
    fn declining_is_said_in_words() {
        for text in [
            "None of them",
            "It isn’t there",
            "I don't know",
            "Das steht nicht darin",
            "Aucune table",
        ] {
            assert!(has_word(text), "{text}");
        }
        for text in ["", "There are 7.", "A note on nobles"] {
            assert!(!has_word(text), "{text}");
        }
    }
}
