//! Opens a datasource's file below the directories of its workspace.

use std::{
    fs::File,
    io,
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, open, openat, statat},
    io::Errno,
};

use super::host_errors::misconfigured;
use mindhost_base::error::{Error, Result};
use mindhost_plugin_api::manifest::FileKind;

/// A directory that was opened step by step from a root, and the requested name in it.
pub struct FileLocation {
    /// The directory to mount in the guest.
    pub dir: File,
    /// The file in it; none if the directory was requested.
    pub name: Option<String>,
    /// Tells later whether the file was replaced; `None` for a directory.
    pub identity: Option<Identity>,
}

/// Device and inode, which change when a file is replaced.
pub type Identity = (u64, u64);

/// The identity of the file with this name; none if there is none.
pub fn identity(dir: &File, name: &str) -> Option<Identity> {
    let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

/// Whether a directory is on a disk or in memory of this machine. A file server, which may hang, is none of these, nor
/// is what a program serves (FUSE).
#[cfg(target_os = "linux")]
pub fn is_local(dir: &File) -> bool {
    /// `linux/magic.h`: ext2 to ext4, XFS, Btrfs, F2FS, tmpfs, overlayfs, ZFS.
    const LOCAL: [u32; 7] = [
        0xEF53,
        0x5846_5342,
        0x9123_683E,
        0xF2F5_2010,
        0x0102_1994,
        0x794C_7630,
        0x2FC1_2FC1,
    ];
    let kind = rustix::fs::fstatfs(dir).map(|stat| stat.f_type as u32);
    kind.is_ok_and(|kind| LOCAL.contains(&kind))
}

/// Whether a directory is on this machine; not known here.
#[cfg(not(target_os = "linux"))]
pub fn is_local(_: &File) -> bool {
    false
}

/// Opens a regular file in a directory for reading. Follows no link, and does not block on a pipe or a device.
pub fn open_regular(dir: &File, name: &str) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::from(openat(dir, name, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(Errno::PERM.into()),
    }
}

/// Opens `path` below the first root that has it. Follows no link below a root, so nothing in a root leads out of it.
pub fn locate(roots: &[PathBuf], path: &str, kind: FileKind) -> Result<FileLocation> {
    let mut missing = None;
    for root in roots {
        let Some(steps) = steps_below(root, path)? else {
            continue;
        };
        match descend(root, &steps, kind) {
            Ok(located) => return Ok(located),
            Err(Errno::NOENT) => missing = Some(()),
            Err(errno) => return Err(refused(path, errno)),
        }
    }
    let message = match missing {
        Some(()) => format!(
            "there is no file `{path}`; put it into the workspace's directory `files/<workspace>/` below the data directory, or into a directory that an operator granted"
        ),
        None => format!(
            "`{path}` is not below a directory that this workspace may use; give a path relative to its files directory"
        ),
    };
    Err(misconfigured(message))
}

/// The components of a path relative to a root. An absolute path belongs to the root above it.
fn steps_below(root: &Path, path: &str) -> Result<Option<Vec<String>>> {
    let path = Path::new(path);
    let relative = match path.is_absolute() {
        true => match path.strip_prefix(root) {
            Ok(relative) => relative,
            Err(_) => return Ok(None),
        },
        false => path,
    };
    let mut steps = Vec::new();
    for component in relative.components() {
        match component {
            Component::Normal(name) => steps.push(name.to_string_lossy().into_owned()),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(misconfigured(
                    "a path may not contain `..`; name the file from its root on",
                ));
            }
        }
    }
    Ok(Some(steps))
}

fn descend(root: &Path, steps: &[String], kind: FileKind) -> Result<FileLocation, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
    // The root may be a link, because the operator chose it.
    let mut dir = open(root, flags, Mode::empty())?;
    let (parents, last) = match (kind, steps.split_last()) {
        (FileKind::File, Some((last, parents))) => (parents, Some(last)),
        (FileKind::File, None) => return Err(Errno::ISDIR),
        (FileKind::Directory, _) => (steps, None),
    };
    for step in parents {
        dir = openat(&dir, step.as_str(), flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    if let Some(name) = last {
        let stat = statat(&dir, name.as_str(), AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Symlink => return Err(Errno::LOOP),
            FileType::Directory => return Err(Errno::ISDIR),
            _ => return Err(Errno::INVAL),
        }
    }
    let dir = File::from(dir);
    Ok(FileLocation {
        identity: last.and_then(|name| identity(&dir, name)),
        name: last.cloned(),
        dir,
    })
}

fn refused(path: &str, errno: Errno) -> Error {
    if Error::is_out_of_files(&errno.into()) {
        return Error::out_of_files();
    }
    let why = match errno {
        // A directory step that is a link fails as `not a directory` with O_NOFOLLOW | O_DIRECTORY.
        Errno::LOOP => {
            "is or contains a symbolic link, which is not followed; name the file itself"
        }
        Errno::NOTDIR => {
            "goes through something that is not a directory, or through a symbolic link, which is not followed"
        }
        Errno::ISDIR => "is a directory; name a file",
        Errno::INVAL => "is not a regular file",
        Errno::ACCESS | Errno::PERM => "cannot be read by the server; check its permissions",
        _ => "cannot be opened",
    };
    misconfigured(format!("`{path}` {why}")).with_source(errno)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn failure(root: &Path, path: &str) -> String {
        match locate(&[root.to_path_buf()], path, FileKind::File) {
            Ok(_) => panic!("`{path}` was found"),
            Err(error) => error.message().to_owned(),
        }
    }

    #[test]
    fn only_what_lies_below_the_root_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir_all(root.join("deep")).unwrap();
        std::fs::write(root.join("deep/shop.db"), "x").unwrap();
        std::fs::write(dir.path().join("secret"), "x").unwrap();
        symlink("../secret", root.join("link")).unwrap();
        symlink("..", root.join("up")).unwrap();

        let found = locate(std::slice::from_ref(&root), "deep/shop.db", FileKind::File).unwrap();
        assert_eq!(found.name.as_deref(), Some("shop.db"));
        let absolute = root.join("deep/shop.db");
        assert!(
            locate(
                std::slice::from_ref(&root),
                absolute.to_str().unwrap(),
                FileKind::File
            )
            .is_ok()
        );

        assert!(failure(&root, "../secret").contains("`..`"));
        assert!(failure(&root, "deep/../../secret").contains("`..`"));
        assert!(failure(&root, "link").contains("symbolic link"));
        assert!(failure(&root, "up/secret").contains("symbolic link"));
        assert!(failure(&root, "/etc/passwd").contains("not below"));
        assert!(failure(&root, "deep").contains("is a directory"));
        assert!(failure(&root, "none.db").contains("no file"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn directory_in_memory_is_local_and_one_that_the_kernel_makes_up_is_not() {
        assert!(is_local(&File::open("/dev/shm").unwrap()));
        assert!(!is_local(&File::open("/proc").unwrap()));
    }
}
