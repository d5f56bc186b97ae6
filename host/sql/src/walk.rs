//! The walk over a parsed statement: it accepts known nodes and refuses all others.
//!
//! It destructures structs field by field and matches enums by allow-list, so that a new node of the parser is a
//! compile error or a refusal. It rewrites tables, functions and literals to forms that mean the same with any session
//! settings.

mod array_join;
mod call;
mod columns;
mod expr;
mod from;
mod group;
mod literal;
mod operators;
mod policy;
mod query;
mod types;
mod weight;
mod with;

use std::{collections::HashSet, fmt::Display};

use sqlparser::{
    ast::{Expr, Ident, ObjectName, ObjectNamePart, Query},
    tokenizer::Location,
};

pub(super) use self::expr::call;
use super::{lexical::Source, names::ResolvedTable, rules::Rules, scope::Scope};
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::{Dialect, TableRef};

/// PostgreSQL truncates longer names, so that two of them may be equal.
const MAX_IDENTIFIER_BYTES: usize = 63;

/// Who gets the text of the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// An engine: the relations of policies stand in place of their tables.
    Engine,
    /// The caller: tables are named.
    Shown,
    /// The host, for a statement over several datasources: the names of tables begin with their datasource. What it
    /// sends to each of them passes the guard again, as [`Mode::Engine`].
    Host,
}

/// The state and the results of a walk.
pub(super) struct Walk<'a> {
    scope: &'a Scope,
    rules: &'static Rules,
    source: &'a Source<'a>,
    mode: Mode,
    /// The table whose policy is walked over.
    within_policy: Option<ResolvedTable<'a>>,
    /// What stands in place of the table that was resolved last.
    replacement: Option<Box<Query>>,
    /// Whether a table has a policy.
    pub policed: bool,
    /// Folded names of the CTEs in scope, with their weights.
    ctes: Vec<(String, usize)>,
    /// A name of WITH RECURSIVE that is in scope only behind the first UNION ALL of its query, with its weight.
    recursive: Option<(String, usize)>,
    /// Adds up how large the statement becomes when names are inlined.
    weights: weight::Weights,
    /// Depth of the current expression.
    depth: usize,
    /// Tables in the order of their mention, with duplicates.
    pub tables: Vec<ResolvedTable<'a>>,
    /// Schemas of functions, types and operators that must be among the datasource's function schemas.
    pub schemas: Vec<Ident>,
    /// Whether the number of rows may differ between executions on the same data.
    pub volatile: bool,
    /// Functions in FROM: folded alias, and the columns that it certainly has.
    row_sources: Vec<(String, HashSet<String>)>,
    /// What the names in FROM mean that a column may stand behind here: a table of the Mind, or something else.
    called: Vec<(String, Option<&'a TableRef>)>,
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
        mode: Mode,
    ) -> Result<Self> {
        let mut walk = Self {
            scope,
            rules,
            source,
            mode,
            within_policy: None,
            replacement: None,
            policed: false,
            ctes: Vec::new(),
            recursive: None,
            weights: weight::Weights::default(),
            depth: 0,
            tables: Vec::new(),
            schemas: Vec::new(),
            volatile: false,
            row_sources: Vec::new(),
            called: Vec::new(),
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

    /// Whether the names of tables begin with their datasource.
    pub fn is_over_several(&self) -> bool {
        self.mode == Mode::Host
    }

    fn is(&self, dialect: Dialect) -> bool {
        self.rules.dialect == dialect
    }

    fn error(&self, code: Code, message: impl Into<String>, at: Location) -> Error {
        Error::new(code, message).with_position(self.source.position(at))
    }

    /// The refusal of an unknown construct.
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

    /// Checks a name: a plain word, or quoted as in the dialect; and the printed form must parse to the same name.
    fn ident(&self, ident: &Ident) -> Result<()> {
        let Ident {
            value,
            quote_style,
            span,
        } = ident;
        let good = match quote_style {
            // ClickHouse reads escapes in names, too.
            Some(_) if self.is(Dialect::Clickhouse) && value.contains('\\') => false,
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

    /// Checks a name that the statement defines. SQLite and SQL Server allow a string there, which becomes a name.
    fn alias(&self, ident: &mut Ident) -> Result<()> {
        let is_text = ident.quote_style == Some('\'');
        if is_text && !self.is(Dialect::Postgresql) && !self.is(Dialect::Clickhouse) {
            ident.quote_style = Some(self.rules.quote());
            // Strings of MySQL keep their escapes, which mean nothing in a name.
            if self.is(Dialect::Mysql) {
                if ident.value.contains('\\') {
                    return Err(self.unsupported(
                        format_args!("an escape in the name `{}`", ident.value),
                        ident.span.start,
                    ));
                }
                ident.value = ident.value.replace("''", "'");
            }
        }
        // Quoted, no alias can be read as a word of a clause; the case of names counts with quotes and without.
        if self.is(Dialect::Clickhouse) && ident.quote_style.is_none() {
            ident.quote_style = Some(self.rules.quote());
        }
        self.ident(ident)?;
        // T-SQL needs no semicolon between statements, so `FROM orders SHUTDOWN` would be two. In brackets it is a
        // name.
        if self.is(Dialect::Mssql) && ident.quote_style.is_none() {
            ident.quote_style = Some(self.rules.quote());
        }
        Ok(())
    }

    fn idents(&self, idents: &[Ident]) -> Result<()> {
        idents.iter().try_for_each(|ident| self.ident(ident))
    }

    /// Checks and returns the parts of a name.
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

    /// The quoted form of a stored name.
    fn stored(&self, name: &str, at: Location) -> Result<Ident> {
        let ident = Ident::with_quote(self.rules.quote(), name);
        let has_escape = self.is(Dialect::Clickhouse) && name.contains('\\');
        if prints_exactly(name, self.rules.quote()) && !has_escape {
            Ok(ident)
        } else {
            Err(self.unsupported(format_args!("the name `{name}`"), at))
        }
    }

    /// The name of a table as the statement goes out: with its schema, and with its datasource if there are several.
    fn full_name(&self, found: &ResolvedTable<'_>, at: Location) -> Result<Vec<Ident>> {
        let datasource = self.scope.datasources.get(found.datasource);
        let datasource = datasource.filter(|_| self.is_over_several());
        let names = datasource.map(|datasource| datasource.name.as_str());
        let names = names
            .into_iter()
            .chain([found.table.schema.as_str(), found.table.name.as_str()]);
        names.map(|name| self.stored(name, at)).collect()
    }

    /// Checks the schema of a function, type or operator: the engine's own, or one to compare with the datasource's
    /// list later. True for the engine's own.
    fn schema(&mut self, schema: &Ident) -> bool {
        if self.is(Dialect::Postgresql) && self.fold(schema) == "pg_catalog" {
            return true;
        }
        self.schemas.push(schema.clone());
        false
    }

    /// In PostgreSQL `alias.name` calls the function `name` when `alias` is a function in FROM that has no such
    /// column: `SELECT p.pg_read_file FROM unnest(ARRAY['/etc/passwd']) AS p`. So a name behind such an alias must
    /// be a column of every function of that alias, or a function that may be called anyway. A database in a single-byte
    /// encoding folds letters beyond ASCII too, by its locale, so other names of such letters may be that alias.
    fn attributes_are_columns(&self) -> Result<()> {
        if !self.is(Dialect::Postgresql) {
            return Ok(());
        }
        for (qualifier, name) in &self.attributes {
            let (alias, column) = (self.fold(qualifier), self.fold(name));
            let unsure = self
                .row_sources
                .iter()
                .any(|(source, columns)| may_be_one(source, &alias) && !columns.contains(&column));
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

/// Whether some encoding and locale of PostgreSQL may fold two folded names to one.
fn may_be_one(a: &str, b: &str) -> bool {
    // Only such a letter takes another number of bytes in the other case that is one byte in the database.
    let small = |name: &str| name.to_lowercase().replace('\u{307}', "");
    let are_beyond_ascii = !a.is_ascii() && !b.is_ascii();
    a == b || (are_beyond_ascii && a.len() == b.len()) || small(a) == small(b)
}

/// Whether a name never needs quotes. A keyword counts: then the statement does not mean a name.
fn is_word(value: &str) -> bool {
    let mut characters = value.chars();
    let first = characters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii());
    first
        && characters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$') || !c.is_ascii())
}

/// Whether the serializer prints this value so that it parses to the same value. It does not double a quote that
/// follows a backslash or another quote, which may be an escape.
pub(super) fn prints_exactly(value: &str, quote: char) -> bool {
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

/// Takes an expression out of the tree, to put another around it.
fn take(expr: &mut Box<Expr>) -> Expr {
    std::mem::replace(expr.as_mut(), Expr::Tuple(Vec::new()))
}
