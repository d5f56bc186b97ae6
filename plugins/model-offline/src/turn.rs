//! What the messages of a request come to: the questions so far, today's date, and the tools used for the last one.

use jiff::civil::Date;

use crate::taught::Taught;
use crate::words::tokenize;

/// Words of a question at most, with those that it goes on from: reading it takes time that grows with them.
pub const MOST_WORDS: usize = 150;
/// Bytes of such a text at most: words may be long.
pub const MOST_BYTES: usize = 3_000;

/// How many words and signs a text has; of a text with too many bytes, too many.
pub fn words(text: &str) -> usize {
    match text.len() {
        0..=MOST_BYTES => tokenize(text).len(),
        _ => MOST_WORDS + 1,
    }
}

/// One use of a tool since the last question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Name of the tool, as the host offered it.
    pub tool: String,
    /// Its arguments as JSON text.
    pub arguments: String,
    /// What it gave, as JSON text.
    pub content: String,
    /// Whether that tells of an error.
    pub failed: bool,
}

/// The state of a conversation, read anew for each request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turn {
    /// The day on which the question is asked, as the system message says it.
    pub today: Option<Date>,
    /// The statement that the Mind was taught for the question.
    pub taught: Option<Taught>,
    /// What the Mind was taught, as far as it is told with the question.
    pub knowledge: String,
    /// Earlier questions, oldest first; an empty one is too long to go on from.
    pub earlier: Vec<String>,
    /// The last words of the user; empty if there are none.
    pub question: String,
    /// What was done about it so far.
    pub steps: Vec<Step>,
    /// Names of the tools that may be called now.
    pub tools: Vec<String>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Call a tool with these arguments.
    Call {
        /// One of the tools that the host offers now.
        tool: &'static str,
        /// JSON text.
        arguments: String,
    },
    /// Answer.
    Say(String),
    /// Say why there is no answer, or ask back.
    Decline(String),
}

/// Finds "Today is YYYY-MM-DD" in the system message.
pub fn today(system: &str) -> Option<Date> {
    let mut words = system.split_whitespace();
    while let Some(word) = words.next() {
        if word.eq_ignore_ascii_case("today")
            && words.next().is_some_and(|w| w.eq_ignore_ascii_case("is"))
        {
            let date = words.next()?.trim_matches(|c: char| !c.is_ascii_digit());
            return date.get(..10)?.parse().ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #[test]
    fn today_is_read_from_the_system_message() {
        let date = super::today("You are sales.\nToday is 2026-11-20.\nRules:");
        assert_eq!(date.map(|d| d.to_string()), Some("2026-11-20".to_owned()));
        assert_eq!(super::today("Today is a fine day."), None);
    }
}
