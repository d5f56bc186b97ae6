//! `/metrics`: the figures of this host as OpenMetrics text.
//!
//! `docs/operating.md` explains each name. Figures are computed when they are read.

mod plugins;

use crate::{
    error::ApiResult,
    routes::{OPERATOR, Routes, Tag},
};
use std::{fmt, sync::Arc};

use axum::{
    Router,
    extract::{FromRef, State},
    http::header,
    response::{IntoResponse, Response},
    routing::get,
};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, NoLabelSet, text},
    metrics::MetricType,
    registry::{Registry as Metrics, Unit},
};
use utoipa_axum::routes;

use self::plugins::PluginFigures;
use super::{AppState, health, http_meter::HttpMeter};
use mindhost_answers::answering::Answering;
use mindhost_base::{
    config::Config,
    error::{Error, Result},
};
use mindhost_core::auth::{Caller, limits::Limits};
use mindhost_plugins::registry::Registry;
use mindhost_store::{Store, free_bytes};

/// Where Prometheus scrapes; it needs the key of an operator.
const PATH: &str = "/metrics";

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The services behind the figures.
#[derive(Clone)]
pub(super) struct MetricSources {
    http: HttpMeter,
    registry: Arc<Registry>,
    answering: Answering,
    limits: Arc<Limits>,
    store: Store,
    config: Arc<Config>,
}

impl FromRef<AppState> for MetricSources {
    fn from_ref(state: &AppState) -> Self {
        Self {
            http: state.http_meter.clone(),
            registry: state.registry.clone(),
            answering: state.answering.clone(),
            limits: state.limits.clone(),
            store: state.store.clone(),
            config: state.config.clone(),
        }
    }
}

/// The route, behind the same keys as every other.
pub(super) fn routes() -> Routes {
    Routes::of(Tag::Server).route(
        routes!(read),
        OPERATOR.beyond_minds("read the figures of the host"),
    )
}

/// The route without keys, with the health routes, for a listener that is protected by its address.
pub(super) fn open_router(state: AppState) -> Router {
    Router::new()
        .route(PATH, get(read_all))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .with_state(state)
}

/// Gets the figures of this host
///
/// OpenMetrics text, as Prometheus reads it.
#[utoipa::path(get, path = PATH, operation_id = "get_metrics",
    responses((status = 200, body = String, content_type = "application/openmetrics-text", description = "The figures since the start.")))]
pub(super) async fn read(
    caller: Caller,
    State(watched): State<MetricSources>,
) -> ApiResult<Response> {
    caller.require_host("read the figures of the host")?;
    Ok(watched.answer().await?)
}

async fn read_all(State(watched): State<MetricSources>) -> ApiResult<Response> {
    Ok(watched.answer().await?)
}

impl MetricSources {
    async fn answer(self) -> Result<Response> {
        // A disk of the network that does not answer blocks the look at its free space.
        let text = tokio::task::spawn_blocking(move || self.text()).await;
        let text = text.map_err(Error::internal)?.map_err(Error::internal)?;
        Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response())
    }

    fn text(&self) -> Result<String, fmt::Error> {
        let mut metrics = Metrics::with_prefix("mindhost");
        self.http.register(&mut metrics);
        if let Some(meters) = self.registry.meters() {
            metrics.register_collector(Box::new(PluginFigures(meters.versions())));
        }
        metrics.register_collector(Box::new(Gauges(self.gauges())));
        metrics.register_collector(Box::new(FreeDisk::of(&self.config)));
        let mut written = String::new();
        text::encode(&mut written, &metrics)?;
        Ok(written)
    }

    fn gauges(&self) -> Vec<Gauge> {
        let pool = self.store.connections();
        let mut gauges = vec![
            Gauge::of(
                "requests_under_way",
                "Requests of keys whose answer has not ended, streams included",
                self.limits.in_flight(),
            ),
            Gauge::of(
                "answers_under_way",
                "Answers that are being made",
                self.answering.running_count(),
            ),
            Gauge::of("store_connections", "Connections to the store", pool.open),
            Gauge::of(
                "store_connections_idle",
                "Connections to the store that nobody uses",
                pool.idle,
            ),
            Gauge::of(
                "store_connections_limit",
                "Maximum number of connections to the store",
                pool.limit,
            ),
        ];
        if let Some(usage) = self.registry.instance_usage() {
            gauges.extend([
                Gauge::of(
                    "instances",
                    "Instances of plugins that serve or wait for their next use",
                    usage.instances,
                ),
                Gauge::of(
                    "instances_limit",
                    "Instances that there may be",
                    usage.max_instances,
                ),
                Gauge::of(
                    "instances_waited_for",
                    "Calls that wait for room for an instance",
                    usage.waiting,
                ),
                Gauge::of(
                    "instance_memory",
                    "Linear memory of all instances",
                    usage.memory_bytes,
                )
                .bytes(),
                Gauge::of(
                    "instance_memory_limit",
                    "Limit on the linear memory of all instances",
                    usage.max_memory_bytes,
                )
                .bytes(),
            ]);
        }
        gauges
    }
}

/// Free bytes on the disks of the server's own directories.
#[derive(Debug)]
struct FreeDisk(Vec<(&'static str, u64)>);

impl FreeDisk {
    /// Without a directory that does not exist, or that cannot be asked.
    fn of(config: &Config) -> Self {
        let directories = [
            ("data", config.data_dir.clone()),
            ("spill", config.spill_dir()),
            ("cache", config.cache_dir()),
        ];
        let free = directories
            .into_iter()
            .filter_map(|(name, dir)| Some((name, free_bytes(&dir)?)));
        Self(free.collect())
    }
}

impl Collector for FreeDisk {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut gauges = encoder.encode_descriptor(
            "disk_free",
            "Free space on the disk of a directory of the server",
            Some(&Unit::Bytes),
            MetricType::Gauge,
        )?;
        for (directory, free) in &self.0 {
            gauges
                .encode_family(&[("directory", *directory)])?
                .encode_gauge(free)?;
        }
        Ok(())
    }
}

/// A value that may fall, read when it is scraped.
#[derive(Debug)]
struct Gauge {
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
    value: u64,
}

impl Gauge {
    fn of(name: &'static str, help: &'static str, value: u64) -> Self {
        Self {
            name,
            help,
            unit: None,
            value,
        }
    }

    fn bytes(self) -> Self {
        Self {
            unit: Some(Unit::Bytes),
            ..self
        }
    }
}

#[derive(Debug)]
struct Gauges(Vec<Gauge>);

impl Collector for Gauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for gauge in &self.0 {
            let unit = gauge.unit.as_ref();
            encoder
                .encode_descriptor(gauge.name, gauge.help, unit, MetricType::Gauge)?
                .encode_gauge(&gauge.value)?;
        }
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        encoder
            .encode_descriptor("build", "Which program this is", None, MetricType::Info)?
            .encode_info(&version)
    }
}

/// The counters have no exemplars.
const NO_EXEMPLAR: Option<&prometheus_client::metrics::exemplar::Exemplar<NoLabelSet, f64>> = None;
