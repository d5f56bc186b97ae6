//! Random pairs of workspaces: what one asks for with the names and ids of the other does not exist, and nothing of the
//! other's data is in any answer, whatever the route and however an id is spelled.

mod tenant;

use mindhost_tests::{Host, Reply, Value, json};
use reqwest::Method;

use self::tenant::Tenant;
use crate::{admission, openapi};

/// Workspaces on one host.
const TENANTS: usize = 4;
/// Pairs that each route is tried with.
const PAIRS: usize = 6;
/// The pairs are the same in every run.
const SEED: u64 = 7;

/// Numbers that look random (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % end as u64).unwrap()
    }

    fn flip(&mut self) -> bool {
        self.below(2) == 0
    }

    /// Who asks, and whose it is.
    fn pair<'a>(&mut self, tenants: &'a [Tenant]) -> (&'a Tenant, &'a Tenant) {
        let first = self.below(tenants.len());
        let second = (first + 1 + self.below(tenants.len() - 1)) % tenants.len();
        (&tenants[first], &tenants[second])
    }

    /// An id in one of the ways in which it may be written.
    fn spelled(&mut self, prefix: &str, id: &str) -> String {
        match self.below(4) {
            0 => format!("{prefix}{id}"),
            1 => id.to_uppercase(),
            2 => id.replace('-', ""),
            _ => id.to_owned(),
        }
    }
}

async fn tenants(host: &Host) -> Vec<Tenant> {
    let mut all = Vec::new();
    for index in 0..TENANTS {
        all.push(Tenant::populate(host, index).await);
    }
    all
}

/// A path with what belongs to another, or in its first part to the one who asks.
fn path(template: &str, asker: &Tenant, owner: &Tenant, dice: &mut Dice) -> String {
    let nested = template.contains("{item_id}") || template.contains("{table_name}");
    let first = if nested && dice.flip() { asker } else { owner };
    let kind = template.split('/').nth(3).unwrap_or_default();
    let id = match kind {
        "responses" => dice.spelled("resp_", &first.response),
        "conversations" => dice.spelled("conv_", &first.conversation),
        _ => owner.key_id.clone(),
    };
    let name = match kind {
        "datasources" => &first.datasource,
        "providers" => &first.provider,
        _ => &first.mind,
    };
    template
        .replace("{name}", name)
        .replace("{id}", &id)
        .replace("{item_id}", &dice.spelled("msg_", &owner.message))
        .replace("{table_name}", &owner.table)
        .replace("{column_name}", &owner.column)
}

#[track_caller]
fn tells_nothing(reply: &Reply, what: &str, secrets: &[String]) {
    let headers = format!("{:?}", reply.headers);
    let body = reply.text();
    for secret in secrets {
        assert!(
            !body.contains(secret) && !headers.contains(secret),
            "{what} tells {secret}: {headers} {body}"
        );
    }
}

#[tokio::test]
async fn no_route_knows_the_ids_of_another_workspace() {
    let host = Host::start().await;
    let tenants = tenants(&host).await;
    let before = tenant::shown(&host, &tenants).await;
    let dice = &mut Dice(SEED);
    let mut tried = 0;
    for operation in openapi::operations(&host).await {
        let takes_ids = operation.path.contains('{') && !operation.path.contains("{engine}");
        if !takes_ids || operation.role.as_deref() == Some("operator") {
            continue;
        }
        let body = admission::body(&operation);
        for _ in 0..PAIRS {
            let (asker, owner) = dice.pair(&tenants);
            let path = path(&operation.path, asker, owner, dice);
            let (key, expected): (_, &[u16]) = match dice.flip() {
                true => (&asker.admin, &[404]),
                // Whose role is too small is told so before anything is looked for.
                false => (&asker.user, &[404, 403]),
            };
            let method = operation.method.parse::<Method>().unwrap();
            let request = host.request(method, &path).key(key);
            let reply = match &body {
                Value::Null => request.await,
                body => request.json(body).await,
            };
            let what = format!("{} {path}", operation.method);
            assert!(
                expected.contains(&reply.status),
                "{what}: {} {}",
                reply.status,
                reply.text()
            );
            tells_nothing(&reply, &what, std::slice::from_ref(&owner.marker));
            tried += 1;
        }
    }
    assert!(tried > 150, "{tried}");
    assert_eq!(
        tenant::shown(&host, &tenants).await,
        before,
        "nothing was changed"
    );
}

#[tokio::test]
async fn no_body_and_no_parameter_reaches_into_another_workspace() {
    let host = Host::start().await;
    let tenants = tenants(&host).await;
    let before = tenant::shown(&host, &tenants).await;
    let dice = &mut Dice(SEED);
    for _ in 0..PAIRS {
        let (asker, owner) = dice.pair(&tenants);
        for (path, body, status) in bodies(asker, owner, dice) {
            let reply = host.post(path, body.clone()).key(&asker.admin).await;
            let what = format!("POST {path} {body}");
            assert_eq!(reply.status, status, "{what}: {}", reply.text());
            tells_nothing(&reply, &what, std::slice::from_ref(&owner.marker));
        }
        for path in parameters(asker, owner, dice) {
            let reply = host.get(&path).key(&asker.admin).await;
            assert!(
                [200, 400, 404].contains(&reply.status),
                "{path}: {}",
                reply.text()
            );
            tells_nothing(&reply, &path, std::slice::from_ref(&owner.marker));
        }
        for (tool, arguments) in tools(owner, dice) {
            let params = json!({"name": tool, "arguments": arguments});
            let message =
                json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
            let request = host.request(Method::POST, "/mcp").key(&asker.admin);
            let request = request.header("accept", "application/json, text/event-stream");
            let reply = request.json(&message).await.expect_status(200);
            assert_eq!(
                reply.json()["result"]["isError"],
                true,
                "{tool}: {}",
                reply.text()
            );
            tells_nothing(&reply, tool, std::slice::from_ref(&owner.marker));
        }
    }
    assert_eq!(
        tenant::shown(&host, &tenants).await,
        before,
        "nothing was changed"
    );
}

#[tokio::test]
async fn no_list_has_anything_of_another_workspace() {
    let host = Host::start().await;
    let tenants = tenants(&host).await;
    let operations = openapi::operations(&host).await;
    let lists = operations.iter().filter(|one| {
        one.method == "GET"
            && !one.path.contains('{')
            && one.role.as_deref().is_some_and(|role| role != "operator")
    });
    let lists: Vec<_> = lists.collect();
    assert!(lists.len() >= 8, "{}", lists.len());
    for list in lists {
        for asker in &tenants {
            let reply = host
                .request(Method::GET, &list.path)
                .key(&asker.admin)
                .await;
            let reply = reply.expect_status(200);
            for owner in tenants.iter().filter(|owner| owner.marker != asker.marker) {
                tells_nothing(&reply, &list.path, &owner.secrets());
            }
        }
    }
}

/// What is sent, and what it comes to.
fn bodies(asker: &Tenant, owner: &Tenant, dice: &mut Dice) -> Vec<(&'static str, Value, u16)> {
    let conversation = dice.spelled("conv_", &owner.conversation);
    let response = dice.spelled("resp_", &owner.response);
    let message = dice.spelled("msg_", &owner.message);
    let question = |fields: Value| {
        let mut body = json!({"model": asker.mind, "input": "How many?"});
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        body
    };
    let chat = json!([{"role": "user", "content": "How many?"}]);
    let items =
        json!([{"type": "item_reference", "id": message}, {"role": "user", "content": "Go on."}]);
    let sql =
        |sql: String| json!({"model": asker.mind, "tools": [{"type": "sql_query", "query": sql}]});
    let file = json!({"path": format!("../{}/{}.db", owner.workspace, owner.datasource)});
    vec![
        ("/responses", question(json!({"model": owner.mind})), 404),
        (
            "/responses",
            question(json!({"conversation": conversation})),
            404,
        ),
        (
            "/responses",
            question(json!({"conversation": {"id": conversation}})),
            404,
        ),
        (
            "/responses",
            question(json!({"previous_response_id": response})),
            404,
        ),
        ("/responses", question(json!({"input": items})), 404),
        (
            "/responses",
            sql(format!("SELECT * FROM {}", owner.table)),
            400,
        ),
        (
            "/chat/completions",
            json!({"model": owner.mind, "messages": chat}),
            404,
        ),
        (
            "/minds",
            json!({"name": "theirs", "datasources": [owner.datasource]}),
            422,
        ),
        (
            "/minds",
            json!({"name": "theirs", "datasources": [], "provider": owner.provider}),
            422,
        ),
        (
            "/keys",
            json!({"name": "theirs", "role": "user", "minds": [owner.mind]}),
            404,
        ),
        (
            "/datasources",
            json!({"name": "theirs", "engine": "sqlite", "connection_data": file}),
            400,
        ),
    ]
}

fn parameters(asker: &Tenant, owner: &Tenant, dice: &mut Dice) -> Vec<String> {
    let conversation = dice.spelled("conv_", &owner.conversation);
    let message = dice.spelled("msg_", &owner.message);
    vec![
        format!(
            "/datasources/{}/catalog?mind={}",
            asker.datasource, owner.mind
        ),
        format!("/conversations?after={conversation}"),
        format!(
            "/conversations/{}/items?after={message}",
            asker.conversation
        ),
        format!("/audit?key_id={}", owner.key_id),
        format!("/audit?after={}", owner.key_id),
        format!("/usage?key_id={}", owner.key_id),
    ]
}

fn tools(owner: &Tenant, dice: &mut Dice) -> [(&'static str, Value); 4] {
    let place = json!({
        "conversation": dice.spelled("conv_", &owner.conversation),
        "message": dice.spelled("msg_", &owner.message),
    });
    [
        ("describe_tables", json!({"mind": owner.mind})),
        ("ask", json!({"mind": owner.mind, "question": "How many?"})),
        ("run_sql", json!({"mind": owner.mind, "sql": "SELECT 1"})),
        ("read_page", place),
    ]
}
