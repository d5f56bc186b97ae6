//! What the connector learns about a server when it opens, and the settings that it sends from then on.

use std::collections::HashSet;
use std::time::Duration;

use mindhost_sdk::{Error, ErrorKind, Result, Statement};

use crate::config::ConnectionData;
use crate::error::malformed;
use crate::http::{Sending, rows};

/// The settings that are sent where the server has them. An unknown setting is an error to the server.
const WANTED: [(&str, &str); 28] = [
    ("cancel_http_readonly_queries_on_client_close", "1"),
    ("session_timezone", "UTC"),
    // In UTC whatever the zone, and still a date to a reader inside of JSON and Dynamic, where no type is known.
    ("date_time_output_format", "iso"),
    ("output_format_decimal_trailing_zeros", "1"),
    ("output_format_arrow_compression_method", "none"),
    ("output_format_arrow_string_as_string", "0"),
    ("output_format_arrow_low_cardinality_as_dictionary", "0"),
    ("output_format_arrow_unsupported_types_as_binary", "0"),
    ("output_format_arrow_uuid_as_fixed_byte_array", "0"),
    (GLOBAL_WITH, "1"),
    ("union_default_mode", "DISTINCT"),
    // Else an aggregate of no rows has no row.
    ("empty_result_for_aggregation_by_empty_set", "0"),
    ("http_write_exception_in_output_format", "0"),
    // A profile may say `break` or `any`. A result that is cut at a limit then looks complete.
    ("timeout_overflow_mode", "throw"),
    ("timeout_overflow_mode_leaf", "throw"),
    ("read_overflow_mode", "throw"),
    ("read_overflow_mode_leaf", "throw"),
    ("result_overflow_mode", "throw"),
    ("group_by_overflow_mode", "throw"),
    ("sort_overflow_mode", "throw"),
    ("distinct_overflow_mode", "throw"),
    ("join_overflow_mode", "throw"),
    ("set_overflow_mode", "throw"),
    ("transfer_overflow_mode", "throw"),
    // These cut the result of every statement. 0 is no limit.
    ("limit", "0"),
    ("offset", "0"),
    // Without a shard of a distributed table its rows are missing.
    ("skip_unavailable_shards", "0"),
    (CONDITION_CACHE, "0"),
];
/// Whether a name of a WITH is known behind a UNION. If not, the server takes it for a table, unseen by the guard.
const GLOBAL_WITH: &str = "enable_global_with_statement";
/// Whether the server keeps which parts of a table have no row for a condition. A join with filters of its own keeps
/// what it found under the condition alone, and the rows are missing for every later statement with this condition.
const CONDITION_CACHE: &str = "use_query_condition_cache";
/// Whether a join filters the rows of one side by the keys of the other.
const JOIN_FILTERS: &str = "enable_join_runtime_filters";
/// What the first answer may have at most, in bytes.
const MAX_ANSWER: usize = 64 << 10;
/// How long the first answer may take.
const OPENING: Duration = Duration::from_secs(15);
/// Rows of a block: a message of Arrow has at most so many.
const BLOCK_ROWS: &str = "8192";

/// A server, as far as the connector needs to know it.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// `26.9.2.1`.
    pub(crate) version: String,
    /// The zone of a `DateTime` without one: `UTC`.
    pub(crate) zone: String,
    /// `readonly` of the user's own profile: 0, 1 or 2.
    readonly: u8,
    settings: HashSet<String>,
}

/// The formats of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// `ArrowStream`.
    Arrow,
    /// `TabSeparatedWithNamesAndTypes`.
    Text,
}

impl Server {
    /// Asks a server who it is, and which settings it has.
    ///
    /// # Errors
    /// What the server says against user or password, `InvalidConfig` for a profile under which the guard could be
    /// passed by, and `Upstream` if it is not ClickHouse.
    pub(crate) fn meet(data: &ConnectionData, agent: &str) -> Result<Self> {
        let names: Vec<String> = WANTED.iter().map(|(name, _)| format!("'{name}'")).collect();
        // One row, as the profile may cut what has more.
        let sql = format!(
            "SELECT version(), timezone(), maxIf(value, name = 'readonly'), \
             arrayStringConcat(groupArray(name), ','), maxIf(value, name = '{GLOBAL_WITH}'), \
             maxIf(value, name = '{CONDITION_CACHE}'), maxIf(value, name = '{JOIN_FILTERS}') \
             FROM system.settings WHERE name IN ('readonly', '{JOIN_FILTERS}', {})",
            names.join(", ")
        );
        let mut parameters = vec![("default_format", "TabSeparated".to_owned())];
        if let Some(database) = &data.database {
            parameters.push(("database", database.clone()));
        }
        let sending = Sending {
            agent,
            sql: &sql,
            parameters,
            timeout: OPENING,
            before: 0,
        };
        Self::read(&rows(data, &sending, MAX_ANSWER)?)
    }

    fn read(rows: &[Vec<String>]) -> Result<Self> {
        let [row] = rows else {
            return Err(malformed("an answer that is not ClickHouse's"));
        };
        let [
            version,
            zone,
            readonly,
            settings,
            global_with,
            condition_cache,
            join_filters,
        ] = row.as_slice()
        else {
            return Err(malformed("an answer that is not ClickHouse's"));
        };
        let readonly = readonly.parse().unwrap_or(0);
        // The setting can be sent to the others.
        if readonly == 1 && global_with == "0" {
            return Err(Error::new(
                ErrorKind::InvalidConfig,
                format!(
                    "with {GLOBAL_WITH} = 0, a name of a WITH behind a UNION means the table of that name; set it to 1 \
                     in the profile of this user, or readonly to 2"
                ),
            ));
        }
        if readonly == 1 && condition_cache == "1" && join_filters == "1" {
            return Err(Error::new(
                ErrorKind::InvalidConfig,
                format!(
                    "with {CONDITION_CACHE} = 1 and {JOIN_FILTERS} = 1, rows may be missing after a join; set \
                     {CONDITION_CACHE} to 0 in the profile of this user, or readonly to 2"
                ),
            ));
        }
        Ok(Self {
            version: version.clone(),
            zone: zone.clone(),
            readonly,
            settings: settings.split(',').map(str::to_owned).collect(),
        })
    }

    /// Whether the server takes this setting from this user.
    pub(crate) fn sets(&self, name: &str) -> bool {
        self.readonly != 1 && self.settings.contains(name)
    }

    /// Whether the connector can have uncompressed Arrow of this server. The setting for that came with version 23.4.
    pub(crate) fn has_arrow(&self) -> bool {
        self.sets("output_format_arrow_compression_method") && self.tells_instants()
    }

    /// Whether texts of `DateTime` are in UTC and end in `Z`, whatever the zone. The setting came with version 20.11.
    pub(crate) fn tells_instants(&self) -> bool {
        self.sets("date_time_output_format")
    }

    /// The parameters of a statement. All of them are judged by the profile's `readonly`, and none by the one that they
    /// set, so that `readonly=1` can come with the others: the statement itself then cannot write, change a setting,
    /// make a temporary table, or call a table function that reads elsewhere. A profile with `readonly=2` refuses
    /// another value, and one with `readonly=1` refuses every setting; both are kept as they are.
    pub(crate) fn parameters(
        &self,
        data: &ConnectionData,
        statement: &Statement,
        format: Format,
    ) -> Vec<(&'static str, String)> {
        let name = match format {
            Format::Arrow => "ArrowStream",
            Format::Text => "TabSeparatedWithNamesAndTypes",
        };
        let mut parameters = vec![("default_format", name.to_owned())];
        if self.readonly == 1 {
            return parameters;
        }
        if self.readonly == 0 {
            parameters.push(("readonly", "1".into()));
        }
        let seconds = statement
            .timeout
            .as_millis()
            .div_ceil(1000)
            .clamp(1, 86_400);
        parameters.extend([
            ("max_execution_time", seconds.to_string()),
            ("max_block_size", BLOCK_ROWS.into()),
            ("join_use_nulls", u8::from(data.join_use_nulls).to_string()),
        ]);
        let known = WANTED.iter().filter(|(name, _)| self.sets(name));
        parameters.extend(known.map(|(name, value)| (*name, (*value).to_owned())));
        parameters
    }
}

#[cfg(test)]
impl Server {
    /// A server of today that has only these settings, and a user with this `readonly`.
    pub(crate) fn with(readonly: u8, settings: &[&str]) -> Self {
        Self {
            version: "26.9.2.1".into(),
            zone: "UTC".into(),
            readonly,
            settings: settings.iter().map(|name| (*name).to_owned()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(readonly: &str) -> Server {
        let settings = "readonly,date_time_output_format,output_format_arrow_compression_method";
        let row = ["26.9.2.1", "UTC", readonly, settings, "1", "0", "1"];
        Server::read(&[row.map(str::to_owned).to_vec()]).unwrap()
    }

    fn sent(server: &Server) -> Vec<(&'static str, String)> {
        let data = ConnectionData {
            url: "http://localhost:8123".into(),
            user: "default".into(),
            database: None,
            join_use_nulls: true,
        };
        server.parameters(&data, &Statement::new("SELECT 1"), Format::Arrow)
    }

    fn names(readonly: &str) -> Vec<&'static str> {
        let all = sent(&server(readonly));
        all.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn what_is_set_follows_the_profile() {
        assert!(names("0").contains(&"readonly") && names("0").contains(&"max_execution_time"));
        assert!(!names("2").contains(&"readonly") && names("2").contains(&"max_execution_time"));
        assert_eq!(names("1"), ["default_format"]);
        assert!(server("2").has_arrow() && !server("1").has_arrow());
    }

    #[test]
    fn unknown_settings_are_not_sent() {
        assert!(!names("0").contains(&"session_timezone"));
    }

    /// The settings of version 18.16 among the wanted ones.
    #[test]
    fn limits_throw_where_the_profile_would_cut_the_result() {
        let modes = [
            "distinct_overflow_mode",
            "group_by_overflow_mode",
            "join_overflow_mode",
            "read_overflow_mode",
            "result_overflow_mode",
            "set_overflow_mode",
            "sort_overflow_mode",
            "timeout_overflow_mode",
            "transfer_overflow_mode",
        ];
        for readonly in [0, 2] {
            let sent = sent(&Server::with(readonly, &modes));
            let value = |wanted: &str| sent.iter().find(|(name, _)| *name == wanted);
            for mode in modes {
                assert_eq!(value(mode), Some(&(mode, "throw".to_owned())));
            }
            assert_eq!(value("read_overflow_mode_leaf"), None);
            assert_eq!(value("limit"), None);
        }
        assert_eq!(sent(&Server::with(1, &modes)).len(), 1);
        let today = sent(&Server::with(
            0,
            &["limit", "offset", "read_overflow_mode_leaf"],
        ));
        for (name, value) in [
            ("limit", "0"),
            ("offset", "0"),
            ("read_overflow_mode_leaf", "throw"),
        ] {
            assert!(today.contains(&(name, value.to_owned())), "{name}");
        }
    }

    #[test]
    fn profile_that_takes_names_of_a_with_for_tables_is_refused() {
        let read = |readonly: &str, global_with: &str| {
            let row = ["24.8.1.1", "UTC", readonly, "readonly", global_with, "", ""];
            Server::read(&[row.map(str::to_owned).to_vec()])
        };
        let error = read("1", "0").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        assert!(error.message().contains(GLOBAL_WITH), "{error}");
        // Version 18.16 has neither the setting nor such names.
        for (readonly, global_with) in [("1", "1"), ("1", ""), ("0", "0"), ("2", "0")] {
            assert!(read(readonly, global_with).is_ok());
        }
    }

    #[test]
    fn profile_under_which_a_join_loses_rows_is_refused() {
        let read = |readonly: &str, condition_cache: &str, join_filters: &str| {
            let row = [
                "26.9.2.1",
                "UTC",
                readonly,
                "readonly",
                "1",
                condition_cache,
                join_filters,
            ];
            Server::read(&[row.map(str::to_owned).to_vec()])
        };
        let error = read("1", "1", "1").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        assert!(error.message().contains(CONDITION_CACHE), "{error}");
        for (readonly, cache, filters) in [
            ("1", "0", "1"),
            ("1", "1", "0"),
            ("1", "1", ""),
            ("1", "", ""),
            ("0", "1", "1"),
            ("2", "1", "1"),
        ] {
            assert!(read(readonly, cache, filters).is_ok());
        }
    }

    #[test]
    fn another_answer_is_not_clickhouse() {
        let rows = vec![vec!["hello".to_owned()]];
        assert!(Server::read(&rows).is_err());
    }
}
