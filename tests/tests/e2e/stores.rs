//! The same rules hold whichever database keeps them.

use mindhost_tests::{Builder, Host, Postgres};

/// A host that keeps its things in SQLite, and one that keeps them in PostgreSQL.
pub async fn both() -> [Host; 2] {
    both_with(|host| host).await
}

/// The same with some settings.
pub async fn both_with(set: impl Fn(Builder) -> Builder) -> [Host; 2] {
    let database = Postgres::shared().database("").await;
    let password = database.password.replace(' ', "%20");
    let url = format!(
        "postgres://{}:{password}@127.0.0.1:{}/{}",
        database.name, database.port, database.name
    );
    let postgres = Host::builder().env("MINDHOST_DATABASE_URL", url);
    [
        set(Host::builder()).start().await,
        set(postgres).start().await,
    ]
}
