//! Where the secret keys come from: a file, a setting, or a command.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt, fchown},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use tokio::process::Command;
use zeroize::Zeroizing;

use super::{KeyId, LENGTH, SecretKey};
use mindhost_base::{
    config::{self, Config},
    owner_only,
};

/// How long a command may take.
const COMMAND: Duration = Duration::from_secs(30);

/// Why the keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read or made.
    #[error("the secret key {path}: {source}; check its rights, or set secrets.key_file")]
    File {
        /// The path of the file.
        path: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// `secrets.key_command` did not start, failed, took too long, or printed no text.
    #[error("secrets.key_command failed: {0}; run it by hand to see why")]
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
    /// The store looks as if an earlier version wrote it, although this server has already upgraded it.
    #[error(
        "the store looks as if it was never upgraded, but a store was already upgraded under the secret key {key}: someone \
         with write access to the store may be trying to add keys. If you restored a backup from before the upgrade, check \
         its keys, delete {}, and start again",
        marker.display()
    )]
    AlreadyUpgraded {
        /// Id of the key that the store is sealed with now.
        key: KeyId,
        /// The marker file of the upgrade.
        marker: PathBuf,
    },
    /// The store cannot be asked or changed; says what is the matter.
    #[error(transparent)]
    Store(#[from] mindhost_base::Error),
}

/// Where the keys come from. Each source may hold several: the first is the one to use, the others are older or not in
/// use yet.
#[derive(Clone, Debug)]
pub struct Source {
    origin: Origin,
    /// Where there may be files when the keys are in none.
    data_dir: PathBuf,
}

#[derive(Clone, Debug)]
enum Origin {
    /// A file, which the first start makes.
    File(PathBuf),
    /// The keys in base64, from `secrets.key`.
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
        let origin = match (is_file_set, secrets.key.get(), command.is_empty()) {
            (_, None, true) => Origin::File(config.key_file()),
            (false, Some(_), true) => Origin::Setting(secrets.key.clone()),
            (false, None, false) => Origin::Command(command.clone()),
            _ => return Err(KeyError::Several),
        };
        Ok(Self {
            origin,
            data_dir: config.data_dir.clone(),
        })
    }

    /// A file in its own directory, for tests.
    #[cfg(test)]
    pub fn at(path: &Path) -> Self {
        Self {
            origin: Origin::File(path.to_owned()),
            data_dir: path.parent().unwrap().to_owned(),
        }
    }

    /// The path, if the keys are in a file; else the server cannot make or change them.
    pub fn file(&self) -> Option<&Path> {
        match &self.origin {
            Origin::File(path) => Some(path),
            Origin::Setting(_) | Origin::Command(_) => None,
        }
    }

    pub(super) fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// For messages.
    pub fn shown(&self) -> String {
        match &self.origin {
            Origin::File(path) => path.display().to_string(),
            Origin::Setting(_) => "secrets.key".to_owned(),
            Origin::Command(_) => "secrets.key_command".to_owned(),
        }
    }

    /// The keys that are there; none where the file does not exist.
    ///
    /// # Errors
    /// When the source cannot be read, or holds something else.
    pub async fn read(&self) -> Result<Vec<SecretKey>, KeyError> {
        let text = match &self.origin {
            Origin::File(path) => match fs::read_to_string(path) {
                Ok(text) => Zeroizing::new(text),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                Err(source) => return Err(failed(path, source)),
            },
            Origin::Setting(secret) => Zeroizing::new(secret.get().unwrap_or_default().to_owned()),
            Origin::Command(command) => run(command).await?,
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

    /// The keys of a file or setting, without running a command, for callers that can do without the keys.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn read_file(config: &Config) -> Result<Vec<SecretKey>, KeyError> {
        let source = Self::of(config)?;
        match source.origin {
            Origin::File(_) | Origin::Setting(_) => source.read().await,
            Origin::Command(_) => Ok(Vec::new()),
        }
    }

    /// Makes the file with a first key. When another host made it at the same moment, that one counts.
    pub(super) async fn create(&self) -> Result<Vec<SecretKey>, KeyError> {
        let path = self.file().ok_or_else(|| KeyError::Missing(self.shown()))?;
        let key = SecretKey::generate()?;
        if let Some(parent) = path.parent() {
            owner_only::make_dir(parent).map_err(|error| failed(path, error))?;
        }
        match owner_only::write(path, lines(std::slice::from_ref(&key)).as_bytes()) {
            Ok(()) => Ok(vec![key]),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.read().await,
            Err(error) => Err(failed(path, error)),
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
    // Its errors go to the log of the server; its output is the key.
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

/// Replaces the keys in a file atomically: a reader sees the old or the new ones. The file keeps its owner and its
/// mode, and a link to it stays a link.
///
/// # Errors
/// When it cannot be written, or would get another owner; the file is unchanged then. A file without a key is never
/// written.
pub fn overwrite(path: &Path, keys: &[SecretKey]) -> Result<(), KeyError> {
    if keys.is_empty() {
        return Err(KeyError::Missing(path.display().to_string()));
    }
    let written = || {
        let path = path.canonicalize()?;
        let new = beside(&path, "new");
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        owner_only::write(&new, lines(keys).as_bytes())?;
        let replaced = fs::File::open(&new)
            .and_then(|file| {
                let like = fs::metadata(&path)?;
                give(&file, &like)?;
                // After the owner: to change that takes bits away.
                file.set_permissions(fs::Permissions::from_mode(like.mode() & 0o777))?;
                file.sync_all()
            })
            .and_then(|()| fs::rename(&new, &path));
        if replaced.is_err() {
            // It holds keys, so it must not stay.
            let _ = fs::remove_file(&new);
        }
        replaced?;
        sync_dir(&path)
    };
    written().map_err(|source| failed(path, source))
}

/// Keeps keys that are not in use any more beside the file, for backups of the store that need them. They have the
/// same owner as the file.
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
        give(&file, &fs::metadata(path)?)?;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        file.write_all(lines(keys).as_bytes())?;
        file.sync_all()?;
        sync_dir(&retired)
    };
    written().map_err(|source| failed(&retired, source))?;
    Ok(retired)
}

/// Gives a file the owner and the group of another one.
fn give(file: &fs::File, like: &fs::Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
        fchown(file, Some(like.uid()), Some(like.gid())).map_err(|error| {
            io::Error::other(format!(
                "it must stay with its owner (user {}, group {}), and this user cannot give it to them ({error}): run this as \
                 its owner or as root",
                like.uid(),
                like.gid()
            ))
        })?;
    }
    Ok(())
}

/// A name counts after a crash when the directory that holds it is on the disk.
fn sync_dir(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    fs::File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overwritten_file_keeps_owner_mode_and_link() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("kept.key"), dir.path().join("secrets.key"));
        let keys = [SecretKey::new([1; LENGTH]), SecretKey::new([2; LENGTH])];
        fs::write(&path, lines(&keys).as_bytes()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        if rustix::process::geteuid().is_root() {
            let file = fs::File::open(&path).unwrap();
            fchown(&file, Some(54_321), Some(54_322)).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        }
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let before = fs::metadata(&path).unwrap();
        let retired = retire(&link, &keys[..1]).unwrap();
        overwrite(&link, &keys[1..]).unwrap();

        let after = fs::metadata(&path).unwrap();
        assert!(link.is_symlink());
        assert_ne!(after.ino(), before.ino());
        let owner = |meta: &fs::Metadata| (meta.uid(), meta.gid());
        assert_eq!(owner(&after), owner(&before));
        assert_eq!(after.mode() & 0o777, 0o640);
        assert_eq!(fs::read_to_string(&path).unwrap(), *lines(&keys[1..]));
        let retired = fs::metadata(retired).unwrap();
        assert_eq!(owner(&retired), owner(&before));
        assert_eq!(retired.mode() & 0o777, 0o600);
    }

    #[test]
    fn file_is_never_left_without_a_key() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secrets.key");
        fs::write(&path, lines(&[SecretKey::new([1; LENGTH])]).as_bytes()).unwrap();
        let refused = overwrite(&path, &[]).unwrap_err();
        assert!(matches!(refused, KeyError::Missing(_)), "{refused}");
        let missing = overwrite(&dir.path().join("none"), &[SecretKey::new([1; LENGTH])]);
        missing.unwrap_err();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
