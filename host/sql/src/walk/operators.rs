//! Operators.

use sqlparser::ast::{BinaryOperator, CastKind, Expr, Ident, Spanned, UnaryOperator};

use super::{Walk, is_word, take};
use mindhost_base::error::{Code, Result};
use mindhost_plugin_api::Dialect;

impl Walk<'_> {
    /// Checks an operator. `left` stands before it and says where it is, which is looked at only for an error.
    pub(super) fn binary(&mut self, op: &mut BinaryOperator, left: &Expr) -> Result<()> {
        use BinaryOperator as Op;
        // Of the operators that are words, T-SQL knows two. Any other one it takes for the name of a column, behind
        // which the next statement begins: `SELECT 1 XOR SHUTDOWN`.
        let is_word = op
            .to_string()
            .starts_with(|c: char| c.is_ascii_alphabetic());
        if self.is(Dialect::Mssql) && is_word && !matches!(op, Op::And | Op::Or) {
            return Err(self.unsupported(format_args!("the operator `{op}`"), left.span().start));
        }
        match op {
            Op::Plus
            | Op::Minus
            | Op::Multiply
            | Op::Divide
            | Op::Modulo
            | Op::StringConcat
            | Op::Gt
            | Op::Lt
            | Op::GtEq
            | Op::LtEq
            | Op::Spaceship
            | Op::Eq
            | Op::NotEq
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::BitwiseOr
            | Op::BitwiseAnd
            | Op::BitwiseXor
            | Op::MyIntegerDivide
            | Op::Match
            | Op::Regexp
            | Op::PGBitwiseXor
            | Op::PGBitwiseShiftLeft
            | Op::PGBitwiseShiftRight
            | Op::PGExp
            | Op::PGOverlap
            | Op::PGRegexMatch
            | Op::PGRegexIMatch
            | Op::PGRegexNotMatch
            | Op::PGRegexNotIMatch
            | Op::PGLikeMatch
            | Op::PGILikeMatch
            | Op::PGNotLikeMatch
            | Op::PGNotILikeMatch
            | Op::PGStartsWith
            | Op::Arrow
            | Op::LongArrow
            | Op::HashArrow
            | Op::HashLongArrow
            | Op::AtAt
            | Op::AtArrow
            | Op::ArrowAt
            | Op::HashMinus
            | Op::AtQuestion
            | Op::Question
            | Op::QuestionAnd
            | Op::QuestionPipe
            | Op::Overlaps
            | Op::DoubleHash
            | Op::LtDashGt
            | Op::AndLt
            | Op::AndGt
            | Op::LtLtPipe
            | Op::PipeGtGt
            | Op::AndLtPipe
            | Op::PipeAndGt
            | Op::LtCaret
            | Op::GtCaret
            | Op::QuestionHash
            | Op::QuestionDash
            | Op::QuestionDashPipe
            | Op::QuestionDoublePipe
            | Op::At
            | Op::TildeEq => Ok(()),
            Op::Custom(text)
                if self
                    .rules
                    .operators
                    .contains(text.replace(' ', "_").as_str()) =>
            {
                Ok(())
            }
            Op::PGCustomBinaryOperator(parts) => self.named_operator(parts, left),
            _ => Err(self.unsupported(format_args!("the operator `{op}`"), left.span().start)),
        }
    }

    /// Checks PostgreSQL's `OPERATOR(schema.+)`: the sign, and the schema if there is one.
    fn named_operator(&mut self, parts: &[String], left: &Expr) -> Result<()> {
        let sign = parts.last().map(String::as_str).unwrap_or_default();
        let plain = !sign.is_empty()
            && sign.chars().all(|c| "+-*/<>=~!@#%^&|`?".contains(c))
            && !sign.contains("--")
            && !sign.contains("/*");
        let allowed = match parts {
            [_] => self.rules.operators.contains(sign),
            [schema, _] if is_word(schema) => {
                let own = self.schema(&Ident::new(schema.as_str()));
                !own || self.rules.operators.contains(sign)
            }
            _ => false,
        };
        if allowed && plain {
            return Ok(());
        }
        Err(self.error(
            Code::SqlFunctionNotAllowed,
            format!(
                "the operator `{}` is not allowed; use the built-in ones without OPERATOR()",
                parts.join(".")
            ),
            left.span().start,
        ))
    }

    pub(super) fn unary(&mut self, op: UnaryOperator, operand: &mut Box<Expr>) -> Result<()> {
        use UnaryOperator as Op;
        match op {
            Op::Plus | Op::Minus | Op::Not | Op::BitwiseNot => {}
            Op::AtDashAt
            | Op::DoubleAt
            | Op::Hash
            | Op::PGAbs
            | Op::PGCubeRoot
            | Op::PGSquareRoot
            | Op::QuestionDash
            | Op::QuestionPipe
                if self.is(Dialect::Postgresql) => {}
            _ => {
                let at = operand.span().start;
                return Err(self.unsupported(format_args!("the operator `{op}`"), at));
            }
        }
        self.expr(operand)?;
        // The serialiser puts no blank behind most of these, and two minus signs begin a comment. Brackets keep the
        // meaning only around what binds more tightly than any operator; the rest is refused when it is printed.
        let chained = matches!(**operand, Expr::UnaryOp { .. }) && op != Op::Not;
        if chained && is_tight(operand) {
            let inner = take(operand);
            **operand = Expr::Nested(Box::new(inner));
        }
        Ok(())
    }
}

/// Terms from which a chain is balanced.
const LONG: usize = 64;
/// Terms up to which a chain is balanced. Longer ones are refused.
const LONGEST: usize = 1_000;

/// Rewrites a long chain of AND or OR as a balanced tree: `(a AND b) AND (c AND d)`. The terms keep their order.
pub(super) fn balance(expr: &mut Expr) {
    let Expr::BinaryOp { op, .. } = expr else {
        return;
    };
    let op = op.clone();
    if !matches!(op, BinaryOperator::And | BinaryOperator::Or) {
        return;
    }
    let mut length = 1;
    let mut left = &*expr;
    while let Expr::BinaryOp {
        op: next,
        left: below,
        ..
    } = left
        && *next == op
        && length <= LONGEST
    {
        length += 1;
        left = below;
    }
    if !(LONG..=LONGEST).contains(&length) {
        return;
    }
    let mut terms = Vec::with_capacity(length);
    let mut rest = std::mem::replace(expr, Expr::Tuple(Vec::new()));
    loop {
        match rest {
            Expr::BinaryOp {
                op: next,
                left,
                right,
            } if next == op => {
                terms.push(*right);
                rest = *left;
            }
            first => {
                terms.push(first);
                break;
            }
        }
    }
    terms.reverse();
    *expr = tree(terms, &op);
}

/// Builds a balanced tree, with brackets where the parser needs them.
fn tree(mut terms: Vec<Expr>, op: &BinaryOperator) -> Expr {
    if terms.len() < 2 {
        return terms.pop().unwrap_or_else(|| Expr::Tuple(Vec::new()));
    }
    let second = terms.split_off(terms.len().div_ceil(2));
    let is_one = second.len() == 1;
    let (left, right) = (tree(terms, op), tree(second, op));
    Expr::BinaryOp {
        left: Box::new(left),
        op: op.clone(),
        right: Box::new(match is_one {
            true => right,
            false => Expr::Nested(Box::new(right)),
        }),
    }
}

fn is_tight(expr: &Expr) -> bool {
    match expr {
        Expr::UnaryOp { op, expr } => *op != UnaryOperator::Not && is_tight(expr),
        Expr::Cast {
            kind: CastKind::DoubleColon,
            expr,
            ..
        } => !matches!(**expr, Expr::UnaryOp { .. }) && is_tight(expr),
        Expr::Value(_)
        | Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::Nested(_)
        | Expr::Function(_)
        | Expr::Cast { .. }
        | Expr::Case { .. }
        | Expr::Subquery(_) => true,
        _ => false,
    }
}
