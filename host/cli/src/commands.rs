//! The commands of `mindhost`.

// `println!` panics on a closed pipe: use `say!` and `aside!` of `say.rs`.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod console;
mod demo;
mod doctor;
mod eval;
mod finding;
mod keys;
mod load_plugins;
mod open;
mod plugin;
mod remote;
mod say;
mod secrets;
mod serve;
mod settings;
mod workspaces;

use std::{process::ExitCode, time::Duration};

use crate::commands::say::{aside, say};
use clap::{Parser, Subcommand};
use mindhost_base::config::Config;
use mindhost_sql::guard::STACK_BYTES;

/// Answers questions about databases: connect datasources, make Minds over them, ask in words or in SQL.
#[derive(Debug, Parser)]
#[command(name = "mindhost", version, about, after_help = HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

const HELP: &str = "\
Settings come from a file named in MINDHOST_CONFIG and from MINDHOST_<NAME> or MINDHOST_<SECTION>__<NAME>; the
environment takes precedence. `mindhost settings` prints every setting with its default and its reason;
`mindhost settings --effective` prints the values in use and where each comes from.

Start here:
  mindhost demo                                    a made-up shop, and the whole API on it, with the curl lines
  mindhost serve                                   the server; its first start makes a key and prints it to a terminal,
                                                   or writes it to admin.key in the data directory
  export KEY=$(cat mindhost-data/admin.key)        that key, or the one that the terminal showed
  curl -H \"Authorization: Bearer $KEY\" http://127.0.0.1:8080/api/v1/engines
  mindhost console                                 a one-time link to the console in the browser
  mindhost doctor                                  check the installation and suggest fixes";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server until SIGTERM or Ctrl-C.
    Serve,
    /// Migrate the store and exit. `serve` does this too.
    Migrate,
    /// Make, list, rotate and revoke API keys.
    #[command(subcommand)]
    Keys(keys::Keys),
    /// Make, list and delete workspaces.
    #[command(subcommand)]
    Workspaces(workspaces::Command),
    /// Replace the secret key, or print a new one.
    #[command(subcommand)]
    Secrets(secrets::Secrets),
    /// Install, activate, write, test and sign plugins.
    #[command(subcommand)]
    Plugin(plugin::Plugin),
    /// Print a one-time link that opens the console signed in.
    ///
    /// The link opens the console with the key of this command, once, within ten minutes.
    Console(console::Console),
    /// Show the whole API on a made-up shop, with `curl`.
    ///
    /// Connects two databases, loads the catalog, makes a Mind, asks it in words and in SQL, and exports CSV. Shows the
    /// `curl` command of each step and checks each answer against the databases. Then leaves the server running until
    /// Ctrl-C. Of the settings in the environment, its server takes only MINDHOST_LISTEN, the address of the API.
    Demo(demo::Demo),
    /// Measure how well a Mind answers a suite of questions.
    ///
    /// Asks a running server each question, and compares the rows of each answer with those of an accepted statement. The
    /// suite `demo` is about the shop of `mindhost demo`.
    Eval(Box<eval::Eval>),
    /// Check the installation and suggest fixes. Changes nothing.
    Doctor,
    /// Print every setting with its default and its reason.
    Settings(settings::Settings),
}

/// How long threads that still block may keep the program after a command.
const SHUTDOWN: Duration = Duration::from_secs(1);

/// Runs one command; a failure is one line on standard error and exit code 1.
pub(crate) fn run(cli: Cli) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        // The stack that the guard needs. Unused pages take no memory.
        .thread_stack_size(STACK_BYTES + (4 << 20))
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.into()),
    };
    // The TLS provider of the whole program; the commands that call a server find it here.
    if rustls::crypto::ring::default_provider()
        .install_default()
        .is_err()
    {
        return failed(&anyhow::anyhow!("the TLS library could not be set up"));
    }
    let ended = runtime.block_on(dispatch(cli.command));
    // A thread that hangs in a system call, such as a read from a file server, would keep the program for as long.
    runtime.shutdown_timeout(SHUTDOWN);
    match ended {
        // The reader of the pipe, such as `head`, has read enough.
        Err(error) if error.is::<say::NobodyReads>() => ExitCode::SUCCESS,
        Err(error) => failed(&error),
        Ok(code) => match say::lost() {
            None => code,
            Some(error) => failed(&anyhow::anyhow!(
                "standard output cannot be written: {error}"
            )),
        },
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    aside!("mindhost: {error:#}");
    ExitCode::FAILURE
}

async fn dispatch(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Plugin(plugin) => return plugin::run(plugin).await,
        Command::Console(console) => console::run(&console).await?,
        Command::Demo(demo) => demo::run(demo)?,
        Command::Eval(eval) => return eval::run(&eval).await,
        Command::Doctor => return Ok(doctor::run(Config::load()).await),
        Command::Settings(settings) => settings::run(&settings)?,
        Command::Serve => serve::run(Config::load()?).await?,
        Command::Migrate => {
            let opened = open::store(&Config::load()?).await?;
            opened.store.close().await;
            say!("the store is up to date");
        }
        Command::Keys(keys) => keys::run(keys, &Config::load()?).await?,
        Command::Secrets(command) => secrets::run(command).await?,
        Command::Workspaces(command) => workspaces::run(command, &Config::load()?).await?,
    }
    Ok(ExitCode::SUCCESS)
}
