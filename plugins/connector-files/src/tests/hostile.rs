//! Files that lie. Each is an error that names the file, and never a panic: in the sandbox that would cost an instance.

use mindhost_sdk::scanner::{Filter, FilterOp, ScanRequest};
use mindhost_sdk::{ErrorKind, Scanner, Value};
use proptest::prelude::*;

use super::columnar::{batch, file, parquet, parquet_v2, stream, wide};
use super::{counting, open, read, table};

const ALL: [&str; 11] = [
    "id", "name", "word", "price", "big", "at", "day", "ok", "share", "list", "object",
];

/// Reads all of a file, and some of it. Whatever is in it, this ends.
fn survives(name: &str, bytes: &[u8]) {
    let (_folder, mut files) = open(&[(name, bytes)], "");
    let Ok(columns) = files.columns(&table("t")) else {
        return;
    };
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    if names.is_empty() {
        return;
    }
    let mut request = ScanRequest::new(table("t"), &names);
    drop(read(&mut files, &request));
    if names.starts_with(&ALL) {
        request.filters = vec![
            Filter::new("id", FilterOp::Gt, vec![Value::Int64(20)]),
            Filter::new("name", FilterOp::IsNotNull, vec![]),
        ];
        drop(read(&mut files, &request));
        request.filters.clear();
    }
    drop(read(&mut files, &counting(request)));
}

#[test]
fn what_is_no_such_file_is_an_error_that_names_it() {
    for (name, text) in [
        ("t.parquet", ""),
        ("t.parquet", "PAR1PAR1"),
        ("t.parquet", "PAR1\u{7f}\u{7f}\u{7f}\u{7f}PAR1"),
        ("t.parquet", "hello, I am text and no table at all"),
        ("t.arrow", ""),
        ("t.arrow", "ARROW1\0\0"),
        ("t.arrow", "FEA1aaaa"),
        (
            "t.feather",
            "\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}",
        ),
        ("t.csv.gz", "no gzip"),
        ("t.csv.zst", "no zstd"),
        ("t.csv", ""),
    ] {
        let (_folder, mut files) = open(&[(name, text)], "");
        let error = files.columns(&table("t")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Upstream, "{name}: {error}");
        assert!(error.message().contains(&format!("`{name}`")), "{error}");
    }
}

#[test]
fn a_file_that_is_cut_off_is_an_error() {
    let batches = [batch(0, 500), batch(500, 500)];
    for (name, whole) in [
        ("t.parquet", parquet(&batches, 300)),
        ("t.arrows", stream(&batches)),
        ("t.arrow", file(&batches)),
    ] {
        for part in 1..40 {
            survives(name, &whole[..whole.len() * part / 40]);
        }
    }
}

#[test]
fn names_lead_nowhere() {
    let (folder, mut files) = open(&[("a.csv", "x\n1\n")], "");
    std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).expect("a link");
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("none")).expect("a link");
    std::fs::write(folder.path().join("odd\u{202e}\n%.csv"), "x\n1\n").expect("a file");
    let tables = files.tables().expect("tables");
    assert_eq!(tables.len(), 2, "{tables:?}");
    for name in [
        "..",
        "../a",
        "/etc/passwd",
        "loop/a",
        "none",
        "a.csv",
        "",
        ".",
    ] {
        let error = files.columns(&table(name)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{name}");
    }
    let odd = read(
        &mut files,
        &ScanRequest::new(table("odd\u{202e}\n%"), &["x"]),
    );
    assert_eq!(odd, Ok(vec![vec![Value::Int64(1)]]));
}

/// Some bytes of a file changed.
fn mutated(whole: &[u8], changes: &[(prop::sample::Index, u8)], from_end: bool) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let (start, length) = match from_end {
        // Footers are a small part of a file, and decide most.
        true => (bytes.len().saturating_sub(2_000), bytes.len().min(2_000)),
        false => (0, bytes.len()),
    };
    for (index, value) in changes {
        bytes[start + index.index(length)] = *value;
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn changed_bytes_of_parquet_are_survived(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        end in any::<bool>(),
        version in 0..2usize,
    ) {
        thread_local!(static WHOLE: [Vec<u8>; 2] = [parquet(&[wide(0, 200)], 80), parquet_v2(&[wide(0, 200)], 80)]);
        WHOLE.with(|whole| survives("t.parquet", &mutated(&whole[version], &changes, end)));
    }

    #[test]
    fn changed_bytes_of_arrow_are_survived(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), end in any::<bool>()
    ) {
        thread_local!(static WHOLE: Vec<u8> = stream(&[batch(0, 60), batch(60, 60)]));
        WHOLE.with(|whole| survives("t.arrows", &mutated(whole, &changes, end)));
    }

    #[test]
    fn changed_bytes_of_arrow_files_are_survived(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), end in any::<bool>()
    ) {
        thread_local!(static WHOLE: Vec<u8> = file(&[batch(0, 60), batch(60, 60)]));
        WHOLE.with(|whole| survives("t.arrow", &mutated(whole, &changes, end)));
    }

    #[test]
    fn any_text_is_survived(
        text in "[a-z0-9,\"{}:\\[\\]\n ]{0,200}", ending in prop::sample::select(vec!["csv", "jsonl"])
    ) {
        survives(&format!("t.{ending}"), text.as_bytes());
    }
}
