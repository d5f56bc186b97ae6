//! Forms of SQL that the parser does not know, and what to write in their place.

use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What to write in place of the first such form of a statement that could not be read.
pub fn in_place_of_form(tokens: &[TokenWithSpan]) -> Option<&'static str> {
    let words: Vec<String> = tokens
        .iter()
        .filter_map(|token| match &token.token {
            Token::Whitespace(_) => None,
            Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_lowercase()),
            Token::LParen => Some("(".to_owned()),
            Token::RParen => Some(")".to_owned()),
            // A value, a name or a sign.
            _ => Some("?".to_owned()),
        })
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    (0..words.len()).find_map(|at| form(words.get(at..)?, words.get(..at)?))
}

fn form(words: &[&str], before: &[&str]) -> Option<&'static str> {
    match words {
        ["between", "symmetric" | "asymmetric", ..] => Some(
            "BETWEEN SYMMETRIC is not supported; write a BETWEEN least(b, c) AND greatest(b, c)",
        ),
        ["exclude", "current" | "group" | "ties" | "no", ..] => Some(
            "EXCLUDE in a window frame is not supported; compute the frame without it, and take the value of the row off: \
             sum(x) OVER (…) - x",
        ),
        ["any" | "some" | "all", "(", "values", ..] => Some(
            "ANY (VALUES …) is not supported; write a IN (VALUES …), or ANY (SELECT * FROM (VALUES …) AS v)",
        ),
        [")", "as", ..] if ends_using(before) => Some(
            "an alias of a JOIN … USING (…) is not supported; name its columns by the tables that it joins",
        ),
        ["div", next, ..] if !AROUND_A_NAME.contains(next) && follows_a_value(before) => {
            Some("DIV is not supported; write a / b for integers, or trunc(a / b)")
        }
        _ => None,
    }
}

/// Words before or behind a column whose name is that of an operator.
const AROUND_A_NAME: [&str; 13] = [
    ")", "and", "as", "asc", "by", "desc", "from", "group", "limit", "or", "order", "select",
    "where",
];

fn follows_a_value(before: &[&str]) -> bool {
    let last = before.last();
    last.is_some_and(|last| *last == ")" || *last != "(" && !AROUND_A_NAME.contains(last))
}

/// Whether the columns of USING stand at the end.
fn ends_using(before: &[&str]) -> bool {
    let open = before.iter().rposition(|word| *word == "(");
    let using = open.and_then(|open| open.checked_sub(1));
    using.and_then(|using| before.get(using)) == Some(&"using")
}
