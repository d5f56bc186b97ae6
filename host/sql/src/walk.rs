//! The walk over a parsed statement: every node is known to be harmless, or the statement is refused.
//!
//! Structs are taken apart field by field and enums by allow-list, so that a node which a newer parser adds is a
//! compile error or a refusal, never a hole. On the way tables, functions and literals are rewritten to forms that
//! mean one thing only, whatever the session's settings are.

mod call;
mod expr;
mod from;
mod literal;
mod operators;
mod query;
mod types;
mod weight;

use std::{collections::HashSet, fmt::Display};

use sqlparser::{
    ast::{Ident, ObjectName, ObjectNamePart, Query},
    tokenizer::Location,
};

use super::{guard::Scope, lexical::Source, names::Found, rules::Rules};
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::Dialect;

/// PostgreSQL cuts longer names, so that two of them may be one.
const MAX_IDENTIFIER_BYTES: usize = 63;

/// What a walk carries and what it found out.
pub(super) struct Walk<'a> {
    scope: &'a Scope,
    rules: &'static Rules,
    source: &'a Source<'a>,
    /// Names of the CTEs that are in scope at this point, folded, with what they weigh.
    ctes: Vec<(String, usize)>,
    /// What the names of the statement stand for.
    weights: weight::Weights,
    /// Expressions that are around this point.
    depth: usize,
    /// Tables in the order of their mention; may repeat.
    pub tables: Vec<Found<'a>>,
    /// Schemas of functions, types and operators that must be among the datasource's function schemas.
    pub schemas: Vec<Ident>,
    /// Whether the number of rows may differ from one execution to the next on the same data.
    pub volatile: bool,
    /// Functions in FROM: folded alias, and the columns that it surely has.
    row_sources: Vec<(String, HashSet<String>)>,
    /// Uses of `qualifier.column`.
    attributes: Vec<(Ident, Ident)>,
}

impl<'a> Walk<'a> {
    /// Walks over a whole statement and rewrites it in place.
    ///
    /// # Errors
    /// A `sql_*` code, with the position where the node has one.
    pub fn over(
        query: &mut Query,
        scope: &'a Scope,
        rules: &'static Rules,
        source: &'a Source<'a>,
    ) -> Result<Self> {
        let mut walk = Self {
            scope,
            rules,
            source,
            ctes: Vec::new(),
            weights: weight::Weights::default(),
            depth: 0,
            tables: Vec::new(),
            schemas: Vec::new(),
            volatile: false,
            row_sources: Vec::new(),
            attributes: Vec::new(),
        };
        walk.query(query)?;
        walk.attributes_are_columns()?;
        walk.weights
            .check(rules.max_column_depth())
            .map_err(|too_much| {
                walk.error(Code::SqlNotSupported, too_much.message(), Location::empty())
            })?;
        Ok(walk)
    }

    fn is(&self, dialect: Dialect) -> bool {
        self.rules.dialect == dialect
    }

    fn error(&self, code: Code, message: impl Into<String>, at: Location) -> Error {
        Error::new(code, message).with_position(self.source.position(at))
    }

    /// The refusal of something that the guard does not know to be harmless.
    fn unsupported(&self, what: impl Display, at: Location) -> Error {
        self.error(
            Code::SqlNotSupported,
            format!("{what} is not supported here; write the query without it"),
            at,
        )
    }

    /// Refuses a node that is present.
    fn none<T>(&self, node: Option<&T>, what: &str) -> Result<()> {
        match node {
            None => Ok(()),
            Some(_) => Err(self.unsupported(what, Location::empty())),
        }
    }

    /// Refuses nodes that are present.
    fn empty<T>(&self, nodes: &[T], what: &str) -> Result<()> {
        self.none(nodes.first(), what)
    }

    /// Checks a name: written with a quote of the dialect, or a plain word; and printed as it was read.
    fn ident(&self, ident: &Ident) -> Result<()> {
        let Ident {
            value,
            quote_style,
            span,
        } = ident;
        let good = match quote_style {
            Some(quote) => self.rules.quotes().contains(quote) && prints_exactly(value, *quote),
            None => is_word(value),
        };
        if !good {
            return Err(self.unsupported(format_args!("the name `{value}`"), span.start));
        }
        if self.is(Dialect::Postgresql) && value.len() > MAX_IDENTIFIER_BYTES {
            return Err(self.error(
                Code::SqlNotSupported,
                format!(
                    "the name `{value}` is longer than {MAX_IDENTIFIER_BYTES} bytes; shorten it"
                ),
                span.start,
            ));
        }
        Ok(())
    }

    /// A name that the statement gives; SQLite and SQL Server take a string there, which is made a name.
    fn alias(&self, ident: &mut Ident) -> Result<()> {
        if ident.quote_style == Some('\'') && !self.is(Dialect::Postgresql) {
            ident.quote_style = Some(self.rules.quote());
        }
        self.ident(ident)
    }

    fn idents(&self, idents: &[Ident]) -> Result<()> {
        idents.iter().try_for_each(|ident| self.ident(ident))
    }

    /// The parts of a name, each checked.
    fn parts<'n>(&self, name: &'n ObjectName) -> Result<Vec<&'n Ident>> {
        let mut parts = Vec::with_capacity(name.0.len());
        for part in &name.0 {
            match part {
                ObjectNamePart::Identifier(ident) => {
                    self.ident(ident)?;
                    parts.push(ident);
                }
                _ => {
                    return Err(
                        self.unsupported(format_args!("the name `{name}`"), Location::empty())
                    );
                }
            }
        }
        Ok(parts)
    }

    fn fold(&self, ident: &Ident) -> String {
        self.rules.fold(&ident.value, ident.quote_style.is_some())
    }

    /// A name as the engine stores it, quoted.
    fn stored(&self, name: &str, at: Location) -> Result<Ident> {
        let ident = Ident::with_quote(self.rules.quote(), name);
        if prints_exactly(name, self.rules.quote()) {
            Ok(ident)
        } else {
            Err(self.unsupported(format_args!("the name `{name}`"), at))
        }
    }

    /// Checks the schema of a function, type or operator: the engine's own, or one to be compared with the
    /// datasource's list once it is known. True for the engine's own.
    fn schema(&mut self, schema: &Ident) -> bool {
        if self.is(Dialect::Postgresql) && self.fold(schema) == "pg_catalog" {
            return true;
        }
        self.schemas.push(schema.clone());
        false
    }

    /// In PostgreSQL `alias.name` calls the function `name` when `alias` is a function in FROM that has no such
    /// column: `SELECT p.pg_read_file FROM unnest(ARRAY['/etc/passwd']) AS p`. So a name behind such an alias must
    /// be a column of every function of that alias, or a function that may be called anyway.
    fn attributes_are_columns(&self) -> Result<()> {
        if !self.is(Dialect::Postgresql) {
            return Ok(());
        }
        for (qualifier, name) in &self.attributes {
            let (alias, column) = (self.fold(qualifier), self.fold(name));
            let unsure = self
                .row_sources
                .iter()
                .any(|(source, columns)| *source == alias && !columns.contains(&column));
            if unsure && !self.rules.functions.contains(column.as_str()) {
                return Err(self.error(
                    Code::SqlFunctionNotAllowed,
                    format!(
                        "`{column}` is not known to be a column of the function `{alias}`; \
                         name its columns: AS {alias}({column})"
                    ),
                    name.span.start,
                ));
            }
        }
        Ok(())
    }
}

/// Whether a name needs no quotes anywhere. It may be a keyword: then the statement did not mean a name.
fn is_word(value: &str) -> bool {
    let mut characters = value.chars();
    let first = characters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii());
    first
        && characters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$') || !c.is_ascii())
}

/// Whether the serialiser writes this value between these quotes so that it is read back as it is. It leaves a
/// quote alone that follows a backslash or another quote, because it cannot know whether that is an escape.
fn prints_exactly(value: &str, quote: char) -> bool {
    if quote == '[' {
        return !value.contains(['[', ']']);
    }
    let mut previous = None;
    for character in value.chars() {
        if character == quote && (previous == Some(quote) || previous == Some('\\')) {
            return false;
        }
        previous = Some(character);
    }
    true
}
