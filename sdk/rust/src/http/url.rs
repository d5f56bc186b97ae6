//! The parts of a URL that a request needs.

use crate::error::{Error, Result};

/// An absolute `http` or `https` URL in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Whether the connection is encrypted.
    pub https: bool,
    /// Host, and port where it is written.
    pub authority: String,
    /// From the first `/` on, with the query; never empty.
    pub path_and_query: String,
}

impl Url {
    /// Takes a URL apart.
    ///
    /// # Errors
    /// `InvalidConfig` when it is not an absolute `http` or `https` URL, when it has a user or password in it (the
    /// host adds credentials), and for blanks and control characters.
    pub fn parse(text: &str) -> Result<Self> {
        // The text may hold a password, so that no message repeats it.
        let invalid = |what: &str| Error::invalid_config(format!("the URL {what}"));
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(invalid("holds blanks or control characters"));
        }
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| invalid("must start with http:// or https://"))?;
        let https = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(invalid("must start with http:// or https://")),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.is_empty() || authority.starts_with(':') {
            return Err(invalid("names no host"));
        }
        if authority.contains('@') {
            return Err(invalid(
                "must not hold a user or password; the host adds credentials",
            ));
        }
        let path_and_query = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/{path}")
        };
        Ok(Self {
            https,
            authority: authority.to_owned(),
            path_and_query,
        })
    }
}

impl Url {
    /// The URL that `other` is, seen from the URL `base`: a whole one, `//host/…`, `/path`, `?query`, or a path beside that
    /// of `base`. Dots (`../x`) are left to the server.
    ///
    /// # Errors
    /// Those of [`Url::parse`].
    pub fn join(base: &str, other: &str) -> Result<String> {
        let has_scheme = |scheme: &str| {
            let start = other.get(..scheme.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        };
        let joined = if has_scheme("http://") || has_scheme("https://") {
            other.to_owned()
        } else {
            let url = Self::parse(base)?;
            let scheme = if url.https { "https:" } else { "http:" };
            let path = url.path_and_query.split('?').next().unwrap_or("/");
            let folder = path.rfind('/').map_or("/", |end| &path[..=end]);
            match other {
                other if other.starts_with("//") => format!("{scheme}{other}"),
                other if other.starts_with('/') => format!("{scheme}//{}{other}", url.authority),
                other if other.starts_with('?') => {
                    format!("{scheme}//{}{path}{other}", url.authority)
                }
                other => format!("{scheme}//{}{folder}{other}", url.authority),
            }
        };
        Self::parse(&joined).map(|_| joined)
    }
}

/// A text as one part of a path or a query, whatever is in it: `a/b?` is `a%2Fb%3F`.
pub fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    escape(text, &mut written);
    written
}

/// As [`escaped`], at the end of a text.
pub(super) fn escape(text: &str, into: &mut String) {
    const HEX: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F',
    ];
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            into.push(char::from(byte));
        } else {
            into.push('%');
            into.push(HEX[usize::from(byte >> 4)]);
            into.push(HEX[usize::from(byte & 15)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_stays_one_parameter() {
        let request = crate::http::Request::get("https://x/")
            .query("a b", "1&c=2#é")
            .query("d", "~");
        assert_eq!(request.url, "https://x/?a%20b=1%26c%3D2%23%C3%A9&d=~");
    }

    #[test]
    fn urls_fall_into_their_parts() {
        let parts = |text: &str| {
            Url::parse(text)
                .map(|u| (u.https, u.authority, u.path_and_query))
                .ok()
        };
        assert_eq!(
            parts("https://api.example.org/v1/x?y=1#z"),
            Some((true, "api.example.org".into(), "/v1/x?y=1".into()))
        );
        assert_eq!(
            parts("http://localhost:8080"),
            Some((false, "localhost:8080".into(), "/".into()))
        );
        assert_eq!(
            parts("http://[::1]:80?q"),
            Some((false, "[::1]:80".into(), "/?q".into()))
        );
        for text in [
            "api.example.org",
            "ftp://x/",
            "https:///x",
            "https://user:pw@x/",
            "https://x/a b",
            "https://x/\r\ny",
        ] {
            assert_eq!(parts(text), None, "{text}");
        }
    }

    #[test]
    fn links_are_seen_from_their_page() {
        let join = |other: &str| Url::join("https://x:8/a/b?page=1", other).ok();
        for (other, url) in [
            ("?page=2", "https://x:8/a/b?page=2"),
            ("/c?d", "https://x:8/c?d"),
            ("c", "https://x:8/a/c"),
            ("//y/c", "https://y/c"),
            ("HTTP://y/c", "HTTP://y/c"),
        ] {
            assert_eq!(join(other).as_deref(), Some(url));
        }
        assert_eq!(join("//user:pw@y/"), None);
        assert_eq!(join("a b"), None);
    }

    #[test]
    fn an_error_repeats_nothing_of_the_url() {
        let error = Url::parse("https://user:s3cret@example.org/").unwrap_err();
        assert!(!error.to_string().contains("s3cret"));
    }
}
