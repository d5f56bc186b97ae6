//! Whether a statement is deterministic.

use sqlparser::{
    dialect::GenericDialect,
    tokenizer::{Token, Tokenizer},
};

use super::guard::GuardedStatement;

/// Words that make the rows depend on an order that the statement does not fix, or on the time. Quoted names do not
/// count.
const NONDETERMINISTIC: &[&str] = &[
    // Which rows of several.
    "fetch",
    "limit",
    "offset",
    "qualify",
    "sample",
    "tablesample",
    "top",
    // Rows in relation to others.
    "over",
    "window",
    "within",
    // Several values in one, in the order in which they come.
    "any",
    "any_value",
    "array",
    "anylast",
    "argmax",
    "argmin",
    "array_agg",
    "first",
    "first_value",
    "group_concat",
    "grouparray",
    "groupuniqarray",
    "json_agg",
    "json_arrayagg",
    "json_group_array",
    "json_group_object",
    "json_object_agg",
    "json_objectagg",
    "jsonb_agg",
    "jsonb_object_agg",
    "last",
    "last_value",
    "listagg",
    "string_agg",
    "xmlagg",
    // The time and the session.
    "age",
    "clock_timestamp",
    "curdate",
    "current_date",
    "current_time",
    "current_timestamp",
    "curtime",
    "date",
    "datetime",
    "getdate",
    "julianday",
    "localtime",
    "localtimestamp",
    "neighbor",
    "now",
    "now64",
    "rownum",
    "runningdifference",
    "statement_timestamp",
    "strftime",
    "sysdate",
    "time",
    "timeofday",
    "today",
    "transaction_timestamp",
    "unixepoch",
    "utc_date",
    "utc_time",
    "utc_timestamp",
    "yesterday",
];

/// Whether two executions on the same data return the same rows in any order. When in doubt, false.
pub fn is_deterministic(guarded: &GuardedStatement) -> bool {
    if guarded.is_volatile() {
        return false;
    }
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, guarded.text()).tokenize() else {
        return false;
    };
    let mut distinct = false;
    for token in &tokens {
        let Token::Word(word) = token else {
            continue;
        };
        let name = word.value.to_ascii_lowercase();
        let is_plain = word.quote_style.is_none();
        if is_plain && (NONDETERMINISTIC.contains(&name.as_str()) || distinct && name == "on") {
            return false;
        }
        distinct = is_plain && name == "distinct";
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        guard::guard,
        scope::{ScopeDatasource, ScopeTable},
    };
    use mindhost_plugin_api::{Dialect, TableRef};

    fn is(sql: &str) -> bool {
        let table = ScopeTable::new(TableRef::new("public", "item"), &["id", "name", "limit"]);
        let scope = ScopeDatasource::new("shop", Dialect::Postgresql, vec![table]).into();
        is_deterministic(&guard(sql, &scope).unwrap_or_else(|error| panic!("{sql}: {error}")))
    }

    #[test]
    fn statement_over_data_only_is_deterministic() {
        assert!(is("SELECT id, name FROM item WHERE id > 3 ORDER BY id"));
        assert!(is("SELECT name, count(*), min(id) FROM item GROUP BY name"));
        assert!(is("SELECT DISTINCT name FROM item"));
        assert!(is("SELECT \"limit\" FROM item"));
    }

    #[test]
    fn statement_that_depends_on_order_or_time_is_not() {
        for sql in [
            "SELECT id FROM item LIMIT 3",
            "SELECT id FROM item ORDER BY name OFFSET 3",
            "SELECT id FROM item FETCH FIRST 3 ROWS ONLY",
            "SELECT DISTINCT ON (name) id FROM item",
            "SELECT string_agg(name, ',') FROM item",
            "SELECT row_number() OVER (ORDER BY name) FROM item",
            "SELECT id, now() FROM item",
            "SELECT current_date FROM item",
            "SELECT random() FROM item",
        ] {
            assert!(!is(sql), "{sql}");
        }
    }
}
