//! The length of an interval, by which PostgreSQL and DuckDB compare intervals: a month has 30 days, a day 24 hours.

use std::sync::{Arc, LazyLock};

use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray as _, Decimal128Array},
        compute::cast,
        datatypes::{DataType, Int64Type, IntervalMonthDayNanoType, IntervalUnit, TimeUnit},
    },
    common::{Result, plan_err},
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
        expr::ScalarFunction,
    },
};

/// Nanoseconds.
const DAY: i128 = 86_400_000_000_000;
const DAYS_OF_A_MONTH: i128 = 30;
const LENGTH: DataType = DataType::Decimal128(38, 0);

/// Nanoseconds of an interval or a duration.
pub fn of(interval: Expr) -> Expr {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        Arc::new(ScalarUDF::from(IntervalLength {
            signature: Signature::any(1, Volatility::Immutable),
        }))
    });
    Expr::ScalarFunction(ScalarFunction::new_udf(
        Arc::clone(&FUNCTION),
        vec![interval],
    ))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct IntervalLength {
    signature: Signature,
}

impl ScalarUDFImpl for IntervalLength {
    fn name(&self) -> &'static str {
        "interval_length"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(LENGTH)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = ColumnarValue::values_to_arrays(&args.args)?;
        match values.as_slice() {
            [values] => Ok(ColumnarValue::Array(lengths(values)?)),
            _ => plan_err!("the length of {} values", values.len()),
        }
    }
}

fn lengths(values: &ArrayRef) -> Result<ArrayRef> {
    let lengths: Decimal128Array = match values.data_type() {
        DataType::Duration(unit) => {
            let factor = match unit {
                TimeUnit::Second => 1_000_000_000,
                TimeUnit::Millisecond => 1_000_000,
                TimeUnit::Microsecond => 1_000,
                TimeUnit::Nanosecond => 1,
            };
            let counts = cast(values, &DataType::Int64)?;
            let counts = counts.as_primitive::<Int64Type>();
            counts.unary(|count| i128::from(count) * factor)
        }
        _ => {
            let parts = cast(values, &DataType::Interval(IntervalUnit::MonthDayNano))?;
            let parts = parts.as_primitive::<IntervalMonthDayNanoType>();
            parts.unary(|part| {
                let days = i128::from(part.months) * DAYS_OF_A_MONTH + i128::from(part.days);
                days * DAY + i128::from(part.nanoseconds)
            })
        }
    };
    Ok(Arc::new(lengths.with_data_type(LENGTH)))
}
