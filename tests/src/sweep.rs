//! Folders named after the process that made them. A process that is killed cannot remove its own, so another one does.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Removes the folder `$0` once its input ends. A server in it may take a moment to end too.
const REMOVE: &str = r#"trap "" HUP INT TERM; cat >/dev/null
    for _ in 1 2 3 4 5 6 7 8 9 10; do rm -rf -- "$0" && exit; sleep 1; done"#;

/// `<temp>/<prefix>-<own pid>`, which is removed when this process ends, however it ends. Folders of the same prefix
/// that are still there although their process is gone are removed now. Call it once for each prefix.
///
/// # Panics
/// When there is no shell.
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
    let folder = temp.join(format!("{prefix}-{}", std::process::id()));
    let shell = Command::new("sh")
        .args(["-c", REMOVE])
        .arg(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell");
    // Its input ends with this process.
    Box::leak(Box::new(shell));
    folder
}
