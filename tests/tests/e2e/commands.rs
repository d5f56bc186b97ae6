//! The command line: what scripts and service managers rely on.

use std::{
    os::unix::fs::PermissionsExt,
    process::{Command, Output, Stdio},
};

use mindhost_tests::{Host, build, eventually};

fn mindhost(host: &Host, args: &[&str], vars: &[(&str, &str)]) -> Output {
    let mut command = host.command(args);
    command.envs(vars.iter().copied()).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn keys_made_on_the_command_line_work_at_once() {
    let host = Host::start().await;
    let made = mindhost(
        &host,
        &["keys", "create", "script", "--role", "editor"],
        &[],
    );
    assert!(made.status.success(), "{}", stderr(&made));
    let text = stdout(&made).trim().to_owned();
    host.get("/minds").key(&text).await.expect_status(200);

    let listed = stdout(&mindhost(&host, &["keys", "list"], &[]));
    let line = listed
        .lines()
        .find(|line| line.ends_with("script"))
        .unwrap();
    assert!(line.contains("editor") && line.contains("valid"), "{line}");
    assert!(!listed.contains(&text));
    let id = line.split_whitespace().next().unwrap();
    assert!(
        mindhost(&host, &["keys", "revoke", id], &[])
            .status
            .success()
    );
    let listed = stdout(&mindhost(&host, &["keys", "list"], &[]));
    assert!(listed.contains("revoked"), "{listed}");

    host.mind("open").create().await;
    host.mind("closed").create().await;
    let limited = mindhost(&host, &["keys", "create", "guest", "--mind", "open"], &[]);
    let limited = stdout(&limited).trim().to_owned();
    let minds = host.get("/minds").key(&limited).await.expect_status(200);
    let minds = minds.json();
    assert_eq!(minds.as_array().unwrap().len(), 1, "{minds}");
    let unknown = mindhost(&host, &["keys", "create", "x", "--mind", "nobody"], &[]);
    assert!(!unknown.status.success());
    assert!(stderr(&unknown).contains("nobody"), "{}", stderr(&unknown));
}

#[tokio::test]
async fn a_key_that_could_not_be_printed_can_be_ended() {
    let host = Host::start().await;
    let lost = |args: &[&str]| {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let mut command = host.command(args);
        let output = command.stdout(full.unwrap()).stderr(Stdio::piped());
        let output = output.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        stderr(&output)
    };
    let why = lost(&["keys", "create", "script"]);
    let revoke = why.split('`').nth(1).unwrap_or_else(|| panic!("{why}"));
    let args: Vec<&str> = revoke.split(' ').skip(1).collect();
    assert_eq!(args[..2], ["keys", "revoke"], "{why}");
    assert!(mindhost(&host, &args, &[]).status.success());
    let listed = stdout(&mindhost(&host, &["keys", "list"], &[]));
    let line = listed.lines().find(|line| line.ends_with("script"));
    assert!(line.unwrap().contains("revoked"), "{listed}");
    let made = mindhost(&host, &["keys", "create", "other"], &[]);
    assert!(made.status.success(), "{}", stderr(&made));
    let listed = stdout(&mindhost(&host, &["keys", "list"], &[]));
    let line = listed.lines().find(|line| line.ends_with("other"));
    let id = line.unwrap().split_whitespace().next().unwrap();
    let why = lost(&["keys", "rotate", id]);
    assert!(why.contains("rotate it once more"), "{why}");
}

#[tokio::test]
async fn doctor_finds_what_is_wrong_and_says_how_to_mend_it() {
    let host = Host::start().await;
    let check = |vars: &[(&str, &str)], found: &str, success: bool| {
        let output = mindhost(&host, &["doctor"], vars);
        assert_eq!(output.status.success(), success, "{}", stdout(&output));
        assert!(
            stdout(&output).contains(found),
            "{found}: {}",
            stdout(&output)
        );
        if !success {
            assert!(stdout(&output).contains("fix: "), "{}", stdout(&output));
        }
    };
    let mode = |mode| {
        let dir = host.data_dir();
        std::fs::set_permissions(dir, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o700);
    check(&[], "is that of the store", true);
    check(&[], "connector-sqlite", true);
    check(&[], "'offline'", true);
    check(
        &[("MINDHOST_LISTENN", "x")],
        "did you mean `listen`?",
        false,
    );
    let installed = &[("MINDHOST_PLUGINS_DIR", "/nothing")];
    let note = "there is no directory /nothing; the plugins are those of the data directory";
    check(installed, note, true);
    let plugin = host.get("/plugins/connector-sqlite").await;
    let plugin = plugin.expect_status(200).json();
    let digest = plugin["versions"][0]["digest"].as_str().unwrap();
    let file = host.data_dir().join(format!("plugins/{digest}.wasm"));
    let hidden = file.with_extension("hidden");
    std::fs::rename(&file, &hidden).unwrap();
    check(
        installed,
        "is not here or cannot be used; nothing takes its place",
        false,
    );
    std::fs::rename(&hidden, &file).unwrap();
    check(
        &[("MINDHOST_DATABASE_URL", "postgres://u:secret@127.0.0.1:1/d")],
        "cannot open the store: Connection refused",
        false,
    );
    check(
        &[("MINDHOST_FILES__ROOTS", "/nothing")],
        "files.roots: /nothing is no directory",
        false,
    );
    check(
        &[(
            "MINDHOST_PLUGINS__LIMITS__CONNECTOR_SQLIT__MAX_CONNECTIONS",
            "2",
        )],
        "connector-sqlit has limits and is not installed",
        true,
    );
    // Without plugins: under another key they would be compiled again, and for the tests after this one too.
    let other_key = [
        ("MINDHOST_SECRETS__KEY_FILE", "other.key"),
        ("MINDHOST_PLUGINS_DIR", "/nothing"),
    ];
    let plugins = host.data_dir().join("plugins");
    let hidden = plugins.with_extension("hidden");
    std::fs::rename(&plugins, &hidden).unwrap();
    check(&other_key, "is not the one", false);
    check(installed, "nothing can be connected", false);
    std::fs::rename(&hidden, &plugins).unwrap();
    mode(0o755);
    check(&[], "chmod 700", false);
}

#[tokio::test]
async fn a_store_refuses_a_start_with_another_secret_key() {
    let host = Host::start().await;
    assert!(host.shut_down().await);
    let other = [
        ("MINDHOST_SECRETS__KEY_FILE", "other.key"),
        ("MINDHOST_LISTEN", "127.0.0.1:0"),
    ];
    let output = mindhost(&host, &["serve"], &other);
    assert!(!output.status.success());
    assert!(
        stderr(&output).contains("other.key is not the one"),
        "{}",
        stderr(&output)
    );
    assert!(!host.data_dir().join("other.key").exists());
}

#[tokio::test]
async fn the_demo_deletes_no_data_of_a_server() {
    let host = Host::start().await;
    let dir = host.data_dir().to_str().unwrap();
    let plugins = build::plugins_dir();
    let demo = ["demo", "--once", "--dir", dir, "--plugins-dir"];
    let demo = [&demo[..], &[plugins.to_str().unwrap()]].concat();
    let refused = mindhost(&host, &demo, &[]);
    assert_eq!(refused.status.code(), Some(1), "{}", stdout(&refused));
    let why = stderr(&refused);
    assert!(why.contains("no demo made it"), "{why}");
    assert!(host.data_dir().join("mindhost.db").exists());
    host.mind("still-there").create().await;
}

#[tokio::test]
async fn the_demo_ends_after_its_server() {
    let host = Host::start().await;
    let dir = tempfile::tempdir().unwrap();
    let plugins = build::plugins_dir();
    let mut demo = host.command(&["demo", "--dir", "demo", "--plugins-dir"]);
    demo.arg(&plugins).current_dir(dir.path());
    let mut demo = demo.stdout(Stdio::null()).spawn().unwrap();
    // Its server compiles the plugins for longer than this test takes.
    let log = dir.path().join("demo/server.log");
    eventually(
        async || log.metadata().map_or(0, |log| log.len()),
        |size| *size > 0,
    )
    .await;
    let children = format!("/proc/{0}/task/{0}/children", demo.id());
    let children = std::fs::read_to_string(children).unwrap();
    let server = children.split_whitespace().next().unwrap();
    let server = std::path::Path::new("/proc").join(server);
    assert!(server.exists());
    let pid = rustix::process::Pid::from_child(&demo);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let status = demo.wait().unwrap();
    assert!(!server.exists());
    assert_eq!(status.code(), Some(1));
}

#[tokio::test]
async fn the_demo_does_not_panic_if_its_output_is_closed() {
    let host = Host::start().await;
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut demo = host.command(&["demo", "--once", "--plugins-dir", "none"]);
    demo.stdout(writer).stderr(Stdio::piped());
    let output = demo.output().unwrap();
    let errors = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(
        errors.contains("just plugins") && !errors.contains("panicked"),
        "{errors}"
    );
}

#[tokio::test]
async fn the_first_start_without_a_key_leaves_one_in_a_private_file() {
    let host = Host::builder().env("MINDHOST_ADMIN_KEY", "").start().await;
    let file = host.data_dir().join("admin.key");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let key = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    assert!(!host.log().contains(&key));
    host.get("/keys").key(&key).await.expect_status(200);
    host.restart().await;
    host.get("/keys").key(&key).await.expect_status(200);
    let again = std::fs::read_to_string(&file).unwrap();
    assert_eq!(again.trim(), key, "a later start makes no other key");
}

#[test]
fn wrong_settings_stop_a_start_before_it_writes() {
    for (name, value, message) in [
        (
            "MINDHOST_PLUGINS__TRUSTED_KEYS",
            "no-key",
            "plugins.trusted_keys",
        ),
        (
            "MINDHOST_PLUGINS__REQUIRE_SIGNATURE",
            "true",
            "plugins.trusted_keys is empty",
        ),
        (
            "MINDHOST_EGRESS__ROOT_CERTIFICATES",
            "/nothing.pem",
            "egress.root_certificates",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        let mut serve = Command::new(build::host_binary());
        let serve = serve.arg("serve").env("MINDHOST_DATA_DIR", &data);
        let refused = serve.env("MINDHOST_LISTEN", "127.0.0.1:0").env(name, value);
        let refused = refused.output().unwrap();
        assert!(!refused.status.success(), "{name}");
        assert!(stderr(&refused).contains(message), "{}", stderr(&refused));
        assert!(!data.exists(), "{name}");
    }
}

#[test]
fn command_says_what_it_waits_for_while_its_store_is_away() {
    let dir = tempfile::tempdir().unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    for command in ["migrate", "serve"] {
        let output = Command::new(build::host_binary())
            .arg(command)
            .env("MINDHOST_DATA_DIR", dir.path())
            .env(
                "MINDHOST_DATABASE_URL",
                format!("postgres://u:secret@{address}/d"),
            )
            .env("MINDHOST_STORE__ACQUIRE_TIMEOUT", "2s")
            .output()
            .unwrap();
        assert!(!output.status.success(), "{command}");
        let text = stdout(&output) + &stderr(&output);
        let waits =
            format!("waiting up to 2 s for the PostgreSQL server at {address} (database_url)");
        assert!(text.contains(&waits) && !text.contains("secret"), "{text}");
    }
}

#[test]
fn settings_are_printed_with_their_reasons_and_wrong_ones_are_refused() {
    let run = |args: &[&str], var: (&str, &str)| {
        Command::new(build::host_binary())
            .args(args)
            .env(var.0, var.1)
            .output()
            .unwrap()
    };
    let printed = stdout(&run(&["settings"], ("MINDHOST_X_UNUSED", "")));
    assert!(printed.contains("\n[server]\n") && printed.contains("\nbody_limit = "));
    let effective = ["settings", "--effective"];
    let printed = stdout(&run(&effective, ("MINDHOST_SQL__PAGE_BYTES", "70000")));
    let line = "\nsql.page_bytes = 70000  # the environment variable MINDHOST_SQL__PAGE_BYTES\n";
    assert!(printed.contains(line), "{printed}");
    assert!(
        printed.contains("\nserver.body_limit = 4194304  # default\n"),
        "{printed}"
    );
    let key = "mh_123456789012345678901234";
    let printed = stdout(&run(&effective, ("MINDHOST_ADMIN_KEY", key)));
    assert!(printed.contains("admin_key = \"(set, not shown)\"") && !printed.contains(key));
    let refused = run(&["serve"], ("MINDHOST_SQL__STATEMENT_TIMEOUT", "soon"));
    assert!(!refused.status.success());
    assert!(stderr(&refused).contains("\"30s\""), "{}", stderr(&refused));
}
