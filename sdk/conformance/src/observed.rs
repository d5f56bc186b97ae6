//! What a source shows of itself, compared before and after a statement that must change nothing: an error alone does not
//! say that nothing was written.

use std::{
    collections::BTreeMap,
    fs,
    hash::{DefaultHasher, Hash, Hasher as _},
    io,
    path::Path,
    time::Duration,
};

use mindhost_plugin_api::{Connection, Statement, TableRef};

use crate::{
    bench::{Bench, Bounds, ROWS, read_within, statement, usual},
    case::{Expect, Stop, failed},
};

/// How long the rows of one table may be counted; a table that takes longer is told by its name alone.
const COUNT_TIME: Duration = Duration::from_secs(5);
/// Rows of a table whose content is compared too.
const MOST: i128 = 2_000;
/// Files of a watched directory that are looked at.
const MOST_FILES: usize = 10_000;
/// Bytes of a file whose content is compared; of a larger one, its size and time.
const MOST_BYTES: u64 = 4 << 20;

/// The tables with their rows, and the files of the directories of `tests.watch`, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Observed(BTreeMap<String, Option<Content>>);

/// What a table or file holds, where that could be told.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Content {
    /// How much it is, in words.
    size: String,
    digest: u64,
}

impl Observed {
    /// Looks at everything anew, over a connection of its own.
    pub async fn of(bench: &Bench) -> Result<Self, Stop> {
        let mut observed = Self::default();
        let mut connection = bench.open().await?;
        let tables = connection.tables(&usual()).await;
        let tables = tables.expect_to("tables are listed")?;
        for table in &tables {
            observed.0.insert(name(table), None);
        }
        let looked_at = match bench.named_tables() {
            named if named.is_empty() => bench.first_tables(Ok(tables)).unwrap_or_default(),
            named => named,
        };
        for table in looked_at {
            let rows = rows(bench, &mut *connection, &table).await;
            match rows {
                Some((count, digest)) => {
                    observed.add(name(&table), format!("{count} rows"), digest);
                }
                // An error may have cost the connection.
                None => connection = bench.open().await?,
            }
        }
        for directory in &bench.config.tests.watch {
            observed.files(directory).map_err(|error| {
                failed(
                    format!(
                        "the directory {} of tests.watch can be read",
                        directory.display()
                    ),
                    error,
                    "name a directory that exists and that you may read",
                )
            })?;
        }
        Ok(observed)
    }

    fn add(&mut self, name: String, size: String, digest: u64) {
        self.0.insert(name, Some(Content { size, digest }));
    }

    /// Every file below a directory.
    fn files(&mut self, directory: &Path) -> io::Result<()> {
        let mut waiting = vec![directory.to_owned()];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(&directory)? {
                let path = entry?.path();
                // One that went in between is not there any more.
                let Ok(metadata) = path.symlink_metadata() else {
                    continue;
                };
                if metadata.is_dir() {
                    waiting.push(path.clone());
                }
                let size = format!("{} bytes", metadata.len());
                let digest = digest_of_file(&path, &metadata);
                self.add(path.display().to_string(), size, digest);
                if self.0.len() > MOST_FILES {
                    return Err(io::Error::other(format!("more than {MOST_FILES} files")));
                }
            }
        }
        Ok(())
    }

    /// The first difference, in words.
    pub fn difference(&self, after: &Self) -> Option<String> {
        let gone = |name: &&String| !after.0.contains_key(*name);
        if let Some(name) = self.0.keys().find(gone) {
            return Some(format!("{name} is gone"));
        }
        for (name, content) in &after.0 {
            let Some(before) = self.0.get(name) else {
                return Some(format!("{name} is new"));
            };
            match (before, content) {
                (Some(before), Some(now)) if before.size != now.size => {
                    return Some(format!(
                        "{name} has {}, and it had {}",
                        now.size, before.size
                    ));
                }
                (Some(before), Some(now)) if before.digest != now.digest => {
                    return Some(format!("{name} has another content"));
                }
                // What could not be counted once says nothing.
                _ => {}
            }
        }
        None
    }
}

/// The number of rows of a table, and a digest of the rows where they are few; none where they cannot be counted.
async fn rows(
    bench: &Bench,
    connection: &mut dyn Connection,
    table: &TableRef,
) -> Option<(i128, u64)> {
    let bounds = Bounds::of(COUNT_TIME * 2);
    let within = |sql: &str| Statement {
        timeout: COUNT_TIME,
        ..statement(sql)
    };
    let counting = within(&bench.samples.count_of(table));
    let counted = read_within(connection, &counting, ROWS, &bounds).await;
    let count = counted.ok()?.integer()?;
    if count > MOST {
        return Some((count, 0));
    }
    let all = within(&bench.samples.all_of(table));
    let answer = read_within(connection, &all, ROWS, &bounds).await;
    let mut rows: Vec<_> = answer
        .ok()?
        .rows
        .iter()
        .map(|row| format!("{row:?}"))
        .collect();
    rows.sort_unstable();
    Some((count, digest(&rows)))
}

fn name(table: &TableRef) -> String {
    format!("the table {}.{}", table.schema, table.name)
}

fn digest_of_file(path: &Path, metadata: &fs::Metadata) -> u64 {
    match metadata.is_file() && metadata.len() <= MOST_BYTES {
        true => digest(&fs::read(path).ok()),
        false if metadata.is_file() => digest(&metadata.modified().ok()),
        false => 0,
    }
}

fn digest(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(things: &[(&str, &str, u64)]) -> Observed {
        let mut observed = Observed::default();
        for (name, size, digest) in things {
            observed.add((*name).to_owned(), (*size).to_owned(), *digest);
        }
        observed
    }

    #[test]
    fn a_difference_is_told_in_words() {
        let before = seen(&[("a", "3 rows", 1), ("b", "2 rows", 0)]);
        let after = |things: &[(&str, &str, u64)]| before.difference(&seen(things));
        assert_eq!(after(&[("a", "3 rows", 1), ("b", "2 rows", 0)]), None);
        assert_eq!(
            after(&[("a", "2 rows", 1), ("b", "2 rows", 0)]).unwrap(),
            "a has 2 rows, and it had 3 rows"
        );
        assert_eq!(
            after(&[("a", "3 rows", 2), ("b", "2 rows", 0)]).unwrap(),
            "a has another content"
        );
        assert_eq!(after(&[("a", "3 rows", 1)]).unwrap(), "b is gone");
        let more = [("a", "3 rows", 1), ("b", "2 rows", 0), ("c", "1 rows", 0)];
        assert_eq!(after(&more).unwrap(), "c is new");
        let mut uncounted = before.clone();
        uncounted.0.insert("a".into(), None);
        assert_eq!(before.difference(&uncounted), None);
    }

    #[test]
    fn files_are_told_apart_by_their_content() {
        let dir = std::env::temp_dir().join(format!("mindhost-observed-{}", std::process::id()));
        fs::create_dir_all(dir.join("inner")).unwrap();
        fs::write(dir.join("inner/a"), "one").unwrap();
        let look = || {
            let mut observed = Observed::default();
            observed.files(&dir).map(|()| observed)
        };
        let before = look().unwrap();
        assert_eq!(before.difference(&look().unwrap()), None);
        fs::write(dir.join("inner/a"), "two").unwrap();
        let changed = before.difference(&look().unwrap()).unwrap();
        assert!(
            changed.ends_with("inner/a has another content"),
            "{changed}"
        );
        fs::write(dir.join("out"), "rows").unwrap();
        let more = before.difference(&look().unwrap()).unwrap();
        assert!(
            more.contains("content") || more.ends_with("out is new"),
            "{more}"
        );
        fs::remove_dir_all(&dir).unwrap();
        assert!(look().is_err());
    }
}
