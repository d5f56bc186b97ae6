//! Statements that the guard let through a moment ago.
//!
//! Whether a statement passes depends on its text and on what its Mind lets it see, and on nothing else: where both are
//! the same, so is the verdict. What a Mind lets a statement see is loaded anew after every change, and its verdicts go
//! with it. Only what passed is remembered; a refusal is found anew each time.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, Weak},
};

use super::Access;
use crate::{
    error::Result,
    locks,
    sql::guard::{Guarded, guard},
};

/// Verdicts that are remembered. One that falls on the place of another takes it.
const PLACES: usize = 512;
/// Longer statements take their time anyway.
const MAX_TEXT: usize = 4 << 10;

/// A memory for verdicts, of fixed size.
#[derive(Debug)]
pub struct Verdicts {
    hasher: RandomState,
    places: Box<[Mutex<Option<Verdict>>]>,
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
        }
    }
}

impl Verdicts {
    /// What [`guard`] says of the statement.
    ///
    /// # Errors
    /// Those of the guard.
    pub fn of(&self, access: &Arc<Access>, sql: &str) -> Result<Arc<Guarded>> {
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
    use crate::{
        error::Code,
        plugins::{Dialect, Paging, TableRef},
        sql::guard::{Scope, ScopeDatasource, ScopeTable},
    };

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

    #[test]
    fn a_statement_that_passed_is_not_looked_at_again() {
        let (verdicts, access) = (Verdicts::default(), access(&["item"]));
        let first = verdicts.of(&access, ITEMS).unwrap();
        assert!(Arc::ptr_eq(&first, &verdicts.of(&access, ITEMS).unwrap()));
        let other = verdicts.of(&access, "SELECT id FROM item WHERE id = 1");
        assert_ne!(first.text(), other.unwrap().text());
    }

    #[test]
    fn what_one_mind_may_see_says_nothing_of_another() {
        let verdicts = Verdicts::default();
        let mut seeing = access(&["item"]);
        for _ in 0..100 {
            assert!(verdicts.of(&seeing, ITEMS).is_ok());
            // The next one may lie where this one lay.
            drop(seeing);
            let blind = access(&["order"]);
            let refused = verdicts.of(&blind, ITEMS).unwrap_err();
            assert_eq!(refused.code(), Code::SqlTableNotAllowed);
            drop(blind);
            seeing = access(&["item"]);
        }
    }

    #[test]
    fn long_statements_pass_too() {
        let (verdicts, access) = (Verdicts::default(), access(&["item"]));
        let sql = format!("{ITEMS} WHERE id IN (1{})", ", 1".repeat(MAX_TEXT));
        assert!(verdicts.of(&access, &sql).is_ok());
        assert!(
            verdicts
                .places
                .iter()
                .all(|place| locks::lock(place).is_none())
        );
    }
}
