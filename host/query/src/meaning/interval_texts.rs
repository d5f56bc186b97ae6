//! `interval '1 day 04:05:06.7'`. DataFusion reads no hours, minutes and seconds with colons.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Interval, Statement, Value, VisitMut as _, VisitorMut};

/// Writes the time of day at the end of an interval in words.
pub fn in_words(statement: &mut Statement) {
    let _ = statement.visit(&mut Intervals);
}

struct Intervals;

impl VisitorMut for Intervals {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Interval(Interval {
            value,
            leading_field: None,
            ..
        }) = expr
            && let Expr::Value(value) = value.as_mut()
            && let Value::SingleQuotedString(text) = &mut value.value
            && let Some(words) = words(text)
        {
            *text = words;
        }
        ControlFlow::Continue(())
    }
}

/// The text in words; `None` if it does not end with a time of day.
fn words(text: &str) -> Option<String> {
    let text = text.trim_end();
    let (before, time) = text.rsplit_once(char::is_whitespace).unwrap_or(("", text));
    let (sign, unsigned) = match time.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", time.strip_prefix('+').unwrap_or(time)),
    };
    let mut parts = unsigned.split(':');
    let (hours, minutes) = (parts.next()?, parts.next()?);
    let seconds = parts.next().unwrap_or("0");
    let is_whole = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (second, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let is_time = [hours, minutes, second, fraction].into_iter().all(is_whole);
    (is_time && parts.next().is_none()).then(|| {
        let time = format!("{sign}{hours} hours {sign}{minutes} minutes {sign}{seconds} seconds");
        format!("{before} {time}").trim_start().to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_become_words() {
        for (text, expected) in [
            ("04:05", Some("04 hours 05 minutes 0 seconds")),
            (
                "1 day -4:05:06.7",
                Some("1 day -4 hours -05 minutes -06.7 seconds"),
            ),
            ("1 day", None),
            ("1:2:3:4", None),
            ("1 day 4:x", None),
            ("", None),
        ] {
            assert_eq!(words(text).as_deref(), expected, "{text}");
        }
    }
}
