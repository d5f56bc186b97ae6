//! The program: reads the command line and hands on.

mod commands;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    commands::run(commands::Cli::parse())
}
