//! One scan after the other, each read as far as it is wanted.

use std::time::{Duration, Instant};

use mindhost_plugin_api::scanner::{Scan, Source};

use super::{MOST, Row, shown};
use crate::{
    bench::{Bench, new_id, usual},
    case::{Expect, Stop},
    sandbox::Limits,
};

/// A source that is opened anew after each scan that was closed before its end: such a scan may say that its source
/// cannot be used again, which is no fault.
pub(super) struct Reader<'a> {
    bench: &'a Bench,
    limits: Limits,
    source: Option<Box<dyn Source>>,
}

/// What came of a scan.
pub(super) struct ScanResult {
    pub rows: Vec<Row>,
    /// Whether these are all of its rows.
    pub ended: bool,
}

impl<'a> Reader<'a> {
    pub fn new(bench: &'a Bench, limits: Limits) -> Self {
        Self {
            bench,
            limits,
            source: None,
        }
    }

    pub fn bench(&self) -> &'a Bench {
        self.bench
    }

    pub async fn source(&mut self) -> Result<&mut dyn Source, Stop> {
        let source = match self.source.take() {
            Some(source) => source,
            None => self.bench.source(self.limits).await?,
        };
        Ok(&mut **self.source.insert(source))
    }

    /// The rows of a scan, so many at a time, until there are more than `most` or the time is over.
    pub async fn read(
        &mut self,
        scan: &Scan,
        max_rows: u32,
        most: usize,
        time: Duration,
    ) -> Result<ScanResult, Stop> {
        let start = Instant::now();
        let what = format!("{} can be read", shown(scan));
        // It may be read several times, and each is an execution.
        let scan = Scan {
            id: new_id(),
            ..scan.clone()
        };
        let source = self.source().await?;
        let id = source.scan(&scan, &usual()).await.expect_to(&what)?;
        let mut read = ScanResult {
            rows: Vec::new(),
            ended: false,
        };
        while read.rows.len() <= most && (read.rows.is_empty() || start.elapsed() < time) {
            match source.next(id, max_rows, &usual()).await.expect_to(&what)? {
                Some(batch) => read.rows.extend(batch.into_values(&scan.columns)),
                None => {
                    read.ended = true;
                    break;
                }
            }
        }
        let closed = source.close(id, &usual()).await;
        closed.expect_to("the scan closes")?;
        if !read.ended {
            self.source = None;
        }
        Ok(read)
    }

    /// The rows of a scan of a small table; one more than there may be where it does not end.
    pub async fn read_whole(&mut self, scan: &Scan, max_rows: u32) -> Result<Vec<Row>, Stop> {
        let read = self.read(scan, max_rows, MOST, Duration::MAX).await?;
        Ok(read.rows)
    }
}
