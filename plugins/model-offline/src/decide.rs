//! The next step of an answer, worked out anew each time from what was done so far.

use crate::catalog::{Catalog, Kind};
use crate::dialect::Unit;
use crate::meta::{self, Meta};
use crate::names::Names;
use crate::problem::Problem;
use crate::query::{Check, Condition, Expr, Query, Shape};
use crate::tools::{self, DESCRIBE, Found, FoundTables, MOST_DESCRIBED, RUN, Rows, SEARCH};
use crate::turn::{Action, Step, Turn};
use crate::understand::understand;
use crate::vocabulary::{is_filler, operator};
use crate::words::{TokenKind, name_stems, tokenize};
use crate::{help, lookup, ranked, run, taught, write};

/// What to do next about the question of a turn.
pub fn decide(turn: &Turn) -> Action {
    next(turn).unwrap_or_else(Action::Decline)
}

/// Bytes of a question at most: reading it takes time that grows with its words.
const LONGEST: usize = 10_000;

/// The error says why there is no answer.
fn next(turn: &Turn) -> Result<Action, String> {
    if turn.question.trim().is_empty() {
        return Err("There is no question. Ask me about the tables of this Mind.".to_owned());
    }
    if turn.question.len() > LONGEST {
        return Err(format!(
            "The question is too long for me: I read at most {LONGEST} bytes."
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
        return Err("The catalog holds no tables yet, so I have nothing to look at. Load the catalog, then ask again.".to_owned());
    }
    if about == Some(Meta::Tables) {
        return Ok(Action::Say(meta::tables_text(&found)));
    }
    let Some(step) = turn.uses(DESCRIBE).last().copied() else {
        return offered(
            turn,
            DESCRIBE,
            tools::describe(&candidates(&turn.question, &found.tables)),
        );
    };
    let content = succeeded(step, "The tables could not be described")?;
    let catalog =
        Catalog::parse(content).ok_or("The description of the tables is not what I can read.")?;
    if about == Some(Meta::Help) {
        return Ok(Action::Say(help::text(&catalog)));
    }
    if let Some(Meta::Describe(table)) =
        meta::about_columns(&turn.question, &catalog, &Names::of(&catalog))
    {
        let text = meta::columns_text(&catalog, catalog.table(table));
        return Ok(Action::Say(text));
    }
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
    Err(tools::not_offered(tool))
}

/// The tables to look at: those whose names and columns share words with the question first.
fn candidates(question: &str, found: &[Found]) -> Vec<String> {
    let words: Vec<String> = tokenize(question).into_iter().map(|t| t.stem).collect();
    let score = |t: &Found| {
        let hits = |name: &str| {
            name_stems(name)
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

/// Two sets of rules read a question: ranked meanings, and strict ones, in which every word has a role. The strict ones
/// come first for what only they know, and last for figures that the others cannot read.
fn query(turn: &Turn, catalog: &Catalog) -> Result<Action, String> {
    let question = &turn.question;
    let strict = match strict(turn, catalog) {
        Strict::Call(call) => return Ok(call),
        Strict::Query(found) => Ok(found),
        Strict::Declined(problem) => Err(problem),
    };
    // A follow-up leans on the question before it, which only the strict rules can do.
    let follows = !turn.earlier.is_empty() && !ranked::stands_alone(question);
    let stands = |found: &(Catalog, Query)| stands(&found.0, &found.1, question);
    let is_known = |found: &(Catalog, Query)| is_known_to_strict(&found.0, &found.1, question);
    match &strict {
        Ok(found) if follows || (is_known(found) && stands(found)) => {
            return run::answer(turn, &found.0, &found.1);
        }
        Err(problem) if follows => return Err(problem.sentence()),
        _ => {}
    }
    let nowhere = match &strict {
        Err(Problem::Unknown(words)) => words.as_slice(),
        _ => &[],
    };
    let (learned, call) = learn(turn, catalog, nowhere);
    if let Some(call) = call {
        return Ok(call);
    }
    let failure = match ranked::understand(&learned, question, turn.today) {
        Ok(query) => return run::answer(turn, &learned, &query),
        Err(failure) => failure,
    };
    match &strict {
        Ok(found) if stands(found) => run::answer(turn, &found.0, &found.1),
        Err(Problem::Unknown(_) | Problem::Unrelated(..)) if failure.is_ambiguous() => {
            Err(failure.sentence())
        }
        Err(problem) => Err(problem.sentence()),
        Ok(_) => Err(failure.sentence()),
    }
}

/// Whether a strict reading is answered at all.
fn stands(catalog: &Catalog, query: &Query, question: &str) -> bool {
    let words = tokenize(question);
    let says = |wanted: &[&str]| words.iter().any(|t| wanted.contains(&t.norm.as_str()));
    // "the dates of the orders" asks for no count of each day.
    let by_day = query
        .groups
        .iter()
        .any(|g| matches!(g, Expr::Bucket(Unit::Day, _)));
    let is_grouped = says(&["per", "each", "every", "day", "daily", "days"])
        || words
            .windows(2)
            .any(|w| w[0].norm == "by" && w[1].stem == "date");
    // "how many king beds" may count rows, or sum a column that counts beds.
    let of_numbers = query.outputs.iter().any(|o| {
        let Expr::Count(Some(column)) = &o.expr else {
            return false;
        };
        let is_key = catalog.table(column.table).is_key(column.column);
        catalog.column(*column).is_numeric()
            && !is_key
            && !says(&["different", "distinct", "unique"])
    });
    // What the strict rules pass over in a question that the others cannot read.
    let is_single = query.shape == Shape::Single;
    let passed = is_single && says(&["top", "most", "common", "popular"]);
    // Over several tables which way a figure is joined is not said, unless it is of a quoted name.
    let is_sure =
        query.source.joins.is_empty() || words.iter().any(|t| t.kind == TokenKind::Quoted);
    let is_figure = is_single && is_sure && query.count_groups.is_none();
    (is_figure || says(&["rows", "per"]) || is_known_to_strict(catalog, query, question))
        && !((by_day && !is_grouped) || of_numbers || passed)
}

/// Whether a query is about time, a flag or a measure, which only the strict rules know, or the question is only a few
/// words.
fn is_known_to_strict(catalog: &Catalog, query: &Query, question: &str) -> bool {
    let date = |e: &Expr| matches!(e, Expr::Column(c) if catalog.column(*c).kind == Kind::Date);
    let is_few = query.limit.is_some_and(|n| n < 20);
    let mut conditions = query.source.conditions.iter().flatten();
    let timed = conditions.any(|c| matches!(c.check, Check::Days(_) | Check::Truth))
        || query.groups.iter().any(|g| matches!(g, Expr::Bucket(..)))
        || (is_few && query.order.first().is_some_and(|(e, _)| date(e)));
    let aggregate = |e: &Expr| matches!(e, Expr::Agg(..));
    // A note on a quoted text is about that text, not about a measure.
    let quotes = |c: &Condition| matches!(c.check, Check::Words(..));
    let has_notes =
        !query.notes.is_empty() && !query.source.conditions.iter().flatten().any(quotes);
    let measured = (query.outputs.iter().any(|o| aggregate(&o.expr)) && has_notes)
        || query.having.as_ref().is_some_and(|(e, ..)| aggregate(e));
    let words = tokenize(question);
    let sentence = words
        .first()
        .is_some_and(|t| STARTS.contains(&t.norm.as_str()));
    timed || measured || !sentence
}

/// Words that whole questions and requests start with; others are a few words, as for a search.
#[rustfmt::skip]
const STARTS: &[&str] = &[
    "what", "which", "who", "whose", "where", "when", "how", "show", "list", "find", "give",
    "return", "display", "tell", "please", "report", "select", "sort", "for", "in", "is", "are",
    "do", "does", "can", "of", "among", "from", "the", "a", "compute", "calculate", "retrieve",
    "get", "state", "provide", "me", "i", "count",
];

/// What the strict rules make of a question.
enum Strict {
    Call(Action),
    Query(Box<(Catalog, Query)>),
    Declined(Problem),
}

fn strict(turn: &Turn, catalog: &Catalog) -> Strict {
    match understand(catalog, &turn.question, &turn.earlier, turn.today) {
        Ok(query) => checked(turn, catalog.clone(), query),
        Err(Problem::Unknown(words)) => look_up(turn, catalog, words),
        Err(problem) => Strict::Declined(problem),
    }
}

fn checked(turn: &Turn, catalog: Catalog, query: Query) -> Strict {
    if loses_words(&turn.question, &write::write(&catalog, &query, true)) {
        return Strict::Declined(Problem::unsupported(
            "I cannot tell how the parts of that question belong together. Please ask for one thing at a time.",
        ));
    }
    Strict::Query(Box::new((catalog, query)))
}

/// Whether the strict rules passed over an "or", or over the second of two superlatives.
fn loses_words(question: &str, sql: &str) -> bool {
    let tokens = tokenize(question);
    let count = |words: &[&str]| {
        let found = tokens.iter().filter(|t| words.contains(&t.norm.as_str()));
        found.count()
    };
    let ends = count(&[
        "highest", "lowest", "largest", "smallest", "maximum", "minimum",
    ]);
    let figure = |at: usize| {
        let words = [
            "total", "sum", "average", "mean", "maximum", "minimum", "max", "min",
        ];
        tokens
            .get(at)
            .is_some_and(|t| words.contains(&t.norm.as_str()))
    };
    let listed = |at: usize| tokens[at].norm == "and" && at > 0 && figure(at - 1) && figure(at + 1);
    if (0..tokens.len()).any(listed) || count(&["how"]) > 1 {
        return true;
    }
    // "nations that use English and Dutch" have both; one row of another table has one of them.
    if count(&["and"]) > 0
        && count(&["or", "either"]) == 0
        && sql.contains("COUNT(DISTINCT")
        && sql.contains(" IN (")
    {
        return true;
    }
    (count(&["or"]) > 0 && !sql.contains(" IN (") && !sql.contains(" OR ")) || ends > 1
}

/// Unknown words may be rare values: the tables are asked. Common words seldom are: they are sought before names, which
/// are left alone if a common word is found nowhere.
fn look_up(turn: &Turn, catalog: &Catalog, words: Vec<String>) -> Strict {
    let names = |w: &String| w.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit());
    let (proper, common): (Vec<String>, Vec<String>) = words.iter().cloned().partition(names);
    if !proper.is_empty() && !common.is_empty() {
        match look_up_all(turn, catalog, common) {
            Strict::Declined(Problem::Unknown(left)) if !left.iter().all(names) => {
                return Strict::Declined(Problem::Unknown(words));
            }
            Strict::Call(call) => return Strict::Call(call),
            _ => {}
        }
    }
    look_up_all(turn, catalog, words)
}

fn look_up_all(turn: &Turn, catalog: &Catalog, words: Vec<String>) -> Strict {
    let mut sought = words.clone();
    sought.extend(
        names_in(&turn.question)
            .into_iter()
            .filter(|name| words.iter().any(|w| name.contains(w))),
    );
    let Some((datasource, statement)) =
        lookup::statement(catalog, &sought).filter(|_| turn.offers(RUN))
    else {
        return Strict::Declined(Problem::Unknown(words));
    };
    let Some(step) = turn.ran(&statement) else {
        return Strict::Call(tools::run(&datasource, &statement, lookup::MOST_FOUND, &[]));
    };
    let rows: Option<Rows> = (!step.failed)
        .then(|| serde_json::from_str(&step.content).ok())
        .flatten();
    let Some(rows) = rows.filter(|r| !r.rows.is_empty()) else {
        return Strict::Declined(Problem::Unknown(words));
    };
    let learned = lookup::learned(catalog, &rows);
    match understand(&learned, &turn.question, &turn.earlier, turn.today) {
        Ok(query) => checked(turn, learned, query),
        Err(problem) => Strict::Declined(problem),
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

/// The catalog with the values that the question's texts were found to be; the call that finds them comes first.
/// Nothing is looked up for a question that stays unread whatever is found: `nowhere` are the words that are no value.
fn learn(turn: &Turn, catalog: &Catalog, nowhere: &[String]) -> (Catalog, Option<Action>) {
    if ranked::is_out_of_reach(catalog, &turn.question, turn.today, nowhere) {
        return (catalog.clone(), None);
    }
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
