//! What an answer has used and tried so far. It outlives the work, so that a failure can tell.

use std::sync::Mutex;

use super::record::Usage;
use mindhost_base::locks::lock;

/// Tool calls that an answer tells of when it ends without a result; the newest count.
const MAX_ATTEMPTS: usize = 3;

/// Shared by the task of an answer and its turns.
#[derive(Debug, Default)]
pub struct AnswerCosts {
    usage: Mutex<Usage>,
    attempts: Mutex<Vec<Attempt>>,
}

/// A statement of the model, and what came of it.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// As the model wrote it.
    pub sql: String,
    /// The number of rows, or why it failed.
    pub result: String,
}

impl AnswerCosts {
    /// Adds the tokens of a turn.
    pub fn add(&self, usage: Usage) {
        let all = &mut *lock(&self.usage);
        for (sum, more) in [
            (&mut all.input_tokens, usage.input_tokens),
            (&mut all.cached_tokens, usage.cached_tokens),
            (&mut all.output_tokens, usage.output_tokens),
            (&mut all.reasoning_tokens, usage.reasoning_tokens),
        ] {
            *sum = sum.saturating_add(more);
        }
    }

    /// The tokens of all turns.
    pub fn usage(&self) -> Usage {
        *lock(&self.usage)
    }

    /// Adds a statement that was tried.
    pub fn tried(&self, attempt: Attempt) {
        let mut attempts = lock(&self.attempts);
        attempts.push(attempt);
        if attempts.len() > MAX_ATTEMPTS {
            attempts.remove(0);
        }
    }

    /// The newest statements, oldest first.
    pub fn attempts(&self) -> Vec<Attempt> {
        lock(&self.attempts).clone()
    }
}
