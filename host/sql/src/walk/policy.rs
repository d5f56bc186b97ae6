//! Tables that have a policy: its relation takes their place.

use sqlparser::{
    ast::{Ident, TableAlias, TableFactor},
    tokenizer::Location,
};

use super::{Mode, Walk};
use crate::{names::ResolvedTable, table_policy::TablePolicy};
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::{Dialect, TableRef};

impl<'a> Walk<'a> {
    /// Records a table that has a policy, and walks over the relation of the policy like over the caller's SQL.
    pub(super) fn policed_table(
        &mut self,
        found: ResolvedTable<'a>,
        policy: &TablePolicy,
    ) -> Result<()> {
        self.policed = true;
        let mut relation = Box::new(policy.relation(found.table)?.clone());
        if self.mode != Mode::Engine {
            self.tables.push(found);
            self.weights.table();
            return Ok(());
        }
        self.within_policy = Some(found);
        let attributes = self.attributes.len();
        let walked = self.query(&mut relation);
        self.attributes.truncate(attributes);
        self.within_policy = None;
        // Positions in the relation are none in the caller's text.
        walked.map_err(|error| Error::new(error.code(), error.message().to_owned()))?;
        self.weights.is_source(None, false);
        self.replacement = Some(relation);
        Ok(())
    }

    /// Puts the relation of a policy in place of its table. It gets the alias of the table, or its name.
    pub(super) fn apply_policy(&mut self, factor: &mut TableFactor) -> Result<()> {
        let Some(relation) = self.replacement.take() else {
            return Ok(());
        };
        let TableFactor::Table {
            name,
            alias,
            sample,
            ..
        } = factor
        else {
            return Err(Error::internal("a policy of something that is no table"));
        };
        if sample.is_some() {
            return Err(
                self.unsupported("a sample of a table that has a policy", Location::empty())
            );
        }
        let alias = match alias.take() {
            Some(alias) if self.is_word_of_clickhouse(&alias) => {
                let message =
                    format_args!("{} behind a table that has a policy", alias.name).to_string();
                return Err(self.unsupported(message, alias.name.span.start));
            }
            Some(alias) => alias,
            None => TableAlias {
                explicit: true,
                name: name
                    .0
                    .last()
                    .and_then(|part| part.as_ident().cloned())
                    .ok_or_else(|| Error::internal("a table without a name"))?,
                columns: Vec::new(),
                at: None,
            },
        };
        *factor = TableFactor::Derived {
            lateral: false,
            subquery: relation,
            alias: Some(alias),
            sample: None,
        };
        Ok(())
    }

    /// FINAL and ANY, which the parser takes for aliases.
    fn is_word_of_clickhouse(&self, alias: &TableAlias) -> bool {
        self.is(Dialect::Clickhouse) && alias.name.quote_style.is_none()
    }

    /// Records what a name in FROM means. Within a policy there is only its own table.
    pub(super) fn calls(&mut self, name: Option<&str>, table: Option<&'a TableRef>) {
        if let (Some(name), None) = (name, self.within_policy) {
            self.called.push((name.to_owned(), table));
        }
    }

    /// Refuses the name of a table with its schema where the table alone may mean something else: the relation of a
    /// policy has no schema.
    fn is_only_meaning(&self, table: &TableRef, at: Location) -> Result<()> {
        let is_other = |(name, meant): &(String, Option<&TableRef>)| {
            name.eq_ignore_ascii_case(&table.name) && *meant != Some(table)
        };
        if !self.called.iter().any(is_other) {
            return Ok(());
        }
        let message = format!(
            "`{table}` has a policy, and something else in this statement is called `{}` too; give the table an alias in \
             FROM, and write that before its columns",
            table.name
        );
        Err(self.error(Code::SqlNotSupported, message, at))
    }

    /// Turns `schema.table` into `table` where the relation of a policy has that name now. `behind` parts follow.
    pub(super) fn without_schema(&self, parts: &mut Vec<Ident>, behind: usize) -> Result<()> {
        if self.mode != Mode::Engine || parts.len() != behind + 2 {
            return Ok(());
        }
        let [schema, table, ..] = parts.as_slice() else {
            return Ok(());
        };
        let policed = |in_any_case| {
            let same =
                |written: &Ident, stored: &str| self.rules.is_table(written, stored, in_any_case);
            self.tables.iter().find(|found| {
                found.policy.is_some()
                    && same(schema, &found.table.schema)
                    && same(table, &found.table.name)
            })
        };
        if let Some(found) = policed(false) {
            self.is_only_meaning(found.table, schema.span.start)?;
            let name = self.stored(&found.table.name, table.span.start)?;
            parts.remove(0);
            if let Some(slot) = parts.first_mut() {
                *slot = name;
            }
        } else if let Some(found) = policed(true) {
            // FROM keeps the case that it was written in.
            self.is_only_meaning(found.table, schema.span.start)?;
            parts.remove(0);
        }
        Ok(())
    }
}
