//! One session: its login, its requests, its transaction.

mod rows;

use std::collections::HashMap;
use std::io;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::channel::{ATTENTION, Channel, LOGIN7, PRELOGIN, RPC, SQL_BATCH, TRANSACTION_MANAGER};
use crate::rpc::{Call, Parameter};
use crate::tokens::{self, COUNT, FAILED, MORE};
use crate::translate;
use crate::types::COLLATION;
use crate::{DATABASE, Encryption, PASSWORD, Shared, USER, batch, login};

/// Steps of SQLite between two looks at the client.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;
/// How often something that waits looks at the client.
const LOOK: Duration = Duration::from_millis(5);
/// DONE, and those of procedures and of statements in them.
const DONE: u8 = 0xFD;
const DONE_PROC: u8 = 0xFE;
const DONE_IN_PROC: u8 = 0xFF;

/// Serves one client until it is gone.
///
/// # Errors
/// When it is gone, or speaks something else.
pub(crate) fn serve(socket: TcpStream, id: u16, shared: &Arc<Shared>) -> io::Result<()> {
    let mut channel = Channel::new(socket);
    let options = &shared.options;
    let strict = options.encryption == Encryption::Strict;
    if strict {
        channel.start_tls(shared.certificate.server(true))?;
    }
    let (kind, payload) = channel.message()?;
    if kind != PRELOGIN {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let wanted = login::wanted_encryption(&payload);
    let (answer, encrypts_login, encrypts_all) =
        login::answer_prelogin(options.encryption, wanted, options.federation_only);
    channel.write(&answer)?;
    channel.finish()?;
    if options.encryption == Encryption::Required && wanted == Some(2) {
        return Ok(());
    }
    if encrypts_login {
        channel.start_wrapped_tls(shared.certificate.server(false))?;
    }
    let (kind, payload) = channel.message()?;
    if encrypts_login && !encrypts_all {
        channel.end_tls();
    }
    let asked = login::read(&payload).filter(|_| kind == LOGIN7);
    let asked = asked.ok_or(io::ErrorKind::InvalidData)?;
    if !log_in(&mut channel, &asked, shared)? {
        return Ok(());
    }
    let sqlite = shared.engine.session().map_err(io::Error::other)?;
    let mut session = Session {
        id,
        sqlite,
        channel: Arc::new(Mutex::new(channel)),
        shared: Arc::clone(shared),
        transaction: 0,
        next_transaction: 1,
        xact_abort: false,
        row_count: 0,
        prepared: HashMap::new(),
        skip_next: false,
    };
    session.watch();
    loop {
        let (kind, payload) = session.channel().message()?;
        session.request(kind, &payload)?;
    }
}

/// Answers a login; false where it was refused.
fn log_in(channel: &mut Channel, asked: &login::Login, shared: &Shared) -> io::Result<bool> {
    let refuse = |channel: &mut Channel, number, text: &str| {
        channel.write(&tokens::message(0xAA, number, 14, text, 1))?;
        channel.write(&tokens::done(DONE, FAILED, 0))?;
        channel.finish()?;
        Ok(false)
    };
    if asked.user != USER || asked.password != PASSWORD {
        let text = format!("Login failed for user '{}'.", asked.user);
        return refuse(channel, 18456, &text);
    }
    if !asked.database.is_empty() && asked.database != DATABASE {
        let text = format!(
            "Cannot open database \"{}\" requested by the login. The login failed.",
            asked.database
        );
        return refuse(channel, 4060, &text);
    }
    let size = asked.packet_size.clamp(512, 32_767) as usize;
    channel.write(&tokens::environment(1, DATABASE, "master"))?;
    let changed = format!("Changed database context to '{DATABASE}'.");
    channel.write(&tokens::message(0xAB, 5701, 10, &changed, 1))?;
    channel.write(&tokens::environment_bytes(7, &COLLATION, &[]))?;
    channel.write(&tokens::environment(2, "us_english", ""))?;
    channel.write(&tokens::message(
        0xAB,
        5703,
        10,
        "Changed language setting to us_english.",
        1,
    ))?;
    channel.write(&tokens::login_accepted(if asked.version == 0x0800_0000 {
        0x0800_0000
    } else {
        0x7400_0004
    }))?;
    channel.write(&tokens::environment(4, &size.to_string(), "4096"))?;
    if let Some((host, port)) = shared.options.route.as_ref().filter(|_| asked.read_only) {
        channel.write(&tokens::routing(host, *port))?;
    }
    if asked.utf8 {
        channel.write(&tokens::features())?;
    }
    channel.write(&tokens::done(DONE, 0, 0))?;
    channel.finish()?;
    channel.packet_size = size;
    Ok(true)
}

struct Session {
    id: u16,
    sqlite: Connection,
    channel: Arc<Mutex<Channel>>,
    shared: Arc<Shared>,
    /// The number of the open transaction; 0 for none.
    transaction: u64,
    next_transaction: u64,
    /// Whether an error ends the transaction and the batch.
    xact_abort: bool,
    /// The most rows of a result; 0 for all.
    row_count: u64,
    /// Statements that were prepared, with the names of their parameters.
    prepared: HashMap<i32, (String, String)>,
    /// The condition before the next statement is not true.
    skip_next: bool,
}

/// Why a statement ended.
enum Stop {
    /// The client wants it so, or is gone.
    Attention,
    /// The server's own error.
    Failed {
        number: u32,
        class: u8,
        text: String,
    },
    Io(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Stop::Io(error)
    }
}

impl Session {
    fn channel(&self) -> MutexGuard<'_, Channel> {
        self.channel.lock().expect("no panic while it was held")
    }

    /// Has SQLite look at the client while it computes.
    fn watch(&self) {
        let channel = Arc::clone(&self.channel);
        self.sqlite
            .progress_handler(
                STEPS_BETWEEN_LOOKS,
                Some(move || channel.lock().is_ok_and(|mut channel| channel.poll())),
            )
            .expect("a handler");
    }

    fn request(&mut self, kind: u8, payload: &[u8]) -> io::Result<()> {
        self.skip_next = false;
        let outcome = match kind {
            // It came after the answer was complete.
            ATTENTION => Err(Stop::Attention),
            SQL_BATCH => match headers(payload) {
                Some(rest) => self.batch(&crate::types::utf16(rest), None),
                None => return Err(io::ErrorKind::InvalidData.into()),
            },
            RPC => match headers(payload).and_then(crate::rpc::read) {
                Some(call) => self.call(&call),
                None => Err(failed(
                    8009,
                    "The incoming tabular data stream (TDS) remote procedure call protocol stream is incorrect.",
                )),
            },
            TRANSACTION_MANAGER => self.manage(headers(payload).unwrap_or_default()),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        };
        let id = self.id;
        self.shared
            .running
            .lock()
            .expect("no panic")
            .retain(|(session, _)| *session != id);
        match outcome {
            Ok(()) => {}
            Err(Stop::Io(error)) => return Err(error),
            Err(Stop::Attention) => {
                if self.channel().closed {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                if self.xact_abort {
                    self.roll_back()?;
                }
                let mut channel = self.channel();
                channel.attention = false;
                // What was under way ends first; the confirmation is a message of its own.
                if kind != ATTENTION {
                    channel.write(&tokens::done(DONE, FAILED, 0))?;
                    channel.finish()?;
                }
                channel.write(&tokens::done(DONE, tokens::ATTENTION, 0))?;
                return channel.finish();
            }
            // Told already.
            Err(Stop::Failed { number: 0, .. }) => {}
            Err(Stop::Failed {
                number,
                class,
                text,
            }) => self.tell(number, class, &text)?,
        }
        let mut channel = self.channel();
        channel.write(&tokens::done(DONE, 0, 0))?;
        channel.finish()
    }

    fn tell(&self, number: u32, class: u8, text: &str) -> io::Result<()> {
        self.channel()
            .write(&tokens::message(0xAA, number, class, text, 1))
    }

    /// Runs the statements of a batch. `proc` is the token that ends each of those in a procedure.
    fn batch(&mut self, sql: &str, within: Option<u8>) -> Result<(), Stop> {
        self.shared
            .log
            .lock()
            .expect("no panic")
            .push(sql.to_owned());
        let statements =
            batch::split(sql).map_err(|error| syntax(&error.root_cause().to_string()))?;
        for statement in statements {
            if std::mem::take(&mut self.skip_next) {
                continue;
            }
            let done = within.unwrap_or(DONE);
            match self.statement(&statement) {
                Ok(rows) => {
                    let count = rows.map_or(0, |_| COUNT);
                    self.channel().write(&tokens::done(
                        done,
                        MORE | count,
                        rows.unwrap_or_default(),
                    ))?;
                }
                Err(Stop::Failed {
                    number: 0,
                    class,
                    text,
                }) => {
                    return Err(Stop::Failed {
                        number: 0,
                        class,
                        text,
                    });
                }
                Err(Stop::Failed {
                    number,
                    class,
                    text,
                }) => {
                    self.tell(number, class, &text)?;
                    self.channel()
                        .write(&tokens::done(done, MORE | FAILED, 0))?;
                    // A syntax error does not end a transaction; most others do where XACT_ABORT is on.
                    if self.xact_abort && number != 102 {
                        self.roll_back()?;
                        return Err(Stop::Failed {
                            number: 0,
                            class,
                            text: String::new(),
                        });
                    }
                    if number == 102 && within.is_some() {
                        return Ok(());
                    }
                }
                Err(stop) => return Err(stop),
            }
        }
        Ok(())
    }

    /// Runs one statement; the rows that it had, if it has rows.
    fn statement(&mut self, sql: &str) -> Result<Option<u64>, Stop> {
        let upper = sql.to_ascii_uppercase();
        let words: Vec<&str> = upper.split_whitespace().collect();
        match words.as_slice() {
            ["IF", "@@TRANCOUNT", ">", "0", ..] => {
                self.skip_next = self.transaction == 0;
                Ok(None)
            }
            ["BEGIN", "TRAN" | "TRANSACTION", ..] => self.begin().map(|()| None),
            ["COMMIT", ..] => self.commit().map(|()| None),
            ["ROLLBACK", ..] => match self.transaction {
                0 => Err(failed(
                    3903,
                    "The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.",
                )),
                _ => Ok(self.roll_back().map(|()| None)?),
            },
            ["SET", rest @ ..] => {
                self.set(rest);
                Ok(None)
            }
            ["USE", ..] | ["PRINT", ..] | ["DECLARE", ..] => Ok(None),
            ["WAITFOR", "DELAY", ..] => self.wait_for(sql).map(|()| None),
            ["EXEC" | "EXECUTE", name, ..] if name.ends_with("SP_EXECUTESQL") => {
                self.execute(sql).map(|()| None)
            }
            ["EXEC" | "EXECUTE", name, ..] => Err(failed(
                2812,
                &format!(
                    "Could not find stored procedure '{}'.",
                    name.to_ascii_lowercase()
                ),
            )),
            ["SELECT", ..] | ["WITH", ..] => self.select(sql).map(Some),
            [first, ..] if first.starts_with('(') => self.select(sql).map(Some),
            [
                "INSERT" | "UPDATE" | "DELETE" | "CREATE" | "DROP" | "ALTER" | "TRUNCATE",
                ..,
            ] => {
                let text = translate::literals(sql);
                self.sqlite
                    .execute_batch(&text)
                    .map_err(|error| self.error(&error))?;
                Ok(None)
            }
            [first, ..] => Err(syntax(first)),
            [] => Ok(None),
        }
    }

    fn set(&mut self, words: &[&str]) {
        let on = words.last() == Some(&"ON");
        if words
            .iter()
            .any(|word| word.trim_end_matches(',') == "XACT_ABORT")
        {
            self.xact_abort = on;
        }
        if let ["ROWCOUNT", rows] = words {
            self.row_count = rows.parse().unwrap_or_default();
        }
    }

    fn begin(&mut self) -> Result<(), Stop> {
        if self.transaction != 0 {
            return Ok(());
        }
        self.sqlite
            .execute_batch("BEGIN")
            .map_err(|error| self.error(&error))?;
        self.transaction = self.next_transaction;
        self.next_transaction += 1;
        let token = tokens::environment_bytes(8, &self.transaction.to_le_bytes(), &[]);
        self.channel().write(&token)?;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Stop> {
        self.end("COMMIT", 9)
    }

    fn roll_back(&mut self) -> io::Result<()> {
        match self.end("ROLLBACK", 10) {
            Err(Stop::Io(error)) => Err(error),
            _ => Ok(()),
        }
    }

    fn end(&mut self, sql: &str, kind: u8) -> Result<(), Stop> {
        if self.transaction == 0 {
            return Ok(());
        }
        let old = std::mem::take(&mut self.transaction);
        let ended = self.sqlite.execute_batch(sql);
        let token = tokens::environment_bytes(kind, &[], &old.to_le_bytes());
        self.channel().write(&token)?;
        ended.map_err(|error| self.error(&error))
    }

    fn wait_for(&mut self, sql: &str) -> Result<(), Stop> {
        let clock = sql.split('\'').nth(1).unwrap_or_default();
        let seconds = clock.split(':').fold(0.0, |sum, part| {
            sum * 60.0 + part.parse::<f64>().unwrap_or(0.0)
        });
        let until = Instant::now() + Duration::from_secs_f64(seconds);
        while Instant::now() < until {
            if self.channel().poll() {
                return Err(Stop::Attention);
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// `EXECUTE sys.sp_executesql N'…'`.
    fn execute(&mut self, sql: &str) -> Result<(), Stop> {
        let tokens = batch::tokens(sql).map_err(|_| syntax("EXECUTE"))?;
        let texts: Vec<String> = tokens
            .into_iter()
            .filter_map(|token| match token {
                sqlparser::tokenizer::Token::NationalStringLiteral(text)
                | sqlparser::tokenizer::Token::SingleQuotedString(text) => {
                    Some(text.replace("''", "'"))
                }
                _ => None,
            })
            .collect();
        let [statement] = texts.as_slice() else {
            return Err(failed(
                214,
                "Procedure expects parameter '@statement' of type 'ntext/nchar/nvarchar'.",
            ));
        };
        self.procedure(statement)
    }

    fn procedure(&mut self, statement: &str) -> Result<(), Stop> {
        self.batch(statement, Some(DONE_IN_PROC))?;
        self.channel().write(&tokens::return_status())?;
        self.channel().write(&tokens::done(DONE_PROC, MORE, 0))?;
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Result<(), Stop> {
        let text = |index: usize| {
            call.parameters
                .get(index)
                .map(|(_, value)| value.text().to_owned())
                .unwrap_or_default()
        };
        match call.name.as_str() {
            "sp_executesql" => {
                let statement = bound(
                    &text(0),
                    &text(1),
                    call.parameters.get(2..).unwrap_or_default(),
                );
                self.procedure(&statement)
            }
            "sp_prepexec" | "sp_prepare" => {
                let (names, statement) = (text(1), text(2));
                let handle = self.prepared.len() as i32 + 1;
                self.prepared
                    .insert(handle, (statement.clone(), names.clone()));
                if call.name == "sp_prepexec" {
                    let statement = bound(
                        &statement,
                        &names,
                        call.parameters.get(3..).unwrap_or_default(),
                    );
                    self.batch(&statement, Some(DONE_IN_PROC))?;
                }
                self.channel().write(&tokens::return_status())?;
                self.channel().write(&tokens::return_value(0, "", handle))?;
                self.channel().write(&tokens::done(DONE_PROC, MORE, 0))?;
                Ok(())
            }
            "sp_execute" => {
                let handle = text(0).parse().unwrap_or_default();
                let Some((statement, names)) = self.prepared.get(&handle).cloned() else {
                    return Err(failed(8179, "Could not find prepared statement."));
                };
                let statement = bound(
                    &statement,
                    &names,
                    call.parameters.get(1..).unwrap_or_default(),
                );
                self.procedure(&statement)
            }
            "sp_unprepare" => {
                self.prepared.remove(&text(0).parse().unwrap_or_default());
                self.procedure("")
            }
            name => Err(failed(
                2812,
                &format!("Could not find stored procedure '{name}'."),
            )),
        }
    }

    /// Transactions without SQL: 5 begins one, 7 commits, 8 rolls back.
    fn manage(&mut self, payload: &[u8]) -> Result<(), Stop> {
        match payload.first() {
            Some(5) => self.begin(),
            Some(7) => self.commit(),
            Some(8) => Ok(self.roll_back()?),
            _ => Err(failed(3989, "New request is not allowed to start.")),
        }
    }
}

/// What follows the headers of a request.
pub(crate) fn headers(payload: &[u8]) -> Option<&[u8]> {
    let length = u32::from_le_bytes(payload.get(..4)?.try_into().ok()?);
    payload.get(length as usize..)
}

/// A statement with literals in the place of its parameters.
fn bound(statement: &str, names: &str, values: &[(String, Parameter)]) -> String {
    let names = names
        .split(',')
        .filter_map(|one| one.split_whitespace().next());
    let mut statement = statement.to_owned();
    let mut pairs: Vec<(String, String)> = names
        .zip(values)
        .map(|(name, (given, value))| {
            (
                if given.is_empty() {
                    name.to_owned()
                } else {
                    given.clone()
                },
                value.literal(),
            )
        })
        .collect();
    // The longest first: @P1 begins @P10.
    pairs.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    for (name, value) in pairs {
        statement = statement.replace(&name, &value);
    }
    statement
}

fn failed(number: u32, text: &str) -> Stop {
    Stop::Failed {
        number,
        class: 16,
        text: text.to_owned(),
    }
}

fn syntax(near: &str) -> Stop {
    Stop::Failed {
        number: 102,
        class: 15,
        text: format!("Incorrect syntax near '{}'.", near.trim_matches(['"', ':'])),
    }
}
