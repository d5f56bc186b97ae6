//! Columns, values and batches: what a query answers with.

use crate::bindings::connector::mindhost::plugin::types as wire;

/// Named additions. A reader ignores names that it does not know; this is how the contract grows.
pub type Extra = Vec<(String, String)>;

pub use wire::{Batch, Column, DataType, Value};

/// The name in a column's `extra` that says: its engine does not enforce types.
const DYNAMIC: &str = "dynamic";

impl Column {
    /// A nullable column of a type.
    pub fn new(name: impl Into<String>, data_type: DataType) -> Self {
        Self {
            name: name.into(),
            data_type,
            native_type: String::new(),
            nullable: true,
            extra: Vec::new(),
        }
    }

    /// The engine's own name of the type: `numeric(12,2)`.
    #[must_use]
    pub fn native_type(mut self, native_type: impl Into<String>) -> Self {
        self.native_type = native_type.into();
        self
    }

    /// Whether the column may hold NULL. When unsure: true.
    #[must_use]
    pub fn nullable(mut self, nullable: bool) -> Self {
        self.nullable = nullable;
        self
    }

    /// Says that the engine does not enforce the type (`("dynamic", "true")` in `extra`). A batch with a value of
    /// another type in such a column travels as rows, in which the value has its real variant; [`crate::BatchBuilder`]
    /// does this by itself. Without the mark such a value is a fault of the plugin.
    #[must_use]
    pub fn dynamic(mut self) -> Self {
        self.extra.push((DYNAMIC.into(), "true".into()));
        self
    }

    /// Whether the column carries the mark of [`Column::dynamic`].
    pub fn is_dynamic(&self) -> bool {
        self.extra
            .iter()
            .any(|(name, value)| name == DYNAMIC && value == "true")
    }

    /// Whether a value may stand in this column of a batch of rows.
    pub fn accepts(&self, value: &Value) -> bool {
        self.fits(value)
            || matches!(value, Value::Other(_))
            || self.data_type == DataType::Any
            || self.is_dynamic()
    }

    /// Whether a value has the column's own type, or is NULL.
    pub(crate) fn fits(&self, value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Boolean(_) => self.data_type == DataType::Boolean,
            Value::Int64(_) => self.data_type == DataType::Int64,
            Value::Uint64(_) => self.data_type == DataType::Uint64,
            Value::Float64(_) => self.data_type == DataType::Float64,
            Value::Decimal(_) => self.data_type == DataType::Decimal,
            Value::Text(_) => self.data_type == DataType::Text,
            Value::Bytes(_) => self.data_type == DataType::Bytes,
            Value::Date(_) => self.data_type == DataType::Date,
            Value::Time(_) => self.data_type == DataType::Time,
            Value::Timestamp(_) => self.data_type == DataType::Timestamp,
            Value::TimestampUtc(_) => self.data_type == DataType::TimestampUtc,
            Value::Json(_) => self.data_type == DataType::Json,
            Value::Other(_) => false,
        }
    }
}

impl DataType {
    /// The name in the contract: `timestamp-utc`.
    pub fn name(self) -> &'static str {
        match self {
            DataType::Boolean => "boolean",
            DataType::Int64 => "int64",
            DataType::Uint64 => "uint64",
            DataType::Float64 => "float64",
            DataType::Decimal => "decimal",
            DataType::Text => "text",
            DataType::Bytes => "bytes",
            DataType::Date => "date",
            DataType::Time => "time",
            DataType::Timestamp => "timestamp",
            DataType::TimestampUtc => "timestamp-utc",
            DataType::Json => "json",
            DataType::Any => "any",
        }
    }
}

impl Value {
    /// The name of the variant in the contract; `null` and `other` are no types of columns.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Boolean(_) => "boolean",
            Value::Int64(_) => "int64",
            Value::Uint64(_) => "uint64",
            Value::Float64(_) => "float64",
            Value::Decimal(_) => "decimal",
            Value::Text(_) => "text",
            Value::Bytes(_) => "bytes",
            Value::Date(_) => "date",
            Value::Time(_) => "time",
            Value::Timestamp(_) => "timestamp",
            Value::TimestampUtc(_) => "timestamp-utc",
            Value::Json(_) => "json",
            Value::Other(_) => "other",
        }
    }

    /// About how many bytes the value takes on its way to the host.
    pub(crate) fn size(&self) -> usize {
        const FIXED: usize = 16;
        FIXED
            + match self {
                Value::Decimal(text)
                | Value::Text(text)
                | Value::Json(text)
                | Value::Other(text) => text.len(),
                Value::Bytes(bytes) => bytes.len(),
                _ => 0,
            }
    }
}

/// The double with the shortest text of a single-precision number: 0.1 for 0.1, and not 0.10000000149011612. What engines
/// keep in four bytes is shown, compared and joined by this value.
pub fn double_of_single(number: f32) -> f64 {
    /// Products with their powers of ten have at most 24 + 28 digits in base two, so they are exact.
    const MOST_DECIMALS: i32 = 12;
    /// From here on a whole number may have a shorter text than all its digits.
    const LARGE: f32 = 16_777_216.0;
    let exact = f64::from(number);
    if number.abs() < LARGE {
        let mut power = 1.0;
        for _ in 0..=MOST_DECIMALS {
            // Of so many decimals, the one that is nearest; of two, the farther one from zero, as texts are written.
            let rounded = (exact * power).round() / power;
            #[expect(
                clippy::cast_possible_truncation,
                reason = "asks whether it reads back"
            )]
            if rounded as f32 == number {
                return rounded;
            }
            power *= 10.0;
        }
    }
    // Large numbers, small ones with an exponent, and those that are not finite.
    number.to_string().parse().unwrap_or(exact)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by_text(number: f32) -> f64 {
        number.to_string().parse().unwrap()
    }

    #[test]
    fn a_single_is_widened_by_its_shortest_text() {
        for (number, double) in [
            (0.1, 0.1),
            (-2.7, -2.7),
            (16_777_216.0, 16_777_216.0),
            (1e-7, 1e-7),
            (f32::MAX, 3.402_823_5e38),
            (f32::MIN_POSITIVE, 1.175_494_4e-38),
        ] {
            assert_eq!(double_of_single(number).to_bits(), f64::to_bits(double));
        }
        assert_eq!(double_of_single(-0.0).to_bits(), f64::to_bits(-0.0));
        assert!(double_of_single(f32::NAN).is_nan());
        assert!(double_of_single(f32::NEG_INFINITY) < f64::MIN);
    }

    #[test]
    fn powers_of_two_are_widened_by_their_shortest_text() {
        for exponent in -149..128 {
            let number = 2f32.powi(exponent);
            assert_eq!(
                double_of_single(number).to_bits(),
                by_text(number).to_bits(),
                "{number}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_single_is_widened_by_its_shortest_text(bits: u32) {
            let number = f32::from_bits(bits);
            prop_assume!(number.is_finite());
            prop_assert_eq!(double_of_single(number).to_bits(), by_text(number).to_bits());
        }

        #[test]
        fn usual_singles_are_widened_by_their_shortest_text(number in -100_000f32..100_000.0) {
            prop_assert_eq!(double_of_single(number).to_bits(), by_text(number).to_bits());
        }
    }
}
