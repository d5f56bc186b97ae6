//! Results that travel as files: Trino writes them to a storage like S3, from where the connector fetches them.

use std::collections::BTreeSet;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::host::Host;
use crate::programs::until;
use crate::storage::{Heard, Storage};
use crate::trino::{Setup, Trino};
use crate::types::VALUES;

/// Small pieces, so that a small table needs several, and none within the answer.
const PIECES: &str =
    "protocol.spooling.initial-segment-size=100kB\nprotocol.spooling.maximum-segment-size=200kB\n";
const NONE_INLINE: &str = "protocol.spooling.inlining.enabled=false\n";
const ENABLED: &str = "protocol.spooling.enabled=true\n\
    protocol.spooling.shared-secret-key=b25seSBmb3IgdGhpcyB0ZXN0LCAzMiBieXRlcyEhISE=\n";

/// A Trino that spools into a storage, and a server with two Minds over it: `direct`, and `spooled`.
struct Spooling {
    storage: Storage,
    trino: Trino,
    host: Host,
}

impl Spooling {
    /// `config` and `manager` are lines of Trino's files of those names.
    fn start(config: &str, manager: &str, has_worker: bool) -> Self {
        let storage = Storage::start();
        let trino = Trino::start(&Setup {
            config: &format!("{ENABLED}{PIECES}{config}"),
            spooling: Some(&storage.manager(manager)),
            has_worker,
            ..Setup::default()
        });
        let host = Host::start();
        let spooling = Self {
            storage,
            trino,
            host,
        };
        spooling.mind("direct", &json!({}));
        spooling
    }

    /// A Mind with these connection data besides the usual.
    fn mind(&self, name: &str, more: &Value) {
        self.host
            .datasource(name, "trino", self.connection_data(more));
        self.host.mind(name, &json!([name]));
    }

    fn connection_data(&self, more: &Value) -> Value {
        let mut data = self.trino.connection_data("tpch");
        data["schemas"] = json!(["tiny"]);
        for (field, value) in more.as_object().unwrap() {
            data[field] = value.clone();
        }
        data
    }

    /// With these connection data not even the catalog can be read, and what is told says this.
    fn check_refused(&self, name: &str, more: &Value, why: &str) {
        let before = self.fetched();
        let catalog = self.host.catalog(name, "trino", self.connection_data(more));
        let status = &catalog["status"];
        assert_eq!(status["overall_status"], "FAILED", "{catalog}");
        assert!(status.to_string().contains(why), "{status:#}");
        assert_eq!(self.fetched(), before);
    }

    fn export(&self, mind: &str, sql: &str) -> String {
        let output = self.host.exporting(mind, sql).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (text, status) = text.rsplit_once('\n').unwrap();
        assert_eq!(status, "200", "{text}");
        text.to_owned()
    }

    /// Reads a table directly and spooled, and sees that the rows are the same, and that each piece was fetched once,
    /// signed as `fetched` says, and then removed.
    fn check(&self, fetched: &str) {
        self.check_rows("SELECT * FROM tiny.lineitem ORDER BY orderkey, linenumber");
        let heard = self.storage.heard();
        let of = |method: &str, signed: &str| -> Vec<&str> {
            let heard = heard.iter();
            let heard = heard.filter(|one| one.method == method && one.signed == signed);
            heard.map(|one| one.object.as_str()).collect()
        };
        let is_ok = |one: &Heard| matches!(one.status, 200 | 204);
        assert!(heard.iter().all(is_ok), "{heard:#?}");
        let (put, got) = (of("PUT", "header"), of("GET", fetched));
        assert!(put.len() > 3, "{heard:#?}");
        let set = |objects: &[&str]| {
            objects
                .iter()
                .map(|&one| one.to_owned())
                .collect::<BTreeSet<_>>()
        };
        assert_eq!((set(&got), got.len()), (set(&put), put.len()));
        until("all pieces are removed", || {
            self.storage.objects().is_empty().then_some(())
        });
    }

    /// Both Minds give the same 60,175 rows, and only one asks for files.
    fn check_rows(&self, sql: &str) {
        let before = self.storage.heard().len();
        let direct = self.export("direct", sql);
        assert_eq!(direct.lines().count(), 60_176);
        assert_eq!(self.storage.heard().len(), before);
        assert!(direct == self.export("spooled", sql), "the rows differ");
    }

    /// Requests that were signed in a URL: those of the connector.
    fn fetched(&self) -> usize {
        let heard = self.storage.heard();
        heard.iter().filter(|one| one.signed == "url").count()
    }
}

#[test]
fn segments_are_fetched_from_the_storage_and_removed() {
    let spooling = Spooling::start(NONE_INLINE, "", false);
    let data = json!({"spooling": true, "segments_url": spooling.storage.url});
    spooling.mind("spooled", &data);
    spooling.check("url");
    every_type_is_the_same(&spooling);
    storage_elsewhere_is_not_asked(&spooling);
    statement_ends_while_segments_are_fetched(&spooling);
}

fn every_type_is_the_same(spooling: &Spooling) {
    let columns: Vec<_> = VALUES
        .iter()
        .enumerate()
        .map(|(nth, (_, expression, _, _))| format!("{expression} AS c{nth}"))
        .collect();
    // One row would be too small for a file.
    let sql = format!("SELECT {} FROM tiny.customer", columns.join(", "));
    let before = spooling.fetched();
    let spooled = spooling.host.query("spooled", &sql);
    assert!(spooling.fetched() > before, "it was not spooled");
    let direct = spooling.host.query("direct", &sql);
    assert_eq!(spooled["data"], direct["data"]);
    assert_eq!(spooled["column_types"], direct["column_types"]);
}

fn storage_elsewhere_is_not_asked(spooling: &Spooling) {
    let nowhere = json!({"spooling": true});
    let elsewhere = json!({"spooling": true, "segments_url": "http://127.0.0.1:9"});
    for (name, data) in [("nowhere", nowhere), ("elsewhere", elsewhere)] {
        spooling.check_refused(name, &data, "segments_url");
    }
}

fn statement_ends_while_segments_are_fetched(spooling: &Spooling) {
    // Seven million rows.
    let sql = "SELECT l.* FROM tiny.lineitem l CROSS JOIN tiny.nation CROSS JOIN tiny.region \
               WHERE l.comment <> 'left_while_it_is_spooled'";
    let mut client = spooling.host.exporting("spooled", sql);
    let before = spooling.fetched();
    let mut client = client.stdout(Stdio::null()).spawn().unwrap();
    until("segments are fetched", || {
        (spooling.fetched() > before + 2).then_some(())
    });
    let runs = || spooling.trino.running("left_while_it_is_spooled");
    assert_eq!(runs(), 1);
    client.kill().unwrap();
    client.wait().unwrap();
    until("it ended", || (runs() == 0).then_some(()));
    assert!(spooling.trino.was_cancelled("left_while_it_is_spooled"));
}

#[test]
fn uncompressed_segments_come_through_the_coordinator() {
    let config = format!(
        "{NONE_INLINE}protocol.spooling.retrieval-mode=COORDINATOR_PROXY\n\
         protocol.spooling.encoding.json+zstd.enabled=false\n"
    );
    let spooling = Spooling::start(&config, "fs.segment.encryption=false\n", false);
    spooling.mind("spooled", &json!({"spooling": true}));
    spooling.check("header");
    let heard = spooling.storage.heard();
    assert!(heard.iter().all(|one| one.object.ends_with(".json")));
}

#[test]
fn redirect_of_the_coordinator_leads_to_the_storage() {
    let config = "protocol.spooling.retrieval-mode=COORDINATOR_STORAGE_REDIRECT\n";
    let spooling = Spooling::start(config, "", false);
    let data = json!({"spooling": true, "segments_url": spooling.storage.url});
    spooling.mind("spooled", &data);
    spooling.check("url");
    // Not where the connection data do not name the storage.
    let before = spooling.fetched();
    spooling.mind("nowhere", &json!({"spooling": true}));
    let mut refused = spooling
        .host
        .exporting("nowhere", "SELECT * FROM tiny.lineitem");
    // The first rows came without the storage, so the export ends in the middle.
    let ended = refused.stdout(Stdio::null()).status().unwrap();
    assert!(!ended.success(), "{ended}");
    until("the log says why", || {
        let log = spooling.host.log();
        (log.contains("segments_url")).then_some(())
    });
    assert_eq!(spooling.fetched(), before);
}

#[test]
fn worker_gives_segments_where_the_connection_data_name_it() {
    let config = format!("{NONE_INLINE}protocol.spooling.retrieval-mode=WORKER_PROXY\n");
    let spooling = Spooling::start(&config, "", true);
    let worker = &spooling.trino.worker.as_ref().unwrap().url;
    spooling.mind(
        "spooled",
        &json!({"spooling": true, "segments_url": worker}),
    );
    spooling.check("header");
    spooling.check_refused("nowhere", &json!({"spooling": true}), "COORDINATOR_PROXY");
}
