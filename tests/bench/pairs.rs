//! Pairs of timings, taken in turn so that a slow moment of the machine hits both sides.

use std::time::{Duration, Instant};

/// Pairs of each comparison.
pub const PAIRS: usize = 11;

/// What is compared, and what counts as good: `aim` and `bar` are bounds on the ratio ours/theirs.
pub struct Bar<'a> {
    /// For the line that is printed.
    pub name: &'a str,
    /// The ratio aimed at.
    pub aim: f64,
    /// The ratio required.
    pub bar: f64,
}

/// The machine, in a line.
pub fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name\t: "))
        .unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!(
        "machine: {model}, {cores} cores, load before {}",
        load.split(' ').next().unwrap_or_default()
    )
}

/// Lower quartile, median, upper quartile.
pub fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    [at(0.25), at(0.5), at(0.75)]
}

/// Seconds that a piece of work takes.
pub async fn seconds<T>(work: impl Future<Output = T>) -> f64 {
    let began = Instant::now();
    work.await;
    began.elapsed().as_secs_f64()
}

/// Prints the ratios of pairs of times (ours, theirs) and whether the better quartile meets the bar.
pub fn report(bar: &Bar, pairs: &[(f64, f64)]) {
    let [low, median, high] = quartiles(pairs.iter().map(|(ours, theirs)| ours / theirs).collect());
    let ours = quartiles(pairs.iter().map(|pair| pair.0).collect())[1];
    let theirs = quartiles(pairs.iter().map(|pair| pair.1).collect())[1];
    let verdict = match low {
        ratio if ratio <= bar.aim => "meets the aim",
        ratio if ratio <= bar.bar => "meets the bar",
        _ => "MISSES the bar",
    };
    println!(
        "{:<46} time x{median:.2} ({low:.2} to {high:.2}), {} against {}; {verdict} ({} / {})",
        bar.name,
        shown(ours),
        shown(theirs),
        bar.aim,
        bar.bar
    );
}

/// A time as people read it.
pub fn shown(seconds: f64) -> String {
    format!("{:.1?}", Duration::from_secs_f64(seconds))
}
