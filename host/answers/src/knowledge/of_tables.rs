//! What knowledge says about tables, as the search for tables wants it.

use std::collections::{HashMap, HashSet};

use mindhost_core::knowledge::Knowledge;
use mindhost_retrieval::{Document, Knowledge as OfTables, TableName};
use mindhost_sql::guard::Scope;

/// The entries that lead to tables of the scope: terms and metrics by their names and synonyms, verified queries by
/// their questions, relationships as joins. Instructions concern every question and lead nowhere.
pub(super) fn read(entries: &[&Knowledge], scope: &Scope) -> OfTables {
    let mut of_tables = OfTables::default();
    if entries.is_empty() {
        return of_tables;
    }
    let tables = Tables::of(scope);
    for entry in entries {
        let (texts, about) = match *entry {
            Knowledge::Instruction(_) => continue,
            Knowledge::Term(one) => {
                let table = one.table.as_deref().and_then(|name| tables.find(name));
                let mut texts = vec![one.name.as_str(), &one.meaning];
                texts.extend(one.synonyms.iter().map(String::as_str));
                (texts, Vec::from_iter(table))
            }
            Knowledge::Metric(one) => {
                let mut texts = vec![one.name.as_str()];
                texts.extend(one.description.as_deref());
                texts.extend(one.synonyms.iter().map(String::as_str));
                (texts, tables.named_in(&one.from))
            }
            Knowledge::VerifiedQuery(one) => {
                (vec![one.question.as_str()], tables.named_in(&one.sql))
            }
            Knowledge::Relationship(one) => {
                let both = (tables.find(&one.from_table), tables.find(&one.to_table));
                if let (Some(from), Some(to)) = both {
                    of_tables.joins.push([from.clone(), to.clone()]);
                }
                continue;
            }
        };
        if !about.is_empty() {
            of_tables.documents.push(Document {
                text: texts.join(" "),
                tables: about.into_iter().cloned().collect(),
            });
        }
    }
    of_tables
}

/// Tables by their own names in lower case.
struct Tables(HashMap<String, Vec<TableName>>);

impl Tables {
    fn of(scope: &Scope) -> Self {
        let mut tables: HashMap<String, Vec<TableName>> = HashMap::new();
        for datasource in &scope.datasources {
            for table in &datasource.tables {
                let name = TableName {
                    datasource: datasource.name.clone(),
                    schema: table.table.schema.clone(),
                    name: table.table.name.clone(),
                };
                tables
                    .entry(name.name.to_lowercase())
                    .or_default()
                    .push(name);
            }
        }
        Self(tables)
    }

    /// The one table that is called so, with or without its schema and datasource, in any case.
    fn find(&self, written: &str) -> Option<&TableName> {
        let written = written.to_lowercase();
        // A dot may be part of a name, so every rest of the text is tried as the table's own.
        let rests = written.match_indices('.').map(|(at, _)| &written[at + 1..]);
        let candidates = std::iter::once(&*written)
            .chain(rests)
            .filter_map(|own| self.0.get(own))
            .flatten();
        let mut found = candidates.filter(|table| is_called(table, &written));
        let first = found.next();
        first.filter(|_| found.next().is_none())
    }

    /// The tables whose own names stand in a statement. A column may be called like a table: that leads to one table
    /// more and to no wrong one.
    fn named_in(&self, sql: &str) -> Vec<&TableName> {
        let sql = sql.to_lowercase();
        let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
        let plain = sql.split(|letter| !is_part(letter));
        // Names with other letters are quoted: every second piece between quotes.
        let quoted = ['"', '`'].map(|quote| sql.split(quote).skip(1).step_by(2));
        let bracketed = sql.split('[').skip(1);
        let bracketed = bracketed.filter_map(|rest| rest.split(']').next());
        let names: HashSet<&str> = plain
            .chain(quoted.into_iter().flatten())
            .chain(bracketed)
            .collect();
        let mut named: Vec<&TableName> = names
            .iter()
            .filter_map(|name| self.0.get(*name))
            .flatten()
            .collect();
        // Sets have no order, and equal knowledge must be equal.
        named.sort_unstable_by_key(|table| (&table.datasource, &table.schema, &table.name));
        named
    }
}

fn is_called(table: &TableName, written: &str) -> bool {
    let [of, schema, name] =
        [&table.datasource, &table.schema, &table.name].map(|part| part.to_lowercase());
    written == name
        || written == format!("{schema}.{name}")
        || written == format!("{of}.{name}")
        || written == format!("{of}.{schema}.{name}")
}

#[cfg(test)]
mod tests {
    use mindhost_core::knowledge::yaml;
    use mindhost_plugin_api::{Dialect, TableRef};
    use mindhost_sql::guard::{ScopeDatasource, ScopeTable};

    use super::*;

    fn scope() -> Scope {
        let table =
            |&(schema, name): &(&str, &str)| ScopeTable::new(TableRef::new(schema, name), &[]);
        let datasource = |name: &str, tables: &[(&str, &str)]| {
            let tables = tables.iter().map(table).collect();
            ScopeDatasource::new(name, Dialect::Postgresql, tables)
        };
        let shop = [
            ("public", "orders"),
            ("public", "Order Items"),
            ("old", "orders"),
        ];
        Scope {
            datasources: vec![
                datasource("shop", &shop),
                datasource("crm", &[("public", "people")]),
            ],
        }
    }

    fn of(yaml: &str) -> OfTables {
        let entries = yaml::read(yaml.as_bytes()).unwrap();
        let entries: Vec<&Knowledge> = entries.iter().map(|entry| &entry.knowledge).collect();
        read(&entries, &scope())
    }

    fn full(table: &TableName) -> String {
        format!("{}.{}.{}", table.datasource, table.schema, table.name)
    }

    #[test]
    fn entries_lead_to_the_tables_that_they_name() {
        for (yaml, text, tables) in [
            (
                "terms: [{name: regular, synonyms: [loyal], meaning: Buys often., table: crm.people}]",
                "regular Buys often. loyal",
                vec!["crm.public.people"],
            ),
            (
                "metrics: [{name: revenue, expression: sum(price), from: '\"Order Items\"'}]",
                "revenue",
                vec!["shop.public.Order Items"],
            ),
            (
                "verified_queries: [{question: How many?, sql: SELECT count(*) FROM PEOPLE AS orders_}]",
                "How many?",
                vec!["crm.public.people"],
            ),
        ] {
            let documents = of(yaml).documents;
            assert_eq!(documents.len(), 1, "{yaml}");
            assert_eq!(documents[0].text, text);
            assert_eq!(
                documents[0].tables.iter().map(full).collect::<Vec<_>>(),
                tables
            );
        }
    }

    #[test]
    fn name_of_several_tables_leads_to_none_of_them_by_itself() {
        let term = |table: &str| of(&format!("terms: [{{name: a, meaning: b, table: {table}}}]"));
        assert_eq!(term("orders"), OfTables::default());
        assert_eq!(
            full(&term("old.orders").documents[0].tables[0]),
            "shop.old.orders"
        );
    }

    #[test]
    fn relationships_become_joins() {
        let joins = of(
            "relationships: [{name: a, from_table: old.orders, from_columns: [who], \
                        to_table: shop.public.order items, to_columns: [id]}]",
        )
        .joins;
        assert_eq!(
            joins[0].each_ref().map(full),
            ["shop.old.orders", "shop.public.Order Items"]
        );
    }

    #[test]
    fn instructions_and_what_names_no_table_lead_nowhere() {
        let none =
            of("instructions: [{name: a, text: orders}]\nterms: [{name: c, meaning: orders}]");
        assert_eq!(none, OfTables::default());
    }
}
