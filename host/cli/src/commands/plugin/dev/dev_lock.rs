//! One `mindhost plugin dev` in a project: two would overwrite each other's builds.

use std::{
    fs,
    io::{Read as _, Seek as _, Write as _},
    path::Path,
};

use anyhow::Context;
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

/// Locks the folder for what is built. The lock ends with the process, and the file has its number.
pub(super) fn take(made: &Path, project: &Path) -> anyhow::Result<fs::File> {
    let path = made.join("dev.lock");
    let mut file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .with_context(|| path.display().to_string())?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            let mut number = String::new();
            let _ = file.read_to_string(&mut number);
            let process = match number.trim() {
                "" => String::new(),
                number => format!(" (process {number})"),
            };
            anyhow::bail!(
                "another `mindhost plugin dev`{process} runs in {}; end it first, or save a file and look at its output",
                project.display()
            );
        }
        Err(error) => {
            return Err(error).with_context(|| format!("cannot lock {}", path.display()));
        }
    }
    // Only a message needs the number.
    let _ = file
        .set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_lock_is_refused_until_the_first_is_gone() {
        let made = tempfile::tempdir().unwrap();
        let first = take(made.path(), made.path()).unwrap();
        let refused = take(made.path(), made.path()).unwrap_err().to_string();
        let process = format!("(process {})", std::process::id());
        assert!(refused.contains(&process), "{refused}");
        drop(first);
        take(made.path(), made.path()).unwrap();
    }
}
