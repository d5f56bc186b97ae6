//! What is counted of a connector on trial, with connectors that do as they are told.

mod models;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Figures, Side, Thresholds, Trial, Watch};
use mindhost_base::{
    error::{Blame, Code, Error, Result},
    locks::lock,
};
use mindhost_plugin_api::{
    Batch, Call, Column, ColumnStatistics, Connection, Connector, Manifest, Plugin, ServerInfo,
    Statement, StatisticsOptions, TableInfo, TableRef, Target, Value,
};

/// How long whoever reads thinks about it.
const PAUSE: Duration = Duration::from_millis(500);

/// What a call comes to, and how long it takes.
#[derive(Clone, Copy, Debug)]
enum FakeBehaviour {
    Well,
    Slowly,
    Down,
}

/// What `query` and each `next` of one connection do; then all goes well.
#[derive(Clone, Default)]
struct Script(Arc<Mutex<VecDeque<FakeBehaviour>>>);

impl Script {
    fn of(does: &[FakeBehaviour]) -> Self {
        Self(Arc::new(Mutex::new(does.iter().copied().collect())))
    }

    async fn step(&self) -> Result<()> {
        let does = lock(&self.0).pop_front();
        match does.unwrap_or(FakeBehaviour::Well) {
            FakeBehaviour::Well => Ok(()),
            FakeBehaviour::Slowly => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                Ok(())
            }
            FakeBehaviour::Down => {
                Err(Error::new(Code::UpstreamUnreachable, "it is down").blamed(Blame::Upstream))
            }
        }
    }
}

impl Plugin for Script {
    fn manifest(&self) -> &Manifest {
        unreachable!("nobody asks")
    }

    fn digest(&self) -> &str {
        "0"
    }
}

#[async_trait]
impl Connector for Script {
    async fn connect(&self, _: &Target, _: &Call) -> Result<Box<dyn Connection>> {
        Ok(Box::new(self.clone()))
    }

    async fn forget(&self, _: &str) {}
}

#[async_trait]
impl Connection for Script {
    fn digest(&self) -> &str {
        "0"
    }

    async fn check(&mut self, _: &Call) -> Result<ServerInfo> {
        Err(Error::new(Code::UpstreamUnreachable, "it is down").blamed(Blame::Upstream))
    }

    async fn tables(&mut self, _: &Call) -> Result<Vec<TableRef>> {
        Ok(Vec::new())
    }

    async fn describe_tables(&mut self, _: &[TableRef], _: &Call) -> Result<Vec<TableInfo>> {
        Ok(Vec::new())
    }

    async fn statistics(
        &mut self,
        _: &TableRef,
        _: &StatisticsOptions,
        _: &Call,
    ) -> Result<Option<Vec<ColumnStatistics>>> {
        Ok(None)
    }

    async fn begin_snapshot(&mut self, _: Duration, _: &Call) -> Result<bool> {
        Ok(true)
    }

    async fn end_snapshot(&mut self, _: &Call) -> Result<()> {
        Ok(())
    }

    async fn query(&mut self, _: &Statement, _: &Call) -> Result<Arc<[Column]>> {
        self.step().await.map(|()| Arc::default())
    }

    async fn next(&mut self, _: u32, _: &Call) -> Result<Option<Batch>> {
        self.step().await?;
        Ok(Some(Batch::Rows(vec![vec![Value::Null]])))
    }

    async fn close(&mut self, _: &Call) -> Result<()> {
        Ok(())
    }
}

/// Reads three batches of one statement on the version on trial; what was seen of it, and whether all went well.
async fn read(candidate: &[FakeBehaviour], stable: &[FakeBehaviour]) -> (Figures, bool) {
    read_from(Arc::new(Script::of(candidate)), stable).await
}

async fn read_from(candidate: Arc<dyn Connector>, stable: &[FakeBehaviour]) -> (Figures, bool) {
    let watch = watch();
    let stable: Arc<dyn Connector> = Arc::new(Script::of(stable));
    let serving = Trial::new(&candidate, &stable, &watch).choose();
    let (target, call) = (target(), call());
    let mut connection = serving.connect(&target, &call).await.unwrap();
    let statement = Statement {
        text: "SELECT 1".into(),
        id: "1".into(),
        timeout: Duration::from_secs(60),
    };
    let mut waited = Duration::ZERO;
    let read = async {
        connection.begin_snapshot(statement.timeout, &call).await?;
        let start = Instant::now();
        connection.query(&statement, &call).await?;
        waited += start.elapsed();
        // The reader's time is no fault of the version.
        tokio::time::sleep(PAUSE).await;
        let start = Instant::now();
        connection.next(1, &call).await?;
        waited += start.elapsed();
        for _ in 0..2 {
            connection.next(1, &call).await?;
        }
        connection.close(&call).await
    };
    let is_well = read.await.is_ok();
    assert_eq!(watch.figures(Side::Stable).calls, 0);
    let seen = watch.figures(Side::Candidate);
    // A time that is counted is that of the version, until the first rows.
    assert!(seen.median_ms <= waited.as_secs_f64() * 1000.0, "{seen:?}");
    (seen, is_well)
}

/// All calls go to the version on trial.
fn watch() -> Arc<Watch> {
    let thresholds = Thresholds {
        fault_share: 0.02,
        slower: 2.0,
        slack: Duration::ZERO,
    };
    Arc::new(Watch::new(1.0, thresholds))
}

fn target() -> Target {
    Target {
        id: "1".into(),
        workspace: "default".into(),
        folder: "default".into(),
        name: "scripted".into(),
        connection_data: Arc::default(),
        max_connections: 1,
    }
}

fn call() -> Call {
    Call::new(Duration::from_secs(60), CancellationToken::new())
}

#[tokio::test]
async fn a_statement_is_one_call_that_lasts_until_its_first_rows() {
    use FakeBehaviour::{Slowly, Well};
    let (seen, _) = read(&[Slowly, Slowly, Slowly], &[]).await;
    assert_eq!((seen.calls, seen.faults), (1, 0));
    assert!(seen.median_ms >= 100.0, "{seen:?}");
    let (seen, _) = read(&[Well, Well, Slowly, Slowly], &[]).await;
    assert_eq!((seen.calls, seen.faults), (1, 0));
}

#[tokio::test]
async fn a_statement_that_fails_before_its_first_rows_is_made_again() {
    use FakeBehaviour::{Down, Well};
    for candidate in [&[Down][..], &[Well, Down]] {
        let (seen, is_well) = read(candidate, &[]).await;
        assert!(is_well, "{candidate:?}");
        assert_eq!((seen.calls, seen.faults), (1, 1), "{candidate:?}");
    }
}

#[tokio::test]
async fn what_fails_on_both_is_no_fault_wherever_it_fails() {
    use FakeBehaviour::{Down, Well};
    for stable in [&[Down][..], &[Well, Down]] {
        for candidate in [&[Down][..], &[Well, Down]] {
            let (seen, is_well) = read(candidate, stable).await;
            assert!(!is_well, "{candidate:?} {stable:?}");
            assert_eq!(seen.faults, 0, "{candidate:?} {stable:?}");
        }
    }
}

#[tokio::test]
async fn a_failure_after_the_first_rows_is_a_fault_of_the_same_call() {
    use FakeBehaviour::{Down, Well};
    let (seen, is_well) = read(&[Well, Well, Down], &[]).await;
    assert!(!is_well);
    assert_eq!((seen.calls, seen.faults), (1, 1));
}

/// A connector that opens no connection.
struct UnreachableConnector;

impl Plugin for UnreachableConnector {
    fn manifest(&self) -> &Manifest {
        unreachable!("nobody asks")
    }

    fn digest(&self) -> &str {
        "0"
    }
}

#[async_trait]
impl Connector for UnreachableConnector {
    async fn connect(&self, _: &Target, _: &Call) -> Result<Box<dyn Connection>> {
        Err(Error::new(Code::UpstreamUnreachable, "it is down").blamed(Blame::Upstream))
    }

    async fn forget(&self, _: &str) {}
}

#[tokio::test]
async fn connection_that_only_stable_version_opens_is_one_fault_and_not_watched() {
    let (seen, is_well) = read_from(Arc::new(UnreachableConnector), &[]).await;
    assert!(is_well);
    assert_eq!((seen.calls, seen.faults), (1, 1));
}

#[tokio::test]
async fn call_that_fails_on_both_is_no_fault_and_stable_version_goes_on() {
    let watch = watch();
    let candidate: Arc<dyn Connector> = Arc::new(Script::default());
    let stable: Arc<dyn Connector> = Arc::new(Script::default());
    let serving = Trial::new(&candidate, &stable, &watch).choose();
    let mut connection = serving.connect(&target(), &call()).await.unwrap();
    connection.tables(&call()).await.unwrap();
    let seen = watch.figures(Side::Candidate);
    assert_eq!((seen.calls, seen.faults), (1, 0));
    connection.check(&call()).await.unwrap_err();
    let seen = watch.figures(Side::Candidate);
    assert_eq!((seen.calls, seen.faults), (1, 0));
    connection.tables(&call()).await.unwrap();
    assert_eq!(watch.figures(Side::Stable).calls, 1);
}
