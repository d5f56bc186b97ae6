//! Files and directories that only their owner may read.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

use uuid::Uuid;

/// Makes a directory and its parents, readable for the owner only where they are new.
pub fn make_dir(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

/// Writes a new file that only its owner may read. It appears whole or not at all; an existing one is not touched
/// and is an error.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}", Uuid::now_v7()));
    let unfinished = path.with_file_name(name);
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&unfinished)?;
    let written = file
        .write_all(content)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::hard_link(&unfinished, path));
    fs::remove_file(&unfinished)?;
    written
}
