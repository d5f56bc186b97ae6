//! What proves to the server who connects, and shows the password to nobody who should not have it.

use ed25519_dalek::VerifyingKey;
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use mindhost_sdk::{Error, ErrorKind, Result};
use rsa::pkcs8::DecodePublicKey;
use rsa::{Oaep, RsaPublicKey};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use crate::config::ConnectionData;
use crate::error::malformed;

/// The nonce of the methods that scramble the password with one. A zero may follow it.
const NONCE: usize = 20;
/// What the server says after a scrambled password of `caching_sha2_password`.
const FAST_OK: &[u8] = &[3];
const FULL: &[u8] = &[4];

/// The ways that are known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Native,
    CachingSha2,
    Sha256,
    Ed25519,
    Clear,
}

/// The authentication of one session, packet by packet.
pub(crate) struct Authentication<'a> {
    data: &'a ConnectionData,
    encrypted: bool,
    method: Method,
    nonce: Vec<u8>,
    /// The server was asked for its key, and its next packet is that.
    wants_key: bool,
}

impl<'a> Authentication<'a> {
    /// For the method that the server names with its nonce.
    ///
    /// # Errors
    /// `Auth` for a method that is not known here.
    pub(crate) fn new(
        data: &'a ConnectionData,
        encrypted: bool,
        method: &[u8],
        nonce: &[u8],
    ) -> Result<Self> {
        let method = match method {
            // Servers before the naming of methods mean this one.
            b"mysql_native_password" | b"" => Method::Native,
            b"caching_sha2_password" => Method::CachingSha2,
            b"sha256_password" => Method::Sha256,
            b"client_ed25519" => Method::Ed25519,
            b"mysql_clear_password" => Method::Clear,
            other => return Err(unknown(other)),
        };
        Ok(Self {
            data,
            encrypted,
            method,
            nonce: nonce.to_vec(),
            wants_key: false,
        })
    }

    /// The name of the method.
    pub(crate) fn name(&self) -> &'static str {
        match self.method {
            Method::Native => "mysql_native_password",
            Method::CachingSha2 => "caching_sha2_password",
            Method::Sha256 => "sha256_password",
            Method::Ed25519 => "client_ed25519",
            Method::Clear => "mysql_clear_password",
        }
    }

    /// What is sent first.
    ///
    /// # Errors
    /// `Auth` when that would show the password to a server that may be another; `Upstream` for a malformed nonce.
    pub(crate) fn first(&mut self) -> Result<Vec<u8>> {
        let password = self.data.password().as_bytes();
        match self.method {
            Method::Ed25519 => ed25519(password, &self.nonce),
            // An empty password is an empty answer, in any method with a nonce.
            _ if password.is_empty() && self.method != Method::Clear => Ok(Vec::new()),
            Method::Native => Ok(native(password, self.nonce()?)),
            Method::CachingSha2 => Ok(caching_sha2(password, self.nonce()?)),
            Method::Sha256 => self.full(1),
            Method::Clear => self.clear(),
        }
    }

    /// Answers a further packet of the method; nothing where there is nothing to say.
    ///
    /// # Errors
    /// As [`Authentication::first`].
    pub(crate) fn answer(&mut self, said: &[u8]) -> Result<Option<Vec<u8>>> {
        if std::mem::take(&mut self.wants_key) {
            let key = std::str::from_utf8(said).map_err(|_| malformed("a public key"))?;
            return self.encrypt(key, malformed("a public key")).map(Some);
        }
        match (self.method, said) {
            (Method::CachingSha2, FAST_OK) => Ok(None),
            (Method::CachingSha2, FULL) => self.full(2).map(Some),
            _ => Err(malformed("a step of the authentication")),
        }
    }

    /// The password itself: through TLS in clear, else encrypted for the server's key. `ask` asks for that key.
    fn full(&mut self, ask: u8) -> Result<Vec<u8>> {
        if self.encrypted {
            return self.clear();
        }
        if let Some(key) = &self.data.server_public_key {
            let message = "`server_public_key` in connection_data is not a PEM public key";
            return self.encrypt(key, Error::invalid_config(message));
        }
        if !self.data.may_show_password(false) {
            return Err(self.hidden());
        }
        self.wants_key = true;
        Ok(vec![ask])
    }

    fn clear(&self) -> Result<Vec<u8>> {
        if !self.data.may_show_password(self.encrypted) {
            return Err(self.hidden());
        }
        Ok([self.data.password().as_bytes(), &[0]].concat())
    }

    fn encrypt(&self, pem: &str, wrong: Error) -> Result<Vec<u8>> {
        let Ok(key) = RsaPublicKey::from_public_key_pem(pem.trim()) else {
            return Err(wrong);
        };
        let nonce = self.nonce()?;
        let mut password = [self.data.password().as_bytes(), &[0]].concat();
        for (byte, nonce) in password.iter_mut().zip(nonce.iter().cycle()) {
            *byte ^= nonce;
        }
        key.encrypt(&mut rsa::rand_core::OsRng, Oaep::new::<Sha1>(), &password)
            .map_err(|_| {
                Error::new(
                    ErrorKind::Auth,
                    "the password is too long for the server's key",
                )
            })
    }

    fn nonce(&self) -> Result<&[u8; NONCE]> {
        self.nonce
            .first_chunk()
            .ok_or_else(|| malformed("a nonce of the authentication"))
    }

    fn hidden(&self) -> Error {
        let message = format!(
            "the server asks for the password itself ({}), and nothing verifies which server it is: use sslmode \
             verify-full or verify-ca, or `sslrootcert`; without TLS give `server_public_key`; or set \
             `allow_plain_password`",
            self.name()
        );
        Error::new(ErrorKind::Auth, message).connection_usable(false)
    }
}

fn unknown(method: &[u8]) -> Error {
    let name: String = String::from_utf8_lossy(method).chars().take(64).collect();
    let message = format!(
        "the server wants the authentication method `{name}`, which this connector does not know; give the user \
         mysql_native_password, caching_sha2_password or ed25519"
    );
    Error::new(ErrorKind::Auth, message).connection_usable(false)
}

/// `SHA1(password) XOR SHA1(nonce + SHA1(SHA1(password)))`
fn native(password: &[u8], nonce: &[u8; NONCE]) -> Vec<u8> {
    let once = Sha1::digest(password);
    let mask = Sha1::new()
        .chain_update(nonce)
        .chain_update(Sha1::digest(once))
        .finalize();
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// `SHA256(password) XOR SHA256(SHA256(SHA256(password)) + nonce)`
fn caching_sha2(password: &[u8], nonce: &[u8; NONCE]) -> Vec<u8> {
    let once = Sha256::digest(password);
    let mask = Sha256::new()
        .chain_update(Sha256::digest(once))
        .chain_update(nonce)
        .finalize();
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// The nonce, signed with the key that the password is the seed of.
fn ed25519(password: &[u8], nonce: &[u8]) -> Result<Vec<u8>> {
    let nonce: &[u8; 32] = nonce
        .first_chunk()
        .ok_or_else(|| malformed("a nonce of the authentication"))?;
    let hash: [u8; 64] = Sha512::digest(password).into();
    let key = ExpandedSecretKey::from_bytes(&hash);
    let public = VerifyingKey::from(&key);
    Ok(raw_sign::<Sha512>(&key, nonce, &public).to_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use mindhost_sdk::Config;

    use super::*;

    fn data(extra: &str) -> ConnectionData {
        let json = format!(
            r#"{{"host": "db", "user": "u", "password": "hunter2", "sslmode": "disable"{extra}}}"#
        );
        ConnectionData::parse(&Config::from_json(json)).unwrap()
    }

    #[test]
    fn a_full_exchange_needs_a_server_that_is_known() {
        let nonce = [7; 21];
        for (extra, encrypted, shown) in [
            ("", false, false),
            ("", true, false),
            (r#", "sslrootcert": "x""#, true, true),
            (r#", "allow_plain_password": true"#, true, true),
        ] {
            let data = data(extra);
            let method = b"caching_sha2_password";
            let mut method = Authentication::new(&data, encrypted, method, &nonce).unwrap();
            assert_eq!(method.first().unwrap().len(), 32);
            assert_eq!(method.answer(&[3]).unwrap(), None);
            match method.answer(&[4]) {
                Ok(sent) => assert!(shown && sent.unwrap() == b"hunter2\0"),
                Err(error) => {
                    assert!(!shown && error.kind() == ErrorKind::Auth);
                    assert!(!error.message().contains("hunter2"));
                }
            }
        }
    }

    #[test]
    fn a_key_that_the_server_sends_is_used_where_the_password_may_be_shown() {
        let data = data(r#", "allow_plain_password": true"#);
        let mut method =
            Authentication::new(&data, false, b"caching_sha2_password", &[7; 20]).unwrap();
        assert_eq!(method.answer(&[4]).unwrap().unwrap(), [2]);
        assert_eq!(
            method.answer(b"no key").unwrap_err().kind(),
            ErrorKind::Upstream
        );
    }

    #[test]
    fn a_server_cannot_ask_for_the_password_in_clear() {
        let data = data("");
        let mut method = Authentication::new(&data, false, b"mysql_clear_password", b"").unwrap();
        assert!(method.first().is_err());
        assert!(Authentication::new(&data, true, b"dialog", b"").is_err());
        let mut method = Authentication::new(&data, true, b"mysql_native_password", b"").unwrap();
        assert_eq!(method.first().unwrap_err().kind(), ErrorKind::Upstream);
    }
}
