//! `mindhost secrets …`

use std::time::Duration;

use clap::Subcommand;
use mindhost_base::config::Config;
use mindhost_core::{
    audit,
    rekeying::{self, Progress},
    secrets::{SecretKey, Source},
};

use super::open;
use crate::commands::say::{aside, say};

#[derive(Debug, Subcommand)]
pub(crate) enum Secrets {
    /// Replace the secret key while servers run.
    ///
    /// If the key is in a file, this writes a new one. With another source, first put the new key before the old one, for
    /// every server of the store, and restart those that have it in their environment. If this is interrupted, run it
    /// again to continue.
    Rotate {
        /// How long to wait for all servers, and for another rotation to end: 30s, 5m
        #[arg(long, value_name = "TIME", default_value = "2m", value_parser = time)]
        wait: Duration,
    },
    /// Print a new secret key.
    Generate,
}

/// Parses a time such as `30s` or `5m`, or a number of seconds.
fn time(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse() {
        return Ok(Duration::from_secs(seconds));
    }
    let time = text.parse::<jiff::SignedDuration>().ok();
    time.and_then(|time| Duration::try_from(time).ok())
        .ok_or_else(|| "write a time such as 30s or 5m, or a number of seconds".to_owned())
}

pub(super) async fn run(command: Secrets) -> anyhow::Result<()> {
    match command {
        Secrets::Generate => say!("{}", *SecretKey::generate()?.text()),
        Secrets::Rotate { wait } => {
            let config = Config::load()?;
            let opened = open::store(&config).await?;
            let source = Source::of(&config)?;
            let say = |progress| match progress {
                Progress::Done(what) => say!("{what}"),
                Progress::Waiting(what) => aside!("{what}"),
            };
            rekeying::rotate(&source, &opened.store, wait, say).await?;
            let (action, resource) = ("mindhost secrets rotate", "/secrets".to_owned());
            audit::record(&opened.store, &opened.workspace, action, resource, None).await?;
            opened.store.close().await;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_has_a_unit_or_is_in_seconds() {
        for (text, seconds) in [("30", 30), ("30s", 30), ("5m", 300), ("1h 30m", 5_400)] {
            assert_eq!(time(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        for text in ["", "soon", "-30s", "1.5"] {
            assert!(time(text).unwrap_err().contains("30s"), "{text}");
        }
    }
}
