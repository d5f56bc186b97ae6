//! The statements that the server keeps prepared for one session.
//!
//! A statement is worth that once its answer was small and it comes again: then its parsing, its planning and the
//! description of its columns cost more than its rows. What comes once is never kept, and what is kept is bounded,
//! here and at the server.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use mindhost_sdk::Column;

use crate::decode::Form;

/// Statements that are kept at once: the server holds a plan for each, in every session.
const MAX_KEPT: usize = 32;
/// Longer statements are not kept.
const MAX_TEXT: usize = 4 << 10;
/// Statements that are remembered, by a hash, as having had a small answer.
const MAX_SEEN: usize = 128;
/// A session whose statements were lost so often shares its server's sessions with others, and keeps none.
const MAX_LOSSES: u32 = 3;

/// A statement that the server knows by a name.
pub(crate) struct Plan {
    pub(crate) name: String,
    text: String,
    /// The description of the answer, which cannot change: the server refuses a plan whose columns did.
    pub(crate) columns: Vec<Column>,
    pub(crate) forms: Vec<Form>,
}

/// The statements of one session.
pub(crate) struct Plans {
    hasher: RandomState,
    /// Random, so that a name never means another session's statement where a connection pool mixes sessions up.
    prefix: u64,
    named: u64,
    /// The hashes of statements with a small answer, the oldest first.
    seen: VecDeque<u64>,
    /// The one that was used last is the last.
    kept: VecDeque<Arc<Plan>>,
    /// Names that the server is to forget.
    forgotten: Vec<String>,
    losses: u32,
}

impl Plans {
    /// None yet; never any where a pool is known to stand between.
    pub(crate) fn new(pooled: bool) -> Self {
        let hasher = RandomState::new();
        Self {
            prefix: hasher.hash_one("prefix"),
            hasher,
            named: 0,
            seen: VecDeque::new(),
            kept: VecDeque::new(),
            forgotten: Vec::new(),
            losses: if pooled { MAX_LOSSES } else { 0 },
        }
    }

    /// The statement with this text, if the server knows it.
    pub(crate) fn find(&mut self, text: &str) -> Option<Arc<Plan>> {
        let index = self.kept.iter().rposition(|plan| plan.text == text)?;
        let plan = self.kept.remove(index)?;
        self.kept.push_back(Arc::clone(&plan));
        Some(plan)
    }

    /// A name to prepare the statement under, if it came before and is worth it.
    pub(crate) fn name_for(&mut self, text: &str) -> Option<String> {
        let is_worth_it = self.losses < MAX_LOSSES
            && text.len() <= MAX_TEXT
            && self.seen.contains(&self.hasher.hash_one(text))
            && self.kept.iter().all(|plan| plan.text != text);
        is_worth_it.then(|| {
            self.named += 1;
            format!("mindhost_{:016x}_{}", self.prefix, self.named)
        })
    }

    /// Remembers that the answer to a statement was small.
    pub(crate) fn saw(&mut self, text: &str) {
        let hash = self.hasher.hash_one(text);
        if text.len() > MAX_TEXT || self.seen.contains(&hash) {
            return;
        }
        if self.seen.len() == MAX_SEEN {
            self.seen.pop_front();
        }
        self.seen.push_back(hash);
    }

    /// Keeps a statement that was prepared, in the place of the one that was not used for longest. Its answers will
    /// come as text, also where this one was asked for anew in the binary format.
    pub(crate) fn keep(
        &mut self,
        name: String,
        text: String,
        columns: Vec<Column>,
        mut forms: Vec<Form>,
    ) {
        for form in &mut forms {
            form.binary = false;
        }
        if self.kept.len() == MAX_KEPT
            && let Some(oldest) = self.kept.pop_front()
        {
            self.forgotten.push(oldest.name.clone());
        }
        self.kept.push_back(Arc::new(Plan {
            name,
            text,
            columns,
            forms,
        }));
    }

    /// Has the server forget a name, whether it knows it or not.
    pub(crate) fn forget(&mut self, name: &str) {
        self.kept.retain(|plan| plan.name != name);
        self.forgotten.push(name.to_owned());
    }

    /// Forgets all: the server knows none of them any more.
    pub(crate) fn lose(&mut self) {
        self.losses += 1;
        self.kept.clear();
        self.forgotten.clear();
    }

    /// The names to be forgotten with the next request.
    pub(crate) fn take_forgotten(&mut self) -> Vec<String> {
        std::mem::take(&mut self.forgotten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Kind;

    fn prepare(plans: &mut Plans, text: &str) -> bool {
        plans.saw(text);
        let name = plans.name_for(text);
        let is_new = name.is_some();
        if let Some(name) = name {
            plans.keep(name, text.into(), Vec::new(), Vec::new());
        }
        is_new
    }

    #[test]
    fn only_what_comes_again_is_kept() {
        let mut plans = Plans::new(false);
        assert_eq!(plans.name_for("SELECT 1"), None);
        assert!(prepare(&mut plans, "SELECT 1"));
        assert!(plans.find("SELECT 1").is_some() && plans.find("SELECT 2").is_none());
        assert!(!prepare(&mut plans, "SELECT 1"), "it is kept already");
        assert!(!prepare(&mut plans, &"x".repeat(MAX_TEXT + 1)));
        assert!(!prepare(&mut Plans::new(true), "SELECT 1"));
    }

    #[test]
    fn what_is_kept_is_read_as_text() {
        let mut plans = Plans::new(false);
        let form = |binary| Form {
            kind: Kind::Text,
            binary,
        };
        let forms = vec![form(false), form(true)];
        plans.keep("name".into(), "SELECT 1".into(), Vec::new(), forms);
        let plan = plans.find("SELECT 1").unwrap();
        assert_eq!(plan.forms.len(), 2);
        assert!(plan.forms.iter().all(|form| !form.binary));
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_oldest_goes() {
        let mut plans = Plans::new(false);
        for number in 0..1000 {
            assert!(prepare(&mut plans, &format!("SELECT {number}")));
            assert!(plans.find("SELECT 0").is_some(), "used all the time");
        }
        assert_eq!((plans.kept.len(), plans.seen.len()), (MAX_KEPT, MAX_SEEN));
        assert_eq!(plans.take_forgotten().len(), 1000 - MAX_KEPT);
        assert!(plans.take_forgotten().is_empty());
    }

    #[test]
    fn a_session_that_loses_its_statements_stops_keeping_any() {
        let mut plans = Plans::new(false);
        for _ in 0..MAX_LOSSES {
            assert!(prepare(&mut plans, "SELECT 1"));
            plans.lose();
            assert!(plans.find("SELECT 1").is_none());
        }
        assert!(!prepare(&mut plans, "SELECT 1"));
    }
}
