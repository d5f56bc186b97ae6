//! Which columns hold bytes, whose values are not read.

use mindhost_plugin_api::Dialect;

/// Whether a type is one of bytes. A word within the name says nothing: `enum('image', 'video')` is a text. Where this
/// is not certain, the values are read and tell.
pub fn holds(native_type: &str, dialect: Dialect) -> bool {
    let name = native_type.to_ascii_lowercase();
    // `varbinary(20)`
    let bare = name.split(['(', ' ']).next().unwrap_or_default();
    let is_binary = ["binary", "varbinary"].contains(&bare);
    match dialect {
        Dialect::Postgresql => name == "bytea",
        Dialect::Mysql => {
            is_binary || ["blob", "tinyblob", "mediumblob", "longblob"].contains(&bare)
        }
        Dialect::Mssql => is_binary || bare == "image",
        // By the rules for affinity, a name with one of these words is one of numbers or texts.
        Dialect::Sqlite => {
            let others = ["int", "char", "clob", "text"];
            let is_other = others.iter().any(|word| name.contains(word));
            is_binary || bare == "bytea" || (name.contains("blob") && !is_other)
        }
        // It has texts only, which may hold any bytes.
        Dialect::Clickhouse => false,
        Dialect::Trino => bare == "varbinary",
        Dialect::Datafusion => {
            let names = ["binary", "binaryview", "fixedsizebinary", "largebinary"];
            names.contains(&bare)
        }
        Dialect::Generic => is_binary || ["blob", "bytea", "image"].contains(&bare),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_types_of_bytes_hold_bytes() {
        use Dialect::{Clickhouse, Datafusion, Generic, Mssql, Mysql, Postgresql, Sqlite, Trino};
        let cases: &[(Dialect, &[&str], &[&str])] = &[
            (
                Postgresql,
                &["bytea"],
                &["image_url", "binary_answer", "bytea[]", "text"],
            ),
            (
                Mysql,
                &["blob", "longblob", "varbinary(16)", "BINARY(2)"],
                &["enum('image','video')", "set('blob')"],
            ),
            (
                Mssql,
                &["image", "varbinary(max)"],
                &["varchar(20)", "image_name"],
            ),
            (
                Sqlite,
                &["BLOB", "LONGBLOB", "VARBINARY(9)"],
                &["BLOB SUB_TYPE TEXT", "image", "TEXT"],
            ),
            (
                Clickhouse,
                &[],
                &["Enum8('image' = 1)", "String", "FixedString(16)"],
            ),
            (Trino, &["varbinary"], &["varchar", "array(varbinary)"]),
            (
                Datafusion,
                &["binary", "fixedsizebinary(16)"],
                &["text", "list(binary)"],
            ),
            (Generic, &["blob", "bytea"], &["image_url", "text"]),
        ];
        for (dialect, bytes, others) in cases {
            for name in *bytes {
                assert!(holds(name, *dialect), "{dialect:?} {name}");
            }
            for name in *others {
                assert!(!holds(name, *dialect), "{dialect:?} {name}");
            }
        }
    }
}
