//! The same rules hold whichever database keeps them.

use mindhost_tests::{Builder, Host, Postgres, PostgresDatabase};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

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
    Host::builder().env("MINDHOST_DATABASE_URL", url(database))
}

fn url(database: &PostgresDatabase) -> String {
    let password = database.password.replace(' ', "%20");
    format!(
        "postgres://{}:{password}@127.0.0.1:{}/{}",
        database.name, database.port, database.name
    )
}

/// A certificate authority that signed nothing, with the name of the one that signed the server's certificate.
fn other_authority() -> String {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    authority.self_signed(&key).unwrap().pem()
}

#[tokio::test]
async fn store_over_tls_is_opened_only_with_the_root_that_signed_its_certificate() {
    let server = Postgres::shared();
    let database = server.database("").await;
    let folder = tempfile::tempdir().unwrap();
    let checked_with = |name: &str, root: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, root).unwrap();
        let verified = format!("{}?sslmode=verify-full", url(&database));
        format!("{verified}&sslrootcert={}", path.display())
    };
    let right = checked_with("right.crt", server.ca());
    let host = Host::builder().env("MINDHOST_DATABASE_URL", right);
    let host = host.start().await;
    host.mind("kept").create().await;

    let encrypted = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = $1 AND ssl";
    let admin = server.admin("postgres").await;
    let row = admin.query_one(encrypted, &[&database.name]).await.unwrap();
    assert!(row.get::<_, i64>(0) > 0);

    let public_roots_alone = format!("{}?sslmode=verify-full", url(&database));
    for refused in [
        checked_with("wrong.crt", &other_authority()),
        public_roots_alone,
    ] {
        let mut migrate = host.command(&["migrate"]);
        migrate.env("MINDHOST_DATABASE_URL", refused);
        let output = migrate.output().unwrap();
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{why}");
        assert!(why.contains("invalid peer certificate"), "{why}");
    }
}
