//! Measures how the offline model answers a set of questions in the format of Spider, judged as `mindhost eval` does:
//! `just bench-answers FOLDER [--unanswerable] [--list MARK] [--today DATE]`.
//!
//! The folder has `dev.json`, `train_spider.json` or both, and the databases as `database/NAME/NAME.sqlite`. The model
//! is the crate itself, not its component; it is given what the host's tools give it, made from the files. Nothing is
//! written to them. Every question is asked on the same day, so that two runs are alike; `--today` is for references that
//! compute from the real day, as with `date('now')`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark that cannot run has nothing else to say"
)]

mod database;
mod dialogue;
mod subject;

use std::{
    collections::BTreeMap,
    fs,
    future::Future,
    path::PathBuf,
    pin::pin,
    task::{Context, Poll, Waker},
};

use mindhost_evaluation::{
    judge::Judge,
    judged::{Judged, Mark},
    suite::{Expect, Question},
};
use serde_json::Value;
use subject::{MOST_ROWS, Offline};

/// The files of questions that are looked for.
const FILES: [&str; 2] = ["dev.json", "train_spider.json"];
/// Words with which the model asks back. It declines in all other words.
const ASKS_BACK: [&str; 4] = [
    "say which one you mean",
    "Which one do you mean",
    "ask for as many as you want to see",
    "ask for the different ones",
];

/// The day that questions are asked on if the options do not say another.
const TODAY: &str = "2024-11-20";

struct Options {
    folder: PathBuf,
    /// Put each question to another database, where it is to be declined.
    unanswerable: bool,
    /// The outcome whose questions are printed.
    list: Option<String>,
    /// The day that questions are asked on.
    today: String,
}

fn main() {
    if cfg!(debug_assertions) {
        println!("a debug build: times are not those of a server");
    }
    let options = options();
    let mut found = false;
    for file in FILES {
        let Ok(text) = fs::read_to_string(options.folder.join(file)) else {
            continue;
        };
        found = true;
        let questions: Vec<Value> = serde_json::from_str(&text).expect("a list of questions");
        measure(file, &questions, &options);
    }
    assert!(found, "give a folder with dev.json or train_spider.json");
}

fn options() -> Options {
    let mut arguments = std::env::args().skip(1);
    let mut options = Options {
        folder: PathBuf::new(),
        unanswerable: false,
        list: None,
        today: TODAY.to_owned(),
    };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--unanswerable" => options.unanswerable = true,
            "--list" => {
                let outcome = arguments
                    .next()
                    .filter(|word| Report::ALL.contains(&&**word));
                let expected = format!("--list takes one of {}", Report::ALL.join(", "));
                options.list = Some(outcome.expect(&expected));
            }
            "--today" => {
                let day = arguments.next();
                let day = day.filter(|text| text.parse::<jiff::civil::Date>().is_ok());
                options.today = day.expect("--today takes a day such as 2024-11-20");
            }
            folder => options.folder = folder.into(),
        }
    }
    options
}

fn measure(file: &str, raw: &[Value], options: &Options) {
    let mut names: Vec<&str> = raw.iter().map(database_of).collect();
    names.sort_unstable();
    names.dedup();
    let subject = Offline::new(&options.folder, &names, &options.today);
    let unavailable = subject.unavailable.clone();
    names.retain(|name| !unavailable.contains_key(*name));
    let judge = Judge {
        subject,
        mind: "{db}".to_owned(),
        keeps: false,
        max_rows: MOST_ROWS as u64,
        prices: None,
    };
    let mut report = Report::default();
    for one in raw {
        if let Some(why) = unavailable.get(database_of(one)) {
            *report.skipped.entry(why).or_default() += 1;
            continue;
        }
        let question = question(one, &names, options.unanswerable);
        let judged = ready(judge.judge(&question));
        report.add(&question, &judged, options);
    }
    let mut times = judge.subject.into_times();
    times.sort_unstable();
    println!("{file}: {} databases", names.len());
    report.print();
    if let Some(last) = times.len().checked_sub(1) {
        println!(
            "  the model's time for a question: p50 {:.1?}, p99 {:.1?}, max {:.1?}",
            times[last / 2],
            times[last * 99 / 100],
            times[last]
        );
    }
}

fn database_of(raw: &Value) -> &str {
    raw["db_id"].as_str().expect("a question has a db_id")
}

/// A question as its file has it; Spider-Syn has two wordings of each, of which the second is its own. `query` may be a
/// list of statements, of which any is accepted; a question without one is to be declined.
fn question(raw: &Value, names: &[&str], unanswerable: bool) -> Question {
    let text = raw["SpiderSynQuestion"]
        .as_str()
        .or(raw["question"].as_str());
    let text = text.expect("a question has a text");
    let own = database_of(raw);
    let mut question = Question {
        question: text.to_owned(),
        db: Some(own.to_owned()),
        ..Question::default()
    };
    if unanswerable {
        question.db = Some(another(text, own, names).to_owned());
        question.expect = Expect::Declined;
        return question;
    }
    question.sql = match &raw["query"] {
        Value::String(gold) => vec![gold.clone()],
        Value::Array(golds) => {
            let golds = golds.iter().filter_map(Value::as_str);
            golds.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    if question.sql.is_empty() {
        question.expect = Expect::Declined;
    }
    question
}

/// A database that is not the question's own, the same in each run.
fn another<'a>(text: &str, own: &str, names: &[&'a str]) -> &'a str {
    let others: Vec<&str> = names.iter().copied().filter(|name| *name != own).collect();
    assert!(!others.is_empty(), "--unanswerable needs two databases");
    let sum: usize = text.bytes().map(usize::from).sum();
    others[sum % others.len()]
}

/// The outcome of a future that never waits: the subject is in this process.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("the model waits for something"),
    }
}

/// Counts of the outcomes.
#[derive(Default)]
struct Report {
    counts: BTreeMap<&'static str, usize>,
    /// By the reason: questions whose database cannot be used.
    skipped: BTreeMap<&'static str, usize>,
}

impl Report {
    /// Of marks; `asked back` is a part of what the judge takes for declined.
    const ALL: [&'static str; 6] = [
        "right",
        "wrong",
        "declined",
        "asked back",
        "failed",
        "invalid",
    ];

    fn add(&mut self, question: &Question, judged: &Judged, options: &Options) {
        let asks_back = ASKS_BACK.iter().any(|words| judged.text.contains(words));
        let outcome = match judged.mark {
            Mark::Declined if asks_back => "asked back",
            mark => mark.as_str(),
        };
        *self.counts.entry(outcome).or_default() += 1;
        if options.list.as_deref() != Some(outcome) {
            return;
        }
        println!(
            "{}: {}",
            question.db.as_deref().unwrap_or_default(),
            question.question
        );
        for (name, text) in [
            ("why", Some(&judged.why)),
            ("text", Some(&judged.text)),
            ("sql", judged.sql.as_ref()),
            ("gold", judged.gold.as_ref()),
        ] {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                println!("  {name}: {}", text.replace('\n', " "));
            }
        }
    }

    /// Shares are of the questions that could be judged.
    fn print(&self) {
        let count = |outcome: &str| self.counts.get(outcome).copied().unwrap_or_default();
        let invalid = count("invalid");
        let judged = self.counts.values().sum::<usize>() - invalid;
        let share = |outcome: &&str| {
            let share = 100.0 * count(outcome) as f64 / judged.max(1) as f64;
            format!("{outcome} {} ({share:.1} %)", count(outcome))
        };
        let shares: Vec<String> = Self::ALL[..5].iter().map(share).collect();
        println!("  {judged} questions: {}", shares.join(", "));
        if invalid > 0 {
            println!("  not counted: {invalid} whose own statement fails");
        }
        for (why, number) in &self.skipped {
            println!("  not counted: {number} over databases that {why}");
        }
    }
}
