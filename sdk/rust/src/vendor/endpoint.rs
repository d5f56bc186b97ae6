//! Where a vendor's API is.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::http::{Request, Response, Url};

use super::tidy;

/// Sends a request: [`crate::http::send`], or a script in tests.
pub type Send<'a> = dyn Fn(&Request) -> Result<Response> + 'a;

/// A base URL, with what every request below it carries.
#[derive(Clone)]
pub struct Endpoint {
    base: String,
    host: String,
    path: String,
    headers: Vec<(String, String)>,
    first_byte: Duration,
    silence: Duration,
}

impl Endpoint {
    /// Checks the setting `base_url`. A slash at its end means nothing.
    ///
    /// # Errors
    /// `InvalidConfig` that names the setting and never repeats its value.
    pub fn new(base_url: &str) -> Result<Self> {
        let url = Url::parse(base_url).map_err(|error| error.context("`base_url`"))?;
        if base_url.contains(['?', '#']) {
            return Err(Error::invalid_config(
                "`base_url` must not have a query or fragment",
            ));
        }
        let usual = Request::get(base_url);
        let host = url.authority.split(':').next().unwrap_or_default();
        Ok(Self {
            base: base_url.trim_end_matches('/').to_owned(),
            host: host.to_ascii_lowercase(),
            path: url.path_and_query.trim_end_matches('/').to_owned(),
            headers: Vec::new(),
            first_byte: usual.first_byte_timeout,
            silence: usual.between_bytes_timeout,
        })
    }

    /// How many seconds the vendor may take to begin an answer, and how long a begun answer may be silent.
    #[must_use]
    pub fn timeouts(mut self, first_byte_seconds: u64, silence_seconds: u64) -> Self {
        self.first_byte = Duration::from_secs(first_byte_seconds);
        self.silence = Duration::from_secs(silence_seconds);
        self
    }

    /// A header of every request. An empty value is left out.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if !value.is_empty() {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// The host name in lower case, without the port.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The path of the base URL: empty, or from its first slash on, without one at the end.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// A request to a path below the base URL.
    pub fn get(&self, path: &str) -> Request {
        self.finish(Request::get(format!("{}{path}", self.base)))
            .header("accept", "application/json")
    }

    /// The same with a JSON body, for an answer that is streamed.
    pub fn post(&self, path: &str, body: Vec<u8>) -> Request {
        self.finish(Request::post(format!("{}{path}", self.base), body))
            .header("content-type", "application/json")
            .header("accept", "text/event-stream")
    }

    fn finish(&self, mut request: Request) -> Request {
        request.first_byte_timeout = self.first_byte;
        request.between_bytes_timeout = self.silence;
        request.headers.extend(self.headers.iter().cloned());
        request
    }
}

/// A list of names for a sentence: at most five, in one line.
pub fn few(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(5).map(|name| tidy(name)).collect();
    match names.len() {
        0 => "no models".to_owned(),
        count if count > 5 => format!("{count} models: {}, …", shown.join(", ")),
        _ => shown.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn paths_go_below_the_base_url() {
        let endpoint = Endpoint::new("http://Localhost:11434/v1/")
            .unwrap()
            .header("x-one", "1")
            .header("x-none", "");
        let request = endpoint.get("/models");
        assert_eq!(request.url, "http://Localhost:11434/v1/models");
        assert!(request.headers.contains(&("x-one".into(), "1".into())));
        assert!(!request.headers.iter().any(|(name, _)| name == "x-none"));
        assert_eq!((endpoint.host(), endpoint.path()), ("localhost", "/v1"));
        assert_eq!(Endpoint::new("https://x/").unwrap().path(), "");
    }

    #[test]
    fn a_wrong_url_is_named_not_shown() {
        for url in [
            "openai.com",
            "https://user:pw@openai.com",
            "https://x/v1?key=s3cret",
        ] {
            let error = Endpoint::new(url).map(|_| ()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidConfig);
            assert!(
                error.message().contains("base_url")
                    && !error.message().contains("pw@")
                    && !error.message().contains("s3cret")
            );
        }
    }
}
