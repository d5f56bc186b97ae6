//! The program: parses the command line and runs the command.

mod allocator;
mod commands;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    commands::run(commands::Cli::parse())
}
