//! `just demo`: the whole job, step by step, with the `curl` lines that do it.
//!
//! Writes the demo shop, starts the server on it, runs every step through the public API with curl, and checks
//! what comes back against the databases themselves. Then it leaves the server running until Ctrl-C; with `--once`
//! it ends instead, with a failure if any step did not give what it should.

mod answers;
mod catalog;
mod curl;
mod rows;
mod screen;
mod server;
mod truth;

use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use mindhost_tests::{Value, build, shop};

use crate::{curl::Curl, screen::Screen, server::Server, truth::Truth};

/// What every step works with.
struct Demo {
    screen: Screen,
    curl: Curl,
    truth: Truth,
}

fn main() -> ExitCode {
    let once = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => false,
        [option] if option == "--once" => true,
        _ => {
            eprintln!("usage: demo [--once]");
            return ExitCode::from(2);
        }
    };
    match run(once) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            Screen::new().failure(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(once: bool) -> Result<()> {
    let screen = Screen::new();
    screen.title("Mindhost: questions to databases, in words and in SQL");
    let data = build::target_dir().join("demo");
    server::clear(&data)?;
    let files = data.join("files/default");
    std::fs::create_dir_all(&files).context("a folder for the demo's databases")?;
    let size = shop::write(&files).context("the demo's databases")?;
    let rows = screen::thousands(size.shop + size.warehouse);
    screen.fact(&format!(
        "wrote shop.db and warehouse.db: 14 tables, {rows} rows ({})",
        files.display()
    ));

    screen.fact("starting mindhost serve; its first start compiles the plugins …");
    let mut server = Server::start(&data, once)?;
    screen.fact(&format!("ready after {} ms", server.startup.as_millis()));
    let (url, key) = (server.url.clone(), server.key.clone());
    screen.shell(&[&format!("export URL={url}"), &format!("export KEY={key}")]);

    let demo = Demo {
        screen,
        curl: Curl::new(&url, &key),
        truth: Truth::open(&files)?,
    };
    let done = steps(&demo, &data);
    if done.is_err() {
        server.show_log();
    }
    done?;
    demo.screen
        .success("Every step gave what the databases hold.");
    if once {
        return Ok(());
    }
    leave_running(&demo.screen, &mut server, &data)
}

fn steps(demo: &Demo, data: &std::path::Path) -> Result<()> {
    catalog::engines(demo)?;
    catalog::connect(demo)?;
    catalog::load(demo)?;
    mind(demo)?;
    answers::stream(demo)?;
    rows::query(demo)?;
    rows::refused(demo)?;
    let result = rows::stored(demo)?;
    rows::page(demo, &result)?;
    rows::export(demo, &result, data)?;
    rows::two_databases(demo)
}

fn mind(demo: &Demo) -> Result<()> {
    demo.screen
        .step("Make a Mind over the shop; it may be asked in SQL too");
    let mind = demo.post(
        "/minds",
        r#"{"name": "analyst", "datasources": ["shop"],
  "parameters": {"allow_direct_queries": true, "system_prompt": "Answer briefly, in euros."}}"#,
    )?;
    ensure!(
        mind["name"] == "analyst" && mind["datasources"][0] == "shop",
        "not the Mind that was asked for: {mind}"
    );
    let (provider, model) = (&mind["provider"], &mind["model_name"]);
    ensure!(
        provider.is_string() && model.is_string(),
        "the Mind has no model: {mind}"
    );
    demo.screen.result(&format!(
        "analyst · datasource shop · provider {provider} · model {model}"
    ));
    Ok(())
}

fn leave_running(screen: &Screen, server: &mut Server, data: &std::path::Path) -> Result<()> {
    screen.title("The server stays up until Ctrl-C");
    screen.fact(&format!("URL  {}/api/v1", server.url));
    screen.fact(&format!("KEY  {}", server.key));
    screen.fact(&format!("log  {}", data.join("server.log").display()));
    screen.step("Ask it something yourself");
    screen.shell(&[
        &format!("export URL={} KEY={}", server.url, server.key),
        &curl::post_line(
            "/responses",
            r#"{"model": "analyst", "input": "Average order total per channel"}"#,
        ),
    ]);
    server.wait_for_end()
}

impl Demo {
    /// Shows and runs a GET of `/api/v1{path}`.
    fn get(&self, path: &str) -> Result<Value> {
        self.json(&curl::get_line(path))
    }

    /// Shows and runs a POST to `/api/v1{path}`.
    fn post(&self, path: &str, body: &str) -> Result<Value> {
        self.json(&curl::post_line(path, body))
    }

    fn json(&self, line: &str) -> Result<Value> {
        self.screen.command(line);
        self.curl.json(line)
    }
}
