//! Getting a connection, and being refused one in the right words.

use mindhost_base::Result as Called;
use mindhost_plugin_api::Manifest;
use serde_json::Value;

use crate::{
    bench::{Bench, usual},
    case::{
        Case, Expect, Stop, Verdict, ensure, failed, passed, skipped, skipped_until, unexpected,
    },
    cause::{Cause, kind},
    config::Data,
    proxy::{Route, Stranger, closed_port},
    sandbox::Limits,
};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "opens",
        proves: "A connection opens with the configuration, and one after it.",
        run: |bench| Box::pin(opens(bench)),
    },
    Case {
        name: "check",
        proves: "`check` says which product answers and in which version.",
        run: |bench| Box::pin(check(bench)),
    },
    Case {
        name: "bad-credentials",
        proves: "Wrong credentials are refused as `auth`.",
        run: |bench| Box::pin(bad_credentials(bench)),
    },
    Case {
        name: "unreachable",
        proves: "A port on which nobody listens is `unreachable`.",
        run: |bench| Box::pin(unreachable(bench)),
    },
    Case {
        name: "stranger",
        proves: "A server of another protocol is an error, in time and without a trap.",
        run: |bench| Box::pin(stranger(bench)),
    },
];

async fn opens(bench: &Bench) -> Verdict {
    drop(bench.open().await?);
    let mut again = bench.open().await?;
    bench
        .works(&mut *again, "right after it was opened")
        .await?;
    passed()
}

async fn check(bench: &Bench) -> Verdict {
    let mut connection = bench.open().await?;
    let info = connection
        .check(&usual())
        .await
        .expect_to("`check` succeeds")?;
    ensure(
        !info.product.is_empty() && !info.version.is_empty(),
        "a product and a version",
        format!("`{}` and `{}`", info.product, info.version),
        "fill in both of server-info; a version is what the engine says of itself",
    )?;
    Ok(format!("{} {}", info.product, info.version))
}

/// Connection data with wrong credentials, where there are credentials.
pub(super) fn wrong_credentials(
    data: &Data,
    manifest: &Manifest,
    hint: Option<&Data>,
) -> Option<Data> {
    let mut wrong = data.clone();
    if let Some(hint) = hint {
        wrong.extend(hint.clone());
        return Some(wrong);
    }
    let mut found = false;
    for rule in &manifest.credentials {
        // A key in PEM form that is changed is no key any more.
        if let Some(Value::String(text)) = wrong.get_mut(&rule.property)
            && !text.contains("-----BEGIN")
        {
            text.push_str("-and-wrong");
            found = true;
        }
    }
    found.then_some(wrong)
}

async fn bad_credentials(bench: &Bench) -> Verdict {
    if bench.manifest().credentials.is_empty() {
        return Err(skipped("the manifest names no credentials"));
    }
    let hint = bench.config.tests.wrong_credentials.as_ref();
    let wrong = wrong_credentials(bench.data(), bench.manifest(), hint).ok_or_else(|| {
        skipped_until(
            "the configuration holds no credentials",
            "connection_data of a user with a password, or tests.wrong_credentials: connection data that must be refused",
        )
    })?;
    let opened = bench.connect(&wrong, Limits::USUAL).await;
    let what = "opening with wrong credentials";
    refused(opened.map(drop), what, kind::AUTH)?;
    bench.open().await?;
    passed()
}

/// Opening had to fail with an error of this kind.
fn refused(opened: Called<()>, what: &str, kind: &str) -> Result<(), Stop> {
    match opened {
        Ok(()) => Err(failed(
            format!("{what}: the error `{kind}`"),
            "success",
            format!(
                "ask the source for something when it is opened, and not only in `check`; return `{kind}` then"
            ),
        )),
        Err(_) => opened.expect_kind(what, &[kind]).map(drop),
    }
}

async fn unreachable(bench: &Bench) -> Verdict {
    let route = Route::of(bench.manifest(), bench.data())?;
    let port = closed_port()
        .await
        .map_err(|error| skipped(format!("no port is free: {error}")))?;
    let opened = bench.connect(&route.to(port), Limits::USUAL).await;
    let what = "opening towards a port on which nobody listens";
    refused(opened.map(drop), what, kind::UNREACHABLE)?;
    passed()
}

async fn stranger(bench: &Bench) -> Verdict {
    let route = Route::of(bench.manifest(), bench.data())?;
    let stranger = Stranger::start()
        .await
        .map_err(|error| skipped(format!("no port is free: {error}")))?;
    let data = route.to(stranger.port);
    let opened = bench.connect(&data, Limits::USUAL).await;
    let expected = "an error of the plugin when a mail server answers in the place of the engine";
    match opened.map(drop) {
        Ok(()) => Err(failed(
            expected,
            "a connection",
            "look at what the server sends before the connection counts as open",
        )),
        Err(error) => match Cause::of(&error) {
            Cause::Reported(_) => passed(),
            _ => Err(unexpected(expected, &error)),
        },
    }
}
