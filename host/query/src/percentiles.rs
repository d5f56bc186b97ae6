//! `percentile_cont` between two values. DataFusion rounds the place between them to a millionth of their distance.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{ArrayRef, AsArray as _, BooleanArray, Float64Array, RecordBatch},
        compute::cast,
        datatypes::{DataType, Float64Type, Schema},
    },
    common::{DataFusionError, Result, ScalarValue},
    logical_expr::{
        Accumulator, AggregateUDF, ColumnarValue, EmitTo, GroupsAccumulator,
        function::AccumulatorArgs,
    },
};

use super::{errors::external, float_values::one_nan};
use mindhost_base::error::Error;

/// The name of the function.
pub const NAME: &str = "percentile_cont";

/// Which percentile, of values in which order.
#[derive(Clone, Copy, Debug)]
struct Percentile {
    part: f64,
    is_descending: bool,
}

impl Percentile {
    fn wanted(args: &AccumulatorArgs) -> Result<Self> {
        let part = args.exprs.get(1).ok_or_else(no_values)?;
        let none = RecordBatch::new_empty(Arc::new(Schema::empty()));
        let part = match part.evaluate(&none)? {
            ColumnarValue::Scalar(part) => part.cast_to(&DataType::Float64)?,
            ColumnarValue::Array(_) => return Err(no_values()),
        };
        let ScalarValue::Float64(Some(part)) = part else {
            return Err(no_values());
        };
        let order = args.order_bys.first();
        Ok(Self {
            part,
            is_descending: order.is_some_and(|order| order.options.descending),
        })
    }

    /// The percentile of some floats.
    fn of(self, values: &ArrayRef) -> Result<Option<f64>> {
        let values = cast(values, &DataType::Float64)?;
        let values = values.as_primitive::<Float64Type>();
        let mut values: Vec<f64> = values.iter().flatten().map(one_nan).collect();
        let Some(last) = values.len().checked_sub(1) else {
            return Ok(None);
        };
        let place = self.part * last as f64;
        let below = place.floor();
        let in_order = |a: &f64, b: &f64| match self.is_descending {
            true => b.total_cmp(a),
            false => a.total_cmp(b),
        };
        let index = (below as usize).min(last);
        let (_, &mut low, above) = values.select_nth_unstable_by(index, in_order);
        let fraction = place - below;
        Ok(Some(match above.iter().copied().min_by(in_order) {
            Some(high) if fraction > 0.0 && high != low => low + fraction * (high - low),
            _ => low,
        }))
    }
}

fn no_values() -> DataFusionError {
    external(Error::internal("a percentile without its values"))
}

/// The accumulator of DataFusion, which keeps the values, with an exact result.
pub fn accumulator(function: &AggregateUDF, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
    // DataFusion says first what is wrong with the percentile.
    let wanted = Percentile::wanted(&args);
    let float = args.return_type().clone();
    let inner = function.accumulator(args)?;
    Ok(Box::new(Exact {
        wanted: wanted?,
        float,
        inner,
    }))
}

/// The same for groups.
pub fn groups_accumulator(
    function: &AggregateUDF,
    args: AccumulatorArgs,
) -> Result<Box<dyn GroupsAccumulator>> {
    // DataFusion says first what is wrong with the percentile.
    let wanted = Percentile::wanted(&args);
    let float = args.return_type().clone();
    let inner = function.create_groups_accumulator(args)?;
    Ok(Box::new(ExactGroups {
        wanted: wanted?,
        float,
        inner,
    }))
}

#[derive(Debug)]
struct Exact {
    wanted: Percentile,
    float: DataType,
    inner: Box<dyn Accumulator>,
}

/// The state is the values, and takes them out: no percentile is computed over the frames of a window.
impl Accumulator for Exact {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let state = self.inner.state()?;
        let list = state.first().ok_or_else(no_values)?.to_array()?;
        let values = list.as_list_opt::<i32>().ok_or_else(no_values)?.value(0);
        let found = self.wanted.of(&values)?;
        ScalarValue::Float64(found).cast_to(&self.float)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }
}

struct ExactGroups {
    wanted: Percentile,
    float: DataType,
    inner: Box<dyn GroupsAccumulator>,
}

impl GroupsAccumulator for ExactGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.inner.update_batch(values, groups, filter, total)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let state = self.inner.state(emit)?;
        let lists = state.first().and_then(|lists| lists.as_list_opt::<i32>());
        let lists = lists.ok_or_else(no_values)?;
        let found = lists.iter().map(|values| match values {
            Some(values) => self.wanted.of(&values),
            None => Ok(None),
        });
        let found: ArrayRef = Arc::new(found.collect::<Result<Float64Array>>()?);
        Ok(cast(&found, &self.float)?)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.inner.state(emit)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.inner.merge_batch(states, groups, total)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.inner.convert_to_state(values, filter)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_between_two_values_has_all_its_digits() {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![3.0, 1.0, 1_000_001.0]));
        for (part, is_descending, expected) in [
            (0.333, false, 2.332),
            (0.5, false, 3.0),
            (1.0, false, 1_000_001.0),
            (0.0, true, 1_000_001.0),
            (0.75, true, 2.0),
        ] {
            let wanted = Percentile {
                part,
                is_descending,
            };
            let found = wanted.of(&values).unwrap().unwrap();
            assert!((found - expected).abs() < 1e-9, "{part}: {found}");
        }
    }
}
