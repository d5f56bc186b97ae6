//! A run over a suite: several questions at a time, a line of progress for each, a report at the end.

use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, bail};
use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use mindhost_evaluation::{
    difference::Difference,
    figures::Figures,
    judge::Judge,
    judged::{Judged, Mark},
    markdown,
    report::Report,
    suite::{Question, Suite},
};
use reqwest::Method;
use tokio::signal::unix::{SignalKind, signal};

use super::{Run, client::Client};
use crate::commands::say::{aside, plain, say_part};

/// A threshold is missed, or a question could not be judged.
const MISSED: u8 = 3;
/// What shells give for a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;
/// The conversations of answers without an end are deleted within this time.
const LAST_DELETIONS: Duration = Duration::from_secs(10);
/// So long is waited for the ids of the conversations that were just begun, to delete them.
const LAST_NAMES: Duration = Duration::from_secs(10);
/// How often it is looked whether they are there.
const LOOK: Duration = Duration::from_millis(20);

/// Runs the suite of the options.
pub(super) async fn run(options: &Run) -> anyhow::Result<ExitCode> {
    let (file, mind) = (options.suite.as_deref(), options.mind.as_deref());
    let (file, mind) = (file.unwrap_or_default(), mind.unwrap_or_default());
    let suite = suite(file)?;
    let baseline = options.baseline.as_deref().map(earlier).transpose()?;
    let questions = chosen(&suite, options)?;
    let judge = Judge {
        subject: Client {
            server: options.remote.server()?,
            max_rows: options.max_rows,
            open: Default::default(),
            unnamed: Default::default(),
            stopping: Default::default(),
            away_since: Default::default(),
            gone: Default::default(),
        },
        max_rows: options.max_rows,
        mind: mind.to_owned(),
        keeps: options.keep,
        prices: options.prices().or(suite.prices.clone()),
    };
    check_mind(&judge).await?;
    // A run costs time and money, and is lost with a report that cannot be written.
    let out = options.out.as_deref().map(Output::open).transpose()?;
    let markdown = options.markdown.as_deref().map(Output::open).transpose()?;
    let began_at = Timestamp::now();
    let Asked {
        judged: asked,
        unnamed,
    } = ask_all(&judge, &questions, options.jobs.into()).await?;
    let is_complete = asked.len() == questions.len();
    let report = Report {
        suite: suite.name.clone(),
        mind: mind.to_owned(),
        server: judge.subject.server.base().to_owned(),
        began_at: began_at
            .round(jiff::Unit::Second)
            .unwrap_or(began_at)
            .to_string(),
        is_complete,
        figures: Figures::of(&asked),
        questions: asked,
    };
    let currency = judge
        .prices
        .as_ref()
        .map_or("", |prices| prices.currency.as_str());
    let difference = baseline
        .as_ref()
        .map(|earlier| Difference::between(&earlier.questions, &report.questions));
    let written = write(out, markdown, &report, difference.as_ref(), currency);
    if !options.keep {
        match judge.subject.forget_rest(LAST_DELETIONS).await + unnamed {
            0 => {}
            count => aside!("{count} conversations of this run could not be deleted"),
        }
    }
    written?;
    Ok(match is_complete {
        false if judge.subject.gone.is_cancelled() => ExitCode::FAILURE,
        false => INTERRUPTED.into(),
        true if misses(options, &report, difference.as_ref()) => MISSED.into(),
        true => ExitCode::SUCCESS,
    })
}

fn suite(file: &str) -> anyhow::Result<Suite> {
    let text = match file {
        "demo" => mindhost_demo::SUITE.to_owned(),
        file => fs::read_to_string(file).with_context(|| format!("reading the suite {file}"))?,
    };
    Suite::read(&text).with_context(|| format!("the suite {file}"))
}

fn earlier(file: &Path) -> anyhow::Result<Report> {
    let text = fs::read(file).with_context(|| format!("reading {}", file.display()))?;
    serde_json::from_slice(&text).with_context(|| {
        format!(
            "{} is no report; give what an earlier run wrote with --out",
            file.display()
        )
    })
}

fn chosen<'a>(suite: &'a Suite, options: &Run) -> anyhow::Result<Vec<&'a Question>> {
    let all = || suite.questions.iter();
    if let Some(unknown) = options
        .only
        .iter()
        .find(|id| all().all(|one| one.id != **id))
    {
        bail!("the suite has no question `{unknown}`");
    }
    let is_wanted = |one: &&Question| options.only.is_empty() || options.only.contains(&one.id);
    let limit = options.limit.map(usize::try_from);
    let limit = limit.and_then(Result::ok).unwrap_or(usize::MAX);
    Ok(all().filter(is_wanted).take(limit).collect())
}

/// Finds a wrong name or key before the first question.
async fn check_mind(judge: &Judge<Client>) -> anyhow::Result<()> {
    if judge.mind.contains("{db}") {
        return Ok(());
    }
    let server = &judge.subject.server;
    server
        .send(server.request(Method::GET, &["minds", &judge.mind]))
        .await?;
    Ok(())
}

/// What became of a run.
struct Asked {
    /// In the order of the suite.
    judged: Vec<Judged>,
    /// Questions that were dropped before their conversations were known.
    unnamed: usize,
}

/// Asks until all are asked, or Ctrl-C, or SIGTERM, or until the server stays away. What is asked at that moment is
/// dropped, which cancels it on the server; before that its conversation must be known, to be deleted.
async fn ask_all(
    judge: &Judge<Client>,
    questions: &[&Question],
    jobs: usize,
) -> anyhow::Result<Asked> {
    let all = questions.len();
    let asking = questions.iter().enumerate();
    let asking = asking.map(|(at, question)| async move { (at, judge.judge(question).await) });
    let mut asking = stream::iter(asking).buffer_unordered(jobs);
    let (mut interrupt, mut terminate) = (
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
    );
    let client = &judge.subject;
    let mut judged: Vec<(usize, Judged)> = Vec::with_capacity(all);
    let is_interrupted = loop {
        let next = tokio::select! {
            // First what has arrived: it may name a conversation that is to be deleted.
            biased;
            next = asking.next() => next,
            _ = interrupt.recv() => break true,
            _ = terminate.recv() => break true,
            () = client.gone.cancelled() => break false,
        };
        let Some(next) = next else { break false };
        note(&mut judged, next, all);
    };
    client.stopping.cancel();
    let names = tokio::time::sleep(LAST_NAMES);
    tokio::pin!(names);
    while is_interrupted && !judge.keeps && client.unnamed() > 0 {
        let next = tokio::select! {
            biased;
            next = asking.next() => next,
            _ = interrupt.recv() => break,
            _ = terminate.recv() => break,
            () = &mut names => break,
            () = tokio::time::sleep(LOOK) => continue,
        };
        let Some(next) = next else { break };
        note(&mut judged, next, all);
    }
    let (base, count) = (client.server.base(), judged.len());
    if is_interrupted {
        aside!("interrupted after {count} of {all} questions");
    } else if client.gone.is_cancelled() {
        aside!(
            "stopped after {count} of {all} questions, because no server answers at {base}; run it again when one does"
        );
    }
    let unnamed = client.unnamed();
    judged.sort_by_key(|(at, _)| *at);
    Ok(Asked {
        judged: judged.into_iter().map(|(_, one)| one).collect(),
        unnamed,
    })
}

/// Adds a question that was judged, and tells its line of progress.
fn note(judged: &mut Vec<(usize, Judged)>, (at, one): (usize, Judged), all: usize) {
    let why = one.why.split_whitespace().collect::<Vec<_>>().join(" ");
    let why: String = why
        .chars()
        .filter(|letter| !letter.is_control())
        .take(120)
        .collect();
    let (number, mark) = (judged.len() + 1, one.mark.as_str());
    aside!(
        "[{number}/{all}] {mark:8} {:>6} ms  {}  {why}",
        one.latency_ms,
        plain(&one.id)
    );
    judged.push((at, one));
}

/// A file for a report.
struct Output<'a> {
    file: File,
    path: &'a Path,
}

impl<'a> Output<'a> {
    /// Opens it. What it holds stays until there is something to write.
    fn open(path: &'a Path) -> anyhow::Result<Self> {
        let mut options = File::options();
        let file = options.write(true).create(true).truncate(false).open(path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { file, path })
    }

    fn write(mut self, text: &str) -> anyhow::Result<()> {
        // A pipe has no length.
        let is_file = self.file.metadata().is_ok_and(|meta| meta.is_file());
        let cleared = if is_file {
            self.file.set_len(0)
        } else {
            Ok(())
        };
        cleared
            .and_then(|()| self.file.write_all(text.as_bytes()))
            .with_context(|| format!("writing {}", self.path.display()))
    }
}

/// Prints the summary first: it stays if a file cannot be written.
fn write(
    out: Option<Output<'_>>,
    markdown: Option<Output<'_>>,
    report: &Report,
    difference: Option<&Difference>,
    currency: &str,
) -> anyhow::Result<()> {
    let mut text = markdown::summary(report, currency)?;
    if let Some(difference) = difference {
        markdown::changes(&mut text, difference)?;
    }
    say_part!("{text}");
    let json = serde_json::to_string_pretty(report)?;
    let document = markdown::write(report, difference, currency)?;
    let out = out.map(|out| out.write(&json)).transpose();
    let markdown = markdown.map(|markdown| markdown.write(&document));
    out?;
    markdown.transpose()?;
    Ok(())
}

/// Tells each threshold that is missed.
fn misses(options: &Run, report: &Report, difference: Option<&Difference>) -> bool {
    let figures = &report.figures;
    let mut missed = Vec::new();
    let percent = |share: Option<f64>| share.unwrap_or(0.0) * 100.0;
    if let Some(least) = options.min_right
        && percent(figures.accuracy) < least
    {
        missed.push(match figures.accuracy {
            None => format!("no question is answerable, and --min-right is {least}"),
            Some(_) => format!(
                "{:.1} % are right, and --min-right is {least}",
                percent(figures.accuracy)
            ),
        });
    }
    if let Some(most) = options.max_wrong
        && percent(figures.wrong_share) > most
    {
        missed.push(format!(
            "{:.1} % are wrong, and --max-wrong is {most}",
            percent(figures.wrong_share)
        ));
    }
    let lost = difference.into_iter().flat_map(|one| &one.changed);
    let lost = lost.filter(|change| change.before == Mark::Right).count();
    if options.no_regression && lost > 0 {
        missed.push(format!(
            "{lost} questions were right in the baseline and no longer are"
        ));
    }
    if figures.invalid > 0 {
        missed.push(format!(
            "{} questions could not be judged; --markdown says why",
            figures.invalid
        ));
    }
    for line in &missed {
        aside!("{line}");
    }
    !missed.is_empty()
}
