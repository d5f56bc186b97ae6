//! The sandbox against the same connector compiled natively: a scan of the table, and a point query.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use mindhost_plugin_api as plugins;
use mindhost_plugin_api::{Call, Target};
use mindhost_plugins::registry::{Registry, Sources};
use mindhost_runtime::policy::{EgressRules, FixedPolicy};
use mindhost_sdk::{BatchLimits, Config, Connector as Guest};
use mindhost_tests::{ClickHouse, build};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    data,
    native_http::{self, Credentials},
    pairs::{Bar, PAIRS, quartiles, report, seconds, shown},
};

const POINTS: u32 = 300;
pub const LIMITS: BatchLimits = BatchLimits {
    max_rows: 8192,
    max_bytes: 1 << 20,
};

/// Compares one engine, over all the ways of reaching it.
pub async fn run(engine: &str) {
    let dir = tempfile::tempdir().unwrap();
    match engine {
        "postgres" => postgres(dir.path()).await,
        "mariadb" => mariadb(dir.path()).await,
        "clickhouse" => clickhouse(dir.path()).await,
        _ => sqlite(dir.path()).await,
    }
}

async fn postgres(dir: &Path) {
    let mut plain = data::postgres().await.connection_data();
    plain["sslmode"] = "disable".into();
    let mut encrypted = plain.clone();
    encrypted["sslmode"] = "require".into();
    let registry = registry(dir).await;
    let over_tcp = Compared::alike("postgres", &plain);
    compare::<connector_postgres::Postgres>(&registry, &over_tcp, "public").await;
    // A sandbox has no instructions of the processor for it.
    let over_tls = Compared {
        name: "postgres over TLS",
        bars: [1.2, 1.2],
        ..Compared::alike("postgres", &encrypted)
    };
    compare::<connector_postgres::Postgres>(&registry, &over_tls, "public").await;
}

async fn mariadb(dir: &Path) {
    let mut data = data::mariadb().await.connection_data();
    data["sslmode"] = "disable".into();
    let schema = data["database"].as_str().unwrap();
    let compared = Compared::alike("mariadb", &data);
    compare::<connector_mysql::MySql>(&registry(dir).await, &compared, schema).await;
}

async fn clickhouse(dir: &Path) {
    let server = ClickHouse::new(&data::clickhouse());
    let ours = server.connection_data();
    let mut theirs = ours.clone();
    let password = theirs.as_object_mut().unwrap().remove("password").unwrap();
    let compared = Compared {
        theirs: &theirs,
        credentials: Some(("x-clickhouse-key", password.as_str().unwrap().to_owned())),
        ..Compared::alike("clickhouse", &ours)
    };
    let registry = registry(dir).await;
    compare::<connector_clickhouse::ClickHouse>(&registry, &compared, "default").await;
}

async fn sqlite(dir: &Path) {
    let folder = dir.join("files/default");
    std::fs::create_dir_all(&folder).unwrap();
    rusqlite::Connection::open(folder.join("facts.db"))
        .unwrap()
        .execute_batch(&data::sqlite())
        .unwrap();
    let (ours, theirs) = (
        json!({"path": "facts.db"}),
        json!({"path": folder.join("facts.db")}),
    );
    let compared = Compared {
        theirs: &theirs,
        bars: [1.3, 2.0],
        ..Compared::alike("sqlite", &ours)
    };
    let registry = registry(dir).await;
    compare::<connector_sqlite::Sqlite>(&registry, &compared, "main").await;
    let name = "new instance with an open SQLite file";
    new_instances(&registry, &target("sqlite", &ours), name).await;
    let memory = target("memory", &json!({"rows": 1}));
    new_instances(&registry, &memory, "new instance of a small connector").await;
}

/// The plugins of the build, and a connector that opens nothing.
fn plugins_dir(dir: &Path) -> PathBuf {
    let folder = dir.join("plugins");
    std::fs::create_dir_all(&folder).unwrap();
    let built = std::fs::read_dir(build::plugins_dir()).unwrap();
    let built = built.map(|entry| entry.unwrap().path());
    for path in built.chain([build::guest("memory"), build::guest("boundary")]) {
        std::os::unix::fs::symlink(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    folder
}

pub async fn registry(data_dir: &Path) -> Registry {
    let policy = FixedPolicy {
        egress: EgressRules {
            allow_loopback: true,
            ..EgressRules::default()
        },
        data_dir: data_dir.to_owned(),
        file_roots: Vec::new(),
        reserved: Vec::new(),
    };
    let settings = mindhost_base::config::Config::defaults()
        .unwrap()
        .plugins
        .limits;
    let sources = Sources::of_dir(plugins_dir(data_dir), settings, Arc::new(policy));
    Registry::load(sources).await.unwrap()
}

/// One engine, for the connector in the sandbox and for the same one outside.
struct Compared<'a> {
    engine: &'a str,
    /// For the lines that are printed.
    name: &'a str,
    ours: &'a Value,
    theirs: &'a Value,
    /// What the host adds to the requests of the one in the sandbox, for the one outside.
    credentials: Credentials,
    /// For the scan and for the point queries.
    bars: [f64; 2],
}

impl<'a> Compared<'a> {
    fn alike(engine: &'a str, connection_data: &'a Value) -> Self {
        Compared {
            engine,
            name: engine,
            ours: connection_data,
            theirs: connection_data,
            credentials: None,
            bars: [1.3, 1.3],
        }
    }
}

async fn compare<G: Guest>(registry: &Registry, compared: &Compared<'_>, schema: &str) {
    let Compared { name, theirs, .. } = *compared;
    let native = |sql: &String, times, rows| {
        let (connection_data, credentials) = (theirs.clone(), compared.credentials.clone());
        natively::<G>(connection_data, credentials, sql.clone(), times, rows)
    };
    let connector = registry.connector(compared.engine, None).await.unwrap();
    let target = target(compared.engine, compared.ours);
    let scan = data::SCAN.replace("FROM facts", &format!("FROM {schema}.facts"));
    let point = format!("{scan} WHERE id = 77777");
    let (mut scans, mut points) = (Vec::new(), Vec::new());
    for pair in 0..=PAIRS {
        let through = seconds(sandboxed(&*connector, &target, &scan, 1, data::ROWS)).await;
        let direct = seconds(native(&scan, 1, data::ROWS)).await;
        let through_point = seconds(sandboxed(&*connector, &target, &point, POINTS, 1)).await;
        let direct_point = seconds(native(&point, POINTS, 1)).await;
        // The first pair warms everything up.
        if pair > 0 {
            scans.push((through, direct));
            points.push((through_point, direct_point));
        }
    }
    let [scan, point] = compared.bars;
    for (what, bar, pairs) in [
        ("scan 1M x 8", scan, &scans),
        ("300 point queries", point, &points),
    ] {
        let bar = Bar {
            name: &format!("{what}, {name}, sandbox/native"),
            aim: 1.15,
            bar,
        };
        report(&bar, pairs);
    }
    let rate = data::ROWS as f64 / quartiles(scans.iter().map(|pair| pair.0).collect())[1];
    println!(
        "{:<46} {:.2} M rows/s",
        format!("  scan through the sandbox, {name}"),
        rate / 1e6
    );
}

pub fn target(engine: &str, connection_data: &Value) -> Target {
    Target {
        id: engine.to_owned(),
        workspace: "default".to_owned(),
        folder: "default".to_owned(),
        name: engine.to_owned(),
        connection_data: Arc::new(connection_data.as_object().unwrap().clone()),
        max_connections: 4,
    }
}

pub async fn sandboxed(
    connector: &dyn plugins::Connector,
    target: &Target,
    sql: &str,
    times: u32,
    rows: u64,
) {
    for _ in 0..times {
        let call = Call::new(Duration::from_secs(300), CancellationToken::new());
        let mut connection = connector.connect(target, &call).await.unwrap();
        let statement = plugins::Statement {
            text: sql.to_owned(),
            id: "bench".to_owned(),
            timeout: Duration::from_secs(300),
        };
        connection.query(&statement, &call).await.unwrap();
        let mut seen = 0;
        while let Some(batch) = connection.next(LIMITS.max_rows, &call).await.unwrap() {
            seen += batch.rows() as u64;
        }
        connection.close(&call).await.unwrap();
        assert_eq!(seen, rows);
    }
}

/// The same client without a sandbox. What it gives is decoded too, as the host would.
pub async fn natively<G: Guest>(
    connection_data: Value,
    credentials: Credentials,
    sql: String,
    times: u32,
    rows: u64,
) {
    let handle = tokio::runtime::Handle::current();
    tokio::task::spawn_blocking(move || {
        let _http = native_http::begin(handle, credentials);
        let mut guest = G::open(&Config::from_json(connection_data.to_string())).unwrap();
        for _ in 0..times {
            let mut cursor = guest
                .query(&mindhost_sdk::Statement::new(sql.as_str()))
                .unwrap();
            guest.schema(&mut cursor).unwrap();
            let mut seen = 0;
            while let Some(batch) = guest.next(&mut cursor, LIMITS).unwrap() {
                seen += decoded_rows(batch);
            }
            guest.close(cursor).unwrap();
            assert_eq!(seen, rows);
        }
    })
    .await
    .unwrap();
}

/// Rows of a batch, decoded as the host would.
pub fn decoded_rows(batch: mindhost_sdk::Batch) -> u64 {
    match batch {
        mindhost_sdk::Batch::Rows(rows) => rows.len() as u64,
        mindhost_sdk::Batch::Arrow(bytes) => {
            let reader = arrow_ipc::reader::StreamReader::try_new(bytes.as_slice(), None).unwrap();
            reader.map(|batch| batch.unwrap().num_rows() as u64).sum()
        }
    }
}

/// What a new instance costs with everything that belongs to it: grants, store, instantiation, `open`, and taking it
/// away again.
async fn new_instances(registry: &Registry, target: &Target, name: &str) {
    let connector = registry.connector(&target.name, None).await.unwrap();
    let mut times = Vec::new();
    for number in 0..=PAIRS * 9 {
        let target = Target {
            id: format!("new-{number}"),
            ..target.clone()
        };
        let call = Call::new(Duration::from_secs(60), CancellationToken::new());
        let took =
            seconds(async { connector.connect(&target, &call).await.map(drop).unwrap() }).await;
        // The first one warms everything up.
        if number > 0 {
            times.push(took);
        }
        connector.forget(&target.id).await;
    }
    let [low, median, high] = quartiles(times);
    println!(
        "{name:<46} {} ({} to {}); bar for the instance alone 100 µs",
        shown(median),
        shown(low),
        shown(high)
    );
}
