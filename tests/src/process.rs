//! Child processes that cannot outlive the tests.
//!
//! The kernel sends the signal that a child asked for when the *thread* that started it ends. Every test has
//! threads of its own, so all children are started by one thread that lives as long as the process. `setpriv`
//! asks for the signal and, where a server refuses to run as root, changes the user.

use std::{
    ffi::OsString,
    process::{Child, ChildStdout, Command, ExitStatus},
    sync::{LazyLock, mpsc},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::eventually::found_within;

type Job = (Command, mpsc::SyncSender<std::io::Result<Child>>);

static SPAWNER: LazyLock<mpsc::Sender<Job>> = LazyLock::new(|| {
    let (jobs, queue) = mpsc::channel::<Job>();
    std::thread::Builder::new()
        .name("spawner".into())
        .spawn(move || {
            for (mut command, answer) in queue {
                let _ = answer.send(command.spawn());
            }
        })
        .expect("a thread that starts the children");
    jobs
});

/// A child that gets a signal when this process ends, and is stopped when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    name: String,
    stop: Signal,
}

/// Starts `program`. `prepare` adds arguments, environment and redirections to the command.
///
/// # Panics
/// When it cannot be started.
pub fn spawn(program: impl Into<OsString>, prepare: impl FnOnce(&mut Command)) -> Process {
    spawn_with(&["--pdeathsig", "KILL"], Signal::TERM, program, prepare)
}

/// As [`spawn`], for what is to end in order: it is asked to stop, not killed, when this process ends.
///
/// # Panics
/// When it cannot be started.
pub fn spawn_service(program: impl Into<OsString>, prepare: impl FnOnce(&mut Command)) -> Process {
    spawn_with(&["--pdeathsig", "TERM"], Signal::TERM, program, prepare)
}

pub(crate) fn spawn_with(
    privileges: &[&str],
    stop: Signal,
    program: impl Into<OsString>,
    prepare: impl FnOnce(&mut Command),
) -> Process {
    let program = program.into();
    let mut command = Command::new("setpriv");
    command.args(privileges).arg("--").arg(&program);
    prepare(&mut command);
    let (answer, child) = mpsc::sync_channel(1);
    SPAWNER
        .send((command, answer))
        .expect("the spawner thread lives as long as the process");
    let child = child
        .recv()
        .expect("the spawner thread answers")
        .unwrap_or_else(|error| panic!("starting {} through setpriv: {error}", program.display()));
    Process {
        child,
        name: program.to_string_lossy().into_owned(),
        stop,
    }
}

impl Process {
    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it writes, if its output is piped and was not taken yet.
    pub fn output(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child
            .try_wait()
            .unwrap_or_else(|error| panic!("waiting for {}: {error}", self.name))
    }

    /// Waits until it ends by itself.
    ///
    /// # Errors
    /// When the operating system does not know it.
    pub fn wait(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait()
    }

    /// Sends a signal; a process that has ended already gets none.
    pub fn signal(&mut self, signal: Signal) {
        if self.ended().is_none()
            && let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
        {
            let _ = kill_process(pid, signal);
        }
    }

    /// Kills it at once and waits until it is gone.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }

    /// Asks it to stop, and kills it when it has not within `patience`. Returns the status of a clean end.
    pub fn stop(&mut self, patience: Duration) -> Option<ExitStatus> {
        self.signal(self.stop);
        let status = found_within(patience, || self.ended());
        if status.is_none() {
            self.kill();
        }
        status
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop(Duration::from_secs(10));
    }
}
