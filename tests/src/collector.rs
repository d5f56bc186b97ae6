//! A listener on this machine that keeps what arrives and answers 200, so that a test sees what leaves the server.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// A listener that collects what arrives, as long as the runtime of its test runs.
#[derive(Clone, Debug)]
pub struct Collector {
    address: String,
    arrived: Arc<Mutex<Vec<String>>>,
}

impl Collector {
    /// Listens on a free port.
    ///
    /// # Panics
    /// When there is none.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address").to_string();
        let arrived: Arc<Mutex<Vec<String>>> = Arc::default();
        let collected = Arc::clone(&arrived);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut bytes = [0; 4096];
                let read = stream.read(&mut bytes).await.unwrap_or_default();
                let text = String::from_utf8_lossy(&bytes[..read]).into_owned();
                collected
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(text);
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                let _ = stream.write_all(answer).await;
            }
        });
        Self { address, arrived }
    }

    /// `127.0.0.1:<port>`
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The beginning of what each connection sent.
    pub fn arrived(&self) -> Vec<String> {
        self.arrived
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
