//! Comparisons with the values of callers in engines that compare a text with a number as numbers: there every text
//! that begins with no number equals 0, so an attribute of another type than its column would open the table.
//!
//! The types of columns are not known here. So a number is compared as a number and as a text too, and a text that is
//! no number equals no value that reads as a number.

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, CaseWhen, Expr, UnaryOperator, Value, visit_expressions_mut};

use super::{Callers, RuleRefusal, RuleWalk, is_text, values};
use crate::policy::values::PlaceholderValue;
use mindhost_plugin_api::Dialect;

/// Most nodes of an expression with what is written for its comparisons.
const MAX_SIZE: usize = 4_000;
/// Most values of a list in which an attribute is looked for.
const MAX_LOOKED_FOR: usize = 50;

/// Whether MySQL writes `x` as a number, or as the bytes of a BIT.
const IS_NUMBER: &str =
    "CAST(x AS CHAR) REGEXP '^[[:cntrl:]]|^-?[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?$'";
/// The same, or a date or time.
const IS_NUMBER_OR_TIME: &str = "CAST(x AS CHAR) \
     REGEXP '^[[:cntrl:]]|^-?[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?$|^-?[0-9]+[-:][0-9]'";

/// Functions that compare their arguments.
pub(super) const COMPARING: &[&str] = &["greatest", "least", "nullif"];

/// What a side of a comparison has of the caller.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Given {
    /// Nothing, or what cannot be mistaken.
    Nothing,
    /// A number or a truth value, with its text.
    Number(String),
    /// A text that is a number.
    NumberText(String),
    /// A text that is no number.
    Word { is_time: bool },
    /// An attribute within an expression that is a text.
    Text,
    /// An attribute within an expression that may be a number.
    Within,
}

/// A side of a comparison.
struct Side {
    given: Given,
    size: usize,
}

impl Given {
    /// What a literal is that took the place of an attribute.
    pub fn of(literal: &Expr) -> Self {
        match literal {
            Expr::Nested(inner) => Self::of(inner),
            Expr::UnaryOp { .. } => Self::number(&literal.to_string()),
            Expr::Value(value) => match &value.value {
                Value::Number(digits, _) => Self::number(digits),
                Value::Boolean(value) => Self::number(&u8::from(*value).to_string()),
                Value::SingleQuotedString(text) if is_number(text) => {
                    Self::NumberText(text.clone())
                }
                Value::SingleQuotedString(text) => Self::Word {
                    is_time: begins_as_time(text),
                },
                _ => Self::Nothing,
            },
            // A text with a backslash.
            Expr::Convert { .. } => Self::Word { is_time: false },
            _ => Self::Nothing,
        }
    }

    /// The digits of a number, or of a text that is one.
    fn digits(&self) -> Option<&str> {
        match self {
            Self::Number(digits) | Self::NumberText(digits) => Some(digits),
            _ => None,
        }
    }

    fn number(digits: &str) -> Self {
        Self::Number(digits.strip_suffix(".0").unwrap_or(digits).to_owned())
    }
}

/// Whether a text begins as dates and times do.
fn begins_as_time(text: &str) -> bool {
    let parts: Vec<&str> = text.splitn(3, ['-', ':']).collect();
    let are_digits = |text: &&str| text.starts_with(|first: char| first.is_ascii_digit());
    parts.len() > 1 && parts.iter().take(2).all(are_digits)
}

/// Whether all of a text is one number, in the form of [`IS_NUMBER`].
fn is_number(text: &str) -> bool {
    let are_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let is_mantissa = match mantissa.split_once('.') {
        Some((whole, fraction)) => are_digits(whole) && are_digits(fraction),
        None => are_digits(mantissa),
    };
    let sign = ['-', '+'];
    is_mantissa
        && exponent.is_none_or(|digits| are_digits(digits.strip_prefix(sign).unwrap_or(digits)))
}

impl RuleWalk<'_> {
    fn is(&self, dialect: Dialect) -> bool {
        self.placeholders.dialect == dialect
    }

    fn side(&mut self, expr: &mut Expr) -> Result<Side, RuleRefusal> {
        let is_attribute = values::is_placeholder(expr);
        let (replaced, size) = (self.placeholders.replaced, self.size);
        self.expr(expr)?;
        let has_attribute = self.placeholders.replaced > replaced;
        let given = match (is_attribute, has_attribute) {
            (true, _) => Given::of(expr),
            (false, true) if is_text(expr) => Given::Text,
            (false, true) => Given::Within,
            (false, false) => Given::Nothing,
        };
        Ok(Side {
            given,
            size: self.size - size,
        })
    }

    /// A comparison of two values.
    pub(super) fn comparison(&mut self, expr: &mut Expr) -> Result<(), RuleRefusal> {
        if let Expr::BinaryOp { left, op, right } = expr {
            let (of_left, of_right) = (self.side(left)?, self.side(right)?);
            *expr = self.compared((&**left, &of_left), op, (&**right, &of_right))?;
        }
        Ok(())
    }

    /// `x IN (…)`
    pub(super) fn in_list(&mut self, expr: &mut Expr) -> Result<(), RuleRefusal> {
        let Expr::InList {
            expr: tested,
            list,
            negated,
        } = expr
        else {
            return Ok(());
        };
        let side = self.side(tested)?;
        let given = self.list(list)?;
        let is_plain =
            side.given == Given::Nothing && given.iter().all(|one| *one == Given::Nothing);
        // SQLite brings each value into the type of a column before IN.
        let is_right =
            self.is(Dialect::Sqlite) && side.given == Given::Nothing && is_column(tested);
        if is_plain || is_right || !self.is_confusing() {
            return Ok(());
        }
        let is_mysql = self.is(Dialect::Mysql);
        let mut each = Vec::new();
        let (mut plain, mut words) = (Vec::new(), Vec::new());
        let (mut numbers, mut texts) = (Vec::new(), Vec::new());
        for (one, given) in list.drain(..).zip(given) {
            match given {
                _ if side.given != Given::Nothing => each.push((one, given)),
                Given::Nothing => plain.push(one),
                _ if !is_mysql => each.push((one, given)),
                Given::Word { .. } if is_text(tested) => plain.push(one),
                Given::Word { is_time: false } => words.push(one),
                Given::Word { .. } | Given::Text | Given::Within => each.push((one, given)),
                Given::NumberText(_) => plain.push(one),
                Given::Number(digits) => {
                    texts.push(values::text(&digits, self.placeholders.dialect));
                    numbers.push(one);
                }
            }
        }
        if each.len() > MAX_LOOKED_FOR {
            let reason = format!(
                "an attribute is looked for in at most {MAX_LOOKED_FOR} values; write a column before IN"
            );
            return Err(RuleRefusal::of("", reason));
        }
        let one_of = |list: Vec<Expr>| Expr::InList {
            expr: tested.clone(),
            list,
            negated: false,
        };
        let mut found = Vec::new();
        if !plain.is_empty() {
            found.push(one_of(plain));
        }
        if !numbers.is_empty() {
            found.push(joined(
                [one_of(numbers), one_of(texts)],
                BinaryOperator::And,
            ));
        }
        if !words.is_empty() {
            let is_no_number = self.filled(&not(IS_NUMBER_OR_TIME), &[("x", &**tested)])?;
            found.push(joined([one_of(words), is_no_number], BinaryOperator::And));
        }
        for (one, given) in each {
            let other = Side { given, size: 1 };
            found.push(self.compared((&**tested, &side), &BinaryOperator::Eq, (&one, &other))?);
        }
        self.grow(3 * side.size)?;
        let whole = joined(found, BinaryOperator::Or);
        *expr = negation(*negated, whole);
        Ok(())
    }

    /// `x BETWEEN a AND b`
    pub(super) fn between(&mut self, expr: &mut Expr) -> Result<(), RuleRefusal> {
        let Expr::Between {
            expr: tested,
            negated,
            low,
            high,
        } = expr
        else {
            return Ok(());
        };
        let (side, of_low, of_high) = (self.side(tested)?, self.side(low)?, self.side(high)?);
        let sides = [&side, &of_low, &of_high];
        if sides.iter().all(|side| side.given == Given::Nothing) || !self.is_confusing() {
            return Ok(());
        }
        let above = self.compared((&**tested, &side), &BinaryOperator::GtEq, (&**low, &of_low))?;
        let below = self.compared(
            (&**tested, &side),
            &BinaryOperator::LtEq,
            (&**high, &of_high),
        )?;
        *expr = negation(*negated, joined([above, below], BinaryOperator::And));
        Ok(())
    }

    /// `CASE x WHEN a THEN …`: becomes `CASE WHEN x = a THEN …` if one of them is of the caller.
    pub(super) fn choice(
        &mut self,
        operand: &mut Option<Box<Expr>>,
        conditions: &mut [CaseWhen],
    ) -> Result<(), RuleRefusal> {
        let Some(tested) = operand else {
            let mut conditions = conditions.iter_mut();
            return conditions.try_for_each(|one| self.truth(&mut one.condition));
        };
        let side = self.side(tested)?;
        let mut sides = Vec::with_capacity(conditions.len());
        for one in conditions.iter_mut() {
            sides.push(self.side(&mut one.condition)?);
        }
        let all = sides.iter().chain([&side]);
        if !self.is_confusing() || all.clone().all(|side| side.given == Given::Nothing) {
            return Ok(());
        }
        for (one, other) in conditions.iter_mut().zip(&sides) {
            self.grow(side.size)?;
            one.condition = self.compared(
                (&**tested, &side),
                &BinaryOperator::Eq,
                (&one.condition, other),
            )?;
        }
        *operand = None;
        Ok(())
    }

    /// Whether the engine may take a text for a number, or order them together.
    pub(super) fn is_confusing(&self) -> bool {
        self.is(Dialect::Mysql) || self.is(Dialect::Sqlite)
    }

    /// A comparison with what keeps a text from being a number.
    fn compared(
        &mut self,
        (left, of_left): (&Expr, &Side),
        op: &BinaryOperator,
        (right, of_right): (&Expr, &Side),
    ) -> Result<Expr, RuleRefusal> {
        let mut all = vec![binary(left, op, right)];
        let is_mysql = self.is(Dialect::Mysql);
        let text = |side: &Side, expr: &Expr| match &side.given {
            Given::Number(digits) if is_mysql => {
                Ok(Some(values::text(digits, self.placeholders.dialect)))
            }
            Given::Within if is_mysql => self.filled("CAST(x AS CHAR)", &[("x", expr)]).map(Some),
            _ => Ok(None),
        };
        all.extend(text(of_left, left)?.map(|text| binary(&text, op, right)));
        all.extend(text(of_right, right)?.map(|text| binary(left, op, &text)));
        let is_order = !matches!(op, BinaryOperator::Eq | BinaryOperator::NotEq);
        let mut numbers = Vec::new();
        for (side, other) in [(of_left, right), (of_right, left)] {
            // Of SQLite's `coalesce(number, '')` only the value tells whether it is a text.
            let may_be_number = self.is(Dialect::Sqlite) || (is_mysql && !is_text(other));
            let is_number = match side.given {
                Given::Word { is_time: false } => IS_NUMBER_OR_TIME,
                Given::Word { is_time: true } | Given::Text => IS_NUMBER,
                _ => continue,
            };
            if !may_be_number {
                continue;
            }
            if is_mysql && !is_order {
                all.push(match (&side.given, op) {
                    (Given::Text, _) => {
                        let other = self.filled("CAST(x AS CHAR)", &[("x", other)])?;
                        match std::ptr::eq(side, of_left) {
                            true => binary(left, op, &other),
                            false => binary(&other, op, right),
                        }
                    }
                    (_, BinaryOperator::NotEq) => self.filled(is_number, &[("x", other)])?,
                    _ => self.filled(&not(is_number), &[("x", other)])?,
                });
            }
            numbers.push((other.clone(), is_number));
        }
        let glue = match op {
            BinaryOperator::NotEq => BinaryOperator::Or,
            _ => BinaryOperator::And,
        };
        let mut whole = joined(all, glue);
        for (other, is_number) in numbers.iter().filter(|_| is_order) {
            // NULL, because a text is neither above a number nor below it.
            let template = match is_mysql {
                true => format!("CASE WHEN {is_number} THEN NULL ELSE whole END"),
                false => "CASE WHEN typeof(x) = 'text' THEN whole END".to_owned(),
            };
            whole = self.filled(&template, &[("x", other), ("whole", &whole)])?;
        }
        for (side, other) in [(of_left, right), (of_right, left)] {
            let is_right = *op == BinaryOperator::Eq && is_column(other);
            if let Some(digits) = side.given.digits()
                && self.is(Dialect::Sqlite)
                && !is_right
            {
                // SQLite orders each number before each text, and finds none equal to one.
                let (text, number) = (
                    values::text(digits, self.placeholders.dialect),
                    self.columns.parsed(digits)?,
                );
                let with = |value: &Expr| match std::ptr::eq(side, of_left) {
                    true => binary(value, op, right),
                    false => binary(left, op, value),
                };
                let template = "CASE WHEN typeof(x) = 'text' THEN a \
                     WHEN typeof(x) IN ('integer', 'real') THEN b END";
                let parts = [("x", other), ("a", &with(&text)), ("b", &with(&number))];
                whole = self.filled(template, &parts)?;
                break;
            }
        }
        if !matches!(whole, Expr::BinaryOp { .. }) {
            self.grow(2 * (of_left.size + of_right.size))?;
        }
        Ok(whole)
    }

    /// A condition. A text of a caller is none: these engines take it for the number at its beginning, or for 0.
    pub(super) fn truth(&mut self, condition: &mut Expr) -> Result<(), RuleRefusal> {
        let replaced = self.placeholders.replaced;
        self.expr(condition)?;
        let has_attribute = self.placeholders.replaced > replaced;
        let is_known = matches!(self.placeholders.callers, Callers::Known(_));
        match has_attribute && is_known && self.is_confusing() && is_text(condition) {
            true => Err(RuleRefusal::of(
                "",
                "an attribute that is a text is no condition; give the key true or false, or compare it".to_owned(),
            )),
            false => Ok(()),
        }
    }

    /// Counts what is written more than once: a comparison may stand within another.
    fn grow(&mut self, size: usize) -> Result<(), RuleRefusal> {
        self.size += size;
        match self.size > MAX_SIZE {
            true => Err(RuleRefusal::of(
                "",
                "too many comparisons with attributes stand within others; compare attributes with columns",
            )),
            false => Ok(()),
        }
    }

    /// A template of this module with these expressions in place of its names.
    fn filled(&self, template: &str, with: &[(&str, &Expr)]) -> Result<Expr, RuleRefusal> {
        let mut made = self.columns.parsed(template)?;
        // Goes from within to without, so that it does not look into what it has put there.
        _ = visit_expressions_mut(&mut made, |expr| {
            if let Expr::Identifier(ident) = &*expr
                && let Some((_, found)) = with.iter().find(|(name, _)| *name == ident.value)
            {
                *expr = (*found).clone();
            }
            ControlFlow::<()>::Continue(())
        });
        Ok(made)
    }

    /// The list behind IN, where a placeholder may stand for several values.
    fn list(&mut self, list: &mut Vec<Expr>) -> Result<Vec<Given>, RuleRefusal> {
        let (mut all, mut given) = (Vec::with_capacity(list.len()), Vec::new());
        for mut one in list.drain(..) {
            let found = match &one {
                Expr::Identifier(ident) => self.placeholders.find(ident)?,
                _ => None,
            };
            let values = match found {
                Some(PlaceholderValue::One(value)) => vec![*value],
                Some(PlaceholderValue::List(values)) => values,
                Some(PlaceholderValue::Missing) => {
                    self.placeholders.missing = true;
                    continue;
                }
                None => {
                    given.push(self.side(&mut one)?.given);
                    all.push(one);
                    continue;
                }
            };
            given.extend(values.iter().map(Given::of));
            all.extend(values);
        }
        *list = all;
        Ok(given)
    }
}

/// The opposite of one of the patterns.
fn not(is_number: &str) -> String {
    is_number.replacen(" REGEXP ", " NOT REGEXP ", 1)
}

/// Whether it is a column, whose type SQLite gives to what it is compared with.
fn is_column(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_column(inner),
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => true,
        _ => false,
    }
}

fn binary(left: &Expr, op: &BinaryOperator, right: &Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(left.clone()),
        op: op.clone(),
        right: Box::new(right.clone()),
    }
}

/// Conditions with an operator between them, in brackets if there are several.
fn joined(all: impl IntoIterator<Item = Expr>, op: BinaryOperator) -> Expr {
    let mut all = all.into_iter();
    let first = all.next().unwrap_or(Expr::Value(Value::Null.into()));
    let mut is_one = true;
    let whole = all.fold(first, |left, right| {
        is_one = false;
        binary(&left, &op, &right)
    });
    match is_one {
        true => whole,
        false => nested(whole),
    }
}

fn negation(negated: bool, condition: Expr) -> Expr {
    if !negated {
        return condition;
    }
    let condition = match condition {
        Expr::Nested(_) => condition,
        other => nested(other),
    };
    nested(Expr::UnaryOp {
        op: UnaryOperator::Not,
        expr: Box::new(condition),
    })
}

fn nested(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_number_is_one() {
        for number in ["0", "-7", "007", "1.5", "1e20", "-1.5E-7", "2e+3"] {
            assert!(is_number(number), "{number}");
        }
        for text in [
            "",
            "-",
            "7up",
            "1.",
            ".5",
            "1e",
            "+1",
            " 1",
            "0x1",
            "2024-01-01",
            "acme",
        ] {
            assert!(!is_number(text), "{text}");
        }
    }
}
