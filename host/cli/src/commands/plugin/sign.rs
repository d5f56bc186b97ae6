//! `mindhost plugin keygen` and `mindhost plugin sign`, in the formats of minisign.

use std::{
    fs,
    io::Cursor,
    path::{Path, PathBuf},
};

use super::files::{self, with_suffix};
use crate::commands::say::say;
use anyhow::{Context, bail};
use clap::Args;
use mindhost_base::owner_only;
use mindhost_plugins::{artifacts::SIGNATURE, signatures::key_id};
use mindhost_runtime::package::Package;
use minisign::{KeyPair, PublicKey, SecretKey, SecretKeyBox};

#[derive(Debug, Args)]
pub(crate) struct Keygen {
    /// Where to write the secret key. The public key goes beside it, with the suffix .pub.
    #[arg(long, short, default_value = "plugin.key")]
    output: PathBuf,
    /// A file with a password to encrypt the secret key. Without it, only file permissions protect the key.
    #[arg(long)]
    password_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Sign {
    /// The plugin: a component with its manifest.
    file: PathBuf,
    #[command(flatten)]
    key: Key,
}

/// The options that name a secret key.
#[derive(Debug, Args)]
pub(crate) struct Key {
    /// The secret key, from `mindhost plugin keygen` or `minisign -G`.
    #[arg(long, short, default_value = "plugin.key")]
    key: PathBuf,
    /// A file with the password of the secret key.
    #[arg(long)]
    password_file: Option<PathBuf>,
}

pub(super) fn keygen(keygen: &Keygen) -> anyhow::Result<()> {
    let public = with_suffix(&keygen.output, "pub");
    for path in [&keygen.output, &public] {
        if path.exists() {
            bail!(
                "{} is there already; name another file with --output",
                path.display()
            );
        }
    }
    let password = password(keygen.password_file.as_deref())?;
    let pair = match &password {
        Some(password) => KeyPair::generate_encrypted_keypair(Some(password.clone())),
        None => KeyPair::generate_unencrypted_keypair(),
    }?;
    let secret = pair.sk.to_box(Some("mindhost plugin signing key"))?;
    owner_only::write(&keygen.output, secret.into_string().as_bytes())
        .with_context(|| format!("{}", keygen.output.display()))?;
    fs::write(&public, pair.pk.to_box()?.into_string())
        .with_context(|| format!("{}", public.display()))?;
    say!("secret key  {}", keygen.output.display());
    say!("public key  {}", public.display());
    say!(
        "\nA host trusts it with this setting:\n\n[plugins]\ntrusted_keys = [\"{}\"]",
        pair.pk.to_base64()
    );
    Ok(())
}

pub(super) fn sign(sign: &Sign) -> anyhow::Result<()> {
    // A file that no host accepts is not signed.
    let package = files::package(&sign.file)?;
    sign_package(&sign.key, &package, &sign.file).map(drop)
}

/// Signs a plugin, and writes the signature beside its file.
pub(super) fn sign_package(key: &Key, package: &Package, file: &Path) -> anyhow::Result<String> {
    let manifest = &package.manifest;
    let comment = format!(
        "{} {} sha256:{}",
        manifest.name, manifest.version, package.digest
    );
    let signature = key.sign(&package.bytes, &comment)?;
    let output = write(file, &signature)?;
    say!("{} signed with {}", output.display(), key.id()?);
    Ok(signature)
}

/// Writes a signature beside its file.
pub(super) fn write(file: &Path, signature: &str) -> anyhow::Result<PathBuf> {
    let output = with_suffix(file, SIGNATURE);
    fs::write(&output, signature).with_context(|| format!("{}", output.display()))?;
    Ok(output)
}

impl Key {
    /// The signature of some bytes, with a comment that it covers.
    pub(super) fn sign(&self, bytes: &[u8], comment: &str) -> anyhow::Result<String> {
        let key = self.secret()?;
        let public = PublicKey::from_secret_key(&key)?;
        let bytes = Cursor::new(bytes);
        let signature = minisign::sign(Some(&public), &key, bytes, Some(comment), None)?;
        Ok(signature.into_string())
    }

    /// The public key as text.
    pub(super) fn public(&self) -> anyhow::Result<String> {
        Ok(PublicKey::from_secret_key(&self.secret()?)?.to_base64())
    }

    fn id(&self) -> anyhow::Result<String> {
        Ok(key_id(self.secret()?.keynum()))
    }

    fn secret(&self) -> anyhow::Result<SecretKey> {
        secret_key(&self.key, self.password_file.as_deref())
            .with_context(|| format!("{}", self.key.display()))
    }
}

fn secret_key(path: &Path, password_file: Option<&Path>) -> anyhow::Result<SecretKey> {
    let text = fs::read_to_string(path)?;
    let boxed = SecretKeyBox::from_string(&text)?;
    match password(password_file)? {
        Some(password) => Ok(boxed.into_secret_key(Some(password))?),
        None => boxed.into_unencrypted_secret_key().context(
            "the key cannot be read; if it is encrypted, name the file with its password in --password-file",
        ),
    }
}

fn password(file: Option<&Path>) -> anyhow::Result<Option<String>> {
    let Some(file) = file else {
        return Ok(None);
    };
    let text = fs::read_to_string(file).with_context(|| format!("{}", file.display()))?;
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}
