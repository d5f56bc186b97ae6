//! What a file is, by the end of its name.

use serde::Deserialize;

/// How the rows of a file are written.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Fields with a delimiter between them; the first line names the columns.
    Csv,
    /// As CSV, with tabs.
    Tsv,
    /// One JSON object a line.
    #[serde(alias = "ndjson")]
    Jsonl,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC, as a file (Feather 2) or as a stream.
    Arrow,
}

impl Format {
    /// Whether a file of it is lines of text.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv | Self::Jsonl)
    }

    fn of_ending(ending: &str) -> Option<Self> {
        Some(match ending.to_ascii_lowercase().as_str() {
            "csv" => Self::Csv,
            "tsv" => Self::Tsv,
            "jsonl" | "ndjson" => Self::Jsonl,
            "parquet" | "pq" => Self::Parquet,
            "arrow" | "arrows" | "feather" | "ipc" => Self::Arrow,
            _ => return None,
        })
    }
}

/// How a whole file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Not at all.
    Plain,
    /// gzip, also of several members.
    Gzip,
    /// Zstandard, also of several frames.
    Zstd,
}

/// A file's name taken apart: `orders.csv.gz` is `orders`, CSV, gzip.
#[derive(Debug, PartialEq, Eq)]
pub struct Name<'a> {
    /// What is left for the name of the table.
    pub stem: &'a str,
    /// If the ending is known.
    pub format: Option<Format>,
    /// By the last ending.
    pub codec: Codec,
}

impl<'a> Name<'a> {
    /// Takes a name apart.
    pub fn of(name: &'a str) -> Self {
        let (plain, codec) = match name.rsplit_once('.') {
            Some((rest, end)) if is_one_of(end, &["gz", "gzip"]) => (rest, Codec::Gzip),
            Some((rest, end)) if is_one_of(end, &["zst", "zstd"]) => (rest, Codec::Zstd),
            _ => (name, Codec::Plain),
        };
        let parts = plain.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
        let format = parts.and_then(|(_, end)| Format::of_ending(end));
        Self {
            stem: parts
                .filter(|_| format.is_some())
                .map_or(plain, |(stem, _)| stem),
            // Columnar files are compressed inside.
            format: format.filter(|format| codec == Codec::Plain || format.is_text()),
            codec,
        }
    }
}

fn is_one_of(ending: &str, known: &[&str]) -> bool {
    known.iter().any(|known| ending.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_say_what_a_file_is() {
        for (name, stem, format, codec) in [
            ("a.csv", "a", Some(Format::Csv), Codec::Plain),
            ("a.b.TSV", "a.b", Some(Format::Tsv), Codec::Plain),
            ("a.ndjson.gz", "a", Some(Format::Jsonl), Codec::Gzip),
            ("a.csv.ZST", "a", Some(Format::Csv), Codec::Zstd),
            ("a.parquet", "a", Some(Format::Parquet), Codec::Plain),
            ("a.parquet.gz", "a", None, Codec::Gzip),
            ("a.feather", "a", Some(Format::Arrow), Codec::Plain),
            ("a.txt", "a.txt", None, Codec::Plain),
            (".csv", ".csv", None, Codec::Plain),
            ("a", "a", None, Codec::Plain),
        ] {
            let expected = Name {
                stem,
                format,
                codec,
            };
            assert_eq!(Name::of(name), expected, "{name}");
        }
    }
}
