mod upgrade;

use std::time::Duration;

use super::*;
use crate::{
    auth::Auth,
    secrets::{RotationLease, SecretKey},
};
use mindhost_store::now;

async fn write(store: &Store, sql: &'static str, id: &str, workspace: &str, bytes: Vec<u8>) {
    let query = sqlx::query(sql).bind(id.to_owned());
    let query = query.bind(workspace.to_owned()).bind(bytes);
    store.change(query).await.unwrap();
}

async fn key_row(store: &Store, id: &str, workspace: &str, text: &str) {
    let sql = "INSERT INTO keys (id, workspace_id, name, prefix, hash, role, created_at) \
               VALUES ($1, $2, 'x', '', $3, 'operator', 1)";
    write(store, sql, id, workspace, auth::hash(text).to_vec()).await;
}

async fn is_valid(store: &Store, keys: &SecretKeys, workspace: &str, text: &str) -> bool {
    let auth = Auth::new(store.clone(), keys.clone(), None, workspace);
    auth.await.unwrap().authenticate(text).await.is_ok()
}

async fn sealed(store: &Store) -> Vec<u8> {
    let query = sqlx::query_scalar("SELECT secrets FROM datasources");
    query.fetch_one(store.pool()).await.unwrap()
}

/// A store as an earlier version left it, with a key and a datasource, and the source of its secret key.
async fn earlier() -> (tempfile::TempDir, Store, String, Source) {
    let (dir, store, workspace) = mindhost_store::testing::temporary().await;
    let key = SecretKey::new([1; 32]);
    let path = dir.path().join("secrets.key");
    std::fs::write(&path, key.text().as_bytes()).unwrap();
    let keys = SecretKeys::single(key);
    let fact = "INSERT INTO host_facts (name, value) SELECT $1, $3 WHERE $2 <> ''";
    let check = keys.seal_unbound("host_facts", "secret_key_check", b"mindhost");
    write(&store, fact, "secret_key_check", &workspace, check).await;
    key_row(&store, "1", &workspace, "mh_earlier").await;
    let datasource = "INSERT INTO datasources (id, workspace_id, name, engine, description, connection_data, secrets, \
                      settings, created_at, modified_at) VALUES ($1, $2, 'shop', 'postgres', '', \
                      '{\"host\":\"db\",\"password\":\"********\"}', $3, '{}', 1, 1)";
    let secrets = keys.seal_unbound("datasources", "d", b"{\"password\":\"hunter2\"}");
    write(&store, datasource, "d", &workspace, secrets).await;
    (dir, store, workspace, Source::at(&path))
}

#[tokio::test]
async fn keys_of_an_earlier_version_stay_valid_and_rows_that_come_later_do_not_become_keys() {
    let (_dir, store, workspace, source) = earlier().await;
    let keys = open(&source, &store).await.unwrap();
    assert!(is_valid(&store, &keys, &workspace, "mh_earlier").await);
    assert!(keys.is_current(&sealed(&store).await));
    key_row(&store, "2", &workspace, "mh_later").await;
    let keys = open(&source, &store).await.unwrap();
    assert!(is_valid(&store, &keys, &workspace, "mh_earlier").await);
    assert!(!is_valid(&store, &keys, &workspace, "mh_later").await);
}

#[tokio::test]
async fn rotation_renews_all_rows_and_proofs() {
    let (dir, store, workspace, source) = earlier().await;
    let old = open(&source, &store).await.unwrap();
    let said = std::sync::Mutex::new(Vec::new());
    let say = |line| said.lock().unwrap().push(line);
    rotate(&source, &store, Duration::ZERO, say).await.unwrap();
    assert!(said.lock().unwrap().contains(&Progress::Done(
        "sealed 1 rows again and renewed the proofs of 1 keys".to_owned()
    )));
    let new = open(&source, &store).await.unwrap();
    assert_ne!(new.sealing(), old.sealing());
    assert_eq!(new.ids(), [new.sealing()]);
    assert!(new.is_current(&sealed(&store).await));
    assert!(is_valid(&store, &new, &workspace, "mh_earlier").await);
    assert!(!is_valid(&store, &old, &workspace, "mh_earlier").await);
    let retired = Source::at(&dir.path().join("secrets.key.retired"));
    let refused = open(&retired, &store).await.unwrap_err();
    assert!(matches!(refused, KeyError::Mismatch { .. }), "{refused}");
    // Once more, from a file that has one key.
    rotate(&source, &store, Duration::ZERO, |_| {})
        .await
        .unwrap();
    let newest = open(&source, &store).await.unwrap();
    assert!(is_valid(&store, &newest, &workspace, "mh_earlier").await);
    assert_eq!(retired.read().await.unwrap().len(), 2);
}

#[tokio::test]
async fn source_other_than_a_file_must_have_the_new_key_first() {
    let (dir, store, _, source) = earlier().await;
    let source = in_environment(dir.path(), &source.read().await.unwrap());
    let refused = rotate(&source, &store, Duration::ZERO, |_| {}).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("mindhost secrets generate"), "{refused}");
}

fn in_environment(dir: &std::path::Path, keys: &[SecretKey]) -> Source {
    let texts: Vec<_> = keys.iter().map(|key| key.text().to_string()).collect();
    let vars = [
        ("MINDHOST_SECRETS__KEY".to_owned(), texts.join(",")),
        ("MINDHOST_DATA_DIR".to_owned(), dir.display().to_string()),
    ];
    let config = mindhost_base::config::Config::from_env(vars).unwrap();
    Source::of(&config).unwrap()
}

/// A server of the store that has some keys and seals with the last of them, whatever the store says.
async fn stubborn_server(store: &Store, keys: &[SecretKey]) {
    let ids: Vec<_> = keys.iter().map(|key| key.id().to_string()).collect();
    let here = sqlx::query(
        "INSERT INTO secret_key_hosts (id, name, key_ids, sealing, seen_at) VALUES ('1', 'stubborn', $1, $2, $3)",
    );
    let here = here.bind(ids.join(" ")).bind(ids.last().cloned());
    store.record(here.bind(now())).await.unwrap();
}

#[tokio::test]
async fn rotation_interrupted_after_the_switch_continues_with_its_key() {
    for is_file in [true, false] {
        let (dir, store, workspace, file) = earlier().await;
        open(&file, &store).await.unwrap();
        let (new, old) = (SecretKey::new([2; 32]), SecretKey::new([1; 32]));
        let both = [new.clone(), old.clone()];
        let source = match is_file {
            true => {
                secrets::overwrite(file.file().unwrap(), &both).unwrap();
                file
            }
            false => in_environment(dir.path(), &both),
        };
        stubborn_server(&store, &both).await;
        let broken = rotate(&source, &store, Duration::ZERO, |_| {}).await;
        let broken = broken.unwrap_err().to_string();
        assert!(broken.contains("do not seal with the new key"), "{broken}");
        // Nothing is under the new key yet, though the store names it.
        let keys = open(&source, &store).await.unwrap();
        assert_eq!(keys.sealing(), new.id());
        assert!(!keys.is_current(&sealed(&store).await));

        let gone = sqlx::query("DELETE FROM secret_key_hosts");
        store.record(gone).await.unwrap();
        rotate(&source, &store, Duration::ZERO, |_| {})
            .await
            .unwrap();
        let source = match is_file {
            true => source,
            false => in_environment(dir.path(), std::slice::from_ref(&new)),
        };
        let keys = open(&source, &store).await.unwrap();
        assert_eq!(keys.ids(), [new.id()], "no third key");
        assert_eq!(keys.sealing(), new.id());
        assert!(keys.is_current(&sealed(&store).await));
        assert!(is_valid(&store, &keys, &workspace, "mh_earlier").await);
        assert_eq!(secrets::announced(&store).await.unwrap(), None);
    }
}

#[tokio::test]
async fn rows_that_an_older_key_still_seals_are_taken_along_before_another_key_is_made() {
    let (dir, store, workspace, source) = earlier().await;
    let old = open(&source, &store).await.unwrap();
    let before = sealed(&store).await;
    let olds = source.read().await.unwrap();
    rotate(&source, &store, Duration::ZERO, |_| {})
        .await
        .unwrap();
    // A row that a server stored late, and a source that still has the older key.
    let late = sqlx::query("UPDATE datasources SET secrets = $1");
    store.change(late.bind(before)).await.unwrap();
    let new = source.read().await.unwrap();
    let both = in_environment(dir.path(), &[new, olds].concat());
    rotate(&both, &store, Duration::ZERO, |_| {}).await.unwrap();
    let keys = open(&source, &store).await.unwrap();
    assert_ne!(keys.sealing(), old.sealing());
    assert!(keys.is_current(&sealed(&store).await));
    assert!(is_valid(&store, &keys, &workspace, "mh_earlier").await);
    // Then there is nothing left to do without another key.
    let refused = rotate(&both, &store, Duration::ZERO, |_| {}).await;
    assert!(refused.unwrap_err().to_string().contains("put a new one"));
}

#[tokio::test]
async fn rotation_of_another_machine_is_not_continued_with_a_new_key() {
    let (_dir, store, _, source) = earlier().await;
    open(&source, &store).await.unwrap();
    let announced = SecretKey::new([2; 32]);
    secrets::announce(&store, announced.id()).await.unwrap();
    let refused = rotate(&source, &store, Duration::ZERO, |_| {}).await;
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains(&announced.id().to_string()) && refused.contains("put it there"),
        "{refused}"
    );
    assert_eq!(source.read().await.unwrap().len(), 1);
    // Wherever in the source it is.
    let old = source.read().await.unwrap().remove(0);
    let keys = [old, announced.clone()];
    secrets::overwrite(source.file().unwrap(), &keys).unwrap();
    rotate(&source, &store, Duration::ZERO, |_| {})
        .await
        .unwrap();
    let keys = open(&source, &store).await.unwrap();
    assert_eq!(keys.ids(), [announced.id()]);
}

#[tokio::test]
async fn rotations_take_turns_and_leave_the_key_in_use_in_the_file() {
    let (_dir, store, workspace, source) = earlier().await;
    open(&source, &store).await.unwrap();
    let other = RotationLease::take(&store).await.unwrap().unwrap();
    let refused = rotate(&source, &store, Duration::ZERO, |_| {}).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("another rotation"), "{refused}");
    assert_eq!(source.read().await.unwrap().len(), 1, "nothing was done");
    other.release(&store).await.unwrap();

    let wait = Duration::from_secs(60);
    let (one, two) = tokio::join!(
        rotate(&source, &store, wait, |_| {}),
        rotate(&source, &store, wait, |_| {}),
    );
    one.unwrap();
    two.unwrap();
    let keys = open(&source, &store).await.unwrap();
    assert_eq!(keys.ids(), [keys.sealing()]);
    assert!(keys.is_current(&sealed(&store).await));
    assert!(is_valid(&store, &keys, &workspace, "mh_earlier").await);
}

#[tokio::test]
async fn old_copy_of_the_store_is_not_upgraded_again() {
    for is_file in [true, false] {
        let (dir, store, workspace, file) = earlier().await;
        let check = store.fact("secret_key_check").await.unwrap().unwrap();
        let unbound = sealed(&store).await;
        let source = match is_file {
            true => file,
            false => in_environment(dir.path(), &file.read().await.unwrap()),
        };
        let keys = open(&source, &store).await.unwrap();

        // As somebody does who writes the store and has an old copy of it.
        key_row(&store, "2", &workspace, "mh_forged").await;
        let moved = sqlx::query(
            "UPDATE datasources SET secrets = $1, connection_data = '{\"host\":\"evil\",\"password\":\"********\"}'",
        );
        store.change(moved.bind(unbound)).await.unwrap();
        let forget = sqlx::query("DELETE FROM host_facts WHERE name = 'secret_key'");
        store.change(forget).await.unwrap();
        store.add_fact("secret_key_check", &check).await.unwrap();
        let refused = open(&source, &store).await.unwrap_err();
        assert!(
            matches!(refused, KeyError::AlreadyUpgraded { .. }),
            "{refused}"
        );
        SecretKeys::verify(&source, &store).await.unwrap_err();
        // Without the old check it starts, and takes nothing over.
        let forget = sqlx::query("DELETE FROM host_facts WHERE name LIKE 'secret_key%'");
        store.change(forget).await.unwrap();
        open(&source, &store).await.unwrap();
        assert!(!is_valid(&store, &keys, &workspace, "mh_forged").await);
        assert!(is_valid(&store, &keys, &workspace, "mh_earlier").await);
        assert!(!SecretKeys::is_bound(&sealed(&store).await));
    }
}
