//! Where the secret keys come from: a file, a setting, or a command.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use tokio::process::Command;
use zeroize::Zeroizing;

use super::{KeyId, LENGTH, SecretKey};
use crate::{
    config::{self, Config},
    private,
};

/// How long a command may take.
const COMMAND: Duration = Duration::from_secs(30);

/// Why the keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read or made.
    #[error("the secret key {path}: {source}; check its rights, or set secrets.key_file")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The command failed.
    #[error(
        "secrets.key_command, which gives the secret key, failed: {0}; run it by hand to see why"
    )]
    Command(String),
    /// The source holds something else.
    #[error(
        "{0} is not a secret key: it must hold 32 bytes as base64, or several keys, each on a line of its own"
    )]
    Malformed(String),
    /// More than one source.
    #[error(
        "secrets.key_file, secrets.key and secrets.key_command are ways to give the same thing; set one of them"
    )]
    Several,
    /// There is none, and none may be made.
    #[error("{0} holds no secret key; `mindhost secrets generate` prints a new one")]
    Missing(String),
    /// The store was written with another key.
    #[error(
        "the secret key of {place} is not the one this store was written with{}: put the right one back in its place, \
         or name it in secrets.key_file. Without it the stored passwords cannot be read, and no key is valid",
        wanted.map(|id| format!(" (its id is {id})")).unwrap_or_default()
    )]
    Mismatch {
        /// Where the keys are from.
        place: String,
        /// The one that the store needs, where it says so.
        wanted: Option<KeyId>,
    },
    /// The store cannot be asked or changed; says what is the matter.
    #[error(transparent)]
    Store(#[from] crate::Error),
}

/// Where the keys come from. Each source may hold several: the first is the one to use, the others are older or not in use
/// yet.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file, which the first start makes.
    File(PathBuf),
    /// The setting itself.
    Setting(config::Secret),
    /// A program and its arguments; what it prints.
    Command(Vec<String>),
}

impl Source {
    /// As configured.
    ///
    /// # Errors
    /// When there is more than one.
    pub fn of(config: &Config) -> Result<Self, KeyError> {
        let secrets = &config.secrets;
        let command = &secrets.key_command;
        let is_file_set = !secrets.key_file.as_os_str().is_empty();
        match (is_file_set, secrets.key.get(), command.is_empty()) {
            (_, None, true) => Ok(Self::File(config.key_file())),
            (false, Some(_), true) => Ok(Self::Setting(secrets.key.clone())),
            (false, None, false) => Ok(Self::Command(command.clone())),
            _ => Err(KeyError::Several),
        }
    }

    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Setting(_) | Self::Command(_) => None,
        }
    }

    /// For messages.
    pub fn shown(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Setting(_) => "secrets.key".to_owned(),
            Self::Command(_) => "secrets.key_command".to_owned(),
        }
    }

    /// The keys that are there; none where the file does not exist.
    ///
    /// # Errors
    /// When the source cannot be read, or holds something else.
    pub async fn read(&self) -> Result<Vec<SecretKey>, KeyError> {
        let text = match self {
            Self::File(path) => match fs::read_to_string(path) {
                Ok(text) => Zeroizing::new(text),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                Err(source) => return Err(failed(path, source)),
            },
            Self::Setting(secret) => Zeroizing::new(secret.get().unwrap_or_default().to_owned()),
            Self::Command(command) => run(command).await?,
        };
        let keys = text
            .split(|char: char| char.is_whitespace() || char == ',')
            .filter(|part| !part.is_empty())
            .map(|part| parse(part).ok_or_else(|| KeyError::Malformed(self.shown())))
            .collect::<Result<Vec<_>, _>>()?;
        match keys.is_empty() {
            true => Err(KeyError::Missing(self.shown())),
            false => Ok(keys),
        }
    }

    /// The keys of a file without asking any program, for what goes without them too.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn read_file(config: &Config) -> Result<Vec<SecretKey>, KeyError> {
        match Self::of(config)? {
            source @ (Self::File(_) | Self::Setting(_)) => source.read().await,
            Self::Command(_) => Ok(Vec::new()),
        }
    }
}

fn parse(text: &str) -> Option<SecretKey> {
    let bytes = STANDARD.decode(text).map(Zeroizing::new).ok()?;
    let bytes = <[u8; LENGTH]>::try_from(bytes.as_slice()).ok()?;
    Some(SecretKey::new(bytes))
}

async fn run(command: &[String]) -> Result<Zeroizing<String>, KeyError> {
    let failed = |why: String| KeyError::Command(why);
    let (program, arguments) = command
        .split_first()
        .ok_or_else(|| failed("it is empty".to_owned()))?;
    // What it complains of goes where the server's own complaints go; what it prints is the key.
    let running = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(COMMAND, running)
        .await
        .map_err(|_| failed(format!("it did not end within {COMMAND:?}")))?
        .map_err(|error| failed(error.to_string()))?;
    let text = Zeroizing::new(output.stdout);
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    let text = std::str::from_utf8(&text).map_err(|_| failed("it printed no text".to_owned()))?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// Makes the file with a first key. When another host made it at the same moment, that one counts.
pub(super) async fn create(path: &Path) -> Result<Vec<SecretKey>, KeyError> {
    let key = SecretKey::generate()?;
    if let Some(parent) = path.parent() {
        private::make_dir(parent).map_err(|error| failed(path, error))?;
    }
    match private::write(path, lines(std::slice::from_ref(&key)).as_bytes()) {
        Ok(()) => Ok(vec![key]),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Source::File(path.to_owned()).read().await
        }
        Err(error) => Err(failed(path, error)),
    }
}

/// Writes other keys into a file, at once: a reader sees the old or the new ones.
///
/// # Errors
/// When it cannot be written.
pub fn overwrite(path: &Path, keys: &[SecretKey]) -> Result<(), KeyError> {
    let beside = beside(path, "new");
    let written = || {
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        private::write(&beside, lines(keys).as_bytes())?;
        fs::rename(&beside, path)
    };
    written().map_err(|source| failed(path, source))
}

/// Keeps keys that are not in use any more beside the file, for backups of the store that need them.
///
/// # Errors
/// When they cannot be written.
pub fn retire(path: &Path, keys: &[SecretKey]) -> Result<PathBuf, KeyError> {
    let retired = beside(path, "retired");
    let written = || {
        use io::Write as _;
        use std::os::unix::fs::OpenOptionsExt as _;
        let mut options = fs::OpenOptions::new();
        let mut file = options
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&retired)?;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        file.write_all(lines(keys).as_bytes())?;
        file.sync_all()
    };
    written().map_err(|source| failed(&retired, source))?;
    Ok(retired)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}

fn lines(keys: &[SecretKey]) -> Zeroizing<String> {
    let mut lines = Zeroizing::new(String::new());
    for key in keys {
        lines.push_str(&key.text());
        lines.push('\n');
    }
    lines
}

fn failed(path: &Path, source: io::Error) -> KeyError {
    KeyError::File {
        path: path.display().to_string(),
        source,
    }
}
