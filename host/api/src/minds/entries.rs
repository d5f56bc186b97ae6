//! The entries of `datasources` in a request, and what they mean.

use std::{fmt, sync::Arc};

use axum::extract::FromRef;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema, schema::OneOfBuilder},
};

use crate::AppState;
use mindhost_base::error::{Code, Error, Result};
use mindhost_catalog::{Catalog, Source};
use mindhost_core::{
    auth::Caller,
    datasources::Datasources,
    minds::{MindDatasource, Minds},
};
use mindhost_plugin_api::TableRef;

/// A datasource with all its tables, or with some.
#[derive(Debug)]
pub(crate) struct Entry {
    name: String,
    tables: Option<Vec<String>>,
}

/// The second form of an entry.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct WithTables {
    /// Name of the datasource.
    name: String,
    /// Its tables, as `schema.table` or by their bare names where these are unique; all of them unless given.
    #[schema(min_items = 1)]
    tables: Option<Vec<String>>,
}

impl PartialSchema for Entry {
    fn schema() -> RefOr<Schema> {
        OneOfBuilder::new()
            .description(Some("A datasource with all its tables, or with some."))
            .item(String::schema())
            .item(WithTables::schema())
            .into()
    }
}

impl ToSchema for Entry {
    fn name() -> std::borrow::Cow<'static, str> {
        "MindDatasourceEntry".into()
    }
}

/// Written by hand, so that a mistake inside of the object is named and not only that no form fits.
impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntryVisitor;
        impl<'de> Visitor<'de> for EntryVisitor {
            type Value = Entry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a datasource, or an object with `name` and `tables`")
            }

            fn visit_str<E>(self, name: &str) -> Result<Entry, E> {
                Ok(Entry {
                    name: name.to_owned(),
                    tables: None,
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entry, A::Error> {
                let object = WithTables::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Entry {
                    name: object.name,
                    tables: object.tables,
                })
            }
        }
        deserializer.deserialize_any(EntryVisitor)
    }
}

/// Finds what entries name.
#[derive(Clone)]
pub(crate) struct Resolver {
    datasources: Arc<Datasources>,
    catalog: Arc<Catalog>,
    minds: Arc<Minds>,
}

impl FromRef<AppState> for Resolver {
    fn from_ref(state: &AppState) -> Self {
        Self {
            datasources: state.datasources.clone(),
            catalog: state.catalog.clone(),
            minds: state.minds.clone(),
        }
    }
}

impl Resolver {
    /// The datasources and tables that the entries name, among those that the caller sees.
    ///
    /// # Errors
    /// `unknown_datasource`, `unknown_table`, `ambiguous_table`; `forbidden` for all tables of a datasource of which
    /// the caller sees some.
    pub(crate) async fn resolve(
        &self,
        caller: &Caller,
        entries: Vec<Entry>,
    ) -> Result<Vec<MindDatasource>> {
        let mut found = Vec::with_capacity(entries.len());
        for (index, entry) in entries.into_iter().enumerate() {
            found.push(self.one(caller, index, entry).await?);
        }
        Ok(found)
    }

    async fn one(&self, caller: &Caller, index: usize, entry: Entry) -> Result<MindDatasource> {
        let datasource = self
            .datasources
            .get(caller, &entry.name)
            .await
            .map_err(|error| match error.code() {
                Code::DatasourceNotFound => Error::new(Code::UnknownDatasource, error.message())
                    .param(format!("datasources[{index}]")),
                _ => error,
            })?;
        let seen = self.minds.visible_tables(caller, &datasource.id).await?;
        let tables = match entry.tables {
            None if seen.is_some() => return Err(sees_some(index)),
            None => None,
            Some(names) => {
                let source = Source::from(&datasource).limited_to(seen.as_deref());
                Some(self.tables(source, index, &names).await?)
            }
        };
        Ok(MindDatasource {
            id: datasource.id,
            name: datasource.name,
            tables,
        })
    }

    async fn tables(
        &self,
        source: Source<'_>,
        index: usize,
        names: &[String],
    ) -> Result<Vec<TableRef>> {
        let param = format!("datasources[{index}].tables");
        if names.is_empty() {
            let message =
                format!("`{param}` is empty; name at least one table, or leave it out for all");
            return Err(Error::invalid(param, message));
        }
        let found = self.catalog.resolve(source, names).await;
        let mut tables = found.map_err(|error| error.param(param))?;
        tables.sort_unstable();
        tables.dedup();
        Ok(tables)
    }
}

fn sees_some(index: usize) -> Error {
    let message = "your key sees some tables of this datasource; name those that the Mind shall have in `tables`";
    Error::new(Code::Forbidden, message).param(format!("datasources[{index}].tables"))
}
