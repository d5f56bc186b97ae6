//! Fuzzes the server for longer than the tests do: `just fuzz`.

use std::{process::ExitCode, time::Duration};

use mindhost_tests::fuzz::fuzz;

/// Longest run.
const PATIENCE: Duration = Duration::from_secs(60 * 60);

#[tokio::main]
async fn main() -> ExitCode {
    let examples = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let Some(examples) = examples else {
        eprintln!("how many random requests shall each operation get? `just fuzz 160`");
        return ExitCode::FAILURE;
    };
    let fuzzed = fuzz(examples, PATIENCE).await;
    println!("{}", fuzzed.report);
    match fuzzed.is_clean {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
