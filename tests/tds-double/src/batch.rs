//! Cuts a batch into statements as T-SQL does: a statement begins where a word stands that can only begin one.

use anyhow::{Context, Result};
use sqlparser::dialect::MsSqlDialect;
use sqlparser::tokenizer::{Token, Tokenizer, Whitespace};

/// What begins a statement wherever it stands outside of brackets.
const OPENING: [&str; 20] = [
    "ALTER", "BEGIN", "COMMIT", "CREATE", "DECLARE", "DELETE", "DROP", "EXEC", "EXECUTE", "GRANT",
    "IF", "INSERT", "PRINT", "ROLLBACK", "SAVE", "TRUNCATE", "UPDATE", "USE", "WAITFOR", "MERGE",
];
const JOINING: [&str; 4] = ["UNION", "ALL", "EXCEPT", "INTERSECT"];

/// The tokens of a text; strings stay as they are written.
pub(crate) fn tokens(sql: &str) -> Result<Vec<Token>> {
    let tokens = Tokenizer::new(&MsSqlDialect {}, sql)
        .with_unescape(false)
        .tokenize();
    tokens.context("tokens of T-SQL")
}

/// The statements of a batch.
///
/// # Errors
/// When there are no tokens in it.
pub fn split(sql: &str) -> Result<Vec<String>> {
    let mut statements: Vec<String> = Vec::new();
    let mut current = String::new();
    let (mut depth, mut first, mut before) = (0_usize, String::new(), String::new());
    let mut has_select = false;
    for token in tokens(sql)? {
        let word = match &token {
            Token::Word(word) if word.quote_style.is_none() => word.value.to_ascii_uppercase(),
            _ => String::new(),
        };
        match &token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::SemiColon => {
                statements.push(std::mem::take(&mut current));
                (first, before, has_select) = (String::new(), String::new(), false);
                continue;
            }
            Token::Whitespace(
                Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_),
            ) => {
                current.push(' ');
                continue;
            }
            Token::Whitespace(_) => {
                current.push_str(&token.to_string());
                continue;
            }
            _ => {}
        }
        if depth == 0 && !word.is_empty() && begins(&word, &first, &before, has_select) {
            statements.push(std::mem::take(&mut current));
            (first, has_select) = (String::new(), false);
        }
        has_select |= depth == 0 && word == "SELECT";
        if first.is_empty() {
            first = if word.is_empty() {
                "(".into()
            } else {
                word.clone()
            };
        }
        before = if word.is_empty() { "(".into() } else { word };
        current.push_str(&token.to_string());
    }
    statements.push(current);
    let statements = statements.into_iter().map(|one| one.trim().to_owned());
    Ok(statements.filter(|one| !one.is_empty()).collect())
}

fn begins(word: &str, first: &str, before: &str, has_select: bool) -> bool {
    match word {
        _ if first.is_empty() => false,
        // The rest of a statement that is about tables and transactions.
        _ if matches!(first, "CREATE" | "ALTER" | "GRANT") => false,
        "SELECT" => {
            let joined = JOINING.contains(&before);
            let of_insert = matches!(first, "INSERT" | "WITH" | "DECLARE") && !has_select;
            !joined && !of_insert
        }
        "SET" => first != "UPDATE",
        "DELETE" | "UPDATE" | "INSERT" | "MERGE" => first != "WITH" || has_select,
        _ => OPENING.contains(&word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_need_no_semicolons() {
        for (sql, statements) in [
            ("SELECT 1 DROP TABLE x", &["SELECT 1", "DROP TABLE x"][..]),
            ("SELECT 1 SELECT 2", &["SELECT 1", "SELECT 2"]),
            (
                "SELECT 1 UNION ALL SELECT 2",
                &["SELECT 1 UNION ALL SELECT 2"],
            ),
            (
                "WITH a AS (SELECT 1) SELECT * FROM a",
                &["WITH a AS (SELECT 1) SELECT * FROM a"],
            ),
            ("INSERT INTO t SELECT 1", &["INSERT INTO t SELECT 1"]),
            (
                "SELECT 'a;b' ; SELECT [c;d]",
                &["SELECT 'a;b'", "SELECT [c;d]"],
            ),
            (
                "SET LOCK_TIMEOUT 5 IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION BEGIN TRANSACTION EXECUTE sys.sp_executesql N'it''s'",
                &[
                    "SET LOCK_TIMEOUT 5",
                    "IF @@TRANCOUNT > 0",
                    "ROLLBACK TRANSACTION",
                    "BEGIN TRANSACTION",
                    "EXECUTE sys.sp_executesql N'it''s'",
                ],
            ),
        ] {
            assert_eq!(split(sql).unwrap(), statements, "{sql}");
        }
    }
}
