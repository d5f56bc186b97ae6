//! What a model is told of a table with a policy, of a Mind or of a key: the catalog in the prompt, common values, and
//! what its tools find.

use mindhost_tests::{Host, ScriptedModel, Turn, Value, json};

/// Each text of `guests` stands often enough to be among the common values of its column.
const HOTEL: &str = "
    CREATE TABLE guests (id INTEGER PRIMARY KEY, tenant TEXT, town TEXT, mood TEXT, diet TEXT);
    INSERT INTO guests VALUES (1, 'acme', 'Bergen', 'cheerful', 'vegan'), (2, 'acme', 'Bergen', 'cheerful', 'vegan'),
        (3, 'rival', 'Valparaiso', 'furious', 'halal'), (4, 'rival', 'Valparaiso', 'furious', 'halal');
    CREATE TABLE rooms (id INTEGER PRIMARY KEY, guest INTEGER REFERENCES guests (id), view TEXT);
    INSERT INTO rooms VALUES (1, 1, 'garden'), (2, 3, 'garden');";

/// Whose policies are on the tables.
#[derive(Clone, Copy, Debug)]
enum Holder {
    Mind,
    Key,
}

/// A Mind that asks a scripted model, a key without policies, and one that is bound.
struct Hotel {
    host: Host,
    model: ScriptedModel,
    free: Option<String>,
    bound: String,
}

async fn key(host: &Host, policies: &Value) -> String {
    let body = json!({"name": "clerk", "role": "user", "attributes": {"tenant": "acme"}, "policies": policies});
    let made = host.post("/keys", body).await.expect_status(201).json();
    made["key"].as_str().unwrap().to_owned()
}

impl Hotel {
    async fn new(holder: Holder, rest: &Value) -> Self {
        let host = Host::start().await;
        host.sqlite("hotel", HOTEL).await.load().await;
        let model = ScriptedModel::start([]).await;
        host.scripted_provider("scripted", &model).await;
        let mind = host.mind("clerk").datasource("hotel").provider("scripted");
        mind.create().await;
        let mut policy = json!({"datasource": "hotel", "table": "guests"});
        for (name, value) in rest.as_object().unwrap() {
            policy[name] = value.clone();
        }
        let policies = json!([policy]);
        let (free, bound) = match holder {
            Holder::Key => (
                Some(key(&host, &json!([])).await),
                key(&host, &policies).await,
            ),
            Holder::Mind => {
                let set = host.put("/minds/clerk/policies", json!({"policies": policies}));
                set.await.expect_status(200);
                (None, key(&host, &json!([])).await)
            }
        };
        Self {
            host,
            model,
            free,
            bound,
        }
    }

    /// Everything that the model was told for one question: the prompt, and the results of its tools.
    async fn told(&self, key: &str, calls: &[(&str, Value)]) -> String {
        let calls = calls.iter();
        self.model
            .play(calls.map(|(tool, arguments)| Turn::call(tool, arguments.clone())));
        self.model.play([Turn::text("Done.")]);
        let body = json!({"model": "clerk", "input": "Which guests are in which town?"});
        let answered = self.host.post("/responses", body).key(key).await;
        answered.expect_status(200);
        assert_eq!(self.model.left(), 0);
        let asked = self.model.last();
        let messages = asked["messages"].as_array().unwrap().iter();
        // What the model itself said is no news to it.
        let told = messages.filter(|message| message["role"] != "assistant");
        told.map(|message| message["content"].to_string())
            .collect::<Vec<_>>()
            .join("\n")
    }
}

fn calls() -> Vec<(&'static str, Value)> {
    let find = |value: &str| ("find_values", json!({"value": value}));
    vec![
        ("search_catalog", json!({"query": "diet mood town"})),
        ("describe_tables", json!({"tables": ["guests", "rooms"]})),
        find("valpa"),
        find("furi"),
        find("hala"),
        find("veg"),
        (
            "run_sql",
            json!({"sql": "SELECT * FROM guests ORDER BY id"}),
        ),
    ]
}

/// The rows of one tenant, a hidden column and a masked one.
fn acme() -> Value {
    json!({"filter": "tenant = {{caller.tenant}}", "hidden": ["diet"], "masked": {"mood": {"text": "withheld"}}})
}

const ALL: [&str; 7] = [
    "rival",
    "Valparaiso",
    "furious",
    "halal",
    "cheerful",
    "vegan",
    "diet ",
];

#[tokio::test]
async fn model_of_an_unbound_key_is_told_everything() {
    let hotel = Hotel::new(Holder::Key, &acme()).await;
    let told = hotel.told(hotel.free.as_ref().unwrap(), &calls()).await;
    for value in ALL {
        assert!(told.contains(value), "{value}: {told}");
    }
}

#[tokio::test]
async fn prompt_and_tools_tell_nothing_that_a_policy_withholds() {
    for holder in [Holder::Mind, Holder::Key] {
        let hotel = Hotel::new(holder, &acme()).await;
        // What is kept for one key is not told to the other.
        for _ in 0..2 {
            if let Some(free) = &hotel.free {
                let told = hotel.told(free, &[]).await;
                assert!(told.contains("halal"), "{told}");
            }
            let told = hotel.told(&hotel.bound, &calls()).await;
            for value in ALL {
                assert!(!told.contains(value), "{holder:?}, {value}: {told}");
            }
            assert!(
                !told.contains("diet TEXT") && !told.contains("\"diet"),
                "{told}"
            );
            // What is allowed is there.
            assert!(told.contains("town TEXT"), "{holder:?}: {told}");
            assert!(
                told.contains("Bergen") && told.contains("withheld"),
                "{told}"
            );
        }
    }
}

#[tokio::test]
async fn prompt_has_no_values_of_a_masked_or_hidden_column() {
    let rest = json!({"hidden": ["diet"], "masked": {"mood": "last4"}});
    for holder in [Holder::Mind, Holder::Key] {
        let hotel = Hotel::new(holder, &rest).await;
        let told = hotel.told(&hotel.bound, &[]).await;
        // No rows are withheld, so the values of other columns are known.
        assert!(told.contains("Valparaiso"), "{holder:?}: {told}");
        for value in ["furious", "cheerful", "halal", "vegan", "diet"] {
            assert!(!told.contains(value), "{holder:?}, {value}: {told}");
        }
        let masked = json!({"value": "ious"});
        let told = hotel.told(&hotel.bound, &[("find_values", masked)]).await;
        assert!(!told.contains("furious"), "{holder:?}: {told}");
    }
}

#[tokio::test]
async fn prompt_has_no_values_of_a_table_of_which_rows_are_missing() {
    let rest = json!({"filter": "tenant = {{caller.tenant}}"});
    for holder in [Holder::Mind, Holder::Key] {
        let hotel = Hotel::new(holder, &rest).await;
        let told = hotel.told(&hotel.bound, &[]).await;
        for value in ["Valparaiso", "furious", "halal", "rival", "Bergen"] {
            assert!(!told.contains(value), "{holder:?}, {value}: {told}");
        }
        // Another table keeps its own.
        assert!(told.contains("garden"), "{holder:?}: {told}");
        let find = |value: &str| ("find_values", json!({"value": value}));
        let told = hotel.told(&hotel.bound, &[find("a"), find("rg")]).await;
        assert!(told.contains("Bergen"), "{holder:?}: {told}");
        for value in ["Valparaiso", "halal", "rival"] {
            assert!(!told.contains(value), "{holder:?}, {value}: {told}");
        }
    }
}

#[tokio::test]
async fn model_is_told_no_column_of_a_closed_table() {
    let rest = json!({"hidden": ["diet"]});
    for holder in [Holder::Mind, Holder::Key] {
        let hotel = Hotel::new(holder, &rest).await;
        let direct = rusqlite::Connection::open(hotel.host.files_dir().join("hotel.db")).unwrap();
        direct
            .execute_batch("ALTER TABLE guests RENAME COLUMN diet TO food")
            .unwrap();
        let refresh = json!({"mode": "all"});
        let path = "/datasources/hotel/catalog/refresh?wait=60";
        hotel.host.post(path, refresh).await.expect_status(200);
        let told = hotel.told(&hotel.bound, &calls()).await;
        for value in ["food", "halal", "vegan", "furious", "Valparaiso"] {
            assert!(!told.contains(value), "{holder:?}, {value}: {told}");
        }
    }
}
