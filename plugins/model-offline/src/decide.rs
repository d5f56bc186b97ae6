//! The next step of an answer, worked out anew each time from what was done so far.

use crate::catalog::{Catalog, ColumnRef, Kind};
use crate::dialect::Unit;
use crate::meta::{self, Meta};
use crate::names::Names;
use crate::plan::{Condition, Expr, Output, Plan, Shape};
use crate::problem::Problem;
use crate::reading::{Reading, answer, answer_of_two};
use crate::tools::{self, DESCRIBE, Found, FoundTables, MOST_DESCRIBED, RUN, Rows, SEARCH};
use crate::turn::{Action, Step, Turn};
use crate::understand::understand;
use crate::vocabulary::{is_filler, operator};
use crate::words::{TokenKind, name_stems, tokenize};
use crate::{help, lookup, ranked, sql, taught};

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

/// Two sets of rules read a question: strict ones, in which every word has a role, and ranked meanings.
fn query(turn: &Turn, catalog: &Catalog) -> Result<Action, String> {
    let strict = match strict(turn, catalog) {
        Strict::Call(call) => return Ok(call),
        Strict::Plan(found) => Ok(found),
        Strict::Declined(problem) => Err(problem),
    };
    // A follow-up leans on the question before it, which only the strict rules can do.
    if !turn.earlier.is_empty() && !ranked::stands_alone(&turn.question) {
        return match &strict {
            Ok(found) => answer(turn, &Reading::Strict(&found.0, &found.1)),
            Err(problem) => Err(problem.sentence()),
        };
    }
    let nowhere = match &strict {
        Err(Problem::Unknown(words)) => words.as_slice(),
        _ => &[],
    };
    let (learned, call) = learn(turn, catalog, nowhere);
    if let Some(call) = call {
        return Ok(call);
    }
    let ranked = ranked::understand(&learned, &turn.question, turn.today);
    match (&strict, &ranked) {
        (Ok(found), Ok(_))
            if is_known_to_strict(&found.0, &found.1, &turn.question)
                && stands(&found.0, &found.1, &turn.question) =>
        {
            answer(turn, &Reading::Strict(&found.0, &found.1))
        }
        (Ok(found), Ok(query)) => {
            let strict = Reading::Strict(&found.0, &found.1);
            let ranked = Reading::Ranked(&learned, query);
            // A strict list shows more columns than were asked for.
            let figures = found
                .1
                .outputs
                .iter()
                .filter(|o| !matches!(o.expr, Expr::Column(_)));
            let ranked_figures = query
                .select
                .iter()
                .filter(|e| !matches!(e, ranked::Expr::Column(_)));
            let says_less = figures.count() < ranked_figures.count();
            match found.1.shape == Shape::Rows || is_nameless(&found.0, &found.1) || says_less {
                true => answer_of_two(turn, &ranked, &strict),
                false => answer_of_two(turn, &strict, &ranked),
            }
        }
        (Ok(found), Err(_)) if stands(&found.0, &found.1, &turn.question) => {
            answer(turn, &Reading::Strict(&found.0, &found.1))
        }
        (Err(_), Ok(query)) => answer(turn, &Reading::Ranked(&learned, query)),
        (Ok(_), Err(failure)) => Err(failure.sentence()),
        (Err(problem), Err(failure)) => {
            let unknown = matches!(problem, Problem::Unknown(_) | Problem::Unrelated(..));
            match failure {
                ranked::Failure::Trouble(ranked::Trouble::Ambiguous(..)) if unknown => {
                    Err(failure.sentence())
                }
                _ => Err(problem.sentence()),
            }
        }
    }
}

/// Whether a strict reading is answered without a ranked one beside it.
fn stands(catalog: &Catalog, plan: &Plan, question: &str) -> bool {
    let words = tokenize(question);
    let says = |wanted: &[&str]| words.iter().any(|t| wanted.contains(&t.norm.as_str()));
    // "the dates of the orders" asks for no count of each day.
    let by_day = plan
        .groups
        .iter()
        .any(|g| matches!(g, Expr::Bucket(Unit::Day, _)));
    let is_grouped = says(&["per", "each", "every", "day", "daily", "days"])
        || words
            .windows(2)
            .any(|w| w[0].norm == "by" && w[1].stem == "date");
    // "how many king beds" may count rows, or sum a column that counts beds.
    let of_numbers = plan.outputs.iter().any(|o| {
        let Expr::CountDistinct(column) = &o.expr else {
            return false;
        };
        let is_key = catalog.table(column.table).is_key(column.column);
        catalog.column(*column).is_numeric()
            && !is_key
            && !says(&["different", "distinct", "unique"])
    });
    // What the strict rules pass over in a question that the others cannot read.
    let passed = plan.shape == Shape::Single && says(&["top", "most", "common", "popular"]);
    let lacks_names = is_nameless(catalog, plan) && !says(&["id", "ids", "key", "number"]);
    let has_unasked_days = by_day && !is_grouped;
    // Over several tables which way a figure is joined is not said, unless it counts different rows or of a quoted name.
    let by_rows = |o: &Output| matches!(o.expr, Expr::CountDistinct(_));
    let is_sure = plan.joins.is_empty()
        || plan.outputs.iter().all(by_rows)
        || words.iter().any(|t| t.kind == TokenKind::Quoted);
    let is_figure = plan.shape == Shape::Single && is_sure;
    (is_figure || says(&["rows", "per"]) || is_known_to_strict(catalog, plan, question))
        && !(lacks_names || has_unasked_days || of_numbers || passed)
}

/// Whether a ranking shows keys and figures alone, though the rows have names.
fn is_nameless(catalog: &Catalog, plan: &Plan) -> bool {
    let named = |c: &ColumnRef| {
        let table = catalog.table(c.table);
        let mut keys = table.foreign_keys.iter();
        let rows = match keys.find(|k| k.columns == [c.column]) {
            Some(key) => catalog.table(key.target),
            None => table,
        };
        let own = name_stems(&rows.name);
        let mut texts = rows.columns.iter().filter(|c| c.kind == Kind::Text);
        texts.any(|c| {
            let stems = name_stems(&c.name);
            stems == own || stems.iter().any(|s| s.ends_with("name"))
        })
    };
    let key = |e: &Expr| matches!(e, Expr::Column(c) if catalog.table(c.table).is_key(c.column) && named(c));
    let ordered = |e: &Expr| plan.order.iter().any(|(by, _)| by == e);
    matches!(plan.shape, Shape::Ranking(_))
        && plan.outputs.iter().any(|o| key(&o.expr))
        && plan
            .outputs
            .iter()
            .all(|o| key(&o.expr) || ordered(&o.expr))
}

/// Whether a plan is about time, a flag or a measure, which only the strict rules know, or the question is only a few
/// words.
fn is_known_to_strict(catalog: &Catalog, plan: &Plan, question: &str) -> bool {
    let date = |e: &Expr| matches!(e, Expr::Column(c) if catalog.column(*c).kind == Kind::Date);
    let is_few = plan.limit.is_some_and(|n| n < 20);
    let timed = plan
        .conditions
        .iter()
        .any(|c| matches!(c, Condition::Period(..) | Condition::Truth(..)))
        || plan.groups.iter().any(|g| matches!(g, Expr::Bucket(..)))
        || (is_few && plan.order.first().is_some_and(|(e, _)| date(e)));
    let aggregate = |e: &Expr| matches!(e, Expr::Aggregate(..));
    let measured = (plan.outputs.iter().any(|o| aggregate(&o.expr)) && !plan.notes.is_empty())
        || plan.having.as_ref().is_some_and(|(e, ..)| aggregate(e));
    let words = tokenize(question);
    let sentence = words
        .first()
        .is_some_and(|t| t.norm == "count" || STARTS.contains(&t.norm.as_str()));
    timed || measured || !sentence
}

/// Words that whole questions and requests start with; others are a few words, as for a search.
const STARTS: &[&str] = &[
    "what",
    "which",
    "who",
    "whose",
    "where",
    "when",
    "how",
    "show",
    "list",
    "find",
    "give",
    "return",
    "display",
    "tell",
    "please",
    "report",
    "select",
    "sort",
    "for",
    "in",
    "is",
    "are",
    "do",
    "does",
    "can",
    "of",
    "among",
    "from",
    "the",
    "a",
    "compute",
    "calculate",
    "retrieve",
    "get",
    "state",
    "provide",
    "me",
    "i",
];

/// What the strict rules make of a question.
enum Strict {
    Call(Action),
    Plan(Box<(Catalog, Plan)>),
    Declined(Problem),
}

fn strict(turn: &Turn, catalog: &Catalog) -> Strict {
    match understand(catalog, &turn.question, &turn.earlier, turn.today) {
        Ok(plan) => checked(turn, catalog.clone(), plan),
        Err(Problem::Unknown(words)) => look_up(turn, catalog, words),
        Err(problem) => Strict::Declined(problem),
    }
}

fn checked(turn: &Turn, catalog: Catalog, plan: Plan) -> Strict {
    if loses_words(&turn.question, &sql::write(&catalog, &plan, true)) {
        return Strict::Declined(Problem::unsupported(
            "I cannot tell how the parts of that question belong together. Please ask for one thing at a time.",
        ));
    }
    Strict::Plan(Box::new((catalog, plan)))
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
        Ok(plan) => checked(turn, learned, plan),
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
