//! What each dialect lets a statement name, and how it folds and quotes names.
//!
//! The names are data: one file a dialect in `rules/`, so that a change is one line to read.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use sqlparser::dialect as parsers;

use super::sqlite::Sqlite;
use mindhost_plugin_api::Dialect;

/// The rules of one dialect.
#[derive(Debug)]
pub(super) struct Rules {
    /// Which dialect.
    pub dialect: Dialect,
    /// Functions that may be called.
    pub functions: HashSet<&'static str>,
    /// Words that look like functions but belong to the grammar.
    pub keywords: HashSet<&'static str>,
    /// Functions that give rows, with the names of their columns where they have named ones.
    pub rows: HashMap<&'static str, Vec<&'static str>>,
    /// Functions whose value differs from call to call.
    pub volatile: HashSet<&'static str>,
    /// Type names that may be cast to, beside those that the parser knows as standard.
    pub types: HashSet<&'static str>,
    /// Operators that the parser hands over as text.
    pub operators: HashSet<&'static str>,
}

impl Rules {
    /// The rules of a dialect.
    pub fn of(dialect: Dialect) -> &'static Rules {
        match dialect {
            Dialect::Sqlite => &SQLITE,
            Dialect::Postgresql => &POSTGRESQL,
            Dialect::Mysql => &MYSQL,
            Dialect::Mssql => &MSSQL,
            Dialect::Generic => &GENERIC,
            Dialect::Datafusion => &DATAFUSION,
        }
    }

    /// How deep expressions may stand in each other; each operator of a chain is one level.
    pub fn max_depth(&self) -> usize {
        match self.dialect {
            // Its planner takes time in proportion to a power of the depth.
            Dialect::Datafusion => 100,
            _ => 2_000,
        }
    }

    /// How deep the expression may be that a column of a subquery stands for.
    pub fn max_column_depth(&self) -> usize {
        match self.dialect {
            // It ends at 400 levels as they are written, and does not look when it writes columns into each other.
            Dialect::Sqlite => 400,
            _ => self.max_depth(),
        }
    }

    /// What the parser calls this dialect.
    pub fn parser(&self) -> &'static dyn parsers::Dialect {
        match self.dialect {
            Dialect::Sqlite => &Sqlite,
            Dialect::Postgresql => &parsers::PostgreSqlDialect {},
            Dialect::Mysql => &parsers::MySqlDialect {},
            Dialect::Mssql => &parsers::MsSqlDialect {},
            Dialect::Generic | Dialect::Datafusion => &parsers::GenericDialect {},
        }
    }

    /// For people.
    pub fn title(&self) -> &'static str {
        match self.dialect {
            Dialect::Sqlite => "SQLite",
            Dialect::Postgresql => "PostgreSQL",
            Dialect::Mysql => "MySQL",
            Dialect::Mssql => "SQL Server",
            Dialect::Generic => "generic",
            Dialect::Datafusion => "DataFusion",
        }
    }

    /// Whether the parser may turn doubled quotes and escapes into what they mean. MySQL's escapes are printed
    /// wrongly after that, so its strings stay as they were written.
    pub fn unescapes(&self) -> bool {
        self.dialect != Dialect::Mysql
    }

    /// The quotes that an identifier may have.
    pub fn quotes(&self) -> &'static [char] {
        match self.dialect {
            Dialect::Sqlite => &['"', '`', '['],
            Dialect::Postgresql | Dialect::Generic | Dialect::Datafusion => &['"'],
            Dialect::Mysql => &['`'],
            Dialect::Mssql => &['"', '['],
        }
    }

    /// The quote of the names that the guard writes.
    pub fn quote(&self) -> char {
        match self.dialect {
            Dialect::Mysql => '`',
            Dialect::Mssql => '[',
            Dialect::Sqlite | Dialect::Postgresql | Dialect::Generic | Dialect::Datafusion => '"',
        }
    }

    /// A stored name as a person would write it: quoted only where it must be.
    pub fn spelled(&self, stored: &str) -> String {
        let plain = stored.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            && stored
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        match (plain, self.quote()) {
            (true, _) => stored.to_owned(),
            (false, '[') => format!("[{stored}]"),
            (false, quote) => {
                format!(
                    "{quote}{}{quote}",
                    stored.replace(quote, &format!("{quote}{quote}"))
                )
            }
        }
    }

    /// Whether an unquoted or quoted name of a table or schema means `stored`, as the engine compares names.
    /// Folding is ASCII's alone: an engine that folds more only finds less here.
    pub fn same_table(&self, written: &str, quoted: bool, stored: &str) -> bool {
        match self.dialect {
            Dialect::Sqlite | Dialect::Mssql => written.eq_ignore_ascii_case(stored),
            Dialect::Mysql => written == stored,
            Dialect::Postgresql if quoted => written == stored,
            Dialect::Postgresql => written.to_ascii_lowercase() == stored,
            // The guard writes the stored name, so that files keep their capital letters.
            Dialect::Generic | Dialect::Datafusion if quoted => written == stored,
            Dialect::Generic | Dialect::Datafusion => written.eq_ignore_ascii_case(stored),
        }
    }

    /// The form in which names that exist only within the statement (CTEs, aliases) are compared. Two names that
    /// are equal here are equal to the engine too, also where its settings decide.
    pub fn fold(&self, written: &str, quoted: bool) -> String {
        match self.dialect {
            Dialect::Sqlite => written.to_ascii_lowercase(),
            Dialect::Postgresql | Dialect::Datafusion if quoted => written.to_owned(),
            Dialect::Postgresql | Dialect::Datafusion => written.to_ascii_lowercase(),
            Dialect::Generic if quoted => format!("\"{written}"),
            Dialect::Generic => written.to_ascii_lowercase(),
            Dialect::Mysql | Dialect::Mssql => written.to_owned(),
        }
    }

    /// The form in which the names of built-in functions and types are listed; a quoted name keeps its case.
    pub fn fold_built_in(&self, written: &str, quoted: bool) -> String {
        match self.dialect {
            Dialect::Postgresql if quoted => written.to_owned(),
            _ => written.to_ascii_lowercase(),
        }
    }
}

static SQLITE: LazyLock<Rules> =
    LazyLock::new(|| read(Dialect::Sqlite, include_str!("rules/sqlite.txt")));
static POSTGRESQL: LazyLock<Rules> =
    LazyLock::new(|| read(Dialect::Postgresql, include_str!("rules/postgresql.txt")));
static MYSQL: LazyLock<Rules> =
    LazyLock::new(|| read(Dialect::Mysql, include_str!("rules/mysql.txt")));
static MSSQL: LazyLock<Rules> =
    LazyLock::new(|| read(Dialect::Mssql, include_str!("rules/mssql.txt")));
static GENERIC: LazyLock<Rules> =
    LazyLock::new(|| read(Dialect::Generic, include_str!("rules/generic.txt")));
static DATAFUSION: LazyLock<Rules> =
    LazyLock::new(|| read(Dialect::Datafusion, include_str!("rules/datafusion.txt")));

/// Reads a rules file: `[section]` lines, names between blanks, and comments that start with `# `.
fn read(dialect: Dialect, text: &'static str) -> Rules {
    let mut sections: HashMap<&str, Vec<&'static str>> = HashMap::new();
    let mut section = "";
    for line in text.lines() {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            section = name;
        } else if !(line.starts_with("# ") || line == "#") {
            sections
                .entry(section)
                .or_default()
                .extend(line.split_whitespace());
        }
    }
    let mut take = |name: &str| sections.remove(name).unwrap_or_default();
    let rows = take("rows")
        .into_iter()
        .map(|entry| match entry.split_once(':') {
            Some((name, columns)) => (name, columns.split(',').collect()),
            None => (entry, Vec::new()),
        })
        .collect();
    Rules {
        dialect,
        functions: take("functions").into_iter().collect(),
        keywords: take("keywords").into_iter().collect(),
        rows,
        volatile: take("volatile").into_iter().collect(),
        types: take("types").into_iter().collect(),
        operators: take("operators").into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_read() {
        for dialect in [
            Dialect::Sqlite,
            Dialect::Postgresql,
            Dialect::Mysql,
            Dialect::Mssql,
            Dialect::Generic,
            Dialect::Datafusion,
        ] {
            let rules = Rules::of(dialect);
            assert!(rules.functions.contains("count"), "{dialect:?}");
            assert!(rules.keywords.contains("current_timestamp"), "{dialect:?}");
            assert!(rules.types.contains("integer"), "{dialect:?}");
        }
        assert_eq!(
            Rules::of(Dialect::Postgresql).rows["json_each"],
            ["key", "value"]
        );
        assert!(Rules::of(Dialect::Postgresql).operators.contains("#>>"));
    }

    #[test]
    fn nothing_that_is_known_to_do_harm_is_listed() {
        let harmful = [
            "pg_read_file",
            "pg_ls_dir",
            "lo_import",
            "lo_export",
            "lo_create",
            "lo_put",
            "dblink",
            "query_to_xml",
            "database_to_xml",
            "set_config",
            "nextval",
            "setval",
            "currval",
            "pg_sleep",
            "pg_notify",
            "pg_terminate_backend",
            "pg_advisory_lock",
            "load_file",
            "sleep",
            "benchmark",
            "get_lock",
            "openrowset",
            "openquery",
            "opendatasource",
            "url",
            "file",
            "remote",
            "s3",
            "load_extension",
            "writefile",
            "readfile",
            "edit",
            "external_query",
            "current_setting",
            "randomblob",
            "zeroblob",
            "ts_stat",
            "table_to_xml",
            "to_regclass",
            "eval",
            "fts3_tokenizer",
            "ts_rewrite",
        ];
        for dialect in [
            Dialect::Sqlite,
            Dialect::Postgresql,
            Dialect::Mysql,
            Dialect::Mssql,
            Dialect::Generic,
            Dialect::Datafusion,
        ] {
            let rules = Rules::of(dialect);
            for name in harmful {
                assert!(!rules.functions.contains(name), "{dialect:?} {name}");
                assert!(!rules.rows.contains_key(name), "{dialect:?} {name}");
                assert!(!rules.keywords.contains(name), "{dialect:?} {name}");
            }
            assert!(rules.types.iter().all(|name| !name.starts_with("reg")));
        }
    }
}
