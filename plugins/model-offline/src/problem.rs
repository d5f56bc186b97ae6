//! Why a question cannot be answered, and how to say so.

use crate::dates::DateTrouble;

/// What stands in the way of an answer. Each names the words of the question that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Words that are neither in the vocabulary nor in the catalog.
    Unknown(Vec<String>),
    /// One phrase, several meanings.
    Ambiguous(String, Vec<String>),
    /// A phrase that has nothing to do with the table the question is about.
    Unrelated(String, String),
    /// A date that could not be read.
    Date(String, DateTrouble),
    /// A sentence that says what these rules cannot do.
    Unsupported(String),
    /// No table, no column, nothing to answer.
    NothingAsked,
}

impl Problem {
    /// A sentence without support for it.
    pub fn unsupported(sentence: impl Into<String>) -> Self {
        Self::Unsupported(sentence.into())
    }

    /// The problem in a sentence or two.
    pub fn sentence(&self) -> String {
        match self {
            Self::Unknown(words) => {
                let list = words
                    .iter()
                    .map(|w| format!("\"{w}\""))
                    .collect::<Vec<_>>()
                    .join(", ");
                format!(
                    "I did not understand {list}: I find no table, column or known value for it, and I will not \
                     answer a question with parts of it left out."
                )
            }
            Self::Ambiguous(words, choices) => {
                let list = choices
                    .iter()
                    .map(|c| format!("`{c}`"))
                    .collect::<Vec<_>>()
                    .join(", ");
                format!(
                    "\"{words}\" can mean several things here: {list}. Please say which one you mean."
                )
            }
            Self::Unrelated(words, base) => format!(
                "I found no single way from `{base}` to \"{words}\" over the foreign keys, so I cannot combine them."
            ),
            Self::Date(words, trouble) => match trouble {
                DateTrouble::TodayUnknown => {
                    format!(
                        "I was not told today's date, so I cannot work out \"{words}\". Please write the dates out."
                    )
                }
                DateTrouble::YearMissing => {
                    format!("\"{words}\" needs a year, as in \"March 2024\" or \"Q1 2024\".")
                }
                DateTrouble::ImpossibleDay => format!("\"{words}\" is not a day of the calendar."),
            },
            Self::Unsupported(sentence) => sentence.clone(),
            Self::NothingAsked => "I found no table or column in that question.".to_owned(),
        }
    }
}
