//! `mindhost eval`: asks a server the questions of a suite, and judges its answers.

mod client;
mod events;
mod import;
mod run;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Subcommand};
use mindhost_evaluation::suite::Prices;

use super::remote::Remote;

/// The options of `mindhost eval`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = HELP)]
pub(crate) struct Eval {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: Run,
}

const HELP: &str = "\
A suite is YAML or JSON lines:
  questions:
    - question: How many customers are there?
      sql: SELECT count(*) FROM customers       # accepted; a list accepts each of them
    - question: Who will buy most next year?
      expect: declined                          # the data do not hold the answer

The Mind must allow direct queries for `sql`. Give `rows: [[288]]` where it does not.

Examples:
  mindhost eval --suite demo --mind analyst
  mindhost eval --suite shop.yaml --mind analyst --out now.json --baseline before.json
  mindhost eval --suite shop.yaml --mind analyst --min-right 80 --max-wrong 2       # in CI
  mindhost eval import --format spider dev.json --db pets_1 --out pets.jsonl

Exit codes: 0 done, 1 it could not run or the server stayed away, 2 wrong options, 3 a threshold is missed or a
question could not be judged, 130 interrupted by Ctrl-C or SIGTERM (what was judged until then is written).";

#[derive(Debug, Subcommand)]
enum Command {
    /// Turn files of a public question set into a suite.
    Import(import::Import),
}

/// The options of a run.
#[derive(Debug, Args)]
struct Run {
    /// The file of the suite, or `demo`.
    #[arg(long, value_name = "FILE", required = true)]
    suite: Option<String>,
    /// Name of the Mind. `{db}` in it becomes the `db` of each question.
    #[arg(long, value_name = "NAME", required = true)]
    mind: Option<String>,
    #[command(flatten)]
    remote: Remote,
    /// Questions at the same time.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// Ask only the first N questions.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Ask only the questions with these ids.
    #[arg(long, value_name = "ID", num_args = 1..)]
    only: Vec<String>,
    /// Most rows of a result that is compared.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    max_rows: u64,
    /// Write the report as JSON.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the report as Markdown.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// The JSON report of an earlier run, to show what changed.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Fail if fewer of the answerable questions are answered rightly.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    min_right: Option<f64>,
    /// Fail if more of all questions are answered wrongly.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    max_wrong: Option<f64>,
    /// Fail if a question that was right in the baseline no longer is.
    #[arg(long, requires = "baseline")]
    no_regression: bool,
    /// Keep the conversations of the run on the server.
    #[arg(long)]
    keep: bool,
    /// Price of a million tokens that the model reads. Default: `prices` of the suite.
    #[arg(long, value_name = "PRICE", requires = "output_price", value_parser = price)]
    input_price: Option<f64>,
    /// Price of a million tokens that the model writes.
    #[arg(long, value_name = "PRICE", requires = "input_price", value_parser = price)]
    output_price: Option<f64>,
}

impl Run {
    /// The prices of the options, if they are given.
    fn prices(&self) -> Option<Prices> {
        Some(Prices {
            input: self.input_price?,
            output: self.output_price?,
            currency: String::new(),
        })
    }
}

/// Runs the command.
pub(super) async fn run(eval: &Eval) -> anyhow::Result<ExitCode> {
    match &eval.command {
        Some(Command::Import(import)) => import::run(import),
        None => run::run(&eval.run).await,
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse();
    let number = number.ok().filter(|number| (0.0..=100.0).contains(number));
    number.ok_or_else(|| "a percentage from 0 to 100".to_owned())
}

fn price(text: &str) -> Result<f64, String> {
    let number = text
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "a price, such as 0.15".to_owned())
}
