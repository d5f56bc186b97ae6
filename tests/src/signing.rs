//! Keys that sign plugins, made and used by the command line as their owners would.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use tempfile::TempDir;

use crate::{Version, build};

/// A key in a folder of its own.
#[derive(Debug)]
pub struct SigningKey {
    folder: TempDir,
    public: String,
}

impl SigningKey {
    /// A new one.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn generate() -> Self {
        let folder = TempDir::new().expect("a folder");
        let made = run(&["keygen", "--output"], &folder.path().join("key"));
        let public = made.split('"').nth(1).expect("a public key").to_owned();
        Self { folder, public }
    }

    /// The public key, as a host trusts it.
    pub fn public(&self) -> &str {
        &self.public
    }

    /// The signature of a version, as the header `x-mindhost-signature` has it.
    ///
    /// # Panics
    /// When it cannot be signed.
    pub fn sign(&self, version: &Version) -> String {
        let file = version.write(self.folder.path());
        let key = self.folder.path().join("key");
        run(&["sign", "--key", key.to_str().expect("a path")], &file);
        let signature = PathBuf::from(format!("{}.minisig", file.display()));
        BASE64_STANDARD.encode(std::fs::read(signature).expect("a signature"))
    }
}

fn run(args: &[&str], path: &Path) -> String {
    let mut command = Command::new(build::host_binary());
    let output = command.arg("plugin").args(args).arg(path).output();
    let output = output.expect("the command line");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
