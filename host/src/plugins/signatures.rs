//! Signatures of plugins, in the format of minisign: who signs, and whom this host trusts.

use std::io::Cursor;

use minisign::{PublicKey, PublicKeyBox, SignatureBox};

use super::package::{self, Refusal};

/// Whose plugins this host runs.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    required: bool,
    keys: Vec<PublicKey>,
}

/// What a signature says about its artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signer {
    /// There is no signature.
    Nobody,
    /// Signed with a key that this host does not know, so nothing of it could be checked. The id of the key.
    Unknown(String),
    /// Signed with a trusted key, and the signature fits. The id of the key.
    Trusted(String),
}

impl Trust {
    /// Trusts those keys, in the text form of minisign: the line without the comment, or both. With `required` nothing
    /// runs that none of them signed.
    ///
    /// # Errors
    /// Which key cannot be read.
    pub fn new(required: bool, keys: &[String]) -> Result<Self, String> {
        let parse = |text: &String| {
            let text = text.trim();
            let boxed = || PublicKeyBox::from_string(text).ok()?.into_public_key().ok();
            PublicKey::from_base64(text).ok().or_else(boxed).ok_or_else(|| {
                format!("plugins.trusted_keys: `{text}` is no public key of minisign; `mindhost plugin keygen` makes a pair")
            })
        };
        let keys: Vec<_> = keys.iter().map(parse).collect::<Result<_, _>>()?;
        match required && keys.is_empty() {
            false => Ok(Self { required, keys }),
            true => Err(
                "plugins.require_signature is set and plugins.trusted_keys is empty, so no plugin could ever run; name the keys that you trust"
                    .to_owned(),
            ),
        }
    }

    /// Judges a file with its signature.
    ///
    /// # Errors
    /// A signature that does not fit, and, where one is required, none of a trusted key.
    pub fn judge(&self, bytes: &[u8], signature: Option<&str>) -> Result<Signer, Refusal> {
        let signer = self.signer(bytes, signature)?;
        match (&signer, self.required) {
            (Signer::Trusted(_), _) | (_, false) => Ok(signer),
            (Signer::Nobody, true) => Err(Refusal::new(
                "is not signed, and this host runs signed plugins only (plugins.require_signature); sign it with `mindhost plugin sign` and a key of plugins.trusted_keys",
            )),
            (Signer::Unknown(key), true) => Err(Refusal::new(format!(
                "is signed with the key {key}, which is not among plugins.trusted_keys"
            ))),
        }
    }

    /// Who signed a file, whether or not anybody has to.
    ///
    /// # Errors
    /// A signature that does not fit.
    pub fn signer(&self, bytes: &[u8], signature: Option<&str>) -> Result<Signer, Refusal> {
        let Some(text) = signature else {
            return Ok(Signer::Nobody);
        };
        let signature = parse(text)?;
        let id = key_id(signature.keynum());
        // An id is short, and somebody may have made a key with that of another.
        let by = |key: &&PublicKey| key.keynum() == signature.keynum();
        let keys: Vec<_> = self.keys.iter().filter(by).collect();
        let fits = |key: &&PublicKey| {
            minisign::verify(key, &signature, Cursor::new(bytes), true, false, false).is_ok()
        };
        match keys.is_empty() {
            true => Ok(Signer::Unknown(id)),
            false if keys.iter().any(fits) => Ok(Signer::Trusted(id)),
            false => Err(Refusal::new(format!(
                "does not fit its signature by the key {id}: the file or the signature was changed"
            ))),
        }
    }
}

/// Compares a file with what its signature says of itself, where nobody knows the key: that it is one, and that the digest
/// in its comment, which `mindhost plugin sign` writes there, is that of the file.
///
/// # Errors
/// What does not fit.
pub fn claims(bytes: &[u8], signature: &str) -> Result<(), Refusal> {
    let signature = parse(signature)?;
    let comment = signature.trusted_comment().unwrap_or_default();
    let mut words = comment.split_whitespace();
    let claimed = words.find_map(|word| word.strip_prefix("sha256:"));
    match claimed.is_none_or(|claimed| claimed == package::digest(bytes)) {
        true => Ok(()),
        false => Err(Refusal::new(format!(
            "does not fit its signature by the key {}, which is that of another file; sign it again with `mindhost plugin sign`",
            key_id(signature.keynum())
        ))),
    }
}

fn parse(signature: &str) -> Result<SignatureBox, Refusal> {
    SignatureBox::from_string(signature)
        .map_err(|_| Refusal::new("has a signature that is not in the format of minisign"))
}

/// The id of a key, as minisign prints it.
pub fn key_id(number: &[u8]) -> String {
    number.iter().rev().fold(String::new(), |mut text, byte| {
        use std::fmt::Write as _;
        let _ = write!(text, "{byte:02X}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use minisign::KeyPair;

    fn signed(by: &KeyPair, bytes: &[u8]) -> String {
        minisign::sign(Some(&by.pk), &by.sk, Cursor::new(bytes), None, None)
            .unwrap()
            .into_string()
    }

    fn trust(required: bool, keys: &[&KeyPair]) -> Trust {
        let keys: Vec<String> = keys.iter().map(|key| key.pk.to_base64()).collect();
        Trust::new(required, &keys).unwrap()
    }

    #[test]
    fn a_trusted_key_is_named_and_a_changed_file_is_refused() {
        let ours = KeyPair::generate_unencrypted_keypair().unwrap();
        let trust = trust(true, &[&ours]);
        let signature = signed(&ours, b"plugin");
        let signer = trust.judge(b"plugin", Some(&signature)).unwrap();
        assert_eq!(signer, Signer::Trusted(key_id(ours.pk.keynum())));
        let refusal = trust.judge(b"plugim", Some(&signature)).unwrap_err();
        assert!(refusal.to_string().contains("was changed"), "{refusal}");
    }

    #[test]
    fn where_one_is_required_none_and_a_strangers_are_refused() {
        let ours = KeyPair::generate_unencrypted_keypair().unwrap();
        let stranger = KeyPair::generate_unencrypted_keypair().unwrap();
        let signature = signed(&stranger, b"plugin");
        let required = trust(true, &[&ours]);
        assert!(required.judge(b"plugin", None).is_err());
        assert!(required.judge(b"plugin", Some(&signature)).is_err());
        let free = trust(false, &[&ours]);
        assert_eq!(free.judge(b"plugin", None).unwrap(), Signer::Nobody);
        let unknown = Signer::Unknown(key_id(stranger.pk.keynum()));
        assert_eq!(free.judge(b"plugin", Some(&signature)).unwrap(), unknown);
        assert!(free.judge(b"plugin", Some("no signature")).is_err());
    }

    #[test]
    fn a_signature_of_another_file_is_told_from_what_it_says_of_itself() {
        let key = KeyPair::generate_unencrypted_keypair().unwrap();
        let sign = |comment: Option<&str>| {
            minisign::sign(
                Some(&key.pk),
                &key.sk,
                Cursor::new(b"plugin"),
                comment,
                None,
            )
            .unwrap()
            .into_string()
        };
        let ours = sign(Some(&format!(
            "x 1.0.0 sha256:{}",
            package::digest(b"plugin")
        )));
        assert!(claims(b"plugin", &ours).is_ok());
        let refusal = claims(b"plugim", &ours).unwrap_err();
        assert!(refusal.to_string().contains("another file"), "{refusal}");
        // Another tool's says nothing that could be compared.
        assert!(claims(b"plugim", &sign(None)).is_ok());
        assert!(claims(b"plugin", "no signature").is_err());
    }

    #[test]
    fn a_policy_that_nothing_could_meet_is_refused() {
        assert!(Trust::new(true, &[]).is_err());
        assert!(Trust::new(false, &["RWQ".to_owned()]).is_err());
    }
}
