//! Suites from the files of public question sets: Spider and BIRD.

use serde::Deserialize;
use sqlparser::{
    dialect::SQLiteDialect,
    tokenizer::{Token, Tokenizer, Word},
};

use crate::suite::{Question, Suite};

/// A format of question sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `dev.json` of Spider: a list of `{db_id, question, query}`.
    Spider,
    /// `dev.json` of BIRD: a list of `{question_id, db_id, question, evidence, SQL}`.
    Bird,
}

#[derive(Deserialize)]
struct Spider {
    db_id: String,
    question: String,
    query: String,
}

#[derive(Deserialize)]
struct Bird {
    #[serde(default)]
    question_id: Option<u64>,
    db_id: String,
    question: String,
    #[serde(default)]
    evidence: String,
    #[serde(rename = "SQL")]
    sql: String,
}

/// The questions of a file, of one database or of all. Their ids are `{db}-{number}`, from 0 as the sets count.
///
/// # Errors
/// When the text is not a list in this format.
pub fn read(format: Format, text: &str, db: Option<&str>) -> serde_json::Result<Vec<Question>> {
    let questions: Vec<Question> = match format {
        Format::Spider => {
            let all: Vec<Spider> = serde_json::from_str(text)?;
            all.into_iter()
                .enumerate()
                .map(|(at, one)| one.question(at as u64))
                .collect()
        }
        Format::Bird => {
            let all: Vec<Bird> = serde_json::from_str(text)?;
            all.into_iter()
                .enumerate()
                .map(|(at, one)| one.question(at as u64))
                .collect()
        }
    };
    let is_wanted = |one: &Question| db.is_none_or(|db| one.db.as_deref() == Some(db));
    Ok(questions.into_iter().filter(is_wanted).collect())
}

/// One suite of the questions of several files. Questions of the same id get a number.
pub fn joined(name: &str, files: Vec<Vec<Question>>) -> Suite {
    let mut suite = Suite {
        name: name.to_owned(),
        ..Suite::default()
    };
    let mut ids = std::collections::HashSet::new();
    for mut question in files.into_iter().flatten() {
        let id = question.id.clone();
        let mut number = 1;
        while !ids.insert(question.id.clone()) {
            number += 1;
            question.id = format!("{id}-{number}");
        }
        suite.questions.push(question);
    }
    suite
}

impl Spider {
    fn question(self, at: u64) -> Question {
        Question {
            id: format!("{}-{at}", self.db_id),
            question: self.question,
            sql: vec![with_plain_texts(&self.query)],
            db: Some(self.db_id),
            ..Question::default()
        }
    }
}

impl Bird {
    fn question(self, at: u64) -> Question {
        let has_evidence = !self.evidence.trim().is_empty();
        Question {
            id: format!("{}-{}", self.db_id, self.question_id.unwrap_or(at)),
            question: self.question,
            sql: vec![self.sql],
            instructions: has_evidence.then_some(self.evidence),
            db: Some(self.db_id),
            ..Question::default()
        }
    }
}

/// Puts the texts of a statement of Spider into single quotes. They are in double quotes there, which are for names
/// elsewhere; SQLite takes them for texts only where no column has the name.
fn with_plain_texts(sql: &str) -> String {
    let tokens = Tokenizer::new(&SQLiteDialect {}, sql).tokenize();
    let Some(tokens) = tokens.ok().filter(|_| sql.contains('"')) else {
        return sql.to_owned();
    };
    let plain = |token: Token| match token {
        Token::Word(Word {
            value,
            quote_style: Some('"'),
            ..
        }) => format!("'{}'", value.replace('\'', "''")),
        token => token.to_string(),
    };
    tokens.into_iter().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_spider_are_in_single_quotes() {
        for (given, plain) in [
            (
                "SELECT  name FROM T1 WHERE a.b  =  \"It's \"\"so\"\"\" AND c != 'x \"y\"'",
                "SELECT  name FROM T1 WHERE a.b  =  'It''s \"so\"' AND c <> 'x \"y\"'",
            ),
            (
                "SELECT count(*) FROM t WHERE n LIKE \"%a_%\"",
                "SELECT count(*) FROM t WHERE n LIKE '%a_%'",
            ),
            (
                "SELECT 1.50, x'0aFF', `a b`, [c]",
                "SELECT 1.50, x'0aFF', `a b`, [c]",
            ),
            ("SELECT \"open", "SELECT \"open"),
        ] {
            assert_eq!(with_plain_texts(given), plain);
        }
    }

    #[test]
    fn spider_and_bird_become_suites() {
        let spider = r#"[{"db_id": "pets", "question": "How many?", "query": "SELECT count(*) FROM pets", "sql": {}},
            {"db_id": "cars", "question": "Which?", "query": "SELECT 1"}]"#;
        let spider = read(Format::Spider, spider, Some("pets")).unwrap();
        assert_eq!(spider.len(), 1);
        assert_eq!(
            (spider[0].id.as_str(), spider[0].sql[0].as_str()),
            ("pets-0", "SELECT count(*) FROM pets")
        );
        let bird = r#"[{"question_id": 7, "db_id": "cars", "question": "Which?", "evidence": "fast means > 200",
            "SQL": "SELECT 1", "difficulty": "simple"}]"#;
        let bird = read(Format::Bird, bird, None).unwrap();
        assert_eq!(
            (bird[0].id.as_str(), bird[0].instructions.as_deref()),
            ("cars-7", Some("fast means > 200"))
        );
        let suite = joined("both", vec![spider, bird.clone(), bird]);
        assert_eq!(suite.questions[2].id, "cars-7-2");
        assert_eq!(Suite::read(&suite.to_lines().unwrap()).unwrap(), suite);
        assert!(read(Format::Bird, "[{\"question\": 1}]", None).is_err());
    }
}
