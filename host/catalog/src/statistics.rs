//! What the values of a column are like.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use mindhost_base::error::{Error, Result};
use mindhost_plugin_api::ColumnStatistics;

/// Longest value that is kept, in characters.
pub const MAX_VALUE: usize = 256;
/// Most common values that are kept.
pub const MAX_COMMON: usize = 10;

/// Statistics of one column: stored, and shown as they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = ColumnStatistics)]
pub struct Statistics {
    /// At most ten, most common first, as text; null where none is common or values are not kept.
    #[schema(required = true)]
    pub most_common_values: Option<Vec<String>>,
    /// The share of all rows that each of them has, 0.0 to 1.0.
    #[schema(required = true)]
    pub most_common_frequencies: Option<Vec<f64>>,
    /// 0 to 100.
    pub null_percentage: f64,
    /// NULL not counted; 0 with `estimated` when nobody knows.
    pub distinct_values_count: u64,
    /// As text; empty when there is none.
    pub min_value: String,
    /// As text; empty when there is none.
    pub max_value: String,
    /// Whether the figures come from a part of the rows, or are not known.
    pub estimated: bool,
    /// How many rows were read for them; null when the engine does not say.
    #[schema(required = true)]
    pub sampled_rows: Option<u64>,
    /// Whether a value above was cut at 256 characters.
    pub truncated_values: bool,
}

impl Default for Statistics {
    /// Statistics of a column that was never sampled.
    fn default() -> Self {
        Self {
            most_common_values: None,
            most_common_frequencies: None,
            null_percentage: 0.0,
            distinct_values_count: 0,
            min_value: String::new(),
            max_value: String::new(),
            estimated: true,
            sampled_rows: None,
            truncated_values: false,
        }
    }
}

impl Statistics {
    /// The engine's own. They were checked for form, not for sense: shares outside of 0 to 1 are put right here.
    pub fn of_engine(given: &ColumnStatistics) -> Self {
        let mut statistics = Self {
            null_percentage: share(given.null_fraction.unwrap_or(0.0)) * 100.0,
            distinct_values_count: given.distinct_count.unwrap_or(0),
            estimated: given.estimated || given.distinct_count.is_none(),
            sampled_rows: given.sampled_rows,
            ..Self::default()
        };
        let common = given.common_values.iter().take(MAX_COMMON);
        statistics.set_common(common.map(|(value, part)| (value.as_str(), share(*part))));
        statistics.set_range(
            given.min_value.as_deref().unwrap_or_default(),
            given.max_value.as_deref().unwrap_or_default(),
        );
        statistics
    }

    /// Whether rows were read or the engine said something. The figures of [`Self::default`] mean nothing.
    pub fn is_known(&self) -> bool {
        self.sampled_rows.is_some()
            || self.distinct_values_count > 0
            || !self.estimated
            || !self.max_value.is_empty()
            || self.null_percentage > 0.0
    }

    /// For the planner of statements over several datasources: what is not known is `None`.
    pub fn into_column(self, column: String) -> ColumnStatistics {
        let is_known = self.is_known();
        let text = |text: String| Some(text).filter(|text| !text.is_empty());
        let values = self.most_common_values.unwrap_or_default().into_iter();
        let shares = self.most_common_frequencies.unwrap_or_default();
        ColumnStatistics {
            column,
            null_fraction: is_known.then_some(self.null_percentage / 100.0),
            distinct_count: Some(self.distinct_values_count)
                .filter(|count| *count > 0 || !self.estimated),
            common_values: values.zip(shares).collect(),
            min_value: text(self.min_value),
            max_value: text(self.max_value),
            estimated: self.estimated,
            sampled_rows: self.sampled_rows,
        }
    }

    /// Sets the common values, cut to length. None at all is null.
    pub(super) fn set_common<'a>(&mut self, common: impl Iterator<Item = (&'a str, f64)>) {
        let (values, shares): (Vec<_>, Vec<_>) = common
            .map(|(value, part)| (self.cut(value), part))
            .collect();
        if !values.is_empty() {
            self.most_common_values = Some(values);
            self.most_common_frequencies = Some(shares);
        }
    }

    /// Sets least and greatest value, cut to length.
    pub(super) fn set_range(&mut self, min: &str, max: &str) {
        self.min_value = self.cut(min);
        self.max_value = self.cut(max);
    }

    fn cut(&mut self, value: &str) -> String {
        match value.char_indices().nth(MAX_VALUE) {
            None => value.to_owned(),
            Some((end, _)) => {
                self.truncated_values = true;
                value[..end].to_owned()
            }
        }
    }
}

/// Statistics as the store holds them. They are shown as they are, so reading a catalog of many columns need not
/// take them apart.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct StoredStatistics(Box<RawValue>);

impl StoredStatistics {
    /// From the text in the store.
    ///
    /// # Errors
    /// When it is not JSON: the store was changed by another hand.
    pub fn new(text: String) -> Result<Self> {
        RawValue::from_string(text)
            .map(Self)
            .map_err(Error::internal)
    }

    /// A JSON object, as it is stored and shown.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// Takes them apart.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn read(&self) -> Result<Statistics> {
        mindhost_store::json(self.0.get())
    }
}

fn share(value: f64) -> f64 {
    if value.is_finite() {
        value.clamp(0.0, 1.0)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine() -> ColumnStatistics {
        ColumnStatistics {
            column: "c".into(),
            null_fraction: Some(0.25),
            distinct_count: Some(3),
            common_values: vec![("a".into(), 0.5)],
            min_value: Some("a".into()),
            max_value: Some("é".repeat(300)),
            estimated: false,
            sampled_rows: None,
        }
    }

    #[test]
    fn the_engines_figures_become_percentages_and_long_values_are_cut() {
        let statistics = Statistics::of_engine(&engine());
        assert_eq!(statistics.null_percentage, 25.0);
        assert_eq!(statistics.max_value.chars().count(), 256);
        assert!(statistics.truncated_values);
        assert!(!statistics.estimated);
    }

    #[test]
    fn planner_is_told_what_is_known() {
        assert!(!Statistics::default().is_known());
        assert!(Statistics::of_engine(&engine()).is_known());
        let nothing = Statistics::default().into_column("c".into());
        assert_eq!(
            (nothing.null_fraction, nothing.distinct_count),
            (None, None)
        );
        assert_eq!((nothing.min_value, nothing.max_value), (None, None));
        let known = Statistics::of_engine(&engine()).into_column("c".into());
        assert_eq!(known.common_values, engine().common_values);
        assert_eq!(
            (known.null_fraction, known.distinct_count),
            (Some(0.25), Some(3))
        );
    }

    #[test]
    fn an_unknown_count_is_zero_and_estimated() {
        let statistics = Statistics::of_engine(&ColumnStatistics {
            distinct_count: None,
            ..engine()
        });
        assert_eq!(statistics.distinct_values_count, 0);
        assert!(statistics.estimated);
    }

    #[test]
    fn shares_that_make_no_sense_are_put_right() {
        let statistics = Statistics::of_engine(&ColumnStatistics {
            null_fraction: Some(f64::NAN),
            common_values: vec![("a".into(), 7.0), ("b".into(), -1.0)],
            ..engine()
        });
        assert_eq!(statistics.null_percentage, 0.0);
        assert_eq!(statistics.most_common_frequencies, Some(vec![1.0, 0.0]));
    }

    #[test]
    fn every_field_is_there_even_when_nothing_is_known() {
        let json = serde_json::to_value(Statistics::default()).unwrap();
        for field in [
            "most_common_values",
            "most_common_frequencies",
            "null_percentage",
            "distinct_values_count",
            "min_value",
            "max_value",
            "estimated",
            "sampled_rows",
        ] {
            assert!(json.get(field).is_some(), "{field}");
        }
    }
}
