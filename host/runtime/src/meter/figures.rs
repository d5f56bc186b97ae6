//! The figures themselves.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::Serialize;

macro_rules! figures {
    ($($(#[doc = $doc:literal])+ $variant:ident = $field:ident;)*) => {
        /// What is counted; each only grows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Figure { $($(#[doc = $doc])+ $variant,)* }

        impl Figure {
            /// Every figure.
            pub const ALL: &'static [Figure] = &[$(Figure::$variant,)*];

            /// Its name among the [`Figures`].
            pub fn name(self) -> &'static str {
                match self { $(Figure::$variant => stringify!($field),)* }
            }
        }

        /// The figures at some time, or what was added in a while.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
        #[schema(as = PluginFigures)]
        pub struct Figures {
            $($(#[doc = $doc])+ pub $field: u64,)*
            /// The largest linear memory that one instance grew to, in bytes.
            pub peak_memory_bytes: u64,
        }

        impl Figures {
            /// One of them.
            pub fn get(&self, figure: Figure) -> u64 {
                match figure { $(Figure::$variant => self.$field,)* }
            }

            /// One of them, to be changed.
            pub fn get_mut(&mut self, figure: Figure) -> &mut u64 {
                match figure { $(Figure::$variant => &mut self.$field,)* }
            }
        }
    };
}

figures! {
    /// Functions of the plugin that were called.
    Calls = calls;
    /// Time in those calls, in nanoseconds; `cpu_ns` and `upstream_ns` are parts of it.
    CallTime = call_ns;
    /// Time in which instances computed, in nanoseconds.
    CpuTime = cpu_ns;
    /// Time in which instances waited for the network, in nanoseconds.
    UpstreamTime = upstream_ns;
    /// Failures that the plugin is to blame for.
    PluginErrors = plugin_errors;
    /// Failures that the engine or vendor is to blame for.
    UpstreamErrors = upstream_errors;
    /// Failures that this server is to blame for.
    HostErrors = host_errors;
    /// Failures that are the caller's: a wrong statement, or nobody waited any more.
    CallerErrors = caller_errors;
    /// Instances that ended by a trap.
    Traps = traps;
    /// Calls that were refused because the version failed too often.
    Refused = refused;
    /// Bytes that instances got from the network.
    ReceivedBytes = received_bytes;
    /// Bytes that instances sent to the network.
    SentBytes = sent_bytes;
    /// Bytes of results that came out of the plugin: rows, or what a model said.
    ResultBytes = result_bytes;
    /// Rows of results that came out of the plugin.
    Rows = rows;
    /// Tokens that models read.
    InputTokens = input_tokens;
    /// Tokens that models wrote.
    OutputTokens = output_tokens;
    /// Instances that were started.
    InstancesStarted = instances_started;
}

impl Figures {
    /// Whether nothing happened.
    pub fn is_nothing(&self) -> bool {
        Figure::ALL.iter().all(|figure| self.get(*figure) == 0)
    }

    /// What was added since `before`. Of a peak there is no difference: it is the later one.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let mut news = *self;
        for figure in Figure::ALL {
            *news.get_mut(*figure) = self.get(*figure).saturating_sub(before.get(*figure));
        }
        news
    }

    /// Adds what happened in another while.
    pub fn add(&mut self, more: &Self) {
        for figure in Figure::ALL {
            *self.get_mut(*figure) += more.get(*figure);
        }
        self.peak_memory_bytes = self.peak_memory_bytes.max(more.peak_memory_bytes);
    }
}

/// Counts; cheap enough for every call.
#[derive(Debug, Default)]
pub struct Meter {
    counts: [AtomicU64; Figure::ALL.len()],
    peak_memory_bytes: AtomicU64,
    instances: AtomicU64,
}

impl Meter {
    pub(super) fn add(&self, figure: Figure, count: u64) {
        if count > 0
            && let Some(counter) = self.counts.get(figure as usize)
        {
            counter.fetch_add(count, Relaxed);
        }
    }

    pub(super) fn reached_memory(&self, bytes: u64) {
        // Read first: an instance seldom grows, and a line of the cache that nobody writes is shared by all.
        if self.peak_memory_bytes.load(Relaxed) < bytes {
            self.peak_memory_bytes.fetch_max(bytes, Relaxed);
        }
    }

    pub(super) fn instance(&self, is_new: bool) {
        match is_new {
            true => self.instances.fetch_add(1, Relaxed),
            false => self.instances.fetch_sub(1, Relaxed),
        };
    }

    /// Instances that are alive now; no sum over time, unlike the figures.
    pub fn instances(&self) -> u64 {
        self.instances.load(Relaxed)
    }

    /// All figures as they are now.
    pub fn read(&self) -> Figures {
        let mut figures = Figures::default();
        for (figure, counter) in Figure::ALL.iter().zip(&self.counts) {
            *figures.get_mut(*figure) = counter.load(Relaxed);
        }
        figures.peak_memory_bytes = self.peak_memory_bytes.load(Relaxed);
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_has_its_own_counter() {
        let meter = Meter::default();
        for (count, figure) in (1..).zip(Figure::ALL) {
            meter.add(*figure, count);
        }
        let figures = meter.read();
        for (count, figure) in (1..).zip(Figure::ALL) {
            assert_eq!(figures.get(*figure), count, "{figure:?}");
        }
        assert!(figures.since(&figures).is_nothing());
    }

    #[test]
    fn the_peak_is_the_largest_memory_of_one_instance() {
        let meter = Meter::default();
        for bytes in [3, 7, 5] {
            meter.reached_memory(bytes);
        }
        assert_eq!(meter.read().peak_memory_bytes, 7);
    }
}
