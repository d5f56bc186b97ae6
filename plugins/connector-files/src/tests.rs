//! Files as they come.

mod columnar;
mod csv;
mod delimiters;
mod foreign;
mod hostile;
mod readme;
mod shapes;
mod text;

use std::fs;

use mindhost_sdk::scanner::ScanRequest;
use mindhost_sdk::{
    BatchLimits, Column, Config, DataType, Result, Scanner, TableRef, Value, testing,
};

use crate::Files;

const LIMITS: BatchLimits = BatchLimits {
    max_rows: 3,
    max_bytes: 1 << 20,
};

fn open<T: AsRef<[u8]>>(files: &[(&str, T)], more: &str) -> (tempfile::TempDir, Files) {
    let folder = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    let path = folder.path().display();
    let config = Config::from_json(format!(r#"{{"path": "{path}"{more}}}"#));
    let csv = Files::open(&config).expect("a source");
    (folder, csv)
}

fn table(name: &str) -> TableRef {
    TableRef::new("files", name)
}

fn types(columns: &[Column]) -> Vec<(&str, DataType)> {
    columns
        .iter()
        .map(|column| (column.name.as_str(), column.data_type))
        .collect()
}

/// A request that only counts the rows.
fn counting(mut request: ScanRequest) -> ScanRequest {
    request.extra = vec![("count".into(), "true".into())];
    request
}

fn read(csv: &mut Files, request: &ScanRequest) -> Result<Vec<Vec<Value>>> {
    let mut scan = csv.scan(request)?;
    let columns = csv.schema(&mut scan)?;
    let mut rows = Vec::new();
    while let Some(batch) = csv.next(&mut scan, LIMITS)? {
        rows.extend(testing::rows(&batch, &columns)?);
    }
    Ok(rows)
}
