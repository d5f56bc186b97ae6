//! The number of rows of a table that was read in part.

use tokio_util::sync::CancellationToken;

use super::{
    LONG,
    scripted::{Engine, Only, Scripted, table},
};
use crate::{
    Engines,
    sample::{self, Bounds, Sample},
};
use mindhost_plugin_api::Call;

/// Four of the seven rows of a table.
async fn sampled(scripted: Scripted) -> Sample {
    let engine = Engine::new();
    let rows = (1..=7).map(|id| (id, Some("a"))).collect();
    engine.put("a", Scripted { rows, ..scripted });
    let call = Call::new(LONG, CancellationToken::new());
    let (connector, target) = Only(engine).engine("of-the-test", "shop").await.unwrap();
    let mut connection = connector.connect(&target, &call).await.unwrap();
    let described = connection.describe_tables(&[table("a")], &call).await;
    let info = described.unwrap().remove(0);
    let bounds = Bounds {
        rows: 4,
        time: LONG,
    };
    let manifest = connector.manifest();
    let sample = sample::scan(&mut *connection, manifest, &info, bounds, &call).await;
    sample.unwrap()
}

/// The rows of the table, and the distinct values of a column without duplicates.
async fn counts(estimate: Option<u64>, counts_slowly: bool) -> (Option<u64>, u64) {
    let sample = sampled(Scripted {
        estimate,
        counts_slowly,
        ..Scripted::default()
    });
    let sample = sample.await;
    let id = &sample.statistics["id"];
    assert_eq!((id.sampled_rows, id.estimated), (Some(4), true));
    (sample.row_count, id.distinct_values_count)
}

#[tokio::test]
async fn estimate_below_the_rows_that_were_read_is_replaced_by_a_count() {
    for estimate in [0, 3] {
        assert_eq!(counts(Some(estimate), false).await, (Some(7), 7));
    }
    assert_eq!(counts(None, false).await, (Some(7), 7));
}

#[tokio::test]
async fn plausible_estimate_is_not_counted_again() {
    assert_eq!(counts(Some(8), false).await, (Some(8), 8));
}

#[tokio::test]
async fn rows_that_were_read_stand_for_an_estimate_below_them_if_counting_takes_too_long() {
    assert_eq!(counts(Some(0), true).await, (Some(4), 4));
    assert_eq!(counts(None, true).await.0, None);
}
