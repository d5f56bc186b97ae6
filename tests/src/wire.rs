//! A connection that is spoken by hand, for what no client would send.

use std::time::Duration;

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use crate::{Host, eventually};

/// Long enough for a loaded machine.
const SOON: Duration = Duration::from_secs(20);

/// One connection to a host.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    /// What came and was not asked for yet.
    read: Vec<u8>,
}

/// An answer as it came.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its head, as it came.
    pub head: String,
    /// Its body.
    pub body: String,
}

impl Wire {
    /// Connects to a host.
    ///
    /// # Panics
    /// When it takes no connection.
    pub async fn to(host: &Host) -> Self {
        let url = host.url();
        let address = url.strip_prefix("http://").expect("a URL of http");
        let stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("a packet for each write");
        Self {
            stream,
            read: Vec::new(),
        }
    }

    /// Sends bytes; false when the server takes no more.
    pub async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        let sent = timeout(SOON, self.stream.write_all(bytes.as_ref())).await;
        sent.expect("the server takes what is sent").is_ok()
    }

    /// Sends bytes.
    ///
    /// # Panics
    /// When the server takes no more.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        assert!(self.try_send(bytes).await, "the connection is closed");
        self
    }

    /// Sends a head and, a little later, its body: as clients do that send each by itself over a network.
    ///
    /// # Panics
    /// When the server takes no more.
    pub async fn send_apart(&mut self, head: &str, body: &str) -> &mut Self {
        self.send(head).await;
        // The server has the head, and waits for the body.
        let own = self.stream.local_addr().expect("an address").port();
        let peer = self.stream.peer_addr().expect("an address").port();
        eventually(async || unread(own, peer), |left| *left == Some(0)).await;
        self.send(body).await
    }

    /// The next answer.
    ///
    /// # Panics
    /// When the connection ends before it is whole.
    pub async fn answer(&mut self) -> Answer {
        self.read_answer(true).await
    }

    /// The next answer, to a request whose answers have no body.
    ///
    /// # Panics
    /// When the connection ends before it is whole.
    pub async fn answer_without_body(&mut self) -> Answer {
        self.read_answer(false).await
    }

    async fn read_answer(&mut self, has_body: bool) -> Answer {
        let end = loop {
            let found = self.read.windows(4).position(|four| four == b"\r\n\r\n");
            match found {
                Some(end) => break end + 4,
                None => self.read_more().await,
            }
        };
        let head: Vec<u8> = self.read.drain(..end).collect();
        let head = String::from_utf8_lossy(&head).into_owned();
        let status = head.split(' ').nth(1).and_then(|text| text.parse().ok());
        let mut answer = Answer {
            status: status.unwrap_or_else(|| panic!("no status: {head}")),
            head,
            body: String::new(),
        };
        let length = answer.header("content-length").parse().unwrap_or(0);
        if has_body {
            while self.read.len() < length {
                self.read_more().await;
            }
            let body: Vec<u8> = self.read.drain(..length).collect();
            answer.body = String::from_utf8_lossy(&body).into_owned();
        }
        answer
    }

    async fn read_more(&mut self) {
        let count = timeout(SOON, self.stream.read_buf(&mut self.read)).await;
        let count = count.expect("an answer").unwrap_or(0);
        let so_far = String::from_utf8_lossy(&self.read);
        assert!(
            count > 0,
            "the connection ended before the answer: {so_far:?}"
        );
    }

    /// Whether the server ends the connection, with nothing more to come.
    ///
    /// # Panics
    /// When something comes, or neither within some time.
    pub async fn is_closed(&mut self) -> bool {
        assert!(self.read.is_empty(), "{:?}", self.rest());
        let count = timeout(SOON, self.stream.read_buf(&mut self.read)).await;
        // It may be reset where something was sent that the server did not want.
        matches!(count, Ok(Ok(0) | Err(_)))
    }

    fn rest(&self) -> String {
        String::from_utf8_lossy(&self.read).into_owned()
    }
}

impl Answer {
    /// A header; empty when there is none.
    pub fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(line, _)| line.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value.trim())
    }

    /// Whether it says that the connection ends.
    pub fn closes(&self) -> bool {
        self.header("connection").eq_ignore_ascii_case("close")
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// When it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {:?}", self.head, self.body))
    }

    /// Fails unless this is the one error body, with this status and code.
    ///
    /// # Panics
    /// When it is not.
    #[track_caller]
    pub fn expect_error(&self, status: u16, code: &str) {
        assert_eq!(self.status, status, "{} {}", self.head, self.body);
        assert_eq!(self.json()["error"]["code"], code, "{}", self.body);
        assert!(!self.header("x-request-id").is_empty(), "{}", self.head);
    }
}

/// Bytes that the server has not read, by the tables of the system; none while its end of the connection is not there.
fn unread(own: u16, peer: u16) -> Option<u64> {
    let (own, peer) = (format!(":{own:04X}"), format!(":{peer:04X}"));
    let table = std::fs::read_to_string("/proc/net/tcp").ok()?;
    let queues = |local: &str, remote: &str| {
        table.lines().find_map(|line| {
            let parts: Vec<&str> = line.split_whitespace().collect();
            let is_it = parts.get(1)?.ends_with(local) && parts.get(2)?.ends_with(remote);
            let (sent, received) = parts.get(4).filter(|_| is_it)?.split_once(':')?;
            let number = |text| u64::from_str_radix(text, 16).ok();
            Some((number(sent)?, number(received)?))
        })
    };
    Some(queues(&own, &peer)?.0 + queues(&peer, &own)?.1)
}
