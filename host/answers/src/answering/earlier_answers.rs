//! What the earlier answers of a conversation say, as values that the model has read.
//!
//! A planted text could make the model write rows of one datasource into an answer, and send them to another one with
//! the next question.

use serde_json::json;

use super::{prepare::AnswerRequest, provenance::EARLIER_ANSWER, tools::Toolbox};
use crate::conversations::{Author, Message, ReadFrom, SqlOrigin, StoredSql};
use mindhost_base::locks::lock;
use mindhost_core::minds::{Mind, MindDatasource};

/// Whether an earlier answer may have been read in another datasource than the Mind has now.
pub fn are_of_others(request: &AnswerRequest) -> bool {
    let mut known = answers(request).filter_map(|message| message.read_from.as_ref());
    known.any(|read| {
        let is_other = |id: &String| of_id(&request.mind, id).is_none();
        read.datasources.is_empty()
            || read.datasources.iter().any(is_other)
            || !read.others.is_empty()
    })
}

/// Where an answer was read that ended before its end, so that nothing is known of its text.
pub fn read_from(request: &AnswerRequest) -> ReadFrom {
    let datasources = match &request.mind.datasources[..] {
        [only] if !are_of_others(request) => vec![only.id.clone()],
        _ => Vec::new(),
    };
    ReadFrom {
        datasources,
        others: Vec::new(),
    }
}

/// Records them. An answer that is based on one datasource was read there, but for what is known to be from elsewhere.
/// Any other one was read in none.
pub async fn note(toolbox: &Toolbox<'_>, request: &AnswerRequest) {
    if !toolbox.has_origins() {
        return;
    }
    for message in answers(request) {
        note_answer(toolbox, message).await;
    }
}

async fn note_answer(toolbox: &Toolbox<'_>, message: &Message) {
    let read = message.read_from.clone().unwrap_or_default();
    let one = match &read.datasources[..] {
        [id] => of_id(toolbox.rights.begun, id),
        _ => None,
    };
    match one {
        Some(one) => {
            lock(&toolbox.provenance).read_answer(&one.name, &message.text, &read.others);
        }
        None => toolbox.note(EARLIER_ANSWER, &json!(message.text)),
    }
    let Some(StoredSql { text: sql, origin }) = &message.sql else {
        return;
    };
    if *origin == SqlOrigin::SqlQuery {
        lock(&toolbox.provenance).say(sql);
    }
    match toolbox.results.accept(&toolbox.access, sql, *origin).await {
        // Each datasource of the statement has its literals already. Its tables may be those of another one by now.
        Ok(accepted) if accepted.datasource_ids() == read.datasources => {
            let literals = json!(accepted.literals());
            for datasource in accepted.datasources() {
                toolbox.note(datasource, &literals);
            }
        }
        _ => toolbox.note(EARLIER_ANSWER, &json!(sql)),
    }
}

fn answers(request: &AnswerRequest) -> impl Iterator<Item = &Message> {
    let said = request.history.iter().chain(&request.input);
    said.filter(|message| message.author == Author::Assistant)
}

/// The datasource of a Mind with this id.
pub fn of_id<'a>(mind: &'a Mind, id: &str) -> Option<&'a MindDatasource> {
    mind.datasources.iter().find(|one| one.id == id)
}
