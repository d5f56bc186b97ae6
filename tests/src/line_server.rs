//! An internal service on loopback that reads lines and does what they say, as mail servers, Redis and memcached do.

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

/// What a line must end with to be obeyed; bytes of another protocol before it are passed over, as by many such services.
const COMMAND: &str = "FLUSHALL";
/// A silent client keeps a connection for this long.
const SILENCE: Duration = Duration::from_secs(10);

/// A service that was not meant to be reached from outside.
#[derive(Clone, Debug)]
pub struct LineServer {
    port: u16,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    connections: usize,
    executed: usize,
}

impl LineServer {
    /// Listens on any free port.
    ///
    /// # Panics
    /// When there is none.
    pub fn start() -> Self {
        Self::on(0).expect("a free port")
    }

    /// Listens on a certain port of loopback; none when another program has it.
    pub fn on(port: u16) -> Option<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).ok()?;
        let server = Self {
            port: listener.local_addr().ok()?.port(),
            seen: Arc::default(),
        };
        let this = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                this.note(|seen| seen.connections += 1);
                let this = this.clone();
                thread::spawn(move || this.serve(&stream));
            }
        });
        Some(server)
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How many connections were opened to it.
    pub fn connections(&self) -> usize {
        self.note(|seen| seen.connections)
    }

    /// How many commands it obeyed.
    pub fn executed(&self) -> usize {
        self.note(|seen| seen.executed)
    }

    fn serve(&self, stream: &TcpStream) {
        let _ = stream.set_read_timeout(Some(SILENCE));
        for line in BufReader::new(stream).split(b'\n') {
            let Ok(line) = line else { return };
            let line = String::from_utf8_lossy(&line).into_owned();
            let is_command = line.trim_end().ends_with(COMMAND);
            if is_command {
                self.note(|seen| seen.executed += 1);
            }
            let mut writer = stream;
            let reply: &[u8] = if is_command { b"+OK\r\n" } else { b"-ERR\r\n" };
            if writer.write_all(reply).is_err() {
                return;
            }
        }
    }

    fn note<T>(&self, note: impl FnOnce(&mut Seen) -> T) -> T {
        note(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
