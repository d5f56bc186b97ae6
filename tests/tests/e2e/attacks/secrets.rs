//! Somebody can write the store, or stands between the server and a database, and wants rights or passwords.

use std::{
    io::{Read, Write},
    net::{IpAddr, TcpListener, UdpSocket},
    sync::{Arc, Mutex},
    thread,
};

use mindhost_tests::{Builder, Host, Postgres, Value, json};
use sha2::{Digest, Sha256};

/// The store as somebody with another program sees it.
fn store(host: &Host) -> rusqlite::Connection {
    let path = host.data_dir().join("mindhost.db");
    let store = rusqlite::Connection::open(path).unwrap();
    store
        .busy_timeout(std::time::Duration::from_secs(10))
        .unwrap();
    store
}

fn hash(key: &str) -> Vec<u8> {
    Sha256::digest(key.as_bytes()).to_vec()
}

async fn make_key(host: &Host, role: &str) -> (String, String) {
    let made = host
        .post("/keys", json!({"name": role, "role": role}))
        .await;
    let made = made.expect_status(201).json();
    let text = |field: &str| made[field].as_str().unwrap().to_owned();
    (text("id"), text("key"))
}

fn run(host: &Host, args: &[&str]) -> String {
    let output = host.command(args).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn row_that_is_written_into_the_store_is_no_key() {
    let host = Host::start().await;
    let (id, user) = make_key(&host, "user").await;
    store(&host)
        .execute_batch("UPDATE keys SET last_used_at = 1")
        .unwrap();
    let forged = "mh_forged_by_whoever_can_write_the_store";
    store(&host)
        .execute(
            "INSERT INTO keys (id, workspace_id, name, prefix, hash, role, created_at) \
             SELECT 'forged', id, 'forged', '', ?1, 'operator', 1 FROM workspaces",
            [hash(forged)],
        )
        .unwrap();
    host.get("/minds")
        .key(forged)
        .await
        .expect_error(401, "invalid_api_key");
    // Not with the proof of another key, nor after a restart.
    store(&host)
        .execute(
            "UPDATE keys SET proof = (SELECT proof FROM keys WHERE id = ?1) WHERE id = 'forged'",
            [&id],
        )
        .unwrap();
    host.restart().await;
    host.get("/minds").key(forged).await.expect_status(401);
    host.get("/minds").key(&user).await.expect_status(200);
    // Their own key gets no other role either.
    store(&host)
        .execute("UPDATE keys SET role = 'operator' WHERE id = ?1", [&id])
        .unwrap();
    host.restart().await;
    host.get("/workspaces").key(&user).await.expect_status(401);
    assert!(host.log().contains("was changed, without the secret key"));
    // Nor does the command line make it good.
    let output = host
        .command(&["keys", "rotate", "forged"])
        .output()
        .unwrap();
    assert!(!output.status.success());
}

#[tokio::test]
async fn store_that_was_made_to_look_old_gets_no_proofs() {
    let host = Host::start().await;
    let forged = "mh_forged_by_whoever_can_write_the_store";
    host.shut_down().await;
    let store = store(&host);
    store
        .execute(
            "INSERT INTO keys (id, workspace_id, name, prefix, hash, role, created_at) \
             SELECT 'forged', id, 'forged', '', ?1, 'operator', 1 FROM workspaces",
            [hash(forged)],
        )
        .unwrap();
    // Only the first start of a version with proofs proves what it finds, and this is how a store before it looks.
    store
        .execute_batch("DELETE FROM host_facts WHERE name LIKE 'secret_key%'")
        .unwrap();
    drop(store);
    host.restart().await;
    host.get("/minds").key(forged).await.expect_status(401);
}

/// A secret key, and what an earlier version sealed with it: its check of the key, and `{"password":"hunter2"}` of the
/// datasource `ds-shop`. A backup from before the upgrade has both.
const EARLIER_KEY: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
const EARLIER_CHECK: &str = "070707070707070707070707070707070707070707070707264334d1c5759264b5f0d2f564dde0ea1dd3d08cb8adddde";
const EARLIER_SECRETS: &str = "07070707070707070707070707070707070707070707070730082ad4de69967f0fcc4f73d0edfa8db29ce9f83f010069c44fad4e6055d2faa9086fed2afb";

/// A server under that key, which has seen its store settled, and is shut down.
async fn earlier(folder: &std::path::Path) -> (Host, String) {
    let file = folder.join("secrets.key");
    std::fs::write(&file, EARLIER_KEY).unwrap();
    let host = without_plugins(folder)
        .env("MINDHOST_SECRETS__KEY_FILE", file.to_str().unwrap())
        .start()
        .await;
    let (_, user) = make_key(&host, "user").await;
    assert!(host.shut_down().await);
    (host, user)
}

#[tokio::test]
async fn old_copy_of_the_store_makes_no_operator() {
    let folder = tempfile::tempdir().unwrap();
    let (host, user) = earlier(folder.path()).await;
    let forged = "mh_forged_by_whoever_can_write_the_store";
    let written = store(&host);
    written
        .execute(
            "INSERT INTO keys (id, workspace_id, name, prefix, hash, role, created_at) \
             SELECT 'forged', id, 'forged', '', ?1, 'operator', 1 FROM workspaces",
            [hash(forged)],
        )
        .unwrap();
    written
        .execute_batch(&format!(
            "DELETE FROM host_facts WHERE name = 'secret_key'; \
             INSERT INTO host_facts (name, value) VALUES ('secret_key_check', x'{EARLIER_CHECK}')"
        ))
        .unwrap();
    drop(written);
    // The check value fits the current key, and yet the store is not upgraded again.
    for args in [&["keys", "create", "mine"][..], &["serve"]] {
        let output = host.command(args).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{args:?}");
        assert!(
            told.contains("was already upgraded under"),
            "{args:?}: {told}"
        );
    }
    let proven = "SELECT count(*) FROM keys WHERE id = 'forged' AND proof IS NOT NULL";
    let proven: i64 = store(&host)
        .query_row(proven, [], |row| row.get(0))
        .unwrap();
    assert_eq!(proven, 0);
    // Whoever takes the check out again has the server as it was.
    store(&host)
        .execute_batch("DELETE FROM host_facts WHERE name = 'secret_key_check'")
        .unwrap();
    host.restart().await;
    host.get("/minds").key(forged).await.expect_status(401);
    host.get("/minds").key(&user).await.expect_status(200);
}

#[tokio::test]
async fn old_copy_of_a_password_is_not_bound_to_another_destination() {
    let folder = tempfile::tempdir().unwrap();
    let (host, _) = earlier(folder.path()).await;
    let data =
        r#"{"host":"evil.example","port":5432,"user":"u","password":"********","database":"d"}"#;
    store(&host)
        .execute_batch(&format!(
            "INSERT INTO datasources (id, workspace_id, name, engine, description, connection_data, secrets, settings, \
             created_at, modified_at) SELECT 'ds-shop', id, 'shop', 'postgres', '', '{data}', x'{EARLIER_SECRETS}', '{{}}', 1, 1 \
             FROM workspaces; DELETE FROM host_facts WHERE name LIKE 'secret_key%'"
        ))
        .unwrap();
    host.restart().await;
    // What is bound begins with a mark.
    let sql = "SELECT hex(secrets) FROM datasources";
    let secrets: String = store(&host).query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(secrets.to_lowercase(), EARLIER_SECRETS);
}

#[tokio::test]
async fn sealed_password_opens_for_its_row_and_destination_alone() {
    let database = Postgres::shared()
        .database("CREATE TABLE item (id int PRIMARY KEY)")
        .await;
    let host = Host::start().await;
    host.postgres("shop", &database).await;
    let trap = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = trap.local_addr().unwrap().port();
    let check = async |host: &Host, name: &str| {
        let path = format!("/datasources/{name}?check_connection=true");
        host.get(&path).await
    };
    let works = check(&host, "shop").await.expect_status(200).json();
    assert_eq!(
        works["connection_status"]["success"],
        json!(true),
        "{works}"
    );

    // Its destination is changed, or it is copied into a row that leads elsewhere.
    store(&host)
        .execute_batch(&format!(
            "INSERT INTO datasources SELECT 'copy', workspace_id, 'copy', engine, description, \
             json_set(connection_data, '$.port', {port}), secrets, settings, created_at, modified_at FROM datasources; \
             UPDATE datasources SET connection_data = json_set(connection_data, '$.port', {port}) WHERE name = 'shop';"
        ))
        .unwrap();
    host.restart().await;
    trap.set_nonblocking(true).unwrap();
    for name in ["shop", "copy"] {
        let found = check(&host, name).await;
        let is_refused =
            found.status == 500 || found.json()["connection_status"]["success"] == json!(false);
        assert!(is_refused, "{}", found.text());
        assert!(!found.text().contains(&database.password));
    }
    assert!(trap.accept().is_err(), "the password was not sent there");
}

#[tokio::test]
async fn leaked_secret_key_is_worth_nothing_after_a_rotation_while_serving() {
    let database = Postgres::shared()
        .database("CREATE TABLE item (id int PRIMARY KEY); INSERT INTO item VALUES (1)")
        .await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secrets.key");
    // Compiled plugins are sealed with the key too, so they are not shared with other servers.
    let cache = folder.path().join("cache");
    let host = Host::builder()
        .env("MINDHOST_SECRETS__KEY_FILE", file.to_str().unwrap())
        .env("MINDHOST_PLUGINS__CACHE_DIR", cache.to_str().unwrap())
        .env("MINDHOST_PLUGINS__COMPILER", "winch");
    let host = host.start().await;
    let (_, user) = make_key(&host, "user").await;
    host.postgres("shop", &database).await.load().await;
    let mind = host.mind("clerk").datasource("shop").direct_queries();
    let mind = mind.create().await;
    let leaked = std::fs::read_to_string(&file).unwrap();
    let sealed = |host: &Host| -> Vec<u8> {
        let sql = "SELECT secrets FROM datasources";
        store(host).query_row(sql, [], |row| row.get(0)).unwrap()
    };
    let before = sealed(&host);

    let told = run(&host, &["secrets", "rotate"]);
    assert!(told.contains("holds only the new key"), "{told}");
    assert_ne!(sealed(&host), before);
    // The server went on, and a restart finds everything.
    for _ in 0..2 {
        assert_eq!(mind.rows("SELECT id FROM item").await, [[json!(1)]]);
        host.get("/minds").key(&user).await.expect_status(200);
        make_key(&host, "user").await;
        host.restart().await;
    }
    assert!(
        !std::fs::read_to_string(&file)
            .unwrap()
            .contains(leaked.trim())
    );

    // With the old key alone nothing opens, and the server does not start.
    let leaked_file = folder.path().join("leaked.key");
    std::fs::write(&leaked_file, &leaked).unwrap();
    let mut doctor = host.command(&["doctor"]);
    let told = doctor.env("MINDHOST_SECRETS__KEY_FILE", &leaked_file);
    let told = told.output().unwrap();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(
        told.contains("is not the one this store was written with"),
        "{told}"
    );
    assert!(host.shut_down().await);
    for args in [&["keys", "create", "mine"][..], &["serve"]] {
        let mut start = host.command(args);
        let start = start.env("MINDHOST_SECRETS__KEY_FILE", &leaked_file);
        let output = start.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{args:?}");
        assert!(
            told.contains("is not the one this store was written with"),
            "{args:?}: {told}"
        );
    }
}

#[tokio::test]
async fn server_that_lacks_the_new_key_holds_a_rotation_up_and_goes_on() {
    let database = Postgres::shared().database("").await;
    let password = database.password.replace(' ', "%20");
    let url = format!(
        "postgres://{}:{password}@127.0.0.1:{}/{}",
        database.name, database.port, database.name
    );
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = ["one.key", "other.key"].map(|name| folder.path().join(name));
    let first = without_plugins(folder.path())
        .env("MINDHOST_DATABASE_URL", &url)
        .env("MINDHOST_SECRETS__KEY_FILE", one.to_str().unwrap())
        .start()
        .await;
    std::fs::copy(&one, &other).unwrap();
    let second = without_plugins(folder.path())
        .env("MINDHOST_DATABASE_URL", &url)
        .env("MINDHOST_SECRETS__KEY_FILE", other.to_str().unwrap())
        .start()
        .await;
    let (_, user) = make_key(&first, "user").await;

    let refused = first
        .command(&["secrets", "rotate", "--wait", "8"])
        .output();
    let refused = refused.unwrap();
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && told.contains("do not have the secret key"),
        "{told}"
    );
    assert!(told.contains("s for these servers: "), "{told}");
    for host in [&first, &second] {
        host.get("/minds").key(&user).await.expect_status(200);
    }
    // The operator hands it over, and the same command goes on.
    std::fs::copy(&one, &other).unwrap();
    run(&first, &["secrets", "rotate"]);
    for host in [&first, &second] {
        host.get("/minds").key(&user).await.expect_status(200);
        let (_, made) = make_key(host, "user").await;
        for host in [&first, &second] {
            host.get("/minds").key(&made).await.expect_status(200);
        }
    }
}

#[tokio::test]
async fn secret_key_comes_from_the_environment_or_a_command() {
    let host = Host::start().await;
    let (old, new) = (
        run(&host, &["secrets", "generate"]),
        run(&host, &["secrets", "generate"]),
    );
    let (old, new) = (old.trim(), new.trim());
    let folder = tempfile::tempdir().unwrap();
    let host = without_plugins(folder.path())
        .env("MINDHOST_SECRETS__KEY_FILE", "")
        .env("MINDHOST_SECRETS__KEY", format!("{new},{old}"));
    let host = host.start().await;
    make_key(&host, "user").await;
    let doctor = host.command(&["doctor"]).output().unwrap();
    let told = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(told.contains("secrets.key is that of the store"), "{told}");
    let file = folder.path().join("vault");
    std::fs::write(&file, old).unwrap();
    let by_command = without_plugins(folder.path())
        .env("MINDHOST_SECRETS__KEY_FILE", "")
        .env(
            "MINDHOST_SECRETS__KEY_COMMAND",
            format!("cat,{}", file.display()),
        )
        .start()
        .await;
    let (_, user) = make_key(&by_command, "user").await;
    // The vault gets a new key, and the server asks it again.
    std::fs::write(&file, format!("{new}\n{old}\n")).unwrap();
    let told = run(&by_command, &["secrets", "rotate"]);
    assert!(told.contains("take the other keys out"), "{told}");
    std::fs::write(&file, new).unwrap();
    by_command.restart().await;
    by_command.get("/minds").key(&user).await.expect_status(200);
}

/// A server with a secret key of its own, which compiles nothing: compiled plugins are sealed with the key.
fn without_plugins(folder: &std::path::Path) -> Builder {
    let plugins = folder.join("no plugins");
    std::fs::create_dir_all(&plugins).unwrap();
    Host::builder().env("MINDHOST_PLUGINS_DIR", plugins.to_str().unwrap())
}

/// A PostgreSQL server that asks for the password in clear, as somebody in between would; what it was sent.
fn impostor(asks: &'static [u8]) -> (IpAddr, u16, Arc<Mutex<Vec<u8>>>) {
    let probe = UdpSocket::bind("0.0.0.0:0").unwrap();
    probe.connect("192.0.2.1:9").unwrap();
    let own = probe.local_addr().unwrap().ip();
    let listener = TcpListener::bind((own, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = heard.clone();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let hears = hears.clone();
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                let mut has_asked = false;
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    hears.lock().unwrap().extend_from_slice(&buffer[..count]);
                    // The request for TLS is eight bytes; this server has none.
                    let answer: &[u8] = match (count, has_asked) {
                        (8, false) => b"N",
                        _ => asks,
                    };
                    has_asked = answer != b"N";
                    if stream.write_all(answer).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (own, port, heard)
}

#[tokio::test]
async fn server_that_nobody_verified_does_not_get_the_password() {
    let host = Host::start().await;
    // Authentication requests: in clear, and as md5 with a salt.
    for asks in [&b"R\0\0\0\x08\0\0\0\x03"[..], b"R\0\0\0\x0c\0\0\0\x05salt"] {
        let (own, port, heard) = impostor(asks);
        assert!(!own.is_loopback(), "this machine has another address");
        let password = "hunter2 of the shop";
        for sslmode in ["prefer", "disable", "allow"] {
            let data = json!({
                "host": own, "port": port, "user": "u", "password": password, "database": "d",
                "sslmode": sslmode,
            });
            let mut body = json!({"name": "shop", "engine": "postgres", "connection_data": data});
            let refused = host.post("/datasources", body.clone()).await;
            let error = refused.expect_error(400, "connection_failed");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("allow_plain_password"), "{message}");
            let found = |what: &[u8]| {
                let heard = heard.lock().unwrap();
                heard.windows(what.len()).any(|window| window == what)
            };
            assert!(!found(password.as_bytes()) && !found(b"md5"), "{sslmode}");
            if sslmode == "allow" {
                // With the setting it is sent.
                body["connection_data"]["allow_plain_password"] = Value::Bool(true);
                host.post("/datasources", body).await.expect_status(400);
                assert!(found(password.as_bytes()) || found(b"md5"));
            }
        }
    }
}
