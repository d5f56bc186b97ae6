//! Links of an answer that lead where the question did not point.
//!
//! An answer is shown as Markdown, and a picture is fetched without a click: a text that the model read in a table could
//! have it send what it saw to any server. So no address becomes a link or a picture that the caller, or who set up the
//! Mind, has not written. The text stays readable: a space is put where the link would begin.

/// Bytes of an address that are waited for. A longer one is none that somebody wrote in a question.
const MAX_ADDRESS: usize = 2_048;
/// Bytes of what was said that are remembered, to know the scheme of an address.
const MAX_TAIL: usize = 40;

/// Takes the links out of a text that comes in pieces.
#[derive(Debug)]
pub struct Links {
    /// What the caller and who set up the Mind wrote.
    words: String,
    /// What may still become a link.
    held: String,
    /// The end of what was given on.
    tail: String,
}

/// What to do at a place of the text.
enum Step {
    /// Give on so many bytes.
    Pass(usize),
    /// Give on so many bytes, a space behind them.
    Break(usize),
    /// More of the text has to come first.
    Wait,
}

impl Links {
    /// Addresses that stand in `words` may be links.
    pub fn new(words: String) -> Self {
        Self {
            words,
            held: String::new(),
            tail: String::new(),
        }
    }

    /// The next piece; what can be given on of it and of what came before.
    pub fn next(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        self.run(false)
    }

    /// The rest, when nothing follows.
    pub fn end(&mut self) -> String {
        self.run(true)
    }

    fn run(&mut self, is_end: bool) -> String {
        let held = std::mem::take(&mut self.held);
        let mut given = String::with_capacity(held.len());
        let mut rest = held.as_str();
        while let Some(first) = rest.chars().next() {
            let (length, is_broken) = match self.step(first, rest, is_end) {
                Step::Pass(length) => (length, false),
                Step::Break(length) => (length, true),
                Step::Wait => break,
            };
            let (passed, behind) = rest.split_at(length);
            self.give(passed, &mut given);
            if is_broken {
                self.give(" ", &mut given);
            }
            rest = behind;
        }
        self.held = rest.to_owned();
        given
    }

    fn step(&self, first: char, rest: &str, is_end: bool) -> Step {
        let behind = &rest[first.len_utf8()..];
        let next = behind.chars().next();
        match (first, next) {
            (']' | '<', None) if !is_end => Step::Wait,
            // A picture or link, and where one is defined.
            (']', Some('(')) => match self.address(&behind[1..], is_end) {
                None => Step::Wait,
                Some(address) if self.is_known(address) => Step::Pass(2 + address.len()),
                Some(_) => Step::Break(1),
            },
            (']', Some(':')) => Step::Break(1),
            // An address in angle brackets, or a tag.
            ('<', Some(next)) if next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?') => {
                Step::Break(1)
            }
            (':', _) if self.scheme().is_some() => self.at_colon(behind, is_end),
            ('.', _) if self.is_behind_www() => match self.address(behind, is_end) {
                None => Step::Wait,
                Some(address) if self.is_known(&format!("www.{address}")) => {
                    Step::Pass(1 + address.len())
                }
                Some(_) => Step::Break(1),
            },
            _ => Step::Pass(first.len_utf8()),
        }
    }

    fn at_colon(&self, behind: &str, is_end: bool) -> Step {
        let slashes = behind.bytes().take(2).take_while(|byte| *byte == b'/');
        match slashes.count() {
            2 => match self.address(behind, is_end) {
                None => Step::Wait,
                Some(address) => {
                    let scheme = self.scheme().unwrap_or_default();
                    match self.is_known(&format!("{scheme}:{address}")) {
                        true => Step::Pass(1 + address.len()),
                        false => Step::Break(1),
                    }
                }
            },
            found if found == behind.len() && !is_end => Step::Wait,
            _ => Step::Pass(1),
        }
    }

    /// The address that a text begins with; `None` while its end has not come.
    fn address<'a>(&self, text: &'a str, is_end: bool) -> Option<&'a str> {
        let is_over = |c: char| c.is_whitespace() || c.is_control() || "()[]<>{}\"'`|".contains(c);
        match text.find(is_over) {
            Some(end) => Some(&text[..end]),
            None if is_end || text.len() > MAX_ADDRESS => Some(text),
            None => None,
        }
    }

    /// Whether an address stands in the question. What ends a sentence is no part of it.
    fn is_known(&self, address: &str) -> bool {
        let address = address.trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_', '~']);
        let is_whole = |rest: &str| {
            let next = rest.chars().next();
            next.is_none_or(|c| !c.is_alphanumeric() && c != '/')
        };
        !address.is_empty()
            && address.len() <= MAX_ADDRESS
            && (address.contains("://") || address.starts_with("www."))
            && self
                .words
                .match_indices(address)
                .any(|(at, _)| is_whole(&self.words[at + address.len()..]))
    }

    /// The word that ends just here, if it may be a scheme.
    fn scheme(&self) -> Option<&str> {
        let start = self.tail.trim_end_matches(char::is_alphanumeric).len();
        let scheme = &self.tail[start..];
        (!scheme.is_empty()).then_some(scheme)
    }

    fn is_behind_www(&self) -> bool {
        let start = self.tail.trim_end_matches(char::is_alphanumeric).len();
        self.tail[start..].eq_ignore_ascii_case("www")
    }

    fn give(&mut self, text: &str, given: &mut String) {
        given.push_str(text);
        self.tail.push_str(text);
        let mut cut = self.tail.len().saturating_sub(MAX_TAIL);
        while !self.tail.is_char_boundary(cut) {
            cut += 1;
        }
        self.tail.drain(..cut);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUESTION: &str = "Is https://shop.example/a?b=1 up, or www.other.example?";

    /// The answer as it is shown, whole and letter by letter.
    fn shown(answer: &str) -> String {
        let mut links = Links::new(QUESTION.to_owned());
        let whole = links.next(answer) + &links.end();
        let mut links = Links::new(QUESTION.to_owned());
        let mut pieces: String = answer
            .chars()
            .map(|letter| links.next(&letter.to_string()))
            .collect();
        pieces.push_str(&links.end());
        assert_eq!(whole, pieces);
        whole
    }

    #[test]
    fn address_of_the_question_stays_link() {
        for answer in [
            "It is: https://shop.example/a?b=1.",
            "See [the shop](https://shop.example/a?b=1) and www.other.example!",
            "![](https://shop.example/a?b=1 \"title\")",
        ] {
            assert_eq!(shown(answer), answer);
        }
    }

    #[test]
    fn other_address_is_text() {
        for (answer, text) in [
            (
                "![](https://evil.example/?d=73)",
                "![] (https: //evil.example/?d=73)",
            ),
            ("[a](//evil.example/73)", "[a] (//evil.example/73)"),
            (
                "[a](https&colon;//evil.example)",
                "[a] (https&colon;//evil.example)",
            ),
            ("[a]: https://evil.example", "[a] : https: //evil.example"),
            ("<https://evil.example>", "< https: //evil.example>"),
            ("<img src=x>", "< img src=x>"),
            ("go to www.evil.example", "go to www. evil.example"),
            ("WWW.evil.example", "WWW. evil.example"),
            (
                "https://shop.example/a?b=1&d=73",
                "https: //shop.example/a?b=1&d=73",
            ),
            (
                "https://shop.example.evil.example",
                "https: //shop.example.evil.example",
            ),
        ] {
            assert_eq!(shown(answer), text);
        }
    }

    #[test]
    fn text_without_links_is_as_it_was() {
        for answer in [
            "Sales: 3 of 4 (75 %). a[1] < 2, x:y, 10:30, C://",
            "| a | b |\n| :-- | --: |\n| [x] | `y` |",
            "Größe: 3 – ünd: so",
            "ends with [",
            "ends with ]",
            "ends with a colon:",
        ] {
            let expected = answer.replace("C://", "C: //");
            assert_eq!(shown(answer), expected);
        }
    }

    #[test]
    fn text_is_given_on_as_it_comes() {
        let mut links = Links::new(QUESTION.to_owned());
        assert_eq!(links.next("Three items"), "Three items");
        assert_eq!(links.next(" cost: "), " cost: ");
        assert_eq!(links.next("12"), "12");
        assert_eq!(links.end(), "");
    }
}
