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
    data, files, native_http,
    pairs::{Bar, PAIRS, quartiles, report, seconds, shown},
};

const POINTS: u32 = 300;
pub const LIMITS: BatchLimits = BatchLimits {
    max_rows: 8192,
    max_bytes: 1 << 20,
};

/// Runs all of it.
pub async fn run() {
    let dir = tempfile::tempdir().unwrap();
    let files = dir.path().join("files/default");
    std::fs::create_dir_all(&files).unwrap();
    rusqlite::Connection::open(files.join("facts.db"))
        .unwrap()
        .execute_batch(&data::sqlite())
        .unwrap();
    let registry = registry(dir.path()).await;
    let mut postgres = data::postgres().await.connection_data();
    postgres["sslmode"] = "disable".into();
    let mut encrypted = postgres.clone();
    encrypted["sslmode"] = "require".into();
    let sqlite = json!({"path": "facts.db"});
    let native = json!({"path": files.join("facts.db")});
    let same = |engine, connection_data| Compared {
        engine,
        name: engine,
        ours: connection_data,
        theirs: connection_data,
        bars: [1.3, 1.3],
    };
    compare::<connector_postgres::Postgres>(&registry, &same("postgres", &postgres), "public")
        .await;
    // A sandbox has no instructions of the processor for it.
    let over_tls = Compared {
        name: "postgres over TLS",
        bars: [1.2, 1.2],
        ..same("postgres", &encrypted)
    };
    compare::<connector_postgres::Postgres>(&registry, &over_tls, "public").await;
    let mut mariadb = data::mariadb().await.connection_data();
    mariadb["sslmode"] = "disable".into();
    let schema = mariadb["database"].as_str().unwrap();
    compare::<connector_mysql::MySql>(&registry, &same("mariadb", &mariadb), schema).await;
    let server = ClickHouse::new(&data::clickhouse());
    let clickhouse = server.connection_data();
    let http = same("clickhouse", &clickhouse);
    compare::<connector_clickhouse::ClickHouse>(&registry, &http, "default").await;
    let file = Compared {
        theirs: &native,
        bars: [1.3, 2.0],
        ..same("sqlite", &sqlite)
    };
    compare::<connector_sqlite::Sqlite>(&registry, &file, "main").await;
    files::run().await;
    let sqlite_target = target("sqlite", &sqlite);
    new_instances(
        &registry,
        &sqlite_target,
        "new instance with an open SQLite file",
    )
    .await;
    let memory_target = target("memory", &json!({"rows": 1}));
    new_instances(
        &registry,
        &memory_target,
        "new instance of a small connector",
    )
    .await;
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
    /// For the scan and for the point queries.
    bars: [f64; 2],
}

async fn compare<G: Guest>(registry: &Registry, compared: &Compared<'_>, schema: &str) {
    let Compared { name, theirs, .. } = *compared;
    let connector = registry.connector(compared.engine, None).await.unwrap();
    let target = target(compared.engine, compared.ours);
    let scan = data::SCAN.replace("FROM facts", &format!("FROM {schema}.facts"));
    let point = format!("{scan} WHERE id = 77777");
    let (mut scans, mut points) = (Vec::new(), Vec::new());
    for pair in 0..=PAIRS {
        let through = seconds(sandboxed(&*connector, &target, &scan, 1, data::ROWS)).await;
        let direct = seconds(natively::<G>(theirs.clone(), scan.clone(), 1, data::ROWS)).await;
        let through_point = seconds(sandboxed(&*connector, &target, &point, POINTS, 1)).await;
        let direct_point = seconds(natively::<G>(theirs.clone(), point.clone(), POINTS, 1)).await;
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
pub async fn natively<G: Guest>(connection_data: Value, sql: String, times: u32, rows: u64) {
    let handle = tokio::runtime::Handle::current();
    tokio::task::spawn_blocking(move || {
        let _http = native_http::begin(handle);
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
