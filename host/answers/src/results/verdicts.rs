//! Statements that the guard let through a moment ago.
//!
//! Whether a statement passes depends on its text and on what its Mind lets it see, and on nothing else: where both are
//! the same, so is the verdict. What a Mind lets a statement see is loaded anew after every change, and its verdicts go
//! with it. Only what passed is remembered; a refusal is found anew each time.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, Weak},
};

use tokio::sync::Semaphore;

use super::Access;
use mindhost_base::{
    error::{Error, Result},
    locks,
};
use mindhost_sql::guard::{Guarded, guard};

/// Verdicts that are remembered. One that falls on the place of another takes it.
const PLACES: usize = 512;
/// Longer statements take their time anyway.
const MAX_TEXT: usize = 4 << 10;
/// Longer statements are guarded on threads where they hold nobody up.
const LONG_TEXT: usize = 16 << 10;

/// A memory for verdicts, of fixed size.
#[derive(Debug)]
pub struct Verdicts {
    hasher: RandomState,
    places: Box<[Mutex<Option<Verdict>>]>,
    /// Permits to guard long statements: one a processor.
    long: Arc<Semaphore>,
}

#[derive(Debug)]
struct Verdict {
    /// As long as this is here, no other access can lie at its address.
    access: Weak<Access>,
    sql: Box<str>,
    guarded: Arc<Guarded>,
}

impl Default for Verdicts {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            places: (0..PLACES).map(|_| Mutex::default()).collect(),
            long: Arc::new(Semaphore::new(
                std::thread::available_parallelism().map_or(1, usize::from),
            )),
        }
    }
}

impl Verdicts {
    /// What [`guard`] says of the statement. A long statement that nobody waits for any more is not begun.
    ///
    /// # Errors
    /// Those of the guard.
    pub async fn of(&self, access: &Arc<Access>, sql: &str) -> Result<Arc<Guarded>> {
        if sql.len() > LONG_TEXT {
            return self.long(Arc::clone(access), sql.to_owned()).await;
        }
        self.short(access, sql)
    }

    async fn long(&self, access: Arc<Access>, sql: String) -> Result<Arc<Guarded>> {
        let permit = Arc::clone(&self.long).acquire_owned().await;
        let permit = permit.map_err(Error::internal)?;
        let guarded = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            guard(&sql, &access.scope)
        });
        guarded.await.map_err(Error::internal)?.map(Arc::new)
    }

    fn short(&self, access: &Arc<Access>, sql: &str) -> Result<Arc<Guarded>> {
        if sql.len() > MAX_TEXT {
            return guard(sql, &access.scope).map(Arc::new);
        }
        let of = Arc::downgrade(access);
        let hash = self.hasher.hash_one((of.as_ptr(), sql));
        let place = &self.places[hash as usize % self.places.len()];
        if let Some(verdict) = &*locks::lock(place)
            && verdict.access.ptr_eq(&of)
            && *verdict.sql == *sql
        {
            return Ok(Arc::clone(&verdict.guarded));
        }
        let guarded = Arc::new(guard(sql, &access.scope)?);
        *locks::lock(place) = Some(Verdict {
            access: of,
            sql: sql.into(),
            guarded: Arc::clone(&guarded),
        });
        Ok(guarded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_base::error::Code;
    use mindhost_plugin_api::{Dialect, Paging, TableRef};
    use mindhost_sql::guard::{Scope, ScopeDatasource, ScopeTable};

    fn access(tables: &[&str]) -> Arc<Access> {
        let table = |name: &&str| ScopeTable {
            table: TableRef {
                schema: "public".into(),
                name: (*name).into(),
            },
            columns: vec!["id".into()],
        };
        Arc::new(Access::of(Scope {
            datasources: vec![ScopeDatasource {
                id: "1".into(),
                name: "shop".into(),
                dialect: Dialect::Postgresql,
                tables: tables.iter().map(table).collect(),
                function_schemas: Vec::new(),
                paging: Paging::Sql,
            }],
        }))
    }

    const ITEMS: &str = "SELECT id FROM item";

    #[tokio::test]
    async fn a_statement_that_passed_is_not_looked_at_again() {
        let (verdicts, access) = (Verdicts::default(), access(&["item"]));
        let first = verdicts.of(&access, ITEMS).await.unwrap();
        let again = verdicts.of(&access, ITEMS).await.unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        let other = verdicts.of(&access, "SELECT id FROM item WHERE id = 1");
        assert_ne!(first.text(), other.await.unwrap().text());
    }

    #[tokio::test]
    async fn what_one_mind_may_see_says_nothing_of_another() {
        let verdicts = Verdicts::default();
        let mut seeing = access(&["item"]);
        for _ in 0..100 {
            assert!(verdicts.of(&seeing, ITEMS).await.is_ok());
            // The next one may lie where this one lay.
            drop(seeing);
            let blind = access(&["order"]);
            let refused = verdicts.of(&blind, ITEMS).await.unwrap_err();
            assert_eq!(refused.code(), Code::SqlTableNotAllowed);
            drop(blind);
            seeing = access(&["item"]);
        }
    }

    #[tokio::test]
    async fn long_statements_pass_too() {
        let (verdicts, access) = (Verdicts::default(), access(&["item"]));
        for length in [MAX_TEXT, LONG_TEXT] {
            let sql = format!("{ITEMS} WHERE id IN (1{})", ", 1".repeat(length / 3));
            assert!(verdicts.of(&access, &sql).await.is_ok());
        }
        assert!(
            verdicts
                .places
                .iter()
                .all(|place| locks::lock(place).is_none())
        );
    }

    #[tokio::test(flavor = "current_thread")]
    async fn long_statement_does_not_hold_the_thread_of_others_up() {
        let (verdicts, access) = (Verdicts::default(), access(&["item"]));
        let sql = format!("{ITEMS} WHERE id IN (1{})", ", 1".repeat(LONG_TEXT / 3));
        let mut guarding = std::pin::pin!(verdicts.of(&access, &sql));
        // Guarded on this thread, it would be ready at once.
        assert!(futures_util::poll!(&mut guarding).is_pending());
        assert!(guarding.await.is_ok());
    }
}
