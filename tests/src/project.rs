//! Projects that `mindhost plugin new` writes, built with the toolchains of their languages.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::LazyLock,
};

use tempfile::{NamedTempFile, TempDir};

use crate::build::{host_binary, target_dir, workspace_dir};

/// The crate mindhost-sdk, packaged and unpacked, as all projects in Rust use it. In a folder named after what it is made
/// of: the files of a package are as old as any other's, so that Cargo would not notice another one in their place.
static PACKAGED_SDK: LazyLock<PathBuf> = LazyLock::new(|| {
    let mut sources = vec![
        workspace_dir().join("Cargo.toml"),
        workspace_dir().join("sdk/rust/Cargo.toml"),
    ];
    for folder in ["sdk/rust/src", "sdk/rust/examples", "sdk/wit", "wit"] {
        files_below(&workspace_dir().join(folder), &mut sources);
    }
    let folder = target_dir().join(format!(
        "projects/sdk-{}",
        digest(sources, &workspace_dir())
    ));
    let unpacked = folder.join("mindhost-sdk");
    if !unpacked.exists() {
        package(&folder);
    }
    unpacked
});

/// Packages the SDK, and unpacks it into `mindhost-sdk` in a folder.
fn package(folder: &Path) {
    let mut package = Command::new(env!("CARGO"));
    package.current_dir(workspace_dir());
    package.args([
        "package",
        "-p",
        "mindhost-sdk",
        "--no-verify",
        "--allow-dirty",
    ]);
    package.arg("--target-dir").arg(folder);
    expect_success(&package.output().expect("cargo"), "cargo package");
    let mut unpack = Command::new("tar");
    unpack.current_dir(folder.join("package"));
    unpack.args([
        "xzf",
        concat!("mindhost-sdk-", env!("CARGO_PKG_VERSION"), ".crate"),
    ]);
    expect_success(&unpack.output().expect("tar"), "tar");
    let unpacked = concat!("package/mindhost-sdk-", env!("CARGO_PKG_VERSION"));
    fs::rename(folder.join(unpacked), folder.join("mindhost-sdk")).expect("an unpacked crate");
}

/// A project in a folder of its own, outside of the repository.
#[derive(Debug)]
pub struct Project {
    name: String,
    language: &'static str,
    folder: TempDir,
    /// The folder within that one, if it was moved.
    within: PathBuf,
}

impl Project {
    /// `mindhost plugin new {name} --kind {kind} --language {language}`; in Rust with the SDK as a registry would have
    /// it: packaged, and unpacked elsewhere.
    ///
    /// # Panics
    /// When the command fails.
    pub fn new(name: &str, kind: &str, language: &'static str) -> Self {
        Self::made(name, ["--kind", kind], language)
    }

    /// `mindhost plugin new {name} --template {template} --language {language}`; in Rust with the packaged SDK.
    ///
    /// # Panics
    /// When the command fails.
    pub fn of_template(name: &str, template: &str, language: &'static str) -> Self {
        Self::made(name, ["--template", template], language)
    }

    fn made(name: &str, what: [&str; 2], language: &'static str) -> Self {
        let project = Self {
            name: name.to_owned(),
            language,
            folder: TempDir::new().expect("a folder"),
            within: PathBuf::new(),
        };
        let mut command = Command::new(host_binary());
        command
            .current_dir(project.folder.path())
            .args(["plugin", "new", name, "--language", language])
            .args(what);
        if language == "rust" {
            command.arg("--sdk").arg(&*PACKAGED_SDK);
        }
        expect_success(&command.output().expect("mindhost starts"), "plugin new");
        project
    }

    /// Its folder.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join(&self.within).join(&self.name)
    }

    /// The project in another folder, below the one that it has.
    ///
    /// # Panics
    /// When it cannot be moved.
    #[must_use]
    pub fn moved(mut self, within: &str) -> Self {
        let before = self.path();
        self.within = PathBuf::from(within);
        fs::create_dir_all(self.folder.path().join(within)).expect("a folder");
        fs::rename(before, self.path()).expect("a moved project");
        self
    }

    /// `./build.sh`, unless the same files were built before: a toolchain takes seconds to minutes.
    ///
    /// # Panics
    /// When it fails; the panic shows what it printed.
    pub fn build(&self) -> PathBuf {
        let built = self.path().join(format!("{}.wasm", self.name));
        let kept = target_dir().join(format!("projects/{}.wasm", self.digest()));
        if kept.exists() {
            fs::copy(kept, &built).expect("what was built before");
            return built;
        }
        let output = self.script("build.sh").output().expect("a shell");
        expect_success(&output, "build.sh");
        let folder = target_dir().join("projects");
        fs::create_dir_all(&folder).expect("a folder for what is built");
        // Renamed into place, so that a test beside this one never copies half a file, also where it builds the same.
        let half = NamedTempFile::new_in(folder).expect("a file to keep it in");
        fs::copy(&built, &half).expect("a copy to keep");
        half.persist(kept).expect("a copy to keep");
        built
    }

    /// A script of the project, still to be run.
    pub fn script(&self, name: &str) -> Command {
        self.command("sh", &[name])
    }

    /// A command in the project with the toolchain of its language, still to be run.
    pub fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let target = target_dir();
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.path())
            .env("MINDHOST", host_binary());
        match self.language {
            "rust" => {
                // The versions of the repository, which are downloaded already.
                fs::copy(
                    workspace_dir().join("Cargo.lock"),
                    self.path().join("Cargo.lock"),
                )
                .expect("a lock file");
                command.env("CARGO_TARGET_DIR", target.join("projects/rust"));
            }
            "javascript" | "typescript" => {
                let modules = self.path().join("node_modules");
                if !modules.exists() {
                    let installed = crate::build::componentize_qjs();
                    std::os::unix::fs::symlink(installed, modules).expect("a link");
                }
                command.env("PATH", with_path(&target.join("node")));
            }
            _ => {
                command.env("PYTHON", crate::build::componentize_py());
            }
        }
        command
    }

    /// Of all files of the project, and of the crate that a project in Rust is built with.
    fn digest(&self) -> String {
        let mut paths = Vec::new();
        files_below(&self.path(), &mut paths);
        if self.language == "rust" {
            files_below(&workspace_dir().join("sdk/rust/src"), &mut paths);
            files_below(&workspace_dir().join("wit"), &mut paths);
            paths.push(workspace_dir().join("Cargo.lock"));
        }
        digest(paths, &self.path())
    }
}

/// Of the names below a folder, and the contents, of files.
fn digest(mut paths: Vec<PathBuf>, folder: &Path) -> String {
    paths.sort();
    let digest = paths.iter().fold(sha2::Sha256::default(), |digest, path| {
        use sha2::Digest;
        let name = path.strip_prefix(folder).unwrap_or(path);
        let digest = digest.chain_update(name.to_string_lossy().as_bytes());
        digest.chain_update(fs::read(path).expect("a file of the project"))
    });
    let bytes = sha2::Digest::finalize(digest);
    bytes.iter().take(16).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files_below(&path, found),
            false => found.push(path),
        }
    }
}

/// The `PATH` with one more folder before the others.
fn with_path(folder: &Path) -> std::ffi::OsString {
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&usual));
    std::env::join_paths(folders).expect("a PATH")
}

/// Panics with what a command has printed when it failed.
///
/// # Panics
/// When it failed.
#[track_caller]
pub fn expect_success(output: &Output, what: &str) {
    assert!(
        output.status.success(),
        "{what}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
