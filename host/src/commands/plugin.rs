//! `mindhost plugin …`

mod list;
mod pack;

use clap::Subcommand;

pub(super) use self::list::examine;

#[derive(Debug, Subcommand)]
pub(crate) enum Plugin {
    /// List the files of the plugins directory: what each is, and whether it serves.
    List,
    /// Write a manifest into a component, which makes it a plugin.
    Pack(pack::Pack),
}

pub(super) async fn run(command: Plugin) -> anyhow::Result<()> {
    match command {
        Plugin::List => list::run().await,
        Plugin::Pack(pack) => pack::run(&pack),
    }
}
