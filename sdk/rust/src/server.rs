//! Fields of connection data that say where a database server is. They take what people write: `5432` and `"5432"`, one
//! name and several.

use std::time::Duration;

use serde::Deserialize;

use crate::error::{Error, Result};

/// The longest time that connecting may take.
const MAX_CONNECT_SECONDS: u64 = 300;

/// A TCP port, as a number or as digits. An empty text stands for the usual port of the engine, as no field does.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a port number")]
pub enum Port {
    /// `5432`
    Number(u16),
    /// `"5432"`
    Digits(String),
}

impl Default for Port {
    fn default() -> Self {
        Self::Digits(String::new())
    }
}

impl Port {
    /// The port; `usual` where none is given.
    ///
    /// # Errors
    /// `InvalidConfig` for 0, and for a text that is no port.
    pub fn or(&self, usual: u16) -> Result<u16> {
        let port = match self {
            Self::Number(port) => *port,
            Self::Digits(digits) if digits.is_empty() => usual,
            Self::Digits(digits) => digits.trim().parse().unwrap_or(0),
        };
        match port {
            0 => Err(Error::invalid_config(
                "`port` in connection_data has a wrong value: expected a number from 1 to 65535",
            )),
            port => Ok(port),
        }
    }
}

/// Names of schemas or databases: one text with commas between them, or a list.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(untagged, expecting = "expected a name or a list of names")]
pub enum Names {
    /// No name, which often means all.
    #[default]
    None,
    /// `"shop, hr"`
    Text(String),
    /// `["shop", "hr"]`
    List(Vec<String>),
}

impl Names {
    /// Each name, without the blanks around it.
    pub fn list(&self) -> Vec<&str> {
        let names: Vec<&str> = match self {
            Self::None => Vec::new(),
            Self::Text(text) => text.split(',').collect(),
            Self::List(list) => list.iter().map(String::as_str).collect(),
        };
        let names = names.into_iter().map(str::trim);
        names.filter(|name| !name.is_empty()).collect()
    }
}

/// How long connecting may take: the `seconds` of the connection data up to five minutes, or the `usual` ones. 0 means
/// the usual ones too, because every wait has an end.
pub fn connect_timeout(seconds: Option<u64>, usual: Duration) -> Duration {
    match seconds.unwrap_or(0) {
        0 => usual,
        seconds => Duration::from_secs(seconds.min(MAX_CONNECT_SECONDS)),
    }
}

/// Refuses a text that no protocol can carry: an empty one, and one with a NUL, which ends a text there.
///
/// # Errors
/// `InvalidConfig`, which has the `field` and not the text.
pub fn check_text(field: &str, text: &str) -> Result<()> {
    match text.is_empty() || text.contains('\0') {
        true => Err(Error::invalid_config(format!(
            "`{field}` in connection_data is empty or holds a NUL"
        ))),
        false => Ok(()),
    }
}

/// Refuses a password with a NUL. An empty one and none are as good as any.
///
/// # Errors
/// `InvalidConfig`, which does not show it.
pub fn check_password(password: Option<&str>) -> Result<()> {
    match password.is_some_and(|text| text.contains('\0')) {
        true => Err(Error::invalid_config(
            "`password` in connection_data holds a NUL",
        )),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_numbers_or_digits() {
        let port = |json: &str| serde_json::from_str::<Port>(json).unwrap().or(5432);
        for (json, expected) in [
            ("15432", Some(15_432)),
            (r#""15432""#, Some(15_432)),
            (r#"" 15432 ""#, Some(15_432)),
            (r#""""#, Some(5432)),
            ("0", None),
            (r#""0""#, None),
            (r#""99999""#, None),
            (r#""x""#, None),
        ] {
            assert_eq!(port(json).ok(), expected, "{json}");
        }
        assert_eq!(Port::default().or(5432).ok(), Some(5432));
        for json in ["99999", "-1", "[1]", "null", "1.5"] {
            assert!(serde_json::from_str::<Port>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn names_are_a_list_or_separated_by_commas() {
        for (json, expected) in [
            ("null", &[][..]),
            (r#""""#, &[]),
            (r#""shop""#, &["shop"]),
            (r#""shop, hr,""#, &["shop", "hr"]),
            (r#"["shop", " hr "]"#, &["shop", "hr"]),
            ("[]", &[]),
        ] {
            let names: Names = serde_json::from_str(json).unwrap();
            assert_eq!(names.list(), expected, "{json}");
        }
    }

    #[test]
    fn nothing_waits_for_ever() {
        let usual = Duration::from_secs(10);
        for (seconds, expected) in [(None, 10), (Some(0), 10), (Some(3), 3), (Some(900), 300)] {
            assert_eq!(
                connect_timeout(seconds, usual),
                Duration::from_secs(expected)
            );
        }
    }

    #[test]
    fn texts_that_no_protocol_carries_are_refused_and_not_shown() {
        assert!(check_text("user", "ann").is_ok());
        for text in ["", "se\0cret"] {
            let error = check_text("user", text).unwrap_err();
            assert_eq!(
                error.message(),
                "`user` in connection_data is empty or holds a NUL"
            );
        }
        assert!(check_password(None).is_ok() && check_password(Some("")).is_ok());
        let error = check_password(Some("se\0cret")).unwrap_err();
        assert_eq!(error.message(), "`password` in connection_data holds a NUL");
    }
}
