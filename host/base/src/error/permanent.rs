//! Failures that the same request would meet again, at the same cost. Clients repeat what a gateway refuses, unless they
//! are told.

use super::{Code, Error};

impl Error {
    /// Marks a failure of which its code does not say that it is permanent.
    #[must_use]
    pub fn permanent(mut self) -> Self {
        self.0.is_permanent = true;
        self
    }

    /// Whether the same request would meet it again.
    pub fn is_permanent(&self) -> bool {
        let inner = &*self.0;
        match inner.code {
            Code::AnswerFailed | Code::QuotaExceeded => true,
            // It says when it will have passed.
            _ if inner.retry_after.is_some() => inner.is_permanent,
            Code::UpstreamError => match inner.reported {
                Some(
                    "invalid-config" | "not-found" | "permission" | "invalid-statement"
                    | "unsupported" | "too-large",
                ) => true,
                // An access token that could not be had has no code of the vendor, and can be had later.
                Some("auth") => inner.engine_code.is_some(),
                _ => inner.is_permanent,
            },
            _ => inner.is_permanent,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn failure_that_may_pass_is_not_permanent() {
        let of = |code: Code, reported| Error::new(code, "no").with_reported(reported);
        assert!(Error::new(Code::AnswerFailed, "no").is_permanent());
        assert!(Error::new(Code::Timeout, "no").permanent().is_permanent());
        for kind in [
            "invalid-config",
            "not-found",
            "invalid-statement",
            "unsupported",
        ] {
            let error = of(Code::UpstreamError, kind);
            assert!(error.is_permanent(), "{kind}");
            let waits = error.with_retry_after(Duration::from_secs(1));
            assert!(!waits.is_permanent(), "{kind}");
        }
        let refused_key = of(Code::UpstreamError, "auth").with_engine_code("401");
        assert!(refused_key.is_permanent());
        for passes in [
            of(Code::UpstreamError, "auth"),
            of(Code::UpstreamError, "upstream").with_engine_code("500"),
            of(Code::UpstreamUnreachable, "unreachable"),
            of(Code::RateLimited, "rate-limited"),
            Error::new(Code::Overloaded, "no"),
            Error::new(Code::Timeout, "no"),
        ] {
            assert!(!passes.is_permanent(), "{passes:?}");
        }
    }
}
