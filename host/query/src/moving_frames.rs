//! Aggregates of floats over a window frame that moves.
//!
//! DataFusion subtracts the value that goes out of the frame. That loses digits beside a large value, keeps a NaN or an
//! infinity in all later frames, and makes variances that are less than zero. Here no value is subtracted. The frame is
//! a queue of two stacks: each older value is kept with the moments of itself and of all younger ones of its stack, so
//! that the moments of a frame are those of two parts. A row costs the same for any length of the frame.

use datafusion::{
    arrow::{array::ArrayRef, datatypes::DataType},
    common::{DataFusionError, Result, ScalarValue, cast::as_float64_array},
    logical_expr::{Accumulator, function::AccumulatorArgs},
};

use super::{errors::external, float_values::one_nan};
use mindhost_base::error::{Code, Error};

/// Values of one frame at most: 7 MB. The engine counts no memory of windows.
const MAX_VALUES: usize = 100_000;

/// What is known of some rows with one or two values.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    count: f64,
    /// Of the first values.
    sum: f64,
    first_mean: f64,
    second_mean: f64,
    /// The squares of the distances from the mean, summed up.
    first_squares: f64,
    second_squares: f64,
    /// The products of both distances, summed up.
    products: f64,
}

impl Moments {
    fn of(first: f64, second: f64) -> Self {
        Self {
            count: 1.0,
            sum: first,
            first_mean: first,
            second_mean: second,
            first_squares: distance_from_itself(first),
            second_squares: distance_from_itself(second),
            products: distance_from_itself(first) + distance_from_itself(second),
        }
    }

    /// The moments of these rows and others. Equal means stay as they are, so that equal values have no variance.
    fn with(&self, other: &Self) -> Self {
        if self.count == 0.0 {
            return *other;
        }
        if other.count == 0.0 {
            return *self;
        }
        let count = self.count + other.count;
        let part = other.count / count;
        let first = other.first_mean - self.first_mean;
        let second = other.second_mean - self.second_mean;
        let weight = self.count * part;
        Self {
            count,
            sum: self.sum + other.sum,
            first_mean: self.first_mean + first * part,
            second_mean: self.second_mean + second * part,
            first_squares: self.first_squares + other.first_squares + first * first * weight,
            second_squares: self.second_squares + other.second_squares + second * second * weight,
            products: self.products + other.products + first * second * weight,
        }
    }

    fn if_any(&self, value: f64) -> Option<f64> {
        (self.count > 0.0).then_some(value)
    }

    /// Squares or products by the rows, or by one row fewer of a sample.
    fn spread(&self, of: f64, is_sample: bool) -> Option<f64> {
        let degrees = if is_sample {
            self.count - 1.0
        } else {
            self.count
        };
        (degrees > 0.0).then(|| of / degrees)
    }

    fn correlation(&self) -> Option<f64> {
        if self.first_mean.is_nan() && self.second_mean.is_nan() {
            return Some(f64::NAN);
        }
        let is_known = !self.first_mean.is_nan() && !self.second_mean.is_nan();
        let varies = self.first_squares != 0.0 && self.second_squares != 0.0;
        let root = self.first_squares.sqrt() * self.second_squares.sqrt();
        (self.count > 1.0 && is_known && varies).then(|| self.products / root)
    }

    /// Of the line through the rows, of which the second values are the places.
    fn slope(&self) -> Option<f64> {
        let is_line = self.count > 1.0 && self.second_squares != 0.0;
        is_line.then(|| self.products / self.second_squares)
    }

    fn determination(&self) -> Option<f64> {
        let squares = self.first_squares * self.second_squares;
        let is_line = self.first_squares != 0.0 && self.slope().is_some();
        is_line.then(|| self.products * self.products / squares)
    }
}

/// NaN of an infinity, which is at no distance from a mean.
fn distance_from_itself(value: f64) -> f64 {
    if value.is_finite() { 0.0 } else { f64::NAN }
}

type Statistic = fn(&Moments) -> Option<f64>;

fn statistic(function: &str) -> Option<Statistic> {
    let statistic: Statistic = match function {
        "sum" => |of| of.if_any(of.sum),
        "avg" => |of| of.if_any(of.sum / of.count),
        "var" => |of| of.spread(of.first_squares, true),
        "var_pop" => |of| of.spread(of.first_squares, false),
        "stddev" => |of| of.spread(of.first_squares, true).map(f64::sqrt),
        "stddev_pop" => |of| of.spread(of.first_squares, false).map(f64::sqrt),
        "covar_samp" => |of| of.spread(of.products, true),
        "covar_pop" => |of| of.spread(of.products, false),
        "corr" => Moments::correlation,
        "regr_slope" => Moments::slope,
        "regr_intercept" => |of| {
            let slope = of.slope()?;
            Some(of.first_mean - slope * of.second_mean)
        },
        "regr_r2" => Moments::determination,
        "regr_avgx" => |of| of.if_any(of.second_mean),
        "regr_avgy" => |of| of.if_any(of.first_mean),
        "regr_sxx" => |of| of.if_any(of.second_squares),
        "regr_syy" => |of| of.if_any(of.first_squares),
        "regr_sxy" => |of| of.if_any(of.products),
        _ => return None,
    };
    Some(statistic)
}

/// Whether a function is computed here over a frame that moves.
pub fn has(function: &str) -> bool {
    statistic(function).is_some()
}

/// The accumulator of a function over floats; `None` for other functions and other values.
pub fn accumulator(function: &str, args: &AccumulatorArgs) -> Option<Box<dyn Accumulator>> {
    let mut fields = args.expr_fields.iter();
    let are_floats = fields.all(|field| *field.data_type() == DataType::Float64);
    let statistic = statistic(function).filter(|_| are_floats && !args.is_distinct)?;
    Some(Box::new(MovingFrame {
        statistic,
        older: Vec::new(),
        younger: Vec::new(),
        of_younger: Moments::default(),
    }))
}

/// The values of a frame. They come and go in the same order.
#[derive(Debug)]
struct MovingFrame {
    statistic: Statistic,
    /// The moments of each older value and of all that came after it, up to the younger ones. The oldest is the last.
    older: Vec<Moments>,
    /// The values that came after those, the youngest last.
    younger: Vec<(f64, f64)>,
    of_younger: Moments,
}

impl MovingFrame {
    fn remove_oldest(&mut self) {
        if self.older.is_empty() {
            let mut moments = Moments::default();
            while let Some((first, second)) = self.younger.pop() {
                moments = Moments::of(first, second).with(&moments);
                self.older.push(moments);
            }
            self.of_younger = Moments::default();
        }
        self.older.pop();
    }
}

impl Accumulator for MovingFrame {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for (first, second) in rows(values)? {
            if self.older.len() + self.younger.len() >= MAX_VALUES {
                return Err(external(Error::new(
                    Code::SqlNotSupported,
                    "a frame that moves has more than 100000 numbers; begin it with UNBOUNDED PRECEDING, or take fewer \
                     rows",
                )));
            }
            self.younger.push((first, second));
            self.of_younger = self.of_younger.with(&Moments::of(first, second));
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for _ in rows(values)? {
            self.remove_oldest();
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let all = match self.older.last() {
            Some(older) => older.with(&self.of_younger),
            None => self.of_younger,
        };
        let value = (self.statistic)(&all).map(one_nan);
        Ok(ScalarValue::Float64(value))
    }

    fn size(&self) -> usize {
        size_of_val(self)
            + self.older.capacity() * size_of::<Moments>()
            + self.younger.capacity() * size_of::<(f64, f64)>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Err(undivided())
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        Err(undivided())
    }
}

/// The rows without a NULL. A function of one value has a second one that never varies.
fn rows(values: &[ArrayRef]) -> Result<Vec<(f64, f64)>> {
    match values {
        [values] => {
            let values = as_float64_array(values)?.iter().flatten();
            Ok(values.map(|value| (value, 0.0)).collect())
        }
        [first, second] => {
            let (first, second) = (as_float64_array(first)?, as_float64_array(second)?);
            let pairs = first.iter().zip(second.iter());
            Ok(pairs
                .filter_map(|(first, second)| first.zip(second))
                .collect())
        }
        _ => Err(external(Error::internal(
            "a function over a frame without its values",
        ))),
    }
}

fn undivided() -> DataFusionError {
    external(Error::internal("a window frame is not divided"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::Float64Array;

    use super::*;

    fn frame(function: &str) -> MovingFrame {
        MovingFrame {
            statistic: statistic(function).unwrap(),
            older: Vec::new(),
            younger: Vec::new(),
            of_younger: Moments::default(),
        }
    }

    fn over_frames(function: &str, values: &[f64], length: usize) -> Vec<Option<f64>> {
        let mut frame = frame(function);
        let column = |value: f64| [Arc::new(Float64Array::from(vec![value])) as ArrayRef];
        let mut found = Vec::new();
        for (index, value) in values.iter().enumerate() {
            frame.update_batch(&column(*value)).unwrap();
            if index >= length {
                frame
                    .retract_batch(&column(values[index - length]))
                    .unwrap();
            }
            match frame.evaluate().unwrap() {
                ScalarValue::Float64(value) => found.push(value),
                other => panic!("{other}"),
            }
        }
        found
    }

    #[test]
    fn passed_values_change_no_later_frame() {
        let sums = over_frames("sum", &[1e17, 1.0, 2.0, 3.0, 4.0], 2);
        assert_eq!(
            sums,
            [Some(1e17), Some(1e17), Some(3.0), Some(5.0), Some(7.0)]
        );
        let averages = over_frames("avg", &[f64::NAN, f64::INFINITY, 1.0, 2.0, 6.0], 2);
        assert!(averages[1].unwrap().is_nan());
        assert_eq!(averages[2..], [Some(f64::INFINITY), Some(1.5), Some(4.0)]);
    }

    #[test]
    fn frame_has_a_limit_of_values() {
        let values = vec![1.0; MAX_VALUES];
        let column = |values: Vec<f64>| [Arc::new(Float64Array::from(values)) as ArrayRef];
        let mut frame = frame("sum");
        frame.update_batch(&column(values)).unwrap();
        frame.retract_batch(&column(vec![1.0])).unwrap();
        frame.update_batch(&column(vec![1.0])).unwrap();
        let full = frame.update_batch(&column(vec![1.0])).unwrap_err();
        assert!(full.to_string().contains("UNBOUNDED PRECEDING"), "{full}");
    }

    #[test]
    fn equal_values_have_no_deviation() {
        let values = [37.0, 0.1, 0.1, 0.1, 5.0, 5.0, 5.0];
        for function in ["stddev_pop", "var_pop", "stddev", "var"] {
            let found = over_frames(function, &values, 3);
            assert_eq!(found[3], Some(0.0), "{function}");
            assert_eq!(found[6], Some(0.0), "{function}");
        }
        assert_eq!(over_frames("var", &values, 1)[2], None);
        assert_eq!(over_frames("var_pop", &values, 1)[2], Some(0.0));
        let found = over_frames("var_pop", &[1.0, 3.0, 7.0], 2);
        assert_eq!(found[2], Some(4.0));
    }
}
