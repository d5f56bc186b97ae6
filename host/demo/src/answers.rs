//! Questions in words, with answers that stream.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::curl::Event;

use crate::{Demo, curl, truth};

/// A question, and the SQL whose values the answer must hold.
const QUESTIONS: &[(&str, &str)] = &[
    (
        "How many customers are there?",
        "SELECT count(*) FROM customers",
    ),
    (
        "What was the total revenue in 2025?",
        "SELECT sum(total) FROM orders WHERE ordered_at >= '2025-01-01' AND ordered_at < '2026-01-01'",
    ),
    (
        "Top 5 countries by number of customers",
        "SELECT country, count(*) FROM customers GROUP BY country ORDER BY 2 DESC, 1 LIMIT 5",
    ),
    (
        "What is the average rating of reviews?",
        "SELECT round(avg(rating), 2) FROM reviews",
    ),
    (
        "Which 3 products sold the most units?",
        "SELECT name FROM products JOIN order_items ON product_id = id GROUP BY id ORDER BY sum(quantity) DESC LIMIT 3",
    ),
];

pub(crate) fn stream(demo: &Demo) -> Result<()> {
    demo.screen
        .step("Ask in words; the answer streams, and says on which SQL it is based");
    demo.screen
        .dim("(the built-in offline model: no network, no API key, and it never invents a figure)");
    for (question, sql) in QUESTIONS {
        let answer = ask(demo, question)?;
        let expected = demo.truth.shop(sql)?;
        ensure!(
            truth::says(&answer, &expected),
            "the answer should say {expected:?}"
        );
    }
    let answer = ask(demo, "Why did sales fall?")?;
    // What the host adds are questions that can be asked.
    let reason = answer.split("You can ask").next().unwrap_or_default();
    let invented = reason.contains(|letter: char| letter.is_ascii_digit());
    ensure!(!invented, "what it cannot know it must not answer");
    Ok(())
}

/// Shows the answer as it comes and gives its text.
fn ask(demo: &Demo, question: &str) -> Result<String> {
    let line = curl::stream_line(
        "/responses",
        &format!(r#"{{"model": "analyst", "input": "{question}", "stream": true}}"#),
    );
    demo.screen.command(&line);
    let mut heard = StreamedAnswer::default();
    demo.screen.words("    ");
    demo.curl.events(&line, |event| {
        if let Some(words) = heard.take(&event)? {
            demo.screen.words(words);
        }
        Ok(())
    })?;
    demo.screen.words("\n");
    heard.finish(demo)
}

#[derive(Default)]
struct StreamedAnswer {
    names: Vec<String>,
    text: String,
    response: Value,
}

impl StreamedAnswer {
    /// Keeps an event; gives its words if it has some.
    fn take<'a>(&mut self, event: &'a Event) -> Result<Option<&'a str>> {
        ensure!(
            event.data["type"] == event.name.as_str(),
            "an event whose name is not its type: {event:?}"
        );
        ensure!(
            event.data["sequence_number"] == self.names.len() + 1,
            "an event out of order: {event:?}"
        );
        self.names.push(event.name.clone());
        if event.name == "response.completed" {
            self.response = event.data["response"].clone();
        }
        let words = event.data["delta"]
            .as_str()
            .filter(|_| event.name == "response.output_text.delta");
        self.text.push_str(words.unwrap_or_default());
        Ok(words)
    }

    fn finish(self, demo: &Demo) -> Result<String> {
        ensure!(
            self.names
                .first()
                .is_some_and(|name| name == "response.created"),
            "{:?}",
            self.names
        );
        ensure!(
            self.response["status"] == "completed",
            "the answer did not complete: {:?}",
            self.names
        );
        let item = &self.response["output"][0];
        let whole = item["content"][0]["text"]
            .as_str()
            .context("the text of the whole answer")?;
        ensure!(
            whole == self.text && !whole.is_empty(),
            "the deltas are not the answer: {whole:?} {:?}",
            self.text
        );
        let pieces = self
            .names
            .iter()
            .filter(|name| *name == "response.output_text.delta")
            .count();
        demo.screen.dim(&format!("({pieces} deltas)"));
        if let Some(sql) = item["sql"].as_str() {
            demo.screen.dim(sql);
        }
        Ok(self.text)
    }
}
