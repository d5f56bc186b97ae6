//! The network between plugin and engine breaks.

use mindhost_sdk::ErrorKind;

use crate::{
    bench::{Bench, ROWS, read, usual},
    case::{Case, Expect, Stop, Verdict, failed, passed, skipped},
    proxy::{Proxy, Route},
    subject::{Cause, Connection, Data, Limits},
};

pub(super) const CASES: &[Case<Bench>] = &[
    Case {
        name: "lost-idle",
        proves: "A connection that broke while nobody used it is `connection-lost` at its next use, and a new one opens.",
        run: |bench| Box::pin(lost_idle(bench)),
    },
    Case {
        name: "lost-midway",
        proves: "A connection that breaks in the middle of a result is `connection-lost`; the rows do not just end.",
        run: |bench| Box::pin(lost_midway(bench)),
    },
];

const KINDS: &[ErrorKind] = &[ErrorKind::ConnectionLost];

/// A proxy to the engine, and a configuration that leads through it.
async fn detour(bench: &Bench) -> Result<(Proxy, Data), Stop> {
    let route = Route::of(&bench.about, bench.data())?;
    let proxy = Proxy::to(route.host.clone(), route.port).await;
    let proxy = proxy.map_err(|error| skipped(format!("no port is free: {error}")))?;
    let data = route.to(proxy.port());
    Ok((proxy, data))
}

async fn open(bench: &Bench, data: &Data) -> Result<Box<dyn Connection>, Stop> {
    let opened = bench.plugin.open(data, Limits::USUAL, &usual()).await;
    opened.map_err(|failure| match failure.cause {
        Cause::Reported(ErrorKind::Tls) => {
            skipped("the certificate is checked against the host's name, so that nothing can be put between")
        }
        _ => failed(
            "a connection through a proxy of the kit",
            &failure,
            "connect to nothing but the configured host and port",
        ),
    })
}

async fn lost_idle(bench: &Bench) -> Verdict {
    let (proxy, data) = detour(bench).await?;
    let one = bench.sample("one", bench.samples.one.clone())?;
    let mut connection = open(bench, &data).await?;
    bench.works(&mut *connection, "through a proxy").await?;
    proxy.cut();
    let answer = read(&mut *connection, &one, ROWS).await;
    answer.expect_kind("a statement on a connection that broke", KINDS)?;
    let mut again = open(bench, &data).await?;
    bench.works(&mut *again, "when it is new").await?;
    passed()
}

async fn lost_midway(bench: &Bench) -> Verdict {
    let sql = bench.sample("huge", bench.samples.huge.clone())?;
    let (proxy, data) = detour(bench).await?;
    let mut connection = open(bench, &data).await?;
    let runs = format!("`{sql}` runs");
    connection
        .query(&sql, usual().timeout, &usual())
        .await
        .expect_to(&runs)?;
    connection.next(10, &usual()).await.expect_to(&runs)?;
    proxy.cut();
    let rest = async {
        while connection.next(ROWS, &usual()).await?.is_some() {}
        Ok(())
    };
    rest.await
        .expect_kind("a result whose connection broke in its middle", KINDS)?;
    drop(connection);
    let mut again = open(bench, &data).await?;
    bench.works(&mut *again, "when it is new").await?;
    passed()
}
