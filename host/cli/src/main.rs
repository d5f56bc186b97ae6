//! The program: parses the command line and runs the command.

mod commands;

use std::process::ExitCode;

use clap::Parser;

/// This allocator is fast for small values that one thread allocates and another frees, as requests do.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    commands::run(commands::Cli::parse())
}
