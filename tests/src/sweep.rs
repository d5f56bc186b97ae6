//! Folders named after the process that made them. A killed process cannot tidy up, so the next one does.

use std::path::{Path, PathBuf};

/// `<temp>/<prefix>-<own pid>`, after folders of the same prefix whose process is gone were removed.
pub(crate) fn own_folder(prefix: &str) -> PathBuf {
    let temp = std::env::temp_dir();
    for entry in std::fs::read_dir(&temp).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(prefix)?.strip_prefix('-'));
        if owner
            .is_some_and(|pid| pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists())
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    temp.join(format!("{prefix}-{}", std::process::id()))
}
