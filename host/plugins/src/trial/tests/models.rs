//! What is counted of a model on trial.

use super::*;
use mindhost_plugin_api::{Completion, Model, ModelEvent, ModelRequest};

#[async_trait]
impl Model for Script {
    async fn check(&self, _: &Target, _: &Call) -> Result<String> {
        self.step().await.map(|()| "well".into())
    }

    async fn models(&self, _: &Target, _: &Call) -> Result<Vec<String>> {
        self.step().await.map(|()| Vec::new())
    }

    async fn start(
        &self,
        _: &Target,
        request: ModelRequest,
        _: &Call,
    ) -> Result<Box<dyn Completion>> {
        assert_eq!(request.model, "m");
        self.step().await?;
        Ok(Box::new(self.clone()))
    }
}

#[async_trait]
impl Completion for Script {
    async fn next(&mut self, _: &Call) -> Result<Option<Vec<ModelEvent>>> {
        self.step().await?;
        Ok(Some(vec![ModelEvent::Text("word".into())]))
    }
}

fn trial(
    candidate: &[FakeBehaviour],
    stable: &[FakeBehaviour],
    watch: &Arc<Watch>,
) -> Arc<dyn Model> {
    let candidate: Arc<dyn Model> = Arc::new(Script::of(candidate));
    let stable: Arc<dyn Model> = Arc::new(Script::of(stable));
    Trial::new(&candidate, &stable, watch).choose()
}

/// Hears three words on the version on trial; what was seen of it, and whether all went well.
async fn hear(candidate: &[FakeBehaviour], stable: &[FakeBehaviour]) -> (Figures, bool) {
    let watch = watch();
    let model = trial(candidate, stable, &watch);
    let request = ModelRequest {
        model: "m".into(),
        ..ModelRequest::default()
    };
    let hear = async {
        let mut completion = model.start(&target(), request, &call()).await?;
        for _ in 0..3 {
            completion.next(&call()).await?;
        }
        Ok::<_, Error>(())
    };
    let is_well = hear.await.is_ok();
    assert_eq!(watch.figures(Side::Stable).calls, 0);
    (watch.figures(Side::Candidate), is_well)
}

#[tokio::test]
async fn turn_that_fails_before_its_first_word_is_made_again() {
    use FakeBehaviour::{Down, Well};
    for candidate in [&[Down][..], &[Well, Down]] {
        let (seen, is_well) = hear(candidate, &[]).await;
        assert!(is_well, "{candidate:?}");
        assert_eq!((seen.calls, seen.faults), (1, 1), "{candidate:?}");
    }
}

#[tokio::test]
async fn turn_that_fails_on_both_is_no_fault() {
    use FakeBehaviour::{Down, Well};
    for stable in [&[Down][..], &[Well, Down]] {
        for candidate in [&[Down][..], &[Well, Down]] {
            let (seen, is_well) = hear(candidate, stable).await;
            assert!(!is_well, "{candidate:?} {stable:?}");
            assert_eq!(seen.faults, 0, "{candidate:?} {stable:?}");
        }
    }
}

#[tokio::test]
async fn failure_after_first_word_is_fault_of_same_turn() {
    use FakeBehaviour::{Down, Well};
    let (seen, is_well) = hear(&[Well, Well, Down], &[]).await;
    assert!(!is_well);
    assert_eq!((seen.calls, seen.faults), (1, 1));
}

#[tokio::test]
async fn check_of_model_on_trial_asks_stable_version() {
    let watch = watch();
    let model = trial(&[FakeBehaviour::Down], &[], &watch);
    assert_eq!(model.check(&target(), &call()).await.unwrap(), "well");
    assert_eq!(watch.figures(Side::Candidate).calls, 0);
    assert_eq!(watch.figures(Side::Stable).calls, 0);
}
