use std::{
    future::ready,
    pin::pin,
    task::{Context, Poll, Waker},
};

use serde_json::json;

use super::*;

/// A database with one table of three names, two of which are level.
struct Names {
    answer: fn() -> Answer,
}

fn table(columns: &[&str], data: &serde_json::Value) -> Table {
    Table::of(
        &json!(columns),
        data,
        &json!(data.as_array().unwrap().len()),
    )
    .unwrap()
}

impl Names {
    fn rows(sql: &str) -> Table {
        match sql {
            "SELECT name FROM people ORDER BY age LIMIT 1" => table(&["name"], &json!([["Ann"]])),
            "SELECT name, age FROM people ORDER BY age LIMIT 101" => table(
                &["name", "age"],
                &json!([["Ann", 7], ["Bob", 7], ["Cid", 9]]),
            ),
            "the name of Bob" => table(&["name"], &json!([["Bob"]])),
            "the name of Cid" => table(&["name"], &json!([["Cid"]])),
            other => panic!("{other}"),
        }
    }
}

impl Subject for Names {
    fn ask(&self, _: &str, _: &Question) -> impl Future<Output = Result<Answer, Failure>> + Send {
        ready(Ok((self.answer)()))
    }

    fn result(
        &self,
        _: &str,
        answer: &Answer,
    ) -> impl Future<Output = Result<Table, Failure>> + Send {
        ready(Ok(Self::rows(answer.sql.as_deref().unwrap())))
    }

    fn gold(&self, _: &str, sql: &str) -> impl Future<Output = Result<Table, Failure>> + Send {
        ready(Ok(Self::rows(sql)))
    }

    fn forget(&self, _: &str) -> impl Future<Output = ()> + Send {
        ready(())
    }
}

fn judged(question: &str, answer: fn() -> Answer) -> Judged {
    let suite = format!("questions: [{question}]");
    let suite = crate::suite::Suite::read(&suite).unwrap();
    let judge = Judge {
        subject: Names { answer },
        mind: String::new(),
        keeps: true,
        max_rows: 1_000,
        prices: None,
    };
    let judging = pin!(judge.judge(&suite.questions[0]));
    match judging.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(judged) => judged,
        Poll::Pending => panic!("nothing is waited for"),
    }
}

fn said(text: &str) -> Answer {
    Answer {
        text: text.to_owned(),
        ..Answer::default()
    }
}

fn ran(sql: &str) -> Answer {
    Answer {
        sql: Some(sql.to_owned()),
        ..Answer::default()
    }
}

const YOUNGEST: &str = "{id: a, question: Who is the youngest of the 3?, \
                        sql: SELECT name FROM people ORDER BY age LIMIT 1}";
const DECLINED: &str = "{id: a, question: How old is Dan?, expect: declined}";

#[test]
fn invented_number_without_statement_is_wrong() {
    for question in [YOUNGEST, DECLINED] {
        let judged = judged(question, || said("It is 41 by now."));
        assert_eq!(judged.mark, Mark::Wrong, "{question}");
        assert!(
            judged.why.ends_with("that come from none: 41"),
            "{}",
            judged.why
        );
    }
}

#[test]
fn words_without_statement_are_declined() {
    let text = || said("The 3 of 2024 are known, but not their age.\n1. Ask for their names.");
    assert_eq!(judged(YOUNGEST, text).mark, Mark::Declined);
    let text = || said("The data end in 2023.\n1. Ask for names.");
    assert_eq!(judged(DECLINED, text).mark, Mark::Right);
    let ended = || Answer {
        ending: Some("cannot_answer".to_owned()),
        ..said("It may be 41 or 42: which is meant?")
    };
    assert_eq!(judged(DECLINED, ended).mark, Mark::Right);
    assert_eq!(judged(YOUNGEST, ended).mark, Mark::Declined);
}

#[test]
fn decline_may_have_dates_and_say_how_large_the_data_are() {
    let texts: [fn() -> Answer; 4] = [
        || said("The data end on 2024-03-31."),
        || said("I can't tell: the data end on March 31st, 2024."),
        || said("None of the 3 tables holds the weather."),
        || said("I do not know. Ask, for example, for the top 10 guests."),
    ];
    for text in texts {
        assert_eq!(judged(DECLINED, text).mark, Mark::Right, "{}", text().text);
    }
}

#[test]
fn figure_beside_a_decline_is_wrong() {
    let texts: [fn() -> Answer; 4] = [
        || said("There are 7."),
        || said("None is known, but the revenue was 41,200."),
        || said("No age is known, but 12% are older."),
        || said("It is not known, but was 3.5 on 2024-03-31."),
    ];
    for text in texts {
        assert_eq!(judged(DECLINED, text).mark, Mark::Wrong, "{}", text().text);
    }
}

#[test]
fn row_that_is_level_with_the_last_one_is_right() {
    let level = judged(YOUNGEST, || ran("the name of Bob"));
    assert_eq!((level.mark, level.why.as_str()), (Mark::Right, ""));
    let behind = judged(YOUNGEST, || ran("the name of Cid"));
    assert_eq!(behind.mark, Mark::Wrong);
    assert_eq!(behind.why, "no column holds the values of column 1 (Ann)");
}
