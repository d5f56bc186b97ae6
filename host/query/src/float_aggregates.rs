//! Aggregates of floats that DataFusion computes otherwise: over frames that move ([`moving_frames`]), the least and
//! the greatest of a group with a NaN, and percentiles ([`percentiles`]).

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{ArrayRef, AsArray as _, BooleanArray},
        compute::cast,
        datatypes::{DataType, FieldRef, Float64Type, Int64Type},
    },
    common::Result,
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF,
        SetMonotonicity, Signature,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::AggregateOrderSensitivity,
    },
};

use super::{float_values::one_nan, moving_frames, percentiles};

/// Those that are wrong of a group with a NaN.
const EXTREMES: [&str; 2] = ["max", "min"];

/// Wraps an aggregate that is computed here of floats; returns any other unchanged.
pub fn exact(function: Arc<AggregateUDF>) -> Arc<AggregateUDF> {
    let name = function.name();
    match EXTREMES.contains(&name) || name == percentiles::NAME || moving_frames::has(name) {
        true => Arc::new(AggregateUDF::from(FloatAggregate { inner: function })),
        false => function,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct FloatAggregate {
    inner: Arc<AggregateUDF>,
}

impl FloatAggregate {
    fn is_percentile_of_floats(&self, args: &AccumulatorArgs) -> bool {
        let mut values = args.expr_fields.iter().take(1);
        self.name() == percentiles::NAME && values.any(|field| field.data_type().is_floating())
    }
}

/// No statistics of a column answer for it, and nothing simplifies it: both would miss the NaN.
impl AggregateUDFImpl for FloatAggregate {
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
        self.inner.return_type(types)
    }

    fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef> {
        self.inner.return_field(fields)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match self.is_percentile_of_floats(&args) {
            true => percentiles::accumulator(&self.inner, args),
            false => self.inner.accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match moving_frames::accumulator(self.name(), &args) {
            Some(frame) => Ok(frame),
            None => self.inner.create_sliding_accumulator(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        if self.is_percentile_of_floats(&args) {
            return percentiles::groups_accumulator(&self.inner, args);
        }
        let float = args.return_type().clone();
        if !EXTREMES.contains(&self.name()) || !float.is_floating() {
            return self.inner.create_groups_accumulator(args);
        }
        let key = args.return_field.as_ref().clone();
        let keys = self.inner.create_groups_accumulator(AccumulatorArgs {
            return_field: Arc::new(key.with_data_type(DataType::Int64)),
            ..args
        })?;
        Ok(Box::new(Extremes { keys, float }))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        match self.inner.reverse_udf() {
            // The other one would be without this one's corrections.
            ReversedUDAF::Reversed(_) => ReversedUDAF::NotSupported,
            same => same,
        }
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.inner.order_sensitivity()
    }

    fn is_descending(&self) -> Option<bool> {
        self.inner.is_descending()
    }

    fn set_monotonicity(&self, of: &DataType) -> SetMonotonicity {
        self.inner.inner().set_monotonicity(of)
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.inner.supports_null_handling_clause()
    }

    fn supports_within_group_clause(&self) -> bool {
        self.inner.supports_within_group_clause()
    }
}

/// The least or the greatest float of each group, by integers in the order of the floats. DataFusion's own takes any
/// float for less and for greater than a NaN, so that its answer is about the values behind the last NaN.
struct Extremes {
    keys: Box<dyn GroupsAccumulator>,
    float: DataType,
}

impl Extremes {
    fn floats(&self, keys: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        keys.iter().map(|keys| floats(keys, &self.float)).collect()
    }
}

fn keys(floats: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    let keys = floats.iter().map(|floats| -> Result<ArrayRef> {
        let floats = cast(floats, &DataType::Float64)?;
        let floats = floats.as_primitive::<Float64Type>();
        Ok(Arc::new(floats.unary::<_, Int64Type>(key)))
    });
    keys.collect()
}

fn floats(keys: &ArrayRef, float: &DataType) -> Result<ArrayRef> {
    let keys = keys.as_primitive::<Int64Type>();
    let floats: ArrayRef = Arc::new(keys.unary::<_, Float64Type>(float_of));
    Ok(cast(&floats, float)?)
}

/// An integer that is less than that of any greater float.
fn key(value: f64) -> i64 {
    ordered(one_nan(value).to_bits().cast_signed())
}

fn float_of(key: i64) -> f64 {
    f64::from_bits(ordered(key).cast_unsigned())
}

/// The bits of a float below zero as those of the integer at the same place, and back: more of them are less.
fn ordered(bits: i64) -> i64 {
    bits ^ ((bits >> 63) & i64::MAX)
}

impl GroupsAccumulator for Extremes {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.keys
            .update_batch(&keys(values)?, groups, filter, total)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let keys = self.keys.evaluate(emit)?;
        floats(&keys, &self.float)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let keys = self.keys.state(emit)?;
        self.floats(&keys)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.keys.merge_batch(&keys(states)?, groups, total)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let keys = self.keys.convert_to_state(&keys(values)?, filter)?;
        self.floats(&keys)
    }

    fn size(&self) -> usize {
        self.keys.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_the_floats() {
        let computed = -f64::NAN;
        let values = [
            f64::NEG_INFINITY,
            -2.5,
            -1e-300,
            0.0,
            1.0,
            1e300,
            f64::INFINITY,
            computed,
        ];
        assert!(values.map(key).is_sorted());
        assert_eq!(key(computed), key(f64::NAN));
        for value in &values[..7] {
            assert_eq!(float_of(key(*value)).to_bits(), value.to_bits());
        }
    }
}
