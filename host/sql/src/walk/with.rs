//! The names of a WITH.

use sqlparser::ast::{Cte, With};

use super::{Walk, weight::MAX_CTES};
use mindhost_base::error::{Code, Result};
use mindhost_plugin_api::Dialect;

impl Walk<'_> {
    /// Brings the names of a WITH into scope just as far as the engine does. A name that were in scope here and not
    /// there would be looked up as a table by the engine, unseen by the guard.
    pub(super) fn with(&mut self, with: &mut With) -> Result<()> {
        let With {
            with_token,
            recursive,
            cte_tables,
        } = with;
        if *recursive && self.is(Dialect::Clickhouse) {
            return Err(self.error(
                Code::SqlNotSupported,
                "WITH RECURSIVE is refused over ClickHouse, where some versions read a table that has the name; write \
                 one join for each level, or make rows with numbers(n)",
                with_token.0.span.start,
            ));
        }
        let mut names = Vec::with_capacity(cte_tables.len());
        for cte in cte_tables.iter() {
            let name = &cte.alias.name;
            // These look for a table with its schema among these names too, by its text: `files.orders`. The name would
            // take the place of the table, unseen by the guard: in the relation of a policy, and in the weights.
            let is_by_text = self.is(Dialect::Datafusion) || self.is(Dialect::Clickhouse);
            if is_by_text && name.value.contains('.') {
                return Err(self.unsupported(
                    format_args!("a full stop in the name `{}` of a WITH", name.value),
                    name.span.start,
                ));
            }
            let Some(weight) = self.weights.name() else {
                return Err(self.error(
                    Code::SqlNotSupported,
                    format!("a statement may have at most {MAX_CTES} names in WITH; combine some of them"),
                    cte.alias.name.span.start,
                ));
            };
            names.push((self.fold(&cte.alias.name), weight));
        }
        let whole_list = match self.rules.dialect {
            Dialect::Sqlite => true,
            Dialect::Postgresql => *recursive,
            Dialect::Mysql
            | Dialect::Mssql
            | Dialect::Clickhouse
            | Dialect::Trino
            | Dialect::Generic
            | Dialect::Datafusion => false,
        };
        let itself = match self.rules.dialect {
            Dialect::Mssql => true,
            _ => *recursive,
        };
        // Elsewhere than behind a UNION ALL these look for a table of the name. The others refuse it there.
        let begins_as_table = matches!(
            self.rules.dialect,
            Dialect::Trino | Dialect::Generic | Dialect::Datafusion
        );
        if whole_list {
            self.ctes.extend(names.iter().cloned());
        }
        for (cte, name) in cte_tables.iter_mut().zip(names) {
            let weight = name.1;
            if whole_list {
                self.cte(cte, weight)?;
            } else if itself && begins_as_table {
                self.recursive = Some(name.clone());
                self.cte(cte, weight)?;
                self.ctes.push(name);
            } else if itself {
                self.ctes.push(name);
                self.cte(cte, weight)?;
            } else {
                self.cte(cte, weight)?;
                self.ctes.push(name);
            }
        }
        Ok(())
    }

    fn cte(&mut self, cte: &mut Cte, weight: usize) -> Result<()> {
        let Cte {
            alias,
            query,
            from,
            materialized: _,
            closing_paren_token: _,
        } = cte;
        self.none(from.as_ref(), "FROM behind a CTE")?;
        self.table_alias(alias)?;
        // Here AS follows the name.
        alias.explicit = false;
        self.query(query)?;
        self.weights.define(weight, !alias.columns.is_empty());
        Ok(())
    }
}
