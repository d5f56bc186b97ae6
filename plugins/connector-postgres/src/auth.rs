//! Authentication: SCRAM-SHA-256 (with channel binding over TLS), md5 and the password as it is.

use fallible_iterator::FallibleIterator;
use mindhost_sdk::{Error, ErrorKind, Result};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;

use crate::config::ConnectionData;
use crate::error::malformed;
use crate::wire::Wire;

/// How far the server's authentication has come.
pub(crate) struct Authentication<'a> {
    user: &'a str,
    password: Option<&'a str>,
    /// Whether the server may see it, or its MD5 hash. SCRAM does not show it.
    may_show: bool,
    /// Over TLS: the server's certificate as channel binding, where its hash is known.
    binding: Option<Vec<u8>>,
    scram: Option<ScramSha256>,
    done: bool,
}

impl<'a> Authentication<'a> {
    pub(crate) fn new(data: &'a ConnectionData, encrypted: bool, binding: Option<Vec<u8>>) -> Self {
        Self {
            user: &data.user,
            password: data.password.as_deref(),
            may_show: data.may_show_password(encrypted),
            binding,
            scram: None,
            done: false,
        }
    }

    /// Whether the server has accepted the user.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// Answers one authentication request.
    ///
    /// # Errors
    /// `Auth` when there is no password to give, the method is not known, or the server cannot prove that it
    /// knows the password; `InvalidConfig` when it asks to be shown the password and may not be.
    pub(crate) fn answer(&mut self, request: &Message, wire: &mut Wire) -> Result<()> {
        match request {
            Message::AuthenticationOk => {
                // A server that skips its proof has not shown that it is the one that the password belongs to.
                if self.scram.is_some() {
                    return Err(no_proof());
                }
                self.done = true;
            }
            Message::AuthenticationCleartextPassword => {
                self.send(self.shown_password()?.as_bytes(), wire)?
            }
            Message::AuthenticationMd5Password(body) => {
                let hash = md5_hash(
                    self.user.as_bytes(),
                    self.shown_password()?.as_bytes(),
                    body.salt(),
                );
                self.send(hash.as_bytes(), wire)?;
            }
            Message::AuthenticationSasl(body) => self.begin_scram(body, wire)?,
            Message::AuthenticationSaslContinue(body) => {
                let scram = self.scram.as_mut().ok_or_else(unexpected)?;
                scram
                    .update(body.data())
                    .map_err(|_| malformed("a SCRAM message"))?;
                frontend::sasl_response(scram.message(), &mut wire.output)
                    .map_err(|_| unexpected())?;
                wire.flush()?;
            }
            Message::AuthenticationSaslFinal(body) => {
                let mut scram = self.scram.take().ok_or_else(unexpected)?;
                scram.finish(body.data()).map_err(|_| no_proof())?;
            }
            _ => {
                let message = "the server asks for an authentication method that this connector does not have; it has \
                     scram-sha-256, md5 and password";
                return Err(Error::new(ErrorKind::Auth, message));
            }
        }
        Ok(())
    }

    fn begin_scram(&mut self, body: &AuthenticationSaslBody, wire: &mut Wire) -> Result<()> {
        let offered: Vec<&str> = body
            .mechanisms()
            .collect()
            .map_err(|_| malformed("a list of mechanisms"))?;
        let plus = offered.contains(&SCRAM_SHA_256_PLUS);
        if !plus && !offered.contains(&SCRAM_SHA_256) {
            return Err(Error::new(
                ErrorKind::Auth,
                "the server offers no SASL mechanism but ones not known here",
            ));
        }
        if self.scram.is_some() {
            return Err(unexpected());
        }
        let (binding, mechanism) = match self.binding.take() {
            Some(hash) if plus => (
                ChannelBinding::tls_server_end_point(hash),
                SCRAM_SHA_256_PLUS,
            ),
            // Tells the server that this client would have bound the channel, so that a middleman who removed the
            // mechanism from the list is found out.
            Some(_) => (ChannelBinding::unrequested(), SCRAM_SHA_256),
            None => (ChannelBinding::unsupported(), SCRAM_SHA_256),
        };
        let scram = ScramSha256::new(self.password()?.as_bytes(), binding);
        frontend::sasl_initial_response(mechanism, scram.message(), &mut wire.output)
            .map_err(|_| unexpected())?;
        self.scram = Some(scram);
        wire.flush()
    }

    /// The password for a method by which the server, or who pretends to be it, learns it.
    fn shown_password(&self) -> Result<&'a str> {
        let password = self.password()?;
        if self.may_show {
            return Ok(password);
        }
        let message = "the server asks for the password in clear or as md5, and nothing verifies that it is the right server; \
             set `sslmode` to `verify-full` (or give `sslrootcert`), let the server use scram-sha-256, or set \
             `allow_plain_password` to true if you trust the network";
        Err(Error::invalid_config(message).connection_usable(false))
    }

    fn password(&self) -> Result<&'a str> {
        self.password
            .filter(|password| !password.is_empty())
            .ok_or_else(|| {
                let message =
                    "the server asks for a password, and connection_data has none; set `password`";
                Error::new(ErrorKind::Auth, message)
            })
    }

    fn send(&self, password: &[u8], wire: &mut Wire) -> Result<()> {
        frontend::password_message(password, &mut wire.output)
            .map_err(|_| Error::invalid_config("`password` in connection_data holds a NUL"))?;
        wire.flush()
    }
}

fn no_proof() -> Error {
    let message = "the server could not prove that it knows the password; it may not be the server it claims to be";
    Error::new(ErrorKind::Auth, message)
}

fn unexpected() -> Error {
    malformed("an authentication message")
}
