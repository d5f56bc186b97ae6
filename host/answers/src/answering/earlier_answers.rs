//! What the earlier answers of a conversation say, as values that the model has read.
//!
//! A planted text could make the model write rows of one datasource into an answer, and send them to another one with
//! the next question.

use serde_json::json;

use super::{prepare::AnswerRequest, provenance::EARLIER_ANSWER, tools::Toolbox};
use crate::conversations::{Author, Message, SqlOrigin, StoredSql};
use mindhost_base::locks::lock;

/// Records them. An answer that is based on one datasource was read there; any other one was read in none.
pub async fn note(toolbox: &Toolbox<'_>, request: &AnswerRequest) {
    if toolbox.access.scope.datasources.len() < 2 {
        return;
    }
    let said = request.history.iter().chain(&request.input);
    for message in said.filter(|one| one.author == Author::Assistant) {
        note_answer(toolbox, message).await;
    }
}

async fn note_answer(toolbox: &Toolbox<'_>, message: &Message) {
    let text = json!(message.text);
    let Some(StoredSql { text: sql, origin }) = &message.sql else {
        return toolbox.note(EARLIER_ANSWER, &text);
    };
    if *origin == SqlOrigin::SqlQuery {
        lock(&toolbox.provenance).say(sql);
    }
    let accepted = toolbox.results.accept(&toolbox.access, sql, *origin).await;
    let Ok(accepted) = accepted else {
        toolbox.note(EARLIER_ANSWER, &text);
        return toolbox.note(EARLIER_ANSWER, &json!(sql));
    };
    let datasources = accepted.datasources();
    match datasources[..] {
        [one] => toolbox.note(one, &text),
        _ => toolbox.note(EARLIER_ANSWER, &text),
    }
    // Each datasource of the statement has its literals already.
    let literals = json!(accepted.literals());
    for datasource in datasources {
        toolbox.note(datasource, &literals);
    }
}
