//! `mindhost settings`

use clap::Args;
use mindhost_base::config::{Config, DEFAULTS};

use crate::commands::say::{say, say_part};

#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// Print the values in use and where each comes from, without secrets.
    #[arg(long)]
    effective: bool,
}

pub(super) fn run(settings: &Settings) -> anyhow::Result<()> {
    if !settings.effective {
        say_part!("{DEFAULTS}");
        return Ok(());
    }
    for one in Config::effective()? {
        say!("{} = {}  # {}", one.name, one.value, one.origin);
    }
    Ok(())
}
