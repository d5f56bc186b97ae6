//! A look at a statement before it goes out: one SELECT, and no word that does anything else.
//!
//! SQL Server has no read-only transaction, and needs no semicolon between two statements: `SELECT 1 DROP TABLE t` is
//! two. The host's guard stands before this; here only words are looked at, in a text without comments, strings and
//! quoted names. Words that T-SQL reserves cannot be names unless they are quoted, so refusing them refuses no name.

use mindhost_sdk::{Error, Result};

/// Reserved words that no SELECT needs.
const REFUSED: &[&str] = &[
    "ADD",
    "ALTER",
    "BACKUP",
    "BEGIN",
    "BREAK",
    "BULK",
    "CHECKPOINT",
    "CLOSE",
    "COMMIT",
    "COMPUTE",
    "CONTINUE",
    "CREATE",
    "DBCC",
    "DEALLOCATE",
    "DECLARE",
    "DELETE",
    "DENY",
    "DISK",
    "DROP",
    "DUMP",
    "ERRLVL",
    "EXEC",
    "EXECUTE",
    "EXIT",
    "FILE",
    "GOTO",
    "GRANT",
    "HOLDLOCK",
    "IDENTITYCOL",
    "IDENTITY_INSERT",
    "IF",
    "INSERT",
    "INTO",
    "KILL",
    "LINENO",
    "LOAD",
    "MERGE",
    "OFFSETS",
    "OPENDATASOURCE",
    "OPENQUERY",
    "OPENROWSET",
    "OPENXML",
    "PRINT",
    "PROC",
    "PROCEDURE",
    "RAISERROR",
    "READTEXT",
    "RECONFIGURE",
    "RESTORE",
    "RETURN",
    "REVERT",
    "REVOKE",
    "ROLLBACK",
    "ROWGUIDCOL",
    "RULE",
    "SAVE",
    "SECURITYAUDIT",
    "SET",
    "SETUSER",
    "SHUTDOWN",
    "STATISTICS",
    "TEXTSIZE",
    "TRAN",
    "TRANSACTION",
    "TRIGGER",
    "TRUNCATE",
    "TSEQUAL",
    "UPDATE",
    "UPDATETEXT",
    "USE",
    "WAITFOR",
    "WHILE",
    "WRITETEXT",
];
/// How a statement may begin, brackets aside.
const OPENING: [&str; 2] = ["SELECT", "WITH"];
/// What joins one SELECT to the next.
const JOINING: [&str; 4] = ["UNION", "ALL", "EXCEPT", "INTERSECT"];

/// A part of a statement outside of strings, quoted names and comments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part<'a> {
    Word(&'a str),
    Sign(char),
    /// A string or a quoted name.
    Quoted,
}

/// Refuses what is not one SELECT.
///
/// # Errors
/// `InvalidStatement`, which says what is wrong.
pub(crate) fn check(statement: &str) -> Result<()> {
    let refuse = |message: String| Err(Error::invalid_statement(message));
    if statement.contains('\0') {
        return refuse(
            "the statement holds a NUL character, which SQL Server does not allow".into(),
        );
    }
    let mut parts = Parts { rest: statement };
    let (mut depth, mut selects, mut has_with) = (0_usize, 0, false);
    let (mut before, mut first, mut over) = (None, true, false);
    while let Some(part) = parts.next_part()? {
        if over && part != Part::Sign(';') {
            return refuse("only one statement is accepted".into());
        }
        match part {
            Part::Sign('(') => depth += 1,
            Part::Sign(')') => depth = depth.saturating_sub(1),
            Part::Sign(';') => over = true,
            Part::Sign(_) | Part::Quoted => {}
            Part::Word(word) => {
                let upper = word.to_ascii_uppercase();
                if first && !OPENING.contains(&upper.as_str()) {
                    return refuse(format!("`{word}` is no SELECT; only reading is allowed"));
                }
                if is_refused(word) {
                    let message = format!(
                        "`{word}` is not allowed in a statement that only reads; quote it if it is a name"
                    );
                    return refuse(message);
                }
                has_with |= first && upper == "WITH";
                if upper == "SELECT" && depth == 0 {
                    selects += 1;
                    let joined = before.is_some_and(|word: Part<'_>| is_joining(word));
                    if selects > 1 && !joined {
                        return refuse(
                            "only one statement is accepted; a second SELECT begins another".into(),
                        );
                    }
                    if selects == 1 && !first && !has_with && !joined {
                        return refuse("only one statement is accepted".into());
                    }
                }
            }
        }
        first &= part == Part::Sign('(');
        before = Some(part);
    }
    match selects > 0
        || (before.is_some() && !first && !has_with && depth == 0 && is_bracketed(statement))
    {
        true => Ok(()),
        false => refuse("there is no statement; write one SELECT".into()),
    }
}

fn is_refused(word: &str) -> bool {
    REFUSED
        .iter()
        .any(|refused| word.eq_ignore_ascii_case(refused))
}

fn is_joining(part: Part<'_>) -> bool {
    matches!(part, Part::Word(word) if JOINING.iter().any(|joining| word.eq_ignore_ascii_case(joining)))
}

/// `(SELECT 1)`, alone or joined to others.
fn is_bracketed(statement: &str) -> bool {
    let mut parts = Parts { rest: statement };
    matches!(parts.next_part(), Ok(Some(Part::Sign('('))))
}

struct Parts<'a> {
    rest: &'a str,
}

impl<'a> Parts<'a> {
    fn next_part(&mut self) -> Result<Option<Part<'a>>> {
        loop {
            self.rest = self
                .rest
                .trim_start_matches(|c: char| c.is_whitespace() || c.is_control());
            let Some(first) = self.rest.chars().next() else {
                return Ok(None);
            };
            if self.rest.starts_with("--") {
                self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
            } else if self.rest.starts_with("/*") {
                self.skip_comment()?;
            } else if matches!(first, '\'' | '"' | '[') {
                self.skip_quoted(if first == '[' { ']' } else { first })?;
                return Ok(Some(Part::Quoted));
            } else if is_word(first) && first != '$' {
                let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
                let word = self.rest.get(..end).unwrap_or(self.rest);
                let end = match number_length(word) {
                    0 => end,
                    number => number,
                };
                let (word, rest) = self.rest.split_at(end);
                // N'…' is a string.
                self.rest = rest;
                return Ok(Some(Part::Word(word)));
            } else {
                self.rest = &self.rest[first.len_utf8()..];
                return Ok(Some(Part::Sign(first)));
            }
        }
    }

    /// Comments nest.
    fn skip_comment(&mut self) -> Result<()> {
        let (mut depth, mut at) = (0_usize, 0);
        let bytes = self.rest.as_bytes();
        while let Some(pair) = bytes.get(at..at + 2) {
            at += match pair {
                b"/*" => {
                    depth += 1;
                    2
                }
                b"*/" => {
                    depth -= 1;
                    2
                }
                _ => 1,
            };
            if depth == 0 {
                self.rest = self.rest.get(at..).unwrap_or_default();
                return Ok(());
            }
        }
        Err(Error::invalid_statement("a comment is not closed"))
    }

    /// Within quotes the closing one is doubled.
    fn skip_quoted(&mut self, close: char) -> Result<()> {
        let mut characters = self.rest.char_indices().skip(1).peekable();
        while let Some((at, character)) = characters.next() {
            if character != close {
                continue;
            }
            if characters.next_if(|(_, next)| *next == close).is_none() {
                self.rest = &self.rest[at + close.len_utf8()..];
                return Ok(());
            }
        }
        Err(Error::invalid_statement(format!(
            "a quote is not closed: {close}"
        )))
    }
}

/// How many bytes at the front of a word are a number. T-SQL needs no space behind one: `1SHUTDOWN` is a number and a
/// word, and so are `1e5SHUTDOWN`, `1eSHUTDOWN` and `0xFSHUTDOWN`. The sign `$` before money is a part of its own.
fn number_length(word: &str) -> usize {
    let run = |from: usize, of: fn(char) -> bool| {
        let rest = word.get(from..).unwrap_or_default();
        from + rest.find(|c| !of(c)).unwrap_or(rest.len())
    };
    let digits = run(0, char::is_numeric);
    let mut after = word.get(digits..).unwrap_or_default().chars();
    match after.next() {
        Some('x' | 'X') if digits == 1 && word.starts_with('0') => {
            run(digits + 1, |c| c.is_ascii_hexdigit())
        }
        // `1EXEC` is refused, whether the E belongs to the number or to the word.
        Some('e' | 'E') if digits > 0 && !is_refused(word.get(digits..).unwrap_or_default()) => {
            run(digits + 1, char::is_numeric)
        }
        _ => digits,
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '@' | '#' | '$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_select_passes() {
        for statement in [
            "SELECT 1",
            "select 1;",
            "(SELECT 1) UNION ALL (SELECT 2)",
            "SELECT 1 UNION SELECT 2 EXCEPT SELECT 3",
            "WITH a AS (SELECT 1 AS n), b AS (SELECT n FROM a) SELECT n FROM b ORDER BY n",
            "SELECT (SELECT 1) FROM (SELECT 2 AS n) AS t WHERE EXISTS (SELECT 3)",
            "SELECT '; DROP TABLE t', [delete], \"update\", N'it''s -- /* ' -- DELETE\n FROM [a]]b] /* /* EXEC */ */",
            "SELECT 1AS a, 1e5AS b, 0x1F AS c, $2.50 AS d, $node_id, a$b FROM t WHERE 1=1AND 2e-3<1OR t.update1 = 2E",
            "SELECT 1UNION SELECT 2",
            "SELECT 'a\u{1}' AS settings, offset_count FROM t ORDER BY 1 OFFSET 5 ROWS FETCH NEXT 5 ROWS ONLY",
        ] {
            assert!(
                check(statement).is_ok(),
                "{statement}: {:?}",
                check(statement)
            );
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for statement in [
            "",
            ";",
            "-- nothing",
            "   \n",
            "SELECT 1\0",
            "SELECT 1; SELECT 2",
            "SELECT 1 SELECT 2",
            "SELECT 1 DROP TABLE t",
            "SELECT 1 -- a\n DELETE FROM t",
            "SELECT 1 /* /* */ */ UPDATE t SET a = 1",
            "SELECT * INTO t FROM u",
            "INSERT INTO t SELECT 1",
            "WITH a AS (SELECT 1 AS n) DELETE FROM a",
            "WITH a AS (SELECT 1 AS n) SELECT n FROM a SELECT 2",
            "EXEC sp_who",
            "sp_who",
            "SELECT 1 EXECUTE('DROP TABLE t')",
            "SELECT * FROM OPENROWSET('a', 'b', 'c')",
            "SELECT * FROM t WITH (HOLDLOCK)",
            "WAITFOR DELAY '00:01'",
            "SELECT 1 WAITFOR DELAY '00:01'",
            "COMMIT",
            "SELECT 1 COMMIT DELETE FROM t",
            "SELECT 1SHUTDOWN",
            "SELECT 1.5SHUTDOWN",
            "SELECT 1e5SHUTDOWN",
            "SELECT 1eSHUTDOWN",
            "SELECT 1E+5SHUTDOWN",
            "SELECT 1EXEC sp_who",
            "SELECT 0x1FSHUTDOWN",
            "SELECT 0xSHUTDOWN",
            "SELECT $1SHUTDOWN",
            "SELECT $SHUTDOWN",
            "SELECT 1SELECT 2",
            "1SELECT 2",
            "1",
            "SELECT 'x",
            "SELECT /* 1",
            "SELECT [x",
            "WITH x",
        ] {
            let error = check(statement).expect_err(statement);
            assert_eq!(error.kind(), mindhost_sdk::ErrorKind::InvalidStatement);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[ -~\u{a0}\u{2019}\\n'\"\\[\\]/*;-]{0,80}") {
            let _ = check(&text);
        }
    }
}
