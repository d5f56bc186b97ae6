//! Breaks links and images in an answer whose address the question does not contain.
//!
//! Clients render answers as Markdown and load images without a click, so a prompt injection in a table could make the
//! model send data to any server. Therefore only addresses that the caller or the author of the Mind wrote stay links
//! or images. Others stay readable: a space is inserted where the link would start. Fenced code is not changed, unless
//! a renderer could see a fence elsewhere: because of something before it, or because its end is not certain. Code is
//! given on as it comes up to the first address in it; what follows waits for the end of the fence.

mod characters;
mod fence;

use std::sync::Arc;

use self::fence::{End, Fence, Search};

/// Longest address in bytes. No question contains a longer one.
const MAX_ADDRESS: usize = 2_048;
/// Bytes of code that wait for the end of their fence. Longer code counts as text.
const MAX_CODE: usize = 32 << 10;
/// Bytes of output that are kept to recognise the scheme of an address.
const MAX_TAIL: usize = 40;
/// Longest type argument between angle brackets, in bytes.
const MAX_TYPE: usize = 60;
/// What may follow a complete address.
const SENTENCE: &str = ".,;:!?*_~";
const CLOSING: &str = "()[]<>{}\"'`|";
/// The only characters at which every renderer ends an address. At another space, or a control character, some of them
/// read on.
const SPACES: [char; 4] = [' ', '\t', '\n', '\r'];
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
    /// How far the held text has been searched for the end of its code.
    search: Search,
}

/// What to do at a position in the text.
enum Step {
    /// Output this number of bytes.
    Pass(usize),
    /// Output this number of bytes, which are code or a line that starts or ends it.
    Code(usize),
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
            search: Search::default(),
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

    /// The host outputs an empty line here, after [`end`](Self::end).
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
        let mut held = std::mem::take(&mut self.held);
        let mut given = String::new();
        let mut rest = held.as_str();
        while let Some(first) = rest.chars().next() {
            let step = match self.fence {
                Some(ticks) => self.within_code(ticks, first, rest, is_end),
                None => match self.begin_code(rest, is_end) {
                    Some(step) => step,
                    None => self.step(first, rest, is_end),
                },
            };
            let (length, is_code, is_broken) = match step {
                Step::Pass(length) => (length, false, false),
                Step::Code(length) => (length, true, false),
                Step::Break(length) => (length, false, true),
                Step::Wait => break,
            };
            let (passed, behind) = rest.split_at(length);
            match is_code {
                true => {
                    given.push_str(passed);
                    self.tail.clear();
                }
                false => self.give(passed, &mut given),
            }
            if is_broken {
                self.give(" ", &mut given);
            }
            self.is_line_start = passed.ends_with(['\n', '\r']);
            self.search = Search::default();
            rest = behind;
        }
        // What waits is not copied at each piece.
        let passed = held.len() - rest.len();
        held.drain(..passed);
        self.held = held;
        given
    }

    /// A line that starts fenced code. Only fences without indentation count, because those in a list or quotation end
    /// with it.
    fn begin_code(&mut self, rest: &str, is_end: bool) -> Option<Step> {
        // This runs at each letter, so it searches for the end of the line only if necessary.
        if !self.is_line_start || !self.is_clear {
            return None;
        }
        match fence::start(rest, is_end) {
            Fence::None => None,
            Fence::Unknown => Some(Step::Wait),
            Fence::Line { length, ticks } => {
                self.fence = Some(ticks);
                Some(Step::Code(length))
            }
        }
    }

    /// Within a fence of so many backticks. What would be a link waits until it is certain that it is code.
    fn within_code(&mut self, ticks: usize, first: char, rest: &str, is_end: bool) -> Step {
        let end = match self.is_line_start {
            true => fence::end(rest, ticks, is_end),
            false => End::None,
        };
        match end {
            End::Unknown => return Step::Wait,
            End::Certain(length) => {
                // Marks within the code say nothing of what follows.
                (self.fence, self.is_clear) = (None, true);
                return Step::Code(length);
            }
            End::Doubtful => {}
            End::None => {
                let run = rest.len() - rest.trim_start_matches('`').len();
                if (1..ticks).contains(&run) && run == rest.len() && !is_end {
                    return Step::Wait;
                }
                if !self.search.is_link {
                    match self.step(first, rest, is_end) {
                        Step::Pass(length) if run < ticks && !is_odd(first) => {
                            return Step::Pass(length);
                        }
                        step => self.search.is_link = matches!(step, Step::Break(_)),
                    }
                }
                match self.search.code(rest, ticks, is_end) {
                    End::Certain(length) => return Step::Code(length),
                    End::Unknown if rest.len() <= MAX_CODE => return Step::Wait,
                    _ => {}
                }
            }
        }
        // Some renderers take this and all before it for text.
        (self.fence, self.is_clear) = (None, false);
        self.step(first, rest, is_end)
    }

    fn step(&mut self, first: char, rest: &str, is_end: bool) -> Step {
        let behind = start(&rest[first.len_utf8()..]);
        let next = behind.chars().next();
        match (first, next) {
            (']' | '<', None) if !is_end => return Step::Wait,
            // An image or link.
            (']', Some('(')) => {
                let behind = &behind[1..];
                // Most of what is no address needs no search for its end.
                if !may_be_address(behind) {
                    return Step::Break(1);
                }
                let Some(target) = destination(behind, is_end) else {
                    return Step::Wait;
                };
                if !self.is_known(target) {
                    return Step::Break(1);
                }
                // Where no text of a link is before it, some renderers read on behind the bracket.
                return match address(behind, is_end).map(|word| self.known("", word)) {
                    Some(Some(_)) => Step::Pass(2 + target.len()),
                    Some(None) => Step::Break(1),
                    None => Step::Wait,
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
            '/' | '\\' if self.last_word().is_none() => at_slash(length, behind, is_end),
            '.' if self.is_behind_www() => match address(behind, is_end) {
                None => Step::Wait,
                Some(address) => match self.known("www.", address) {
                    Some(known) => Step::Pass(length + known),
                    None => Step::Break(length),
                },
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
        let word = match find_space(target) {
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
        if !leads {
            return Step::Pass(1);
        }
        let is_alone = match self.is_known(word) {
            true => is_alone(&target[word.len()..], ['\n', '\r'], is_end),
            false => Some(false),
        };
        match is_alone {
            None if behind.len() <= MAX_ADDRESS => Step::Wait,
            Some(true) => Step::Pass(1),
            None | Some(false) => Step::Break(1),
        }
    }

    /// After `<`. Text that cannot contain an address stays: `List<String>`, `</tag>`.
    fn at_bracket(&mut self, behind: &str, is_end: bool) -> Step {
        let behind = behind.strip_prefix('/').unwrap_or(behind);
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
        let scheme = self.last_word().unwrap_or_default();
        let is_web = ["http", "https"].contains(&scheme.to_ascii_lowercase().as_str());
        let mut slashes = 0;
        let mut first_slash = 0;
        for count in 0..2 {
            match characters::first(&behind[slashes..], is_end) {
                None => return Step::Wait,
                Some(('/', length)) => slashes += length,
                // Browsers read it as if there were two slashes.
                Some((next, _)) if is_web && !is_end_of_word(next) => return Step::Break(colon),
                Some(_) => return Step::Pass(colon),
            }
            if count == 0 {
                first_slash = slashes;
            }
        }
        match address(behind, is_end) {
            None => Step::Wait,
            Some(address) => {
                match self.known(&format!("{scheme}:"), address) {
                    Some(known) => Step::Pass(colon + known),
                    // Between the slashes: some renderers take `//host` for a link too.
                    None => Step::Break(colon + first_slash),
                }
            }
        }
    }

    /// How many bytes of what follows a prefix are an address that the question has. An address that is the text of a
    /// link ends before the address of the link, but some renderers read on.
    fn known(&self, prefix: &str, address: &str) -> Option<usize> {
        let is_known = |address: &str| self.is_known(&format!("{prefix}{address}"));
        if is_known(address) {
            return Some(address.len());
        }
        let (text, target) = address.split_once("](")?;
        let text = without_punctuation(text);
        (is_known(text) && self.is_known(target)).then_some(text.len())
    }

    /// Whether the question contains this complete address.
    fn is_known(&self, address: &str) -> bool {
        if address.len() > MAX_ADDRESS || !may_be_address(address) {
            return false;
        }
        let authority = match address.split_once("://") {
            Some((_, behind)) => behind,
            None if address.starts_with("www.") => address,
            None => return false,
        };
        let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
        !authority.is_empty()
            && !authority.contains('@')
            && !address.contains(|c: char| {
                matches!(c, '\\' | '<' | '>') || c.is_whitespace() || c.is_control()
            })
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

/// Behind a slash of so many bytes that follows no word. Two of them, in either direction, begin an address of the
/// scheme of the page, if a name with a point follows them.
fn at_slash(slash: usize, behind: &str, is_end: bool) -> Step {
    let (next, length) = match characters::first(behind, is_end) {
        None => return Step::Wait,
        Some(next) => next,
    };
    if !matches!(next, '/' | '\\') {
        return Step::Pass(slash);
    }
    match address(&behind[length..], is_end) {
        None => Step::Wait,
        Some(address) if is_host(address) => Step::Break(slash),
        Some(_) => Step::Pass(slash),
    }
}

/// Whether an address without its scheme and slashes leads to another server.
fn is_host(address: &str) -> bool {
    address.contains(['.', ':', '&', '[', '@']) || address.starts_with("localhost")
}

fn is_end_of_word(letter: char) -> bool {
    letter == '\0'
        || SPACES.contains(&letter)
        || SENTENCE.contains(letter)
        || CLOSING.contains(letter)
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

/// Where an address that begins a text ends. Each block is looked at as a whole, many bytes at a time: a long text may
/// have a place for an address every few bytes.
fn find_space(text: &str) -> Option<usize> {
    const BLOCK: usize = 64;
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let mut blocks = text.as_bytes().chunks(BLOCK).enumerate();
    blocks.find_map(|(number, block)| {
        let has_space = block.iter().fold(false, |has, byte| has | is_space(byte));
        let at = has_space
            .then(|| block.iter().position(is_space))
            .flatten()?;
        Some(number * BLOCK + at)
    })
}

/// Whether a text may begin with an address that stays a link: one with a scheme and two slashes, or `www.`.
fn may_be_address(text: &str) -> bool {
    let is_scheme = |c: char| c.is_alphanumeric() || "+-.".contains(c);
    let behind = text.trim_start_matches(is_scheme);
    text.starts_with("www.") || behind.starts_with("://") || "://".starts_with(behind)
}

/// The address at the start of a text, without the punctuation after it; `None` until its end is known. Renderers read
/// up to a space.
fn address(text: &str, is_end: bool) -> Option<&str> {
    let whole = match find_space(text) {
        Some(end) => &text[..end],
        // Its end is not known, so no punctuation is removed.
        None if text.len() > MAX_ADDRESS => return Some(text),
        None if is_end => text,
        None => return None,
    };
    Some(without_punctuation(whole))
}

fn without_punctuation(address: &str) -> &str {
    address.trim_end_matches(|c: char| SENTENCE.contains(c) || CLOSING.contains(c))
}

/// The destination of a link, which ends with a space or its closing bracket; `None` until its end is known. With more
/// than a title behind it, some renderers take all of that for the address, so all of it is the destination.
fn destination(text: &str, is_end: bool) -> Option<&str> {
    let mut open = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => open += 1,
            ')' if open == 0 => return Some(&text[..at]),
            ')' => open -= 1,
            _ if SPACES.contains(&c) => {
                return match is_alone(&text[at..], [')'; 2], false) {
                    Some(true) => Some(&text[..at]),
                    None if !is_end && text.len() <= MAX_ADDRESS => None,
                    Some(false) | None => Some(text),
                };
            }
            _ => {}
        }
    }
    (is_end || text.len() > MAX_ADDRESS).then_some(text)
}

/// Whether an address is followed by one of these closing characters, with at most a plain title before it; `None` if
/// more of the text may tell. Only spaces may stand between: browsers read addresses without their tabs and lines.
fn is_alone(behind: &str, closing: [char; 2], is_end: bool) -> Option<bool> {
    let is_open = is_end.then_some(true);
    let title = behind.trim_start_matches(' ');
    let Some(quote) = title.chars().next() else {
        return is_open;
    };
    if closing.contains(&quote) || !matches!(quote, '"' | '\'') {
        return Some(closing.contains(&quote));
    }
    let title = &title[1..];
    let Some(end) = title.find(['"', '\'', '\\', '(', ')', '<', '>', '\n', '\r']) else {
        return is_end.then_some(false);
    };
    match title[end..].strip_prefix(quote) {
        None => Some(false),
        Some(behind) => match behind.trim_start_matches(' ').chars().next() {
            None => is_open,
            Some(next) => Some(closing.contains(&next)),
        },
    }
}

/// A character at which some renderers see the end of a line, or none at all.
fn is_odd(letter: char) -> bool {
    (letter.is_control() && !matches!(letter, '\n' | '\r' | '\t'))
        || matches!(letter, '\u{2028}' | '\u{2029}')
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
