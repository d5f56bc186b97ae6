//! Datasources over real databases.

use serde_json::{Value, json};

use crate::{Host, PostgresDatabase, Reply};

/// A datasource of a running host.
#[derive(Clone, Debug)]
pub struct Datasource {
    host: Host,
    /// Its name.
    pub name: String,
}

impl Host {
    /// Writes an SQLite database from SQL text to where the workspace may read files, and connects it.
    pub async fn sqlite(&self, name: &str, sql: &str) -> Datasource {
        self.write_sqlite(&format!("{name}.db"), sql);
        self.datasource(name, "sqlite", json!({"path": format!("{name}.db")}))
            .await
    }

    /// Connects a PostgreSQL database.
    pub async fn postgres(&self, name: &str, database: &PostgresDatabase) -> Datasource {
        self.datasource(name, "postgres", database.connection_data())
            .await
    }

    /// Connects any engine.
    pub async fn datasource(&self, name: &str, engine: &str, connection_data: Value) -> Datasource {
        let body = json!({"name": name, "engine": engine, "connection_data": connection_data});
        self.post("/datasources", body).await.expect_status(201);
        Datasource {
            host: self.clone(),
            name: name.to_owned(),
        }
    }

    /// Writes an SQLite database among the files of the workspace `default`, or adds to it.
    pub fn write_sqlite(&self, file: &str, sql: &str) {
        let folder = self.files_dir();
        std::fs::create_dir_all(&folder).expect("a folder for files of the workspace");
        let database = rusqlite::Connection::open(folder.join(file)).expect("a new database");
        database.execute_batch(sql).expect("SQL of the fixture");
    }
}

impl Datasource {
    /// The host that it belongs to.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The path of its catalog, to which a test adds.
    pub fn catalog_path(&self) -> String {
        format!("/datasources/{}/catalog", self.name)
    }

    /// The stored catalog.
    pub async fn catalog(&self) -> Value {
        self.host
            .get(&self.catalog_path())
            .await
            .expect_status(200)
            .json()
    }

    /// One table of the stored catalog.
    ///
    /// # Panics
    /// When it is not there.
    pub async fn table(&self, name: &str) -> Value {
        let catalog = self.catalog().await;
        let tables = catalog["tables"].as_array().expect("an array of tables");
        let found = tables.iter().find(|table| table["name"] == name);
        found
            .unwrap_or_else(|| panic!("no table {name} in {catalog}"))
            .clone()
    }

    /// Loads or refreshes the whole catalog and waits until the run has ended.
    pub async fn refresh(&self, body: Value) -> Reply {
        self.host
            .post(&format!("{}/refresh?wait=60", self.catalog_path()), body)
            .await
    }

    /// Loads the whole catalog; fails unless the run completes.
    pub async fn load(&self) -> Value {
        let catalog = self.refresh(json!({})).await.expect_status(200).json();
        assert_eq!(
            catalog["status"]["overall_status"], "COMPLETED",
            "{catalog}"
        );
        catalog
    }
}
