//! From the words of a question to the words that a catalog has: the same stem, a word that means the same, an
//! abbreviation of it, or a compound with it.

use std::collections::HashMap;

use crate::words::{self, Stems};

/// Letters that a compound must share with a word.
const WINDOW: usize = 4;
/// Longest abbreviation that is guessed.
const MAX_SHORT: usize = 5;
/// Most words of the catalog that one word of a question becomes.
const MAX_TERMS: usize = 64;

/// What a word of the catalog is worth, compared to the very word of the question.
mod worth {
    pub const SIMILAR: f32 = 0.55;
    pub const SPELLED_OUT: f32 = 0.9;
    pub const PREFIX: f32 = 0.6;
    pub const SKELETON: f32 = 0.3;
    pub const COMPOUND: f32 = 0.65;
    pub const PART: f32 = 0.45;
}

/// The number of a term in a [`Vocabulary`].
pub type Term = u32;

/// All words of a catalog, as stems.
#[derive(Debug, Default)]
pub struct Vocabulary {
    terms: HashMap<Box<str>, Term>,
    /// By number.
    names: Vec<Box<str>>,
    /// Terms of names only, by their first letter; short ones, which may be abbreviations.
    short: HashMap<u8, Vec<Term>>,
    /// Terms of names only, by each run of letters in them.
    runs: HashMap<[u8; WINDOW], Vec<Term>>,
}

impl Vocabulary {
    /// The number of a stem, new if it has none.
    pub fn add(&mut self, stem: &str) -> Term {
        if let Some(term) = self.terms.get(stem) {
            return *term;
        }
        let term = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.terms.insert(stem.into(), term);
        self.names.push(stem.into());
        term
    }

    /// How many terms there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Makes a term one that compounds and abbreviations are looked for in. Called once a term.
    pub fn index_name(&mut self, term: Term) {
        let name = self.names[term as usize].as_bytes();
        if name.len() <= MAX_SHORT && name.len() >= 2 {
            self.short.entry(name[0]).or_default().push(term);
        }
        let mut runs: Vec<[u8; WINDOW]> = name
            .windows(WINDOW)
            .filter_map(|run| run.try_into().ok())
            .collect();
        runs.sort_unstable();
        runs.dedup();
        for run in runs {
            self.runs.entry(run).or_default().push(term);
        }
    }

    /// The term that a lower-case word itself is, if the catalog has it.
    pub fn itself(&self, word: &str, stems: &mut Stems) -> Vec<(Term, f32)> {
        let mut found = Expansion::default();
        self.exact(&stems.of(word), 1.0, &mut found);
        found.terms
    }

    /// The terms for a lower-case word, with their worth from 0 to 1; the very word first.
    pub fn expand(&self, word: &str, stems: &mut Stems) -> Vec<(Term, f32)> {
        let stem = stems.of(word);
        let mut found = Expansion::default();
        self.exact(&stem, 1.0, &mut found);
        for other in words::similar(&stem) {
            self.exact(other, worth::SIMILAR, &mut found);
        }
        for other in words::spelled_out(word) {
            self.exact(&stems.of(other), worth::SPELLED_OUT, &mut found);
        }
        self.abbreviations(word, &mut found);
        self.compounds(&stem, &mut found);
        found.terms.truncate(MAX_TERMS);
        found.terms
    }

    fn exact(&self, stem: &str, worth: f32, found: &mut Expansion) {
        if let Some(term) = self.terms.get(stem) {
            found.add(*term, worth);
        }
    }

    /// `dept` and `dep` for `department`.
    fn abbreviations(&self, word: &str, found: &mut Expansion) {
        let Some(first) = word.as_bytes().first().filter(|_| word.len() > MAX_SHORT) else {
            return;
        };
        for term in self.short.get(first).into_iter().flatten() {
            let name = &self.names[*term as usize];
            if name.len() >= 3 && word.starts_with(&**name) {
                found.add(*term, worth::PREFIX);
            } else if name.len() >= 3 && is_skeleton(name, word) {
                found.add(*term, worth::SKELETON);
            }
        }
    }

    /// `airportname` for `airport`, and `birth` for `birthplace`.
    fn compounds(&self, stem: &str, found: &mut Expansion) {
        let bytes = stem.as_bytes();
        let runs = bytes.windows(WINDOW).enumerate();
        for (at, run) in runs {
            let Ok(run) = <[u8; WINDOW]>::try_from(run) else {
                continue;
            };
            for term in self.runs.get(&run).into_iter().flatten() {
                let name = &*self.names[*term as usize];
                if at == 0 && name.len() > stem.len() && name.contains(stem) {
                    found.add(*term, worth::COMPOUND);
                } else if name.len() < stem.len() && bytes[at..].starts_with(name.as_bytes()) {
                    found.add(*term, worth::PART);
                }
            }
        }
    }
}

/// Whether `word` has the letters of `short` in their order, most of them consonants.
fn is_skeleton(short: &str, word: &str) -> bool {
    let vowel = |letter: char| matches!(letter, 'a' | 'e' | 'i' | 'o' | 'u');
    let mut letters = word.chars();
    let in_order = short
        .chars()
        .all(|letter| letters.any(|other| other == letter));
    in_order
        && short
            .chars()
            .skip(1)
            .filter(|letter| !vowel(*letter))
            .count()
            * 2
            >= short.len()
}

#[derive(Default)]
struct Expansion {
    terms: Vec<(Term, f32)>,
}

impl Expansion {
    fn add(&mut self, term: Term, worth: f32) {
        let is_full = self.terms.len() >= MAX_TERMS * 4;
        match self.terms.iter_mut().find(|(known, _)| *known == term) {
            Some((_, known)) => *known = known.max(worth),
            None if is_full => {}
            None => self.terms.push((term, worth)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(names: &[&str], word: &str) -> Vec<String> {
        let mut stems = Stems::new();
        let mut vocabulary = Vocabulary::default();
        for name in names {
            let term = vocabulary.add(&stems.of(name));
            vocabulary.index_name(term);
        }
        let terms = vocabulary.expand(word, &mut stems);
        let name = |(term, _): &(Term, f32)| vocabulary.names[*term as usize].to_string();
        terms.iter().map(name).collect()
    }

    #[test]
    fn word_becomes_what_the_catalog_calls_it() {
        let names = [
            "dept",
            "student",
            "stu",
            "airportname",
            "quantity",
            "salary",
            "birth",
            "dogs",
        ];
        for (word, expected) in [
            ("departments", "dept"),
            ("student", "student stu"),
            ("airports", "airportnam"),
            ("qty", "quantiti"),
            ("wages", "salari"),
            ("birthplace", "birth"),
            ("dog", "dog"),
            ("xylophone", ""),
        ] {
            assert_eq!(expanded(&names, word).join(" "), expected, "{word}");
        }
    }
}
