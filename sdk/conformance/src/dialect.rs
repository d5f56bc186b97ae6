//! The statements that the cases are made of: those of a dialect, unless the configuration has others.

use mindhost_plugin_api::TableRef;

use crate::config::{Hints, Quote};

/// What the kit asks an engine. `None` is what the dialect has no way to say.
#[derive(Clone, Debug)]
pub struct Samples {
    /// See [`Hints::one`].
    pub one: Option<String>,
    /// See [`Hints::empty`].
    pub empty: Option<String>,
    numbers: Option<String>,
    wide: Option<String>,
    text: Option<String>,
    /// See [`Hints::huge`].
    pub huge: Option<String>,
    /// See [`Hints::slow`].
    pub slow: Option<String>,
    /// See [`Hints::running`].
    pub running: Option<String>,
    writes: Vec<String>,
    /// The first directory of [`Hints::watch`].
    watched: Option<String>,
    quote: Quote,
    /// See [`Hints::page`].
    page: Option<String>,
}

/// The table that a write names; no database has it.
const NOWHERE: &str = "mindhost_conformance_nowhere";

impl Samples {
    /// Those of a dialect, with what the hints say in their place.
    pub fn new(dialect: &str, hints: &Hints) -> Self {
        let mut samples = Self::of(dialect);
        let given = [
            (&mut samples.one, &hints.one),
            (&mut samples.empty, &hints.empty),
            (&mut samples.numbers, &hints.numbers),
            (&mut samples.wide, &hints.wide),
            (&mut samples.text, &hints.text),
            (&mut samples.huge, &hints.huge),
            (&mut samples.slow, &hints.slow),
            (&mut samples.running, &hints.running),
            (&mut samples.page, &hints.page),
        ];
        for (sample, hint) in given {
            if hint.is_some() {
                sample.clone_from(hint);
            }
        }
        samples.quote = hints.quote.unwrap_or(samples.quote);
        if let Some(writes) = &hints.writes {
            samples.writes.clone_from(writes);
        }
        let watched = hints.watch.first();
        samples.watched = watched.map(|one| {
            let absolute = std::path::absolute(one);
            let absolute = absolute.as_ref().unwrap_or(one);
            absolute.to_string_lossy().replace('\'', "''")
        });
        samples
    }

    fn of(dialect: &str) -> Self {
        match dialect {
            "sqlite" => sqlite(),
            "postgresql" => postgresql(),
            "mysql" => mysql(),
            "mssql" => mssql(),
            "clickhouse" => clickhouse(),
            "trino" => trino(),
            _ => generic(),
        }
    }

    /// The integers from 1 to `rows` in one column, in order.
    pub fn numbers(&self, rows: u64) -> Option<String> {
        let numbers = self.numbers.as_ref()?;
        Some(numbers.replace("{rows}", &rows.to_string()))
    }

    /// So many rows of a statement, after so many.
    pub fn page(&self, sql: &str, limit: u64, offset: u64) -> Option<String> {
        let page = self.page.as_ref()?.replace("{limit}", &limit.to_string());
        Some(
            page.replace("{offset}", &offset.to_string())
                .replace("{sql}", sql),
        )
    }

    /// One row with one text of so many bytes.
    pub fn wide(&self, bytes: u64) -> Option<String> {
        let wide = self.wide.as_ref()?;
        Some(wide.replace("{bytes}", &bytes.to_string()))
    }

    /// One row with one given text.
    pub fn text(&self, text: &str) -> Option<String> {
        let sample = self.text.as_ref()?;
        Some(sample.replace("{text}", &text.replace('\'', "''")))
    }

    /// All rows and columns of a table.
    pub fn all_of(&self, table: &TableRef) -> String {
        format!("SELECT * FROM {}", self.table(table))
    }

    /// The number of rows of a table.
    pub fn count_of(&self, table: &TableRef) -> String {
        format!("SELECT count(*) FROM {}", self.table(table))
    }

    /// Statements that would write, of which none changes anything even where it is let through, but those that make a
    /// table or a file of a name that says whose it is. Those that need a table or a watched directory are left out where
    /// there is none.
    pub fn writes(&self, table: Option<&TableRef>) -> Vec<String> {
        let table = table.map(|table| self.table(table));
        let places = [("{table}", &table), ("{watched}", &self.watched)];
        let mut writes = self.writes.clone();
        for (place, given) in places {
            match given {
                Some(given) => {
                    for sql in &mut writes {
                        *sql = sql.replace(place, given);
                    }
                }
                None => writes.retain(|sql| !sql.contains(place)),
            }
        }
        writes
    }

    fn table(&self, table: &TableRef) -> String {
        format!(
            "{}.{}",
            self.quoted(&table.schema),
            self.quoted(&table.name)
        )
    }

    fn quoted(&self, name: &str) -> String {
        let Quote(open, close) = self.quote;
        format!(
            "{open}{}{close}",
            name.replace(close, &format!("{close}{close}"))
        )
    }
}

fn generic() -> Samples {
    let writes = [
        "INSERT INTO {table} SELECT * FROM {table} WHERE 1 = 0",
        "DELETE FROM {table} WHERE 1 = 0",
    ];
    Samples {
        one: Some("SELECT 1".into()),
        empty: Some("SELECT 1 WHERE 1 = 0".into()),
        numbers: None,
        wide: None,
        text: Some("SELECT '{text}'".into()),
        huge: None,
        slow: None,
        running: None,
        writes: writes
            .map(String::from)
            .into_iter()
            .chain([
                format!("CREATE TABLE {NOWHERE} (n INTEGER)"),
                format!("DROP TABLE {NOWHERE}"),
            ])
            .collect(),
        watched: None,
        quote: Quote('"', '"'),
        page: Some("{sql} LIMIT {limit} OFFSET {offset}".into()),
    }
}

fn sqlite() -> Samples {
    let count =
        "WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ";
    Samples {
        numbers: Some(format!("{count}{{rows}}) SELECT n FROM counted ORDER BY n")),
        wide: Some("SELECT replace(hex(zeroblob({bytes} / 2)), '0', 'x') AS wide".into()),
        huge: Some(format!(
            "{count}160000) SELECT n, printf('%01000d', n) AS wide FROM counted"
        )),
        slow: Some(format!("{count}9000000000000) SELECT sum(n) FROM counted")),
        writes: generic()
            .writes
            .into_iter()
            .chain([
                "PRAGMA user_version = 7".into(),
                "VACUUM".into(),
                "ATTACH ':memory:' AS other".into(),
                format!("VACUUM INTO '{{watched}}/{NOWHERE}'"),
            ])
            .collect(),
        ..generic()
    }
}

fn postgresql() -> Samples {
    Samples {
        numbers: Some("SELECT n FROM generate_series(1, {rows}) AS n ORDER BY n".into()),
        wide: Some("SELECT repeat('x', {bytes}) AS wide".into()),
        huge: Some("SELECT n, repeat('x', 1000) AS wide FROM generate_series(1, 160000) AS n".into()),
        slow: Some("SELECT pg_sleep(90) AS mindhost_conformance_slow".into()),
        running: Some(
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() \
             AND datname = current_database() AND query LIKE '%mindhost_conformance_slow%'"
                .into(),
        ),
        writes: generic()
            .writes
            .into_iter()
            .chain([
                "SELECT set_config('transaction_read_only', 'off', false)".into(),
                "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE".into(),
                format!("COPY (SELECT 1) TO '{{watched}}/{NOWHERE}'"),
            ])
            .collect(),
        ..generic()
    }
}

fn mysql() -> Samples {
    let count =
        "WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ";
    Samples {
        numbers: Some(format!("{count}{{rows}}) SELECT n FROM counted ORDER BY n")),
        huge: Some(format!(
            "{count}160000) SELECT n, repeat('x', 1000) AS wide FROM counted"
        )),
        empty: Some("SELECT 1 FROM dual WHERE 1 = 0".into()),
        wide: Some("SELECT repeat('x', {bytes}) AS wide".into()),
        slow: Some("SELECT sleep(90) AS mindhost_conformance_slow".into()),
        running: Some(
            "SELECT count(*) FROM information_schema.processlist WHERE id <> connection_id() \
             AND info LIKE '%mindhost_conformance_slow%'"
                .into(),
        ),
        writes: generic()
            .writes
            .into_iter()
            .chain([format!("SELECT 1 INTO OUTFILE '{{watched}}/{NOWHERE}'")])
            .collect(),
        quote: Quote('`', '`'),
        ..generic()
    }
}

fn mssql() -> Samples {
    Samples {
        numbers: Some("SELECT value AS n FROM GENERATE_SERIES(1, {rows}) ORDER BY value".into()),
        // Without the N a text has the characters of the database's code page.
        text: Some("SELECT N'{text}'".into()),
        wide: Some("SELECT replicate(cast('x' AS varchar(max)), {bytes}) AS wide".into()),
        huge: Some("SELECT value AS n, replicate('x', 1000) AS wide FROM GENERATE_SERIES(1, 160000)".into()),
        // WAITFOR is no SELECT, and there is no function that waits.
        slow: Some(
            "SELECT count_big(*) AS mindhost_conformance_slow FROM GENERATE_SERIES(1, 2000000) AS a \
             CROSS JOIN GENERATE_SERIES(1, 2000000) AS b WHERE a.value + b.value < 0"
                .into(),
        ),
        writes: generic()
            .writes
            .into_iter()
            .chain([
                "SELECT 1 DELETE FROM {table} WHERE 1 = 0".into(),
                "SELECT 1 COMMIT DELETE FROM {table} WHERE 1 = 0".into(),
                "EXECUTE sp_executesql N'DELETE FROM {table} WHERE 1 = 0'".into(),
                format!("SELECT 1 AS n INTO {NOWHERE}"),
            ])
            .collect(),
        quote: Quote('[', ']'),
        page: None,
        ..generic()
    }
}

fn clickhouse() -> Samples {
    let hashes = "FROM system.numbers WHERE sipHash64(number) = 1";
    Samples {
        numbers: Some(
            "SELECT n FROM (SELECT toInt64(number + 1) AS n FROM system.numbers LIMIT {rows}) ORDER BY n".into(),
        ),
        // `repeat` came with version 20.
        wide: Some("SELECT arrayStringConcat(arrayMap(x -> 'x', range({bytes}))) AS wide".into()),
        huge: Some(
            "SELECT number, replaceAll('yyyyyyyyyy', 'y', replaceAll('yyyyyyyyyy', 'y', 'xxxxxxxxxx')) AS wide \
             FROM system.numbers LIMIT 160000"
                .into(),
        ),
        slow: Some(format!(
            "SELECT count() AS mindhost_conformance_slow {hashes}"
        )),
        running: Some(
            "SELECT count() FROM system.processes WHERE query LIKE '%mindhost_conformance_slow%' \
             AND query NOT LIKE '%system.processes%'"
                .into(),
        ),
        writes: generic()
            .writes
            .into_iter()
            .chain([
                "SET readonly = 0".into(),
                format!("CREATE TEMPORARY TABLE {NOWHERE} (n UInt8)"),
                format!("SELECT 1 INTO OUTFILE '{{watched}}/{NOWHERE}'"),
                format!(
                    "INSERT INTO FUNCTION file('{{watched}}/{NOWHERE}', 'CSV', 'n UInt8') SELECT 1"
                ),
            ])
            .collect(),
        ..generic()
    }
}

/// A sequence has at most 10,000 items.
const TRINO_THOUSANDS: &str =
    "UNNEST(sequence(0, 9999)) AS a (x) CROSS JOIN UNNEST(sequence(0, 9999)) AS b (y)";

fn trino() -> Samples {
    Samples {
        // As many sequences as it takes: the condition is looked at for every row that they make.
        numbers: Some(
            "SELECT x * 10000 + y + 1 AS n FROM UNNEST(sequence(0, ({rows} - 1) / 10000)) AS a (x) \
             CROSS JOIN UNNEST(sequence(0, 9999)) AS b (y) WHERE x * 10000 + y < {rows} ORDER BY 1"
                .into(),
        ),
        wide: Some("SELECT lpad('', {bytes}, 'x') AS wide".into()),
        huge: Some(format!(
            "SELECT x, y, lpad('', 1000, 'x') AS wide FROM {TRINO_THOUSANDS} WHERE x < 16"
        )),
        slow: Some(format!(
            "SELECT count(*) AS mindhost_conformance_slow FROM {TRINO_THOUSANDS} \
             CROSS JOIN UNNEST(sequence(0, 9999)) AS c (z) WHERE x * y * z % 7 = 8"
        )),
        running: Some(
            "SELECT count(*) FROM system.runtime.queries WHERE query LIKE '%mindhost_conformance_slow%' \
             AND query NOT LIKE '%system.runtime.queries%' AND state NOT IN ('FINISHED', 'FAILED')"
                .into(),
        ),
        writes: generic()
            .writes
            .into_iter()
            .chain([
                "CALL system.runtime.kill_query('x', 'y')".into(),
                format!("CREATE TABLE {NOWHERE} AS SELECT 1 AS n"),
            ])
            .collect(),
        page: None,
        ..generic()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_replaces_what_the_dialect_has() {
        let hints = Hints {
            numbers: Some("SELECT n FROM seq_1_to_{rows}".into()),
            ..Hints::default()
        };
        let samples = Samples::new("generic", &hints);
        assert_eq!(samples.numbers(3).unwrap(), "SELECT n FROM seq_1_to_3");
        assert_eq!(samples.wide(3), None);
        assert_eq!(samples.text("it's").unwrap(), "SELECT 'it''s'");
        let page = samples.page("SELECT n", 3, 5).unwrap();
        assert_eq!(page, "SELECT n LIMIT 3 OFFSET 5");
    }

    #[test]
    fn dialect_that_the_kit_does_not_know_quotes_and_pages_as_the_hints_say() {
        let quote = |text: &str| Quote::try_from(text.to_owned()).ok();
        let hints = Hints {
            quote: quote("`"),
            page: Some("{sql} OFFSET {offset} ROWS FETCH NEXT {limit} ROWS ONLY".into()),
            ..Hints::default()
        };
        let samples = Samples::new("generic", &hints);
        let table = TableRef::new("s", "a`b");
        assert_eq!(samples.all_of(&table), "SELECT * FROM `s`.`a``b`");
        let page = samples.page("SELECT n", 3, 5).unwrap();
        assert_eq!(page, "SELECT n OFFSET 5 ROWS FETCH NEXT 3 ROWS ONLY");
        assert_eq!(quote("[]"), Some(Quote('[', ']')));
        assert_eq!((quote(""), quote("<<>")), (None, None));
    }

    #[test]
    fn writes_need_what_they_name() {
        let hints = Hints {
            writes: Some(vec![
                "DELETE FROM {table}".into(),
                "SELECT 1 INTO OUTFILE '{watched}/x'".into(),
            ]),
            ..Hints::default()
        };
        assert!(Samples::new("generic", &hints).writes(None).is_empty());
        let hints = Hints {
            watch: vec!["/it's/out".into()],
            ..hints
        };
        assert_eq!(
            Samples::new("mysql", &hints).writes(Some(&TableRef::new("s", "t"))),
            [
                "DELETE FROM `s`.`t`",
                "SELECT 1 INTO OUTFILE '/it''s/out/x'"
            ]
        );
    }

    #[test]
    fn names_are_quoted_as_the_dialect_does() {
        let table = TableRef::new("s", "a\"b`c]d");
        let of = |dialect: &str| Samples::of(dialect).all_of(&table);
        assert_eq!(of("sqlite"), "SELECT * FROM \"s\".\"a\"\"b`c]d\"");
        assert_eq!(of("mysql"), "SELECT * FROM `s`.`a\"b``c]d`");
        assert_eq!(of("mssql"), "SELECT * FROM [s].[a\"b`c]]d]");
    }
}
