//! `SIMILAR TO` as a regular expression over the whole text. DataFusion takes its pattern as one that may match anywhere.

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, Statement, Value, VisitMut as _, VisitorMut};

/// Writes each `SIMILAR TO` of a constant as a regular expression.
pub fn to_regex(statement: &mut Statement) {
    let _ = statement.visit(&mut Patterns);
}

/// Whether an expression is a `SIMILAR TO` that cannot be written so.
pub fn is_refused(expr: &Expr) -> bool {
    matches!(expr, Expr::SimilarTo { .. }) && constant(expr).is_none()
}

/// The pattern of a `SIMILAR TO` without an escape of its own.
fn constant(expr: &Expr) -> Option<&str> {
    let Expr::SimilarTo {
        pattern,
        escape_char: None,
        ..
    } = expr
    else {
        return None;
    };
    match pattern.as_ref() {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

struct Patterns;

impl VisitorMut for Patterns {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(pattern) = constant(expr)
            && let regex = Value::SingleQuotedString(regex(pattern))
            && let Expr::SimilarTo {
                negated, expr: of, ..
            } = expr
        {
            let op = match negated {
                true => BinaryOperator::PGRegexNotMatch,
                false => BinaryOperator::PGRegexMatch,
            };
            *expr = Expr::BinaryOp {
                left: of.clone(),
                op,
                right: Box::new(Expr::Value(regex.into())),
            };
        }
        ControlFlow::Continue(())
    }
}

/// The regular expression of a pattern: `%` and `_` are any letters, `|*+?{}()[]` are what they are there too, all
/// others are themselves, as is what follows a backslash.
fn regex(pattern: &str) -> String {
    let mut regex = String::from("(?s)^(?:");
    let mut letters = pattern.chars();
    let mut is_in_brackets = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                let escaped = letters.next().unwrap_or('\\');
                if !escaped.is_alphanumeric() {
                    regex.push('\\');
                }
                regex.push(escaped);
            }
            ']' => {
                is_in_brackets = false;
                regex.push(']');
            }
            // Rust has sets within sets.
            '[' | '&' | '~' if is_in_brackets => regex.extend(['\\', letter]),
            _ if is_in_brackets => regex.push(letter),
            '[' => {
                is_in_brackets = true;
                regex.push('[');
            }
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            '.' | '^' | '$' | '#' | '&' | '~' => regex.extend(['\\', letter]),
            other => regex.push(other),
        }
    }
    regex.push_str(")$");
    regex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_regular_expressions_over_the_whole_text() {
        for (pattern, expected) in [
            ("A%", "A.*"),
            ("E.e", r"E\.e"),
            ("(a|b)_+", "(a|b).+"),
            ("[a-z_%]{2}", "[a-z_%]{2}"),
            ("[[&]", r"[\[\&]"),
            (r"100\%", r"100\%"),
            (r"\a\", r"a\\"),
            ("^$", r"\^\$"),
        ] {
            assert_eq!(regex(pattern), format!("(?s)^(?:{expected})$"), "{pattern}");
        }
    }
}
