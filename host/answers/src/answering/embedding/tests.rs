use async_trait::async_trait;
use mindhost_plugin_api::{Completion, Manifest, ModelRequest, Plugin};
use mindhost_retrieval::{Knowledge, Table};
use serde_json::json;

use super::*;

/// A vendor with vectors of two numbers: whether a text speaks of birds.
struct Fake {
    manifest: Manifest,
    does: Mutex<Does>,
    asked: Mutex<Vec<usize>>,
}

#[derive(Clone, Copy)]
enum Does {
    /// Vectors of two numbers.
    Works,
    Fails,
    /// It takes no text with this word.
    Refuses(&'static str),
    /// Vectors of three numbers.
    HasChanged,
}

impl Fake {
    fn of(world: &str, does: Does) -> Arc<Self> {
        let manifest = json!({
            "kind": "model", "name": "m", "title": "M", "version": "1.0.0", "wit": "0.1.0", "world": world,
            "connection_data": {}
        });
        Arc::new(Self {
            manifest: serde_json::from_value(manifest).unwrap(),
            does: Mutex::new(does),
            asked: Mutex::default(),
        })
    }

    fn asked(&self) -> Vec<usize> {
        lock(&self.asked).clone()
    }
}

impl Plugin for Fake {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn digest(&self) -> &str {
        "d"
    }
}

#[async_trait]
impl Model for Fake {
    async fn check(&self, _: &Target, _: &Call) -> Result<String> {
        Err(Error::internal("not asked"))
    }

    async fn models(&self, _: &Target, _: &Call) -> Result<Vec<String>> {
        Err(Error::internal("not asked"))
    }

    async fn start(&self, _: &Target, _: ModelRequest, _: &Call) -> Result<Box<dyn Completion>> {
        Err(Error::internal("not asked"))
    }

    async fn embed(
        &self,
        _: &Target,
        _: &str,
        texts: &[String],
        _: &Call,
    ) -> Result<Vec<Vec<f32>>> {
        lock(&self.asked).push(texts.len());
        let does = *lock(&self.does);
        let more = match does {
            Does::Works => &[][..],
            Does::Fails => return Err(Error::new(Code::UpstreamError, "out of memory")),
            Does::Refuses(word) if texts.iter().any(|text| text.contains(word)) => {
                return Err(Error::new(Code::ContextLengthExceeded, "too long"));
            }
            Does::Refuses(_) => &[],
            Does::HasChanged => &[0.5],
        };
        let is_bird = |text: &String| text.contains("sparrow") || text.contains("bird");
        let vector = |text| {
            let numbers = match is_bird(text) {
                true => [1.0, 0.0],
                false => [0.0, 1.0],
            };
            [&numbers, more].concat()
        };
        Ok(texts.iter().map(vector).collect())
    }
}

fn target(connection_data: serde_json::Value) -> Target {
    let connection_data = connection_data.as_object().cloned().unwrap_or_default();
    Target {
        id: "t".to_owned(),
        workspace: "w".to_owned(),
        folder: "w".to_owned(),
        name: "vendor".to_owned(),
        connection_data: Arc::new(connection_data),
        max_connections: 1,
    }
}

fn embedder(fake: &Arc<Fake>) -> Embedder {
    let model: Arc<dyn Model> = Arc::clone(fake) as Arc<dyn Model>;
    Embedder::of(&model, &target(json!({"embedding_model": "e"}))).unwrap()
}

fn index(names: &[&str]) -> Arc<Index> {
    let table = |name: &&str| Table {
        name: (*name).to_owned(),
        ..Table::default()
    };
    Arc::new(Index::new(
        names.iter().map(table).collect(),
        &Knowledge::default(),
    ))
}

struct Host {
    tasks: TaskTracker,
    vectors: Arc<TableVectors>,
}

impl Host {
    fn new() -> Self {
        let tasks = TaskTracker::new();
        let vectors = TableVectors::new(&tasks, &CancellationToken::new());
        tasks.close();
        Self { tasks, vectors }
    }

    async fn nearest(&self, embedder: &Embedder, index: &Arc<Index>) -> Vec<u32> {
        let call = Call::new(Duration::from_secs(60), CancellationToken::new());
        let question = "Which birds are there?";
        self.vectors.nearest(embedder, index, question, &call).await
    }
}

const WORLD: &str = "model-provider-with-embeddings";

#[tokio::test]
async fn tables_are_embedded_once_and_in_the_background() {
    let (host, fake) = (Host::new(), Fake::of(WORLD, Does::Works));
    let (embedder, index) = (embedder(&fake), index(&["stones", "sparrows", "trees"]));
    assert_eq!(host.nearest(&embedder, &index).await, [0; 0]);
    host.tasks.wait().await;
    assert_eq!(host.nearest(&embedder, &index).await, [1, 0, 2]);
    assert_eq!(host.nearest(&embedder, &index).await, [1, 0, 2]);
    assert_eq!(fake.asked(), [3, 1, 1]);
}

#[tokio::test]
async fn only_new_tables_are_embedded_when_a_catalog_changes() {
    let (host, fake) = (Host::new(), Fake::of(WORLD, Does::Works));
    let embedder = embedder(&fake);
    host.nearest(&embedder, &index(&["stones", "trees"])).await;
    host.tasks.wait().await;
    let changed = index(&["stones", "trees", "sparrows"]);
    assert_eq!(host.nearest(&embedder, &changed).await, [0; 0]);
    host.tasks.wait().await;
    assert_eq!(host.nearest(&embedder, &changed).await, [2, 0, 1]);
    assert_eq!(fake.asked(), [2, 1, 1]);
}

#[tokio::test]
async fn many_tables_go_in_batches() {
    let (host, fake) = (Host::new(), Fake::of(WORLD, Does::Works));
    let names: Vec<String> = (0..150).map(|number| format!("t{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    host.nearest(&embedder(&fake), &index(&names)).await;
    host.tasks.wait().await;
    assert_eq!(fake.asked(), [32, 32, 32, 32, 22]);
}

#[tokio::test]
async fn vendor_that_failed_is_not_asked_again_at_once() {
    let (host, fake) = (Host::new(), Fake::of(WORLD, Does::Fails));
    let (embedder, index) = (embedder(&fake), index(&["stones", "sparrows"]));
    for _ in 0..2 {
        assert_eq!(host.nearest(&embedder, &index).await, [0; 0]);
        host.tasks.wait().await;
    }
    assert_eq!(fake.asked(), [2]);
}

#[tokio::test]
async fn table_that_is_too_long_for_the_vendor_is_found_by_words_alone() {
    let (host, fake) = (Host::new(), Fake::of(WORLD, Does::Refuses("trees")));
    let (embedder, index) = (embedder(&fake), index(&["stones", "trees", "sparrows"]));
    host.nearest(&embedder, &index).await;
    host.tasks.wait().await;
    assert_eq!(host.nearest(&embedder, &index).await, [2, 0]);
    // All, each by itself, and the question: none is asked for again.
    assert_eq!(fake.asked(), [3, 1, 1, 1, 1]);
}

#[tokio::test]
async fn question_that_is_too_long_for_the_vendor_pauses_it_for_no_other() {
    let (host, fake) = (Host::new(), Fake::of(WORLD, Does::Refuses("Which")));
    let (embedder, index) = (embedder(&fake), index(&["stones", "sparrows"]));
    host.nearest(&embedder, &index).await;
    host.tasks.wait().await;
    assert_eq!(host.nearest(&embedder, &index).await, [0; 0]);
    *lock(&fake.does) = Does::Works;
    assert_eq!(host.nearest(&embedder, &index).await, [1, 0]);
}

#[tokio::test]
async fn vectors_of_another_model_under_the_same_name_are_not_compared() {
    let (host, fake) = (Host::new(), Fake::of(WORLD, Does::Works));
    let (embedder, index) = (embedder(&fake), index(&["stones", "sparrows"]));
    host.nearest(&embedder, &index).await;
    host.tasks.wait().await;
    *lock(&fake.does) = Does::HasChanged;
    for _ in 0..2 {
        assert_eq!(host.nearest(&embedder, &index).await, [0; 0]);
    }
    // The second question waits for the end of the pause, and then the tables are embedded again.
    assert_eq!(fake.asked(), [2, 1]);
    let text = texts(&index, embedder.hash)[0].0;
    assert!(!lock(&host.vectors.kept).has(&embedder.hash, &text));
}

#[tokio::test]
async fn catalog_that_is_too_large_is_not_embedded() {
    let (host, fake) = (Host::new(), Fake::of(WORLD, Does::Works));
    let names = vec!["t"; MAX_TABLES + 1];
    host.nearest(&embedder(&fake), &index(&names)).await;
    host.tasks.wait().await;
    assert_eq!(fake.asked(), [0; 0]);
}

#[test]
fn provider_needs_the_setting_and_a_plugin_that_makes_vectors() {
    let of = |world: &str, data: serde_json::Value| {
        let model: Arc<dyn Model> = Fake::of(world, Does::Works);
        Embedder::of(&model, &target(data)).is_some()
    };
    assert!(of(WORLD, json!({"embedding_model": "e"})));
    assert!(!of(WORLD, json!({"model": "m"})));
    assert!(!of(WORLD, json!({"embedding_model": ""})));
    assert!(!of("model-provider", json!({"embedding_model": "e"})));
}
