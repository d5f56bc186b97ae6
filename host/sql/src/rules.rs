//! The functions, types and operators that each dialect allows, and how it folds and quotes names.
//!
//! The names are data, in one file per dialect in `rules/`.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use sqlparser::{ast::Ident, dialect as parsers};

use super::{datafusion::Datafusion, sqlite::Sqlite, trino::Trino};
use mindhost_plugin_api::Dialect;

/// What a statement may use in one dialect. Everything else is refused.
#[derive(Debug)]
pub(super) struct Rules {
    /// Whose syntax and functions these are.
    pub dialect: Dialect,
    /// Functions that a statement may call, by folded name.
    pub functions: HashSet<&'static str>,
    /// Keywords with the syntax of functions.
    pub keywords: HashSet<&'static str>,
    /// Table functions, with the names of their columns if they have any.
    pub rows: HashMap<&'static str, Vec<&'static str>>,
    /// Functions whose result may differ between executions on the same data: `random`, `now`.
    pub volatile: HashSet<&'static str>,
    /// Types for casts, in addition to the standard types of the parser.
    pub types: HashSet<&'static str>,
    /// Operators that the parser keeps as text.
    pub operators: HashSet<&'static str>,
    /// Functions that the engine knows in any case, where it compares the case of all others. In lower case.
    pub any_case: HashSet<&'static str>,
    /// Those functions that combine rows. In ClickHouse the name of one may have endings that change how it does, as
    /// `sumIf`, and only there they are not among `functions`.
    pub aggregates: HashSet<&'static str>,
}

impl Rules {
    /// The rules of a dialect.
    pub fn of(dialect: Dialect) -> &'static Rules {
        match dialect {
            Dialect::Sqlite => &SQLITE,
            Dialect::Postgresql => &POSTGRESQL,
            Dialect::Mysql => &MYSQL,
            Dialect::Mssql => &MSSQL,
            Dialect::Clickhouse => &CLICKHOUSE,
            Dialect::Trino => &TRINO,
            Dialect::Generic => &GENERIC,
            Dialect::Datafusion => &DATAFUSION,
        }
    }

    /// Nesting depth of expressions; each operator of a chain is one level.
    pub fn max_depth(&self) -> usize {
        match self.dialect {
            // The time of its planner is a power of the depth.
            Dialect::Datafusion => 100,
            // `max_ast_depth` is 1,000, and a function is two levels of it.
            Dialect::Clickhouse => 400,
            // Its parser and its analyzer recurse, on a stack that the server sets.
            Dialect::Trino => 300,
            _ => 2_000,
        }
    }

    /// Nesting depth of the expression that a column of a subquery stands for.
    pub fn max_column_depth(&self) -> usize {
        match self.dialect {
            // Its parser stops at 400 levels, but its planner does not check when it inlines columns.
            Dialect::Sqlite => 400,
            _ => self.max_depth(),
        }
    }

    /// How the parser reads this dialect.
    pub fn parser(&self) -> &'static dyn parsers::Dialect {
        match self.dialect {
            Dialect::Sqlite => &Sqlite,
            Dialect::Postgresql => &parsers::PostgreSqlDialect {},
            Dialect::Mysql => &parsers::MySqlDialect {},
            Dialect::Mssql => &parsers::MsSqlDialect {},
            Dialect::Clickhouse => &parsers::ClickHouseDialect {},
            Dialect::Trino => &Trino,
            Dialect::Generic => &parsers::GenericDialect {},
            Dialect::Datafusion => &Datafusion,
        }
    }

    /// The name for messages.
    pub fn title(&self) -> &'static str {
        match self.dialect {
            Dialect::Sqlite => "SQLite",
            Dialect::Postgresql => "PostgreSQL",
            Dialect::Mysql => "MySQL",
            Dialect::Mssql => "SQL Server",
            Dialect::Clickhouse => "ClickHouse",
            Dialect::Trino => "Trino",
            Dialect::Generic => "generic",
            Dialect::Datafusion => "DataFusion",
        }
    }

    /// Whether the parser resolves doubled quotes and escapes. It prints backslashes as they are, so the strings of
    /// engines that read them as escapes stay as they were written.
    pub fn unescapes(&self) -> bool {
        !matches!(self.dialect, Dialect::Mysql | Dialect::Clickhouse)
    }

    /// The quotes that an identifier may have.
    pub fn quotes(&self) -> &'static [char] {
        match self.dialect {
            Dialect::Sqlite => &['"', '`', '['],
            Dialect::Postgresql | Dialect::Trino | Dialect::Generic | Dialect::Datafusion => &['"'],
            Dialect::Mysql => &['`'],
            Dialect::Clickhouse => &['"', '`'],
            Dialect::Mssql => &['"', '['],
        }
    }

    /// The quote of the names that the guard writes.
    pub fn quote(&self) -> char {
        match self.dialect {
            Dialect::Mysql => '`',
            Dialect::Mssql => '[',
            Dialect::Sqlite
            | Dialect::Postgresql
            | Dialect::Clickhouse
            | Dialect::Trino
            | Dialect::Generic
            | Dialect::Datafusion => '"',
        }
    }

    /// A stored name for messages, quoted only if necessary.
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

    /// Whether a name of a table or schema means `stored`, as the engine compares names. Folds ASCII only: for an
    /// engine that folds more, fewer names match.
    pub fn same_table(&self, written: &str, quoted: bool, stored: &str) -> bool {
        match self.dialect {
            // Trino keeps all names in lower case, those in quotes too.
            Dialect::Sqlite | Dialect::Mssql | Dialect::Trino => {
                written.eq_ignore_ascii_case(stored)
            }
            Dialect::Mysql | Dialect::Clickhouse => written == stored,
            Dialect::Postgresql if quoted => written == stored,
            Dialect::Postgresql => written.to_ascii_lowercase() == stored,
            // The guard writes the stored name, so the names of files keep their case.
            Dialect::Generic | Dialect::Datafusion if quoted => written == stored,
            Dialect::Generic | Dialect::Datafusion => written.eq_ignore_ascii_case(stored),
        }
    }

    /// As [`Self::same_table`]. With `in_any_case`, a name of MySQL means a table in any case too, as in a server whose
    /// `lower_case_table_names` is 1 or 2. The host does not know that setting. It need not: the guard writes the name
    /// of a table of the Mind, and a name of another table stays what it is.
    pub fn is_table(&self, written: &Ident, stored: &str, in_any_case: bool) -> bool {
        let in_any_case = in_any_case && self.dialect == Dialect::Mysql;
        self.same_table(&written.value, written.quote_style.is_some(), stored)
            || (in_any_case && written.value.eq_ignore_ascii_case(stored))
    }

    /// Folds a name within the statement (CTE, alias) for comparison. Names that are equal here are equal in the engine
    /// with any settings.
    pub fn fold(&self, written: &str, quoted: bool) -> String {
        match self.dialect {
            Dialect::Sqlite | Dialect::Trino => written.to_ascii_lowercase(),
            Dialect::Postgresql | Dialect::Datafusion if quoted => written.to_owned(),
            Dialect::Postgresql | Dialect::Datafusion => written.to_ascii_lowercase(),
            Dialect::Generic if quoted => format!("\"{written}"),
            Dialect::Generic => written.to_ascii_lowercase(),
            Dialect::Mysql | Dialect::Mssql | Dialect::Clickhouse => written.to_owned(),
        }
    }

    /// Folds the name of a built-in function or type; a quoted name keeps its case.
    pub fn fold_built_in(&self, written: &str, quoted: bool) -> String {
        match self.dialect {
            Dialect::Postgresql if quoted => written.to_owned(),
            Dialect::Clickhouse => self.known_as(written),
            _ => written.to_ascii_lowercase(),
        }
    }

    /// The name of a function or type of ClickHouse as the lists have it. ClickHouse compares the case of most names,
    /// so that another spelling may be somebody's own function.
    fn known_as(&self, written: &str) -> String {
        let folded = written.to_ascii_lowercase();
        match self.any_case.contains(folded.as_str()) || self.types.contains(folded.as_str()) {
            true => folded,
            false => written.to_owned(),
        }
    }

    /// Whether a function may be called, by its folded name.
    pub fn allows_function(&self, name: &str) -> bool {
        self.functions.contains(name) || self.is_aggregate(name)
    }

    /// The name of the aggregate in a text such as `quantile(0.5)`, if a function of ClickHouse that takes it as a text
    /// may be called with it.
    pub fn aggregate_in<'t>(&self, text: &'t str) -> Option<&'t str> {
        let name = match text.split_once('(') {
            None => text,
            Some((name, parameters)) => {
                let parameters = parameters.strip_suffix(')')?;
                let is_plain =
                    |byte: u8| byte.is_ascii_digit() || matches!(byte, b',' | b'.' | b' ');
                parameters.bytes().all(is_plain).then_some(name)?
            }
        };
        self.is_aggregate(name).then_some(name)
    }

    /// Whether a function combines rows, by its folded name. In ClickHouse that may have endings: `uniqExactIf`.
    pub fn is_aggregate(&self, name: &str) -> bool {
        if self.dialect != Dialect::Clickhouse {
            return self.aggregates.contains(name);
        }
        let mut base = name;
        loop {
            if self.aggregates.contains(self.known_as(base).as_str()) {
                return true;
            }
            match ENDINGS.iter().find_map(|ending| base.strip_suffix(ending)) {
                Some(shorter) => base = shorter,
                None => return false,
            }
        }
    }
}

/// What may stand behind the name of an aggregate of ClickHouse.
const ENDINGS: [&str; 12] = [
    "If",
    "Array",
    "Distinct",
    "OrNull",
    "OrDefault",
    "ForEach",
    "Map",
    "Merge",
    "State",
    "SimpleState",
    "ArgMin",
    "ArgMax",
];

static SQLITE: LazyLock<Rules> =
    LazyLock::new(|| read(Dialect::Sqlite, include_str!("rules/sqlite.txt")));
static POSTGRESQL: LazyLock<Rules> =
    LazyLock::new(|| read(Dialect::Postgresql, include_str!("rules/postgresql.txt")));
static MYSQL: LazyLock<Rules> =
    LazyLock::new(|| read(Dialect::Mysql, include_str!("rules/mysql.txt")));
static MSSQL: LazyLock<Rules> =
    LazyLock::new(|| read(Dialect::Mssql, include_str!("rules/mssql.txt")));
static CLICKHOUSE: LazyLock<Rules> =
    LazyLock::new(|| read(Dialect::Clickhouse, include_str!("rules/clickhouse.txt")));
static TRINO: LazyLock<Rules> =
    LazyLock::new(|| read(Dialect::Trino, include_str!("rules/trino.txt")));
static GENERIC: LazyLock<Rules> =
    LazyLock::new(|| read(Dialect::Generic, include_str!("rules/generic.txt")));
static DATAFUSION: LazyLock<Rules> =
    LazyLock::new(|| read(Dialect::Datafusion, include_str!("rules/datafusion.txt")));

/// Parses a rules file: `[section]` lines, names separated by spaces, and comments that start with `# `.
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
    let aggregates: HashSet<_> = take("aggregates").into_iter().collect();
    let mut functions: HashSet<_> = take("functions").into_iter().collect();
    if dialect != Dialect::Clickhouse {
        functions.extend(&aggregates);
    }
    Rules {
        dialect,
        functions,
        keywords: take("keywords").into_iter().collect(),
        rows,
        volatile: take("volatile").into_iter().collect(),
        types: take("types").into_iter().collect(),
        operators: take("operators").into_iter().collect(),
        any_case: take("any-case").into_iter().collect(),
        aggregates,
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
            Dialect::Clickhouse,
            Dialect::Trino,
            Dialect::Generic,
            Dialect::Datafusion,
        ] {
            let rules = Rules::of(dialect);
            assert!(rules.allows_function("count"), "{dialect:?}");
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
            Dialect::Clickhouse,
            Dialect::Trino,
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
