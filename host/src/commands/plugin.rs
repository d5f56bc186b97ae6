//! `mindhost plugin …`

mod activate;
mod fetch;
mod install;
mod list;
mod lock;
mod new;
mod pack;
mod show;
mod sign;
mod text;
mod watch;

use clap::Subcommand;

pub(super) use self::list::examine;

#[derive(Debug, Subcommand)]
pub(crate) enum Plugin {
    /// List the plugins of this installation: what each is, and whether it serves.
    List,
    /// Show a plugin of a running server with its versions, or what a file is and what it would reach.
    Show(show::Show),
    /// Install a file, a directory or a reference on a running server. It serves nothing before it is activated.
    Install(install::Install),
    /// Let an installed version serve in the place of another. Nothing that is under way breaks off.
    Activate(activate::Activate),
    /// Go back to the version that served before, at once.
    Rollback(activate::Rollback),
    /// Remove an installed version.
    Remove(show::Remove),
    /// Run a server for development: a plugin that is built into a directory serves at once.
    Watch(watch::Watch),
    /// Write a project for a new plugin, which builds, passes its tests and serves as it is.
    New(new::New),
    /// Write a manifest into a component, which makes it a plugin.
    Pack(pack::Pack),
    /// Make a pair of keys for signing plugins.
    Keygen(sign::Keygen),
    /// Sign a plugin: writes FILE.minisig.
    Sign(sign::Sign),
    /// Put a plugin into an OCI registry.
    Push(fetch::Push),
}

pub(super) async fn run(command: Plugin) -> anyhow::Result<()> {
    match command {
        Plugin::List => list::run().await,
        Plugin::Show(show) => show::run(&show).await,
        Plugin::Install(install) => install::run(install).await,
        Plugin::Activate(activate) => activate::run(&activate).await,
        Plugin::Rollback(rollback) => activate::roll_back(&rollback).await,
        Plugin::Remove(remove) => show::remove(&remove).await,
        Plugin::Watch(watch) => watch::run(watch).await,
        Plugin::New(new) => new::run(&new),
        Plugin::Pack(pack) => pack::run(&pack),
        Plugin::Keygen(keygen) => sign::keygen(&keygen),
        Plugin::Sign(sign) => sign::sign(&sign),
        Plugin::Push(push) => fetch::push(&push).await,
    }
}
