//! The interceptor that records each call.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value as Json, json};

use super::{
    tape::{Tape, Track, shown},
    written::{self, Sum, written},
};
use mindhost_base::error::Result;
use mindhost_plugin_api::{
    Batch, Column, ColumnStatistics, Plugin, TableInfo, Target,
    intercept::{AsReply, Intercept, Interceptor, Invocation, Operation, Reply},
};

/// Records the calls to a plugin.
pub struct Recording(pub Arc<Tape>);

impl Intercept for Recording {
    type Interceptor = Recorder;

    fn begin(&self, plugin: &dyn Plugin, target: &Target) -> Result<Recorder> {
        let manifest = plugin.manifest();
        Ok(Recorder {
            tape: Arc::clone(&self.0),
            track: Track::new(&self.0, manifest, target),
            data: shown(manifest, &target.connection_data),
            columns: Arc::default(),
            sum: Sum::default(),
        })
    }
}

/// Records the calls of one connection or completion.
pub struct Recorder {
    tape: Arc<Tape>,
    track: Track,
    /// The connection data, an argument of the first call.
    data: Json,
    columns: Arc<[Column]>,
    /// Sums over the rows of the open cursor.
    sum: Sum,
}

impl<P: Send + 'static> Interceptor<P> for Recorder {
    async fn intercept<T: AsReply>(
        &mut self,
        invocation: &dyn Invocation<P, T>,
        on: &mut P,
    ) -> Result<T> {
        let operation = invocation.operation();
        let arguments = self.arguments(operation);
        let start = Instant::now();
        let result = invocation.make(on).await;
        let took = start.elapsed();
        if let Operation::Query(_) = operation {
            self.sum = Sum::default();
        }
        let outcome = result.as_ref().map(|value| self.reply(value.as_reply()));
        let name = match operation {
            Operation::Connect => "open",
            _ => operation.name(),
        };
        self.track.note(&self.tape, name, arguments, took, outcome);
        result
    }
}

impl Recorder {
    fn arguments(&mut self, operation: Operation<'_>) -> Json {
        match operation {
            Operation::Connect => self.data.take(),
            Operation::CheckModel | Operation::Models => {
                json!({"connection_data": self.data.take()})
            }
            Operation::Embed(model, texts) => json!({
                "connection_data": self.data.take(),
                "model": model,
                "texts": texts,
            }),
            Operation::Start(request) => json!({
                "connection_data": self.data.take(),
                "request": written::request(request),
            }),
            Operation::DescribeTables(tables) => json!(tables),
            Operation::Statistics(table, options) => json!({
                "table": table,
                "columns": options.columns,
                "max_rows": options.max_rows,
                "max_ms": millis(options.max_time),
            }),
            Operation::BeginSnapshot(timeout) => json!({"timeout_ms": millis(timeout)}),
            Operation::Query(statement) => json!({
                "text": statement.text,
                "timeout_ms": millis(statement.timeout),
            }),
            Operation::Next(max_rows) => json!({"max_rows": max_rows}),
            Operation::Check
            | Operation::Tables
            | Operation::EndSnapshot
            | Operation::Close
            | Operation::NextEvents => Json::Null,
        }
    }

    fn reply(&mut self, reply: Reply<'_>) -> Json {
        match reply {
            Reply::Done | Reply::Statistics(None) | Reply::Events(None) => Json::Null,
            Reply::Flag(flag) => json!(flag),
            Reply::Server(info) => json!(info),
            Reply::Tables(tables) => json!(tables),
            Reply::Described(infos) => infos.iter().map(table).collect(),
            Reply::Statistics(Some(columns)) => columns.iter().map(statistics).collect(),
            Reply::Columns(columns) => {
                self.columns = Arc::clone(columns);
                columns.iter().map(column).collect()
            }
            Reply::Batch(None) => json!({"end": self.sum.shown()}),
            Reply::Batch(Some(batch)) => self.batch(batch),
            Reply::Text(text) => json!(text),
            Reply::Names(names) => json!(names),
            Reply::Vectors(vectors) => json!({
                "vectors": vectors.len(),
                "dimensions": vectors.first().map_or(0, Vec::len),
            }),
            Reply::Events(Some(events)) => written::events(events),
        }
    }

    fn batch(&mut self, batch: &Batch) -> Json {
        let rows = batch.clone().into_values(&self.columns);
        self.sum.add(&rows);
        let form = match batch {
            Batch::Arrow(_) => "arrow",
            Batch::Rows(_) => "rows",
        };
        let mut shown = json!({
            "rows": batch.rows(),
            "bytes": batch.bytes(),
            "form": form,
            "sum": self.sum.shown(),
        });
        if self.tape.is_full() {
            let rows = rows.iter();
            let rows = rows.map(|row| row.iter().map(written).collect::<Json>());
            shown["values"] = rows.collect();
        }
        shown
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn column(column: &Column) -> Json {
    json!({
        "name": column.name,
        "type": column.data_type,
        "native_type": column.native_type,
        "nullable": column.nullable,
    })
}

fn table(info: &TableInfo) -> Json {
    let columns = info.columns.iter().map(|column| {
        json!({
            "name": column.name,
            "native_type": column.native_type,
            "nullable": column.nullable,
            "default_value": column.default_value,
            "comment": column.comment,
        })
    });
    let primary = info.primary_key.iter().map(|key| json!(key.column));
    let foreign = info
        .foreign_keys
        .iter()
        .map(|key| json!([key.column, key.referenced, key.referenced_column]));
    json!({
        "table": info.table,
        "kind": info.kind,
        "comment": info.comment,
        "row_count": info.row_count,
        "columns": columns.collect::<Json>(),
        "primary_key": primary.collect::<Json>(),
        "foreign_keys": foreign.collect::<Json>(),
    })
}

fn statistics(found: &ColumnStatistics) -> Json {
    json!({
        "column": found.column,
        "null_fraction": found.null_fraction,
        "distinct_count": found.distinct_count,
        "common_values": found.common_values,
        "min_value": found.min_value,
        "max_value": found.max_value,
        "estimated": found.estimated,
        "sampled_rows": found.sampled_rows,
    })
}

#[cfg(test)]
mod tests {
    use mindhost_plugin_api::{DataType, MASK, Manifest, ModelRequest, Statement, Value};

    use super::*;

    struct Fake(Manifest);

    impl Plugin for Fake {
        fn manifest(&self) -> &Manifest {
            &self.0
        }

        fn digest(&self) -> &str {
            "d"
        }
    }

    fn recorder() -> Recorder {
        let manifest = json!({
            "kind": "connector", "name": "c", "title": "C", "version": "1.0.0", "wit": "0.1.0",
            "world": "sql-connector",
            "connection_data": {"properties": {"host": {}, "password": {"x-secret": true}}}
        });
        let data = json!({"host": "db", "password": "hunter22"});
        let target = Target {
            id: "t".into(),
            workspace: "w".into(),
            folder: "w".into(),
            name: "n".into(),
            connection_data: Arc::new(data.as_object().unwrap().clone()),
            max_connections: 1,
        };
        let plugin = Fake(serde_json::from_value(manifest).unwrap());
        let recording = Recording(Arc::new(Tape::in_memory()));
        recording.begin(&plugin, &target).unwrap()
    }

    #[test]
    fn connection_data_is_argument_of_first_call_with_secrets_masked() {
        let data = json!({"host": "db", "password": MASK});
        assert_eq!(recorder().arguments(Operation::Connect), data);
        let check = recorder().arguments(Operation::CheckModel);
        assert_eq!(check, json!({"connection_data": data}));
        let start = recorder().arguments(Operation::Start(&ModelRequest::default()));
        assert_eq!(start["connection_data"], data);
        assert_eq!(start["request"]["messages"], json!([]));
        assert_eq!(recorder().arguments(Operation::Check), Json::Null);
    }

    #[test]
    fn statement_is_recorded_with_number_and_digest_of_rows() {
        let mut recorder = recorder();
        let statement = Statement {
            text: "SELECT 1".into(),
            id: "1".into(),
            timeout: Duration::from_secs(2),
        };
        let query = recorder.arguments(Operation::Query(&statement));
        assert_eq!(query, json!({"text": "SELECT 1", "timeout_ms": 2000}));
        let columns: Arc<[Column]> = Arc::new([Column {
            name: "n".into(),
            data_type: DataType::Int64,
            native_type: "bigint".into(),
            nullable: true,
        }]);
        let shown = recorder.reply(Reply::Columns(&columns));
        let column =
            json!({"name": "n", "type": "int64", "native_type": "bigint", "nullable": true});
        assert_eq!(shown, json!([column]));
        let batch = Batch::Rows(vec![vec![Value::Int64(1)], vec![Value::Null]]);
        let shown = recorder.reply(Reply::Batch(Some(&batch)));
        assert_eq!(
            (&shown["rows"], &shown["form"]),
            (&json!(2), &json!("rows"))
        );
        assert!(shown.get("values").is_none());
        let end = recorder.reply(Reply::Batch(None));
        assert_eq!(end["end"], shown["sum"]);
        assert_eq!(end["end"]["rows"], json!(2));
    }
}
