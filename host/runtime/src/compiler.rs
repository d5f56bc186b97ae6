//! Compiles components to machine code in a subprocess, which returns its memory at the end, can be killed, and
//! contains a crash of the compiler.
//!
//! The subprocess is this program without its environment. It reads a component and writes code. It has no key, so the
//! host seals the code before it loads it.

use std::{
    io::{self, Read, Write},
    path::PathBuf,
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStderr, Command},
    time::timeout,
};
use wasmtime::Engine;

use super::engine::codegen_config;
use crate::package::{Package, Refusal};
use mindhost_base::config::Compiler;

/// Timeouts of a compilation, by priority.
const FOREGROUND_TIMEOUT: Duration = Duration::from_secs(300);
const BACKGROUND_TIMEOUT: Duration = Duration::from_secs(600);
/// Largest machine code.
const MAX_CODE_BYTES: u64 = 2 << 30;
/// Bytes of standard error that become the message of a failure.
const MAX_STDERR_BYTES: u64 = 4 << 10;

/// Whether somebody waits for a compilation: decides its timeout and its share of the processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// A call or an operator waits for the code.
    Foreground,
    /// Nobody waits: one thread at the lowest priority.
    Background,
}

/// How components are compiled.
pub enum Compilers {
    /// In this process, for tools and tests.
    InProcess,
    /// In a subprocess: a program that takes the arguments of [`arguments`].
    Subprocess(PathBuf),
}

/// The hidden command that compiles; see [`run`].
pub fn arguments(compiler: Compiler, priority: Priority) -> [&'static str; 4] {
    let compiler = match compiler {
        Compiler::Cranelift => "cranelift",
        Compiler::Winch => "winch",
    };
    let priority = match priority {
        Priority::Foreground => "--urgent",
        Priority::Background => "--spare",
    };
    ["plugin", "compile", compiler, priority]
}

impl Compilers {
    /// The compiler of a server: its own program, even if the file was replaced since the start.
    pub fn of_this_program() -> Self {
        let linked = PathBuf::from("/proc/self/exe");
        match linked.exists() {
            true => Self::Subprocess(linked),
            false => std::env::current_exe().map_or(Self::InProcess, Self::Subprocess),
        }
    }

    /// Compiles a component to code for an engine with this compiler.
    pub async fn compile(
        &self,
        package: &Arc<Package>,
        compiler: Compiler,
        priority: Priority,
    ) -> Result<Vec<u8>, Refusal> {
        if let Self::Subprocess(program) = self {
            let mut command = Command::new(program);
            command.args(arguments(compiler, priority));
            match start(command, priority) {
                Ok(child) => return finish(child, &package.bytes, priority).await,
                Err(error) => {
                    tracing::warn!(%error, "could not start a compiler process; compiling in this process");
                }
            }
        }
        let package = Arc::clone(package);
        tokio::task::spawn_blocking(move || compile(&package.bytes, compiler))
            .await
            .map_err(|_| Refusal::new("could not be compiled"))?
            .map_err(Refusal::new)
    }
}

fn start(mut command: Command, priority: Priority) -> io::Result<Child> {
    command.env_clear();
    if priority == Priority::Background {
        command.env("RAYON_NUM_THREADS", "1");
    }
    command
        .arg0("mindhost")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C on a terminal is for the server, which then kills the subprocess.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

async fn finish(
    mut child: Child,
    component: &[u8],
    priority: Priority,
) -> Result<Vec<u8>, Refusal> {
    let time = match priority {
        Priority::Foreground => FOREGROUND_TIMEOUT,
        Priority::Background => BACKGROUND_TIMEOUT,
    };
    let (Some(mut input), Some(output), Some(errors)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(Refusal::new("could not be compiled: no pipes"));
    };
    let (mut code, mut stderr) = (Vec::new(), Vec::new());
    let length = (component.len() as u64).to_le_bytes();
    let work = async {
        let send = async {
            input.write_all(&length).await?;
            input.write_all(component).await
        };
        let mut output = output.take(MAX_CODE_BYTES);
        let (sent, read, _) = tokio::join!(
            send,
            output.read_to_end(&mut code),
            read_stderr(errors, &mut stderr)
        );
        let status = child.wait().await?;
        // The subprocess exits at the end of its input, so the input stays open until now.
        drop(input);
        read?;
        Ok((status, sent))
    };
    let ended: io::Result<(ExitStatus, io::Result<()>)> =
        timeout(time, work).await.map_err(|_| {
            Refusal::new(format!(
                "could not be compiled within {} seconds",
                time.as_secs()
            ))
        })?;
    match ended {
        Ok((status, Ok(()))) if status.success() => Ok(code),
        Ok((status, _)) if stderr.is_empty() => Err(Refusal::new(format!(
            "could not be compiled: the compiler ended with {status}"
        ))),
        Ok(_) => {
            let stderr = String::from_utf8_lossy(&stderr);
            let why = stderr.trim().trim_start_matches("mindhost: ");
            Err(Refusal::new(why.to_owned()))
        }
        Err(error) => Err(Refusal::new(format!("could not be compiled: {error}"))),
    }
}

/// Keeps the start of standard error and reads the rest, because a full pipe would block the subprocess.
async fn read_stderr(mut errors: ChildStderr, stderr: &mut Vec<u8>) -> io::Result<()> {
    (&mut errors)
        .take(MAX_STDERR_BYTES)
        .read_to_end(stderr)
        .await?;
    tokio::io::copy(&mut errors, &mut tokio::io::sink()).await?;
    Ok(())
}

/// Compiles a component. The error is for a person.
fn compile(component: &[u8], compiler: Compiler) -> Result<Vec<u8>, String> {
    let engine = Engine::new(&codegen_config(compiler));
    engine
        .and_then(|engine| engine.precompile_component(component))
        .map_err(|error| format!("cannot be compiled: {error:#}"))
}

/// The work of the subprocess: reads a component with its length in front and writes the machine code. Exits at the end
/// of the input, because then the server is gone.
///
/// # Errors
/// Why there is no code.
pub fn run(
    compiler: Compiler,
    mut input: impl Read + Send + 'static,
    mut output: impl Write,
) -> Result<(), String> {
    let failed = |error: io::Error| format!("could not be compiled: {error}");
    let mut length = [0; 8];
    input.read_exact(&mut length).map_err(failed)?;
    let mut component = Vec::new();
    let expected = u64::from_le_bytes(length);
    let read = input.by_ref().take(expected).read_to_end(&mut component);
    if read.map_err(failed)? as u64 != expected {
        return Err(String::from(
            "could not be compiled: the component is truncated",
        ));
    }
    std::thread::spawn(move || {
        let _ = input.read(&mut [0; 1]);
        std::process::exit(1);
    });
    let code = compile(&component, compiler)?;
    output.write_all(&code).map_err(failed)?;
    output.flush().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn stderr_longer_than_a_pipe_is_read_to_its_end() {
        let mut command = Command::new("/bin/sh");
        // More than a pipe holds.
        let says = "i=0; while [ $i -lt 5000 ]; do printf 0123456789012345678901234567890123456789 >&2; i=$((i+1)); done; exit 3";
        command.args(["-c", says]);
        let child = start(command, Priority::Foreground).unwrap();
        let ended = timeout(
            Duration::from_secs(60),
            finish(child, b"", Priority::Foreground),
        );
        let refusal = ended.await.expect("it ends").unwrap_err().to_string();
        assert!(refusal.starts_with("0123456789"), "{refusal}");
        assert!(
            refusal.len() as u64 <= MAX_STDERR_BYTES,
            "{}",
            refusal.len()
        );
    }
}
