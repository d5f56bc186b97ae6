//! Comparisons of values of different types.
//!
//! DataFusion compares a float with a decimal as `Decimal(30, 15)`, in which most floats have no place; a text with a
//! decimal by the digits of the decimal's type, to which it rounds the text; and intervals by their months before their
//! days, so that 24 hours are less than a day. It makes one column of floats and decimals in the same way.

use std::sync::Arc;

use datafusion::{
    arrow::datatypes::{DataType, IntervalUnit},
    common::{Column, DFSchema, Result, ScalarValue},
    logical_expr::{
        Between, BinaryExpr, Case, Cast, Expr, ExprSchemable as _, LogicalPlan, LogicalPlanBuilder,
        Subquery, Union,
        expr::{InList, InSubquery, SetComparison},
        utils::merge_schema,
    },
};

use super::{interval_length, is_comparison, times, truth_texts};

/// Functions that give one of their arguments.
const CHOICES: [&str; 6] = ["coalesce", "greatest", "least", "nullif", "nvl", "nvl2"];
/// Digits of the widest decimal.
const MAX_DIGITS: usize = 38;

/// How the sides of a comparison become comparable.
#[derive(Clone, Copy)]
enum Common {
    /// As doubles: a decimal and a float, or a decimal and a text.
    Double,
    /// As lengths: intervals and durations.
    Length,
}

/// A comparison whose sides have a type in which both keep their value.
pub fn exact(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    Ok(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(op) => {
            let [left, right] = made_equal([*left, *right], schema)?;
            Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
        }
        Expr::Between(Between {
            expr,
            negated,
            low,
            high,
        }) => {
            let [expr, low, high] = made_equal([*expr, *low, *high], schema)?;
            Expr::Between(Between::new(
                Box::new(expr),
                negated,
                Box::new(low),
                Box::new(high),
            ))
        }
        Expr::InList(InList {
            expr,
            mut list,
            negated,
        }) => {
            list.push(*expr);
            let mut all = made_equal(list, schema)?;
            match all.pop() {
                Some(expr) => Expr::InList(InList::new(Box::new(expr), all, negated)),
                None => Expr::Literal(ScalarValue::Boolean(None), None),
            }
        }
        Expr::Case(case) => Expr::Case(exact_case(case, schema)?),
        Expr::ScalarFunction(mut call) if CHOICES.contains(&call.func.name()) => {
            // Of nvl2, the first is only tested.
            let from = usize::from(call.func.name() == "nvl2").min(call.args.len());
            let chosen = in_common(call.args.split_off(from), schema)?;
            call.args.extend(chosen);
            Expr::ScalarFunction(call)
        }
        Expr::InSubquery(query) => {
            let (value, listed) = with_values(query.expr, query.subquery, schema)?;
            Expr::InSubquery(InSubquery::new(value, listed, query.negated))
        }
        Expr::SetComparison(query) => {
            let (value, listed) = with_values(query.expr, query.subquery, schema)?;
            let compared = SetComparison::new(value, listed, query.op, query.quantifier);
            Expr::SetComparison(compared)
        }
        other => other,
    })
}

fn exact_case(case: Case, schema: &DFSchema) -> Result<Case> {
    let (mut whens, mut thens): (Vec<_>, Vec<_>) = case
        .when_then_expr
        .into_iter()
        .map(|(when, then)| (*when, *then))
        .unzip();
    let has_else = case.else_expr.is_some();
    thens.extend(case.else_expr.map(|value| *value));
    let mut thens = in_common(thens, schema)?;
    let otherwise = if has_else { thens.pop() } else { None };
    let mut of = None;
    if let Some(expr) = case.expr {
        whens.push(*expr);
        whens = made_equal(whens, schema)?;
        of = whens.pop();
    }
    let whens = whens.into_iter().map(Box::new);
    let pairs = whens.zip(thens.into_iter().map(Box::new)).collect();
    Ok(Case::new(of.map(Box::new), pairs, otherwise.map(Box::new)))
}

/// Values of which one is taken.
fn in_common(values: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
    let types = values.iter().map(|value| value.get_type(schema));
    let types: Vec<DataType> = types.collect::<Result<_>>()?;
    Ok(of_common_type(values, &types))
}

/// As doubles, if some are floats and some decimals; days beside timestamps as those.
fn of_common_type(mut values: Vec<Expr>, types: &[DataType]) -> Vec<Expr> {
    times::days_as_timestamps(&mut values, types);
    match mixes_floats(types) {
        true => doubles(values, types),
        false => values,
    }
}

fn doubles(values: Vec<Expr>, types: &[DataType]) -> Vec<Expr> {
    let pairs = values.into_iter().zip(types);
    pairs
        .map(|(value, from)| Common::Double.cast(value, from))
        .collect()
}

/// Whether one column is made of floats and of other numbers, which are doubles there.
fn has_floats(types: &[DataType]) -> bool {
    let differs = types.windows(2).any(|pair| pair.first() != pair.last());
    let are_numbers = types.iter().all(|of| of.is_null() || of.is_numeric());
    differs && are_numbers && types.iter().any(DataType::is_floating)
}

fn mixes_floats(types: &[DataType]) -> bool {
    let any = |is: fn(&DataType) -> bool| types.iter().any(is);
    let are_numbers = types.iter().all(|of| of.is_null() || of.is_numeric());
    any(DataType::is_decimal) && any(DataType::is_floating) && are_numbers
}

/// The same for the columns of a union.
pub fn exact_union(node: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Union(union) = node else {
        return Ok(node);
    };
    let width = union.schema.fields().len();
    // The columns of each input, and those in their common types.
    let mut inputs = Vec::with_capacity(union.inputs.len());
    for input in &union.inputs {
        let columns = input.schema().iter();
        let columns = columns
            .map(|(relation, field)| Expr::Column(Column::new(relation.cloned(), field.name())));
        inputs.push(columns.collect::<Vec<_>>());
    }
    let mut has_changed = false;
    for index in 0..width {
        let one = |columns: &Vec<Expr>| columns.get(index).cloned();
        let Some(columns) = inputs.iter().map(one).collect::<Option<Vec<_>>>() else {
            return Ok(LogicalPlan::Union(union));
        };
        let pairs = columns.iter().zip(&union.inputs);
        let types = pairs.map(|(column, input)| column.get_type(input.schema()));
        let types: Vec<DataType> = types.collect::<Result<_>>()?;
        let common = match has_floats(&types) {
            true => doubles(columns, &types),
            false => of_common_type(columns, &types),
        };
        for (columns, common) in inputs.iter_mut().zip(common) {
            if let Some(column) = columns.get_mut(index)
                && *column != common
            {
                has_changed = true;
                let (relation, name) = column.qualified_name();
                *column = common.alias_qualified(relation, name);
            }
        }
    }
    if !has_changed {
        return with_types_of_inputs(union).map(LogicalPlan::Union);
    }
    let inputs = union.inputs.into_iter().zip(inputs);
    let inputs = inputs.map(|(input, columns)| {
        let input = LogicalPlanBuilder::from(Arc::unwrap_or_clone(input)).project(columns)?;
        Ok(Arc::new(input.build()?))
    });
    let inputs = inputs.collect::<Result<_>>()?;
    Union::try_new_with_loose_types(inputs).map(LogicalPlan::Union)
}

/// The union with the types that its first input has now.
fn with_types_of_inputs(union: Union) -> Result<Union> {
    let types = |schema: &DFSchema| -> Vec<DataType> {
        let fields = schema.fields().iter();
        fields.map(|field| field.data_type().clone()).collect()
    };
    match union.inputs.first() {
        Some(first) if types(first.schema()) != types(&union.schema) => {
            Union::try_new_with_loose_types(union.inputs)
        }
        _ => Ok(union),
    }
}

/// The same for the pairs of equal values of a join.
pub fn exact_join(node: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Join(mut join) = node else {
        return Ok(node);
    };
    let schema = merge_schema(&[&join.left, &join.right]);
    let pairs = join.on.into_iter().map(|(left, right)| {
        let [left, right] = made_equal([left, right], &schema)?;
        Ok((left, right))
    });
    join.on = pairs.collect::<Result<_>>()?;
    Ok(LogicalPlan::Join(join))
}

/// The same for a value and those of a subquery.
fn with_values(
    value: Box<Expr>,
    subquery: Subquery,
    schema: &DFSchema,
) -> Result<(Box<Expr>, Subquery)> {
    let values = subquery.subquery.schema();
    let (relation, field) = values.qualified_field(0);
    let types = [value.get_type(schema)?, field.data_type().clone()];
    let name = field.name().clone();
    let listed = Expr::Column(Column::new(relation.cloned(), &name));
    let mut sides = [(*value).clone(), listed.clone()];
    times::days_as_timestamps(&mut sides, &types);
    if let Some(common) = Common::of(&types) {
        for (side, from) in sides.iter_mut().zip(&types) {
            *side = common.cast(std::mem::take(side), from);
        }
    }
    let [compared, cast] = sides;
    if compared == *value && cast == listed {
        return Ok((value, subquery));
    }
    let listed = cast.alias(name);
    let plan = LogicalPlanBuilder::from(subquery.subquery.as_ref().clone())
        .project([listed])?
        .build()?;
    let subquery = Subquery {
        subquery: Arc::new(plan),
        ..subquery
    };
    Ok((Box::new(compared), subquery))
}

fn made_equal<C: AsMut<[Expr]>>(mut sides: C, schema: &DFSchema) -> Result<C> {
    let types = |sides: &[Expr]| -> Result<Vec<DataType>> {
        sides.iter().map(|side| side.get_type(schema)).collect()
    };
    let all = sides.as_mut();
    if types(all)?.iter().any(DataType::is_decimal) {
        all.iter_mut().for_each(number);
    }
    times::texts_as(all, &types(all)?);
    truth_texts::as_truths(all, &types(all)?)?;
    let types = types(all)?;
    times::times_as_nanoseconds(all, &types);
    times::days_as_timestamps(all, &types);
    if let Some(common) = Common::of(&types) {
        for (side, from) in all.iter_mut().zip(&types) {
            *side = common.cast(std::mem::take(side), from);
        }
    }
    Ok(sides)
}

impl Common {
    fn of(types: &[DataType]) -> Option<Self> {
        let any = |is: fn(&DataType) -> bool| types.iter().any(is);
        let all = |is: fn(&DataType) -> bool| types.iter().all(|of| of.is_null() || is(of));
        let is_span = |of: &DataType| matches!(of, DataType::Interval(_) | DataType::Duration(_));
        if any(DataType::is_decimal) && any(|of| of.is_floating() || of.is_string()) {
            return all(|of| of.is_numeric() || of.is_string()).then_some(Self::Double);
        }
        let differs = any(|of| matches!(of, DataType::Interval(_))) || any(DataType::is_string);
        let spans =
            all(|of| of.is_string() || matches!(of, DataType::Interval(_) | DataType::Duration(_)));
        (types.iter().any(is_span) && differs && spans).then_some(Self::Length)
    }

    fn cast(self, side: Expr, from: &DataType) -> Expr {
        let to = |side, to| Expr::Cast(Cast::new(Box::new(side), to));
        match self {
            _ if from.is_null() => side,
            Self::Double if *from == DataType::Float64 => side,
            Self::Double => to(side, DataType::Float64),
            Self::Length if from.is_string() => {
                let interval = DataType::Interval(IntervalUnit::MonthDayNano);
                interval_length::of(to(side, interval))
            }
            Self::Length => interval_length::of(side),
        }
    }
}

/// A text that is a plain number, as that number with all of its digits.
fn number(side: &mut Expr) {
    let Expr::Literal(value, _) = side else {
        return;
    };
    if let Some(Some(text)) = value.try_as_str()
        && let Some(number) = decimal(text)
    {
        *side = Expr::Literal(number, None);
    }
}

fn decimal(text: &str) -> Option<ScalarValue> {
    let text = text.trim();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction}");
    let value: i128 = digits.parse().ok()?;
    let scale = i8::try_from(fraction.len()).ok()?;
    let is_plain = fraction.bytes().all(|byte| byte.is_ascii_digit());
    let fits = digits.len() <= MAX_DIGITS;
    let precision = u8::try_from(digits.len()).ok()?;
    (is_plain && fits).then_some(ScalarValue::Decimal128(Some(value), precision, scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_numbers_keep_their_digits() {
        for (text, expected) in [
            ("1.254", Some((1254, 4, 3))),
            (" -7 ", Some((-7, 2, 0))),
            ("1e5", None),
            ("1.-5", None),
            ("", None),
            ("x", None),
        ] {
            let expected = expected.map(|(value, precision, scale)| {
                ScalarValue::Decimal128(Some(value), precision, scale)
            });
            assert_eq!(decimal(text), expected, "{text}");
        }
    }
}
