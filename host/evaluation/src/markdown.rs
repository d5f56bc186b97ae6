//! A report as Markdown, which is also what a terminal shows.

use std::fmt::{self, Write};

use crate::{
    difference::Difference,
    figures::Figures,
    judged::{Judged, Mark},
    report::Report,
};

/// Longer texts are cut.
const TEXT_CHARACTERS: usize = 300;
/// Longer questions are cut in the table of all questions.
const QUESTION_CHARACTERS: usize = 60;

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
    table(&mut text, &report.questions, currency)?;
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
    totals(text, &difference.before, &difference.now)?;
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
        writeln!(text, "\nNo question changed its mark.")?;
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

/// The figures of both runs over the questions that both could judge. What one of them does not know is not shown.
fn totals(text: &mut String, before: &Figures, now: &Figures) -> fmt::Result {
    let shared = now.answerable + now.unanswerable;
    if shared == 0 {
        return Ok(());
    }
    let s = if shared == 1 { "" } else { "s" };
    writeln!(
        text,
        "\nOver {shared} question{s} that both runs could judge:\n"
    )?;
    writeln!(text, "| figure | before → now |\n|---|---|")?;
    for ((name, before), (_, now)) in totals_of(before).into_iter().zip(totals_of(now)) {
        if let (Some(before), Some(now)) = (before, now) {
            writeln!(text, "| {name} | {before} → {now} |")?;
        }
    }
    Ok(())
}

/// What is shown of a run beside another one; `None` if it is not known.
fn totals_of(figures: &Figures) -> [(&'static str, Option<String>); 10] {
    let share = |share: Option<f64>| share.map(|share| percent(Some(share)));
    let latency = |latency: Option<u64>| latency.map(|latency| time(Some(latency)));
    let cost = figures.cost.map(|cost| format!("{cost:.4}"));
    [
        ("right (execution accuracy)", share(figures.accuracy)),
        ("wrong, of all questions", share(figures.wrong_share)),
        ("recall of tables", share(figures.recall_tables)),
        ("recall of columns", share(figures.recall_columns)),
        ("repairs", Some(figures.repairs.to_string())),
        ("tokens read", Some(figures.input_tokens.to_string())),
        ("tokens written", Some(figures.output_tokens.to_string())),
        ("cost", cost),
        ("latency p50", latency(figures.latency_p50_ms)),
        ("latency p95", latency(figures.latency_p95_ms)),
    ]
}

/// A row for each question, also for the right ones.
fn table(text: &mut String, questions: &[Judged], currency: &str) -> fmt::Result {
    if questions.is_empty() {
        return Ok(());
    }
    let cost = format!("cost {}", line(currency));
    writeln!(text, "\n## Questions ({})\n", questions.len())?;
    writeln!(
        text,
        "| id | mark | recall of tables | of columns | repairs | tokens read | written | seconds | {} | question |",
        cost.trim_end()
    )?;
    writeln!(text, "|---|---|--:|--:|--:|--:|--:|--:|--:|---|")?;
    let known = |value: String| match value.is_empty() {
        true => "–".to_owned(),
        false => value,
    };
    for one in questions {
        let cost = one.cost.map(|cost| format!("{cost:.6}"));
        writeln!(
            text,
            "| `{}` | {} | {} | {} | {} | {} | {} | {:.2} | {} | {} |",
            line(&one.id),
            one.mark.as_str(),
            known(percent(one.recall_tables)),
            known(percent(one.recall_columns)),
            one.repairs,
            one.input_tokens,
            one.output_tokens,
            one.latency_ms as f64 / 1_000.0,
            known(cost.unwrap_or_default()),
            cut(&one.question, QUESTION_CHARACTERS)
        )?;
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
    cut(text, TEXT_CHARACTERS)
}

/// The same with at most so many characters.
fn cut(text: &str, characters: usize) -> String {
    let mut out = String::new();
    for (at, letter) in text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .enumerate()
    {
        match letter {
            _ if at >= characters => {
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
            "Over 2 questions that both runs could judge:\n\n| figure | before → now |\n|---|---|\n",
            "| right (execution accuracy) | 50.0 % → 50.0 % |",
            "| repairs | 2 → 2 |",
            "| tokens read | 20 → 20 |",
            "| latency p95 | 1 ms → 1 ms |",
            "Newly right (1):\n\n- `b` was wrong: Question b?",
            "Newly wrong (1):\n\n- `a` was right: Question a?",
            "Judged only in this run: 1 question.",
            "Judged only in the earlier run: 1 question.",
            "## Declined (1)",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        // Neither run knows them.
        assert!(!text.contains("| recall of tables | –") && !text.contains("| cost | 0"));
    }

    #[test]
    fn difference_shows_recall_and_cost_that_both_runs_know() {
        let priced = |recall: f64, cost: f64| {
            let mut report = report(&[("a", Mark::Right)]);
            report.questions[0].recall_columns = Some(recall);
            report.questions[0].cost = Some(cost);
            report.questions
        };
        let difference = Difference::between(&priced(0.5, 0.25), &priced(1.0, 0.125));
        let mut text = String::new();
        changes(&mut text, &difference).unwrap();
        for part in [
            "Over 1 question that both runs could judge:",
            "| recall of columns | 50.0 % → 100.0 % |",
            "| cost | 0.2500 → 0.1250 |",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let apart = Difference::between(&priced(0.5, 0.25), &[]);
        let mut text = String::new();
        changes(&mut text, &apart).unwrap();
        assert!(!text.contains("that both runs"), "{text}");
    }

    #[test]
    fn every_question_has_a_row_before_the_details() {
        let mut report = report(&[("a", Mark::Right), ("b|c", Mark::Wrong)]);
        report.questions[0] = Judged {
            question: "Who? ".repeat(50),
            recall_tables: Some(1.0),
            recall_columns: Some(0.5),
            repairs: 2,
            latency_ms: 1_234,
            cost: Some(0.000_15),
            ..report.questions[0].clone()
        };
        let text = write(&report, None, "USD").unwrap();
        let cut = "Who? ".repeat(12);
        let right =
            format!("| `a` | right | 100.0 % | 50.0 % | 2 | 10 | 2 | 1.23 | 0.000150 | {cut}… |");
        let wrong = "| `b\\|c` | wrong | – | – | 1 | 10 | 2 | 0.00 | – | Question b\\|c? |";
        for part in ["| cost USD |", right.as_str(), wrong] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(text.find(wrong) < text.find("## Wrong (1)"), "{text}");
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
