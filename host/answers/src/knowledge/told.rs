//! Knowledge as a model is told it.

use super::relevant::Relevant;
use mindhost_core::knowledge::{Metric, Relationship, Term, VerifiedQuery};

/// Bytes of a token, as everywhere where a vendor does not count.
const TOKEN_BYTES: usize = 4;

const HEAD: &str = "Knowledge of this Mind, written by its editors. Use its definitions in place of your own; it does \
                    not change the rules above.\n";

/// What a model is told for a question.
#[derive(Debug, Default)]
pub struct Told {
    /// Empty if there is nothing.
    pub text: String,
    /// Entries that fit the question, and not into the text.
    pub left_out: usize,
}

/// The text for a question, of at most so many tokens. Each entry that does not fit is left out; those behind it, in
/// the order of [`Relevant`], may still fit.
pub(super) fn text(relevant: &Relevant<'_>, tokens: usize) -> Told {
    let room = tokens.saturating_mul(TOKEN_BYTES);
    let mut told = Told::default();
    for line in lines(relevant) {
        let head = if told.text.is_empty() { HEAD } else { "" };
        if told.text.len() + head.len() + line.len() > room {
            told.left_out += 1;
            continue;
        }
        told.text.push_str(head);
        told.text.push_str(&line);
    }
    told
}

/// What is told, the most important first.
fn lines(relevant: &Relevant<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(relevant.same.map(same));
    let instructions = relevant.instructions.iter();
    lines.extend(instructions.map(|one| format!("- Instruction ({}): {}\n", one.name, one.text)));
    lines.extend(relevant.metrics.iter().map(|one| metric(one)));
    lines.extend(relevant.terms.iter().map(|one| term(one)));
    lines.extend(relevant.relationships.iter().map(|one| relationship(one)));
    lines.extend(relevant.similar.iter().map(|one| similar(one)));
    lines
}

fn same(query: &VerifiedQuery) -> String {
    let notes = notes(query);
    format!(
        "- Verified query for this very question. Run it first, as it is, and answer from its result:\n```sql\n{}\n```\n{notes}",
        query.sql
    )
}

fn similar(query: &VerifiedQuery) -> String {
    let notes = notes(query);
    format!(
        "- Verified query for the question \"{}\":\n```sql\n{}\n```\n{notes}",
        query.question, query.sql
    )
}

fn notes(query: &VerifiedQuery) -> String {
    let notes = query.notes.as_ref();
    notes.map_or_else(String::new, |notes| format!("  Notes: {notes}\n"))
}

fn metric(metric: &Metric) -> String {
    let mut line = format!("- Metric {}", called(&metric.name, &metric.synonyms));
    if let Some(description) = &metric.description {
        line.push_str(&format!(": {description}"));
    }
    line.push_str(&format!(
        "\n  SELECT {} FROM {}",
        metric.expression, metric.from
    ));
    if let Some(filter) = &metric.filter {
        line.push_str(&format!(" WHERE {filter}"));
    }
    line.push('\n');
    line
}

fn term(term: &Term) -> String {
    let name = called(&term.name, &term.synonyms);
    let place = match (&term.table, &term.column) {
        (Some(table), Some(column)) => format!(" (column {column} of {table})"),
        (Some(table), None) => format!(" (table {table})"),
        (None, _) => String::new(),
    };
    format!("- Term {name}{place}: {}\n", term.meaning)
}

fn relationship(one: &Relationship) -> String {
    let pair = |(left, right): (&String, &String)| {
        format!("{}.{left} = {}.{right}", one.from_table, one.to_table)
    };
    let pairs: Vec<_> = one
        .from_columns
        .iter()
        .zip(&one.to_columns)
        .map(pair)
        .collect();
    let mut line = format!("- Join ({}): {}", one.name, pairs.join(" AND "));
    if let Some(cardinality) = one.cardinality {
        line.push_str(&format!(", {}", cardinality.in_words()));
    }
    if let Some(description) = &one.description {
        line.push_str(&format!("; {description}"));
    }
    line.push('\n');
    line
}

fn called(name: &str, synonyms: &[String]) -> String {
    match synonyms.is_empty() {
        true => format!("\"{name}\""),
        false => format!("\"{name}\" (also: {})", synonyms.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use mindhost_core::knowledge::{Knowledge, yaml};

    use super::*;
    use crate::knowledge::relevant::choose;

    const SHOP: &str = "
instructions:
  - {name: year, text: The fiscal year begins in April.}
terms:
  - {name: regular, synonyms: [loyal customer], meaning: Three orders or more., table: customers}
metrics:
  - name: revenue
    synonyms: [turnover]
    expression: sum(quantity * unit_price)
    from: order_items
    filter: status <> 'cancelled'
relationships:
  - {name: items, from_table: order_items, from_columns: [order_id], to_table: orders, to_columns: [id], cardinality: many_to_one}
verified_queries:
  - {question: How many orders were cancelled?, sql: SELECT count(*) FROM orders WHERE status = 'cancelled'}
  - {question: Which customers live in Berlin?, sql: SELECT name FROM customers WHERE city = 'Berlin', notes: Ask twice.}
";

    fn told(question: &str, tokens: usize) -> String {
        told_after("", question, tokens)
    }

    fn told_after(earlier: &str, question: &str, tokens: usize) -> String {
        let entries = yaml::read(SHOP.as_bytes()).unwrap();
        let all: Vec<&Knowledge> = entries.iter().map(|entry| &entry.knowledge).collect();
        text(&choose(&all, question, earlier), tokens).text
    }

    #[test]
    fn what_a_question_names_is_told_and_nothing_else() {
        let turnover = told("What was the turnover in May?", 2000);
        assert!(
            turnover.contains("SELECT sum(quantity * unit_price) FROM order_items WHERE"),
            "{turnover}"
        );
        assert!(turnover.contains("fiscal year"), "{turnover}");
        // Joins of its table.
        assert!(
            turnover.contains("order_items.order_id = orders.id, many to one"),
            "{turnover}"
        );
        assert!(
            !turnover.contains("loyal") && !turnover.contains("Verified"),
            "{turnover}"
        );

        let loyal = told("List our loyal customers", 2000);
        assert!(
            loyal.contains("Three orders") && !loyal.contains("sum("),
            "{loyal}"
        );
    }

    #[test]
    fn metric_of_an_earlier_question_is_told_again() {
        let by_month = told_after("What was the turnover in May?", "And by month?", 2000);
        assert!(by_month.contains("SELECT sum("), "{by_month}");
        assert!(!told("And by month?", 2000).contains("SELECT sum("));
    }

    #[test]
    fn verified_query_of_the_same_question_comes_first() {
        let same = told("how many ORDERS were cancelled", 2000);
        let (at, instruction) = (same.find("very question"), same.find("fiscal"));
        assert!(at.is_some() && at < instruction, "{same}");
        let similar = told("How many orders of Berlin were cancelled?", 2000);
        assert!(
            !similar.contains("very question") && similar.contains("Verified query for"),
            "{similar}"
        );
        assert!(
            similar.find("cancelled?") < similar.find("Berlin?"),
            "{similar}"
        );
        assert!(similar.contains("Notes: Ask twice."));
    }

    #[test]
    fn text_is_never_longer_than_its_budget() {
        for tokens in 0..400 {
            let text = told(
                "How many orders were cancelled, and what was the turnover?",
                tokens,
            );
            assert!(text.len() <= tokens * TOKEN_BYTES, "{tokens}");
        }
        assert_eq!(told("How many?", 10), "");
    }

    #[test]
    fn entry_that_is_too_long_leaves_room_for_those_behind_it() {
        let document = format!(
            "instructions:\n  - {{name: long, text: {}}}\n  - {{name: short, text: Round to euros.}}\n",
            "word ".repeat(400)
        );
        let entries = yaml::read(document.as_bytes()).unwrap();
        let all: Vec<&Knowledge> = entries.iter().map(|entry| &entry.knowledge).collect();
        let told = text(&choose(&all, "How many?", ""), 100);
        assert!(told.text.contains("Round to euros."), "{told:?}");
        assert!(!told.text.contains("word word"), "{told:?}");
        assert_eq!(told.left_out, 1);
    }
}
