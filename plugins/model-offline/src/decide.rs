//! The next step of an answer, worked out anew each time from what was done so far.

use crate::catalog::Catalog;
use crate::meta::{self, Meta};
use crate::names::Names;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::tools::{self, DESCRIBE, Found, FoundTables, MOST_DESCRIBED, RUN, Rows, SEARCH};
use crate::turn::{Action, Step, Turn};
use crate::understand::understand;
use crate::vocabulary::{is_filler, operator};
use crate::words::tokenize;
use crate::{admission, answer, lookup, sql, verified};

/// What to do next about the question of a turn.
pub fn decide(turn: &Turn) -> Action {
    next(turn).unwrap_or_else(Action::Say)
}

/// The error is the text with which the answer ends early.
fn next(turn: &Turn) -> Result<Action, String> {
    if turn.question.trim().is_empty() {
        return Err("There is no question. Ask me about the tables of this Mind.".to_owned());
    }
    if let Some(action) = verified::next(turn) {
        return Ok(action);
    }
    let (found, truncated) = match searched(turn)? {
        Ok(found) => found,
        Err(call) => return Ok(call),
    };
    if found.is_empty() {
        return Err("The catalog holds no tables yet, so I have nothing to look at. Load the catalog, then ask again.".to_owned());
    }
    let about = meta::about_tables(&turn.question);
    if about == Some(Meta::Tables) {
        return Err(meta::tables_text(&found, truncated));
    }
    let Some(step) = turn.uses(DESCRIBE).last().copied() else {
        return offered(
            turn,
            DESCRIBE,
            tools::describe(&candidates(&turn.question, &found)),
        );
    };
    let content = succeeded(step, "The tables could not be described")?;
    let catalog =
        Catalog::parse(content).ok_or("The description of the tables is not what I can read.")?;
    if about == Some(Meta::Help) {
        return Err(admission::help(&catalog));
    }
    if let Some(Meta::Describe(table)) =
        meta::about_columns(&turn.question, &catalog, &Names::of(&catalog))
    {
        return Err(meta::columns_text(&catalog, catalog.table(table)));
    }
    query(turn, &catalog)
}

/// All tables where there are few, else those that the question's words find. The error is the call to make.
fn searched(turn: &Turn) -> Result<Result<(Vec<Found>, bool), Action>, String> {
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
    if !all.truncated {
        return Ok(Ok((all.tables, false)));
    }
    match uses.get(1) {
        None => offered(turn, SEARCH, tools::search(&content_words(&turn.question))).map(Err),
        Some(second) => {
            let found = parse(second)?.tables;
            Ok(Ok((
                if found.is_empty() { all.tables } else { found },
                true,
            )))
        }
    }
}

fn content_words(question: &str) -> String {
    let tokens = tokenize(question);
    let kept = tokens
        .iter()
        .filter(|t| !is_filler(&t.norm) && operator(std::slice::from_ref(*t), 0).is_none());
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
    Err(format!(
        "I would need the tool {tool} to answer that, and it is not offered to me now. I cannot answer without data."
    ))
}

/// The tables to look at: those whose names and columns share words with the question first.
fn candidates(question: &str, found: &[Found]) -> Vec<String> {
    let words: Vec<String> = tokenize(question).into_iter().map(|t| t.stem).collect();
    let score = |t: &Found| {
        let hits = |name: &str| {
            crate::words::name_stems(name)
                .iter()
                .filter(|s| words.contains(s))
                .count()
        };
        4 * hits(&t.table) + t.columns.iter().map(|c| hits(&c.name)).sum::<usize>()
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

fn query(turn: &Turn, catalog: &Catalog) -> Result<Action, String> {
    match understand(catalog, &turn.question, &turn.earlier, turn.today) {
        Ok(plan) => run(turn, catalog, &plan),
        Err(Problem::Unknown(words)) => look_up(turn, catalog, words),
        Err(problem) => Err(admission::text(catalog, &problem)),
    }
}

/// Unknown words may be rare values: the tables are asked once.
fn look_up(turn: &Turn, catalog: &Catalog, words: Vec<String>) -> Result<Action, String> {
    let admit = |problem: &Problem| Err(admission::text(catalog, problem));
    let mut sought = words.clone();
    sought.extend(
        names_in(&turn.question)
            .into_iter()
            .filter(|name| words.iter().any(|w| name.contains(w))),
    );
    let Some((datasource, statement)) =
        lookup::statement(catalog, &sought).filter(|_| turn.offers(RUN))
    else {
        return admit(&Problem::Unknown(words));
    };
    let Some(step) = turn.ran(&statement) else {
        return Ok(tools::run(&datasource, &statement, 20));
    };
    let rows: Option<Rows> = (!step.failed)
        .then(|| serde_json::from_str(&step.content).ok())
        .flatten();
    let Some(rows) = rows.filter(|r| !r.rows.is_empty()) else {
        return admit(&Problem::Unknown(words));
    };
    let learned = lookup::learned(catalog, &rows);
    match understand(&learned, &turn.question, &turn.earlier, turn.today) {
        Ok(plan) => run(turn, &learned, &plan),
        Err(problem) => admit(&problem),
    }
}

/// Words in a row that start with a capital: "Blue Mug" is one name, though "Mug" alone means something else.
fn names_in(question: &str) -> Vec<String> {
    let mut names: Vec<Vec<String>> = vec![Vec::new()];
    for token in tokenize(question) {
        let capital = token
            .text
            .starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit());
        match names.last_mut() {
            Some(name) if capital => name.push(token.text),
            _ => names.push(Vec::new()),
        }
    }
    names
        .into_iter()
        .filter(|n| n.len() > 1)
        .map(|n| n.join(" "))
        .collect()
}

/// Runs the query; when it is refused, once more with plain table names; then says what stands in the way.
fn run(turn: &Turn, catalog: &Catalog, plan: &Plan) -> Result<Action, String> {
    let datasource = &catalog.table(plan.base).datasource;
    let mut refusal: Option<String> = None;
    for qualified in [true, false] {
        let statement = sql::write(catalog, plan, qualified);
        let Some(step) = turn.ran(&statement) else {
            return offered(turn, RUN, tools::run(datasource, &statement, plan.limit)).map_err(
                |text| match &refusal {
                    Some(reason) => refused(reason),
                    None => text,
                },
            );
        };
        if step.failed {
            refusal = Some(tools::error_message(&step.content));
            continue;
        }
        let rows: Rows = serde_json::from_str(&step.content)
            .map_err(|_| "The result of the query is not what I can read.".to_owned())?;
        return Err(answer::write(catalog, plan, &rows));
    }
    Err(refused(&refusal.unwrap_or_default()))
}

fn refused(reason: &str) -> String {
    format!(
        "I could not get the data: {} I have no other way to ask for it, so I cannot answer.",
        sentence(reason)
    )
}

fn sentence(text: &str) -> String {
    format!("{}.", text.trim().trim_end_matches('.'))
}
