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
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
    process::{Pid, Signal, kill_process},
};

use crate::{Options, Stop, screen::print, shop};

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
    stop: Stop,
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

/// In a data directory that a demo made, and in no other.
const MARKER: &str = ".mindhost-demo";
/// What a demo keeps of an earlier one. A lock file that is deleted and made again could be locked twice.
const STAYS: &[&str] = &["cache", "secrets.key", "server.lock", MARKER];

/// Makes a directory the demo's own, and removes what an earlier demo kept there, except for the compiled plugins and
/// the key that authenticates them. A directory that no demo made is not the demo's to empty.
///
/// The file that it gives holds a lock: no other demo uses the directory until it is closed.
pub(crate) fn take(dir: &Path) -> Result<File> {
    std::fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
    let entries = std::fs::read_dir(dir)
        .and_then(|entries| entries.collect::<std::io::Result<Vec<_>>>())
        .with_context(|| format!("reading {}", dir.display()))?;
    let names = entries.iter().map(std::fs::DirEntry::file_name);
    let names: Vec<String> = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    let stays = |name: &String| STAYS.contains(&name.as_str());
    ensure!(
        dir.join(MARKER).is_file() || names.iter().all(stays) || is_of_older_demo(dir),
        "{} is not empty, and no demo made it (it has no {MARKER}), so nothing in it is deleted; name another \
         directory with --dir, or delete this one yourself if nothing in it is needed",
        dir.display()
    );
    if let Some(other) = names.iter().find(|name| !is_own(name)) {
        bail!(
            "{} holds `{other}`, which no demo wrote; name another directory with --dir",
            dir.display()
        );
    }
    // Before anything is deleted. The server takes this one itself, so it is free again when this function ends.
    let _no_server = locked(&dir.join("server.lock"), "a server")?;
    let alone = locked(&dir.join(MARKER), "another demo")?;
    for (entry, name) in entries.iter().zip(&names) {
        let path = entry.path();
        match path.is_dir() {
            _ if stays(name) => Ok(()),
            true => std::fs::remove_dir_all(&path),
            false => std::fs::remove_file(&path),
        }
        .with_context(|| format!("removing {}", path.display()))?;
    }
    Ok(alone)
}

/// Whether a demo may have written a name in its data directory.
fn is_own(name: &str) -> bool {
    const OWN: &[&str] = &[
        "files",
        "cache",
        "plugins",
        "spill",
        "admin.key",
        "server.lock",
        MARKER,
    ];
    const BEGINS: &[&str] = &["mindhost.db", "server.log", "orders.csv", "secrets.key"];
    OWN.contains(&name) || BEGINS.iter().any(|part| name.starts_with(part))
}

/// Whether a demo made a directory before demos wrote the marker. Only a demo has both of its databases beside the log
/// of the server that it starts.
fn is_of_older_demo(dir: &Path) -> bool {
    dir.join("server.log").is_file() && shop::is_in(&dir.join("files/default"))
}

/// A file, made if it is missing, that only this process has a lock on.
fn locked(path: &Path, user: &str) -> Result<File> {
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    let dir = path.parent().unwrap_or(path).display();
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(Errno::WOULDBLOCK) => {
            bail!("{user} uses {dir}; stop it, or name another directory with --dir")
        }
        Err(error) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
    }
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
            stop: options.stop.clone(),
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
            self.stop.check()?;
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
        print(format_args!("\nThe end of {}:\n", self.log.display()));
        lines
            .iter()
            .skip(lines.len().saturating_sub(40))
            .for_each(|line| print(format_args!("  {line}\n")));
    }

    /// Waits until the server ends, or the demo is asked to end. A terminal sends Ctrl-C to both.
    pub(crate) fn wait_for_end(&mut self) -> Result<()> {
        while !self.stop.is_asked() {
            let ended = self.child.try_wait().context("waiting for the server")?;
            if ended.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
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

    /// Writes files into a directory, and gives it.
    fn holding(names: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for name in names {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        dir
    }

    /// What a directory holds, in order.
    fn names(dir: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(dir).unwrap();
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.unwrap().file_name().into_string().unwrap()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn the_data_of_a_real_server_is_not_deleted() {
        let real = [
            "admin.key",
            "files/default/shop.db",
            "files/default/warehouse.db",
            "mindhost.db",
            "secrets.key",
            "server.lock",
            "server.log",
        ];
        let dir = holding(&real);
        let before = names(dir.path());
        let error = take(dir.path()).unwrap_err().to_string();
        assert!(
            error.contains("no demo made it") && error.contains("--dir"),
            "{error}"
        );
        assert_eq!(names(dir.path()), before);
        assert!(dir.path().join("files/default/shop.db").exists());
    }

    #[test]
    fn a_directory_with_hidden_files_is_not_emptied() {
        let dir = holding(&[".ssh/id_ed25519", ".bashrc"]);
        take(dir.path()).unwrap_err();
        assert_eq!(names(dir.path()), [".bashrc", ".ssh"]);
        let marked = holding(&[MARKER, ".bashrc"]);
        let error = take(marked.path()).unwrap_err().to_string();
        assert!(error.contains("`.bashrc`"), "{error}");
        assert_eq!(names(marked.path()), [".bashrc", MARKER]);
    }

    #[test]
    fn a_directory_with_other_files_is_not_emptied() {
        let dir = holding(&[MARKER, "admin.key", "thesis.txt"]);
        let error = take(dir.path()).unwrap_err().to_string();
        assert!(error.contains("`thesis.txt`"), "{error}");
        assert!(dir.path().join("admin.key").exists());
        std::fs::remove_file(dir.path().join("thesis.txt")).unwrap();
        take(dir.path()).unwrap();
        assert_eq!(names(dir.path()), [MARKER, "server.lock"]);
    }

    #[test]
    fn a_directory_in_which_nothing_is_deleted_needs_no_marker() {
        let dir = holding(&["secrets.key", "cache/one"]);
        take(dir.path()).unwrap();
        let all = [MARKER, "cache", "secrets.key", "server.lock"];
        assert_eq!(names(dir.path()), all);
        assert!(dir.path().join("cache/one").exists());
    }

    #[test]
    fn a_second_demo_keeps_what_was_compiled_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("demo");
        drop(take(&dir).unwrap());
        for name in ["mindhost.db", "admin.key", "secrets.key", "orders.csv"] {
            std::fs::write(dir.join(name), "x").unwrap();
        }
        std::fs::create_dir_all(dir.join("cache/one")).unwrap();
        std::fs::create_dir_all(dir.join("files/default")).unwrap();
        take(&dir).unwrap();
        assert_eq!(names(&dir), [MARKER, "cache", "secrets.key", "server.lock"]);
    }

    #[test]
    fn a_demo_from_before_the_marker_is_known_by_its_databases() {
        let dir = holding(&["admin.key", "mindhost.db", "server.log"]);
        let files = dir.path().join("files/default");
        std::fs::create_dir_all(&files).unwrap();
        let table = |name: &&str| format!("CREATE TABLE {name} (id INTEGER);");
        for (file, tables) in [
            ("shop.db", shop::SHOP_TABLES),
            ("warehouse.db", shop::WAREHOUSE_TABLES),
        ] {
            take(dir.path()).unwrap_err();
            let database = rusqlite::Connection::open(files.join(file)).unwrap();
            let sql: String = tables.iter().map(table).collect();
            database.execute_batch(&sql).unwrap();
        }
        take(dir.path()).unwrap();
        assert_eq!(names(dir.path()), [MARKER, "server.lock"]);
    }

    #[test]
    fn a_directory_in_use_is_not_emptied() {
        let dir = holding(&[MARKER, "mindhost.db"]);
        let server = locked(&dir.path().join("server.lock"), "a test").unwrap();
        let error = take(dir.path()).unwrap_err().to_string();
        assert!(error.contains("a server uses"), "{error}");
        assert!(dir.path().join("mindhost.db").exists());
        drop(server);
        let demo = take(dir.path()).unwrap();
        std::fs::write(dir.path().join("mindhost.db"), "x").unwrap();
        let error = take(dir.path()).unwrap_err().to_string();
        assert!(error.contains("another demo uses"), "{error}");
        assert!(dir.path().join("mindhost.db").exists());
        drop(demo);
        take(dir.path()).unwrap();
    }

    #[test]
    fn a_demo_that_is_asked_to_end_ends_its_server() {
        let stop = Stop::default();
        let mut server = Server {
            child: Command::new("sleep").arg("600").spawn().unwrap(),
            log: PathBuf::new(),
            url: String::new(),
            key: String::new(),
            startup: Duration::ZERO,
            stop: stop.clone(),
        };
        let pid = i32::try_from(server.child.id())
            .ok()
            .and_then(Pid::from_raw);
        let waiting = std::thread::spawn(move || server.wait_for_end().map(|()| drop(server)));
        std::thread::sleep(Duration::from_millis(100));
        assert!(!waiting.is_finished());
        stop.ask();
        waiting.join().unwrap().unwrap();
        assert_eq!(kill_process(pid.unwrap(), Signal::TERM), Err(Errno::SRCH));
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
