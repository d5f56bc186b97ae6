//! What an author sees on the second day: lines of the own source, logs, types, unit tests, helpers.

mod development;
mod packages;
mod projects;
mod python;
mod reproducible;
mod sdk;
mod statistics;
mod traces;

use std::process::{Command, Output};

use axum::{
    Router,
    extract::{Query, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use mindhost_tests::{Project, build, json};
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

/// A language, and what the plugin of these tests is written in.
pub struct Language {
    pub name: &'static str,
    /// The plugin, its module beside it, and their texts.
    pub files: [(&'static str, &'static str); 2],
}

pub const JAVASCRIPT: Language = Language {
    name: "javascript",
    files: [
        ("plugin.js", include_str!("authors/plugin.js")),
        ("lib/sums.js", include_str!("authors/lib/sums.js")),
    ],
};

pub const TYPESCRIPT: Language = Language {
    name: "typescript",
    files: [
        ("plugin.ts", include_str!("authors/plugin.ts")),
        ("lib/sums.ts", include_str!("authors/lib/sums.ts")),
    ],
};

pub const PYTHON: Language = Language {
    name: "python",
    files: [
        ("plugin.py", include_str!("authors/plugin.py")),
        ("lib.py", include_str!("authors/lib.py")),
    ],
};

impl Language {
    /// A new project with the plugin of these tests in it.
    pub fn project(&self) -> Project {
        let project = Project::new("connector-items", "scanner", self.name);
        let manifest = include_str!("authors/manifest.json");
        std::fs::write(project.path().join("manifest.json"), manifest).unwrap();
        for (name, text) in self.files {
            let path = project.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        project
    }

    /// The place of a text in one of the files, as `lib/sums.js:5`.
    pub fn line(&self, file: usize, text: &str) -> usize {
        let (_, source) = self.files[file];
        1 + source.lines().position(|line| line.contains(text)).unwrap()
    }
}

/// `mindhost plugin run` with the project's plugin. The error output has the log.
pub async fn run(project: &Project, url: &str, arguments: &[&str]) -> Output {
    let plugin = project.build();
    let mut command = Command::new(build::host_binary());
    command.args(["plugin", "run"]).arg(plugin).args(arguments);
    command.args(["--config", &json!({"url": url}).to_string()]);
    // The test's own runtime serves at the same time.
    tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap()
}

pub fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Three pages of items, linked; each is busy when it is asked for the first time: one with a time to come back at.
pub async fn serve() -> (String, Arc<AtomicU32>) {
    let asked = Arc::new(AtomicU32::new(0));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new()
        .route("/items", get(page))
        .with_state(Arc::clone(&asked));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (format!("http://{address}"), asked)
}

async fn page(
    State(asked): State<Arc<AtomicU32>>,
    Query(query): Query<HashMap<String, u32>>,
) -> Response {
    let number = query["page"];
    if asked.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) {
        let busy = (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "0")]);
        return match number {
            1 => StatusCode::SERVICE_UNAVAILABLE.into_response(),
            _ => busy.into_response(),
        };
    }
    let mut headers = HeaderMap::new();
    if number < 3 {
        let link = format!("</items?page={}>; rel=\"next\"", number + 1);
        headers.insert(header::LINK, link.parse().unwrap());
    }
    // Numbers that are not exact in 53 bits, as text: a JSON library would bend them.
    let items = format!(
        r#"{{"items": [{{"n": {number}, "id": 900719925474099{number}, "amount": 0.1234567890123456789,
            "at": "2024-02-29T13:45:00.00000{number}Z"}}]}}"#
    );
    (headers, items).into_response()
}
