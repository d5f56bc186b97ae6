//! `mindhost eval import`

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use mindhost_evaluation::import::{self, Format};

use crate::commands::say::{aside, say_part};

/// The options of `mindhost eval import`.
#[derive(Debug, Args)]
pub(super) struct Import {
    /// The format of the files.
    #[arg(long)]
    format: DatasetFormat,
    /// Files with questions, such as `dev.json`.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Only the questions about this database.
    #[arg(long, value_name = "NAME")]
    db: Option<String>,
    /// Write the suite here. Default: standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DatasetFormat {
    /// A list of `{db_id, question, query}`.
    Spider,
    /// A list of `{db_id, question, evidence, SQL}`.
    Bird,
}

/// Reads the files and writes a suite of JSON lines.
pub(super) fn run(options: &Import) -> anyhow::Result<ExitCode> {
    let format = match options.format {
        DatasetFormat::Spider => Format::Spider,
        DatasetFormat::Bird => Format::Bird,
    };
    let read = |file: &PathBuf| {
        let text = fs::read_to_string(file).with_context(|| format!("{}", file.display()))?;
        let questions = import::read(format, &text, options.db.as_deref());
        questions.with_context(|| format!("{} is not a file of this format", file.display()))
    };
    let files = options
        .files
        .iter()
        .map(read)
        .collect::<anyhow::Result<Vec<_>>>()?;
    let name = options.db.as_deref().unwrap_or(match format {
        Format::Spider => "Spider",
        Format::Bird => "BIRD",
    });
    let suite = import::joined(name, files);
    ensure!(
        !suite.questions.is_empty(),
        "no question in these files is about this database"
    );
    let text = suite.to_lines()?;
    match &options.out {
        Some(file) => {
            fs::write(file, text).with_context(|| format!("writing {}", file.display()))?;
            aside!("{} questions in {}", suite.questions.len(), file.display());
        }
        None => say_part!("{text}"),
    }
    Ok(ExitCode::SUCCESS)
}
