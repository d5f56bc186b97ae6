//! Which columns of texts have the order of texts.

use mindhost_plugin_api::Dialect;

/// Whether texts of a column are in the order of its type. Values of other types come as texts too, and to a text `$10`
/// is less than `$9`, and the least value of an enum is another one.
pub fn is_of_text(native_type: &str, dialect: Dialect) -> bool {
    let name = native_type.to_ascii_lowercase();
    // `character varying(20)`
    let bare = name.split(['(', ' ']).next().unwrap_or_default();
    match dialect {
        // It compares every text as one, whatever its type is called.
        Dialect::Sqlite => true,
        // As the host does.
        Dialect::Datafusion => !bare.starts_with("interval"),
        // The order of a UUID is that of its digits there.
        Dialect::Postgresql => {
            let is_text = ["text", "character", "bpchar", "name", "uuid"].contains(&bare);
            is_text && !name.ends_with("[]")
        }
        Dialect::Mysql => {
            let texts = [
                "char",
                "varchar",
                "text",
                "tinytext",
                "mediumtext",
                "longtext",
            ];
            texts.contains(&bare)
        }
        Dialect::Mssql => {
            let texts = [
                "char", "varchar", "text", "nchar", "nvarchar", "ntext", "sysname",
            ];
            texts.contains(&bare)
        }
        // `LowCardinality(Nullable(String))`
        Dialect::Clickhouse => {
            let inner = name.trim_start_matches("lowcardinality(");
            let inner = inner.trim_start_matches("nullable(");
            let bare = inner.split(['(', ')']).next().unwrap_or_default();
            ["string", "fixedstring"].contains(&bare)
        }
        Dialect::Trino => ["varchar", "char"].contains(&bare),
        Dialect::Generic => ["char", "text", "string", "clob"]
            .iter()
            .any(|text| bare.contains(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_text_types_have_an_order_and_those_of_other_types_have_none() {
        use Dialect::{Clickhouse, Datafusion, Generic, Mssql, Mysql, Postgresql, Sqlite, Trino};
        let cases: &[(Dialect, &[&str], &[&str])] = &[
            (
                Postgresql,
                &[
                    "text",
                    "character varying",
                    "character varying(20)",
                    "character(5)",
                    "bpchar",
                    "name",
                    "uuid",
                ],
                &[
                    "money",
                    "interval",
                    "public.mood",
                    "mood",
                    "time with time zone",
                    "int4range",
                    "xid8",
                    "pg_lsn",
                    "inet",
                    "cidr",
                    "citext",
                    "\"char\"",
                    "text[]",
                    "character varying(20)[]",
                    "text_code",
                    "",
                ],
            ),
            (
                Mysql,
                &["varchar(20)", "char(3)", "longtext", "text"],
                &[
                    "enum('char')",
                    "set('a','b')",
                    "inet6",
                    "uuid",
                    "tinyint(1)",
                ],
            ),
            (
                Clickhouse,
                &[
                    "String",
                    "Nullable(String)",
                    "LowCardinality(Nullable(String))",
                    "FixedString(3)",
                ],
                &[
                    "Enum8('String' = 1)",
                    "UUID",
                    "LowCardinality(Nullable(IPv6))",
                    "Array(String)",
                ],
            ),
            (
                Mssql,
                &["nvarchar(max)", "char(10)", "sysname"],
                &["uniqueidentifier", "sql_variant", "hierarchyid"],
            ),
            (
                Trino,
                &["varchar", "varchar(3)", "char(3)"],
                &[
                    "ipaddress",
                    "uuid",
                    "interval day to second",
                    "time(3) with time zone",
                ],
            ),
            (
                Generic,
                &["VARCHAR2(20)", "String", "CLOB"],
                &["inet", "enum('text')", ""],
            ),
            (Sqlite, &["TEXT", "MONEY", ""], &[]),
            (Datafusion, &["utf8", "text"], &["interval(daytime)"]),
        ];
        for (dialect, texts, others) in cases {
            for native in *texts {
                assert!(is_of_text(native, *dialect), "{dialect:?} {native}");
            }
            for native in *others {
                assert!(!is_of_text(native, *dialect), "{dialect:?} {native}");
            }
        }
    }
}
