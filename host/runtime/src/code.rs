//! The compiled code of a version, which may come late and may become better while it serves.

use tokio::sync::watch;

use super::instance::cancelled;
use crate::package::Refusal;
use mindhost_base::error::{Blame, Code, Error, Result};
use mindhost_plugin_api::Call;

/// What a version runs on. Each new instance takes the best code there is; whatever runs keeps what it was started with.
pub struct Compiled<W>(watch::Sender<Current<W>>);

/// The code of a version at one moment.
struct Current<W> {
    /// None while it is being made.
    code: Option<Result<W, Refusal>>,
    /// Counts the codes there were, so that an instance can tell whether its own is still the best.
    generation: u64,
}

impl<W: Clone> Compiled<W> {
    /// Code that is being made.
    pub fn awaited() -> Self {
        Self(watch::Sender::new(Current {
            code: None,
            generation: 0,
        }))
    }

    /// The first code, or better code than before, or why there is none. Code that is there is never taken away.
    pub fn put(&self, made: Result<W, Refusal>) {
        self.0.send_modify(|current| {
            if made.is_ok() || !matches!(current.code, Some(Ok(_))) {
                current.code = Some(made);
                current.generation += 1;
            }
        });
    }

    /// Tells codes apart.
    pub fn generation(&self) -> u64 {
        self.0.borrow().generation
    }

    /// Whether it is known yet that there is code, or why there is none.
    pub fn is_made(&self) -> bool {
        self.0.borrow().code.is_some()
    }

    /// Waits until there is code.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn made(&self) -> Result<(), Refusal> {
        self.first().await.map(drop)
    }

    async fn first(&self) -> Result<(W, u64), Refusal> {
        let mut current = self.0.subscribe();
        let made = current.wait_for(|current| current.code.is_some()).await;
        match made.as_deref() {
            Ok(Current {
                code: Some(code),
                generation,
            }) => code.clone().map(|code| (code, *generation)),
            _ => Err(Refusal::new("was not compiled: the server ends")),
        }
    }

    /// The best code there is with its generation, waited for within the bounds of a call.
    ///
    /// # Errors
    /// `no_plugin` where there is none; `timeout`, `cancelled`.
    pub async fn get(&self, call: &Call) -> Result<(W, u64)> {
        tokio::select! {
            biased;
            made = self.first() => made.map_err(|refusal| {
                Error::new(Code::NoPlugin, format!("the plugin {refusal}"))
            }),
            () = call.cancel.cancelled() => Err(cancelled()),
            () = tokio::time::sleep_until(call.deadline) => Err(Error::new(
                Code::Timeout,
                "the plugin is still being compiled, as it is once after it was installed; ask again",
            )
            .blamed(Blame::Host)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn call(time: Duration) -> Call {
        Call::new(time, tokio_util::sync::CancellationToken::new())
    }

    #[tokio::test]
    async fn a_call_waits_for_the_first_code_and_takes_the_best() {
        let code = std::sync::Arc::new(Compiled::awaited());
        let early = code.get(&call(Duration::from_millis(10))).await;
        assert_eq!(early.unwrap_err().code(), Code::Timeout);
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
    async fn what_serves_is_not_lost_when_better_code_cannot_be_made() {
        let code = Compiled::awaited();
        code.put(Err(Refusal::new("cannot be compiled")));
        let refused = code.get(&call(Duration::from_secs(1))).await.unwrap_err();
        assert_eq!(refused.code(), Code::NoPlugin);
        code.put(Ok("quick"));
        code.put(Err(Refusal::new("cannot be compiled")));
        assert_eq!(code.get(&call(Duration::ZERO)).await.unwrap().0, "quick");
    }
}
