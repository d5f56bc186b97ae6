//! The guard: accepts one read-only statement over the tables of a Mind, or refuses it with a reason.
//!
//! The caller's text never reaches the engine. The guard parses it, checks every node and rewrites it to an unambiguous
//! form (`walk`), prints the tree, checks the text (`lexical`), parses it again and compares. So the engine reads what
//! the guard has checked, whatever the comments, quotes, escapes or session settings are.

use std::{collections::HashSet, sync::Arc};

use sqlparser::{
    ast::{Query, Statement},
    parser::{Parser, ParserError, ParserOptions},
    tokenizer::{Location, Token, TokenWithSpan},
};

pub use super::scope::{Scope, ScopeDatasource, ScopeTable};
use super::{
    clickhouse,
    column_names::ColumnNames,
    datasource_references,
    dialect::PrefixLimited,
    headings::Headings,
    lexical::{self, Source},
    mssql, mysql,
    paging::{Keys, Plan},
    rules::Rules,
    sqlite::without_materialized,
    unsupported,
    walk::{Mode, Walk},
};
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::{Column, Dialect, Paging, TableRef};

/// Stack for parsing, walking, printing and dropping a tree, which all recurse. The depth limits stay well below it.
/// Unused pages are not allocated.
pub const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Recursion limit of the parser.
const RECURSION: usize = 120;

/// Which datasources a statement reads, as indices into [`Scope::datasources`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reads {
    /// One, whose engine runs the statement in its own dialect. A statement without a table has the first.
    One(usize),
    /// Several, in the order of their first mention. The host runs the statement, in the dialect of DataFusion; its
    /// tables are written `"datasource"."schema"."table"`.
    Several(Vec<usize>),
}

impl Reads {
    /// All of them; never empty.
    pub fn datasources(&self) -> &[usize] {
        match self {
            Self::One(only) => std::slice::from_ref(only),
            Self::Several(several) => several,
        }
    }

    /// The only one.
    pub fn one(&self) -> Option<usize> {
        match self {
            Self::One(only) => Some(*only),
            Self::Several(_) => None,
        }
    }
}

/// A table that a statement reads, as the scope names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadTable {
    /// Index of its datasource into [`Scope::datasources`].
    pub datasource: usize,
    /// Schema and name in that datasource.
    pub table: TableRef,
}

/// A statement that passed the guard: its text for the engine, and how to page and count it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardedStatement {
    reads: Reads,
    dialect: Dialect,
    text: String,
    /// The text without policies, if it reads a table that has one.
    shown: Option<String>,
    tables: Vec<ReadTable>,
    plan: Plan,
    volatile: bool,
    policed: bool,
    /// Aliases that the guard wrote: the caller's own text of an expression.
    aliases: Vec<String>,
    /// The names of the columns where the engine's own are others.
    names: ColumnNames,
}

/// How to get one page of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageStatement {
    /// The engine cuts the page: the statement to send.
    Engine(String),
    /// The host cuts the page: it skips `offset` rows, takes `limit` and counts the rest.
    Skip {
        /// The statement to send.
        text: String,
    },
}

impl GuardedStatement {
    /// The text for the engine, without paging.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text for the caller: `executed_query` in the API. Tables that have a policy are named in it; what stands in
    /// their place in the text for the engine is not for the caller.
    pub fn shown(&self) -> &str {
        self.shown.as_deref().unwrap_or(&self.text)
    }

    /// Whether it reads a table that has a policy, so that the words of the engine are not for the caller.
    pub fn is_policed(&self) -> bool {
        self.policed
    }

    /// The columns of its result, with the names that the engine would give them for the text of the caller. `columns`
    /// are those that the engine gave for [`text`](Self::text) or a page of it.
    pub fn named(&self, columns: &Arc<[Column]>) -> Arc<[Column]> {
        self.names.put_into(columns)
    }

    /// The dialect that it was read in.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Decides where it runs: one datasource runs it itself, over several the host does.
    pub fn reads(&self) -> &Reads {
        &self.reads
    }

    /// The tables that it reads, without duplicates, in the order of their first mention.
    pub fn tables(&self) -> &[ReadTable] {
        &self.tables
    }

    /// Its string and number literals, and its quoted names that are not in the scope.
    pub fn literals(&self, scope: &Scope) -> Vec<String> {
        let mut names = HashSet::new();
        let read = self.reads.datasources().iter();
        for datasource in read.filter_map(|index| scope.datasources.get(*index)) {
            if self.reads.one().is_none() {
                names.insert(datasource.name.as_str());
            }
            for ScopeTable { table, columns, .. } in &datasource.tables {
                names.extend([table.schema.as_str(), table.name.as_str()]);
                names.extend(columns.iter().map(String::as_str));
            }
        }
        let mut literals = lexical::literals(self.shown(), Rules::of(self.dialect));
        names.extend(self.aliases.iter().map(String::as_str));
        literals.retain(|literal| !names.contains(literal.as_str()));
        literals
    }

    /// Whether it calls a volatile function.
    pub fn is_volatile(&self) -> bool {
        self.volatile
    }

    /// Whether it has an ORDER BY at the top, so that pages are stable.
    pub fn is_ordered(&self) -> bool {
        self.plan.ordered
    }

    /// The statement for rows `offset` to `offset + limit`.
    pub fn page(&self, limit: u64, offset: u64) -> PageStatement {
        match &self.plan.unlimited {
            Some(text) if self.plan.offset_first => {
                PageStatement::Engine(format!("{text} OFFSET {offset} LIMIT {limit}"))
            }
            Some(text) => PageStatement::Engine(format!("{text} LIMIT {limit} OFFSET {offset}")),
            None => PageStatement::Skip {
                text: self.text.clone(),
            },
        }
    }

    /// A statement that counts the rows; `None` if they must be read for that.
    pub fn count(&self) -> Option<String> {
        self.plan.count.clone()
    }
}

/// Datasources that one statement may read: each needs a connection of its own at the same time.
const MAX_DATASOURCES: usize = 16;

/// Checks and rewrites one statement.
///
/// Parses it in the dialect of the first datasource, then in those of the others, until its tables are of a datasource
/// with that dialect. A statement whose tables are of several datasources is parsed in the dialect of DataFusion, which
/// runs it. A refused statement gets the error of the dialect that its tables are of. A usual statement takes a few
/// milliseconds. Operators that copy what stands before them are limited, so that a very long one takes a second at most.
///
/// # Errors
/// A `sql_*` code; the message says what is wrong and what to write instead, with the position where known.
/// `datasource_not_in_mind` when the scope is empty.
pub fn guard(sql: &str, scope: &Scope) -> Result<GuardedStatement> {
    stacker::maybe_grow(STACK_BYTES, STACK_BYTES, || {
        let source = Source::new(sql)?;
        let mut dialects: Vec<Dialect> = Vec::new();
        for datasource in &scope.datasources {
            if !dialects.contains(&datasource.dialect) {
                dialects.push(datasource.dialect);
            }
        }
        let (mut errors, mut reads_several) = (Vec::new(), false);
        for dialect in dialects {
            match guard_as(&source, scope, Rules::of(dialect)) {
                Ok(Outcome::Accepted(guarded)) => return Ok(*guarded),
                Ok(Outcome::OtherDialect) => {}
                Ok(Outcome::ReadsSeveral) => reads_several = true,
                Err(error) => errors.push((dialect, error)),
            }
        }
        let mut references = Vec::new();
        if scope.datasources.len() > 1 {
            let refused = match guard_several(&source, scope) {
                Ok(Some(guarded)) => return Ok(guarded),
                Ok(None) => None,
                Err(error) => Some(error),
            };
            references = datasource_references::find(&source, scope);
            let is_syntax = |error: &Error| error.code() == Code::SqlSyntax;
            // Otherwise the refusals of the dialects say more.
            if let Some(error) = refused
                && (reads_several
                    || references.len() > 1
                        && (!is_syntax(&error) || errors.iter().all(|(_, other)| is_syntax(other))))
            {
                return Err(error);
            }
        }
        let only_dialect = match references.as_slice() {
            [only] => scope.datasources.get(*only).map(|one| one.dialect),
            _ => None,
        };
        errors.sort_by_key(|(dialect, error)| {
            let kind = match error.code() {
                Code::SqlTableNotAllowed | Code::SqlTableAmbiguous => 0,
                Code::SqlSyntax => 2,
                _ => 1,
            };
            (kind, Some(*dialect) != only_dialect)
        });
        let first = errors.into_iter().next().map(|(_, error)| error);
        Err(first.unwrap_or_else(|| {
            Error::new(
                Code::DatasourceNotInMind,
                "this Mind has no datasource to query; add one to it",
            )
        }))
    })
}

/// What a statement is when it is read in one dialect.
enum Outcome {
    Accepted(Box<GuardedStatement>),
    /// Its tables are of a datasource with another dialect.
    OtherDialect,
    ReadsSeveral,
}

fn guard_as(source: &Source<'_>, scope: &Scope, rules: &'static Rules) -> Result<Outcome> {
    // Where `#` may be an operator for the caller, what follows it must not be dropped as a comment.
    let is_other = |datasource: &ScopeDatasource| datasource.dialect != Dialect::Mysql;
    if rules.dialect == Dialect::Mysql && scope.datasources.iter().any(is_other) {
        lexical::without_hash_comments(source, rules)?;
    }
    let (mut query, headings) = read_named(source, rules)?;
    headings.read_texts(&mut query, scope);
    let walk = Walk::over(&mut query, scope, rules, source, Mode::Engine)?;
    let has_dialect = |index: usize| {
        let datasource = scope.datasources.get(index);
        datasource.filter(|datasource| datasource.dialect == rules.dialect)
    };
    let read = datasources(&walk);
    let index = match read.as_slice() {
        [] => (0..scope.datasources.len()).find(|index| has_dialect(*index).is_some()),
        [only] => Some(*only),
        _ => return Ok(Outcome::ReadsSeveral),
    };
    let Some((index, datasource)) = index.and_then(|index| Some((index, has_dialect(index)?)))
    else {
        return Ok(Outcome::OtherDialect);
    };
    check_schemas(source, &walk, rules, &datasource.function_schemas)?;
    let kept = headings.keep_in(&mut query);
    let guarded = accepted(query, Reads::One(index), rules, datasource.paging, &walk)?;
    let shown = match walk.policed {
        true => Some(without_policies(source, scope, rules)?),
        false => None,
    };
    Ok(Outcome::Accepted(Box::new(GuardedStatement {
        shown,
        aliases: kept.aliases,
        names: kept.names,
        ..guarded
    })))
}

/// The statement as the caller may see it: checked and rewritten, with the tables in place of their policies.
fn without_policies(source: &Source<'_>, scope: &Scope, rules: &'static Rules) -> Result<String> {
    let (mut query, headings) = read_named(source, rules)?;
    headings.read_texts(&mut query, scope);
    Walk::over(&mut query, scope, rules, source, Mode::Shown)?;
    headings.keep_in(&mut query);
    printed(&query, rules)
}

/// Reads a statement over several datasources. `None` if it reads only one.
fn guard_several(source: &Source<'_>, scope: &Scope) -> Result<Option<GuardedStatement>> {
    let rules = Rules::of(Dialect::Datafusion);
    let (mut query, headings) = read_named(source, rules)?;
    let walk = Walk::over(&mut query, scope, rules, source, Mode::Host)?;
    let several = datasources(&walk);
    if several.len() < 2 {
        return Ok(None);
    }
    if several.len() > MAX_DATASOURCES {
        return Err(Error::new(
            Code::SqlSeveralDatasources,
            format!(
                "the statement reads {} datasources; one statement can read at most {MAX_DATASOURCES}, so ask some of \
                 them before",
                several.len()
            ),
        ));
    }
    check_schemas(source, &walk, rules, &[])?;
    // The host cuts the page and counts the rest: a second execution would read every datasource again, in another
    // state.
    let reads = Reads::Several(several);
    let kept = headings.keep_in(&mut query);
    let guarded = accepted(query, reads, rules, Paging::InMemory, &walk)?;
    Ok(Some(GuardedStatement {
        aliases: kept.aliases,
        names: kept.names,
        ..guarded
    }))
}

/// Parses a statement.
pub(super) fn read(source: &Source<'_>, rules: &'static Rules) -> Result<Query> {
    read_named(source, rules).map(|(query, _)| query)
}

/// Parses a statement, and keeps how the caller wrote its columns.
fn read_named<'a>(source: &Source<'a>, rules: &'static Rules) -> Result<(Query, Headings<'a>)> {
    let tokens = lexical::tokens(source, rules)?;
    begins_with_select(source, &tokens)?;
    let headings = Headings::of(source, &tokens, rules);
    let tokens = if matches!(rules.dialect, Dialect::Sqlite | Dialect::Datafusion) {
        without_materialized(tokens)
    } else {
        tokens
    };
    let query = parse(tokens, rules).map_err(|error| syntax(source, rules, &error))?;
    Ok((query, headings))
}

/// Prints a statement that was walked over.
fn accepted(
    query: Query,
    reads: Reads,
    rules: &'static Rules,
    paging: Paging,
    walk: &Walk<'_>,
) -> Result<GuardedStatement> {
    let (tables, volatile) = (tables(walk), walk.volatile);
    let text = printed(&query, rules)?;
    let plan = Plan::of(query, &text, rules, paging, volatile, &keys(walk));
    Ok(GuardedStatement {
        reads,
        dialect: rules.dialect,
        text,
        shown: None,
        tables,
        plan,
        volatile,
        policed: walk.policed,
        aliases: Vec::new(),
        names: ColumnNames::default(),
    })
}

/// Refuses schemas of functions, operators and types that are not `allowed`.
fn check_schemas(
    source: &Source<'_>,
    walk: &Walk<'_>,
    rules: &Rules,
    allowed: &[String],
) -> Result<()> {
    for schema in &walk.schemas {
        let listed =
            |listed: &String| rules.same_table(&schema.value, schema.quote_style.is_some(), listed);
        if !allowed.iter().any(listed) {
            let hint = match walk.is_over_several() {
                true => {
                    "a statement over several datasources can only call the functions of the host"
                }
                false => "an editor can list it in the datasource's function schemas",
            };
            return Err(Error::new(
                Code::SqlFunctionNotAllowed,
                format!(
                    "functions, operators and types of the schema `{}` are not allowed; {hint}",
                    schema.value
                ),
            )
            .with_position(source.position(schema.span.start)));
        }
    }
    Ok(())
}

/// The datasources of the tables, each once, in the order of their first mention.
fn datasources(walk: &Walk<'_>) -> Vec<usize> {
    let mut found = Vec::new();
    for table in &walk.tables {
        if !found.contains(&table.datasource) {
            found.push(table.datasource);
        }
    }
    found
}

/// The tables, each once, in the order of their first mention.
fn tables(walk: &Walk<'_>) -> Vec<ReadTable> {
    let mut tables: Vec<ReadTable> = Vec::new();
    for found in &walk.tables {
        let table = ReadTable {
            datasource: found.datasource,
            table: found.table.clone(),
        };
        if !tables.contains(&table) {
            tables.push(table);
        }
    }
    tables
}

/// The primary keys of the tables that it reads. Of a table with a policy the caller may not see the key.
fn keys<'a>(walk: &Walk<'a>) -> Keys<'a> {
    let open = walk.tables.iter().filter(|found| found.policy.is_none());
    let keyed = open.filter(|found| !found.key.is_empty());
    keyed
        .map(|found| {
            let table = (found.table.schema.as_str(), found.table.name.as_str());
            (table, found.key)
        })
        .collect()
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

enum ParseFailure {
    Syntax(ParserError),
    Several,
    Other(String),
}

fn parse(tokens: Vec<TokenWithSpan>, rules: &Rules) -> Result<Query, ParseFailure> {
    let tokens = match rules.dialect {
        Dialect::Mssql => mssql::plain(tokens),
        Dialect::Mysql => mysql::plain(tokens),
        Dialect::Clickhouse => clickhouse::plain(tokens),
        _ => tokens,
    };
    let options = ParserOptions::new().with_unescape(rules.unescapes());
    let dialect = PrefixLimited::new(rules.parser(), tokens.len());
    let statements = Parser::new(&dialect)
        .with_options(options)
        .with_recursion_limit(RECURSION)
        .with_tokens_with_locations(tokens)
        .parse_statements()
        .map_err(ParseFailure::Syntax)?;
    let mut statements = statements.into_iter();
    match (statements.next(), statements.next()) {
        (Some(Statement::Query(query)), None) => Ok(*query),
        (Some(other), None) => Err(ParseFailure::Other(
            other
                .to_string()
                .split_whitespace()
                .next()
                .unwrap_or_default()
                .to_owned(),
        )),
        _ => Err(ParseFailure::Several),
    }
}

fn syntax(source: &Source<'_>, rules: &Rules, error: &ParseFailure) -> Error {
    let message = match error {
        ParseFailure::Several => {
            return Error::new(Code::SqlNotSingle, "write exactly one statement");
        }
        ParseFailure::Other(word) => {
            return Error::new(
                Code::SqlNotReadOnly,
                format!("{word} is not allowed; write a SELECT"),
            );
        }
        ParseFailure::Syntax(ParserError::RecursionLimitExceeded) => {
            return Error::new(
                Code::SqlNotSupported,
                "the statement is nested too deeply; simplify it, for example with WITH",
            );
        }
        ParseFailure::Syntax(
            ParserError::TokenizerError(message) | ParserError::ParserError(message),
        ) => message,
    };
    let (mut message, location) = match message.rsplit_once(" at Line: ") {
        Some((message, place)) => (message, location(place)),
        None => (message.as_str(), None),
    };
    // What follows is a token as the parser stores it.
    if message.starts_with("No infix parser for token") {
        message =
            "this word or sign cannot follow a value here; put what belongs together into brackets";
    }
    let tokens = lexical::tokens(source, rules).unwrap_or_default();
    message = unsupported::in_place_of_form(&tokens).unwrap_or(message);
    Error::new(
        Code::SqlSyntax,
        format!(
            "the statement cannot be read as {}: {message}",
            rules.title()
        ),
    )
    .with_position(location.and_then(|location| source.position(location)))
}

/// Parses `3, Column: 14`.
fn location(place: &str) -> Option<Location> {
    let (line, column) = place.split_once(", Column: ")?;
    Some(Location::new(line.parse().ok()?, column.parse().ok()?))
}

/// Prints the tree, and checks that the text parses to the same tree.
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
