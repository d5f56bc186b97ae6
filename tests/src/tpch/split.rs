//! The tables in several datasources.

use super::load;
use crate::{Host, MariaDatabase, PostgresDatabase};

const CRM: [&str; 3] = ["customer", "orders", "lineitem"];
const STOCK: [&str; 2] = ["part", "partsupp"];
const WORLD: [&str; 3] = ["supplier", "nation", "region"];
/// What is not in `CRM`.
const SHOP: [&str; 5] = ["part", "partsupp", "supplier", "nation", "region"];

/// Where the tables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// `crm` in PostgreSQL, `shop` in Parquet files.
    PostgresParquet,
    /// `crm` in MariaDB, `shop` in PostgreSQL.
    MariadbPostgres,
    /// `crm` in PostgreSQL, `stock` in SQLite, `world` in CSV files.
    PostgresSqliteCsv,
}

/// What a datasource is made of.
pub enum Source {
    /// A database of its own.
    Postgres(PostgresDatabase),
    /// A database of its own.
    MariaDb(MariaDatabase),
    /// Files in the host's folder.
    Files,
}

impl Split {
    /// The names of the datasources.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::PostgresParquet | Self::MariadbPostgres => &["crm", "shop"],
            Self::PostgresSqliteCsv => &["crm", "stock", "world"],
        }
    }

    /// A query of DuckDB in words that each of the datasources knows.
    pub fn adapted(self, number: u32, sql: &str) -> String {
        match self {
            Self::MariadbPostgres => super::adapted::for_mariadb(number, sql),
            Self::PostgresParquet | Self::PostgresSqliteCsv => sql.to_owned(),
        }
    }

    /// Makes the datasources, in the order of their names, and loads their catalogs.
    pub async fn load(self, host: &Host) -> Vec<Source> {
        match self {
            Self::PostgresParquet => {
                let crm = load::in_postgres(host, "crm", &CRM).await;
                load::in_parquet(host, "shop", &SHOP).await;
                vec![Source::Postgres(crm), Source::Files]
            }
            Self::MariadbPostgres => {
                let crm = load::in_mariadb(host, "crm", &CRM).await;
                let shop = load::in_postgres(host, "shop", &SHOP).await;
                vec![Source::MariaDb(crm), Source::Postgres(shop)]
            }
            Self::PostgresSqliteCsv => {
                let crm = load::in_postgres(host, "crm", &CRM).await;
                load::in_sqlite(host, "stock", &STOCK).await;
                load::in_csv(host, "world", &WORLD).await;
                vec![Source::Postgres(crm), Source::Files, Source::Files]
            }
        }
    }
}
