//! The names of a session: the tables of its source, and nothing else.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use datafusion::{
    catalog::{CatalogProvider, CatalogProviderList, SchemaProvider, TableProvider},
    common::{DataFusionError, Result},
    execution::object_store::ObjectStoreRegistry,
    object_store::ObjectStore,
};
use url::Url;

use super::{
    errors::external,
    names::{CATALOG, NO_SCHEMA},
    reader::Reader,
    table::ScannedTable,
};
use mindhost_base::error::Kind;
use mindhost_plugin_api::TableRef;

/// The catalog of one statement.
#[derive(Clone)]
pub struct Catalog(pub Reader);

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Catalog")
    }
}

impl CatalogProviderList for Catalog {
    fn register_catalog(
        &self,
        _: String,
        _: Arc<dyn CatalogProvider>,
    ) -> Option<Arc<dyn CatalogProvider>> {
        None
    }

    fn catalog_names(&self) -> Vec<String> {
        vec![CATALOG.to_owned()]
    }

    fn catalog(&self, name: &str) -> Option<Arc<dyn CatalogProvider>> {
        (name == CATALOG).then(|| Arc::new(self.clone()) as _)
    }
}

impl CatalogProvider for Catalog {
    fn schema_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        (name != NO_SCHEMA).then(|| {
            Arc::new(Schema {
                name: name.to_owned(),
                reader: self.0.clone(),
            }) as _
        })
    }
}

struct Schema {
    name: String,
    reader: Reader,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", self.name)
    }
}

#[async_trait]
impl SchemaProvider for Schema {
    fn table_names(&self) -> Vec<String> {
        Vec::new()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let table = TableRef {
            schema: self.name.clone(),
            name: name.to_owned(),
        };
        match self.reader.columns(&table).await {
            Ok(columns) => Ok(Some(Arc::new(ScannedTable::new(
                columns,
                self.reader.table(table),
            )))),
            Err(error) if error.kind() == Kind::NotFound => Ok(None),
            Err(error) => Err(external(error)),
        }
    }

    fn table_exist(&self, _: &str) -> bool {
        false
    }
}

/// A registry without object stores.
#[derive(Debug)]
pub struct NoStores;

impl ObjectStoreRegistry for NoStores {
    fn register_store(&self, _: &Url, _: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        None
    }

    fn deregister_store(&self, _: &Url) -> Result<Arc<dyn ObjectStore>> {
        Err(none())
    }

    fn get_store(&self, _: &Url) -> Result<Arc<dyn ObjectStore>> {
        Err(none())
    }
}

fn none() -> DataFusionError {
    DataFusionError::Plan(String::from("there are no files here"))
}
