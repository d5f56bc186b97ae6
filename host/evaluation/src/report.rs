//! The report of a run.

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::{Map, Value};

use crate::{figures::Figures, judged::Judged};

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The `name` in the suite; may be empty.
    pub suite: String,
    /// Name of the Mind as it was given: `{db}` stands for the database of each question.
    pub mind: String,
    /// URL of the server that was asked.
    pub server: String,
    /// When it began: ISO 8601 in UTC.
    pub began_at: String,
    /// Whether each question was asked. A run that was interrupted is not complete.
    pub is_complete: bool,
    /// Figures over all questions. An older report may miss some of them; these are 0 or unknown.
    #[serde(default, deserialize_with = "figures")]
    pub figures: Figures,
    /// The questions that were asked, in the order of the suite.
    pub questions: Vec<Judged>,
}

/// Reads figures of which some are missing.
fn figures<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Figures, D::Error> {
    let stored = Map::<String, Value>::deserialize(deserializer)?;
    let mut all = serde_json::to_value(Figures::default()).map_err(D::Error::custom)?;
    if let Value::Object(all) = &mut all {
        all.extend(stored);
    }
    serde_json::from_value(all).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn older_report_without_some_fields_is_read() {
        let question =
            json!({"id": "a", "question": "How many?", "expect": "answer", "mark": "right"});
        let report = |figures: Value| {
            let mut report = json!({"suite": "", "mind": "analyst", "server": "", "began_at": "", "is_complete": true,
                "questions": [question]});
            if !figures.is_null() {
                report["figures"] = figures;
            }
            serde_json::from_value::<Report>(report).unwrap()
        };
        let some = report(json!({"right": 1, "accuracy": 1.0}));
        assert_eq!((some.figures.right, some.figures.repairs), (1, 0));
        assert_eq!(some.figures.recall_tables, None);
        assert_eq!(some.questions[0].cost, None);
        assert_eq!(report(Value::Null).figures, Figures::default());
    }
}
