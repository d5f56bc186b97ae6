//! Words of questions and names, so that "Order-Items" and "order item" have the same.

use std::collections::{HashMap, HashSet};

/// Words that say nothing of what is asked.
const COMMON: [&str; 42] = [
    "a", "all", "am", "an", "and", "any", "are", "at", "be", "by", "did", "do", "doe", "each",
    "for", "from", "give", "had", "has", "have", "how", "i", "in", "is", "it", "many", "me",
    "much", "of", "on", "or", "our", "show", "that", "the", "there", "to", "was", "we", "were",
    "what", "with",
];

/// The words of a text in lower case and in the singular, in order.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for char in text.chars() {
        // `orderItems` is two words.
        let begins = char.is_uppercase() && before.is_lowercase();
        if (!char.is_alphanumeric() || begins) && !word.is_empty() {
            words.push(singular(&std::mem::take(&mut word)));
        }
        if char.is_alphanumeric() {
            word.extend(char.to_lowercase());
        }
        before = char;
    }
    if !word.is_empty() {
        words.push(singular(&word));
    }
    words
}

/// Punctuation that never changes what is asked.
const PUNCTUATION: &str = ";:?¡¿'\"`´‘’“”„«»()[]{}—_…";

/// The signs of a text that change what is asked, each with the number of words before it: comparisons, operators and
/// currencies, and of numbers the sign and the point. So `-5` and `5`, or `a < b` and `a > b`, are not the same.
pub(super) fn signs(text: &str) -> Vec<(usize, char)> {
    let mut signs = Vec::new();
    let (mut count, mut counted) = (0, 0);
    let mut before = ' ';
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let next = letters.peek().map_or(' ', |(_, next)| *next);
        let is_sign = match letter {
            '-' | '–' | '\u{2212}' => next.is_numeric() && !before.is_alphanumeric(),
            '.' | ',' => next.is_numeric(),
            '!' => next == '=',
            _ => {
                let is_word = letter.is_alphanumeric() || letter.is_whitespace();
                !is_word && !PUNCTUATION.contains(letter)
            }
        };
        if is_sign {
            count += text.get(counted..at).map_or(0, |said| words(said).len());
            counted = at;
            signs.push((count, letter));
        }
        before = letter;
    }
    signs
}

/// Without the endings of an English plural; the same for both forms is enough.
fn singular(word: &str) -> String {
    let is_short = word.chars().count() < 4;
    if is_short || word.ends_with("ss") || word.ends_with("us") {
        return word.to_owned();
    }
    match word.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => word.strip_suffix('s').unwrap_or(word).to_owned(),
    }
}

/// Whether a word says what is asked.
pub(super) fn counts(word: &str) -> bool {
    !COMMON.contains(&word)
}

/// Whether a text has every word of a name.
pub(super) fn has(text: &HashSet<String>, name: &str) -> bool {
    let name = words(name);
    !name.is_empty() && name.iter().all(|word| text.contains(word))
}

/// How much of a rare word's weight a repetition adds, and how much the length of a text counts: the usual values.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// The BM25 scores of texts for a question, in the order of the texts; 0 without a word in common that counts.
pub(super) fn scores(texts: &[Vec<String>], question: &HashSet<String>) -> Vec<f64> {
    let asked: Vec<&String> = question.iter().filter(|word| counts(word)).collect();
    let mut texts_with: HashMap<&str, f64> = HashMap::new();
    for text in texts {
        for word in text.iter().collect::<HashSet<_>>() {
            *texts_with.entry(word).or_default() += 1.0;
        }
    }
    let count = texts.len() as f64;
    let length = texts.iter().map(Vec::len).sum::<usize>().max(1) as f64 / count.max(1.0);
    let score = |text: &Vec<String>| {
        let weight = |word: &&String| {
            let times = text.iter().filter(|one| one == word).count() as f64;
            let with = texts_with.get(word.as_str()).copied().unwrap_or(0.0);
            let rarity = (1.0 + (count - with + 0.5) / (with + 0.5)).ln();
            rarity * times * (K1 + 1.0) / (times + K1 * (1.0 - B + B * text.len() as f64 / length))
        };
        asked.iter().map(weight).sum::<f64>()
    };
    texts.iter().map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_and_in_the_singular() {
        assert_eq!(
            words("How many Order-Items?"),
            ["how", "many", "order", "item"]
        );
        assert_eq!(
            words("orderItems order_items"),
            ["order", "item", "order", "item"]
        );
        assert_eq!(
            words("categories status class"),
            ["category", "status", "class"]
        );
        assert_eq!(words("größte Städte, 2026"), ["größte", "städte", "2026"]);
        assert_eq!(words(" ?! "), [""; 0]);
    }

    #[test]
    fn signs_that_change_what_is_asked_are_kept() {
        for (one, other) in [
            ("price < 5", "price > 5"),
            ("price <= 5", "price < 5"),
            ("price != 5", "price = 5"),
            ("below -5 degrees", "below 5 degrees"),
            ("more than 1.5", "more than 1 5"),
            ("more than .5", "more than 5"),
            ("above 5 €", "above 5 $"),
            ("a < b c", "a b < c"),
        ] {
            assert_ne!(signs(one), signs(other), "{one}; {other}");
        }
        for (one, other) in [
            ("price <5", "Price < 5?"),
            ("How many Order-Items?", "how many order items"),
            ("orders of 2023 - 2024", "Orders of 2023-2024!"),
            ("Who is \"Ann\", (really)?", "who is Ann really"),
        ] {
            assert_eq!(signs(one), signs(other), "{one}; {other}");
        }
    }

    #[test]
    fn rare_common_words_score_highest() {
        let texts = ["revenue by month", "orders by month", "customers in Berlin"];
        let texts: Vec<_> = texts.iter().map(|text| words(text)).collect();
        let question: HashSet<String> = words("What is the revenue of each month?")
            .into_iter()
            .collect();
        let scores = scores(&texts, &question);
        assert!(scores[0] > scores[1] && scores[1] > 0.0, "{scores:?}");
        assert_eq!(scores[2], 0.0);
    }
}
