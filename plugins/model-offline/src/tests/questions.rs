//! The questions of `fixture/`. Each file makes a database, then asks it: `-- ask: …` with the statement whose rows the
//! answer must show, or `-- decline: …`. A text in brackets is part of the answer; ` | ` parts a question from the one
//! before it.

use super::host::Host;

macro_rules! files {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../../fixture/", $name, ".sql")))),*]
    };
}

/// A question with what is expected of its answer.
struct Case<'a> {
    question: &'a str,
    /// Part of the answer's text.
    says: &'a str,
    is_declined: bool,
    reference: String,
}

/// The statements before the first question, and the questions.
fn cases(text: &str) -> (String, Vec<Case<'_>>) {
    let mut setup = String::new();
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        let marked = ["-- ask", "-- decline"].map(|mark| line.strip_prefix(mark));
        if let Some(rest) = marked.into_iter().flatten().next() {
            let (says, question) = rest.split_once(": ").unwrap();
            cases.push(Case {
                question,
                says: says.trim_matches([' ', '(', ')']),
                is_declined: marked[1].is_some(),
                reference: String::new(),
            });
        } else if !line.starts_with("--") {
            let text = cases.last_mut().map_or(&mut setup, |c| &mut c.reference);
            *text += &format!("{line}\n");
        }
    }
    (setup, cases)
}

/// What is wrong with the answer to a question.
fn wrong(host: &Host, case: &Case) -> Option<String> {
    let questions: Vec<&str> = case.question.split(" | ").collect();
    let (question, earlier) = questions.split_last()?;
    let answer = host.ask_after(earlier, question);
    let fail = |why: &str| Some(format!("{}: {why}\n{answer:#?}", case.question));
    if answer.is_declined != case.is_declined || !answer.text.contains(case.says) {
        return fail("declined, or not so said");
    }
    if case.is_declined {
        let shows = case.says.starts_with("Several");
        let has_rows = answer.text.contains("**") || answer.text.contains("---:");
        return fail("shows a result").filter(|_| has_rows && !shows);
    }
    let given = host.texts(answer.sql.last()?);
    let expected = host.texts(&case.reference);
    let figure = match (given.as_slice(), expected.as_slice()) {
        ([row], [only]) if case.says.is_empty() && row.len() == 1 && only.len() == 1 => {
            only.first()
        }
        _ => None,
    };
    match figure {
        Some(figure) if !answer.text.contains(&format!("**{figure}**")) => {
            return fail(&format!("not {figure}"));
        }
        None if !holds(&given, &expected, case.reference.contains("ORDER BY")) => {
            return fail(&format!("expected {expected:?}"));
        }
        _ => {}
    }
    let number = made_up(&answer.text, &given, &[case.question, answer.sql.last()?])?;
    fail(&format!("{number} is from nowhere"))
}

/// Whether each expected row is within a given row, and there are no more rows.
fn holds(given: &[Vec<String>], expected: &[Vec<String>], in_order: bool) -> bool {
    let fits =
        |row: &Vec<String>, wanted: &Vec<String>| wanted.iter().all(|cell| row.contains(cell));
    let all = match in_order {
        true => given.iter().zip(expected).all(|(row, w)| fits(row, w)),
        false => expected
            .iter()
            .all(|w| given.iter().any(|row| fits(row, w))),
    };
    all && given.len() == expected.len()
}

/// A number of the text that is neither in the rows nor their number nor in the question or the conditions that it is read
/// as: "last year" is 2023.
fn made_up(text: &str, rows: &[Vec<String>], stated: &[&str]) -> Option<String> {
    let numbers = |text: &str| -> Vec<String> {
        let plain = |w: &str| w.trim_matches(|c: char| !c.is_ascii_digit()).to_owned();
        let words = text.split(|c: char| c.is_whitespace() || c == '|');
        let words = words.map(plain);
        words.filter(|w| w.parse::<f64>().is_ok()).collect()
    };
    let cells = rows.iter().flatten();
    let mut known: Vec<String> = cells.flat_map(|cell| numbers(cell)).collect();
    let digits = |text: &&str| -> Vec<String> {
        let parts = text.split(|c: char| !c.is_ascii_digit());
        parts.map(str::to_owned).collect()
    };
    known.extend(stated.iter().flat_map(|text| numbers(text)));
    known.extend(stated.iter().flat_map(digits));
    // How many rows are shown is a figure too.
    known.push(rows.len().to_string());
    let words = stated.iter().flat_map(|text| crate::words::tokenize(text));
    known.extend(words.map(|token| token.norm));
    let known: Vec<f64> = known.iter().filter_map(|n| n.parse().ok()).collect();
    // Averages are rounded to two decimals.
    let is_known = |n: &f64| known.iter().any(|k| (k - n).abs() < 0.006);
    let is_new = |n: &String| !n.parse().is_ok_and(|n| is_known(&n));
    numbers(text).into_iter().find(is_new)
}

/// What is wrong with the answers over a database.
fn all_wrong(name: &str, host: &Host, cases: &[Case]) -> Vec<String> {
    assert!(!cases.is_empty(), "{name}");
    let wrong = cases.iter().filter_map(|c| wrong(host, c));
    wrong.map(|why| format!("{name}: {why}")).collect()
}

#[test]
fn the_same_question_has_the_same_answer() {
    let questions = cases(include_str!("../../fixture/shop_questions.sql")).1;
    // Each has hash tables of its own, in an order of their own.
    let (one, other) = (Host::shop(), Host::shop());
    for case in questions.into_iter().step_by(3) {
        let asked = |host: &Host| {
            let questions: Vec<&str> = case.question.split(" | ").collect();
            let (last, earlier) = questions.split_last().unwrap();
            let answer = host.ask_after(earlier, last);
            (answer.text, answer.sql, answer.assumptions)
        };
        assert_eq!(asked(&one), asked(&other), "{}", case.question);
    }
}

#[test]
fn shop() {
    let questions = cases(include_str!("../../fixture/shop_questions.sql")).1;
    let wrong = all_wrong("shop", &Host::shop(), &questions);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Schemas that are nothing like the shop.
const SCHEMAS: &[(&str, &str)] = &files!(
    "airline" "allies" "archive" "bakehouse" "bakery" "boathouse" "branches" "campus" "cellar" "cinema" "clientele"
    "clinic" "club" "coaches" "crates" "dues" "ferries" "festival" "freight" "gallery" "garage" "guides" "gym" "harbour"
    "hostels" "jockeys" "kennels" "league" "library" "markets" "marks" "offices" "parlours" "press" "races" "regatta"
    "school" "shelter" "stalls" "tenants" "till" "tools" "traders" "vets" "workshops" "wrestlers"
);

#[test]
fn suggested_questions_are_answered() {
    for (name, text) in SCHEMAS {
        let host = Host::over(&cases(text).0);
        let help = host.ask("help").text;
        for question in help.lines().filter_map(|line| line.strip_prefix("- ")) {
            let answer = host.ask(question);
            assert!(!answer.is_declined, "{name}: {question}: {answer:#?}");
        }
    }
}

#[test]
fn schemas_that_are_nothing_like_the_shop() {
    let over = |(name, text): &(&str, &str)| {
        let (setup, cases) = cases(text);
        all_wrong(name, &Host::over(&setup), &cases)
    };
    let wrong: Vec<String> = SCHEMAS.iter().flat_map(over).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
