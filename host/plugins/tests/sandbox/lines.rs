//! What is logged.

use std::{
    io::Write,
    sync::{Arc, Mutex, OnceLock},
};

/// Lines as the server writes them.
#[derive(Clone, Default)]
pub struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    /// What is logged on this thread while the guard lives.
    pub fn of_this_thread() -> (Self, tracing::subscriber::DefaultGuard) {
        // Where there is only one subscriber, the thread that first comes to a line is asked whether it wants that
        // line, and the answer counts for all threads. Any other thread has no subscriber then, and would say no.
        Self::of_all();
        let lines = Self::default();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .with_writer(Arc::new(lines.clone()))
            .finish();
        (lines, tracing::subscriber::set_default(subscriber))
    }

    /// What is logged on any other thread, from now on.
    pub fn of_all() -> &'static Self {
        static ALL: OnceLock<Lines> = OnceLock::new();
        ALL.get_or_init(|| {
            let lines = Self::default();
            let subscriber = tracing_subscriber::fmt()
                .with_max_level(tracing::Level::INFO)
                .with_ansi(false)
                .with_writer(Arc::new(lines.clone()))
                .finish();
            tracing::subscriber::set_global_default(subscriber).expect("nobody else logs");
            lines
        })
    }

    /// Those that name something by themselves; a line may also name the call that it belongs to, before it begins.
    pub fn about(&self, name: &str) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let said = |line: &str| {
            let line = line.split_once("}: ").map_or(line, |(_, said)| said);
            line.contains(name)
        };
        // Only what ends a line for every reader ends one here: a carriage return within one is to be found.
        let lines = text.split('\n').filter(|line| said(line));
        lines.map(str::to_owned).collect()
    }
}

impl Write for &Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
