//! The words of metrics: a name or synonym belongs to one metric of a Mind, so that a question with it has one answer.

use std::collections::HashMap;

use super::{Entry, Knowledge, Metric, kinds::word_key};
use mindhost_base::error::{Code, Error, Result};

/// The metrics of a Mind by their words.
pub(super) struct MetricWords<'a>(HashMap<String, Vec<&'a Metric>>);

impl<'a> MetricWords<'a> {
    pub fn new(entries: &'a [Entry]) -> Self {
        let mut by_word: HashMap<String, Vec<&Metric>> = HashMap::new();
        for entry in entries {
            if let Knowledge::Metric(metric) = &entry.knowledge {
                for (_, word) in metric.words() {
                    by_word.entry(word_key(word)).or_default().push(metric);
                }
            }
        }
        Self(by_word)
    }

    /// Refuses an entry that shares a word with another metric.
    ///
    /// # Errors
    /// `name_taken`, with the field that has the word.
    pub fn check(&self, knowledge: &Knowledge) -> Result<()> {
        let Knowledge::Metric(metric) = knowledge else {
            return Ok(());
        };
        let own = word_key(&metric.name);
        for (param, word) in metric.words() {
            let same = self.0.get(&word_key(word)).into_iter().flatten();
            let mut others = same.filter(|other| word_key(&other.name) != own);
            if let Some(other) = others.next() {
                let shorten = |text: &str| text.chars().take(80).collect::<String>();
                let message = format!(
                    "`{param}`: '{}' is a word of the metric '{}' already, and case makes no difference; leave it out \
                     or change that metric",
                    shorten(word),
                    shorten(&other.name)
                );
                return Err(Error::new(Code::NameTaken, message).param(param));
            }
        }
        Ok(())
    }
}
