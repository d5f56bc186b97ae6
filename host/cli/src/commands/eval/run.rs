//! A run over a suite: several questions at a time, a line of progress for each, a report at the end.

use std::{fs, path::Path, process::ExitCode};

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

use super::{Run, client::Client};
use crate::commands::say::{aside, say_part};

/// A threshold is missed, or a question could not be judged.
const MISSED: u8 = 3;
/// What shells give for a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

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
        },
        max_rows: options.max_rows,
        mind: mind.to_owned(),
        keeps: options.keep,
        prices: options.prices().or(suite.prices.clone()),
    };
    check_mind(&judge).await?;
    let began_at = Timestamp::now();
    let asked = ask_all(&judge, &questions, options.jobs.into()).await;
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
    write(options, &report, difference.as_ref(), currency)?;
    Ok(match is_complete {
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

/// Asks until all are asked or Ctrl-C. What is asked at that moment is dropped, which cancels it on the server.
async fn ask_all(judge: &Judge<Client>, questions: &[&Question], jobs: usize) -> Vec<Judged> {
    let all = questions.len();
    let asking = questions.iter().enumerate();
    let asking = asking.map(|(at, question)| async move { (at, judge.judge(question).await) });
    let mut asking = stream::iter(asking).buffer_unordered(jobs);
    let mut interrupted = std::pin::pin!(tokio::signal::ctrl_c());
    let mut judged: Vec<(usize, Judged)> = Vec::with_capacity(all);
    loop {
        let next = tokio::select! {
            next = asking.next() => next,
            _ = &mut interrupted => {
                aside!("interrupted after {} of {all} questions", judged.len());
                break;
            }
        };
        let Some((at, one)) = next else { break };
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
            one.id
        );
        judged.push((at, one));
    }
    judged.sort_by_key(|(at, _)| *at);
    judged.into_iter().map(|(_, one)| one).collect()
}

fn write(
    options: &Run,
    report: &Report,
    difference: Option<&Difference>,
    currency: &str,
) -> anyhow::Result<()> {
    if let Some(file) = &options.out {
        let text = serde_json::to_string_pretty(report)?;
        fs::write(file, text).with_context(|| format!("writing {}", file.display()))?;
    }
    if let Some(file) = &options.markdown {
        let text = markdown::write(report, difference, currency)?;
        fs::write(file, text).with_context(|| format!("writing {}", file.display()))?;
    }
    let mut text = markdown::summary(report, currency)?;
    if let Some(difference) = difference {
        markdown::changes(&mut text, difference)?;
    }
    say_part!("{text}");
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
        missed.push(format!(
            "{:.1} % are right, and --min-right is {least}",
            percent(figures.accuracy)
        ));
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
