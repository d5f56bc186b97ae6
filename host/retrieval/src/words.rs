//! Words of names and of questions: how they are split, stemmed, and which others mean the same.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use frostem::{Algorithm, Stemmer};

/// Longest text of a catalog that is split, in letters. Longer descriptions add nothing that finds a table.
const MAX_TEXT: usize = 2_000;
/// Longest question that is split, in letters. What it asks for may stand behind a long introduction.
const MAX_QUESTION: usize = 40_000;
/// Longest word, in letters; the rest of it is cut.
const MAX_WORD: usize = 40;

/// Splits text into lower-case words, also within `orderItems`, `order_items`, `HTTPServer` and `item2`.
pub fn split(text: &str) -> Vec<String> {
    split_first(text, MAX_TEXT)
}

/// As [`split`], for what a caller says.
pub fn split_question(text: &str) -> Vec<String> {
    split_first(text, MAX_QUESTION)
}

fn split_first(text: &str, letters: usize) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut letters = text.chars().take(letters).peekable();
    let mut last = ' ';
    while let Some(letter) = letters.next() {
        let next_is_lower = letters.peek().is_some_and(|next| next.is_lowercase());
        if !letter.is_alphanumeric() || is_border(last, letter, next_is_lower) {
            take(&mut word, &mut words);
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        last = letter;
    }
    take(&mut word, &mut words);
    words
}

/// Whether a word begins with `letter`, which follows `last`.
fn is_border(last: char, letter: char, next_is_lower: bool) -> bool {
    let begins_capital =
        letter.is_uppercase() && (last.is_lowercase() || (last.is_uppercase() && next_is_lower));
    begins_capital || last.is_numeric() != letter.is_numeric()
}

fn take(word: &mut String, words: &mut Vec<String>) {
    if let Some((end, _)) = word.char_indices().nth(MAX_WORD) {
        word.truncate(end);
    }
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
}

/// The stemmer with what it has done so far, because names repeat their words.
pub struct Stems {
    stemmer: Stemmer,
    known: HashMap<String, String>,
}

impl Stems {
    /// For English. Other languages are stemmed wrongly, but in names and questions alike.
    pub fn new() -> Self {
        Self {
            stemmer: Stemmer::new(Algorithm::English),
            known: HashMap::new(),
        }
    }

    /// The stem of a lower-case word.
    pub fn of(&mut self, word: &str) -> String {
        if let Some(stem) = self.known.get(word) {
            return stem.clone();
        }
        let stem = stem(&self.stemmer, word);
        self.known.insert(word.to_owned(), stem.clone());
        stem
    }
}

fn stem(stemmer: &Stemmer, word: &str) -> String {
    // Short words are abbreviations or stems already: `ids` is `id`, but `gas` is not `ga`.
    if word.len() <= 3 && word != "ids" {
        return word.to_owned();
    }
    stemmer.stem(word).to_string()
}

/// Words of questions that tell nothing about a table.
pub fn is_stop_word(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> =
        LazyLock::new(|| include_str!("words/stop.txt").split_whitespace().collect());
    WORDS.contains(word)
}

/// The words that an abbreviation stands for: `qty` is `quantity`.
pub fn spelled_out(word: &str) -> &'static [&'static str] {
    static WORDS: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| {
        let lines = lines(include_str!("words/abbreviations.txt"));
        lines.map(|words| (words[0], words[1..].to_vec())).collect()
    });
    WORDS.get(word).map_or(&[], Vec::as_slice)
}

/// Words that a question may use in place of this one, which is a stem; as stems too.
pub fn similar(stem: &str) -> Vec<&'static str> {
    static GROUPS: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(groups);
    GROUPS.get(stem).cloned().unwrap_or_default()
}

/// By stem, the stems of all groups that it is in.
fn groups() -> HashMap<&'static str, Vec<&'static str>> {
    let stemmer = Stemmer::new(Algorithm::English);
    let mut groups: HashMap<&str, Vec<&str>> = HashMap::new();
    for words in lines(include_str!("words/similar.txt")) {
        // Stems live as long as the process, as the words do.
        let stems: Vec<&'static str> = words
            .iter()
            .map(|word| &*stem(&stemmer, word).leak())
            .collect();
        for stem in &stems {
            let others = stems.iter().filter(|other| *other != stem);
            groups.entry(stem).or_default().extend(others);
        }
    }
    groups
}

fn lines(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|words| words.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_by_case_underscore_and_digits() {
        for (name, expected) in [
            ("order_items", "order items"),
            ("orderItems", "order items"),
            ("HTTPServer", "http server"),
            ("Address2Line", "address 2 line"),
            ("ORDER-ITEMS.v1", "order items v 1"),
            ("größeÜber", "größe über"),
            ("", ""),
        ] {
            assert_eq!(split(name).join(" "), expected, "{name}");
        }
    }

    #[test]
    fn plurals_and_abbreviations_are_known() {
        let mut stems = Stems::new();
        assert_eq!(stems.of("categories"), stems.of("category"));
        assert_eq!(stems.of("addresses"), stems.of("address"));
        assert_eq!(stems.of("ids"), "id");
        assert_eq!(spelled_out("qty"), ["quantity"]);
        assert_eq!(spelled_out("cust"), ["customer"]);
        assert!(spelled_out("customer").is_empty());
        assert!(similar(&stems.of("wage")).contains(&"salari"));
    }

    #[test]
    fn long_text_has_an_end() {
        assert_eq!(split(&"x".repeat(1_000_000))[0].len(), MAX_WORD);
    }
}
