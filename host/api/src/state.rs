//! What handlers are given. Each takes only the part that it needs: `State<Arc<Auth>>`.

use std::{ops::Deref, sync::Arc};

use axum::extract::FromRef;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::http_meter::HttpMeter;
use mindhost_answers::{
    answering::{self, Answering},
    conversations::Conversations,
    evaluations::{self, Evaluations},
    feedback::FeedbackBox,
    idempotency::Idempotency,
    knowledge::{self, CheckedKnowledge},
    results::{Results, stored::StoredResults},
    running::RunningWork,
};
use mindhost_base::config::Config;
use mindhost_catalog::Catalog;
use mindhost_core::{
    audit::Audit,
    auth::{Auth, failed_logins::FailedLogins, limits::Limits},
    datasources::Datasources,
    knowledge::KnowledgeBase,
    minds::Minds,
    providers::{self, Providers},
    rollouts::{self, Rollouts},
    secrets::SecretKeys,
    usage::{Usage, plugins::PluginUsage},
    workspaces::Workspaces,
};
use mindhost_plugins::registry::Registry;
use mindhost_runtime::policy::Locality;
use mindhost_store::Store;

/// What handlers are made with; cheap to clone, as every layer of every request does.
#[derive(Clone)]
pub struct AppState(Arc<Services>);

impl Deref for AppState {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.0
    }
}

/// Lets handlers take one service.
macro_rules! taken_from_state {
    ($($field:ident: $service:ty),+ $(,)?) => {$(
        impl FromRef<AppState> for $service {
            fn from_ref(state: &AppState) -> Self {
                state.$field.clone()
            }
        }
    )+};
}

taken_from_state! {
    config: Arc<Config>,
    store: Store,
    auth: Arc<Auth>,
    limits: Arc<Limits>,
    audit: Audit,
    usage: Usage,
    workspaces: Workspaces,
    registry: Arc<Registry>,
    rollouts: Rollouts,
    datasources: Arc<Datasources>,
    providers: Arc<Providers>,
    minds: Arc<Minds>,
    catalog: Arc<Catalog>,
    knowledge: CheckedKnowledge,
    feedback: FeedbackBox,
    evaluations: Evaluations,
    answering: Answering,
    conversations: Conversations,
    results: Results,
    idempotency: Arc<Idempotency>,
    stored_results: StoredResults,
    running: RunningWork,
    shutdown: Shutdown,
    http_meter: HttpMeter,
    plugin_usage: PluginUsage,
}

/// The services of one server.
pub struct Services {
    /// The settings.
    pub config: Arc<Config>,
    /// The store, for the health routes.
    pub store: Store,
    /// Keys.
    pub auth: Arc<Auth>,
    /// How much keys may ask.
    pub limits: Arc<Limits>,
    /// Wrong keys.
    pub failed_logins: Arc<FailedLogins>,
    /// Who did what.
    pub audit: Audit,
    /// What keys have used.
    pub usage: Usage,
    /// Workspaces.
    pub workspaces: Workspaces,
    /// The active plugins.
    pub registry: Arc<Registry>,
    /// How versions of plugins take the place of others.
    pub rollouts: Rollouts,
    /// Datasources.
    pub datasources: Arc<Datasources>,
    /// Model providers.
    pub providers: Arc<Providers>,
    /// Minds.
    pub minds: Arc<Minds>,
    /// Catalogs.
    pub catalog: Arc<Catalog>,
    /// What Minds were taught.
    pub knowledge: CheckedKnowledge,
    /// What callers say of responses.
    pub feedback: FeedbackBox,
    /// Runs of suites.
    pub evaluations: Evaluations,
    /// Answers.
    pub answering: Answering,
    /// Conversations.
    pub conversations: Conversations,
    /// Statements.
    pub results: Results,
    /// Requests that may come again.
    pub idempotency: Arc<Idempotency>,
    /// Results of stored SQL.
    pub stored_results: StoredResults,
    /// What runs now.
    pub running: RunningWork,
    /// The end of the server.
    pub shutdown: Shutdown,
    /// Requests, counted.
    pub http_meter: HttpMeter,
    /// What plugins have used.
    pub plugin_usage: PluginUsage,
    /// Who can ask, as far as it is known.
    pub locality: Arc<Locality>,
}

/// Tells background work that the server ends, and waits for it.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    /// Cancelled when the server was asked to end, perhaps before it does: it is not ready any more.
    pub leaving: CancellationToken,
    /// Cancelled when the server shall end: nothing new begins.
    pub ending: CancellationToken,
    /// Cancelled when the time to finish is over: what still runs stops and stores how it ended.
    pub halt: CancellationToken,
    /// Everything that runs beside the requests: answers, catalog runs.
    pub tasks: TaskTracker,
}

impl AppState {
    /// Builds the services over an open, migrated store. `workspace` is the one that the configured admin key
    /// administers; `locality` hears of every other one, and of requests from other machines.
    ///
    /// # Errors
    /// When the store fails or a setting cannot be used.
    pub async fn new(
        config: Arc<Config>,
        store: Store,
        keys: SecretKeys,
        registry: Arc<Registry>,
        workspace: &str,
        locality: Arc<Locality>,
    ) -> mindhost_base::Result<Self> {
        let shutdown = Shutdown::default();
        let auth = Auth::new(
            store.clone(),
            keys.clone(),
            config.admin_key.get(),
            workspace,
        )
        .await?;
        let datasources = Datasources::new(
            store.clone(),
            keys.clone(),
            registry.clone(),
            &config,
            shutdown.ending.clone(),
        );
        let idempotency = Idempotency::new(store.clone(), keys.clone());
        let (old, ending) = (idempotency.clone(), shutdown.ending.clone());
        shutdown.tasks.spawn(async move {
            ending.run_until_cancelled(old.sweep()).await;
        });
        let providers = Arc::new(Providers::new(
            store.clone(),
            keys,
            registry.clone(),
            &config,
            shutdown.ending.clone(),
        ));
        providers::ensure_builtin(&store, workspace).await?;
        let datasources = Arc::new(datasources);
        let rollouts = Rollouts::new(rollouts::Services {
            store: store.clone(),
            registry: registry.clone(),
            datasources: datasources.clone(),
            providers: providers.clone(),
            settings: config.rollouts.clone(),
            tasks: shutdown.tasks.clone(),
            ending: shutdown.ending.clone(),
        });
        let minds = Arc::new(Minds::new(store.clone(), providers.clone()));
        let catalog = Arc::new(Catalog::new(
            store.clone(),
            datasources.clone(),
            config.catalog.clone(),
            shutdown.ending.clone(),
            shutdown.tasks.clone(),
        ));
        catalog.start().await?;
        let (space, ending) = (store.clone(), shutdown.ending.clone());
        shutdown.tasks.spawn(async move {
            ending.run_until_cancelled(space.run_vacuum()).await;
        });
        let conversations = Conversations::new(store.clone());
        let results = Results::new(
            &store,
            registry.clone(),
            datasources.clone(),
            catalog.clone(),
            config.sql.clone(),
            config.limits.exports_per_key,
            shutdown.tasks.clone(),
        );
        let stored_results = StoredResults::new(
            results.clone(),
            conversations.clone(),
            minds.clone(),
            shutdown.halt.clone(),
        );
        let parts = knowledge::Services {
            base: KnowledgeBase::new(store.clone(), config.limits.knowledge_per_mind),
            minds: minds.clone(),
            catalog: catalog.clone(),
            results: results.clone(),
            ending: shutdown.ending.clone(),
        };
        let knowledge = CheckedKnowledge::start(parts, &shutdown.tasks);
        let answering = Answering::new(answering::Services {
            store: store.clone(),
            conversations: conversations.clone(),
            minds: minds.clone(),
            providers: providers.clone(),
            registry: registry.clone(),
            catalog: catalog.clone(),
            results: results.clone(),
            knowledge: knowledge.clone(),
            stored_results: stored_results.clone(),
            settings: config.answering.clone(),
            retention: config.store.retention,
            tasks: shutdown.tasks.clone(),
            ending: shutdown.ending.clone(),
            halt: shutdown.halt.clone(),
        });
        let running = RunningWork::new(answering.clone(), &stored_results);
        let feedback = FeedbackBox::new(store.clone(), answering.clone(), knowledge.clone());
        let auth = Arc::new(auth);
        let usage = Usage::new(store.clone());
        usage.start(&shutdown.tasks, shutdown.ending.clone());
        let evaluations = Evaluations::new(evaluations::Services {
            store: store.clone(),
            answering: answering.clone(),
            stored_results: stored_results.clone(),
            minds: minds.clone(),
            auth: auth.clone(),
            usage: usage.clone(),
            tasks: shutdown.tasks.clone(),
            ending: shutdown.ending.clone(),
        });
        let plugin_usage = PluginUsage::new(store.clone(), registry.meters().cloned());
        plugin_usage.start(&shutdown.tasks, shutdown.ending.clone());
        let workspaces = Workspaces::new(
            store.clone(),
            auth.clone(),
            locality.clone(),
            config.data_dir.clone(),
        );
        workspaces.watch(&shutdown.tasks, shutdown.ending.clone());
        let audit = Audit::start(store.clone(), config.audit.retention);
        let failed_logins =
            FailedLogins::new(config.limits.failed_logins, audit.clone(), workspace);
        Ok(Self(Arc::new(Services {
            auth,
            limits: Arc::new(Limits::new(&config.limits)),
            failed_logins: Arc::new(failed_logins),
            audit,
            usage,
            workspaces,
            catalog,
            knowledge,
            feedback,
            evaluations,
            answering,
            conversations,
            results,
            idempotency,
            stored_results,
            running,
            datasources,
            minds,
            providers,
            registry,
            rollouts,
            shutdown,
            http_meter: HttpMeter::default(),
            plugin_usage,
            locality,
            config,
            store,
        })))
    }
}
