//! Names of columns: bare and qualified ones, fields of values, collations, and parts of dates.

use sqlparser::{
    ast::{AccessExpr, DateTimeField, Expr, Ident, ObjectName, Spanned, Subscript},
    tokenizer::Location,
};

use super::{Walk, is_word};
use crate::{
    mysql,
    names::{self, ResolvedTable},
    rules::Rules,
    scope::ScopeDatasource,
};
use mindhost_base::error::{Code, Result};
use mindhost_plugin_api::Dialect;

impl Walk<'_> {
    /// A bare name. Some that look like columns ask about the session.
    pub(super) fn column(&mut self, ident: &Ident) -> Result<()> {
        const SESSION: [&str; 8] = [
            "current_catalog",
            "current_path",
            "current_role",
            "current_schema",
            "current_user",
            "session_user",
            "system_user",
            "user",
        ];
        self.ident(ident)?;
        let word = ident.value.to_ascii_lowercase();
        const OF_CLICKHOUSE: [&str; 3] = ["current_database", "currentdatabase", "currentuser"];
        let is_clickhouse = self.is(Dialect::Clickhouse);
        let is_session = SESSION.contains(&word.as_str())
            || (is_clickhouse && OF_CLICKHOUSE.contains(&word.as_str()));
        if is_session && is_clickhouse {
            self.is_column_of_a_table(ident)?;
        } else if is_session && ident.quote_style.is_none() && !self.is(Dialect::Sqlite) {
            return Err(self.error(
                Code::SqlFunctionNotAllowed,
                format!(
                    "`{word}` asks about the session and is not allowed; quote it if it is a column"
                ),
                ident.span.start,
            ));
        }
        self.begins_no_statement(ident)?;
        let name = self.fold(ident);
        self.weights.column(name);
        Ok(())
    }

    /// ClickHouse asks about the session where nothing is called so, also if the name has quotes.
    fn is_column_of_a_table(&self, ident: &Ident) -> Result<()> {
        let is_column = self.tables.iter().any(|found| {
            let datasource = self.scope.datasources.get(found.datasource);
            let mut tables = datasource.iter().flat_map(|one| &one.tables);
            let table = tables.find(|table| &table.table == found.table);
            table.is_some_and(|table| table.columns.contains(&ident.value))
        });
        if is_column {
            return Ok(());
        }
        let message = format!(
            "`{0}` asks about the session if no column is called so, and is not allowed; write it with the name of its \
             table, t.{0}, or give it another name",
            ident.value
        );
        Err(self.error(Code::SqlFunctionNotAllowed, message, ident.span.start))
    }

    /// In T-SQL a word that begins a statement ends the one before it, wherever an expression may end.
    pub(super) fn begins_no_statement(&self, ident: &Ident) -> Result<()> {
        let word = ident.value.to_ascii_uppercase();
        let is_statement = self.is(Dialect::Mssql)
            && ident.quote_style.is_none()
            && T_SQL_STATEMENTS.contains(&word.as_str());
        if is_statement {
            let message = format!(
                "`{word}` begins a statement; put it into brackets if it is a name: [{word}]"
            );
            return Err(self.error(Code::SqlNotReadOnly, message, ident.span.start));
        }
        Ok(())
    }

    /// A qualified column. The name of the datasource, which no engine knows, is taken off.
    pub(super) fn compound(&mut self, parts: &mut Vec<Ident>) -> Result<()> {
        self.idents(parts)?;
        parts
            .iter()
            .try_for_each(|part| self.begins_no_statement(part))?;
        self.without_datasource(parts, 1)?;
        if let [qualifier, name] = parts.as_slice() {
            self.attributes.push((qualifier.clone(), name.clone()));
        }
        if let Some(name) = parts.last() {
            self.is_no_type_of(name)?;
            let name = self.fold(name);
            self.weights.column(name);
        }
        Ok(())
    }

    /// What stands before `.*`.
    pub(super) fn qualifier(&self, name: &mut ObjectName) -> Result<()> {
        let mut parts: Vec<Ident> = self.parts(name)?.into_iter().cloned().collect();
        self.without_datasource(&mut parts, 0)?;
        *name = ObjectName::from(parts);
        Ok(())
    }

    /// Turns `datasource.schema.table` into `schema.table`, and `datasource.table` into the same where a table of
    /// this name was named in FROM and no schema reads as the datasource. `behind` parts follow the table.
    pub(super) fn without_datasource(&self, parts: &mut Vec<Ident>, behind: usize) -> Result<()> {
        let Some(first) = parts.first().cloned() else {
            return Ok(());
        };
        if self.is_over_several() {
            return self.with_full_name(parts, behind);
        }
        let named = |index: usize| {
            self.scope
                .datasources
                .get(index)
                .is_some_and(|datasource| names::is_datasource(self.scope, datasource, &first))
        };
        let same = |written: &Ident, stored: &str| self.rules.is_table(written, stored, true);
        match parts.len().checked_sub(behind) {
            Some(3) if self.tables.iter().any(|found| named(found.datasource)) => {
                parts.remove(0);
            }
            Some(2) => {
                let table = parts.get(1).cloned().unwrap_or_else(|| first.clone());
                let is_schema = self.tables.iter().any(|found| {
                    same(&first, &found.table.schema) && same(&table, &found.table.name)
                });
                // One in the case that is written comes first.
                let named = self
                    .tables
                    .iter()
                    .filter(|found| named(found.datasource) && same(&table, &found.table.name));
                let meant = named.min_by_key(|found| found.table.name != table.value);
                if let (false, Some(found), Some(slot)) = (is_schema, meant, parts.first_mut()) {
                    *slot = self.stored(&found.table.schema, first.span.start)?;
                }
            }
            _ => {}
        }
        self.without_schema(parts, behind)
    }

    /// Turns the name of a table that was named in FROM, `datasource.table`, `schema.table` or
    /// `datasource.schema.table`, into the one that it has there now. `behind` parts follow the table.
    pub(super) fn with_full_name(&self, parts: &mut Vec<Ident>, behind: usize) -> Result<()> {
        let Some((written, rest)) = parts
            .len()
            .checked_sub(behind)
            .and_then(|at| parts.split_at_checked(at))
        else {
            return Ok(());
        };
        let of_host = |written: &Ident, stored: &str| self.rules.is_table(written, stored, false);
        let meant = self
            .named_in_full(written, &|_, written, stored| of_host(written, stored))
            .or_else(|| {
                // As FROM reads it: as the datasource compares names.
                self.named_in_full(written, &|datasource, written, stored| {
                    Rules::of(datasource.dialect).is_table(written, stored, true)
                })
            });
        if let (Some(found), Some(first)) = (meant, written.first()) {
            let mut full = self.full_name(found, first.span.start)?;
            full.extend_from_slice(rest);
            *parts = full;
        }
        Ok(())
    }

    /// The table of FROM that a name with a datasource or schema means, if names of its datasource compare like this.
    fn named_in_full(
        &self,
        written: &[Ident],
        same: &dyn Fn(&ScopeDatasource, &Ident, &str) -> bool,
    ) -> Option<&ResolvedTable<'_>> {
        let of = |found: &ResolvedTable<'_>| self.scope.datasources.get(found.datasource);
        let is = |found: &ResolvedTable<'_>, written: &Ident, stored: &str| {
            of(found).is_some_and(|datasource| same(datasource, written, stored))
        };
        let is_of = |found: &ResolvedTable<'_>, written: &Ident| {
            of(found).is_some_and(|one| names::is_datasource(self.scope, one, written))
        };
        match written {
            [first, table] => {
                let named = |found: &&ResolvedTable<'_>| is(found, table, &found.table.name);
                let of_datasource = |found: &&ResolvedTable<'_>| is_of(found, first);
                let of_schema = |found: &&ResolvedTable<'_>| is(found, first, &found.table.schema);
                let mut tables = self.tables.iter().filter(named);
                tables
                    .find(of_datasource)
                    .or_else(|| self.tables.iter().filter(named).find(of_schema))
            }
            [datasource, schema, table] => self.tables.iter().find(|found| {
                is_of(found, datasource)
                    && is(found, schema, &found.table.schema)
                    && is(found, table, &found.table.name)
            }),
            _ => None,
        }
    }

    /// Parts of a value: elements of an array, and fields.
    pub(super) fn parts_of(&mut self, value: &mut Expr, chain: &mut Vec<AccessExpr>) -> Result<()> {
        let rest = self.qualified(value, chain)?;
        if rest == 0 {
            self.expr(value)?;
        }
        let mut chain = chain.iter_mut().skip(rest);
        chain.try_for_each(|access| self.access(access))
    }

    /// The names before the first bracket of `t.tags[1]`, which the parser reads one by one, are one column. Gives how
    /// many of the chain belong to it.
    fn qualified(&mut self, first: &mut Expr, chain: &mut Vec<AccessExpr>) -> Result<usize> {
        let name = |access: &AccessExpr| match access {
            AccessExpr::Dot(Expr::Identifier(name)) => Some(name.clone()),
            _ => None,
        };
        let Expr::Identifier(qualifier) = &*first else {
            return Ok(0);
        };
        let names = chain.iter().map_while(name);
        let mut parts: Vec<Ident> = std::iter::once(qualifier.clone()).chain(names).collect();
        let behind = parts.len() - 1;
        if behind == 0 || behind == chain.len() || !self.has_arrays() {
            return Ok(0);
        }
        self.compound(&mut parts)?;
        let mut parts = parts.into_iter();
        *first = parts.next().map_or_else(|| first.clone(), Expr::Identifier);
        let names: Vec<_> = parts
            .map(|name| AccessExpr::Dot(Expr::Identifier(name)))
            .collect();
        let kept = names.len();
        chain.splice(..behind, names);
        Ok(kept)
    }

    fn access(&mut self, access: &mut AccessExpr) -> Result<()> {
        match access {
            AccessExpr::Subscript(Subscript::Index { index }) if self.has_arrays() => {
                self.expr(index)
            }
            AccessExpr::Subscript(Subscript::Slice {
                lower_bound,
                upper_bound,
                stride: None,
            }) if self.has_arrays() => {
                for bound in [lower_bound, upper_bound].into_iter().flatten() {
                    self.expr(bound)?;
                }
                Ok(())
            }
            AccessExpr::Dot(Expr::Identifier(name)) if self.is(Dialect::Postgresql) => {
                self.field_of_value(name)
            }
            AccessExpr::Dot(inner) => {
                Err(self.unsupported(format_args!("`.{inner}`"), inner.span().start))
            }
            AccessExpr::Subscript(_) => Err(self.unsupported("this subscript", Location::empty())),
        }
    }

    /// In PostgreSQL `(value).name` calls the function `name` when the value has no such field, so that
    /// `('/etc/passwd').pg_read_file` reads a file.
    pub(super) fn field_of_value(&self, name: &Ident) -> Result<()> {
        self.ident(name)?;
        self.is_no_type_of(name)?;
        let folded = self.fold(name);
        let field = ["key", "value", "lexeme", "positions", "weights"].contains(&folded.as_str());
        if field || self.rules.functions.contains(folded.as_str()) {
            return Ok(());
        }
        Err(self.error(
            Code::SqlFunctionNotAllowed,
            format!(
                "`.{folded}` behind a value may call a function of that name and is not allowed"
            ),
            name.span.start,
        ))
    }

    /// In PostgreSQL `row.pg_typeof` calls `pg_typeof`, too, and would not go out as text: see `type_as_text`.
    fn is_no_type_of(&self, name: &Ident) -> Result<()> {
        if !self.is(Dialect::Postgresql) || self.fold(name) != "pg_typeof" {
            return Ok(());
        }
        Err(self.error(
            Code::SqlFunctionNotAllowed,
            "`.pg_typeof` calls a function; write pg_typeof(x)",
            name.span.start,
        ))
    }

    pub(super) fn collation(&mut self, collation: &ObjectName) -> Result<()> {
        match self.parts(collation)?.as_slice() {
            [_] => Ok(()),
            [schema, _] if self.is(Dialect::Postgresql) && self.fold(schema) == "pg_catalog" => {
                Ok(())
            }
            _ => Err(self.unsupported(
                format_args!("the collation `{collation}`"),
                collation.span().start,
            )),
        }
    }

    pub(super) fn field(&self, field: &DateTimeField) -> Result<()> {
        match field {
            DateTimeField::Custom(unit)
                if self.is(Dialect::Mysql) && !mysql::is_compound_unit(unit) =>
            {
                Err(self.unsupported(format_args!("the unit `{unit}`"), unit.span.start))
            }
            // `EXTRACT('month' FROM x)`
            DateTimeField::Custom(ident)
                if self.is(Dialect::Postgresql) && ident.quote_style == Some('\'') =>
            {
                match is_word(&ident.value) {
                    true => Ok(()),
                    false => {
                        Err(self.unsupported(format_args!("the unit `{ident}`"), ident.span.start))
                    }
                }
            }
            DateTimeField::Custom(ident) | DateTimeField::Week(Some(ident)) => self.ident(ident),
            _ => Ok(()),
        }
    }
}

/// Reserved words of T-SQL that begin a statement.
const T_SQL_STATEMENTS: [&str; 56] = [
    "ALTER",
    "BACKUP",
    "BEGIN",
    "BREAK",
    "BULK",
    "CHECKPOINT",
    "CLOSE",
    "COMMIT",
    "CONTINUE",
    "CREATE",
    "DBCC",
    "DEALLOCATE",
    "DECLARE",
    "DELETE",
    "DENY",
    "DISK",
    "DROP",
    "DUMP",
    "ELSE",
    "END",
    "EXEC",
    "EXECUTE",
    "EXIT",
    "FETCH",
    "GOTO",
    "GRANT",
    "IF",
    "INSERT",
    "KILL",
    "LINENO",
    "LOAD",
    "MERGE",
    "OPEN",
    "OPTION",
    "PRINT",
    "RAISERROR",
    "READTEXT",
    "RECONFIGURE",
    "RESTORE",
    "RETURN",
    "REVERT",
    "REVOKE",
    "ROLLBACK",
    "SAVE",
    "SELECT",
    "SET",
    "SETUSER",
    "SHUTDOWN",
    "TRUNCATE",
    "UPDATE",
    "UPDATETEXT",
    "USE",
    "WAITFOR",
    "WHILE",
    "WITH",
    "WRITETEXT",
];
