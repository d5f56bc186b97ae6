//! The same rules hold whichever database keeps them.

use mindhost_tests::{Builder, Host, Postgres, PostgresDatabase};

/// A host that keeps its things in SQLite, and one that keeps them in PostgreSQL.
pub async fn both() -> [Host; 2] {
    both_with(|host| host).await
}

/// The same with some settings.
pub async fn both_with(set: impl Fn(Builder) -> Builder) -> [Host; 2] {
    let database = Postgres::shared().database("").await;
    [
        set(Host::builder()).start().await,
        set(on(&database)).start().await,
    ]
}

/// A host that keeps its things in this database.
pub fn on(database: &PostgresDatabase) -> Builder {
    let password = database.password.replace(' ', "%20");
    let url = format!(
        "postgres://{}:{password}@127.0.0.1:{}/{}",
        database.name, database.port, database.name
    );
    Host::builder().env("MINDHOST_DATABASE_URL", url)
}
