//! The grammar of the SQL in rules: conditions and values over the columns of one table, without subqueries, and with
//! functions that give the same for the same arguments.

mod comparison;

use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, SelectItem, SetExpr, UnaryOperator, Value,
};

use self::comparison::{COMPARING, Given};
use super::{
    RuleRefusal,
    masks::{last4, replaced, typed_null},
    relation::own,
    values::{self, Callers, PlaceholderValue, Placeholders},
};
use crate::{guard, lexical::Source, rules::Rules};
use mindhost_base::policy::Mask;
use mindhost_plugin_api::Dialect;

/// Most characters of the SQL of a rule.
const MAX_TEXT: usize = 2_000;
/// Most nodes of an expression, because every mention of the table in a statement repeats it.
const MAX_NODES: usize = 200;

/// Functions that give the same for the same arguments, do not combine rows, and fail for no argument of their type.
const FUNCTIONS: &[&str] = &[
    "abs",
    "ceil",
    "ceiling",
    "char_length",
    "character_length",
    "coalesce",
    "concat",
    "date_trunc",
    "floor",
    "greatest",
    "ifnull",
    "iif",
    "isnull",
    "least",
    "left",
    "len",
    "length",
    "lengthutf8",
    "lower",
    "lowerutf8",
    "ltrim",
    "md5",
    "nullif",
    "replace",
    "right",
    "round",
    "rtrim",
    "strpos",
    "substr",
    "substring",
    "substringutf8",
    "tostring",
    "trim",
    "upper",
    "upperutf8",
    "year",
    "month",
];

/// Those of them that always give a text.
const TEXT_FUNCTIONS: &[&str] = &[
    "concat",
    "left",
    "lower",
    "ltrim",
    "md5",
    "replace",
    "right",
    "rtrim",
    "substr",
    "substring",
    "trim",
    "upper",
];

/// Those of them that give one of their arguments.
const CHOICES: &[&str] = &["coalesce", "greatest", "ifnull", "iif", "least", "nullif"];

/// The columns that a rule may name.
pub(super) struct Columns<'a> {
    pub rules: &'static Rules,
    pub all: &'a [String],
}

impl Columns<'_> {
    /// The condition of a rule. Where the caller has no value for it, no row fits.
    pub fn filter(&self, text: &str, callers: &Callers<'_>) -> Result<Expr, RuleRefusal> {
        let within = |refused: RuleRefusal| RuleRefusal::of("filter", refused.reason);
        match self.expression(text, callers, true).map_err(within)? {
            Some(filter) => Ok(filter),
            None => self.parsed("1 = 0").map_err(within),
        }
    }

    /// What stands in place of a column.
    pub fn mask(
        &self,
        column: &str,
        mask: &Mask,
        callers: &Callers<'_>,
    ) -> Result<Expr, RuleRefusal> {
        let within =
            |refused: RuleRefusal| RuleRefusal::of(format!("masked.{column}"), refused.reason);
        let of_column = |template: &str| {
            let parsed = self.parsed(template)?;
            Ok(replaced(parsed, &self.qualified(column)))
        };
        let made = match mask {
            Mask::Null => of_column(typed_null(self.rules.dialect)),
            Mask::Last4 => of_column(last4(self.rules.dialect)),
            Mask::Text(text) if text.chars().count() > MAX_TEXT || text.contains('\0') => {
                let reason =
                    format!("a text has at most {MAX_TEXT} characters and no NUL character");
                Err(RuleRefusal::of("", reason))
            }
            Mask::Text(text) => Ok(values::text(text, self.rules.dialect)),
            Mask::Sql(text) => match self.expression(text, callers, false) {
                Ok(Some(expr)) => Ok(expr),
                Ok(None) => of_column(typed_null(self.rules.dialect)),
                Err(refused) => Err(refused),
            },
        };
        made.map_err(within)
    }

    /// An expression of a rule, with the values of the caller; `None` if one is missing.
    fn expression(
        &self,
        text: &str,
        callers: &Callers<'_>,
        is_condition: bool,
    ) -> Result<Option<Expr>, RuleRefusal> {
        if text.chars().count() > MAX_TEXT {
            let reason = format!("the SQL of a policy has at most {MAX_TEXT} characters");
            return Err(RuleRefusal::of("", reason));
        }
        let marked = values::placeholders(text).map_err(|reason| RuleRefusal::of("", reason))?;
        let mut expr = self.parsed(&marked.text)?;
        let mut checked = RuleWalk {
            columns: self,
            placeholders: Placeholders {
                names: &marked.names,
                callers,
                dialect: self.rules.dialect,
                replaced: 0,
                missing: false,
            },
            nodes: 0,
            size: 0,
        };
        match is_condition {
            true => checked.truth(&mut expr)?,
            false => checked.expr(&mut expr)?,
        }
        checked.placeholders.all_replaced()?;
        Ok((!checked.placeholders.missing).then_some(expr))
    }

    /// Parses one expression and nothing else.
    fn parsed(&self, text: &str) -> Result<Expr, RuleRefusal> {
        // In brackets, because T-SQL reads `SELECT a = b` as `b AS a`; the line ends a comment.
        let sql = format!("SELECT ({text}\n)");
        let refuse = |reason: &str| RuleRefusal::of("", reason.to_owned());
        let source = Source::new(&sql).map_err(|error| refuse(error.message()))?;
        let query = guard::read(&source, self.rules).map_err(|error| refuse(error.message()))?;
        let printed = query.to_string();
        let only = match *query.body {
            SetExpr::Select(select) => match <[_; 1]>::try_from(select.projection) {
                Ok([SelectItem::UnnamedExpr(Expr::Nested(expr))]) => Some(*expr),
                _ => None,
            },
            _ => None,
        };
        // Whatever else the text has is printed, too.
        only.filter(|expr| format!("SELECT ({expr})") == printed)
            .ok_or_else(|| {
                refuse("write one SQL expression over the columns of the table, and nothing else")
            })
    }

    /// A column with the name of the table before it, so that no engine takes it for a text or an alias.
    fn qualified(&self, column: &str) -> Expr {
        own(self.rules, column)
    }

    fn find(&self, written: &Ident) -> Option<&String> {
        let is_quoted = written.quote_style.is_some();
        let exact = self.all.iter().find(|column| match self.rules.dialect {
            Dialect::Postgresql | Dialect::Datafusion if !is_quoted => {
                written.value.to_ascii_lowercase() == **column
            }
            _ => written.value == **column,
        });
        let any_case = || {
            let mut same = self
                .all
                .iter()
                .filter(|column| column.eq_ignore_ascii_case(&written.value));
            let only = same.next();
            only.filter(|_| same.next().is_none())
        };
        match self.rules.dialect {
            Dialect::Sqlite | Dialect::Mysql | Dialect::Mssql => exact.or_else(any_case),
            _ => exact,
        }
    }
}

/// The walk over an expression of a rule: it accepts known nodes and refuses all others.
struct RuleWalk<'a> {
    columns: &'a Columns<'a>,
    placeholders: Placeholders<'a>,
    nodes: usize,
    /// The nodes with those that are written for comparisons.
    size: usize,
}

impl RuleWalk<'_> {
    fn exprs<'e>(
        &mut self,
        exprs: impl IntoIterator<Item = &'e mut Expr>,
    ) -> Result<(), RuleRefusal> {
        exprs.into_iter().try_for_each(|expr| self.expr(expr))
    }

    fn expr(&mut self, expr: &mut Expr) -> Result<(), RuleRefusal> {
        self.nodes += 1;
        self.size += 1;
        if self.nodes > MAX_NODES {
            let reason = format!("the SQL of a policy has at most {MAX_NODES} parts");
            return Err(RuleRefusal::of("", reason));
        }
        match expr {
            Expr::Identifier(ident) => {
                let ident = ident.clone();
                *expr = self.name(&ident)?;
                Ok(())
            }
            Expr::Value(value) => match &value.value {
                Value::Number(_, false)
                | Value::SingleQuotedString(_)
                | Value::Boolean(_)
                | Value::Null => Ok(()),
                other => Err(refused(other)),
            },
            Expr::InList { .. } => self.in_list(expr),
            Expr::Nested(inner) | Expr::IsNull(inner) | Expr::IsNotNull(inner) => self.expr(inner),
            Expr::IsTrue(inner)
            | Expr::IsNotTrue(inner)
            | Expr::IsFalse(inner)
            | Expr::IsNotFalse(inner)
            | Expr::UnaryOp {
                op: UnaryOperator::Not,
                expr: inner,
            } => self.truth(inner),
            Expr::UnaryOp {
                op: UnaryOperator::Minus | UnaryOperator::Plus,
                expr: inner,
            } => self.sum([inner.as_mut()]),
            _ => self.operation(expr),
        }
    }

    fn operation(&mut self, expr: &mut Expr) -> Result<(), RuleRefusal> {
        match expr {
            // MySQL reads it as OR, and SQL Server before 2025 not at all.
            Expr::BinaryOp {
                op: BinaryOperator::StringConcat,
                ..
            } if matches!(self.placeholders.dialect, Dialect::Mysql | Dialect::Mssql) => {
                Err(RuleRefusal::of(
                    "",
                    "`||` does not join texts in this engine; write concat(a, b)".to_owned(),
                ))
            }
            Expr::BinaryOp { left, op, right } if is_arithmetic(op) => {
                self.sum([left.as_mut(), right.as_mut()])
            }
            Expr::BinaryOp { op, .. } if is_comparison(op) => self.comparison(expr),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And | BinaryOperator::Or,
                right,
            } => {
                self.truth(left)?;
                self.truth(right)
            }
            Expr::BinaryOp {
                left,
                op: BinaryOperator::StringConcat,
                right,
            } => self.exprs([left.as_mut(), right.as_mut()]),
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                self.exprs([left.as_mut(), right.as_mut()])
            }
            Expr::Between { .. } => self.between(expr),
            Expr::Like {
                any: false,
                expr,
                pattern,
                escape_char: None,
                ..
            }
            | Expr::ILike {
                any: false,
                expr,
                pattern,
                escape_char: None,
                ..
            } => self.exprs([expr.as_mut(), pattern.as_mut()]),
            Expr::Case {
                operand,
                conditions,
                else_result,
                ..
            } => {
                self.choice(operand, conditions)?;
                self.exprs(conditions.iter_mut().map(|one| &mut one.result))?;
                self.exprs(else_result.iter_mut().map(AsMut::as_mut))
            }
            Expr::Cast {
                kind: CastKind::Cast | CastKind::DoubleColon,
                expr,
                data_type,
                array: false,
                format: None,
            } => self.cast(expr, data_type),
            Expr::Substring {
                expr,
                substring_from,
                substring_for,
                ..
            } => {
                self.expr(expr)?;
                let bounds = [substring_from, substring_for].into_iter().flatten();
                self.exprs(bounds.map(AsMut::as_mut))
            }
            Expr::Trim {
                expr,
                trim_what: None,
                trim_characters: None,
                ..
            } => self.expr(expr),
            Expr::TypedString(_) => Ok(()),
            Expr::Function(function) => self.function(function),
            other => Err(refused(other)),
        }
    }

    /// The operands of arithmetic. MySQL and SQLite take a text for the number at its beginning, or for 0:
    /// `tenant = 'a' + 'b'` would be `tenant = 0`, which in MySQL is true of every text that is no number.
    fn sum<const N: usize>(&mut self, mut operands: [&mut Expr; N]) -> Result<(), RuleRefusal> {
        let mut has_text = operands.iter().any(|operand| is_text(operand));
        self.exprs(operands.iter_mut().map(|operand| &mut **operand))?;
        // Where attributes are not known, a text stands for them that may be a number.
        if matches!(self.placeholders.callers, Callers::Known(_)) {
            has_text |= operands.iter().any(|operand| is_text(operand));
        }
        match (has_text, self.placeholders.dialect) {
            (true, Dialect::Mysql | Dialect::Sqlite) => Err(RuleRefusal::of(
                "",
                "this engine takes a text beside `+`, `-` and `*` for the number 0; compute with numbers, and write \
                 concat(a, b) to join texts",
            )),
            _ => Ok(()),
        }
    }

    /// A column, or the value of a placeholder.
    fn name(&mut self, ident: &Ident) -> Result<Expr, RuleRefusal> {
        match self.placeholders.find(ident)? {
            Some(PlaceholderValue::One(value)) => return Ok(*value),
            Some(PlaceholderValue::List(_) | PlaceholderValue::Missing) => {
                self.placeholders.missing = true;
                return Ok(Expr::Value(Value::Null.into()));
            }
            None => {}
        }
        match self.columns.find(ident) {
            Some(column) => Ok(self.columns.qualified(column)),
            None => Err(RuleRefusal::of(
                "",
                format!("the table has no column `{}`", ident.value),
            )),
        }
    }

    /// MySQL and SQLite take a text that is no number for the number at its beginning, or for 0.
    fn cast(&mut self, expr: &mut Expr, to: &DataType) -> Result<(), RuleRefusal> {
        let replaced = self.placeholders.replaced;
        self.expr(expr)?;
        let has_attribute = self.placeholders.replaced > replaced;
        let is_known = matches!(self.placeholders.callers, Callers::Known(_));
        let is_word = matches!(Given::of(expr), Given::Word { .. })
            || (is_text(expr) && !matches!(Given::of(expr), Given::NumberText(_)));
        let is_mistaken = has_attribute && is_known && is_word;
        match is_mistaken && self.may_be_number(to) {
            true => Err(RuleRefusal::of(
                "",
                format!("an attribute that is no number cannot be cast to {to}"),
            )),
            false => Ok(()),
        }
    }

    /// Whether a cast to the type may make a number of a text. In SQLite each type does that is not one of texts.
    fn may_be_number(&self, to: &DataType) -> bool {
        match self.placeholders.dialect {
            Dialect::Mysql => is_number(to),
            Dialect::Sqlite => !is_text_type(to),
            _ => false,
        }
    }

    fn function(&mut self, function: &mut Function) -> Result<(), RuleRefusal> {
        let name = function.name.to_string().to_ascii_lowercase();
        let is_plain = !function.uses_odbc_syntax
            && matches!(function.parameters, FunctionArguments::None)
            && function.filter.is_none()
            && function.null_treatment.is_none()
            && function.over.is_none()
            && function.within_group.is_empty();
        let FunctionArguments::List(list) = &mut function.args else {
            return Err(refused(&function.name));
        };
        let is_plain = is_plain && list.duplicate_treatment.is_none() && list.clauses.is_empty();
        if !is_plain || !FUNCTIONS.contains(&name.as_str()) {
            return Err(RuleRefusal::of(
                "",
                format!(
                    "`{name}` cannot be used in a policy; the functions are {}",
                    FUNCTIONS.join(", ")
                ),
            ));
        }
        let replaced = self.placeholders.replaced;
        for arg in &mut list.args {
            match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => self.expr(expr)?,
                other => return Err(refused(other)),
            }
        }
        let has_attribute = self.placeholders.replaced > replaced;
        match has_attribute && self.is_confusing() && COMPARING.contains(&name.as_str()) {
            true => Err(RuleRefusal::of(
                "",
                format!(
                    "`{name}` cannot compare an attribute in this engine; write CASE WHEN with = or < instead"
                ),
            )),
            false => Ok(()),
        }
    }
}

fn is_comparison(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
    )
}

/// Whether a type is one of numbers, by the beginning of its name.
fn is_number(data_type: &DataType) -> bool {
    const NAMES: [&str; 13] = [
        "BIGINT",
        "BOOL",
        "DEC",
        "DOUBLE",
        "FLOAT",
        "INT",
        "MEDIUMINT",
        "NUMERIC",
        "REAL",
        "SIGNED",
        "SMALLINT",
        "TINYINT",
        "UNSIGNED",
    ];
    let name = data_type.to_string().to_ascii_uppercase();
    NAMES.iter().any(|number| name.starts_with(number))
}

fn is_arithmetic(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Plus | BinaryOperator::Minus | BinaryOperator::Multiply
    )
}

fn is_text_type(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Binary(_)
            | DataType::Char(_)
            | DataType::Character(_)
            | DataType::CharacterVarying(_)
            | DataType::Nvarchar(_)
            | DataType::Text
            | DataType::Varchar(_)
    )
}

/// Whether an expression gives a text in every row. Of columns only the names are known.
fn is_text(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_text(inner),
        Expr::Value(value) => matches!(value.value, Value::SingleQuotedString(_)),
        // A text of a caller that has a backslash in it is written as one.
        Expr::Convert { .. } | Expr::Substring { .. } | Expr::Trim { .. } => true,
        Expr::BinaryOp { op, .. } => *op == BinaryOperator::StringConcat,
        Expr::Cast { data_type, .. } => is_text_type(data_type),
        Expr::Case {
            conditions,
            else_result,
            ..
        } => {
            let results = conditions.iter().map(|one| &one.result);
            results
                .chain(else_result.iter().map(AsRef::as_ref))
                .any(is_text)
        }
        Expr::Function(Function {
            name,
            args: FunctionArguments::List(list),
            ..
        }) => {
            let name = name.to_string().to_ascii_lowercase();
            let is_text_argument = |arg: &FunctionArg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => is_text(expr),
                _ => false,
            };
            TEXT_FUNCTIONS.contains(&name.as_str())
                || (CHOICES.contains(&name.as_str()) && list.args.iter().any(is_text_argument))
        }
        _ => false,
    }
}

fn refused(what: &impl std::fmt::Display) -> RuleRefusal {
    let reason = format!(
        "`{what}` cannot be used in a policy: write comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL, CASE, CAST and \
         simple functions over the columns of the table"
    );
    RuleRefusal::of("", reason)
}
