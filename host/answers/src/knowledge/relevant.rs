//! Which knowledge fits a question.

use std::collections::HashSet;

use super::words::{has, scores, signs, words};
use mindhost_core::knowledge::{Instruction, Knowledge, Metric, Relationship, Term, VerifiedQuery};

/// Similar verified queries at most.
const SIMILAR: usize = 3;

/// What fits a question, in the order in which it is told.
#[derive(Debug, Default)]
pub(super) struct Relevant<'a> {
    /// The verified query of the very question.
    pub same: Option<&'a VerifiedQuery>,
    /// All of them.
    pub instructions: Vec<&'a Instruction>,
    /// Those whose name or synonym the question has.
    pub metrics: Vec<&'a Metric>,
    /// Those whose name or synonym the question has.
    pub terms: Vec<&'a Term>,
    /// Those of tables that the question or a chosen statement names.
    pub relationships: Vec<&'a Relationship>,
    /// The most similar ones, best first.
    pub similar: Vec<&'a VerifiedQuery>,
}

/// Chooses from the valid entries of a Mind. Metrics and terms may be called in `earlier` questions, too.
pub(super) fn choose<'a>(all: &[&'a Knowledge], question: &str, earlier: &str) -> Relevant<'a> {
    let asked = words(question);
    let text: HashSet<String> = asked.iter().cloned().collect();
    let mut talk: HashSet<String> = words(earlier).into_iter().collect();
    talk.extend(text.iter().cloned());
    let called = |name: &str, synonyms: &[String]| {
        has(&talk, name) || synonyms.iter().any(|one| has(&talk, one))
    };
    let mut chosen = Relevant::default();
    let (mut relationships, mut queries) = (Vec::new(), Vec::new());
    for one in all {
        match *one {
            Knowledge::Instruction(one) => chosen.instructions.push(one),
            Knowledge::Metric(one) if called(&one.name, &one.synonyms) => chosen.metrics.push(one),
            Knowledge::Term(one) if called(&one.name, &one.synonyms) => chosen.terms.push(one),
            Knowledge::Metric(_) | Knowledge::Term(_) => {}
            Knowledge::Relationship(one) => relationships.push(one),
            Knowledge::VerifiedQuery(one) => queries.push(one),
        }
    }
    let is_same = |query: &VerifiedQuery, said: &[String]| {
        !asked.is_empty() && said == asked && signs(&query.question) == signs(question)
    };
    choose_queries(&mut chosen, &queries, is_same, &text);
    let named = named(&chosen, text);
    relationships.retain(|one| {
        has(&named, bare(&one.from_table))
            || has(&named, bare(&one.to_table))
            || has(&named, &one.name)
    });
    chosen.relationships = relationships;
    chosen
}

fn choose_queries<'a>(
    chosen: &mut Relevant<'a>,
    queries: &[&'a VerifiedQuery],
    is_same: impl Fn(&VerifiedQuery, &[String]) -> bool,
    text: &HashSet<String>,
) {
    let texts: Vec<_> = queries.iter().map(|query| words(&query.question)).collect();
    let scores = scores(&texts, text);
    let mut ranked: Vec<_> = queries.iter().copied().zip(&texts).zip(scores).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    for ((query, words), score) in ranked {
        if chosen.same.is_none() && is_same(query, words) {
            chosen.same = Some(query);
        } else if score > 0.0 && chosen.similar.len() < SIMILAR {
            chosen.similar.push(query);
        }
    }
}

/// The words of the question and of what was chosen for it.
fn named(chosen: &Relevant<'_>, question: HashSet<String>) -> HashSet<String> {
    let mut named = question;
    for metric in &chosen.metrics {
        named.extend(words(&metric.from));
    }
    for table in chosen.terms.iter().filter_map(|term| term.table.as_ref()) {
        named.extend(words(bare(table)));
    }
    for query in chosen.same.iter().chain(&chosen.similar) {
        named.extend(words(&query.sql));
    }
    named
}

/// The name of a table without its schema.
fn bare(table: &str) -> &str {
    table.rsplit('.').next().unwrap_or(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_core::knowledge::yaml;

    #[test]
    fn question_with_another_sign_is_not_the_same() {
        let document =
            "verified_queries:\n  - {question: 'Which products cost < 5.5?', sql: SELECT 1}\n";
        let entries = yaml::read(document.as_bytes()).unwrap();
        let all: Vec<&Knowledge> = entries.iter().map(|entry| &entry.knowledge).collect();
        for (question, is_same) in [
            ("which products cost <5.5", true),
            ("Which products cost > 5.5?", false),
            ("Which products cost < -5.5?", false),
            ("Which products cost < 5 5?", false),
        ] {
            let chosen = choose(&all, question, "");
            assert_eq!(chosen.same.is_some(), is_same, "{question}");
            assert_eq!(chosen.similar.is_empty(), is_same, "{question}");
        }
    }
}
