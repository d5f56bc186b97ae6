//! The migrations, embedded. Each exists for both databases under the same name.

use std::borrow::Cow;

use sqlx::{
    SqlSafeStr,
    migrate::{Migration, MigrationType, Migrator},
};

use super::Backend;

/// `(version, name, SQLite, PostgreSQL)`
type Pair = (i64, &'static str, &'static str, &'static str);

macro_rules! pair {
    ($version:literal, $name:literal) => {
        (
            $version,
            $name,
            include_str!(concat!("../migrations/sqlite/", $name, ".sql")),
            include_str!(concat!("../migrations/postgres/", $name, ".sql")),
        )
    };
}

const ALL: &[Pair] = &[
    pair!(1, "0001_initial"),
    pair!(2, "0002_response_limits"),
    pair!(3, "0003_active_plugins"),
    pair!(4, "0004_usage"),
    pair!(5, "0005_idempotency"),
    pair!(6, "0006_rollouts"),
    pair!(7, "0007_plugin_usage"),
    pair!(8, "0008_responses_stopped"),
    pair!(9, "0009_audit_mind"),
    pair!(10, "0010_served_plugins"),
    pair!(11, "0011_proofs_and_folders"),
    pair!(12, "0012_bounds"),
    pair!(13, "0013_response_settings"),
    pair!(14, "0014_knowledge"),
    pair!(15, "0015_policies"),
    pair!(16, "0016_evaluations"),
    pair!(17, "0017_answer_steps"),
    pair!(18, "0018_request_ids"),
    pair!(19, "0019_key_policies"),
    pair!(20, "0020_message_origins"),
];

/// The version of a store that is up to date.
pub(super) fn newest() -> i64 {
    ALL.iter().map(|(version, ..)| *version).max().unwrap_or(0)
}

/// What brings a store of this kind up to a version.
pub(super) fn migrator(backend: Backend, version: i64) -> Migrator {
    let migrations = ALL
        .iter()
        .filter(|(one, ..)| *one <= version)
        .map(|(version, name, sqlite, postgres)| {
            let sql = match backend {
                Backend::Sqlite => *sqlite,
                Backend::Postgres => *postgres,
            };
            let description = Cow::Borrowed(name.split_once('_').map_or(*name, |(_, rest)| rest));
            Migration::new(
                *version,
                description,
                MigrationType::Simple,
                sql.into_sql_str(),
                false,
            )
        })
        .collect();
    Migrator::with_migrations(migrations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_migration_file_is_embedded_and_exists_for_both_databases() {
        let folder = |kind: &str| {
            let path = format!("{}/migrations/{kind}", env!("CARGO_MANIFEST_DIR"));
            let mut names: Vec<_> = std::fs::read_dir(path)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        let embedded: Vec<_> = ALL
            .iter()
            .map(|(_, name, ..)| format!("{name}.sql"))
            .collect();
        assert_eq!(folder("sqlite"), embedded);
        assert_eq!(folder("postgres"), embedded);
    }

    #[test]
    fn both_databases_get_the_same_statements_but_for_the_names_of_types() {
        for (_, name, sqlite, postgres) in ALL {
            let translated = sqlite
                .replace(" INTEGER", " BIGINT")
                .replace(" BLOB", " BYTEA")
                .replace(" REAL", " DOUBLE PRECISION")
                .replace(") STRICT;", ");");
            assert_eq!(&translated, postgres, "{name}");
        }
    }
}
