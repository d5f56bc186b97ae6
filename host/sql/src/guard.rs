//! The guard: one read-only statement over the tables of a Mind, or a refusal that says why.
//!
//! What goes out is never the caller's text. It is parsed, every node is checked and rewritten to a form that means
//! one thing only (`walk`), printed, looked at as plain text (`lexical`), parsed
//! again, and compared. So the engine reads what the guard has seen, whatever comments, quotes, escapes or settings
//! are used to tell them apart.

use std::collections::HashSet;

use sqlparser::{
    ast::{Query, Statement},
    parser::{Parser, ParserError, ParserOptions},
    tokenizer::{Location, Token, TokenWithSpan},
};

use super::{
    dialect::Counted,
    lexical::{self, Source},
    paging::Plan,
    rules::Rules,
    sqlite::without_materialized,
    walk::Walk,
};
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::{Dialect, Paging, TableRef};

/// Stack for parsing, walking, printing and dropping a tree, all of which recurse. The bounds on depth keep well
/// below it; the pages are touched only when they are needed.
pub const STACK_BYTES: usize = 64 * 1024 * 1024;

/// How deep the parser may recurse.
const RECURSION: usize = 120;

/// What a Mind lets a statement see.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// In the order of the Mind; a statement that names no table goes to the first.
    pub datasources: Vec<ScopeDatasource>,
}

/// One datasource of a Mind.
#[derive(Clone, Debug)]
pub struct ScopeDatasource {
    /// Id of the datasource.
    pub id: String,
    /// Its name, which may qualify a table.
    pub name: String,
    /// The dialect of its engine.
    pub dialect: Dialect,
    /// The tables that the Mind has of it.
    pub tables: Vec<ScopeTable>,
    /// Schemas whose functions, operators and types a statement may name, as `schema.name`.
    pub function_schemas: Vec<String>,
    /// Who cuts the pages.
    pub paging: Paging,
}

/// One table of a Mind.
#[derive(Clone, Debug)]
pub struct ScopeTable {
    /// As the engine spells it.
    pub table: TableRef,
    /// Names of its columns; empty when the table was not catalogued yet.
    pub columns: Vec<String>,
}

/// A statement that passed: what goes to the engine, and how to page and count it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarded {
    /// Index into [`Scope::datasources`]. A statement that reads no table has the first datasource.
    pub datasource: usize,
    text: String,
    tables: Vec<TableRef>,
    plan: Plan,
    volatile: bool,
}

/// How one page of a statement is had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Paged {
    /// The engine cuts the page; this is the statement to send.
    Engine(String),
    /// The host sends this statement, skips `offset` rows, keeps `limit` and counts the rest.
    Skip {
        /// The statement to send.
        text: String,
    },
}

impl Guarded {
    /// What goes to the engine, without paging: `executed_query`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The tables that it reads, each once, in the order of their first mention.
    pub fn tables(&self) -> &[TableRef] {
        &self.tables
    }

    /// The texts and numbers that it holds, and the quoted names that are none of the scope it was guarded for.
    pub fn literals(&self, scope: &Scope) -> Vec<String> {
        let Some(datasource) = scope.datasources.get(self.datasource) else {
            return Vec::new();
        };
        let mut names = HashSet::new();
        for ScopeTable { table, columns } in &datasource.tables {
            names.extend([table.schema.as_str(), table.name.as_str()]);
            names.extend(columns.iter().map(String::as_str));
        }
        let mut literals = lexical::literals(&self.text, Rules::of(datasource.dialect));
        literals.retain(|literal| !names.contains(literal.as_str()));
        literals
    }

    /// Whether it calls a function that gives another value each time.
    pub fn is_volatile(&self) -> bool {
        self.volatile
    }

    /// Whether the statement orders its rows at the top, so that pages are stable.
    pub fn is_ordered(&self) -> bool {
        self.plan.ordered
    }

    /// The statement for rows `offset` to `offset + limit`.
    pub fn page(&self, limit: u64, offset: u64) -> Paged {
        match &self.plan.unlimited {
            Some(text) => Paged::Engine(format!("{text} LIMIT {limit} OFFSET {offset}")),
            None => Paged::Skip {
                text: self.text.clone(),
            },
        }
    }

    /// A statement of one row and one column that counts the rows, `None` where only reading them tells.
    pub fn count(&self) -> Option<String> {
        self.plan.count.clone()
    }
}

/// Checks and rewrites one statement.
///
/// It is read in the dialect of the first datasource, then in those of the others, until the tables that it names are
/// of a datasource with that dialect. Takes time in proportion to the text, some milliseconds at the most.
///
/// # Errors
/// A `sql_*` code; the message says what is wrong and what to write instead, with the position where known.
/// `datasource_not_in_mind` when the scope is empty.
pub fn guard(sql: &str, scope: &Scope) -> Result<Guarded> {
    stacker::maybe_grow(STACK_BYTES, STACK_BYTES, || {
        let source = Source::new(sql)?;
        let mut dialects: Vec<Dialect> = Vec::new();
        for datasource in &scope.datasources {
            if !dialects.contains(&datasource.dialect) {
                dialects.push(datasource.dialect);
            }
        }
        let mut errors = Vec::new();
        for dialect in dialects {
            match guard_as(&source, scope, Rules::of(dialect)) {
                Ok(Some(guarded)) => return Ok(guarded),
                Ok(None) => {}
                Err(error) => errors.push(error),
            }
        }
        errors.sort_by_key(|error| match error.code() {
            Code::SqlTableNotAllowed | Code::SqlTableAmbiguous | Code::SqlSeveralDatasources => 0,
            Code::SqlSyntax => 2,
            _ => 1,
        });
        Err(errors.into_iter().next().unwrap_or_else(|| {
            Error::new(
                Code::DatasourceNotInMind,
                "this Mind has no datasource to query; add one to it",
            )
        }))
    })
}

/// Reads a statement in one dialect. `None` when its tables are of a datasource with another one.
fn guard_as(source: &Source<'_>, scope: &Scope, rules: &'static Rules) -> Result<Option<Guarded>> {
    let tokens = lexical::tokens(source, rules)?;
    begins_with_select(source, &tokens)?;
    let tokens = if rules.dialect == Dialect::Sqlite {
        without_materialized(tokens)
    } else {
        tokens
    };
    let mut query = parse(tokens, rules).map_err(|error| syntax(source, rules, &error))?;
    let walk = Walk::over(&mut query, scope, rules, source)?;
    let Some(index) = datasource(scope, rules, &walk)? else {
        return Ok(None);
    };
    let Some(datasource) = scope.datasources.get(index) else {
        return Ok(None);
    };
    for schema in &walk.schemas {
        let listed =
            |listed: &String| rules.same_table(&schema.value, schema.quote_style.is_some(), listed);
        if !datasource.function_schemas.iter().any(listed) {
            return Err(Error::new(
                Code::SqlFunctionNotAllowed,
                format!(
                    "functions, operators and types of the schema `{}` are not allowed; an editor can list it in the \
                     datasource's function schemas",
                    schema.value
                ),
            )
            .with_position(source.position(schema.span.start)));
        }
    }
    let mut tables: Vec<TableRef> = Vec::new();
    for found in &walk.tables {
        if !tables.contains(found.table) {
            tables.push(found.table.clone());
        }
    }
    let text = printed(&query, rules)?;
    let plan = Plan::of(query, &text, rules, datasource.paging, walk.volatile);
    Ok(Some(Guarded {
        datasource: index,
        text,
        tables,
        plan,
        volatile: walk.volatile,
    }))
}

/// The one datasource that the statement reads; `None` when it has another dialect.
fn datasource(scope: &Scope, rules: &Rules, walk: &Walk<'_>) -> Result<Option<usize>> {
    let has_dialect = |index: usize| {
        scope
            .datasources
            .get(index)
            .is_some_and(|datasource| datasource.dialect == rules.dialect)
    };
    let Some(first) = walk.tables.first() else {
        return Ok((0..scope.datasources.len()).find(|index| has_dialect(*index)));
    };
    if let Some(other) = walk
        .tables
        .iter()
        .find(|found| found.datasource != first.datasource)
    {
        let name = |index: usize| {
            scope
                .datasources
                .get(index)
                .map_or("", |datasource| datasource.name.as_str())
        };
        return Err(Error::new(
            Code::SqlSeveralDatasources,
            format!(
                "the statement reads `{}` of the datasource `{}` and `{}` of `{}`; a statement can read one datasource \
                 only, so ask them one after the other",
                first.table,
                name(first.datasource),
                other.table,
                name(other.datasource)
            ),
        ));
    }
    Ok(has_dialect(first.datasource).then_some(first.datasource))
}

fn begins_with_select(source: &Source<'_>, tokens: &[TokenWithSpan]) -> Result<()> {
    let first = tokens.iter().find(|token| {
        !matches!(
            token.token,
            Token::Whitespace(_) | Token::SemiColon | Token::LParen
        )
    });
    match first {
        Some(token) => match &token.token {
            Token::Word(word)
                if !["SELECT", "WITH", "VALUES", "TABLE"].contains(&word.value.to_ascii_uppercase().as_str()) =>
            {
                Err(Error::new(
                    Code::SqlNotReadOnly,
                    format!(
                        "a statement must begin with SELECT, WITH or VALUES, but this one begins with `{}`; nothing \
                         but reading is allowed",
                        word.value
                    ),
                )
                .with_position(source.position(token.span.start)))
            }
            _ => Ok(()),
        },
        None => Ok(()),
    }
}

enum Unparsed {
    Syntax(ParserError),
    Several,
    Other(String),
}

fn parse(tokens: Vec<TokenWithSpan>, rules: &Rules) -> Result<Query, Unparsed> {
    let options = ParserOptions::new().with_unescape(rules.unescapes());
    let dialect = Counted::new(rules.parser(), tokens.len());
    let statements = Parser::new(&dialect)
        .with_options(options)
        .with_recursion_limit(RECURSION)
        .with_tokens_with_locations(tokens)
        .parse_statements()
        .map_err(Unparsed::Syntax)?;
    let mut statements = statements.into_iter();
    match (statements.next(), statements.next()) {
        (Some(Statement::Query(query)), None) => Ok(*query),
        (Some(other), None) => Err(Unparsed::Other(
            other
                .to_string()
                .split_whitespace()
                .next()
                .unwrap_or_default()
                .to_owned(),
        )),
        _ => Err(Unparsed::Several),
    }
}

fn syntax(source: &Source<'_>, rules: &Rules, error: &Unparsed) -> Error {
    let message = match error {
        Unparsed::Several => return Error::new(Code::SqlNotSingle, "write exactly one statement"),
        Unparsed::Other(word) => {
            return Error::new(
                Code::SqlNotReadOnly,
                format!("{word} is not allowed; write a SELECT"),
            );
        }
        Unparsed::Syntax(ParserError::RecursionLimitExceeded) => {
            return Error::new(
                Code::SqlNotSupported,
                "the statement is nested too deeply; simplify it, for example with WITH",
            );
        }
        Unparsed::Syntax(
            ParserError::TokenizerError(message) | ParserError::ParserError(message),
        ) => message,
    };
    let (message, location) = match message.rsplit_once(" at Line: ") {
        Some((message, place)) => (message, location(place)),
        None => (message.as_str(), None),
    };
    Error::new(
        Code::SqlSyntax,
        format!(
            "the statement cannot be read as {}: {message}",
            rules.title()
        ),
    )
    .with_position(location.and_then(|location| source.position(location)))
}

/// Reads `3, Column: 14`.
fn location(place: &str) -> Option<Location> {
    let (line, column) = place.split_once(", Column: ")?;
    Some(Location::new(line.parse().ok()?, column.parse().ok()?))
}

/// Prints the tree and proves that the text is the tree.
fn printed(query: &Query, rules: &'static Rules) -> Result<String> {
    let text = query.to_string();
    let doubt = |why: &str| {
        Error::new(
            Code::SqlNotSupported,
            "the statement cannot be passed on safely in the way it is written; write names and texts more plainly",
        )
        .with_source(format!("{why} in the printed statement"))
    };
    lexical::verify(&text, rules.dialect).map_err(doubt)?;
    let tokens = lexical::tokenise(&text, rules).map_err(|_| doubt("no tokens"))?;
    if tokens.iter().any(|token| lexical::is_comment(&token.token)) {
        return Err(doubt("a comment"));
    }
    match parse(tokens, rules) {
        Ok(again) if again == *query => Ok(text),
        Ok(_) => Err(doubt("another tree")),
        Err(_) => Err(doubt("no tree")),
    }
}
