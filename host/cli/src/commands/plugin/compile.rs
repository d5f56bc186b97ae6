//! `mindhost plugin compile`: a child process of the server that compiles one component.

use std::io;

use clap::{Args, ValueEnum};
use mindhost_base::config::Compiler;
use mindhost_plugins::registry;

/// The lowest scheduling priority.
const SPARE_NICENESS: i32 = 19;

#[derive(Debug, Args)]
pub(crate) struct Compile {
    compiler: Backend,
    /// Run at normal priority.
    #[arg(long, conflicts_with = "spare")]
    urgent: bool,
    /// Run at lowest priority.
    #[arg(long)]
    spare: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Backend {
    Cranelift,
    Winch,
}

pub(super) fn run(compile: &Compile) -> anyhow::Result<()> {
    if compile.spare {
        // Without it this process has normal priority.
        let _ = rustix::process::nice(SPARE_NICENESS);
    }
    let compiler = match compile.compiler {
        Backend::Cranelift => Compiler::Cranelift,
        Backend::Winch => Compiler::Winch,
    };
    registry::compile(compiler, io::stdin(), io::stdout().lock()).map_err(anyhow::Error::msg)
}
