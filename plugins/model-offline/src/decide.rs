//! The next step of an answer, worked out anew each time from what was done so far.

use crate::catalog::Catalog;
use crate::meta::{self, Meta};
use crate::tools::{self, DESCRIBE, Found, FoundTables, MOST_DESCRIBED, RUN, Rows, SEARCH};
use crate::turn::{Action, MOST_BYTES, MOST_WORDS, Step, Turn, words};
use crate::vocabulary::is_filler;
use crate::words::{name_stems, stems, tokenize};
use crate::{help, lookup, ranked, run, spans, taught};

/// What to do next about the question of a turn.
pub fn decide(turn: &Turn) -> Action {
    next(turn).unwrap_or_else(Action::Decline)
}

/// The error says why there is no answer.
fn next(turn: &Turn) -> Result<Action, String> {
    if turn.question.trim().is_empty() {
        return Err("There is no question. Ask me about the tables of this Mind.".to_owned());
    }
    if words(&turn.question) > MOST_WORDS {
        return Err(format!(
            "The question is too long for me: I read at most {MOST_WORDS} words, in {MOST_BYTES} bytes."
        ));
    }
    if let Some(action) = taught::next(turn) {
        return Ok(action);
    }
    let about = meta::about_tables(&turn.question);
    let found = match searched(turn, about.is_none())? {
        Ok(found) => found,
        Err(call) => return Ok(call),
    };
    if found.tables.is_empty() {
        let note = found.note.unwrap_or_else(|| {
            "The catalog holds no tables yet, so I have nothing to look at. Load the catalog, then ask again.".to_owned()
        });
        return Err(note);
    }
    if about == Some(Meta::Tables) {
        return Ok(Action::Say(meta::tables_text(&found)));
    }
    let Some(step) = turn.uses(DESCRIBE).last().copied() else {
        // What goes on from a question before has its metric too.
        let asked = format!("{} {}", turn.earlier.join(" "), turn.question);
        let told = taught::definitions(&turn.knowledge, &asked);
        let tables = candidates(&turn.question, &told, &found.tables);
        return offered(turn, DESCRIBE, tools::describe(&tables));
    };
    let content = succeeded(step, "The tables could not be described")?;
    let mut catalog =
        Catalog::parse(content).ok_or("The description of the tables is not what I can read.")?;
    if about == Some(Meta::Help) {
        ranked::infer_keys(&mut catalog);
        return Ok(Action::Say(help::text(&catalog)));
    }
    if let Some(Meta::Describe(table)) = meta::about_columns(&turn.question, &catalog) {
        let text = meta::columns_text(&catalog, catalog.table(table));
        return Ok(Action::Say(text));
    }
    taught::teach(&turn.knowledge, &mut catalog);
    ranked::infer_keys(&mut catalog);
    query(turn, &catalog)
}

/// All tables where the search gives them all, else those that the question's words find, if it is about data. The
/// error is the call to make.
fn searched(turn: &Turn, about_data: bool) -> Result<Result<FoundTables, Action>, String> {
    let uses = turn.uses(SEARCH);
    let Some(first) = uses.first() else {
        return offered(turn, SEARCH, tools::search("")).map(Err);
    };
    let parse = |step: &Step| {
        let content = succeeded(step, "The catalog could not be searched")?;
        serde_json::from_str::<FoundTables>(content)
            .map_err(|_| "The list of tables is not what I can read.".to_owned())
    };
    let all = parse(first)?;
    if !(about_data && all.are_some()) {
        return Ok(Ok(all));
    }
    match uses.get(1) {
        None => offered(turn, SEARCH, tools::search(&content_words(&turn.question))).map(Err),
        Some(second) => parse(second).map(Ok),
    }
}

fn content_words(question: &str) -> String {
    let tokens = tokenize(question);
    let kept = tokens.iter().filter(|t| !is_filler(&t.norm));
    kept.map(|t| t.text.as_str()).collect::<Vec<_>>().join(" ")
}

fn succeeded<'a>(step: &'a Step, what: &str) -> Result<&'a str, String> {
    if step.failed {
        Err(format!(
            "{what}: {}.",
            tools::error_message(&step.content).trim_end_matches('.')
        ))
    } else {
        Ok(&step.content)
    }
}

/// A call, unless the host does not offer the tool any more.
fn offered(turn: &Turn, tool: &str, call: Action) -> Result<Action, String> {
    if turn.offers(tool) {
        return Ok(call);
    }
    Err(tools::not_offered(tool))
}

/// The tables to look at: those that the question names first, then those of the definitions that it names, then those
/// whose names and columns share words with the question.
fn candidates(question: &str, definitions: &str, found: &[Found]) -> Vec<String> {
    let words = stems(question);
    // A statement may quote names.
    let told = stems(&definitions.replace(['"', '`'], " "));
    let score = |t: &Found| {
        let hits = |name: &str| {
            name_stems(name)
                .iter()
                .filter(|s| words.contains(s))
                .count()
        };
        let name = name_stems(t.table.rsplit('.').next().unwrap_or_default());
        let is_named = name.iter().any(|s| words.contains(s));
        let is_told = name.iter().all(|s| told.contains(s));
        let columns = t.columns.iter().map(|c| hits(&c.name)).sum::<usize>();
        (is_named, is_told, 4 * hits(&t.table) + columns)
    };
    let mut order: Vec<&Found> = found.iter().collect();
    order.sort_by_key(|t| std::cmp::Reverse(score(t)));
    let several = found.iter().any(|t| t.datasource != found[0].datasource);
    let name = |t: &&Found| {
        if several {
            format!("{}.{}", t.datasource, t.table)
        } else {
            t.table.clone()
        }
    };
    order.iter().take(MOST_DESCRIBED).map(name).collect()
}

/// Reads the question with the values that its texts were found to be, and runs what it asks for.
fn query(turn: &Turn, catalog: &Catalog) -> Result<Action, String> {
    let asked = format!("{} {}", turn.earlier.join(" "), turn.question);
    let catalog = &spans::with_spans(catalog, &asked, turn.today);
    let (learned, call) = learn(turn, catalog);
    if let Some(call) = call {
        return Ok(call);
    }
    let read = ranked::understand(&learned, &turn.question, &turn.earlier, turn.today);
    match read {
        Ok(query) => run::answer(turn, &learned, &query),
        Err(failure) => Err(failure.sentence()),
    }
}

/// The catalog with the values that the question's texts were found to be; the call that finds them comes first.
/// Nothing is looked up for a question that stays unread whatever is found.
fn learn(turn: &Turn, catalog: &Catalog) -> (Catalog, Option<Action>) {
    let sought = ranked::sought(catalog, &turn.question, turn.today);
    let Some((datasource, statement)) =
        lookup::statement(catalog, &sought).filter(|_| turn.offers(RUN))
    else {
        return (catalog.clone(), None);
    };
    let Some(step) = turn.ran(&statement) else {
        return (
            catalog.clone(),
            Some(tools::run(&datasource, &statement, lookup::MOST_FOUND, &[])),
        );
    };
    let rows: Option<Rows> = (!step.failed)
        .then(|| serde_json::from_str(&step.content).ok())
        .flatten();
    (
        rows.map_or_else(|| catalog.clone(), |rows| lookup::learned(catalog, &rows)),
        None,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_question_come_before_those_of_definitions_that_it_names() {
        let knowledge = "\n- Metric \"revenue\"\n  SELECT sum(amount) FROM \"invoices\"\n\
            - Metric \"margin\"\n  SELECT avg(share) FROM margins\n";
        let tables = ["margins", "revenue_log", "invoices", "staff", "customers"];
        let tables = tables.map(|t| serde_json::json!({"table": format!("main.{t}")}));
        let found: Vec<Found> = serde_json::from_value(tables.to_vec().into()).unwrap();
        let question = "revenues per customer";
        let told = taught::definitions(knowledge, question);
        assert_eq!(
            candidates(question, &told, &found)[..3],
            ["main.revenue_log", "main.customers", "main.invoices"]
        );
    }
}
