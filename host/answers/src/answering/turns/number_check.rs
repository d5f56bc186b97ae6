//! The numbers of an answer are compared with what the model has read. If there are doubts, it gets one turn more to
//! correct them. The text of the answer is shown by then, so a correction is added to it.

use super::{Counts, End, Turns};
use crate::answering::history::Dialogue;
use mindhost_base::error::{Kind, Result};
use mindhost_plugin_api::{Call, ModelMessage, Part, Role};

/// What the model writes if its numbers are right.
const ALL_RIGHT: &str = "OK";

impl Turns<'_> {
    /// The numbers of the answer that the model has not read. Where rows are withheld it has read none.
    pub(super) fn doubts(&self) -> Vec<String> {
        match self.toolbox.access.sends_rows() {
            true => self.check.figures.unverified(&self.answer.text),
            false => Vec::new(),
        }
    }

    /// Lets the model correct its answer, which stands if the model has nothing to add, or fails.
    ///
    /// # Errors
    /// When the answer was cancelled.
    pub(super) async fn correct(
        &mut self,
        dialogue: &mut Dialogue,
        counts: &mut Counts,
        call: &Call,
    ) -> Result<()> {
        let (sql, result) = (self.answer.sql.clone(), self.answer.facts.result.clone());
        self.check.held = Some(String::new());
        // It is trimmed before it is shown, so a fence in it may not be where the filter sees it.
        self.links = self.links.without_code();
        let end = Box::pin(self.until_end(dialogue, counts, call)).await;
        // A turn that failed may have text in the filter, which is not of the answer.
        self.links = self.links.without_code();
        let said = self.check.held.take().unwrap_or_default();
        let said = said.trim();
        let is_right = said.is_empty() || said.trim_end_matches('.') == ALL_RIGHT;
        let has_room = self.answer.text.len() + said.len() + 2 <= self.bounds.answer_bytes;
        match end {
            Ok(End::Answered(_)) if is_right => {}
            Ok(End::Answered(_)) if has_room => {
                self.add(&format!("\n\n{said}"));
                return Ok(());
            }
            Err(error) if error.kind() == Kind::Cancelled => return Err(error),
            _ => {}
        }
        (self.answer.sql, self.answer.facts.result) = (sql, result);
        Ok(())
    }
}

/// What the host says to the model.
pub(super) fn request(doubts: &[String]) -> ModelMessage {
    let text = format!(
        "These numbers of your answer are in no result, and do not follow from one: {}. The answer is shown already, \
         and what you write now is added to it. If one of them is wrong, write a short correction; first run a \
         statement if you need one. If all are right, write only {ALL_RIGHT}.",
        doubts.join(", ")
    );
    ModelMessage {
        role: Role::User,
        parts: vec![Part::Text(text)],
    }
}
