//! What hostile guests connect to: servers that are as hostile, and a file that changes under their eyes.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// What a server does with a connection.
#[derive(Clone, Copy)]
enum Manner {
    /// Reads, and says nothing.
    Listens,
    /// Does not even read.
    Ignores,
    /// Answers, and sends the body for ever.
    Endless,
    /// Begins to answer, and says no more.
    Stalls,
    /// Answers with more headers than anybody reads.
    Headers,
    /// Answers with two lengths and a second answer behind the first.
    Splits,
    /// Answers as it should, each time.
    Answers,
    /// Answers, and breaks off in the middle of the body.
    Breaks,
}

pub struct Servers {
    ports: [u16; 8],
    /// Connections that are open.
    open: Arc<AtomicU64>,
    /// Where the file is that [`Servers::exchange`] changes.
    files: PathBuf,
    is_over: Arc<AtomicBool>,
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl Servers {
    /// Serves until it is dropped; the file lies in the folder of the sandbox.
    pub async fn start(dir: &Path) -> Self {
        let open = Arc::new(AtomicU64::new(0));
        let mut ports = [0; 8];
        let manners = [
            Manner::Listens,
            Manner::Ignores,
            Manner::Endless,
            Manner::Stalls,
            Manner::Headers,
            Manner::Splits,
            Manner::Answers,
            Manner::Breaks,
        ];
        for (port, manner) in ports.iter_mut().zip(manners) {
            *port = serve(manner, Arc::clone(&open)).await;
        }
        Self {
            ports,
            open,
            files: dir.join("data/files/default"),
            is_over: Arc::default(),
        }
    }

    /// Puts a link to a secret in the place of the file beside the database, and takes it away, as fast as it can,
    /// until the servers are dropped. It takes most of a processor, so only those rows have it that look for it.
    pub fn exchange(&self) {
        let (files, is_over) = (self.files.clone(), Arc::clone(&self.is_over));
        std::thread::spawn(move || {
            let (file, link) = (files.join("own.db-wal"), files.join("link"));
            while !is_over.load(Ordering::Relaxed) && files.exists() {
                let _ = std::os::unix::fs::symlink("../../secrets.key", &link);
                let _ = std::fs::rename(&link, &file);
                let _ = std::fs::write(files.join("new"), "wal");
                let _ = std::fs::rename(files.join("new"), &file);
                std::thread::yield_now();
            }
        });
    }

    pub fn open(&self) -> u64 {
        self.open.load(Ordering::SeqCst)
    }

    /// The grant and the goal of a guest that speaks TCP.
    pub fn tcp(&self, reads: bool) -> Value {
        let port = self.ports[usize::from(!reads)];
        json!({"host": "127.0.0.1", "port": port, "target": format!("127.0.0.1:{port}")})
    }

    fn http(&self, manner: Manner) -> Value {
        let port = self.ports[manner as usize];
        json!({"base_url": format!("http://127.0.0.1:{port}"), "target": format!("127.0.0.1:{port}")})
    }

    pub fn listens(&self) -> Value {
        self.http(Manner::Listens)
    }

    pub fn ignores(&self) -> Value {
        self.http(Manner::Ignores)
    }

    pub fn endless(&self) -> Value {
        self.http(Manner::Endless)
    }

    pub fn stalls(&self) -> Value {
        self.http(Manner::Stalls)
    }

    pub fn headers(&self) -> Value {
        self.http(Manner::Headers)
    }

    pub fn splits(&self) -> Value {
        self.http(Manner::Splits)
    }

    pub fn answers(&self) -> Value {
        self.http(Manner::Answers)
    }

    pub fn breaks(&self) -> Value {
        self.http(Manner::Breaks)
    }
}

async fn serve(manner: Manner, open: Arc<AtomicU64>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let mut ignored = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            match manner {
                Manner::Ignores => ignored.push(stream),
                _ => {
                    open.fetch_add(1, Ordering::SeqCst);
                    let open = Arc::clone(&open);
                    tokio::spawn(async move {
                        let _ = answer(manner, stream).await;
                        open.fetch_sub(1, Ordering::SeqCst);
                    });
                }
            }
        }
    });
    port
}

/// Ends when the other side closed.
async fn answer(manner: Manner, mut stream: TcpStream) -> std::io::Result<()> {
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n";
    let mut request = vec![0; 64 << 10];
    match manner {
        Manner::Listens => {
            while stream.read(&mut request).await? > 0 {}
            return Ok(());
        }
        Manner::Answers => return answer_each(stream).await,
        _ => {}
    }
    if stream.read(&mut request).await? == 0 {
        return Ok(());
    }
    stream.write_all(HEAD).await?;
    match manner {
        Manner::Endless => {
            stream
                .write_all(b"content-length: 99999999999999\r\n\r\n")
                .await?;
            let much = vec![b'x'; 64 << 10];
            loop {
                stream.write_all(&much).await?;
            }
        }
        Manner::Headers => {
            for n in 0..100_000 {
                stream
                    .write_all(format!("x-{n}: {n}\r\n").as_bytes())
                    .await?;
            }
        }
        Manner::Splits => {
            stream
                .write_all(
                    b"content-length: 5\r\ncontent-length: 7\r\n\r\nhelloHTTP/1.1 200 OK\r\n\r\n",
                )
                .await?;
        }
        Manner::Stalls => stream.write_all(b"content-length: 5\r\n\r\nx").await?,
        Manner::Breaks => {
            stream.write_all(b"content-length: 5\r\n\r\nx").await?;
            return Ok(());
        }
        Manner::Listens | Manner::Ignores | Manner::Answers => {}
    }
    while stream.read(&mut request).await? > 0 {}
    Ok(())
}

/// Serves requests with a body in chunks, one after the other on one connection.
async fn answer_each(mut stream: TcpStream) -> std::io::Result<()> {
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    const END: &[u8] = b"0\r\n\r\n";
    let mut read = Vec::new();
    loop {
        if stream.read_buf(&mut read).await? == 0 {
            return Ok(());
        }
        while let Some(at) = read.windows(END.len()).position(|bytes| bytes == END) {
            read.drain(..at + END.len());
            stream.write_all(ANSWER).await?;
        }
    }
}
