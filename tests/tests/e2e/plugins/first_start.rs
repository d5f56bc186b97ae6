//! A start that finds no compiled code: soon ready with code that is made quickly, then with the best.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use mindhost_tests::{
    Builder, Host, Mind, Version, build, eventually, eventually_within, served_by,
};
use reqwest::Method;
use tempfile::TempDir;
use tokio::time::Instant;

/// The memory of its own that a server may have left when its first start is over, in MiB. Pages of its program, which
/// is large in the build for tests, are not counted: the system takes them back as it likes.
const MOST_MEMORY: u64 = 120;

/// The plugins of the first start: the best code of all of them takes minutes beside other tests.
const FEW: [&str; 4] = [
    "connector-sqlite",
    "connector-postgres",
    "model-offline",
    "model-openai",
];

/// A server with an empty cache of its own.
fn anew(cache: &Path) -> Builder {
    Host::builder()
        .env("MINDHOST_PLUGINS__CACHE_DIR", cache.to_string_lossy())
        // A machine that does much else compiles slowly, and a call waits for code as long.
        .env("MINDHOST_CATALOG__CHECK_TIMEOUT", "2m")
}

/// A Mind over a small SQLite database.
async fn shop(host: &Host) -> Mind {
    let sql = "CREATE TABLE item (id INTEGER PRIMARY KEY); INSERT INTO item VALUES (1), (2)";
    host.sqlite("shop", sql).await;
    let mind = host.mind("shop").datasource("shop");
    mind.direct_queries().create().await
}

/// How often the log has some words.
fn count(host: &Host, words: &str) -> usize {
    host.log().matches(words).count()
}

/// Files of a folder with such an end.
fn files(folder: &Path, end: &str) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name());
    names
        .filter(|name| name.to_string_lossy().ends_with(end))
        .count()
}

/// The processes that compile for a server.
fn compilers(host: &Host) -> Vec<PathBuf> {
    let parent = format!("PPid:\t{}\n", host.pid());
    let processes = fs::read_dir("/proc").unwrap().map_while(Result::ok);
    let processes = processes.map(|process| process.path());
    let is_ours = |process: &PathBuf| {
        let status = fs::read_to_string(process.join("status"));
        status.is_ok_and(|status| status.contains(&parent)) && compiles(process)
    };
    processes.filter(is_ours).collect()
}

fn compiles(process: &Path) -> bool {
    let line = fs::read_to_string(process.join("cmdline"));
    line.is_ok_and(|line| line.contains("plugin\0compile"))
}

fn own_mib(host: &Host) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", host.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<u64>().unwrap() / 1024
}

#[tokio::test]
async fn doctor_adds_nothing_to_the_cache() {
    let (cache, few) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let file = "model-offline.wasm";
    fs::copy(build::plugins_dir().join(file), few.path().join(file)).unwrap();
    // With more plugins, `doctor` would compile all of them.
    let host = Host::builder().env("MINDHOST_PLUGINS_DIR", few.path().to_string_lossy());
    let host = host.start().await;
    let own = cache.path().join("own");
    let mut doctor = host.command(&["doctor"]);
    doctor.env("MINDHOST_PLUGINS__CACHE_DIR", &own);
    let output = tokio::task::spawn_blocking(move || doctor.output()).await;
    let output = output.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("model-offline"), "{said}");
    assert!(!own.exists());
}

#[tokio::test]
async fn a_first_start_serves_quick_code_and_then_the_best_without_a_new_version() {
    let (cache, few) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    for name in FEW {
        let file = format!("{name}.wasm");
        fs::copy(build::plugins_dir().join(&file), few.path().join(&file)).unwrap();
    }
    let plugins = FEW.len();
    let begun = Instant::now();
    let host = anew(cache.path())
        .env("MINDHOST_PLUGINS_DIR", few.path().to_string_lossy())
        .env("MINDHOST_PLUGINS__QUICK_START", "true")
        .env("MINDHOST_PLUGINS__COMPILE_WAIT", "1s")
        .start()
        .await;
    println!("ready after {:?}", begun.elapsed());
    let shop = shop(&host).await;
    let asked = "SELECT count(*) FROM item";
    let first = shop.sql(asked).await.expect_status(200);
    println!("answered after {:?}", begun.elapsed());
    let better = async || count(&host, "optimized code active");
    for some in 1..=plugins {
        // The compilers have the least right to the processors, and other tests run beside.
        eventually_within(Duration::from_secs(600), better, |better| *better >= some).await;
    }
    println!("better code after {:?}", begun.elapsed());
    assert_eq!(files(cache.path(), ".cwasm"), plugins);
    let second = shop.sql(asked).await.expect_status(200);
    assert_eq!(served_by(&first), served_by(&second));
    eventually(async || compilers(&host), Vec::is_empty).await;
    let memory = eventually(async || own_mib(&host), |mib| *mib <= MOST_MEMORY).await;
    println!("{memory} MiB after {:?}", begun.elapsed());

    let compiled = count(&host, "compiling with");
    host.restart().await;
    println!("{} MiB after a restart", own_mib(&host));
    shop.sql(asked).await.expect_status(200);
    assert_eq!(count(&host, "compiling with"), compiled, "{}", host.log());

    // Code that somebody changed is not run.
    let sqlite = Version::of_plugin("connector-sqlite", "0.1.0").digest();
    let kept = fs::read_dir(cache.path())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_sqlite = |path: &PathBuf| path.to_string_lossy().contains(&sqlite);
    for file in kept.filter(is_sqlite) {
        let mut code = fs::read(&file).unwrap();
        code[4_096] ^= 1;
        fs::write(&file, code).unwrap();
    }
    host.restart().await;
    shop.sql(asked).await.expect_status(200);
    assert_eq!(count(&host, "with a wrong seal"), 1, "{}", host.log());
}

/// The hostile guest with so many more functions that it takes long to compile, and none of which is ever called.
fn slow_to_compile(folder: &Path) -> PathBuf {
    let mut component = fs::read(build::guest("hostile")).unwrap();
    let module = many_functions(80_000);
    // A core module is a section of the component: its number, its length, itself.
    component.push(1);
    leb(&mut component, module.len());
    component.extend(module);
    let file = folder.join("guest-hostile.wasm");
    fs::write(&file, component).unwrap();
    file
}

/// A module of functions that compute with a number in many small steps.
fn many_functions(functions: usize) -> Vec<u8> {
    let mut body = vec![0];
    for step in 0..60u8 {
        // local.get 0, i32.const, i32.mul, local.get 0, i32.add, local.set 0
        body.extend([0x20, 0, 0x41, step & 0x3f, 0x6c, 0x20, 0, 0x6a, 0x21, 0]);
    }
    body.extend([0x20, 0, 0x0b]);
    let mut kinds = Vec::new();
    leb(&mut kinds, functions);
    kinds.extend(vec![0; functions]);
    let mut code = Vec::new();
    leb(&mut code, functions);
    for _ in 0..functions {
        leb(&mut code, body.len());
        code.extend(&body);
    }
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    for (section, content) in [(1, vec![1, 0x60, 1, 0x7f, 1, 0x7f]), (3, kinds), (10, code)] {
        module.push(section);
        leb(&mut module, content.len());
        module.extend(content);
    }
    module
}

fn leb(into: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        into.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// Whatever is asked of a plugin before its code is there waits for it.
#[tokio::test]
async fn a_component_that_compiles_slowly_holds_up_neither_the_start_nor_others() {
    let (cache, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let host = anew(cache.path())
        .env("MINDHOST_PLUGINS__QUICK_START", "true")
        .env("MINDHOST_PLUGINS__COMPILE_WAIT", "1ms")
        .plugin(slow_to_compile(folder.path()));
    let host = host.start().await;
    let shop = shop(&host).await;
    let asked = "SELECT count(*) FROM item";
    shop.sql(asked).await.expect_status(200);
    // Even the quick compiler is not done with it.
    let done = "compiling with Cranelift plugin=\"guest-hostile\"";
    assert_eq!(count(&host, done), 0, "{}", host.log());
    let compilers = compilers(&host);
    assert!(!compilers.is_empty(), "{}", host.log());
    let plugin = host.get("/plugins/guest-hostile").await.expect_status(200);
    assert!(plugin.json()["active"].is_string(), "{}", plugin.text());
    // Its engine is there, and its code is not.
    host.get("/engines/hostile").await.expect_status(200);
    let ready = host.request(Method::GET, "/readyz").without_key().await;
    let ready = ready.expect_status(200).json();
    assert_eq!(ready["status"], "ready");
    assert!(
        ready["compiling"].to_string().contains("guest-hostile"),
        "{ready}"
    );

    // The server ends although a component is still being compiled, and leaves no process behind.
    let begun = Instant::now();
    assert!(host.shut_down().await, "{}", host.log());
    assert!(begun.elapsed() < Duration::from_secs(19), "{}", host.log());
    let left = async || compilers.iter().filter(|one| compiles(one)).count();
    eventually(left, |left| *left == 0).await;
}

/// It had the place of a version that works.
#[tokio::test]
async fn a_version_that_turns_out_to_be_unusable_leaves_its_place_to_the_next() {
    let (cache, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut liar = Version::of("0.1.1");
    liar.replace(
        "\"title\":\"Rows in memory\"",
        "\"title\":\"Rows in memorx\"",
    );
    let host = anew(cache.path())
        .env("MINDHOST_PLUGINS__COMPILE_WAIT", "1ms")
        .plugin(build::guest("memory"))
        .plugin(liar.write(folder.path()));
    let host = host.start().await;
    let old = Version::of("0.1.0").digest();
    let active = async || host.active("guest-memory").await;
    eventually(active, |active| *active == old).await;
    let mind = host.memory("numbers", 3).await;
    let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
    assert_eq!(served_by(&reply), old);
    assert!(
        host.log().contains("describes itself differently"),
        "{}",
        host.log()
    );
}

/// A process that is killed with `kill -9` cannot end its compilers: they see it.
#[tokio::test]
async fn compilers_do_not_outlive_their_server() {
    let (cache, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let host = anew(cache.path())
        .env("MINDHOST_PLUGINS__COMPILE_WAIT", "1ms")
        .plugin(slow_to_compile(folder.path()));
    let host = host.start().await;
    let compilers = eventually(async || compilers(&host), |found| !found.is_empty()).await;
    host.kill().await;
    let left = async || compilers.iter().filter(|one| compiles(one)).count();
    eventually(left, |left| *left == 0).await;
}
