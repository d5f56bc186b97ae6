//! Knowledge as a YAML document: one list for each kind.

use serde::{Deserialize, Serialize};
use serde_saphyr::{DuplicateKeyPolicy, Options, SerializerOptions, Spanned};

use super::kinds::{Instruction, Knowledge, Metric, Relationship, Term, VerifiedQuery};
use mindhost_base::error::{Code, Error, Result};

/// Bytes of a document at most.
pub const MAX_BYTES: usize = 4 << 20;

/// Entries of a document at most.
pub const MAX_ENTRIES: usize = 10_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    instructions: Vec<Spanned<Instruction>>,
    #[serde(default)]
    terms: Vec<Spanned<Term>>,
    #[serde(default)]
    metrics: Vec<Spanned<Metric>>,
    #[serde(default)]
    relationships: Vec<Spanned<Relationship>>,
    #[serde(default)]
    verified_queries: Vec<Spanned<VerifiedQuery>>,
}

/// What is written.
#[derive(Default, Serialize)]
struct DocumentBody<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    instructions: Vec<&'a Instruction>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    terms: Vec<&'a Term>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    metrics: Vec<&'a Metric>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    relationships: Vec<&'a Relationship>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    verified_queries: Vec<&'a VerifiedQuery>,
}

/// One piece of knowledge in a document, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentEntry {
    /// Its line, from 1.
    pub line: u64,
    /// What the entry says, not checked against the data yet.
    pub knowledge: Knowledge,
}

impl DocumentEntry {
    /// Says in an error which entry it is about.
    pub fn to_blame(&self, error: &Error) -> Error {
        let name = self.knowledge.in_a_message();
        let message = format!("line {}, {name}: {}", self.line, error.message());
        let blamed = Error::new(error.code(), message).param(format!("line {}", self.line));
        match error.blame() {
            Some(blame) => blamed.blamed(blame),
            None => blamed,
        }
    }
}

/// Reads a document. It has no anchors, aliases, merge keys or second document, so that it is never larger than its
/// text.
///
/// # Errors
/// `invalid_yaml` with the line; `body_too_large`.
pub fn read(bytes: &[u8]) -> Result<Vec<DocumentEntry>> {
    if bytes.len() > MAX_BYTES {
        let message = format!("the document is larger than {} MiB", MAX_BYTES >> 20);
        return Err(Error::new(Code::BodyTooLarge, message));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let lines = bytes[..error.valid_up_to()].split(|byte| *byte == b'\n');
        invalid(Some(lines.count() as u64), "the text is not UTF-8")
    })?;
    // An empty document is no map. It is refused, because it is what a failed download or upload sends, and an import
    // with `mode=replace` would then delete everything.
    let document: Option<Document> =
        serde_saphyr::from_str_with_options(text, options()).map_err(|error| {
            let line = error.location().map(|location| location.line());
            invalid(line, &in_words(&error.without_snippet().to_string()))
        })?;
    let entries = document.map(entries).ok_or_else(|| {
        let message =
            "the document is empty, and nothing was changed; send its lists, or `{}` for a document without entries";
        invalid(None, message)
    })?;
    match entries.len() > MAX_ENTRIES {
        true => Err(invalid(None, "it has more than 10000 entries")),
        false => Ok(entries),
    }
}

fn entries(document: Document) -> Vec<DocumentEntry> {
    let mut entries = Vec::new();
    take(&mut entries, document.instructions, Knowledge::Instruction);
    take(&mut entries, document.terms, Knowledge::Term);
    take(&mut entries, document.metrics, Knowledge::Metric);
    take(
        &mut entries,
        document.relationships,
        Knowledge::Relationship,
    );
    take(
        &mut entries,
        document.verified_queries,
        Knowledge::VerifiedQuery,
    );
    entries
}

fn take<T>(entries: &mut Vec<DocumentEntry>, list: Vec<Spanned<T>>, kind: fn(T) -> Knowledge) {
    entries.extend(list.into_iter().map(|one| DocumentEntry {
        line: one.referenced.line(),
        knowledge: without_last_breaks(kind(one.value)),
    }));
}

/// Cuts white space off the ends of texts. A block scalar (`sql: |`) ends with a line break that is YAML's own.
fn without_last_breaks(mut knowledge: Knowledge) -> Knowledge {
    let cut = |text: &mut String| text.truncate(text.trim_end().len());
    match &mut knowledge {
        Knowledge::Instruction(one) => [&mut one.name, &mut one.text].into_iter().for_each(cut),
        Knowledge::Term(one) => {
            [&mut one.name, &mut one.meaning].into_iter().for_each(cut);
            one.synonyms.iter_mut().for_each(cut);
            one.table.iter_mut().for_each(cut);
            one.column.iter_mut().for_each(cut);
        }
        Knowledge::Metric(one) => {
            let texts = [&mut one.name, &mut one.expression, &mut one.from];
            texts.into_iter().for_each(cut);
            one.synonyms.iter_mut().for_each(cut);
            one.description.iter_mut().for_each(cut);
            one.filter.iter_mut().for_each(cut);
        }
        Knowledge::Relationship(one) => {
            let texts = [&mut one.name, &mut one.from_table, &mut one.to_table];
            texts.into_iter().for_each(cut);
            one.description.iter_mut().for_each(cut);
        }
        Knowledge::VerifiedQuery(one) => {
            [&mut one.question, &mut one.sql].into_iter().for_each(cut);
            one.notes.iter_mut().for_each(cut);
        }
    }
    knowledge
}

/// Writes a document that [`read`] reads.
///
/// # Errors
/// Never for entries that were checked.
pub fn write<'a>(all: impl IntoIterator<Item = &'a Knowledge>) -> Result<String> {
    let mut written = DocumentBody::default();
    let mut is_empty = true;
    for one in all {
        is_empty = false;
        match one {
            Knowledge::Instruction(one) => written.instructions.push(one),
            Knowledge::Term(one) => written.terms.push(one),
            Knowledge::Metric(one) => written.metrics.push(one),
            Knowledge::Relationship(one) => written.relationships.push(one),
            Knowledge::VerifiedQuery(one) => written.verified_queries.push(one),
        }
    }
    if is_empty {
        return Ok("{}\n".to_owned());
    }
    let options: SerializerOptions = serde_saphyr::ser_options! { prefer_block_scalars: true };
    serde_saphyr::to_string_with_options(&written, options).map_err(Error::internal)
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_documents: 1,
            max_depth: 8,
            max_anchors: 0,
            max_aliases: 0,
            max_merge_keys: 0,
            max_total_scalar_bytes: MAX_BYTES,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        with_snippet: false,
    }
}

/// The message of the library, without advice to programmers.
fn in_words(message: &str) -> String {
    let found = |text: &str| message.contains(text);
    match () {
        () if found("Anchors") || found("Aliases") || found("MergeKeys") => {
            "anchors, aliases and merge keys are not read; write each entry out".to_owned()
        }
        () if found("Documents") => "a second document begins here; send one".to_owned(),
        () if found("null into string") => {
            "a text cannot be null; write the text, or put `null` in quotes if it is the text"
                .to_owned()
        }
        () => match message.split_once(", set DuplicateKeyPolicy") {
            Some((reason, _)) => reason.to_owned(),
            // The place comes before.
            None => match message.rsplit_once(" at line ") {
                Some((reason, _)) => reason.to_owned(),
                None => message.to_owned(),
            },
        },
    }
}

fn invalid(line: Option<u64>, message: &str) -> Error {
    let message: String = message.chars().take(500).collect();
    match line {
        Some(line) => Error::new(Code::InvalidYaml, format!("line {line}: {message}"))
            .param(format!("line {line}")),
        None => Error::new(Code::InvalidYaml, message),
    }
}
