//! An interval by a number: `n * interval '30 minutes'`, `interval '1 month' / 2`. DataFusion has none. The product is
//! PostgreSQL's: a part of a month is in days, of which it has 30, and a part of a day in hours.

use std::sync::{Arc, LazyLock};

use datafusion::{
    arrow::{
        array::{
            Array, ArrayRef, AsArray as _, DurationMicrosecondArray, IntervalMonthDayNanoArray,
        },
        compute::cast,
        datatypes::{
            DataType, DurationMicrosecondType, Float64Type, IntervalMonthDayNano,
            IntervalMonthDayNanoType, IntervalUnit, TimeUnit,
        },
    },
    common::{DFSchema, Result, plan_err},
    logical_expr::{
        Cast, ColumnarValue, Expr, ExprSchemable as _, ScalarFunctionArgs, ScalarUDF,
        ScalarUDFImpl, Signature, Volatility,
        expr::ScalarFunction,
        planner::{ExprPlanner, PlannerResult, RawBinaryExpr},
    },
};
use sqlparser::ast::BinaryOperator;

use crate::errors;
use mindhost_base::error::{Code, Error};

const DAYS_OF_A_MONTH: f64 = 30.0;
const SECONDS_OF_A_DAY: f64 = 86_400.0;
const MICROSECONDS_OF_A_SECOND: f64 = 1e6;
const NANOSECONDS_OF_A_MICROSECOND: i64 = 1_000;
const PARTS: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
const DURATION: DataType = DataType::Duration(TimeUnit::Microsecond);

/// Plans them: DataFusion refuses their types while it plans the list of SELECT.
#[derive(Debug)]
pub struct IntervalPlanner;

impl ExprPlanner for IntervalPlanner {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let RawBinaryExpr { op, left, right } = expr;
        let is_quotient = op == BinaryOperator::Divide;
        // A side whose type is not known yet is no interval.
        if (is_quotient || op == BinaryOperator::Multiply)
            && let (Ok(of_left), Ok(of_right)) = (left.get_type(schema), right.get_type(schema))
        {
            match (is_interval(&of_left), is_interval(&of_right)) {
                (true, false) if is_number(&of_right) => {
                    let product = product(is_quotient, left, &of_left, right);
                    return Ok(PlannerResult::Planned(product));
                }
                (false, true) if is_number(&of_left) && !is_quotient => {
                    let product = product(is_quotient, right, &of_right, left);
                    return Ok(PlannerResult::Planned(product));
                }
                (false, false) => {}
                _ => return Err(refused()),
            }
        }
        Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }))
    }
}

fn refused() -> datafusion::common::DataFusionError {
    errors::external(Error::new(
        Code::SqlInvalid,
        "an interval is multiplied with a number and divided by one only; for the quotient of two intervals write \
         extract(epoch FROM a) / extract(epoch FROM b)",
    ))
}

fn is_interval(of: &DataType) -> bool {
    matches!(of, DataType::Interval(_) | DataType::Duration(_))
}

fn is_number(of: &DataType) -> bool {
    of.is_numeric() || of.is_null()
}

fn product(is_quotient: bool, interval: Expr, of: &DataType, number: Expr) -> Expr {
    static TIMES: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| IntervalProduct::function(false));
    static BY: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| IntervalProduct::function(true));
    let function = if is_quotient { &BY } else { &TIMES };
    let cast = |expr: Expr, to: DataType| Expr::Cast(Cast::new(Box::new(expr), to));
    let interval = match of {
        DataType::Duration(_) => cast(interval, DURATION),
        _ => cast(interval, PARTS),
    };
    let args = vec![interval, cast(number, DataType::Float64)];
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(function), args))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct IntervalProduct {
    is_quotient: bool,
    signature: Signature,
}

impl IntervalProduct {
    fn function(is_quotient: bool) -> Arc<ScalarUDF> {
        Arc::new(ScalarUDF::from(Self {
            is_quotient,
            signature: Signature::any(2, Volatility::Immutable),
        }))
    }

    fn of_parts(&self, part: IntervalMonthDayNano, number: f64) -> Option<IntervalMonthDayNano> {
        let by = |of: f64| self.of(of, number);
        let (months, days) = (by(f64::from(part.months)), by(f64::from(part.days)));
        // What a whole number of months and of days leaves.
        let more_days = to_the_microsecond((months - months.trunc()) * DAYS_OF_A_MONTH);
        let seconds = to_the_microsecond(
            (days - days.trunc() + more_days - more_days.trunc()) * SECONDS_OF_A_DAY,
        );
        let more = (seconds / SECONDS_OF_A_DAY).trunc();
        let seconds = seconds - more * SECONDS_OF_A_DAY;
        let microseconds = (part.nanoseconds / NANOSECONDS_OF_A_MICROSECOND) as f64;
        let microseconds = whole(
            by(microseconds) + seconds * MICROSECONDS_OF_A_SECOND,
            i64::MAX,
        )?;
        Some(IntervalMonthDayNano {
            months: i32::try_from(whole(months.trunc(), i32::MAX.into())?).ok()?,
            days: i32::try_from(whole(
                days.trunc() + more_days.trunc() + more,
                i32::MAX.into(),
            )?)
            .ok()?,
            nanoseconds: microseconds.checked_mul(NANOSECONDS_OF_A_MICROSECOND)?,
        })
    }

    fn of(&self, value: f64, number: f64) -> f64 {
        match self.is_quotient {
            true => value / number,
            false => value * number,
        }
    }
}

fn to_the_microsecond(value: f64) -> f64 {
    (value * MICROSECONDS_OF_A_SECOND).round_ties_even() / MICROSECONDS_OF_A_SECOND
}

/// The nearest integer, if it is not beyond `most` on either side.
fn whole(value: f64, most: i64) -> Option<i64> {
    let value = value.round_ties_even();
    // Also false for NaN.
    (value.abs() < most as f64).then_some(value as i64)
}

impl ScalarUDFImpl for IntervalProduct {
    fn name(&self) -> &'static str {
        match self.is_quotient {
            true => "interval_quotient",
            false => "interval_product",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [DataType::Duration(_), _] => Ok(DURATION),
            _ => Ok(PARTS),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = ColumnarValue::values_to_arrays(&args.args)?;
        let [intervals, numbers] = values.as_slice() else {
            return plan_err!("an interval by a number with {} values", values.len());
        };
        let numbers = cast(numbers, &DataType::Float64)?;
        let numbers = numbers.as_primitive::<Float64Type>();
        let numbers = numbers.iter().map(|number| match number {
            Some(0.0) if self.is_quotient => Err(fault("an interval is divided by zero")),
            number => Ok(number),
        });
        let far = || fault("a product or quotient of an interval is out of range");
        let found: ArrayRef = match intervals.data_type() {
            DataType::Duration(_) => {
                let intervals = intervals.as_primitive::<DurationMicrosecondType>().iter();
                let by = |(interval, number): (Option<i64>, Result<Option<f64>>)| {
                    let both = interval.zip(number?);
                    let by = both.map(|(of, number)| self.of(of as f64, number));
                    by.map(|value| whole(value, i64::MAX).ok_or_else(far))
                        .transpose()
                };
                let found: Result<DurationMicrosecondArray> =
                    intervals.zip(numbers).map(by).collect();
                Arc::new(found?)
            }
            _ => {
                let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>().iter();
                let by =
                    |(interval, number): (Option<IntervalMonthDayNano>, Result<Option<f64>>)| {
                        let both = interval.zip(number?);
                        both.map(|(of, number)| self.of_parts(of, number).ok_or_else(far))
                            .transpose()
                    };
                let found: Result<IntervalMonthDayNanoArray> =
                    intervals.zip(numbers).map(by).collect();
                Arc::new(found?)
            }
        };
        Ok(ColumnarValue::Array(found))
    }
}

fn fault(what: &str) -> datafusion::common::DataFusionError {
    errors::external(Error::new(Code::SqlInvalid, what))
}
