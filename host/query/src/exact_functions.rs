//! Functions that DataFusion computes for fewer values: `nullif` takes 0.0 and -0.0 for two values, `floor` and `ceil`
//! have no digit for the 10 of `ceil(9.5)`, `date_trunc` knows the years from 1677 to 2262 only, and `round` and `trunc`
//! give no number where a float has no place for its product with a power of ten.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray as _, PrimitiveArray},
        compute::{cast, try_binary},
        datatypes::{
            ArrowPrimitiveType, DECIMAL128_MAX_PRECISION, DataType, FieldRef, Float32Type,
            Float64Type, Int64Type, TimestampMicrosecondType,
        },
        error::ArrowError,
    },
    common::{Result, ScalarValue},
    logical_expr::{
        ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
        sort_properties::{ExprProperties, SortProperties},
    },
};

use super::{
    float_values::{changed, one_zero},
    timestamps::ZONE,
};

/// The functions that are wrapped.
const WRAPPED: [&str; 6] = ["ceil", "date_trunc", "floor", "nullif", "round", "trunc"];
const MICROSECONDS_OF_A_DAY: i64 = 86_400_000_000;
/// The calendar is the same, with its weeks, after 400 years.
const ERA: i64 = 146_097 * MICROSECONDS_OF_A_DAY;
/// The year 1800: the era that begins with it has a place in the nanoseconds in which DataFusion truncates.
const ERA_START: i64 = -62_091 * MICROSECONDS_OF_A_DAY;

/// Wraps a function that is computed here for more values; returns any other unchanged.
pub fn exact(function: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    match WRAPPED.contains(&function.name()) {
        true => Arc::new(ScalarUDF::from(ExactFunction { inner: function })),
        false => function,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ExactFunction {
    inner: Arc<ScalarUDF>,
}

impl ExactFunction {
    fn is_rounding(&self) -> bool {
        matches!(self.name(), "ceil" | "floor")
    }
}

/// The type of a rounded value. A whole number of a decimal may have one digit more before the point.
fn rounded(of: &DataType) -> Option<DataType> {
    match of {
        DataType::Decimal128(digits, scale) if *scale > 0 && *digits < DECIMAL128_MAX_PRECISION => {
            Some(DataType::Decimal128(digits + 1, *scale))
        }
        _ => None,
    }
}

impl ScalarUDFImpl for ExactFunction {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let of = self.inner.return_type(types)?;
        let wider = rounded(&of).filter(|_| self.is_rounding());
        Ok(wider.unwrap_or(of))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let field = self.inner.return_field_from_args(args)?;
        let wider = rounded(field.data_type()).filter(|_| self.is_rounding());
        Ok(match wider {
            Some(wider) => Arc::new(field.as_ref().clone().with_data_type(wider)),
            None => field,
        })
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.output_ordering(inputs)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match self.name() {
            "date_trunc" => self.truncated(args),
            "round" | "trunc" => self.to_places(args),
            "nullif" => {
                let sides = args.args.into_iter();
                let sides = sides.map(|side| changed(side, one_zero)).collect();
                let args = ScalarFunctionArgs {
                    args: sides,
                    ..args
                };
                self.inner.invoke_with_args(args)
            }
            _ => {
                let widened = args.args.iter().map(|of| match rounded(&of.data_type()) {
                    Some(wider) => of.cast_to(&wider, None),
                    None => Ok(of.clone()),
                });
                let widened = widened.collect::<Result<_>>()?;
                self.inner.invoke_with_args(ScalarFunctionArgs {
                    args: widened,
                    ..args
                })
            }
        }
    }
}

impl ExactFunction {
    /// A float with more places than it has stays what it is, and one with fewer than none is zero.
    fn to_places(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [values, places] = args.args.as_slice() else {
            return self.inner.invoke_with_args(args);
        };
        let (values, places) = (values.clone(), places.clone());
        let rows = args.number_rows;
        let found = self.inner.invoke_with_args(args)?;
        let is_constant = matches!(found, ColumnarValue::Scalar(_));
        let of = found.data_type();
        if !matches!(of, DataType::Float32 | DataType::Float64) {
            return Ok(found);
        }
        let rows = if is_constant { 1 } else { rows };
        let values = cast(&values.into_array(rows)?, &of)?;
        let places = cast(&places.into_array(rows)?, &DataType::Int64)?;
        let found = found.into_array(rows)?;
        let known = match of {
            DataType::Float32 => or_known::<Float32Type>(&found, &values, &places),
            _ => or_known::<Float64Type>(&found, &values, &places),
        };
        Ok(match is_constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&known, 0)?),
            false => ColumnarValue::Array(known),
        })
    }

    /// `date_trunc` of timestamps in any year: those of other eras at the same place of the era around 2000, and back.
    fn truncated(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [part, moments] = args.args.as_slice() else {
            return self.inner.invoke_with_args(args);
        };
        let with = |at: ColumnarValue| {
            self.inner.invoke_with_args(ScalarFunctionArgs {
                args: vec![part.clone(), at],
                ..args.clone()
            })
        };
        match moments {
            ColumnarValue::Scalar(ScalarValue::TimestampMicrosecond(Some(moment), zone))
                if is_known(zone.as_deref()) && near(*moment) != *moment =>
            {
                let at = ScalarValue::TimestampMicrosecond(Some(near(*moment)), zone.clone());
                Ok(match with(ColumnarValue::Scalar(at))? {
                    ColumnarValue::Scalar(ScalarValue::TimestampMicrosecond(found, zone)) => {
                        let found = found.map(|found| at_its_era(found, *moment)).transpose()?;
                        ColumnarValue::Scalar(ScalarValue::TimestampMicrosecond(found, zone))
                    }
                    other => other,
                })
            }
            ColumnarValue::Array(array) => match far(array) {
                Some(moments) => {
                    let of = array.data_type().clone();
                    let at = moments.unary::<_, TimestampMicrosecondType>(near);
                    let at = Arc::new(at.with_data_type(of.clone()));
                    let found = with(ColumnarValue::Array(at))?.into_array(array.len())?;
                    let found = found.as_primitive::<TimestampMicrosecondType>();
                    let found: PrimitiveArray<TimestampMicrosecondType> =
                        try_binary(found, moments, at_its_era)?;
                    Ok(ColumnarValue::Array(Arc::new(found.with_data_type(of))))
                }
                None => self.inner.invoke_with_args(args),
            },
            ColumnarValue::Scalar(_) => self.inner.invoke_with_args(args),
        }
    }
}

/// Timestamps of which some are in other eras.
fn far(array: &dyn Array) -> Option<&PrimitiveArray<TimestampMicrosecondType>> {
    let moments = array.as_primitive_opt::<TimestampMicrosecondType>()?;
    let is_far = |moment: i64| near(moment) != moment;
    let some = moments.iter().flatten().any(is_far);
    (is_known(moments.timezone()) && some).then_some(moments)
}

/// Other zones have other rules in other eras.
fn is_known(zone: Option<&str>) -> bool {
    zone.is_none_or(|zone| zone == ZONE)
}

/// What was found; where that is no number and the value is one, the value itself or zero.
fn or_known<T>(found: &ArrayRef, values: &ArrayRef, places: &ArrayRef) -> ArrayRef
where
    T: ArrowPrimitiveType<Native: Into<f64> + Default>,
{
    let places = places.as_primitive::<Int64Type>().iter();
    let values = values.as_primitive::<T>().iter().zip(places);
    let found = found.as_primitive::<T>().iter().zip(values);
    let is_number = |value: T::Native| value.into().is_finite();
    let known: PrimitiveArray<T> = found
        .map(|(found, (value, places))| match (found, value, places) {
            (Some(found), Some(value), Some(places)) if !is_number(found) && is_number(value) => {
                Some(if places > 0 {
                    value
                } else {
                    T::Native::default()
                })
            }
            _ => found,
        })
        .collect();
    Arc::new(known)
}

/// The moment at the same place of the era around 2000.
fn near(moment: i64) -> i64 {
    // In 64 bits the difference has no place for the last moments.
    let place = (i128::from(moment) - i128::from(ERA_START)).rem_euclid(i128::from(ERA));
    ERA_START + place as i64
}

/// A moment of that era in the era of another.
fn at_its_era(moment: i64, of: i64) -> std::result::Result<i64, ArrowError> {
    let far = i128::from(of) - i128::from(near(of)) + i128::from(moment);
    i64::try_from(far).map_err(|_| {
        ArrowError::ComputeError("`date_trunc` gives a timestamp outside of its range".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eras_keep_the_days_of_the_calendar() {
        // 2024-02-29 and 2424-02-29.
        let (leap_day, later) = (
            19_782 * MICROSECONDS_OF_A_DAY,
            165_879 * MICROSECONDS_OF_A_DAY,
        );
        assert_eq!(near(leap_day), leap_day);
        assert_eq!(near(later), leap_day);
        assert_eq!(at_its_era(leap_day, later).unwrap(), later);
        assert_eq!(near(ERA_START - 1), ERA_START + ERA - 1);
        for last in [i64::MIN, i64::MAX] {
            assert_eq!(at_its_era(near(last), last).unwrap(), last);
        }
        assert!(at_its_era(near(i64::MIN) - 1, i64::MIN).is_err());
    }
}
