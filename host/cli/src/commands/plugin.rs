//! `mindhost plugin …`

mod activate;
mod compile;
mod configured;
mod fetch;
mod files;
mod health;
mod install;
mod lines;
mod list;
mod lock;
mod names;
mod new;
mod pack;
mod print;
mod release;
mod replay;
mod run;
mod sandbox;
mod show;
mod sign;
mod test;
mod text;
mod usage;
mod watch;

use std::process::ExitCode;

use clap::Subcommand;

pub(super) use self::list::examine;

#[derive(Debug, Subcommand)]
pub(crate) enum Plugin {
    /// List the plugins of a running server, or those of a directory: what each is, whether it serves, and how it is.
    List(list::List),
    /// Show a plugin of a running server with its versions, or what a file is and its access.
    Show(show::Show),
    /// Install a file, a directory or a reference on a running server. It serves nothing before it is activated.
    Install(install::Install),
    /// Let an installed version serve in the place of another. Nothing that is under way breaks off.
    Activate(activate::Activate),
    /// Go back to the version that served before, at once.
    Rollback(activate::Rollback),
    /// Release a version from quarantine.
    Release(release::Release),
    /// Show what a plugin has used, and how its versions are.
    Usage(usage::Usage),
    /// Remove an installed version. One that lies in `plugins_dir` comes back at the next start.
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
    /// Try a plugin by itself, without a server: what it is, what its configuration grants, a statement or a question.
    Run(run::Run),
    /// Run the conformance kit against a plugin: does it keep the contract?
    Test(test::Test),
    /// Compile a component from standard input, for the server that started this.
    #[command(hide = true)]
    Compile(compile::Compile),
    /// Repeat the calls of a recording on another version of a plugin, and say where the results differ.
    Replay(replay::Replay),
}

pub(super) async fn run(command: Plugin) -> anyhow::Result<ExitCode> {
    let done = match command {
        Plugin::List(list) => list::run(list).await,
        Plugin::Show(show) => show::run(&show).await,
        Plugin::Install(install) => install::run(install).await,
        Plugin::Activate(activate) => activate::run(&activate).await,
        Plugin::Rollback(rollback) => activate::roll_back(&rollback).await,
        Plugin::Release(release) => release::run(&release).await,
        Plugin::Usage(usage) => usage::run(&usage).await,
        Plugin::Remove(remove) => show::remove(&remove).await,
        Plugin::Watch(watch) => watch::run(watch).await,
        Plugin::New(new) => new::run(&new),
        Plugin::Pack(pack) => pack::run(&pack),
        Plugin::Keygen(keygen) => sign::keygen(&keygen),
        Plugin::Sign(sign) => sign::sign(&sign),
        Plugin::Push(push) => fetch::push(&push).await,
        Plugin::Run(run) => run::run(run).await,
        Plugin::Test(test) => return test::run(test).await,
        Plugin::Compile(compile) => compile::run(&compile),
        Plugin::Replay(replay) => return replay::run(replay).await,
    };
    done.map(|()| ExitCode::SUCCESS)
}
