//! The compiled code of a version: pending at first, and replaced by better code while it serves.

use std::time::Duration;

use tokio::sync::watch;

use super::host_errors::cancelled;
use crate::package::Refusal;
use mindhost_base::error::{Blame, Code, Error, Result};
use mindhost_plugin_api::Call;

/// When a client should ask again for a plugin that is still compiling.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// The code of a version. New instances take the best code; running ones keep theirs.
pub struct VersionCode<W> {
    current: watch::Sender<Current<W>>,
    /// Whether a call has asked for the code.
    wanted: watch::Sender<bool>,
}

/// What new instances are made from, and how often it was replaced.
struct Current<W> {
    /// None while the first compilation runs.
    code: Option<Result<W, Refusal>>,
    /// Counts the replacements, so that an instance can tell whether its code is current.
    generation: u64,
}

impl<W: Clone> VersionCode<W> {
    /// Code that is being compiled.
    pub fn pending() -> Self {
        Self {
            current: watch::Sender::new(Current {
                code: None,
                generation: 0,
            }),
            wanted: watch::Sender::new(false),
        }
    }

    /// Sets the first or better code, or why there is none. A failure never replaces code.
    pub fn put(&self, made: Result<W, Refusal>) {
        self.current.send_modify(|current| {
            if made.is_ok() || !matches!(current.code, Some(Ok(_))) {
                current.code = Some(made);
                current.generation += 1;
            }
        });
    }

    /// The generation of the current code.
    pub fn generation(&self) -> u64 {
        self.current.borrow().generation
    }

    /// Whether the first compilation has ended.
    pub fn is_compiled(&self) -> bool {
        self.current.borrow().code.is_some()
    }

    /// Waits for the first code.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn wait_until_compiled(&self) -> Result<(), Refusal> {
        self.first().await.map(drop)
    }

    /// Waits until a call asks for the code. Its compilation then waits for no other.
    pub async fn wanted(&self) {
        // This value holds the sender, so the channel cannot be closed.
        let _ = self.wanted.subscribe().wait_for(|wanted| *wanted).await;
    }

    async fn first(&self) -> Result<(W, u64), Refusal> {
        let mut current = self.current.subscribe();
        let made = current.wait_for(|current| current.code.is_some()).await;
        match made.as_deref() {
            Ok(Current {
                code: Some(code),
                generation,
            }) => code.clone().map(|code| (code, *generation)),
            _ => Err(Refusal::new("was not compiled: the server ends")),
        }
    }

    /// The current code and its generation. Waits for the first code until the call ends.
    ///
    /// # Errors
    /// `no_plugin` if compilation failed; `overloaded` if it takes longer than the call may; `cancelled`.
    pub async fn get(&self, call: &Call) -> Result<(W, u64)> {
        if !self.is_compiled() {
            self.wanted.send_replace(true);
        }
        tokio::select! {
            biased;
            made = self.first() => made.map_err(|refusal| {
                Error::new(Code::NoPlugin, format!("the plugin {refusal}"))
            }),
            () = call.cancel.cancelled() => Err(cancelled()),
            () = tokio::time::sleep_until(call.deadline) => Err(Error::new(
                Code::Overloaded,
                "the plugin is still compiling, which happens once after its installation; try again",
            )
            .blamed(Blame::Host)
            .with_retry_after(RETRY_AFTER)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(time: Duration) -> Call {
        Call::new(time, tokio_util::sync::CancellationToken::new())
    }

    #[tokio::test]
    async fn call_waits_for_the_first_code_and_takes_the_best() {
        let code = std::sync::Arc::new(VersionCode::pending());
        let early = code.get(&call(Duration::from_millis(10))).await;
        assert_eq!(early.unwrap_err().code(), Code::Overloaded);
        // The call that gave up has moved the version to the front of the queue.
        code.wanted().await;
        let waiting = tokio::spawn({
            let code = std::sync::Arc::clone(&code);
            async move { code.get(&call(Duration::from_secs(60))).await }
        });
        code.put(Ok("quick"));
        assert_eq!(waiting.await.unwrap().unwrap().0, "quick");
        let first = code.generation();
        code.put(Ok("fast"));
        assert_ne!(code.generation(), first);
        assert_eq!(code.get(&call(Duration::ZERO)).await.unwrap().0, "fast");
    }

    #[tokio::test]
    async fn failed_optimization_keeps_the_baseline_code() {
        let code = VersionCode::pending();
        code.put(Err(Refusal::new("cannot be compiled")));
        let refused = code.get(&call(Duration::from_secs(1))).await.unwrap_err();
        assert_eq!(refused.code(), Code::NoPlugin);
        code.put(Ok("quick"));
        code.put(Err(Refusal::new("cannot be compiled")));
        assert_eq!(code.get(&call(Duration::ZERO)).await.unwrap().0, "quick");
    }
}
