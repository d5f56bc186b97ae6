//! Where the rows are played: guests, neighbours, and what is looked at afterwards.

use std::{sync::Arc, time::Duration};

use mindhost_base::{
    config::Formulas,
    error::{Blame, Code, Error, Kind, Result},
};
use mindhost_plugin_api::{
    Call, Connection, Connector, Model, ModelEvent, ModelRequest, Statement, StatisticsOptions,
    TableRef, Target,
};
use mindhost_runtime::{
    meter::{Figures, VersionMeter},
    package::pack,
};
use mindhost_sql::{csv::CsvEncoder, json::Rows};
use mindhost_tests::eventually;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Behaviour, Ends, Servers};
use crate::{
    fixture::{Sandbox, guest, guest_as, only_row, settings, soon, statement, target},
    lines::Lines,
};

/// The time of a brief call: enough to reach the guest on a machine that does much else.
const BRIEF: Duration = Duration::from_secs(3);
/// The time of any other call, which ends by itself: the limit on hanging, with room for ten thousand exchanges on such
/// a machine.
const LONG: Duration = Duration::from_secs(180);
/// How much later than its deadline a call may end, on a machine that does much else: the grace is 100 ms.
const LATE: Duration = Duration::from_secs(20);

pub struct Stage {
    sandbox: Sandbox,
    servers: Servers,
    lines: &'static Lines,
    is_of_models: bool,
}

impl Stage {
    pub async fn of_connectors() -> Self {
        Self::new(false).await
    }

    pub async fn of_models() -> Self {
        Self::new(true).await
    }

    async fn new(is_of_models: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (name, (wasm, manifest)) in [
            ("hostile", guest("hostile")),
            ("memory", guest("memory")),
            ("model", guest_as("hostile", "model")),
        ] {
            Sandbox::add(dir.path(), name, &pack(&wasm, &manifest).unwrap());
        }
        let lines = Lines::of_all();
        let sandbox = Sandbox::load(dir, settings()).await;
        let servers = Servers::start(sandbox.dir.path()).await;
        Self {
            sandbox,
            servers,
            lines,
            is_of_models,
        }
    }

    /// From now on the file that is read is exchanged all the time; see [`Servers::exchange`].
    pub fn exchange_files(&self) {
        self.servers.exchange();
    }

    fn target(&self, name: &str, data: Value) -> Target {
        Target {
            name: name.to_owned(),
            ..target(data)
        }
    }

    /// Plays a row; says what is not as it should be.
    pub async fn contain(&self, row: &Behaviour) -> Result<(), String> {
        let mut data = json!({"mode": row.mode, "at": row.at});
        let more = (row.more)(&self.servers);
        data.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let hostile = self.target(row.name, data);
        let time = if row.is_brief { BRIEF } else { LONG };
        let call = Call::new(time, CancellationToken::new());
        let outcome = tokio::time::timeout(time + LATE, self.call(row.at, &hostile, &call))
            .await
            .map_err(|_| String::from("it outlasted its limit"))?;
        let ended = self.check_end(row, &outcome);
        let attributed = self.check_attribution(&hostile, outcome.as_ref().err());
        let served = self.check_neighbours().await;
        // Always, so that a row that fails leaves nothing to the next.
        let given_back = self.check_level(&hostile).await;
        ended.and(attributed).and(served).and(given_back)
    }

    async fn call(&self, at: &str, hostile: &Target, call: &Call) -> Result<()> {
        match self.is_of_models {
            true => use_model(&*self.model(), hostile, at, call).await,
            false => self.use_connector(hostile, at, call).await,
        }
    }

    fn model(&self) -> Arc<dyn Model> {
        self.sandbox.model()
    }

    fn connector(&self) -> Arc<dyn Connector> {
        self.sandbox.hostile()
    }

    fn version(&self) -> Arc<VersionMeter> {
        let digest = match self.is_of_models {
            true => self.model().digest().to_owned(),
            false => self.connector().digest().to_owned(),
        };
        let meters = self.sandbox.registry.meters().unwrap();
        meters.of_digest(&digest).expect("the version is counted")
    }

    fn check_end(&self, row: &Behaviour, outcome: &Result<()>) -> Result<(), String> {
        match (row.ends, outcome) {
            (Ends::Well, Ok(())) => Ok(()),
            (Ends::Failed(code, blame, words), Err(error)) => {
                let is_right = error.code() == code
                    && error.blame() == Some(blame)
                    && error.message().contains(words);
                let shown = error.to_string() + error.engine_code().unwrap_or_default();
                match is_right && is_clean(&shown) {
                    true => Ok(()),
                    false => Err(format!(
                        "{} of {:?}: {:?}",
                        error.code().as_str(),
                        error.blame(),
                        error.message()
                    )),
                }
            }
            (Ends::TimedOut, Err(error)) if error.code() == Code::Timeout => Ok(()),
            (_, Ok(())) => Err(String::from("it went well")),
            (_, Err(error)) => Err(format!("it failed: {error}")),
        }
    }

    /// A failure is counted once, for the target and by who is to blame; a plugin's is logged with the version that
    /// made it.
    fn check_attribution(&self, hostile: &Target, error: Option<&Error>) -> Result<(), String> {
        let version = self.version();
        let figures = figures(&version, &hostile.id).ok_or("its target is not counted")?;
        let counted = [
            figures.plugin_errors,
            figures.upstream_errors,
            figures.host_errors,
            figures.caller_errors,
        ];
        let expected = match error.map(|error| (error.kind(), error.blame())) {
            None => [0; 4],
            Some((Kind::Invalid | Kind::Cancelled, _)) => [0, 0, 0, 1],
            Some((_, Some(Blame::Plugin))) => [1, 0, 0, 0],
            Some((_, Some(Blame::Upstream))) => [0, 1, 0, 0],
            Some(_) => [0, 0, 1, 0],
        };
        if counted != expected {
            return Err(format!("errors are counted as {counted:?}"));
        }
        let lines = self.lines.about(&hostile.name);
        let is_said = lines.iter().any(|line| {
            line.contains("is to blame")
                && line.contains(&version.id.digest)
                && line.contains(&version.id.plugin)
        });
        if is_said != (expected[0] == 1) {
            return Err(format!("the log says {lines:?}"));
        }
        match lines
            .iter()
            .find(|line| !is_clean(line) || line.contains("hunter22"))
        {
            Some(line) => Err(format!("the log has the line {line:?}")),
            None => Ok(()),
        }
    }

    /// Another target of the same plugin, and another plugin.
    async fn check_neighbours(&self) -> Result<(), String> {
        let same = self.target("neighbour", json!({}));
        let other = self.target("other", json!({"rows": 3}));
        let memory = self.sandbox.registry.engine("memory").unwrap();
        let served = async {
            match self.is_of_models {
                true => drop(completion(&*self.model(), &same, &soon()).await?),
                false => {
                    let mut connection = self.connector().connect(&same, &soon()).await?;
                    only_row(&mut *connection).await?;
                }
            }
            let mut connection = memory.connect(&other, &soon()).await?;
            connection.tables(&soon()).await
        };
        let served = served.await.map(drop);
        self.forget(&same).await;
        memory.forget(&other.id).await;
        served.map_err(|error| format!("a neighbour failed: {error}"))
    }

    /// With the last connection of its targets everything is given back.
    async fn check_level(&self, hostile: &Target) -> Result<(), String> {
        self.forget(hostile).await;
        let taken = || async {
            let usage = self.sandbox.registry.instance_usage().unwrap();
            (
                usage.instances,
                usage.memory_bytes,
                usage.waiting,
                self.servers.open(),
                self.version().meter.instances(),
            )
        };
        let given_back = eventually(taken, |taken| *taken == (0, 0, 0, 0, 0));
        match tokio::time::timeout(LATE, given_back).await {
            Ok(_) => Ok(()),
            Err(_) => Err(format!("what is not given back: {:?}", taken().await)),
        }
    }

    async fn forget(&self, target: &Target) {
        match self.is_of_models {
            true => self.model().forget(&target.id).await,
            false => self.connector().forget(&target.id).await,
        }
    }

    async fn use_connector(&self, hostile: &Target, at: &str, call: &Call) -> Result<()> {
        let mut connection = self.connector().connect(hostile, call).await?;
        match at {
            "cancel" => {
                connection.query(&statement(), call).await?;
                drop(connection);
                self.sandbox.registry.drain().await;
                Ok(())
            }
            // A time bomb goes off at one of them.
            "query" => {
                for _ in 0..5 {
                    read_all(&mut *connection, &statement(), call).await?;
                }
                Ok(())
            }
            _ => use_function(&mut *connection, at, call).await,
        }
    }
}

fn figures(version: &VersionMeter, target_id: &str) -> Option<Figures> {
    let targets = version.targets();
    let found = targets.iter().find(|one| one.id.id == target_id)?;
    Some(found.meter.read())
}

/// Whether a terminal or a page can be given a text as it is.
fn is_clean(text: &str) -> bool {
    !text.chars().any(char::is_control)
}

async fn use_function(connection: &mut dyn Connection, at: &str, call: &Call) -> Result<()> {
    let table = |name: &str| TableRef {
        schema: "main".into(),
        name: name.into(),
    };
    let options = StatisticsOptions {
        columns: vec!["n".into(), "m".into()],
        max_rows: 10,
        max_time: Duration::from_secs(1),
    };
    match at {
        "open" | "cancel-key" => Ok(()),
        "check" => {
            let info = connection.check(call).await?;
            assert!(is_clean(&(info.product + &info.version)));
            Ok(())
        }
        "tables" => connection.tables(call).await.map(drop),
        "describe-tables" => {
            let asked = [table("one"), table("two")];
            connection.describe_tables(&asked, call).await.map(drop)
        }
        "statistics" => {
            let one = table("one");
            connection.statistics(&one, &options, call).await.map(drop)
        }
        "begin-snapshot" => {
            let time = Duration::from_secs(1);
            connection.begin_snapshot(time, call).await.map(drop)
        }
        _ => read_all(connection, &statement(), call).await,
    }
}

/// Reads a result and writes it in both forms, as its readers would get it.
async fn read_all(
    connection: &mut dyn Connection,
    statement: &Statement,
    call: &Call,
) -> Result<()> {
    let columns = connection.query(statement, call).await?;
    let mut csv = CsvEncoder::new(Arc::clone(&columns), Formulas::Keep);
    while let Some(batch) = connection.next(10, call).await? {
        csv.batch(&batch, &mut Vec::new());
        let rows = Rows::new(Arc::clone(&columns), vec![batch]);
        let json = serde_json::to_string(&rows).expect("every value can be written");
        let read: Vec<Vec<Box<serde_json::value::RawValue>>> =
            serde_json::from_str(&json).expect("what was written can be read");
        assert!(read.iter().all(|row| row.len() == columns.len()));
        // JSON escapes only what is below a blank.
        assert!(!json.contains(|c: char| c < ' '), "{json}");
    }
    connection.close(call).await
}

async fn use_model(model: &dyn Model, target: &Target, at: &str, call: &Call) -> Result<()> {
    match at {
        "check" => model.check(target, call).await.map(drop),
        "models" => model.models(target, call).await.map(drop),
        _ => completion(model, target, call).await.map(drop),
    }
}

async fn completion(model: &dyn Model, target: &Target, call: &Call) -> Result<Vec<ModelEvent>> {
    let mut completion = model.start(target, ModelRequest::default(), call).await?;
    let mut all = Vec::new();
    while let Some(events) = completion.next(call).await? {
        all.extend(events);
    }
    Ok(all)
}
