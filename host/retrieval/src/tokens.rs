//! An estimate of tokens that needs no vocabulary of a vendor.

/// Letters of an ASCII word that one token holds.
const LETTERS: usize = 6;
/// Digits that one token holds.
const DIGITS: usize = 3;

/// About how many tokens a text has; rather too many than too few. Names of tables and columns take more tokens a byte
/// than prose, so bytes divided by four would be too few. The sum over lines is the number of the whole text.
pub fn tokens(text: &str) -> usize {
    let mut count = 0;
    let (mut letters, mut digits) = (0, 0);
    for letter in text.chars().chain([' ']) {
        if letters > 0 && !letter.is_ascii_alphabetic() {
            count += usize::div_ceil(letters, LETTERS);
            letters = 0;
        }
        if digits > 0 && !letter.is_ascii_digit() {
            count += usize::div_ceil(digits, DIGITS);
            digits = 0;
        }
        match letter {
            'a'..='z' | 'A'..='Z' => letters += 1,
            '0'..='9' => digits += 1,
            ' ' | '_' => {}
            _ if letter.is_ascii() => count += 1,
            _ => count += letter.len_utf8() - 1,
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_digits_and_signs_are_counted() {
        for (text, expected) in [
            ("", 0),
            ("id", 1),
            ("customer_id", 3),
            ("orders (id)", 4),
            ("20240131", 3),
            ("Straße", 3),
            ("表", 2),
        ] {
            assert_eq!(tokens(text), expected, "{text}");
        }
    }

    #[test]
    fn lines_add_up() {
        let (one, two) = ("orders (id integer)\n", "straße, 12.5 €\n");
        assert_eq!(tokens(&format!("{one}{two}")), tokens(one) + tokens(two));
    }
}
