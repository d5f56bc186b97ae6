use super::*;
use crate::{
    auth::{KeyPolicies, KeyPolicy},
    secrets::SecretKey,
};
use jiff::{SignedDuration, Timestamp};
use mindhost_plugin_api::TableRef;

fn new(role: Role) -> NewKey {
    NewKey {
        name: "test".to_owned(),
        role,
        minds: None,
        expires_at: None,
        compat: None,
        attributes: Default::default(),
        policies: Default::default(),
    }
}

fn keys() -> SecretKeys {
    SecretKeys::single(SecretKey::new([7; 32]))
}

fn policies() -> Arc<KeyPolicies> {
    let policy = KeyPolicy {
        datasource_id: "id".to_owned(),
        datasource: "shop".to_owned(),
        table: TableRef::new("main", "orders"),
        rule: serde_json::from_str(r#"{"hidden": ["margin"]}"#).unwrap(),
    };
    Arc::new(KeyPolicies::new(vec![policy]).unwrap())
}

fn code<T>(result: Result<T>) -> Option<Code> {
    result.err().map(|error| error.code())
}

#[tokio::test]
async fn key_is_valid_until_revoked_or_expired() {
    let (_dir, store, workspace) = mindhost_store::testing::temporary().await;
    let auth = Auth::new(store.clone(), keys(), None, &workspace)
        .await
        .unwrap();
    let (_, admin) = create(&store, &keys(), &workspace, new(Role::Admin))
        .await
        .unwrap();
    let (key, text) = create(&store, &keys(), &workspace, new(Role::User))
        .await
        .unwrap();
    let admin = auth.authenticate(&admin).await.unwrap();
    assert_eq!(auth.authenticate(&text).await.unwrap().role, Role::User);
    assert!(text.starts_with(&key.prefix) && text.len() > 40);
    auth.revoke_key(&admin, &key.id).await.unwrap();
    assert_eq!(
        code(auth.authenticate(&text).await),
        Some(Code::InvalidApiKey)
    );

    let until = |end| NewKey {
        expires_at: Some(end),
        ..new(Role::User)
    };
    let (past, soon) = (-SignedDuration::from_secs(1), SignedDuration::from_secs(4));
    let past = until(Timestamp::now() + past);
    assert_eq!(
        code(create(&store, &keys(), &workspace, past).await),
        Some(Code::InvalidParameter)
    );
    let end = Timestamp::now() + soon;
    let (_, text) = create(&store, &keys(), &workspace, until(end))
        .await
        .unwrap();
    while Timestamp::now() <= end {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(
        code(auth.authenticate(&text).await),
        Some(Code::InvalidApiKey)
    );
    assert_eq!(
        code(auth.authenticate("mh_unknown").await),
        Some(Code::InvalidApiKey)
    );
}

#[tokio::test]
async fn row_without_valid_proof_is_refused() {
    let (_dir, store, workspace) = mindhost_store::testing::temporary().await;
    let text = "mh_written_by_hand";
    let write = sqlx::query(
        "INSERT INTO keys (id, workspace_id, name, prefix, hash, role, created_at) \
         VALUES ('1', $1, 'by hand', '', $2, 'operator', 1)",
    );
    let write = write.bind(workspace.clone()).bind(hash(text).to_vec());
    store.change(write).await.unwrap();
    let auth = Auth::new(store.clone(), keys(), None, &workspace)
        .await
        .unwrap();
    assert_eq!(
        code(auth.authenticate(text).await),
        Some(Code::InvalidApiKey)
    );
    let renewed = rotate(&store, &keys(), None, &workspace, "1", None).await;
    assert_eq!(code(renewed), Some(Code::WrongState));

    for change in [
        "role = 'operator'",
        "workspace_id = (SELECT id FROM workspaces WHERE name = 'other')",
        "minds = NULL",
        "expires_at = NULL",
        "compat = 'minds-sdk'",
        "attributes = '{\"tenant\":\"other\"}'",
        "attributes = NULL",
        "policies = NULL",
        "policies = '[]'",
    ] {
        let limited = NewKey {
            minds: Some(vec!["m".to_owned()]),
            expires_at: Some(Timestamp::now() + SignedDuration::from_secs(60)),
            attributes: serde_json::from_str(r#"{"tenant": "own"}"#).unwrap(),
            policies: policies(),
            ..new(Role::User)
        };
        let (key, text) = create(&store, &keys(), &workspace, limited).await.unwrap();
        store.ensure_workspace("other").await.unwrap();
        let before = Auth::new(store.clone(), keys(), None, &workspace)
            .await
            .unwrap();
        assert!(before.authenticate(&text).await.is_ok());
        let sql = format!("UPDATE keys SET {change} WHERE id = $1");
        let changed = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(key.id);
        store.change(changed).await.unwrap();
        let after = Auth::new(store.clone(), keys(), None, &workspace)
            .await
            .unwrap();
        let refused = after.authenticate(&text).await;
        assert_eq!(code(refused), Some(Code::InvalidApiKey), "{change}");
    }
}

#[tokio::test]
async fn revoked_key_stays_revoked_when_its_row_is_edited() {
    let (_dir, store, workspace) = mindhost_store::testing::temporary().await;
    let (key, text) = create(&store, &keys(), &workspace, new(Role::User))
        .await
        .unwrap();
    revoke(&store, None, &workspace, &key.id).await.unwrap();
    let back = sqlx::query("UPDATE keys SET revoked_at = NULL WHERE id = $1");
    store.change(back.bind(key.id)).await.unwrap();
    let auth = Auth::new(store, keys(), None, &workspace).await.unwrap();
    assert_eq!(
        code(auth.authenticate(&text).await),
        Some(Code::InvalidApiKey)
    );
}

#[tokio::test]
async fn key_text_is_not_in_the_store() {
    let (dir, store, workspace) = mindhost_store::testing::temporary().await;
    let (_, text) = create(&store, &keys(), &workspace, new(Role::User))
        .await
        .unwrap();
    store.close().await;
    for entry in dir.path().read_dir().unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert_eq!(memchr::memmem::find(&bytes, text.as_bytes()), None);
    }
}

#[tokio::test]
async fn no_key_makes_a_wider_one_and_the_last_admin_stays() {
    let (_dir, store, workspace) = mindhost_store::testing::temporary().await;
    let auth = Auth::new(store.clone(), keys(), None, &workspace)
        .await
        .unwrap();
    let (listed, text) = create(&store, &keys(), &workspace, new(Role::Admin))
        .await
        .unwrap();
    let admin = auth.authenticate(&text).await.unwrap();
    assert_eq!(
        code(auth.create_key(&admin, new(Role::Operator)).await),
        Some(Code::Forbidden)
    );
    assert_eq!(
        code(auth.revoke_key(&admin, &listed.id).await),
        Some(Code::InUse)
    );

    let limited = Caller {
        minds: Some(vec!["m".to_owned()].into()),
        ..admin.clone()
    };
    assert_eq!(
        code(auth.create_key(&limited, new(Role::User)).await),
        Some(Code::Forbidden)
    );
    let user = Caller {
        role: Role::User,
        ..admin
    };
    assert_eq!(
        code(auth.create_key(&user, new(Role::User)).await),
        Some(Code::Forbidden)
    );
}

#[tokio::test]
async fn rotation_ends_the_use_of_the_old_text_only() {
    let (_dir, store, workspace) = mindhost_store::testing::temporary().await;
    let auth = Auth::new(store.clone(), keys(), None, &workspace)
        .await
        .unwrap();
    let (_, admin) = create(&store, &keys(), &workspace, new(Role::Admin))
        .await
        .unwrap();
    let (key, text) = create(&store, &keys(), &workspace, new(Role::User))
        .await
        .unwrap();
    let admin = auth.authenticate(&admin).await.unwrap();
    let old = auth.authenticate(&text).await.unwrap().used_key();
    assert!(ended(&store, vec![old.clone()]).await.unwrap().is_empty());
    let (_, text) = auth.rotate_key(&admin, &key.id, None).await.unwrap();
    let new = auth.authenticate(&text).await.unwrap().used_key();
    let both = vec![old.clone(), new];
    assert_eq!(ended(&store, both.clone()).await.unwrap(), [old]);
    auth.revoke_key(&admin, &key.id).await.unwrap();
    assert_eq!(ended(&store, both.clone()).await.unwrap(), both);
}

#[tokio::test]
async fn first_key_is_created_once_and_only_after_hand_over() {
    let (_dir, store, workspace) = mindhost_store::testing::temporary().await;
    let refused = first_key(&store, &keys(), &workspace, |_| {
        Err(std::io::ErrorKind::StorageFull.into())
    })
    .await;
    assert_eq!(code(refused), Some(Code::Internal));
    let mut handed = String::new();
    let keep = |text: &str| {
        handed = text.to_owned();
        Ok(())
    };
    assert!(first_key(&store, &keys(), &workspace, keep).await.unwrap());
    assert!(
        !first_key(&store, &keys(), &workspace, |_| Ok(()))
            .await
            .unwrap()
    );
    let auth = Auth::new(store, keys(), None, &workspace).await.unwrap();
    assert_eq!(
        auth.authenticate(&handed).await.unwrap().role,
        Role::Operator
    );
}

#[tokio::test]
async fn configured_key_is_valid_while_set() {
    let (_dir, store, workspace) = mindhost_store::testing::temporary().await;
    let text = "a key of at least 24 characters";
    let auth = Auth::new(store.clone(), keys(), Some(text), &workspace)
        .await
        .unwrap();
    let caller = auth.authenticate(text).await.unwrap();
    assert_eq!(caller.role, Role::Operator);
    assert!(
        list(&store, &workspace)
            .await
            .unwrap()
            .iter()
            .any(|key| *key.id == *caller.key_id)
    );
    let auth = Auth::new(store.clone(), keys(), None, &workspace)
        .await
        .unwrap();
    assert_eq!(
        code(auth.authenticate(text).await),
        Some(Code::InvalidApiKey)
    );
}

#[tokio::test]
async fn last_use_is_written_in_the_background() {
    let (_dir, store, workspace) = mindhost_store::testing::temporary().await;
    let (_, text) = create(&store, &keys(), &workspace, new(Role::User))
        .await
        .unwrap();
    let auth = Auth::new(store.clone(), keys(), None, &workspace)
        .await
        .unwrap();
    auth.authenticate(&text).await.unwrap();
    auth.close().await;
    let keys = list(&store, &workspace).await.unwrap();
    assert!(keys[0].last_used_at.is_some());
}

#[tokio::test]
async fn policies_of_a_key_are_found_with_it_and_are_for_users() {
    let (_dir, store, workspace) = mindhost_store::testing::temporary().await;
    let auth = Auth::new(store.clone(), keys(), None, &workspace)
        .await
        .unwrap();
    let with = |role| NewKey {
        policies: policies(),
        ..new(role)
    };
    let made = create(&store, &keys(), &workspace, with(Role::User)).await;
    let (key, text) = made.unwrap();
    assert_eq!(auth.authenticate(&text).await.unwrap().policies, policies());
    assert_eq!(
        list(&store, &workspace).await.unwrap()[0].policies,
        policies()
    );
    let rotated = rotate(&store, &keys(), None, &workspace, &key.id, None).await;
    let (_, text) = rotated.unwrap();
    assert_eq!(auth.authenticate(&text).await.unwrap().policies, policies());
    for role in [Role::Editor, Role::Admin, Role::Operator] {
        let refused = create(&store, &keys(), &workspace, with(role)).await;
        assert_eq!(code(refused), Some(Code::InvalidParameter));
    }
}
