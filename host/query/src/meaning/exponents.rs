//! Numbers with an exponent as decimals: `1e3` is `1000.0`. DataFusion takes it for a decimal with a negative scale,
//! which it cannot calculate with.

use std::ops::ControlFlow;

use sqlparser::ast::{
    CastKind, DataType, ExactNumberInfo, Expr, Statement, Value, VisitMut as _, VisitorMut,
};

/// Digits of a decimal. A number with more is a double.
const MAX_DIGITS: usize = 38;

/// Writes the numbers of a statement so that they are what they say.
pub fn to_decimals(statement: &mut Statement) {
    let _ = statement.visit(&mut Decimals);
}

struct Decimals;

impl VisitorMut for Decimals {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Value(value) = expr
            && let Value::Number(text, _) = &mut value.value
            && let Some((digits, exponent)) = text.split_once(['e', 'E'])
        {
            match plain(digits, exponent) {
                Some(plain) => *text = plain,
                None => *expr = double(std::mem::take(text)),
            }
        }
        ControlFlow::Continue(())
    }
}

/// The number without its exponent, with a digit behind its point; `None` if it has too many digits.
fn plain(digits: &str, exponent: &str) -> Option<String> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let exponent: i64 = exponent.parse().ok()?;
    if exponent.unsigned_abs() > MAX_DIGITS as u64 {
        return None;
    }
    let all = format!("{whole}{fraction}");
    let point = whole.len() as i64 + exponent;
    let before = usize::try_from(-point).unwrap_or(0);
    let number = format!("{}{all}", "0".repeat(before));
    let point = usize::try_from(point).unwrap_or(0);
    let number = format!("{number:0<point$}");
    let (whole, fraction) = number.split_at(point);
    let whole = whole.trim_start_matches('0');
    let (whole, fraction) = (
        if whole.is_empty() { "0" } else { whole },
        if fraction.is_empty() { "0" } else { fraction },
    );
    (whole.len() + fraction.len() <= MAX_DIGITS).then(|| format!("{whole}.{fraction}"))
}

fn double(text: String) -> Expr {
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(Expr::Value(Value::SingleQuotedString(text).into())),
        data_type: DataType::Double(ExactNumberInfo::None),
        array: false,
        format: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_move_the_point() {
        for (text, expected) in [
            ("1e3", Some("1000.0")),
            ("1.5E2", Some("150.0")),
            ("1.25e+1", Some("12.5")),
            ("25e-1", Some("2.5")),
            ("1e-3", Some("0.001")),
            (".5e1", Some("5.0")),
            ("5.e0", Some("5.0")),
            ("0e5", Some("0.0")),
            ("1e36", Some("1000000000000000000000000000000000000.0")),
            ("1e37", None),
            ("1e300", None),
            ("1e-300", None),
            ("1e99999999999999999999", None),
        ] {
            let (digits, exponent) = text.split_once(['e', 'E']).unwrap();
            assert_eq!(plain(digits, exponent).as_deref(), expected, "{text}");
        }
    }
}
