//! The server's side of PostgreSQL's protocol, as far as a client that only reads needs it.

use std::collections::HashMap;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{Cell, Said};

const SSL_REQUEST: u32 = 80_877_103;
const CANCEL_REQUEST: u32 = 80_877_102;
/// Written at once.
const PORTION: usize = 64 << 10;

/// Serves one connection.
pub async fn serve(mut stream: TcpStream, answer: impl Fn(&str) -> Said) -> std::io::Result<()> {
    loop {
        let length = stream.read_u32().await?;
        let mut body = vec![0; (length as usize).saturating_sub(4)];
        stream.read_exact(&mut body).await?;
        match body.first_chunk().map(|code| u32::from_be_bytes(*code)) {
            Some(SSL_REQUEST) => stream.write_all(b"N").await?,
            Some(CANCEL_REQUEST) | None => return Ok(()),
            Some(_) => break,
        }
    }
    let mut session = Session {
        stream,
        output: Vec::new(),
        statements: HashMap::new(),
        portal: None,
        has_failed: false,
    };
    session.say(b'R', &0_u32.to_be_bytes());
    session.say(b'S', b"server_version\x0015.0\0");
    session.say(b'K', &[0, 0, 0, 1, 0, 0, 0, 2]);
    session.say(b'Z', b"I");
    session.flush().await?;
    session.serve(answer).await
}

struct Session {
    stream: TcpStream,
    output: Vec<u8>,
    statements: HashMap<String, String>,
    portal: Option<Portal>,
    /// Messages are passed over up to the next Sync.
    has_failed: bool,
}

/// A statement in execution.
struct Portal {
    is_step: bool,
    said: Said,
}

impl Session {
    async fn serve(&mut self, answer: impl Fn(&str) -> Said) -> std::io::Result<()> {
        loop {
            let tag = self.stream.read_u8().await?;
            let length = self.stream.read_u32().await?;
            let mut body = vec![0; (length as usize).saturating_sub(4)];
            self.stream.read_exact(&mut body).await?;
            match tag {
                b'X' => return Ok(()),
                b'Q' => {
                    self.say(b'C', b"SET\0");
                    self.ready().await?;
                }
                b'S' => {
                    self.has_failed = false;
                    self.ready().await?;
                }
                _ if self.has_failed => {}
                b'P' => {
                    let mut texts = texts(&body);
                    let name = texts.next().unwrap_or_default();
                    self.statements
                        .insert(name, texts.next().unwrap_or_default());
                    self.say(b'1', b"");
                }
                b'B' => {
                    let name = texts(&body).nth(1).unwrap_or_default();
                    let sql = self.statements.get(&name).cloned().unwrap_or_default();
                    let is_step = ["BEGIN", "SET", "ROLLBACK"]
                        .iter()
                        .any(|word| sql.starts_with(word));
                    let said = answer(&(sql + &parameters(&body)));
                    self.portal = Some(Portal { is_step, said });
                    self.say(b'2', b"");
                }
                b'D' => self.describe().await?,
                b'E' => {
                    let max = body.last_chunk().map_or(0, |max| u32::from_be_bytes(*max));
                    self.execute(max).await?;
                }
                b'C' => self.say(b'3', b""),
                _ => {}
            }
        }
    }

    async fn describe(&mut self) -> std::io::Result<()> {
        let Some(portal) = self.portal.take() else {
            return Ok(());
        };
        let forever = match &portal.said {
            Said::Forever(bytes) => Some(bytes.repeat(PORTION / bytes.len().max(1) + 1)),
            _ => None,
        };
        if let Some(bytes) = forever {
            return self.flood(&bytes).await;
        }
        match &portal.said {
            Said::Rows(columns, _) if !columns.is_empty() => {
                let mut body = (columns.len() as u16).to_be_bytes().to_vec();
                for (name, type_number) in columns {
                    body.extend_from_slice(name.as_bytes());
                    body.extend_from_slice(&[0; 7]);
                    body.extend_from_slice(&type_number.to_be_bytes());
                    body.extend_from_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]);
                }
                self.say(b'T', &body);
            }
            Said::Rows(..) => self.say(b'n', b""),
            Said::Error(code, message) => {
                let fields = format!("SERROR\0VERROR\0C{code}\0M{message}\0P8\0\0");
                self.say(b'E', fields.as_bytes());
                self.has_failed = true;
            }
            Said::Forever(_) => {}
        }
        self.portal = Some(portal);
        Ok(())
    }

    async fn execute(&mut self, max: u32) -> std::io::Result<()> {
        let Some(mut portal) = self.portal.take() else {
            return Ok(());
        };
        if let Said::Rows(_, rows) = &mut portal.said
            && !portal.is_step
        {
            let mut given = 0;
            while max == 0 || given < max {
                let Some(row) = rows.next() else { break };
                self.row(&row);
                given += 1;
                if self.output.len() > PORTION {
                    self.flush().await?;
                }
            }
            if max > 0 && given == max {
                self.say(b's', b"");
                self.portal = Some(portal);
                return Ok(());
            }
        }
        self.say(b'C', b"SELECT 0\0");
        Ok(())
    }

    /// Ends when the client leaves.
    async fn flood(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.flush().await?;
        loop {
            self.stream.write_all(bytes).await?;
        }
    }

    fn row(&mut self, cells: &[Cell]) {
        let mut body = (cells.len() as u16).to_be_bytes().to_vec();
        for cell in cells {
            let length = cell.as_ref().map_or(-1, |cell| cell.len() as i32);
            body.extend_from_slice(&length.to_be_bytes());
            body.extend_from_slice(cell.as_deref().unwrap_or_default().as_bytes());
        }
        self.say(b'D', &body);
    }

    fn say(&mut self, tag: u8, body: &[u8]) {
        self.output.push(tag);
        self.output
            .extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        self.output.extend_from_slice(body);
    }

    async fn ready(&mut self) -> std::io::Result<()> {
        self.say(b'Z', b"T");
        self.flush().await
    }

    async fn flush(&mut self) -> std::io::Result<()> {
        let output = std::mem::take(&mut self.output);
        self.stream.write_all(&output).await
    }
}

/// The parameters of a Bind, each on a line of its own.
fn parameters(body: &[u8]) -> String {
    let names = texts(body)
        .take(2)
        .map(|name| name.len() + 1)
        .sum::<usize>();
    let mut rest = body.get(names..).unwrap_or_default();
    let mut lines = String::new();
    // The formats of the parameters, which are all texts, then their number.
    let formats = take::<2>(&mut rest).map_or(0, u16::from_be_bytes);
    for _ in 0..formats {
        take::<2>(&mut rest);
    }
    for _ in 0..take::<2>(&mut rest).map_or(0, u16::from_be_bytes) {
        let length = take::<4>(&mut rest).map_or(-1, i32::from_be_bytes);
        let length = usize::try_from(length).unwrap_or_default().min(rest.len());
        let (text, after) = rest.split_at(length);
        lines = lines + "\n" + &String::from_utf8_lossy(text);
        rest = after;
    }
    lines
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*first)
}

/// The texts that stand in a message, each with a zero behind it.
fn texts(body: &[u8]) -> impl Iterator<Item = String> {
    let texts = body.split(|byte| *byte == 0);
    texts.map(|text| String::from_utf8_lossy(text).into_owned())
}
