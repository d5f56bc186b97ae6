//! Search indexes of what Minds see. One is built when it is first needed and kept until the catalog changes.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use tokio::sync::OnceCell;

use super::{
    Catalog, ForeignKey, Table, View, ViewSource,
    store::{CatalogStore, CatalogVersion},
};
use mindhost_base::{
    error::{Error, Result},
    locks::lock,
};
use mindhost_retrieval::{self as retrieval, Index, Knowledge};
use mindhost_store::{ReadCache, Store};

/// Indexes that are kept, of different views.
const MAX_INDEXES: usize = 32;
/// Tables in all of them; about 10 KiB each. The newest index is kept whatever its size.
const MAX_TABLES: usize = 40_000;
/// Longest common value that is indexed and shown, in characters.
const MAX_VALUE: usize = 64;

/// Keeps indexes by view, so that a search need not read the catalog again until it changes.
#[derive(Debug)]
pub struct Indexes {
    /// By id of the datasource.
    versions: ReadCache<CatalogVersion>,
    /// Least recently used first.
    kept: Mutex<VecDeque<CachedIndex>>,
}

#[derive(Debug)]
struct CachedIndex {
    view: View,
    knowledge: Arc<Knowledge>,
    versions: Vec<CatalogVersion>,
    index: Arc<OnceCell<Arc<Index>>>,
}

impl Indexes {
    /// None yet.
    pub fn new(store: &Store) -> Self {
        Self {
            versions: ReadCache::new(store),
            kept: Mutex::default(),
        }
    }

    async fn versions(&self, store: &CatalogStore, view: &View) -> Result<Vec<CatalogVersion>> {
        let mut versions = Vec::with_capacity(view.sources.len());
        for source in &view.sources {
            versions.push(match self.versions.get(&source.id) {
                Some(version) => version,
                None => {
                    self.versions
                        .read(&source.id, store.version(&source.id))
                        .await?
                }
            });
        }
        Ok(versions)
    }

    /// The place of an index, filled or to be filled by its first user. One for an older catalog is dropped.
    fn place(
        &self,
        view: &View,
        knowledge: &Arc<Knowledge>,
        versions: Vec<CatalogVersion>,
    ) -> Arc<OnceCell<Arc<Index>>> {
        let mut kept = lock(&self.kept);
        let same = |one: &CachedIndex| one.view == *view && one.knowledge == *knowledge;
        let known = kept.iter().position(same).and_then(|at| kept.remove(at));
        let known = known.filter(|one| one.versions == versions);
        let used = known.unwrap_or_else(|| CachedIndex {
            view: view.clone(),
            knowledge: Arc::clone(knowledge),
            versions,
            index: Arc::default(),
        });
        let index = Arc::clone(&used.index);
        kept.push_back(used);
        shrink(&mut kept);
        index
    }
}

fn shrink(kept: &mut VecDeque<CachedIndex>) {
    let tables = |one: &CachedIndex| one.index.get().map_or(0, |index| index.tables().len());
    while kept.len() > 1
        && (kept.len() > MAX_INDEXES || kept.iter().map(tables).sum::<usize>() > MAX_TABLES)
    {
        kept.pop_front();
    }
}

impl Catalog {
    /// The index over the tables that a Mind sees, with what is known about them beside the catalog. Callers that want
    /// the same one at the same time wait for one build, which runs outside of the threads that serve requests.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn index(&self, view: &View, knowledge: &Arc<Knowledge>) -> Result<Arc<Index>> {
        let versions = self.indexes.versions(&self.store, view).await?;
        let place = self.indexes.place(view, knowledge, versions);
        let built = place.get_or_try_init(|| self.build(view, knowledge));
        Ok(Arc::clone(built.await?))
    }

    async fn build(&self, view: &View, knowledge: &Arc<Knowledge>) -> Result<Arc<Index>> {
        let mut seen: Vec<(ViewSource, Vec<Table>)> = Vec::with_capacity(view.sources.len());
        for source in &view.sources {
            let mut tables = self.visible(source).await?;
            self.store.fill(&mut tables).await?;
            source.restrictions.apply(&mut tables)?;
            seen.push((source.clone(), tables));
        }
        let knowledge = Arc::clone(knowledge);
        let build = move || {
            let mut tables = Vec::new();
            for (source, seen) in seen {
                for one in seen {
                    tables.push(table(&source, one)?);
                }
            }
            Ok(Arc::new(Index::new(tables, &knowledge)))
        };
        tokio::task::spawn_blocking(build)
            .await
            .map_err(Error::internal)?
    }
}

fn table(source: &ViewSource, table: Table) -> Result<retrieval::Table> {
    let columns = table.columns.into_iter().map(|column| {
        let values = match source.send_values {
            true => shown_values(column.statistics.read()?.most_common_values),
            false => Vec::new(),
        };
        Ok(retrieval::Column {
            name: column.name,
            data_type: column.data_type,
            description: column.description.text,
            values,
        })
    });
    Ok(retrieval::Table {
        datasource: source.name.clone(),
        columns: columns.collect::<Result<_>>()?,
        schema: table.table.schema,
        name: table.table.name,
        kind: table.kind,
        description: table.description.text,
        row_count: table.row_count,
        primary_key: (table.primary_key.into_iter())
            .map(|key| key.column_name)
            .collect(),
        foreign_keys: foreign_keys(&table.foreign_keys),
    })
}

/// Words among the common values. Numbers and dates lead to no table, and a long text is no value to compare with.
fn shown_values(common: Option<Vec<String>>) -> Vec<String> {
    let mut values = common.unwrap_or_default();
    values.retain(|value| value.chars().count() <= MAX_VALUE);
    let is_word = |value: &String| value.chars().any(char::is_alphabetic);
    match values.iter().any(is_word) {
        true => values,
        false => Vec::new(),
    }
}

fn foreign_keys(keys: &[ForeignKey]) -> Vec<retrieval::ForeignKey> {
    let by_constraint = |a: &ForeignKey, b: &ForeignKey| a.constraint_name == b.constraint_name;
    keys.chunk_by(by_constraint)
        .map(|keys| retrieval::ForeignKey {
            columns: keys.iter().map(|key| key.column_name.clone()).collect(),
            schema: keys[0].referenced_schema.clone(),
            table: keys[0].referenced_table.clone(),
            referenced: keys
                .iter()
                .map(|key| key.referenced_column.clone())
                .collect(),
        })
        .collect()
}
