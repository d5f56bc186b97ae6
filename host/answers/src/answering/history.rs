//! The dialogue that a model is sent: within a number of tokens, whatever the conversation and the results of tools are.

use super::record::Truncation;
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::{ModelMessage, Part, Role};

/// Tokens that a message costs beside its text.
const PER_MESSAGE: usize = 4;
/// A shorter result of a tool is not worth leaving out, in bytes.
const SHORT_RESULT: usize = 256;
/// What stands in place of a result that was left out.
const LEFT_OUT: &str = r#"{"left_out":"this result was left out to save room; run the statement again if you need it"}"#;

/// The messages of one answer, in order: instructions, history, question, and the steps taken for it.
#[derive(Clone, Debug)]
pub struct Dialogue {
    messages: Vec<ModelMessage>,
    /// Where the question is. What is before it, without the instructions, may be left out.
    question: usize,
    budget: usize,
    truncation: Truncation,
}

impl Dialogue {
    /// Packs a dialogue, which ends with the question or what the caller sent behind it. Instructions, which are the
    /// messages of the role system, and the question are always kept. With [`Truncation::Auto`] the oldest of the
    /// others are left out. `is_whole` is whether the conversation has no older messages than these.
    ///
    /// # Errors
    /// `context_length_exceeded` when it is longer than `budget` tokens and may not be truncated, or still is then.
    pub fn pack(
        messages: Vec<ModelMessage>,
        is_whole: bool,
        budget: usize,
        truncation: Truncation,
    ) -> Result<Self> {
        let question = messages
            .iter()
            .rposition(|message| message.role == Role::User)
            .unwrap_or(messages.len());
        let mut dialogue = Self {
            messages,
            question,
            budget,
            truncation,
        };
        if !is_whole && truncation == Truncation::Disabled {
            return Err(dialogue.too_long());
        }
        if !dialogue.leave_out_history() {
            return Err(dialogue.too_long());
        }
        Ok(dialogue)
    }

    /// The error of a dialogue that does not fit: of what is always kept, if that alone is too long.
    fn too_long(&self) -> Error {
        let (before, question) = self.messages.split_at(self.question);
        let instructions = before.iter().filter(|one| one.role == Role::System);
        let instructions: usize = instructions.map(tokens_of).sum();
        let question: usize = question.iter().map(tokens_of).sum();
        let kept = "the question and the instructions alone are too long; shorten them";
        let history = "send `truncation: \"auto\"` to leave out the oldest messages, or begin a new conversation";
        let fits = self.tokens() <= self.budget;
        let (param, advice) = match instructions + question <= self.budget {
            true if fits => {
                let message = format!(
                    "the conversation has more messages than are read of it (answering.history); {history}"
                );
                return Error::new(Code::ContextLengthExceeded, message).param("input");
            }
            true => ("input", history),
            false if instructions > question => ("instructions", kept),
            false => ("input", kept),
        };
        let message = format!(
            "the dialogue is longer than the {} tokens that the model may be sent (answering.context_tokens); {advice}",
            self.budget
        );
        Error::new(Code::ContextLengthExceeded, message).param(param)
    }

    /// As the next request to the model sends them.
    pub fn messages(&self) -> &[ModelMessage] {
        &self.messages
    }

    /// The messages that were kept.
    pub fn into_messages(self) -> Vec<ModelMessage> {
        self.messages
    }

    /// Tokens of all messages, by the estimate of [`tokens`].
    pub fn tokens(&self) -> usize {
        self.messages.iter().map(tokens_of).sum()
    }

    /// Adds a step: what the model said, or the result of a tool.
    pub fn push(&mut self, message: ModelMessage) {
        self.messages.push(message);
    }

    /// Makes it fit again after steps were added: leaves out history where it may, then old results of tools, which this
    /// answer is made of. The results of the last turn stay. Returns whether it fits.
    pub fn fit(&mut self) -> bool {
        if self.leave_out_history() {
            return true;
        }
        let last_turn = self
            .messages
            .iter()
            .rposition(|message| message.role == Role::Assistant)
            .unwrap_or(self.messages.len());
        for index in self.question.min(last_turn)..last_turn {
            if self.tokens() <= self.budget {
                return true;
            }
            for part in &mut self.messages[index].parts {
                if let Part::ToolResult { content, .. } = part
                    && content.len() > SHORT_RESULT
                {
                    LEFT_OUT.clone_into(content);
                }
            }
        }
        self.tokens() <= self.budget
    }

    /// Removes the oldest messages in front of the question until it fits, where it may.
    fn leave_out_history(&mut self) -> bool {
        let mut tokens = self.tokens();
        if self.truncation == Truncation::Auto {
            let mut index = 0;
            while tokens > self.budget && index < self.question {
                if self.messages[index].role == Role::System {
                    index += 1;
                    continue;
                }
                tokens -= tokens_of(&self.messages.remove(index));
                self.question -= 1;
            }
        }
        tokens <= self.budget
    }
}

/// The tokens of a message, by estimate.
fn tokens_of(message: &ModelMessage) -> usize {
    let parts = message.parts.iter().map(|part| match part {
        Part::Text(text) => tokens(text),
        Part::ToolCall(call) => tokens(&call.name) + tokens(&call.arguments),
        Part::ToolResult { content, .. } => tokens(content),
        Part::Opaque { data, .. } => tokens(data),
    });
    parts.sum::<usize>() + PER_MESSAGE
}

/// The tokens of a text, by estimate: four ASCII characters are one, and each other character is one.
pub fn tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().filter(|letter| !letter.is_ascii()).count();
    ascii.div_ceil(4) + others
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(role: Role, text: &str) -> ModelMessage {
        ModelMessage {
            role,
            parts: vec![Part::Text(text.to_owned())],
        }
    }

    fn text(message: &ModelMessage) -> &str {
        match &message.parts[0] {
            Part::Text(text) | Part::ToolResult { content: text, .. } => text,
            _ => "",
        }
    }

    fn talk(turns: &[(Role, String)], question: &str) -> Vec<ModelMessage> {
        let mut all = vec![message(Role::System, "You are a careful analyst.")];
        all.extend(turns.iter().map(|(role, text)| message(*role, text)));
        all.push(message(Role::User, question));
        all
    }

    fn a_turn() -> impl Strategy<Value = (Role, String)> {
        let role = prop_oneof![
            4 => Just(Role::User),
            4 => Just(Role::Assistant),
            1 => Just(Role::System),
        ];
        (role, "[a-z 日本😀é]{0,200}")
    }

    proptest! {
        #[test]
        fn dialogue_is_never_over_budget_and_keeps_instructions_and_question(
            turns in proptest::collection::vec(a_turn(), 0..40),
            results in proptest::collection::vec("[a-z0-9 ]{0,900}", 0..12),
            question in "[a-zé]{1,80}",
            budget in 10_usize..1500,
            auto in any::<bool>(),
        ) {
            let truncation = if auto { Truncation::Auto } else { Truncation::Disabled };
            let all = talk(&turns, &question);
            let whole: usize = all.iter().map(tokens_of).sum();
            let instructions = all.iter().filter(|one| one.role == Role::System).count();
            match Dialogue::pack(all.clone(), true, budget, truncation) {
                Err(error) => {
                    prop_assert_eq!(error.code(), Code::ContextLengthExceeded);
                    prop_assert!(whole > budget);
                }
                Ok(mut dialogue) => {
                    prop_assert!(dialogue.tokens() <= budget);
                    if truncation == Truncation::Disabled {
                        prop_assert_eq!(dialogue.messages(), &all[..]);
                    }
                    // What was kept of the history is its newest part.
                    let said = |messages: &[ModelMessage]| -> Vec<ModelMessage> {
                        messages.iter().filter(|one| one.role != Role::System).cloned().collect()
                    };
                    let (kept, before) = (said(dialogue.messages()), said(&all));
                    prop_assert_eq!(&kept[..], &before[before.len() - kept.len()..]);
                    for result in &results {
                        dialogue.push(message(Role::Assistant, "run_sql"));
                        dialogue.push(ModelMessage {
                            role: Role::Tool,
                            parts: vec![Part::ToolResult {
                                call_id: "1".to_owned(),
                                content: result.clone(),
                                is_error: false,
                            }],
                        });
                        if !dialogue.fit() {
                            break;
                        }
                        prop_assert!(dialogue.tokens() <= budget);
                        prop_assert_eq!(text(dialogue.messages().last().unwrap()), result.as_str());
                    }
                    let kept = dialogue.messages();
                    let still = kept.iter().filter(|one| one.role == Role::System).count();
                    prop_assert_eq!(still, instructions);
                    prop_assert!(kept.iter().any(|one| one.role == Role::User && text(one) == question));
                }
            }
        }
    }

    #[test]
    fn auto_leaves_out_the_oldest_and_disabled_refuses() {
        let turns: Vec<_> = (0..10)
            .map(|at| (Role::User, format!("{at}{}", "x".repeat(400))))
            .collect();
        let pack = |truncation| Dialogue::pack(talk(&turns, "And now?"), true, 350, truncation);
        let kept = pack(Truncation::Auto).unwrap();
        let firsts: Vec<char> = kept
            .messages()
            .iter()
            .filter_map(|one| text(one).chars().next())
            .collect();
        assert_eq!(firsts, ['Y', '7', '8', '9', 'A']);
        let refused = pack(Truncation::Disabled).unwrap_err();
        assert!(refused.message().contains("truncation"), "{refused}");
    }

    #[test]
    fn history_is_left_out_before_results_of_the_answer() {
        let turns: Vec<_> = (0..4).map(|_| (Role::User, "x".repeat(800))).collect();
        let result = |content: String| ModelMessage {
            role: Role::Tool,
            parts: vec![Part::ToolResult {
                call_id: "1".to_owned(),
                content,
                is_error: false,
            }],
        };
        let all = talk(&turns, "How many?");
        for (truncation, history, kept) in [
            (Truncation::Auto, 3, true),
            (Truncation::Disabled, 4, false),
        ] {
            let mut dialogue = Dialogue::pack(all.clone(), true, 1_040, truncation).unwrap();
            for letter in ["a", "b"] {
                dialogue.push(message(Role::Assistant, "run_sql"));
                dialogue.push(result(letter.repeat(600)));
            }
            assert!(dialogue.fit());
            let said = dialogue.messages().iter().map(text);
            let of_history = said.clone().filter(|text| text.starts_with('x'));
            assert_eq!(of_history.count(), history);
            assert_eq!(said.clone().any(|text| text.starts_with('a')), kept);
            assert!(said.clone().any(|text| text.starts_with('b')));
        }
    }

    #[test]
    fn conversation_that_was_not_read_to_its_start_is_too_long() {
        let pack = |truncation| Dialogue::pack(talk(&[], "And now?"), false, 350, truncation);
        assert!(pack(Truncation::Auto).is_ok());
        let refused = pack(Truncation::Disabled).unwrap_err();
        let message = refused.message();
        assert!(message.contains("answering.history"), "{message}");
        assert!(!message.contains("context_tokens"), "{message}");
        assert_eq!(refused.code(), Code::ContextLengthExceeded);
    }

    #[test]
    fn question_alone_may_be_too_long() {
        let question = "x".repeat(4_000);
        for truncation in [Truncation::Auto, Truncation::Disabled] {
            let refused = Dialogue::pack(talk(&[], &question), true, 350, truncation).unwrap_err();
            assert!(refused.message().contains("shorten"), "{refused}");
            assert_eq!(refused.param_name(), Some("input"));
        }
    }

    #[test]
    fn instructions_alone_may_be_too_long() {
        let mut messages = talk(&[(Role::User, "Hello.".to_owned())], "And now?");
        messages.insert(0, message(Role::System, &"x".repeat(4_000)));
        let refused = Dialogue::pack(messages, true, 350, Truncation::Disabled).unwrap_err();
        assert!(refused.message().contains("shorten"), "{refused}");
        assert!(!refused.message().contains("auto"), "{refused}");
        assert_eq!(refused.param_name(), Some("instructions"));
    }
}
