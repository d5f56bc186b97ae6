//! `mindhost plugin …`

mod activate;
mod catalogue;
mod compile;
mod compiled;
mod configured;
mod dev;
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
mod publish;
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
    /// List the plugins of a server or a directory, with their state.
    List(list::List),
    /// Show a plugin of a server with its versions, or a file with its rights.
    Show(show::Show),
    /// Install a file, a directory or a reference on a running server.
    ///
    /// It serves nothing until it is activated.
    Install(install::Install),
    /// Make an installed version serve, without interrupting running calls.
    Activate(activate::Activate),
    /// Return to the previous version at once.
    Rollback(activate::Rollback),
    /// Release a version from quarantine.
    Release(release::Release),
    /// Show the usage of a plugin and the health of its versions.
    Usage(usage::Usage),
    /// Remove an installed version.
    ///
    /// A file in `plugins_dir` is installed again at the next start.
    Remove(show::Remove),
    /// Run a development server that serves each plugin as it is built.
    Watch(watch::Watch),
    /// Build, run and test a project on each save.
    ///
    /// Runs `sh build.sh` in the project, then a statement or question with the connection data of test.json, then the
    /// quick part of the conformance kit. Shows rows, log, times and what the kit finds. No server is needed.
    Dev(Box<dev::Dev>),
    /// Write a working project for a new plugin.
    New(new::New),
    /// Write a manifest into a component to make it a plugin.
    Pack(pack::Pack),
    /// Make a key pair for signing plugins.
    Keygen(sign::Keygen),
    /// Sign a plugin: writes FILE.minisig.
    Sign(sign::Sign),
    /// Push a plugin to an OCI registry.
    Push(fetch::Push),
    /// Check, sign and push a version that is ready for others.
    ///
    /// Checks that the conformance kit passes, that the version is higher than all in the registry, that name and
    /// version of the manifest agree with the reference, and that there are a licence and a changelog entry. A tag that
    /// is there is never overwritten.
    Publish(Box<publish::Publish>),
    /// Find plugins in the catalogues of the settings.
    Search(catalogue::Search),
    /// Make a catalogue: a signed list of published plugins.
    #[command(subcommand)]
    Catalogue(catalogue::Commands),
    /// Try a plugin without a server: its grants, a statement, or a question.
    Run(run::Run),
    /// Run the conformance kit against a plugin.
    Test(test::Test),
    /// Compile a component from standard input, for the server that started this.
    #[command(hide = true)]
    Compile(compile::Compile),
    /// Replay a recording on another version of a plugin and show differences.
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
        Plugin::Dev(dev) => dev::run(*dev).await,
        Plugin::New(new) => new::run(&new),
        Plugin::Pack(pack) => pack::run(&pack),
        Plugin::Keygen(keygen) => sign::keygen(&keygen),
        Plugin::Sign(sign) => sign::sign(&sign),
        Plugin::Push(push) => fetch::push(&push).await,
        Plugin::Publish(publish) => publish::run(&publish).await,
        Plugin::Search(search) => catalogue::search(&search).await,
        Plugin::Catalogue(command) => catalogue::run(command).await,
        Plugin::Run(run) => run::run(run).await,
        Plugin::Test(test) => return test::run(test).await,
        Plugin::Compile(compile) => compile::run(&compile),
        Plugin::Replay(replay) => return replay::run(replay).await,
    };
    done.map(|()| ExitCode::SUCCESS)
}
