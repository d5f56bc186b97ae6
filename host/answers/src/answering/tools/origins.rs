//! Where the values come from that a model writes into statements and answers.

use std::collections::HashSet;

use super::Toolbox;
use crate::{
    answering::earlier_answers::of_id,
    conversations::ReadFrom,
    results::{AcceptedStatement, Access},
};
use mindhost_base::{
    error::{Code, Error, Result},
    locks::lock,
};
use mindhost_sql::outline::{self, Outline};

impl Toolbox<'_> {
    /// Whether the model may have read of several datasources, also if the Mind has only one of them by now.
    pub(in crate::answering) fn has_origins(&self) -> bool {
        self.has_others || self.rights.begun.datasources.len() > 1
    }

    /// Checks that a statement brings no datasource what was read in another one: in constants, which may reach each of
    /// its datasources, or in names that it gives.
    ///
    /// # Errors
    /// `sql_literal_not_allowed`; `sql_not_supported` where the names cannot be read.
    pub(super) async fn check_origins(
        &self,
        accepted: &AcceptedStatement,
        access: &Access,
        sql: &str,
    ) -> Result<()> {
        let (text, dialect) = (sql.to_owned(), accepted.dialect());
        // A statement may be long, and the positions in it take time.
        let outline = tokio::task::spawn_blocking(move || outline::outline(&text, dialect));
        let outline = outline.await.map_err(Error::internal)?.ok_or_else(|| {
            Error::new(
                Code::SqlNotSupported,
                "the names in this statement cannot be compared with what was read; write it with fewer brackets in \
                 one another",
            )
        })?;
        let names = given_names(&outline, access);
        let literals = accepted.literals();
        let provenance = lock(&self.provenance);
        for datasource in accepted.datasources() {
            provenance.check(datasource, &literals)?;
            provenance.check_names(datasource, &names)?;
        }
        Ok(())
    }

    /// Where the text of an answer was read, whose statement reads these datasources.
    pub(in crate::answering) fn read_from(&self, text: &str, statement: &[String]) -> ReadFrom {
        let mind = self.rights.begun;
        let datasources = match &mind.datasources[..] {
            [only] => vec![only.id.clone()],
            _ => statement.to_vec(),
        };
        let one = match &datasources[..] {
            [id] if self.has_origins() => of_id(mind, id),
            _ => None,
        };
        let others = one.map(|one| lock(&self.provenance).brought(&one.name, text));
        ReadFrom {
            others: others.unwrap_or_default(),
            datasources,
        }
    }
}

/// The names that a statement gives or writes for a column, without those that it may read. The engine gets the name of
/// a column that it does not have, too, and may log it.
fn given_names(outline: &Outline, access: &Access) -> Vec<String> {
    let mut known = HashSet::new();
    for table in access.scope.datasources.iter().flat_map(|one| &one.tables) {
        known.insert(table.table.name.to_lowercase());
        known.extend(table.columns.iter().map(|column| column.to_lowercase()));
    }
    let aliases = outline.tables().filter_map(|table| table.alias.as_ref());
    let columns = outline.columns.iter().flat_map(|column| {
        let qualifier = column.qualifier.iter();
        qualifier.chain([&column.name]).map(|name| &name.text)
    });
    let given = outline.defined.iter().chain(aliases).chain(columns);
    let given = given.map(|name| name.to_lowercase());
    let given: HashSet<String> = given.filter(|name| !known.contains(name)).collect();
    given.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answering::tools::find_values::tests::scope;
    use mindhost_plugin_api::Dialect;

    #[test]
    fn names_of_columns_that_are_not_in_the_catalog_are_given_names() {
        let access = Access::of(scope(Dialect::Sqlite, &["id", "label"]));
        let sql = "SELECT t.Id, ann_miller, secret.label AS wanted FROM t AS x WHERE harper > id";
        let outline = outline::outline(sql, Dialect::Sqlite).unwrap();
        let mut names = given_names(&outline, &access);
        names.sort();
        assert_eq!(names, ["ann_miller", "harper", "secret", "wanted", "x"]);
    }
}
