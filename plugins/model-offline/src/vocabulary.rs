//! The words that have a meaning of their own, whatever the catalog holds.

/// A function over the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    /// Total.
    Sum,
    /// Mean.
    Average,
    /// Smallest.
    Min,
    /// Largest.
    Max,
}

/// How a column is compared with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `=`
    Equal,
}

/// Where a text must be found in a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchPosition {
    /// Anywhere.
    Inside,
    /// At the start of the value.
    Start,
    /// At the end of the value.
    End,
}

/// Whether a list of words, parted by blanks, holds one.
pub fn holds(words: &str, word: &str) -> bool {
    words.split(' ').any(|w| w == word)
}

/// Words that carry no meaning of their own in a question about data.
const FILLERS: &str = "a an the of in for from to at on into among within out have has had having do does did done is \
    are was were be been being there we our us me my i you your it its they their them please can could would will \
    tell give get find see want need know let what which who whose whom where how that this these those all any as \
    than so far currently now right exist exists about data database table column entire whole altogether hi hello \
    hey thanks ok okay also just only some came come many much more compute calculate query report stored contain \
    shop store system here then make made";

/// Whether a word carries no meaning of its own in a question about data.
pub fn is_filler(norm: &str) -> bool {
    holds(FILLERS, norm)
}

/// Names that mean the same in most schemas.
const SYNONYMS: &str = "customer client buyer shopper; rating star; email mail; phone telephone; country nation; \
    city town; name title; movie film; sex gender; salary pay wage salaries; student pupil; car vehicle; \
    teacher instructor professor; location place; employee worker staff; enrollment enrolment; company firm";

/// The words that mean the same as a stem, itself among them.
pub fn synonyms(stem: &str) -> impl Iterator<Item = &'static str> {
    let mut groups = SYNONYMS.split("; ").map(|group| group.split(' '));
    groups
        .find(|words| words.clone().any(|w| w == stem))
        .into_iter()
        .flatten()
}

/// What a word stands for where a figure is worked out.
pub fn concept(stem: &str) -> &str {
    match stem {
        "purchase" | "sale" => "order",
        "qty" | "piece" | "unit" => "quantity",
        "star" | "score" => "rating",
        "value" | "total" => "amount",
        other => other,
    }
}
