//! Breaks links and images in an answer whose address the question does not contain.
//!
//! Clients render answers as Markdown and load images without a click, so a prompt injection in a table could make the
//! model send data to any server. Therefore only addresses that the caller or the author of the Mind wrote stay links
//! or images. Others stay readable: a space is inserted where the link would start. Fenced code is not changed, unless
//! something before it could make a renderer see the fence elsewhere.

mod characters;

use std::sync::Arc;

/// Longest address in bytes. No question contains a longer one.
const MAX_ADDRESS: usize = 2_048;
/// Bytes of output that are kept to recognise the scheme of an address.
const MAX_TAIL: usize = 40;
/// Longest type argument between angle brackets, in bytes.
const MAX_TYPE: usize = 60;
/// What may follow a complete address.
const SENTENCE: &str = ".,;:!?*_~";
const CLOSING: &str = "()[]<>{}\"'`|";
/// Tags without an address that change how the following text is parsed.
const TAGS: [&str; 12] = [
    "iframe",
    "math",
    "noscript",
    "object",
    "plaintext",
    "script",
    "style",
    "svg",
    "template",
    "textarea",
    "title",
    "xmp",
];
/// Marks after which a renderer may take a fence for text, or text for a fence.
const UNCLEAR: [&str; 5] = ["```", "~~~", "$$", ":::", "+++"];

/// Filters the links of a streamed text.
#[derive(Debug)]
pub struct Links {
    /// The text of the caller and of the author of the Mind.
    words: Arc<str>,
    /// Text that may still become a link.
    held: String,
    /// The end of the output so far.
    tail: String,
    /// The number of backticks of the open code fence.
    fence: Option<usize>,
    /// Whether a line starts here.
    is_line_start: bool,
    /// Whether it is certain where code fences start and end.
    is_clear: bool,
}

/// What to do at a position in the text.
enum Step {
    /// Output this number of bytes.
    Pass(usize),
    /// Output this number of bytes and a space.
    Break(usize),
    /// Wait for more text.
    Wait,
}

impl Links {
    /// Addresses that are in `words` may be links.
    pub fn new(words: impl Into<Arc<str>>) -> Self {
        Self {
            words: words.into(),
            held: String::new(),
            tail: String::new(),
            fence: None,
            is_line_start: true,
            is_clear: true,
        }
    }

    /// A filter for text beside this one, in which nothing counts as code: a fence in the one says nothing of the
    /// other. So a link is broken wherever a renderer would see the fence.
    pub fn without_code(&self) -> Self {
        Self {
            is_clear: false,
            ..Self::new(Arc::clone(&self.words))
        }
    }

    /// Filters a text that stands by itself, such as an assumption or what the host adds to an answer.
    pub fn alone(&self, text: &str) -> String {
        let mut links = self.without_code();
        links.next(text) + &links.end()
    }

    /// The host outputs an empty line here, after [`end`](Self::end). A code fence that is open stays open.
    pub fn begin_paragraph(&mut self) {
        self.tail.push_str("\n\n");
        self.is_line_start = true;
    }

    /// Adds a piece, and returns the text that can be output.
    pub fn next(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        self.run(false)
    }

    /// Returns the rest at the end of the text.
    pub fn end(&mut self) -> String {
        self.run(true)
    }

    fn run(&mut self, is_end: bool) -> String {
        let held = std::mem::take(&mut self.held);
        let mut given = String::with_capacity(held.len());
        let mut rest = held.as_str();
        while let Some(first) = rest.chars().next() {
            let was_code = self.fence.is_some();
            let step = match self.code(rest, is_end) {
                Some(step) => step,
                None => self.step(first, rest, is_end),
            };
            let (length, is_broken) = match step {
                Step::Pass(length) => (length, false),
                Step::Break(length) => (length, true),
                Step::Wait => break,
            };
            let (passed, behind) = rest.split_at(length);
            if was_code || self.fence.is_some() {
                given.push_str(passed);
                self.tail.clear();
            } else {
                self.give(passed, &mut given);
            }
            if is_broken {
                self.give(" ", &mut given);
            }
            self.is_line_start = passed.ends_with(['\n', '\r']);
            rest = behind;
        }
        self.held = rest.to_owned();
        given
    }

    /// A line of fenced code, or a line that starts or ends it. Only fences without indentation count, because those in
    /// a list or quotation end with it.
    fn code(&mut self, rest: &str, is_end: bool) -> Option<Step> {
        if self.fence.is_none() {
            // This runs at each letter, so it searches for the end of the line only if necessary.
            if !self.is_line_start || !self.is_clear {
                return None;
            }
            if !rest.starts_with("```") {
                return ("```".starts_with(rest) && !is_end).then_some(Step::Wait);
            }
        }
        let end = rest.find(['\n', '\r']).map(|at| at + 1);
        let whole = end.or(is_end.then_some(rest.len()));
        let Some(ticks) = self.fence else {
            if whole.unwrap_or(rest.len()) > MAX_ADDRESS {
                return None;
            }
            let Some(length) = whole else {
                return Some(Step::Wait);
            };
            let line = rest[..length].trim_end();
            let info = line.trim_start_matches('`');
            // With a space within or behind it, some renderers take it for text.
            let info = info.trim_start_matches(' ');
            let is_word = |c: char| c.is_ascii_alphanumeric() || "+-_#.".contains(c);
            let ends = line.len() == rest[..length].trim_end_matches(['\n', '\r']).len();
            if !ends || !info.chars().all(is_word) {
                return None;
            }
            self.fence = Some(line.len() - line.trim_start_matches('`').len());
            return Some(Step::Pass(length));
        };
        let within = Some(Step::Pass(end.unwrap_or(rest.len())));
        if !self.is_line_start {
            return within;
        }
        let indented = rest.bytes().take(3).take_while(|byte| *byte == b' ');
        let line = &rest[indented.count()..];
        if !line.is_empty() && !line.starts_with('`') {
            return within;
        }
        let Some(length) = whole else {
            // No fence is longer, and the buffered text is examined again with each piece.
            if rest.len() <= MAX_ADDRESS {
                return Some(Step::Wait);
            }
            if line.len() - line.trim_start_matches('`').len() >= ticks {
                self.is_clear = false;
                self.fence = None;
            }
            return within;
        };
        let line = rest[..length].trim_start_matches(' ');
        let behind = line.trim_start_matches('`');
        if line.len() - behind.len() >= ticks {
            // With anything but spaces behind it, some renderers take it for a line of the code, and some do not.
            self.is_clear &= behind.trim_matches([' ', '\t', '\r', '\n']).is_empty();
            self.fence = None;
        }
        Some(Step::Pass(length))
    }

    fn step(&mut self, first: char, rest: &str, is_end: bool) -> Step {
        let behind = start(&rest[first.len_utf8()..]);
        let next = behind.chars().next();
        match (first, next) {
            (']' | '<', None) if !is_end => return Step::Wait,
            // An image or link.
            (']', Some('(')) => {
                return match destination(&behind[1..], is_end) {
                    None => Step::Wait,
                    Some(address) if self.is_known(address) => Step::Pass(2 + address.len()),
                    Some(_) => Step::Break(1),
                };
            }
            // A link definition.
            (']', Some(':')) => return self.at_definition(&behind[1..], is_end),
            // An address in angle brackets, or a tag.
            ('<', Some(next)) if next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?') => {
                return self.at_bracket(behind, is_end);
            }
            _ => {}
        }
        // Renderers look for addresses in the text that they have read entities and escapes of.
        let Some((letter, length)) = characters::first(rest, is_end) else {
            return Step::Wait;
        };
        let behind = start(&rest[length..]);
        match letter {
            ':' if self.last_word().is_some() => self.at_colon(length, behind, is_end),
            '.' if self.is_behind_www() => match address(behind, is_end) {
                None => Step::Wait,
                Some(address) if self.is_known(&format!("www.{address}")) => {
                    Step::Pass(length + address.len())
                }
                Some(_) => Step::Break(length),
            },
            _ => Step::Pass(first.len_utf8()),
        }
    }

    /// After `]:`. A word without the characters of an address is no link: `a[1]::int` and `list[int]: one`.
    fn at_definition(&self, behind: &str, is_end: bool) -> Step {
        if behind.is_empty() && !is_end {
            return Step::Wait;
        }
        // A cast: no address starts with a colon.
        if behind.starts_with(':') {
            return Step::Pass(1);
        }
        let target = behind.trim_start();
        let end = target.find(|c: char| c.is_whitespace() || c.is_control());
        let word = match end {
            Some(end) => &target[..end],
            None if is_end || behind.len() > MAX_ADDRESS => target,
            None => return Step::Wait,
        };
        // The address may be in the next line, after the mark of a quotation.
        let is_below = behind[..behind.len() - target.len()].contains(['\n', '\r']);
        let leads = is_below
            || word.len() > MAX_ADDRESS
            || word.contains("//")
            || word.contains([':', '&', '\\', '<']);
        match leads && !self.is_known(word) {
            true => Step::Break(1),
            false => Step::Pass(1),
        }
    }

    /// After `<`. Text that cannot contain an address stays: `List<String>`.
    fn at_bracket(&mut self, behind: &str, is_end: bool) -> Step {
        let is_type = |c: char| c.is_alphanumeric() || "_,. []".contains(c);
        let end = behind.find(|c: char| !is_type(c));
        if end.is_none() && behind.len() <= MAX_TYPE && !is_end {
            return Step::Wait;
        }
        let inner = &behind[..end.unwrap_or(0)];
        let is_whole = inner.len() <= MAX_TYPE && behind[inner.len()..].starts_with('>');
        let name = inner.split(|c: char| !c.is_alphanumeric()).next();
        let name = name.unwrap_or_default().to_ascii_lowercase();
        if inner.is_empty() || !is_whole || TAGS.contains(&name.as_str()) {
            return Step::Break(1);
        }
        self.is_clear = false;
        Step::Pass(1)
    }

    /// Behind a colon of so many bytes.
    fn at_colon(&self, colon: usize, behind: &str, is_end: bool) -> Step {
        let mut slashes = 0;
        let mut first_slash = 0;
        for count in 0..2 {
            match characters::first(&behind[slashes..], is_end) {
                None => return Step::Wait,
                Some(('/', length)) => slashes += length,
                Some(_) => return Step::Pass(colon),
            }
            if count == 0 {
                first_slash = slashes;
            }
        }
        match address(behind, is_end) {
            None => Step::Wait,
            Some(address) => {
                let scheme = self.last_word().unwrap_or_default();
                match self.is_known(&format!("{scheme}:{address}")) {
                    true => Step::Pass(colon + address.len()),
                    // Between the slashes: some renderers take `//host` for a link too.
                    false => Step::Break(colon + first_slash),
                }
            }
        }
    }

    /// Whether the question contains this complete address.
    fn is_known(&self, address: &str) -> bool {
        let authority = match address.split_once("://") {
            Some((_, behind)) => behind,
            None if address.starts_with("www.") => address,
            None => return false,
        };
        let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
        !authority.is_empty()
            && !authority.contains('@')
            && !address.contains(['\\', '<', '>'])
            && address.len() <= MAX_ADDRESS
            && self
                .words
                .match_indices(address)
                .any(|(at, _)| is_over(&self.words[at + address.len()..]))
    }

    /// The word that ends here, as a renderer reads it: it may be a scheme.
    fn last_word(&self) -> Option<String> {
        let read = characters::read(&self.tail);
        let start = read.trim_end_matches(char::is_alphanumeric).len();
        let word = &read[start..];
        (!word.is_empty()).then(|| word.to_owned())
    }

    fn is_behind_www(&self) -> bool {
        let word = self.last_word();
        word.is_some_and(|word| word.eq_ignore_ascii_case("www"))
    }

    fn give(&mut self, text: &str, given: &mut String) {
        given.push_str(text);
        self.tail.push_str(text);
        let is_odd = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
        if self.tail.starts_with("---")
            || UNCLEAR.iter().any(|mark| self.tail.contains(mark))
            || text.contains(is_odd)
        {
            self.is_clear = false;
        }
        let mut cut = self.tail.len().saturating_sub(MAX_TAIL);
        while !self.tail.is_char_boundary(cut) {
            cut += 1;
        }
        self.tail.drain(..cut);
    }
}

/// The start of a text that is as long as an address may be, and a little more, to recognise one that is too long.
/// Without this bound the time would be quadratic.
fn start(text: &str) -> &str {
    let mut end = text.len().min(MAX_ADDRESS + 8);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The address at the start of a text, without the punctuation after it; `None` until its end is known. Renderers read
/// up to a space.
fn address(text: &str, is_end: bool) -> Option<&str> {
    let is_space = |c: char| c.is_whitespace() || c.is_control() || c == '<';
    let end = [text.find(is_space), text.find("](")];
    let whole = match end.into_iter().flatten().min() {
        Some(end) => &text[..end],
        // Its end is not known, so no punctuation is removed.
        None if text.len() > MAX_ADDRESS => return Some(text),
        None if is_end => text,
        None => return None,
    };
    Some(whole.trim_end_matches(|c: char| SENTENCE.contains(c) || CLOSING.contains(c)))
}

/// The destination of a link, which ends with a space or its closing bracket; `None` until its end is known.
fn destination(text: &str, is_end: bool) -> Option<&str> {
    let mut open = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => open += 1,
            ')' if open == 0 => return Some(&text[..at]),
            ')' => open -= 1,
            _ if c.is_whitespace() || c.is_control() => return Some(&text[..at]),
            _ => {}
        }
    }
    (is_end || text.len() > MAX_ADDRESS).then_some(text)
}

/// Whether an address before this text is complete.
fn is_over(rest: &str) -> bool {
    let is_end = |c: char| {
        c.is_whitespace()
            || c.is_control()
            || CLOSING.contains(c)
            || (!c.is_ascii() && !c.is_alphanumeric())
    };
    let behind = rest.trim_start_matches(|c: char| SENTENCE.contains(c));
    behind.chars().next().is_none_or(is_end)
}

#[cfg(test)]
mod tests;
