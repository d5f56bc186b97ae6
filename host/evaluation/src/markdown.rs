//! A report as Markdown, which is also what a terminal shows.

use std::fmt::{self, Write};

use crate::{
    difference::Difference,
    judged::{Judged, Mark},
    report::Report,
};

/// Longer texts are cut.
const TEXT_CHARACTERS: usize = 300;

/// Writes a report, with the difference to an earlier run if there is one. `currency` is that of the costs.
///
/// # Errors
/// Never: a text takes all.
pub fn write(
    report: &Report,
    difference: Option<&Difference>,
    currency: &str,
) -> Result<String, fmt::Error> {
    let mut text = summary(report, currency)?;
    if let Some(difference) = difference {
        changes(&mut text, difference)?;
    }
    for mark in [Mark::Wrong, Mark::Failed, Mark::Declined, Mark::Invalid] {
        let of_mark: Vec<&Judged> = report
            .questions
            .iter()
            .filter(|one| one.mark == mark)
            .collect();
        if of_mark.is_empty() {
            continue;
        }
        writeln!(text, "\n## {} ({})\n", title(mark), of_mark.len())?;
        for one in of_mark {
            entry(&mut text, one)?;
        }
    }
    Ok(text)
}

/// The figures of a report.
///
/// # Errors
/// Never: a text takes all.
pub fn summary(report: &Report, currency: &str) -> Result<String, fmt::Error> {
    let figures = &report.figures;
    let mut text = String::new();
    let name = if report.suite.is_empty() {
        "Evaluation"
    } else {
        &report.suite
    };
    writeln!(text, "# {}: {}\n", line(name), line(&report.mind))?;
    writeln!(text, "{} at {}", report.began_at, line(&report.server))?;
    if !report.is_complete {
        writeln!(
            text,
            "\n**Interrupted: these are the questions that were asked until then.**"
        )?;
    }
    writeln!(text, "\n| figure | value |\n|---|---|")?;
    let of = |part: usize, all: usize| match all {
        0 => "none".to_owned(),
        all => format!(
            "{part} of {all} ({})",
            percent(Some(part as f64 / all as f64))
        ),
    };
    let wrong = report
        .questions
        .iter()
        .filter(|one| one.mark == Mark::Wrong)
        .count();
    let judged = figures.answerable + figures.unanswerable;
    let rows = [
        (
            "right (execution accuracy)",
            of(figures.right, figures.answerable),
        ),
        ("wrong, of all questions", of(wrong, judged)),
        ("declined", of(figures.declined, figures.answerable)),
        ("failed", of(figures.failed, figures.answerable)),
        (
            "unanswerable, declined",
            of(figures.rightly_declined, figures.unanswerable),
        ),
        (
            "recall of tables",
            recall(figures.recall_tables, figures.recall_known, judged),
        ),
        (
            "recall of columns",
            recall(figures.recall_columns, figures.recall_known, judged),
        ),
        (
            "answers with numbers from nowhere",
            of(figures.unsupported, judged),
        ),
        ("repairs", figures.repairs.to_string()),
        (
            "tokens read, written",
            format!("{}, {}", figures.input_tokens, figures.output_tokens),
        ),
        (
            "cost",
            figures.cost.map_or("no prices given".to_owned(), |cost| {
                format!("{cost:.4} {currency}")
            }),
        ),
        (
            "latency p50, p95",
            format!(
                "{}, {}",
                time(figures.latency_p50_ms),
                time(figures.latency_p95_ms)
            ),
        ),
    ];
    for (name, value) in rows {
        writeln!(text, "| {name} | {} |", value.trim())?;
    }
    if figures.invalid > 0 {
        writeln!(text, "| could not be judged | {} |", figures.invalid)?;
    }
    Ok(text)
}

/// What changed, as a part of a report.
///
/// # Errors
/// Never: a text takes all.
pub fn changes(text: &mut String, difference: &Difference) -> fmt::Result {
    writeln!(text, "\n## Since the earlier run\n")?;
    if let Some(accuracy) = difference.accuracy {
        writeln!(text, "Accuracy {:+.1} points.", accuracy * 100.0)?;
    }
    for mark in Mark::ALL {
        let changes: Vec<_> = difference.newly(mark).collect();
        if !changes.is_empty() {
            writeln!(text, "\nNewly {} ({}):\n", mark.as_str(), changes.len())?;
        }
        for change in changes {
            let (id, question) = (line(&change.id), line(&change.question));
            writeln!(text, "- `{id}` was {}: {question}", change.before.as_str())?;
        }
    }
    if difference.changed.is_empty() {
        writeln!(text, "No question changed its mark.")?;
    }
    let one_sided = [
        ("Judged only in this run", &difference.added),
        ("Judged only in the earlier run", &difference.removed),
    ];
    for (what, ids) in one_sided {
        if !ids.is_empty() {
            let s = if ids.len() == 1 { "" } else { "s" };
            writeln!(text, "\n{what}: {} question{s}.", ids.len())?;
        }
    }
    Ok(())
}

fn title(mark: Mark) -> &'static str {
    match mark {
        Mark::Right => "Right",
        Mark::Wrong => "Wrong",
        Mark::Declined => "Declined",
        Mark::Failed => "Failed",
        Mark::Invalid => "Could not be judged",
    }
}

fn entry(text: &mut String, one: &Judged) -> fmt::Result {
    writeln!(text, "- `{}` {}", line(&one.id), line(&one.question))?;
    let numbers = one.unsupported_numbers.join(", ");
    let parts = [
        ("why", Some(one.why.as_str())),
        ("numbers from nowhere", Some(numbers.as_str())),
        ("answer", Some(one.text.as_str())),
        ("sql", one.sql.as_deref()),
        ("gold", one.gold.as_deref()),
    ];
    for (name, part) in parts {
        if let Some(part) = part.filter(|part| !part.is_empty()) {
            let shown = line(part);
            match name {
                "sql" | "gold" => writeln!(text, "  - {name}: `{}`", shown.replace('`', "'"))?,
                _ => writeln!(text, "  - {name}: {shown}")?,
            }
        }
    }
    Ok(())
}

fn recall(share: Option<f64>, known: usize, judged: usize) -> String {
    match share {
        None => "not visible in the steps".to_owned(),
        share if known < judged => format!("{} (visible in {known} of {judged})", percent(share)),
        share => percent(share),
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(String::new, |share| format!("{:.1} %", share * 100.0))
}

fn time(milliseconds: Option<u64>) -> String {
    match milliseconds {
        None => "none".to_owned(),
        Some(short) if short < 1_000 => format!("{short} ms"),
        Some(long) => format!("{:.1} s", long as f64 / 1_000.0),
    }
}

/// A text on one line, cut, that is neither markup nor a control sequence of a terminal.
fn line(text: &str) -> String {
    let mut out = String::new();
    for (at, letter) in text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .enumerate()
    {
        match letter {
            _ if at >= TEXT_CHARACTERS => {
                out.push('…');
                break;
            }
            '<' => out.push_str("&lt;"),
            '|' => out.push_str("\\|"),
            letter if letter.is_control() => {}
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        figures::{Figures, tests::judged},
        suite::Expect,
    };

    fn report(marks: &[(&str, Mark)]) -> Report {
        let questions: Vec<Judged> = marks
            .iter()
            .map(|(id, mark)| judged(id, Expect::Answer, *mark))
            .collect();
        Report {
            suite: "shop".into(),
            mind: "analyst".into(),
            server: "http://127.0.0.1:8080".into(),
            began_at: "2026-01-02T03:04:05Z".into(),
            is_complete: true,
            figures: Figures::of(&questions),
            questions,
        }
    }

    #[test]
    fn report_has_the_figures_and_what_changed() {
        let before = report(&[
            ("a", Mark::Right),
            ("b", Mark::Wrong),
            ("gone", Mark::Right),
        ]);
        let now = report(&[
            ("a", Mark::Wrong),
            ("b", Mark::Right),
            ("c", Mark::Declined),
        ]);
        let difference = Difference::between(&before.questions, &now.questions);
        let text = write(&now, Some(&difference), "USD").unwrap();
        for part in [
            "| right (execution accuracy) | 1 of 3 (33.3 %) |",
            "| recall of tables | not visible in the steps |",
            "Accuracy +0.0 points.",
            "Newly right (1):\n\n- `b` was wrong: Question b?",
            "Newly wrong (1):\n\n- `a` was right: Question a?",
            "Judged only in this run: 1 question.",
            "Judged only in the earlier run: 1 question.",
            "## Declined (1)",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn texts_of_a_model_are_no_markup_and_move_no_cursor() {
        assert_eq!(
            line("a\n\u{1b}[2Jb <img src=x> |"),
            "a [2Jb &lt;img src=x> \\|"
        );
        assert_eq!(line(&"x".repeat(400)).chars().count(), TEXT_CHARACTERS + 1);
    }
}
