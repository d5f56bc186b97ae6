//! A double of SQL Server for tests: it speaks the server's side of TDS 7.4 and TDS 8 and computes with SQLite.
//!
//! What it knows of the protocol comes from its published specification (MS-TDS), and is shared with no client: types
//! and tokens are written here once more. Clients of others (the JDBC driver, FreeTDS, python-tds) log into it in the
//! tests too, so that it is known to speak the protocol and not only what one client of ours expects.
//!
//! It is no SQL Server. Of T-SQL it has what SQLite has, with the commonest differences in spelling ([`translate`]),
//! the types of results ([`inference`]), one collation for all texts, which ignores case and blanks at the end, and
//! sums of decimals that keep every digit ([`values`]). Rights, locks, plans and statistics are not there. Batches are
//! cut into statements as T-SQL does, without semicolons ([`batch`]), and writes write, so that a test sees a statement
//! that should not have come through.
//!
//! ```no_run
//! let double = tds_double::Double::start("CREATE TABLE dbo.item (id int NOT NULL PRIMARY KEY, name nvarchar(40))");
//! double.execute("INSERT INTO dbo.item VALUES (1, N'tea')");
//! println!("listening on 127.0.0.1:{}", double.port());
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "used by tests alone, where a panic is a failed test"
)]

pub mod batch;
pub mod catalog;
pub mod channel;
pub mod engine;
pub mod inference;
pub mod login;
pub mod rpc;
pub mod session;
pub mod tls;
pub mod tokens;
pub mod translate;
pub mod types;
pub mod values;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

pub use engine::Engine;
pub use tls::Certificate;

/// What the double asks of its clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encryption {
    /// The login is encrypted, and all else where the client wants it: a server's default.
    #[default]
    Optional,
    /// Everything is encrypted.
    Required,
    /// There is no TLS.
    None,
    /// TDS 8: TLS before anything else.
    Strict,
}

/// How a double behaves.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How much is encrypted.
    pub encryption: Encryption,
    /// Sends clients that only read to this host and port.
    pub route: Option<(String, u16)>,
    /// Takes no SQL logins.
    pub federation_only: bool,
    /// Does not let transactions have snapshots.
    pub no_snapshots: bool,
    /// The port to listen on; 0 for one that is free.
    pub port: u16,
}

/// What the connections of one double share.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) engine: Engine,
    pub(crate) certificate: Certificate,
    /// The statements that run: session and text.
    pub(crate) running: Mutex<Vec<(u16, String)>>,
    /// What every session was asked to run, for tests.
    pub(crate) log: Mutex<Vec<String>>,
    next_session: AtomicU16,
    stopped: AtomicBool,
}

/// A running double. Its login is `tester` with the password `hunter2 tds`, its database `shop`.
pub struct Double {
    shared: Arc<Shared>,
    address: SocketAddr,
}

/// The login that a double takes.
pub const USER: &str = "tester";
/// Its password, which must not appear in any message.
pub const PASSWORD: &str = "hunter2 tds";
/// The one database.
pub const DATABASE: &str = "shop";

impl Double {
    /// Starts a double over the tables of some statements.
    pub fn start(setup: &str) -> Self {
        Self::with(setup, Options::default())
    }

    /// The same, behaving in another way.
    pub fn with(setup: &str, options: Options) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", options.port)).expect("a port to listen on");
        let address = listener.local_addr().expect("a local address");
        let engine = Engine::new(!options.no_snapshots);
        let shared = Arc::new(Shared {
            options,
            engine,
            certificate: Certificate::new(),
            running: Mutex::default(),
            log: Mutex::default(),
            next_session: AtomicU16::new(51),
            stopped: AtomicBool::new(false),
        });
        let double = Self {
            shared: Arc::clone(&shared),
            address,
        };
        double.execute(setup);
        std::thread::spawn(move || accept(&listener, &shared));
        double
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The certificate of the authority that issued the server's, which is for `localhost`, as PEM.
    pub fn authority(&self) -> &str {
        &self.shared.certificate.authority
    }

    /// Runs statements in the engine, past the protocol: T-SQL that makes tables, and what SQLite has.
    ///
    /// # Panics
    /// When one fails.
    pub fn execute(&self, sql: &str) {
        self.shared.engine.set_up(sql).expect(sql);
    }

    /// Puts a comment on a table, or on a column of it.
    pub fn comment(&self, schema: &str, table: &str, column: Option<&str>, text: &str) {
        let done = self.shared.engine.comment(schema, table, column, text);
        done.expect("a comment on a table that is there");
    }

    /// One value of the engine, as text.
    pub fn value(&self, sql: &str) -> String {
        self.shared.engine.value(sql).expect(sql)
    }

    /// The batches and statements that sessions were asked to run so far.
    pub fn asked(&self) -> Vec<String> {
        self.shared.log.lock().unwrap().clone()
    }

    /// How many statements run.
    pub fn running(&self) -> usize {
        self.shared.running.lock().unwrap().len()
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        self.shared.engine.remove_files();
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for socket in listener.incoming() {
        if shared.stopped.load(Ordering::Relaxed) {
            return;
        }
        let Ok(socket) = socket else { continue };
        let shared = Arc::clone(shared);
        let id = shared.next_session.fetch_add(1, Ordering::Relaxed);
        std::thread::spawn(move || {
            // A client that leaves, or is no client of TDS, ends its connection alone.
            let _ = session::serve(socket, id, &shared);
        });
    }
}
