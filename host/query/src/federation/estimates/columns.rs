//! What the catalog knows of a column, as numbers.

use datafusion::{arrow::datatypes::DataType, common::ScalarValue};
use mindhost_plugin_api::ColumnStatistics;

/// Least and greatest value of a column as numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The least value.
    pub least: f64,
    /// The greatest value.
    pub greatest: f64,
}

/// What is known of a column.
#[derive(Clone, Debug)]
pub struct ColumnFacts {
    /// Its type in the plan.
    pub data_type: DataType,
    /// The share of rows without a value.
    pub nulls: Option<f64>,
    /// Distinct values of all rows.
    pub distinct: Option<f64>,
    /// Of numbers, days and moments.
    pub range: Option<Range>,
    /// Values as the catalog writes them, and the share of all rows that has them.
    common: Vec<(String, f64)>,
}

impl ColumnFacts {
    /// From the catalog; `rows` are those of the table.
    pub fn new(known: &ColumnStatistics, data_type: &DataType, rows: Option<u64>) -> Self {
        let number = |text: &Option<String>| {
            let value = ScalarValue::try_from_string(text.clone()?, data_type).ok()?;
            number(&value)
        };
        let range = number(&known.min_value).zip(number(&known.max_value));
        Self {
            data_type: data_type.clone(),
            nulls: known.null_fraction.map(|share| share.clamp(0.0, 1.0)),
            distinct: distinct(known, rows),
            range: range
                .filter(|(least, greatest)| least <= greatest)
                .map(|(least, greatest)| Range { least, greatest }),
            common: known.common_values.clone(),
        }
    }

    /// The share of rows with some value.
    pub fn not_null(&self) -> f64 {
        1.0 - self.nulls.unwrap_or(0.0)
    }

    /// The share of rows that equal a value; of any value without one. `None` if too little is known.
    pub fn equal(&self, value: Option<&ScalarValue>) -> Option<f64> {
        if value.is_some_and(ScalarValue::is_null) {
            return Some(0.0);
        }
        if let Some(share) = value.and_then(|value| self.common_share(value)) {
            return Some(share);
        }
        let of = value.and_then(|value| self.number(value));
        if let (Some(of), Some(range)) = (of, self.range)
            && !(range.least..=range.greatest).contains(&of)
        {
            return Some(0.0);
        }
        let distinct = self.distinct.filter(|distinct| *distinct >= 1.0)?;
        let others = distinct - self.common.len() as f64;
        let common: f64 = self.common.iter().map(|(_, share)| share).sum();
        // Of the common values the shares are known; the others have the rest.
        let even = self.not_null() / distinct;
        Some(match value {
            Some(_) if others >= 1.0 => ((self.not_null() - common) / others).clamp(0.0, even),
            _ => even,
        })
    }

    fn common_share(&self, value: &ScalarValue) -> Option<f64> {
        let ScalarValue::Utf8(Some(text)) = value.cast_to(&DataType::Utf8).ok()? else {
            return None;
        };
        let found = self.common.iter().find(|(common, _)| *common == text);
        found.map(|(_, share)| *share)
    }

    /// A constant beside the column as a number.
    pub fn number(&self, value: &ScalarValue) -> Option<f64> {
        number(&value.cast_to(&self.data_type).ok()?)
    }

    /// The distance of two neighbours, if the values are integers or days.
    pub fn step(&self) -> f64 {
        let is_whole = self.data_type.is_integer() || self.data_type == DataType::Date32;
        if is_whole { 1.0 } else { 0.0 }
    }
}

/// Distinct values of all rows. Where a sample was counted, and most of it is distinct, the table has as much more of
/// them as it has more rows.
fn distinct(known: &ColumnStatistics, rows: Option<u64>) -> Option<f64> {
    let counted = known.distinct_count? as f64;
    let sampled = known.sampled_rows.map(|rows| rows as f64);
    let (Some(sampled), Some(rows)) = (sampled, rows.map(|rows| rows as f64)) else {
        return Some(counted);
    };
    // More than the sample has is said of the table already.
    let is_of_sample = counted > sampled / 2.0 && counted <= sampled && sampled < rows;
    Some(match is_of_sample {
        true => counted * rows / sampled,
        false => counted.min(rows),
    })
}

/// A number, a day or a moment as a number; `None` for other types and for what is not finite.
fn number(value: &ScalarValue) -> Option<f64> {
    let number = match value {
        ScalarValue::Date32(Some(days)) => f64::from(*days),
        ScalarValue::TimestampMicrosecond(Some(micros), _) => *micros as f64,
        other if other.data_type().is_numeric() => match other.cast_to(&DataType::Float64).ok()? {
            ScalarValue::Float64(Some(number)) => number,
            _ => return None,
        },
        _ => return None,
    };
    number.is_finite().then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> ColumnStatistics {
        ColumnStatistics {
            column: String::from("c"),
            null_fraction: Some(0.0),
            distinct_count: Some(10),
            common_values: Vec::new(),
            min_value: None,
            max_value: None,
            estimated: false,
            sampled_rows: None,
        }
    }

    #[test]
    fn texts_of_the_catalog_become_numbers_of_the_type() {
        let range = |least: &str, greatest: &str, data_type| {
            let known = ColumnStatistics {
                min_value: Some(least.to_owned()),
                max_value: Some(greatest.to_owned()),
                ..known()
            };
            let range = ColumnFacts::new(&known, &data_type, None).range?;
            Some((range.least, range.greatest))
        };
        assert_eq!(range("1", "50", DataType::Int64), Some((1.0, 50.0)));
        let days = range("1970-01-02", "1970-02-01", DataType::Date32);
        assert_eq!(days, Some((1.0, 31.0)));
        let decimals = range("-0.5", "2.25", DataType::Decimal128(12, 2));
        assert_eq!(decimals, Some((-0.5, 2.25)));
        for (least, greatest, data_type) in [
            ("a", "z", DataType::Int64),
            ("a", "z", DataType::Utf8),
            ("NaN", "NaN", DataType::Float64),
            ("2", "1", DataType::Int64),
            ("", "", DataType::Date32),
        ] {
            assert_eq!(range(least, greatest, data_type), None);
        }
    }

    #[test]
    fn distinct_values_of_a_sample_grow_with_the_table() {
        let distinct = |count, sampled, rows| {
            let known = ColumnStatistics {
                distinct_count: Some(count),
                sampled_rows: sampled,
                ..known()
            };
            ColumnFacts::new(&known, &DataType::Int64, rows).distinct
        };
        assert_eq!(distinct(80, Some(100), Some(1_000)), Some(800.0));
        assert_eq!(distinct(5, Some(100), Some(1_000)), Some(5.0));
        // Said of the table.
        assert_eq!(distinct(900, Some(100), Some(1_000)), Some(900.0));
        assert_eq!(distinct(80, None, Some(1_000)), Some(80.0));
        assert_eq!(distinct(80, Some(100), None), Some(80.0));
    }

    #[test]
    fn common_values_have_their_own_share() {
        let known = ColumnStatistics {
            common_values: vec![("a".into(), 0.5), ("b".into(), 0.3)],
            distinct_count: Some(4),
            ..known()
        };
        let facts = ColumnFacts::new(&known, &DataType::Utf8, None);
        let equal = |text: &str| facts.equal(Some(&ScalarValue::from(text))).unwrap();
        assert_eq!(equal("a"), 0.5);
        assert!((equal("c") - 0.1).abs() < 1e-9);
        assert_eq!(facts.equal(None), Some(0.25));
        assert_eq!(facts.equal(Some(&ScalarValue::Utf8(None))), Some(0.0));
    }
}
