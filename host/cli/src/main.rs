//! The program: reads the command line and hands on.

mod commands;

use std::process::ExitCode;

use clap::Parser;

/// Requests make many small values on one thread and drop them on another, which this one is made for.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    commands::run(commands::Cli::parse())
}
