//! `mindhost secrets …`

use std::time::Duration;

use clap::Subcommand;
use mindhost_base::config::Config;
use mindhost_core::{
    audit, rekeying,
    secrets::{SecretKey, Source},
};

use super::open;
use crate::commands::say::say;

#[derive(Debug, Subcommand)]
pub(crate) enum Secrets {
    /// Replace the secret key while servers run.
    ///
    /// If the key is in a file, this writes a new one. With another source, first put the new key before the old one, for
    /// every server of the store, and restart those that have it in their environment. If this is interrupted, run it
    /// again to continue.
    Rotate {
        /// Seconds to wait for all servers to get the new key, and for another rotation to end.
        #[arg(long, default_value_t = 120)]
        wait: u64,
    },
    /// Print a new secret key.
    Generate,
}

pub(super) async fn run(command: Secrets) -> anyhow::Result<()> {
    match command {
        Secrets::Generate => say!("{}", *SecretKey::generate()?.text()),
        Secrets::Rotate { wait } => {
            let config = Config::load()?;
            let opened = open::store(&config).await?;
            let source = Source::of(&config)?;
            let wait = Duration::from_secs(wait);
            rekeying::rotate(&source, &opened.store, wait, |line| say!("{line}")).await?;
            let (action, resource) = ("mindhost secrets rotate", "/secrets".to_owned());
            audit::record(&opened.store, &opened.workspace, action, resource, None).await?;
            opened.store.close().await;
        }
    }
    Ok(())
}
