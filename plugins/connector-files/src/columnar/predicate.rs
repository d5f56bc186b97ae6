//! Filters over columns, and over what a file says of its smallest and largest values.

use std::collections::BTreeSet;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::BooleanBuffer;
use mindhost_sdk::scanner::{Filter, FilterOp};
use mindhost_sdk::{Column, DataType, Value};

use super::kind::digits;

/// A filter on one column, ready for use. Whole numbers, decimals, truth values, dates and times are one kind of
/// integers; texts and bytes compare by their bytes, as they do in the host.
#[derive(Clone, Debug)]
pub enum Predicate {
    /// Only NULL, or anything else.
    Null(bool),
    /// Integers in a range, both ends included.
    Range(i128, i128),
    /// All integers but one.
    Not(i128),
    /// One of some integers.
    Among(BTreeSet<i128>),
    /// Texts and bytes.
    Bytes(FilterOp, Vec<u8>),
    /// One of some texts.
    AmongBytes(BTreeSet<Vec<u8>>),
    /// A pattern.
    Like(Filter),
}

/// The smallest or the largest value of some rows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// As in [`Predicate`]: a decimal without its point, a timestamp in microseconds.
    Int(i128),
    /// Bytes of a text.
    Bytes(Vec<u8>),
}

/// What a file says of some rows.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// No value is smaller.
    pub min: Option<Bound>,
    /// No value is larger.
    pub max: Option<Bound>,
    /// How many are NULL.
    pub nulls: Option<u64>,
    /// How many there are.
    pub rows: u64,
}

impl Predicate {
    /// The predicate of a filter; none if rows of this column are not compared here. Floats and JSON are left to the
    /// host.
    pub fn of(filter: &Filter, column: &Column) -> Option<Self> {
        match filter.op {
            FilterOp::IsNull => return Some(Self::Null(true)),
            FilterOp::IsNotNull => return Some(Self::Null(false)),
            _ => {}
        }
        match column.data_type {
            DataType::Float64 | DataType::Json | DataType::Any => None,
            DataType::Text | DataType::Bytes => Self::of_bytes(filter),
            _ => Self::of_ints(filter, column),
        }
    }

    fn of_ints(filter: &Filter, column: &Column) -> Option<Self> {
        let values: Vec<i128> = filter
            .values
            .iter()
            .map(|value| int_of(value, column))
            .collect::<Option<_>>()?;
        let first = *values.first()?;
        Some(match filter.op {
            FilterOp::Eq => Self::Range(first, first),
            FilterOp::NotEq => Self::Not(first),
            FilterOp::Lt => Self::Range(i128::MIN, first.checked_sub(1)?),
            FilterOp::LtEq => Self::Range(i128::MIN, first),
            FilterOp::Gt => Self::Range(first.checked_add(1)?, i128::MAX),
            FilterOp::GtEq => Self::Range(first, i128::MAX),
            FilterOp::InList => Self::Among(values.into_iter().collect()),
            _ => return None,
        })
    }

    fn of_bytes(filter: &Filter) -> Option<Self> {
        let bytes = |value: &Value| match value {
            Value::Text(text) => Some(text.as_bytes().to_vec()),
            Value::Bytes(bytes) => Some(bytes.clone()),
            _ => None,
        };
        Some(match filter.op {
            FilterOp::Like => Self::Like(filter.clone()),
            FilterOp::InList => {
                Self::AmongBytes(filter.values.iter().map(bytes).collect::<Option<_>>()?)
            }
            op => Self::Bytes(op, bytes(filter.values.first()?)?),
        })
    }

    /// Whether a value passes; none is NULL.
    pub fn holds(&self, value: Option<&Bound>) -> bool {
        match (self, value) {
            (Self::Null(wanted), value) => *wanted == value.is_none(),
            (Self::Range(low, high), Some(Bound::Int(value))) => low <= value && value <= high,
            (Self::Not(other), Some(Bound::Int(value))) => value != other,
            (Self::Among(set), Some(Bound::Int(value))) => set.contains(value),
            (_, Some(Bound::Bytes(value))) => self.holds_bytes(value),
            _ => false,
        }
    }

    /// Whether the value of a partition passes.
    pub fn holds_for(&self, value: &Value, column: &Column) -> bool {
        match self {
            // Also a float, which has no bound.
            Self::Null(wanted) => *wanted == matches!(value, Value::Null),
            _ => self.holds(bound(value, column).as_ref()),
        }
    }

    fn holds_bytes(&self, value: &[u8]) -> bool {
        match self {
            Self::Bytes(op, other) => {
                let order = value.cmp(other.as_slice());
                match op {
                    FilterOp::Eq => order.is_eq(),
                    FilterOp::NotEq => order.is_ne(),
                    FilterOp::Lt => order.is_lt(),
                    FilterOp::LtEq => order.is_le(),
                    FilterOp::Gt => order.is_gt(),
                    FilterOp::GtEq => order.is_ge(),
                    _ => false,
                }
            }
            Self::AmongBytes(set) => set.contains(value),
            Self::Like(filter) => {
                let text = std::str::from_utf8(value).map(str::to_owned);
                text.is_ok_and(|text| filter.matches(&Value::Text(text)))
            }
            _ => false,
        }
    }

    /// Whether only NULL matters, so that [`Self::mask`] takes an array of any type.
    pub fn is_of_nulls(&self) -> bool {
        matches!(self, Self::Null(_))
    }

    /// Whether rows with this summary may have one that passes. What is not known may.
    pub fn may_hold(&self, summary: &Summary) -> bool {
        let all_null = summary.nulls.is_some_and(|nulls| nulls >= summary.rows);
        match self {
            Self::Null(true) => summary.nulls != Some(0),
            _ if all_null => false,
            Self::Null(false) => true,
            Self::Range(low, high) => {
                !matches!(&summary.min, Some(Bound::Int(min)) if min > high)
                    && !matches!(&summary.max, Some(Bound::Int(max)) if max < low)
            }
            Self::Not(other) => {
                let only = Bound::Int(*other);
                !(summary.min.as_ref() == Some(&only) && summary.max.as_ref() == Some(&only))
            }
            Self::Among(set) => within(set.iter().map(|value| Bound::Int(*value)), summary),
            Self::AmongBytes(set) => {
                within(set.iter().map(|value| Bound::Bytes(value.clone())), summary)
            }
            Self::Bytes(op, other) => may_hold_bytes(*op, other, summary),
            Self::Like(_) => true,
        }
    }

    /// Which rows of an array pass. The array has the physical type of its column, decimals as numbers.
    pub fn mask(&self, array: &ArrayRef, column: &Column) -> BooleanArray {
        let buffer = match self {
            Self::Null(true) => match array.logical_nulls() {
                Some(nulls) => !nulls.inner(),
                None => BooleanBuffer::new_unset(array.len()),
            },
            Self::Null(false) => match array.logical_nulls() {
                Some(nulls) => nulls.inner().clone(),
                None => BooleanBuffer::new_set(array.len()),
            },
            _ => {
                let passing = self.passing(array, column);
                match array.nulls() {
                    Some(nulls) => &passing & nulls.inner(),
                    None => passing,
                }
            }
        };
        BooleanArray::new(buffer, None)
    }

    fn passing(&self, array: &ArrayRef, column: &Column) -> BooleanBuffer {
        match column.data_type {
            DataType::Int64 => self.ints::<Int64Type>(array),
            DataType::Uint64 => self.ints::<UInt64Type>(array),
            DataType::Date => self.ints::<Date32Type>(array),
            DataType::Time => self.ints::<Time64MicrosecondType>(array),
            DataType::Timestamp | DataType::TimestampUtc => {
                self.ints::<TimestampMicrosecondType>(array)
            }
            DataType::Decimal => self.ints::<Decimal128Type>(array),
            DataType::Boolean => match array.as_boolean_opt() {
                Some(values) => BooleanBuffer::collect_bool(values.len(), |row| {
                    self.holds(Some(&Bound::Int(i128::from(values.values().value(row)))))
                }),
                None => BooleanBuffer::new_unset(array.len()),
            },
            DataType::Text => match array.as_string_opt::<i32>() {
                Some(texts) => BooleanBuffer::collect_bool(texts.len(), |row| {
                    self.holds_bytes(texts.value(row).as_bytes())
                }),
                None => BooleanBuffer::new_unset(array.len()),
            },
            _ => match array.as_binary_opt::<i32>() {
                Some(values) => BooleanBuffer::collect_bool(values.len(), |row| {
                    self.holds_bytes(values.value(row))
                }),
                None => BooleanBuffer::new_unset(array.len()),
            },
        }
    }

    fn ints<T: ArrowPrimitiveType>(&self, array: &ArrayRef) -> BooleanBuffer
    where
        T::Native: Into<i128> + TryFrom<i128> + Ord + Copy,
    {
        let Some(array) = array.as_primitive_opt::<T>() else {
            return BooleanBuffer::new_unset(array.len());
        };
        let values = array.values();
        let at = |row: usize| values.get(row).copied().unwrap_or_default();
        match self {
            Self::Range(low, high) => match (T::Native::try_from(*low), T::Native::try_from(*high))
            {
                // Both ends are numbers of the type: nothing has to be widened.
                (Ok(low), Ok(high)) => BooleanBuffer::collect_bool(values.len(), |row| {
                    low <= at(row) && at(row) <= high
                }),
                (Ok(low), Err(_)) if *high > 0 => {
                    BooleanBuffer::collect_bool(values.len(), |row| low <= at(row))
                }
                (Err(_), Ok(high)) if *low < 0 => {
                    BooleanBuffer::collect_bool(values.len(), |row| at(row) <= high)
                }
                _ => BooleanBuffer::collect_bool(values.len(), |row| {
                    let value = at(row).into();
                    *low <= value && value <= *high
                }),
            },
            Self::Not(other) => {
                BooleanBuffer::collect_bool(values.len(), |row| at(row).into() != *other)
            }
            Self::Among(set) => {
                BooleanBuffer::collect_bool(values.len(), |row| set.contains(&at(row).into()))
            }
            _ => BooleanBuffer::new_unset(values.len()),
        }
    }
}

fn within(mut values: impl Iterator<Item = Bound>, summary: &Summary) -> bool {
    values.any(|value| {
        summary.min.as_ref().is_none_or(|min| *min <= value)
            && summary.max.as_ref().is_none_or(|max| value <= *max)
    })
}

fn may_hold_bytes(op: FilterOp, other: &[u8], summary: &Summary) -> bool {
    let min = match &summary.min {
        Some(Bound::Bytes(min)) => Some(min.as_slice()),
        _ => None,
    };
    let max = match &summary.max {
        Some(Bound::Bytes(max)) => Some(max.as_slice()),
        _ => None,
    };
    match op {
        FilterOp::Eq => min.is_none_or(|min| min <= other) && max.is_none_or(|max| other <= max),
        FilterOp::Lt => min.is_none_or(|min| min < other),
        FilterOp::LtEq => min.is_none_or(|min| min <= other),
        FilterOp::Gt => max.is_none_or(|max| max > other),
        FilterOp::GtEq => max.is_none_or(|max| max >= other),
        // Smallest and largest texts may be cut off, so one that is equal to both says nothing.
        _ => true,
    }
}

/// A constant as the integers of its column.
fn int_of(value: &Value, column: &Column) -> Option<i128> {
    Some(match value {
        Value::Boolean(value) => i128::from(*value),
        Value::Int64(value) | Value::Timestamp(value) | Value::TimestampUtc(value) => {
            i128::from(*value)
        }
        Value::Uint64(value) | Value::Time(value) => i128::from(*value),
        Value::Date(days) => i128::from(*days),
        Value::Decimal(text) => decimal(text, digits(column).1)?,
        _ => return None,
    })
}

/// A decimal text as a multiple of its last place; none if it has more digits behind the point.
fn decimal(text: &str, scale: i8) -> Option<i128> {
    let scale = usize::try_from(scale).ok()?;
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > scale {
        return None;
    }
    let number: i128 = format!("{whole}{fraction:0<scale$}").parse().ok()?;
    Some(if negative { -number } else { number })
}

/// A value of a partition as a bound; none if it is NULL or cannot be compared.
fn bound(value: &Value, column: &Column) -> Option<Bound> {
    match value {
        Value::Text(text) => Some(Bound::Bytes(text.as_bytes().to_vec())),
        Value::Bytes(bytes) => Some(Bound::Bytes(bytes.clone())),
        value => int_of(value, column).map(Bound::Int),
    }
}
