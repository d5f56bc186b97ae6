//! Operators.

use sqlparser::{
    ast::{BinaryOperator, Expr, Ident, Spanned, UnaryOperator},
    tokenizer::Location,
};

use super::{Walk, expr::take, is_word};
use crate::{
    error::{Code, Result},
    plugins::Dialect,
};

impl Walk<'_> {
    pub(super) fn binary(&mut self, op: &mut BinaryOperator, at: Location) -> Result<()> {
        use BinaryOperator as Op;
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
            Op::PGCustomBinaryOperator(parts) => self.named_operator(parts, at),
            _ => Err(self.unsupported(format_args!("the operator `{op}`"), at)),
        }
    }

    /// `OPERATOR(schema.+)`.
    fn named_operator(&mut self, parts: &[String], at: Location) -> Result<()> {
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
            at,
        ))
    }

    pub(super) fn unary(&mut self, op: UnaryOperator, operand: &mut Box<Expr>) -> Result<()> {
        use UnaryOperator as Op;
        let at = operand.span().start;
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
            _ => return Err(self.unsupported(format_args!("the operator `{op}`"), at)),
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

fn is_tight(expr: &Expr) -> bool {
    match expr {
        Expr::UnaryOp { op, expr } => *op != UnaryOperator::Not && is_tight(expr),
        Expr::Value(_)
        | Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::Nested(_)
        | Expr::Function(_)
        | Expr::Subquery(_) => true,
        _ => false,
    }
}
