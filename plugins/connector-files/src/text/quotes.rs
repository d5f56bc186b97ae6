//! Where quotes open and close in a row of CSV: for rows in several lines, and for one that does not end.

/// The quotes of one row.
pub struct Quotes {
    delimiter: u8,
    state: State,
    has_begun: bool,
    /// The line of the next byte.
    line: u64,
    /// The line in which the last quote opened.
    opened: u64,
    broken: Option<(u64, u64)>,
}

/// Where in a field a byte is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// At its beginning.
    Start,
    /// In one without quotes, or behind the quotes: a quote is a character there.
    Plain,
    /// In quotes.
    Quoted,
    /// Behind a quote in quotes: the field ends, or the quote is the first of two.
    Closed,
    /// In blanks behind the quotes.
    Padded,
}

impl Quotes {
    /// Before a row that begins in this line.
    pub fn new(delimiter: u8, line: u64) -> Self {
        Self {
            delimiter,
            state: State::Start,
            has_begun: false,
            line,
            opened: line,
            broken: None,
        }
    }

    /// Whether a part of the row was seen.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Takes the next bytes of the row into account.
    pub fn see(&mut self, bytes: &[u8]) {
        self.has_begun = true;
        for &byte in bytes {
            self.state = self.after(byte);
            self.line += u64::from(byte == b'\n');
        }
    }

    /// The line in which a quote opened that is not closed.
    pub fn open_since(&self) -> Option<u64> {
        (self.state == State::Quoted).then_some(self.opened)
    }

    /// The lines in which the quotes of a field open and close, if they are not the same and the field does not end
    /// there. Such a field began at a quote that should not be there, and another one ended it.
    pub fn broken(&self) -> Option<(u64, u64)> {
        self.broken
    }

    fn after(&mut self, byte: u8) -> State {
        match (self.state, byte) {
            (State::Quoted, b'"') => State::Closed,
            (State::Quoted, _) | (State::Closed, b'"') => State::Quoted,
            (State::Start, b'"') => {
                self.opened = self.line;
                State::Quoted
            }
            (_, b'\n' | b'\r') => State::Start,
            (_, byte) if byte == self.delimiter => State::Start,
            (State::Start | State::Plain, _) => State::Plain,
            (State::Closed | State::Padded, b' ' | b'\t') => State::Padded,
            (State::Closed | State::Padded, _) => {
                if self.line > self.opened {
                    self.broken.get_or_insert((self.opened, self.line));
                }
                State::Plain
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quotes(row: &str) -> (Option<u64>, Option<(u64, u64)>) {
        let mut quotes = Quotes::new(b',', 7);
        // In two pieces, as at the end of what was read.
        let (first, second) = row.as_bytes().split_at(row.len() / 2);
        quotes.see(first);
        quotes.see(second);
        (quotes.open_since(), quotes.broken())
    }

    #[test]
    fn quotes_open_and_close() {
        for (row, expected) in [
            ("a,b\n", (None, None)),
            ("1,\"a \"\"b\"\"\nc\",2\n", (None, None)),
            ("\"a\nb\"  ,2\n", (None, None)),
            ("5\" pipe,\"x\"y\n", (None, None)),
            ("1,\"a\nb", (Some(7), None)),
            ("\"a\nb\",\"c\nd,e", (Some(8), None)),
            ("\"\"\"", (Some(7), None)),
            ("1,\"a\n2,\"b\"\n", (None, Some((7, 8)))),
        ] {
            assert_eq!(quotes(row), expected, "{row}");
        }
    }
}
