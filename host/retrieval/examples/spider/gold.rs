//! The tables and columns that a gold statement reads, by its tokens. Aliases of subqueries are not told apart, so a
//! column may have several choices of tables; one of them must be shown.

use std::collections::{BTreeMap, BTreeSet};

use mindhost_retrieval::Table;

/// What a statement reads.
pub struct Gold {
    /// The database.
    pub schema: String,
    /// Names of tables as the catalog has them.
    pub tables: BTreeSet<String>,
    /// For each column the tables and names that it may be.
    pub columns: Vec<Vec<(String, String)>>,
}

/// Reads a statement; `None` when it names no table of the database.
pub fn read(sql: &str, database: &[Table]) -> Option<Gold> {
    let tokens = split(sql);
    let (tables, aliases) = tables(&tokens, database);
    let gold: Vec<&Table> = database
        .iter()
        .filter(|table| tables.contains(&table.name))
        .collect();
    if gold.is_empty() {
        return None;
    }
    let mut columns: BTreeSet<Vec<(String, String)>> = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate() {
        let Some(name) = word(token, at > 0 && tokens[at - 1] == Token::Sign('.')) else {
            continue;
        };
        if matches!(tokens.get(at + 1), Some(Token::Sign('.' | '('))) {
            continue;
        }
        let owners: Vec<&Table> = match at.checked_sub(2).and_then(|at| word(&tokens[at], false)) {
            Some(alias) if tokens[at - 1] == Token::Sign('.') => {
                let of = aliases
                    .get(&alias.to_lowercase())
                    .cloned()
                    .unwrap_or_default();
                gold.iter()
                    .copied()
                    .filter(|table| of.contains(&table.name))
                    .collect()
            }
            _ => gold.clone(),
        };
        let choices: Vec<(String, String)> = owners
            .iter()
            .flat_map(|table| {
                let same = table
                    .columns
                    .iter()
                    .filter(|column| column.name.eq_ignore_ascii_case(&name));
                same.map(|column| (table.name.clone(), column.name.clone()))
            })
            .collect();
        if !choices.is_empty() {
            columns.insert(choices);
        }
    }
    Some(Gold {
        schema: database[0].schema.clone(),
        tables,
        columns: columns.into_iter().collect(),
    })
}

type Aliases = BTreeMap<String, BTreeSet<String>>;

fn tables(tokens: &[Token], database: &[Table]) -> (BTreeSet<String>, Aliases) {
    let mut tables = BTreeSet::new();
    let mut aliases = Aliases::new();
    let mut expects_table = false;
    let mut in_from = false;
    for (at, token) in tokens.iter().enumerate() {
        let text = word(token, true).unwrap_or_default().to_uppercase();
        match (text.as_str(), token) {
            ("FROM" | "JOIN", _) => (expects_table, in_from) = (true, true),
            ("WHERE" | "GROUP" | "ORDER" | "ON" | "HAVING" | "SELECT", _)
            | (_, Token::Sign(')')) => in_from = false,
            (_, Token::Sign(',')) if in_from => expects_table = true,
            (_, Token::Sign('(')) => expects_table = false,
            _ if expects_table => {
                expects_table = false;
                let Some(table) = database
                    .iter()
                    .find(|table| table.name.eq_ignore_ascii_case(&text))
                else {
                    continue;
                };
                tables.insert(table.name.clone());
                let is_as = tokens
                    .get(at + 1)
                    .and_then(|token| word(token, false))
                    .is_some_and(|word| word.eq_ignore_ascii_case("as"));
                let alias = tokens
                    .get(at + 1 + usize::from(is_as))
                    .and_then(|token| word(token, false));
                for name in [Some(table.name.clone()), alias].into_iter().flatten() {
                    aliases
                        .entry(name.to_lowercase())
                        .or_default()
                        .insert(table.name.clone());
                }
            }
            _ => {}
        }
    }
    (tables, aliases)
}

/// A name. In double quotes it is a value, as SQLite reads them, unless it must be a name.
fn word(token: &Token, must_be_name: bool) -> Option<String> {
    match token {
        Token::Word(word) => Some(word.clone()),
        Token::Quoted(word) if must_be_name => Some(word.clone()),
        _ => None,
    }
}

#[derive(Debug, PartialEq)]
enum Token {
    Word(String),
    /// In double quotes.
    Quoted(String),
    Sign(char),
}

/// The tokens of a statement, without numbers and text in single quotes.
fn split(sql: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = sql.chars().peekable();
    while let Some(first) = rest.next() {
        match first {
            '\'' | '"' | '`' => {
                let text: String = rest
                    .by_ref()
                    .take_while(|letter| *letter != first)
                    .collect();
                match first {
                    '"' => tokens.push(Token::Quoted(text)),
                    '`' => tokens.push(Token::Word(text)),
                    _ => {}
                }
            }
            _ if first.is_alphanumeric() || first == '_' => {
                let mut text = String::from(first);
                while let Some(letter) =
                    rest.next_if(|letter| letter.is_alphanumeric() || *letter == '_')
                {
                    text.push(letter);
                }
                if first.is_ascii_digit() && text.parse::<f64>().is_ok() {
                    continue;
                }
                tokens.push(Token::Word(text));
            }
            _ if first.is_whitespace() => {}
            sign => tokens.push(Token::Sign(sign)),
        }
    }
    tokens
}
