//! What holds for a plugin in whichever language it is written: one scanner of pages, three times.

use axum::{Json, Router, extract::Path, http::HeaderMap, routing::get};
use mindhost_tests::{Host, Mind, Project, Value, json};

/// As many as one statement asks for: ten times what an instance may hold of anything.
const MANY: u64 = 10_000;
/// Before this many the memory of a guest may still grow: its allocator and its garbage collector settle.
const SOME: u64 = 2_000;

#[tokio::test]
async fn a_plugin_in_rust_asks_ten_thousand_times() {
    asks_ten_thousand_times("rust", "src/lib.rs", include_str!("pages/plugin.rs")).await;
}

#[tokio::test]
async fn a_plugin_in_javascript_asks_ten_thousand_times() {
    asks_ten_thousand_times("javascript", "plugin.js", include_str!("pages/plugin.js")).await;
}

#[tokio::test]
async fn a_plugin_in_python_asks_ten_thousand_times() {
    asks_ten_thousand_times("python", "plugin.py", include_str!("pages/plugin.py")).await;
}

/// The schema requires a credential that the host adds, so the guest never has it; and it has a default for `pages`.
/// One instance then asks for ten thousand pages in one statement, and its memory does not grow with their number.
async fn asks_ten_thousand_times(language: &'static str, file: &str, source: &str) {
    // The plugin lies in the folder of its project, which goes with it.
    let project = project(language, file, source);
    let url = serve().await;
    let host = Host::builder().plugin(project.build());
    let host = host
        .env("MINDHOST_SQL__STATEMENT_TIMEOUT", "900s")
        .start()
        .await;
    let of_default = reader(&host, &url, None).await;
    assert_eq!(
        of_default.rows("SELECT n, key FROM pages ORDER BY n").await,
        [0, 1, 2].map(|n| vec![json!(n), json!("Bearer open sesame")])
    );
    for pages in [SOME, MANY] {
        let mind = reader(&host, &url, Some(pages)).await;
        let counted = mind.rows("SELECT count(*), max(n) FROM pages").await;
        assert_eq!(counted, [[json!(pages), json!(pages - 1)]], "{language}");
    }
    let some = peak_memory(&host, SOME).await;
    let many = peak_memory(&host, MANY).await;
    // A collector takes its time: that of JavaScript settles at 4 MB, with ten thousand requests as with forty thousand.
    assert!(
        many <= some + (2 << 20),
        "{language}: {some} bytes with {SOME} requests, {many} with {MANY}"
    );
}

fn project(language: &'static str, file: &str, source: &str) -> Project {
    let project = Project::new("connector-pages", "scanner", language);
    let manifest = include_str!("pages/manifest.json");
    std::fs::write(project.path().join("manifest.json"), manifest).unwrap();
    std::fs::write(project.path().join(file), source).unwrap();
    project
}

/// A Mind over so many pages, or as many as the schema says.
async fn reader(host: &Host, url: &str, pages: Option<u64>) -> Mind {
    let name = name(pages);
    let mut connection_data = json!({"url": url, "api_key": "open sesame"});
    if let Some(pages) = pages {
        connection_data["pages"] = json!(pages);
    }
    let datasource = json!({
        "name": name, "engine": "pages", "connection_data": connection_data,
    });
    let made = host.post("/datasources", datasource).await;
    made.expect_status(201);
    let mind = host.mind(&name).datasource(&name).direct_queries();
    mind.create().await
}

fn name(pages: Option<u64>) -> String {
    pages.map_or_else(|| "usual".to_owned(), |pages| format!("pages{pages}"))
}

/// What the guest of such a datasource has grown to.
async fn peak_memory(host: &Host, pages: u64) -> u64 {
    let usage = host.get("/plugins/connector-pages/usage").await;
    let usage = usage.expect_status(200).json();
    let targets = usage["since_start"][0]["targets"].as_array().unwrap();
    let name = name(Some(pages));
    let target = targets.iter().find(|target| target["name"] == name);
    let peak = &target.unwrap()["figures"]["peak_memory_bytes"];
    peak.as_u64().unwrap()
}

/// A page says its number, and what the request was allowed by.
async fn serve() -> String {
    async fn page(Path(n): Path<u64>, headers: HeaderMap) -> Json<Value> {
        let key = headers["authorization"].to_str().unwrap();
        Json(json!({"n": n, "key": key}))
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/{n}", get(page));
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}
