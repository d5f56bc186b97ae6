//! What the stored text of a CREATE statement says beyond the schema: comments and the names of constraints.
//!
//! SQLite has no COMMENT; people write `-- …` beside the column, and SQLite keeps the text as it was written.

use std::collections::HashMap;

use crate::tokens::{Kind, Token, tokens};

/// What the text says about a table or view.
#[derive(Debug, Default, PartialEq)]
pub struct Definition {
    pub comment: Option<String>,
    /// By the column's name in lower case.
    pub column_comments: HashMap<String, String>,
    pub primary_key_name: Option<String>,
    /// One for each foreign key, in the order of the text; none where it has no name.
    pub foreign_key_names: Vec<Option<String>>,
}

/// A column or constraint between two commas.
#[derive(Default)]
struct Item<'text> {
    /// Without what stands in brackets.
    tokens: Vec<Kind<'text>>,
    comments: Vec<&'text str>,
}

/// Reads a definition. A comment on a column's line, or on lines of its own before it, is the column's. One on the line
/// of the opening bracket or before it, or after the closing one, is the table's; a view's stand before its SELECT.
pub fn read(create: &str) -> Definition {
    let tokens = tokens(create);
    let is_body = |token: &Token<'_>| {
        ["select", "with", "values"]
            .iter()
            .any(|word| token.kind.is_word(word))
    };
    let is_view = tokens
        .iter()
        .take(4)
        .any(|token| token.kind.is_word("view"));
    let head_ends = if is_view {
        tokens.iter().position(is_body)
    } else {
        tokens.iter().position(|token| token.kind == OPEN)
    };
    let (head, body) = tokens.split_at(head_ends.unwrap_or(tokens.len()));
    let mut of_table: Vec<&str> = head.iter().filter_map(comment).collect();
    let items = if is_view {
        Vec::new()
    } else {
        items(body, &mut of_table)
    };
    let mut definition = Definition {
        comment: join(&of_table),
        ..Definition::default()
    };
    for item in items {
        definition.add(&item);
    }
    definition
}

const OPEN: Kind<'static> = Kind::Symbol('(');
const CLOSE: Kind<'static> = Kind::Symbol(')');
const COMMA: Kind<'static> = Kind::Symbol(',');

/// Splits what follows the opening bracket at its commas.
fn items<'text>(body: &[Token<'text>], of_table: &mut Vec<&'text str>) -> Vec<Item<'text>> {
    let mut items: Vec<Item<'text>> = Vec::new();
    // Comments on lines of their own belong to the item that follows them.
    let mut waiting = Vec::new();
    let (mut depth, mut line, mut begins) =
        (0_usize, body.first().map_or(0, |token| token.line), true);
    for token in body {
        if let Kind::Comment(text) = token.kind {
            match items.last_mut() {
                _ if depth > 0 && token.line != line => waiting.push(text),
                Some(item) if depth > 0 => item.comments.push(text),
                _ => of_table.push(text),
            }
            continue;
        }
        line = token.line;
        if token.kind == CLOSE {
            depth = depth.saturating_sub(1);
        } else if token.kind == COMMA && depth == 1 {
            begins = true;
        } else if depth == 1 {
            if begins {
                items.push(Item {
                    tokens: Vec::new(),
                    comments: std::mem::take(&mut waiting),
                });
                begins = false;
            }
            if let Some(item) = items.last_mut() {
                item.tokens.push(token.kind.clone());
            }
        }
        depth += usize::from(token.kind == OPEN);
    }
    if let Some(item) = items.last_mut() {
        item.comments.append(&mut waiting);
    }
    items
}

impl Definition {
    fn add(&mut self, item: &Item<'_>) {
        const CONSTRAINTS: [&str; 5] = ["constraint", "primary", "unique", "check", "foreign"];
        let Some(first) = item.tokens.first() else {
            return;
        };
        let is_column = !CONSTRAINTS.iter().any(|word| first.is_word(word));
        if let (true, Some(name), Some(comment)) = (is_column, first.name(), join(&item.comments)) {
            self.column_comments.insert(name.to_lowercase(), comment);
        }
        self.add_constraints(item);
    }

    /// A name after CONSTRAINT belongs to the next constraint.
    fn add_constraints(&mut self, item: &Item<'_>) {
        const NAMELESS: [&str; 7] = [
            "not",
            "null",
            "unique",
            "check",
            "default",
            "collate",
            "generated",
        ];
        let mut name: Option<String> = None;
        for (index, token) in item.tokens.iter().enumerate() {
            if token.is_word("constraint") {
                name = item
                    .tokens
                    .get(index + 1)
                    .and_then(Kind::name)
                    .map(str::to_owned);
            } else if token.is_word("primary") {
                self.primary_key_name = name.take();
            } else if token.is_word("references") {
                self.foreign_key_names.push(name.take());
            } else if NAMELESS.iter().any(|word| token.is_word(word)) {
                name = None;
            }
        }
    }
}

fn comment<'text>(token: &Token<'text>) -> Option<&'text str> {
    match token.kind {
        Kind::Comment(text) => Some(text),
        _ => None,
    }
}

fn join(comments: &[&str]) -> Option<String> {
    let text = comments.join(" ").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CREATE: &str = r#"CREATE TABLE "order" ( -- What customers bought
  id INTEGER PRIMARY KEY, -- The number on the invoice
  -- Who bought it,
  -- never null
  "customer id" INT NOT NULL REFERENCES customer, /* (see customer) */
  total DECIMAL(10, 2) CHECK (total > 0 -- inside
  ),
  state TEXT DEFAULT 'a -- b', placed TIMESTAMP -- In UTC
  , CONSTRAINT pk_unused UNIQUE (state) -- says nothing
  , CONSTRAINT fk_state FOREIGN KEY (state) REFERENCES states (name)
) -- one row an order"#;

    #[test]
    fn comments_belong_to_what_they_stand_beside() {
        let definition = read(CREATE);
        assert_eq!(
            definition.comment.as_deref(),
            Some("What customers bought one row an order")
        );
        let mut comments: Vec<(&str, &str)> = definition
            .column_comments
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect();
        comments.sort_unstable();
        let expected = [
            ("customer id", "Who bought it, never null (see customer)"),
            ("id", "The number on the invoice"),
            ("placed", "In UTC"),
            ("total", "inside"),
        ];
        assert_eq!(comments, expected);
    }

    #[test]
    fn constraints_have_names_where_the_text_gives_them() {
        let definition = read(CREATE);
        assert_eq!(definition.primary_key_name, None);
        assert_eq!(
            definition.foreign_key_names,
            [None, Some("fk_state".into())]
        );
        let named = read(
            "CREATE TABLE t (a INT CONSTRAINT n NOT NULL REFERENCES u, CONSTRAINT k PRIMARY KEY (a))",
        );
        assert_eq!(
            (
                named.primary_key_name.as_deref(),
                named.foreign_key_names.as_slice()
            ),
            (Some("k"), &[None][..])
        );
    }

    #[test]
    fn a_view_is_commented_before_its_query() {
        let definition = read("CREATE VIEW v AS -- Orders of today\nSELECT (1) -- not this");
        assert_eq!(definition.comment.as_deref(), Some("Orders of today"));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(CREATE (TABLE|VIEW) t )?[a-c(),\"'\\-/*\\[\\]\n ]{0,80}") {
            read(&text);
        }
    }
}
