//! The constants of a statement.

use std::ops::ControlFlow;

use serde_json::Value as Json;
use sqlparser::ast::{Value, ValueWithSpan, Visit, Visitor};

use super::Facts;
use crate::{cells::Cell, numbers::moments::date_length};

/// The constants of a statement that an answer may repeat.
#[derive(Debug, Default)]
pub struct Literals {
    /// Numbers, also as text.
    pub numbers: Vec<f64>,
    /// Dates, months, and moments of them.
    pub moments: Vec<String>,
}

impl Facts {
    /// Its constants.
    pub fn literals(&self) -> Literals {
        let mut literals = Literals::default();
        if let Some(query) = &self.query {
            let _ = query.visit(&mut literals);
        }
        literals
    }
}

impl Visitor for Literals {
    type Break = ();

    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<()> {
        match &value.value {
            Value::Number(number, _) => self.numbers.extend(number.to_string().parse::<f64>()),
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => self.text(text),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl Literals {
    fn text(&mut self, text: &str) {
        // A pattern such as '2024-03-%'.
        let text = text.trim_end_matches('%').trim_end_matches('-');
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            self.numbers.extend(text.parse::<f64>());
            return;
        }
        match Cell::of(&Json::String(text.to_owned())) {
            Cell::Number(number) => self.numbers.push(number.value.abs()),
            Cell::Text(text) if begins_with_date(&text) => self.moments.push(text),
            _ => {}
        }
    }
}

fn begins_with_date(text: &str) -> bool {
    let rest = date_length(text).and_then(|length| text.get(length..));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['T', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_numbers_and_dates() {
        let sql = "SELECT t1.a2 FROM t1 WHERE a > 12.5 AND b IN ('7', 'A 99', '555-1234') AND c >= DATE '2024-03-01' \
                   AND c < '2024-04-01 00:00:00' AND d LIKE '2025-06-%' AND strftime('%m', c) = '08' LIMIT 10";
        let literals = Facts::of(sql).literals();
        assert_eq!(literals.numbers, [12.5, 7.0, 8.0, 10.0]);
        assert_eq!(literals.moments, ["2024-03-01", "2024-04-01", "2025-06"]);
    }
}
