//! The server of the demo.

use std::{
    fs::File,
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::Options;

/// A server is ready within this time, compilation of all plugins included.
const STARTUP: Duration = Duration::from_secs(180);
/// A server that was asked to stop has this long.
const SHUTDOWN: Duration = Duration::from_secs(10);

/// Runs until it is dropped or ends by itself.
pub(crate) struct Server {
    child: Child,
    log: PathBuf,
    pub(crate) url: String,
    pub(crate) key: String,
    pub(crate) startup: Duration,
}

/// Refuses a directory without plugins: the server would start and serve nothing.
pub(crate) fn require_plugins(dir: &Path) -> Result<()> {
    let is_plugin = |name: &str| dir.join(name).is_file();
    ensure!(
        is_plugin("connector-sqlite.wasm") && is_plugin("model-offline.wasm"),
        "no connector-sqlite.wasm and model-offline.wasm in {}; build them with `just plugins`, or name their directory \
         with --plugins-dir",
        dir.display()
    );
    Ok(())
}

/// Removes what an earlier demo left, except for the compiled plugins and the key that authenticates them. A directory that
/// holds something else is not the demo's to empty.
pub(crate) fn clear(dir: &Path) -> Result<()> {
    const OWN: &[&str] = &["files", "cache", "plugins", "admin.key", "server.lock"];
    let entries: Vec<_> = match std::fs::read_dir(dir) {
        Ok(entries) => entries.collect::<Result<_, _>>()?,
        Err(_) => return Ok(()),
    };
    let is_own = |name: &str| {
        let begins = |part: &str| name.starts_with(part);
        OWN.contains(&name)
            || [
                "mindhost.db",
                "server.log",
                "orders.csv",
                "secrets.key",
                ".",
            ]
            .into_iter()
            .any(begins)
    };
    if let Some(other) = entries
        .iter()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .find(|name| !is_own(name))
    {
        bail!(
            "{} holds `{other}`, which no demo wrote; name another directory with --dir",
            dir.display()
        );
    }
    for entry in entries {
        let path = entry.path();
        match path.is_dir() {
            _ if path.ends_with("cache") || path.ends_with("secrets.key") => Ok(()),
            true => std::fs::remove_dir_all(&path),
            false => std::fs::remove_file(&path),
        }
        .with_context(|| format!("removing {}", path.display()))?;
    }
    Ok(())
}

impl Server {
    /// Starts `mindhost serve` as a new user would, and waits until it is ready. The first start makes the key.
    pub(crate) fn start(options: &Options) -> Result<Self> {
        let started = Instant::now();
        let log = options.dir.join("server.log");
        let output = File::create(&log).context("creating the log of the server")?;
        let errors = output.try_clone()?;
        let mut command = ending_with_us(&options.program);
        command
            .arg("serve")
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors);
        without_settings(&mut command);
        if let Some(listen) = listen(options.once) {
            command.env("MINDHOST_LISTEN", listen);
        }
        command
            .env("MINDHOST_DATA_DIR", &options.dir)
            .env("MINDHOST_PLUGINS_DIR", &options.plugins_dir);
        let child = command
            .spawn()
            .with_context(|| format!("starting {}", options.program.display()))?;
        let mut server = Self {
            child,
            log,
            url: String::new(),
            key: String::new(),
            startup: Duration::ZERO,
        };
        server.url = server.wait_until_ready()?;
        server.startup = started.elapsed();
        let key = std::fs::read_to_string(options.dir.join("admin.key"))
            .context("reading the key that the first start makes")?;
        key.trim().clone_into(&mut server.key);
        Ok(server)
    }

    /// Waits until the log names the address and `/readyz` there answers 200. Gives the URL.
    fn wait_until_ready(&mut self) -> Result<String> {
        let deadline = Instant::now() + STARTUP;
        loop {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            if let Some(address) = address(&log).filter(|address| is_ready(*address)) {
                return Ok(format!("http://{address}"));
            }
            if let Some(status) = self.child.try_wait()? {
                self.show_log();
                bail!("the server ended before it was ready ({status})");
            }
            if Instant::now() > deadline {
                self.show_log();
                bail!("the server is not ready after {} s", STARTUP.as_secs());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A one-time link that opens the console signed in, as `mindhost console` prints it.
    pub(crate) fn console_link(&self, options: &Options) -> Result<String> {
        let mut command = Command::new(&options.program);
        without_settings(&mut command);
        let made = command
            .args(["console", "--server", &self.url, "--key-file"])
            .arg(options.dir.join("admin.key"))
            .stdin(Stdio::null())
            .output()
            .context("starting mindhost console")?;
        let error = String::from_utf8_lossy(&made.stderr);
        ensure!(made.status.success(), "no link to the console: {error}");
        Ok(String::from_utf8(made.stdout)?.trim().to_owned())
    }

    pub(crate) fn show_log(&self) {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        println!("\nThe end of {}:", self.log.display());
        lines
            .iter()
            .skip(lines.len().saturating_sub(40))
            .for_each(|line| println!("  {line}"));
    }

    /// Waits until the server ends; a terminal sends Ctrl-C to both.
    pub(crate) fn wait_for_end(&mut self) -> Result<()> {
        self.child.wait().context("waiting for the server")?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|_| matches!(self.child.try_wait(), Ok(None))) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let deadline = Instant::now() + SHUTDOWN;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program as a child that is asked to stop when this process ends, however it ends, where the system can do that.
fn ending_with_us(program: &Path) -> Command {
    let has_setpriv = Command::new("setpriv")
        .args(["--pdeathsig", "TERM", "true"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !has_setpriv {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM", "--"]).arg(program);
    command
}

/// Keeps the settings of the person's own server out, but for the address.
fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("MINDHOST_") && name != "MINDHOST_LISTEN" {
            command.env_remove(name);
        }
    }
}

/// The usual port if it is free and a person may want to find it there, else any.
fn listen(any_port: bool) -> Option<&'static str> {
    if std::env::var_os("MINDHOST_LISTEN").is_some() {
        return None;
    }
    match !any_port && TcpListener::bind("127.0.0.1:8080").is_ok() {
        true => Some("127.0.0.1:8080"),
        false => Some("127.0.0.1:0"),
    }
}

/// The address after the last `http://` of a whole line that is followed by the digits of a port.
fn address(log: &str) -> Option<SocketAddr> {
    let complete = &log[..=log.rfind('\n')?];
    complete.rsplit("http://").find_map(|rest| {
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && !".:".contains(c))
            .unwrap_or(rest.len());
        let address: SocketAddr = rest[..end].parse().ok()?;
        (address.port() != 0).then_some(address)
    })
}

fn is_ready(address: SocketAddr) -> bool {
    let status = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: mindhost\r\nconnection: close\r\n\r\n")?;
        let mut line = [0; 12];
        stream.read_exact(&mut line)?;
        Ok(String::from_utf8_lossy(&line).into_owned())
    };
    status().is_ok_and(|line| line == "HTTP/1.1 200")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_with_other_files_is_not_emptied() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("admin.key"), "x").unwrap();
        std::fs::write(dir.path().join("thesis.txt"), "x").unwrap();
        let error = clear(dir.path()).unwrap_err().to_string();
        assert!(error.contains("`thesis.txt`"), "{error}");
        assert!(dir.path().join("admin.key").exists());
        std::fs::remove_file(dir.path().join("thesis.txt")).unwrap();
        clear(dir.path()).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_without_plugins_is_refused_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let error = require_plugins(dir.path()).unwrap_err().to_string();
        assert!(
            error.contains("just plugins") && error.contains("--plugins-dir"),
            "{error}"
        );
    }
}
