//! From a component to machine code, in a process of its own: the memory that it takes is given back with the process, a
//! component that takes long holds up no other and can be stopped, and one that breaks the compiler breaks that process.
//!
//! The process is this program, started anew without its environment. It gets the component and gives the code; it knows
//! no key, so nothing that it gives is loaded before the host has sealed it.

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

use super::engine::compiling;
use crate::package::{Package, Refusal};
use mindhost_base::config::Compiler;

/// How long a component may be compiled: code that is waited for, and code that only gets better.
const URGENT_TIME: Duration = Duration::from_secs(300);
const SPARE_TIME: Duration = Duration::from_secs(600);
/// Bytes of machine code that a component may become.
const MAX_CODE: u64 = 2 << 30;
/// Bytes of what the process says when it fails.
const MAX_TOLD: u64 = 4 << 10;

/// Whether somebody waits for the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// As soon as it can be had.
    Urgent,
    /// Beside everything else: with the least right to the processors, on one of them.
    Spare,
}

/// How components are compiled.
pub enum Compilers {
    /// By this process itself, for tools and tests.
    Inside,
    /// By this program, which understands the arguments of [`arguments`].
    Beside(PathBuf),
}

/// The hidden command that compiles; see [`run`].
pub fn arguments(compiler: Compiler, urgency: Urgency) -> [&'static str; 4] {
    let compiler = match compiler {
        Compiler::Cranelift => "cranelift",
        Compiler::Winch => "winch",
    };
    let urgency = match urgency {
        Urgency::Urgent => "--urgent",
        Urgency::Spare => "--spare",
    };
    ["plugin", "compile", compiler, urgency]
}

impl Compilers {
    /// Those of a server: its own program, even when the file was replaced since it started.
    pub fn of_this_program() -> Self {
        let linked = PathBuf::from("/proc/self/exe");
        match linked.exists() {
            true => Self::Beside(linked),
            false => std::env::current_exe().map_or(Self::Inside, Self::Beside),
        }
    }

    /// The machine code of a component, as an engine with this compiler loads it.
    pub async fn compile(
        &self,
        package: &Arc<Package>,
        compiler: Compiler,
        urgency: Urgency,
    ) -> Result<Vec<u8>, Refusal> {
        if let Self::Beside(program) = self {
            let mut command = Command::new(program);
            command.args(arguments(compiler, urgency));
            match start(command, urgency) {
                Ok(child) => return finish(child, &package.bytes, urgency).await,
                Err(error) => {
                    tracing::warn!(%error, "no process for compiling could be started; this one compiles");
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

fn start(mut command: Command, urgency: Urgency) -> io::Result<Child> {
    command.env_clear();
    if urgency == Urgency::Spare {
        command.env("RAYON_NUM_THREADS", "1");
    }
    command
        .arg0("mindhost")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C on a terminal is for the server, which then ends this.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

async fn finish(mut child: Child, component: &[u8], urgency: Urgency) -> Result<Vec<u8>, Refusal> {
    let time = match urgency {
        Urgency::Urgent => URGENT_TIME,
        Urgency::Spare => SPARE_TIME,
    };
    let (Some(mut input), Some(output), Some(errors)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(Refusal::new("could not be compiled: no pipes"));
    };
    let (mut code, mut told) = (Vec::new(), Vec::new());
    let length = (component.len() as u64).to_le_bytes();
    let work = async {
        let send = async {
            input.write_all(&length).await?;
            input.write_all(component).await
        };
        let mut output = output.take(MAX_CODE);
        let (sent, read, _) =
            tokio::join!(send, output.read_to_end(&mut code), hear(errors, &mut told));
        let status = child.wait().await?;
        // The process ends when its input does, so the input is held until now.
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
        Ok((status, _)) if told.is_empty() => Err(Refusal::new(format!(
            "could not be compiled: the compiler ended with {status}"
        ))),
        Ok(_) => {
            let told = String::from_utf8_lossy(&told);
            let why = told.trim().trim_start_matches("mindhost: ");
            Err(Refusal::new(why.to_owned()))
        }
        Err(error) => Err(Refusal::new(format!("could not be compiled: {error}"))),
    }
}

/// Keeps the beginning of what the process says, and reads the rest too: a full pipe would hold it up.
async fn hear(mut errors: ChildStderr, told: &mut Vec<u8>) -> io::Result<()> {
    (&mut errors).take(MAX_TOLD).read_to_end(told).await?;
    tokio::io::copy(&mut errors, &mut tokio::io::sink()).await?;
    Ok(())
}

/// Machine code of a component, or why there is none, for a person.
fn compile(component: &[u8], compiler: Compiler) -> Result<Vec<u8>, String> {
    let engine = Engine::new(&compiling(compiler));
    engine
        .and_then(|engine| engine.precompile_component(component))
        .map_err(|error| format!("cannot be compiled: {error:#}"))
}

/// What the process beside a server does: reads a component with its length before it, writes its machine code. It ends
/// when its input ends, because then the server is gone.
///
/// # Errors
/// Why there is no code.
pub fn run(
    compiler: Compiler,
    mut input: impl Read + Send + 'static,
    mut output: impl Write,
) -> Result<(), String> {
    let told = |error: io::Error| format!("could not be compiled: {error}");
    let mut length = [0; 8];
    input.read_exact(&mut length).map_err(told)?;
    let mut component = Vec::new();
    let expected = u64::from_le_bytes(length);
    let read = input.by_ref().take(expected).read_to_end(&mut component);
    if read.map_err(told)? as u64 != expected {
        return Err(String::from("could not be compiled: it came in part only"));
    }
    std::thread::spawn(move || {
        let _ = input.read(&mut [0; 1]);
        std::process::exit(1);
    });
    let code = compile(&component, compiler)?;
    output.write_all(&code).map_err(told)?;
    output.flush().map_err(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_process_that_says_much_is_heard_to_its_end() {
        let mut command = Command::new("/bin/sh");
        // More than a pipe holds.
        let says = "i=0; while [ $i -lt 5000 ]; do printf 0123456789012345678901234567890123456789 >&2; i=$((i+1)); done; exit 3";
        command.args(["-c", says]);
        let child = start(command, Urgency::Urgent).unwrap();
        let ended = timeout(Duration::from_secs(60), finish(child, b"", Urgency::Urgent));
        let refusal = ended.await.expect("it ends").unwrap_err().to_string();
        assert!(refusal.starts_with("0123456789"), "{refusal}");
        assert!(refusal.len() as u64 <= MAX_TOLD, "{}", refusal.len());
    }
}
