//! Floats that are one value to SQL and several to the engine: those that are not a number, of which a computed one has
//! a sign and is less than all numbers, and the two zeros.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{Array as _, ArrayRef, AsArray as _},
        datatypes::{DataType, Float32Type, Float64Type},
    },
    common::ScalarValue,
    logical_expr::ColumnarValue,
};

/// The one NaN, which is greater than all numbers.
pub fn one_nan(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}

/// The one NaN and the zero without a sign.
pub fn one_zero(value: f64) -> f64 {
    one_nan(value) + 0.0
}

/// Floats with a change that a shorter float survives; other values as they are.
pub fn changed(values: ColumnarValue, change: fn(f64) -> f64) -> ColumnarValue {
    match values {
        ColumnarValue::Array(values) => ColumnarValue::Array(changed_array(values, change)),
        ColumnarValue::Scalar(ScalarValue::Float64(value)) => {
            ColumnarValue::Scalar(ScalarValue::Float64(value.map(change)))
        }
        ColumnarValue::Scalar(ScalarValue::Float32(value)) => {
            let value = value.map(|value| short(value, change));
            ColumnarValue::Scalar(ScalarValue::Float32(value))
        }
        other => other,
    }
}

fn changed_array(values: ArrayRef, change: fn(f64) -> f64) -> ArrayRef {
    match values.data_type() {
        DataType::Float64 => {
            let floats = values.as_primitive::<Float64Type>();
            let differs = |value: &f64| change(*value).to_bits() != value.to_bits();
            if !floats.values().iter().any(differs) {
                return values;
            }
            Arc::new(floats.unary::<_, Float64Type>(change))
        }
        DataType::Float32 => {
            let floats = values.as_primitive::<Float32Type>();
            let differs = |value: &f32| short(*value, change).to_bits() != value.to_bits();
            if !floats.values().iter().any(differs) {
                return values;
            }
            Arc::new(floats.unary::<_, Float32Type>(|value| short(value, change)))
        }
        _ => values,
    }
}

fn short(value: f32, change: fn(f64) -> f64) -> f32 {
    change(f64::from(value)) as f32
}
