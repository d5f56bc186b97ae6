//! The demo: a made-up shop in two databases, and a walk through the whole API with the `curl` lines that do it.
//!
//! Each step checks what comes back against the databases themselves. It speaks to a server over HTTP like anybody else and
//! uses no other part of the host.

mod answers;
mod catalog;
mod curl;
mod rows;
mod screen;
mod server;
pub mod shop;
mod truth;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{curl::Curl, screen::Screen, server::Server, truth::Truth};

/// A suite of questions about the shop, for `mindhost eval`.
pub const SUITE: &str = include_str!("suite.yaml");

/// What the demo is given.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program `mindhost`, which is started as the server.
    pub program: PathBuf,
    /// Data directory of the server. What an earlier demo kept there is deleted. One that no demo made is refused.
    pub dir: PathBuf,
    /// The directory with the plugins that the server installs.
    pub plugins_dir: PathBuf,
    /// End after the last step; else the server goes on until Ctrl-C.
    pub once: bool,
    /// Set by another thread to end the demo and its server.
    pub stop: Stop,
}

/// Whether the demo was asked to end.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the demo to end.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// # Errors
    /// If the demo was asked to end.
    fn check(&self) -> Result<()> {
        ensure!(!self.is_asked(), "asked to end before the last step");
        Ok(())
    }
}

/// What every step works with.
struct Demo {
    screen: Screen,
    curl: Curl,
    truth: Truth,
}

/// Writes the shop, starts a server on it, runs every step, and leaves the server running until it ends or
/// [`Options::stop`] is asked for. The server has ended when this returns.
///
/// # Errors
/// When the server does not start, or a step does not give what the databases hold.
pub fn run(options: &Options) -> Result<()> {
    let screen = Screen::new();
    screen.title("Mindhost: questions to databases, in words and in SQL");
    server::require_plugins(&options.plugins_dir)?;
    let dir = &options.dir;
    let _alone = server::take(dir)?;
    let files = dir.join("files/default");
    std::fs::create_dir_all(&files).with_context(|| format!("creating {}", files.display()))?;
    let size = shop::write(&files).context("writing the demo's databases")?;
    let rows = screen::thousands(size.shop + size.warehouse);
    screen.fact(&format!(
        "wrote shop.db and warehouse.db: 14 tables, {rows} rows ({})",
        files.display()
    ));

    screen.fact("starting mindhost serve; its first start compiles the plugins …");
    let mut server = Server::start(options)?;
    screen.fact(&format!("ready after {} ms", server.startup.as_millis()));
    let (url, key) = (server.url.clone(), server.key.clone());
    screen.shell(&[&format!("export URL={url}"), &format!("export KEY={key}")]);

    let demo = Demo {
        screen,
        curl: Curl::new(&url, &key, options.stop.clone()),
        truth: Truth::open(&files)?,
    };
    if let Err(error) = steps(&demo, dir) {
        options.stop.check()?;
        server.show_log();
        return Err(error);
    }
    demo.screen
        .success("Every step gave what the databases hold.");
    if options.once {
        return Ok(());
    }
    let link = server.console_link(options)?;
    leave_running(&demo.screen, &mut server, dir, &link)?;
    if options.stop.is_asked() {
        demo.screen.fact("ending the server …");
    }
    Ok(())
}

fn steps(demo: &Demo, data: &Path) -> Result<()> {
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

fn leave_running(screen: &Screen, server: &mut Server, data: &Path, link: &str) -> Result<()> {
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
    screen
        .step("Or in the browser: this link opens the console signed in, once, within ten minutes");
    screen.result(link);
    screen.dim(&format!(
        "another: mindhost console --server {} --key-file {}",
        server.url,
        curl::quoted(&data.join("admin.key"))
    ));
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
