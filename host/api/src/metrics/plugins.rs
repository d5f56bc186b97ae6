//! Plugin usage by version and target.

use std::{fmt, sync::Arc};

use prometheus_client::{
    collector::Collector, encoding::DescriptorEncoder, metrics::MetricType, registry::Unit,
};

use super::NO_EXEMPLAR;
use mindhost_runtime::{
    health::HealthStatus,
    meter::{Figure, Figures, TargetMeter, VersionMeter},
};

/// The versions of plugins that were used.
#[derive(Debug)]
pub struct PluginFigures(pub Vec<Arc<VersionMeter>>);

/// A family of counters: name, help text, and members with their value of the label `by`.
struct Counters {
    name: &'static str,
    help: &'static str,
    of: Measure,
    figures: &'static [(Option<(&'static str, &'static str)>, Figure)],
}

/// The members.
#[derive(Clone, Copy)]
enum Measure {
    Things,
    Bytes,
    /// The figure is in nanoseconds.
    Seconds,
}

impl Measure {
    fn unit(self) -> Option<Unit> {
        match self {
            Self::Things => None,
            Self::Bytes => Some(Unit::Bytes),
            Self::Seconds => Some(Unit::Seconds),
        }
    }
}

const fn count(
    name: &'static str,
    help: &'static str,
    figures: &'static [(Option<(&'static str, &'static str)>, Figure)],
) -> Counters {
    Counters {
        name,
        help,
        of: Measure::Things,
        figures,
    }
}

const COUNTERS: [Counters; 12] = [
    count(
        "calls",
        "Functions of the plugin that were called",
        &[(None, Figure::Calls)],
    ),
    Counters {
        of: Measure::Seconds,
        ..count("call", "Time in those calls", &[(None, Figure::CallTime)])
    },
    Counters {
        of: Measure::Seconds,
        ..count(
            "cpu",
            "Time in which instances computed",
            &[(None, Figure::CpuTime)],
        )
    },
    Counters {
        of: Measure::Seconds,
        ..count(
            "upstream",
            "Time in which instances waited for the network",
            &[(None, Figure::UpstreamTime)],
        )
    },
    count(
        "errors",
        "Failures, by who is to blame",
        &[
            (Some(("blame", "plugin")), Figure::PluginErrors),
            (Some(("blame", "upstream")), Figure::UpstreamErrors),
            (Some(("blame", "host")), Figure::HostErrors),
            (Some(("blame", "caller")), Figure::CallerErrors),
        ],
    ),
    count(
        "traps",
        "Instances that ended by a trap",
        &[(None, Figure::Traps)],
    ),
    count(
        "refused",
        "Calls that were refused because the version failed too often",
        &[(None, Figure::Refused)],
    ),
    Counters {
        of: Measure::Bytes,
        ..count(
            "network",
            "Bytes over sockets and HTTP, by direction as the plugin sees it",
            &[
                (Some(("direction", "received")), Figure::ReceivedBytes),
                (Some(("direction", "sent")), Figure::SentBytes),
            ],
        )
    },
    Counters {
        of: Measure::Bytes,
        ..count(
            "result",
            "Bytes of rows and words that came out of the plugin",
            &[(None, Figure::ResultBytes)],
        )
    },
    count(
        "rows",
        "Rows that came out of the plugin",
        &[(None, Figure::Rows)],
    ),
    count(
        "tokens",
        "Tokens that models read and wrote",
        &[
            (Some(("direction", "input")), Figure::InputTokens),
            (Some(("direction", "output")), Figure::OutputTokens),
        ],
    ),
    count(
        "instances_started",
        "Instances that were started",
        &[(None, Figure::InstancesStarted)],
    ),
];

type Labels = Vec<(&'static str, String)>;

/// A series: its labels and its figures.
struct Line {
    labels: Labels,
    figures: Figures,
    instances: u64,
}

impl Collector for PluginFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        write_health(&mut encoder, &self.0)?;
        let versions: Vec<Line> = self.0.iter().map(of_version).collect();
        write(&mut encoder, "plugin", &versions)?;
        let targets: Vec<Line> = self.0.iter().flat_map(of_targets).collect();
        write(&mut encoder, "plugin_target", &targets)
    }
}

fn labels(version: &VersionMeter) -> Labels {
    vec![
        ("plugin", version.id.plugin.clone()),
        ("version", version.id.version.clone()),
        ("digest", version.id.digest.clone()),
    ]
}

fn of_version(version: &Arc<VersionMeter>) -> Line {
    Line {
        labels: labels(version),
        figures: version.meter.read(),
        instances: version.meter.instances(),
    }
}

fn of_targets(version: &Arc<VersionMeter>) -> Vec<Line> {
    let of_target = |target: &Arc<TargetMeter>| {
        let mut labels = labels(version);
        labels.push(("workspace", target.id.workspace.clone()));
        labels.push(("target", target.id.name.clone()));
        Line {
            labels,
            figures: target.meter.read(),
            instances: target.meter.instances(),
        }
    };
    version.targets().iter().map(of_target).collect()
}

fn write(encoder: &mut DescriptorEncoder<'_>, prefix: &str, lines: &[Line]) -> fmt::Result {
    for counters in &COUNTERS {
        let name = format!("{prefix}_{}", counters.name);
        let unit = counters.of.unit();
        let mut family =
            encoder.encode_descriptor(&name, counters.help, unit.as_ref(), MetricType::Counter)?;
        for line in lines {
            for (label, figure) in counters.figures {
                let mut labels = line.labels.clone();
                labels.extend(label.map(|(name, value)| (name, value.to_owned())));
                let value = line.figures.get(*figure);
                let mut member = family.encode_family(&labels)?;
                match counters.of {
                    Measure::Seconds => {
                        member.encode_counter(&(value as f64 / 1e9), NO_EXEMPLAR)?;
                    }
                    Measure::Things | Measure::Bytes => {
                        member.encode_counter(&value, NO_EXEMPLAR)?
                    }
                }
            }
        }
    }
    let name = format!("{prefix}_instances");
    let mut family =
        encoder.encode_descriptor(&name, "Instances that are alive", None, MetricType::Gauge)?;
    for line in lines {
        family
            .encode_family(&line.labels)?
            .encode_gauge(&line.instances)?;
    }
    let name = format!("{prefix}_peak_memory");
    let help = "The largest linear memory that one instance grew to";
    let mut family =
        encoder.encode_descriptor(&name, help, Some(&Unit::Bytes), MetricType::Gauge)?;
    for line in lines {
        family
            .encode_family(&line.labels)?
            .encode_gauge(&line.figures.peak_memory_bytes)?;
    }
    Ok(())
}

/// One series per state, so that an alert rule can name a state.
fn write_health(
    encoder: &mut DescriptorEncoder<'_>,
    versions: &[Arc<VersionMeter>],
) -> fmt::Result {
    let help = "1 for the current health of the version, 0 for the others";
    let mut family = encoder.encode_descriptor("plugin_health", help, None, MetricType::Gauge)?;
    let reports: Vec<_> = versions
        .iter()
        .map(|version| (version, version.report()))
        .collect();
    for (version, report) in &reports {
        for status in HealthStatus::ALL {
            let mut labels = labels(version);
            labels.push(("status", status.as_str().to_owned()));
            let value = u64::from(report.status == status);
            family.encode_family(&labels)?.encode_gauge(&value)?;
        }
    }
    let help = "Datasources and providers for which the version is not called for a while";
    let mut family =
        encoder.encode_descriptor("plugin_targets_backing_off", help, None, MetricType::Gauge)?;
    for (version, report) in &reports {
        let value = report.targets.len() as u64;
        family
            .encode_family(&labels(version))?
            .encode_gauge(&value)?;
    }
    Ok(())
}
