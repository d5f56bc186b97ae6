//! Forms of T-SQL that the parser reads in another way.

use sqlparser::{
    ast::Ident,
    tokenizer::{Token, TokenWithSpan},
};

use super::mysql::is_hexadecimal_number;

/// Makes `0xAE` a number, as which it is printed as it was written. The parser takes it for `X'AE'`, which in T-SQL is a
/// column `X` with another name.
pub(super) fn plain(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let plain = |whole: TokenWithSpan| {
        let is_number = is_hexadecimal_number(&whole);
        let token = match whole.token {
            Token::HexStringLiteral(digits) if is_number => {
                Token::Number(format!("0x{digits}"), false)
            }
            other => other,
        };
        TokenWithSpan {
            token,
            span: whole.span,
        }
    };
    tokens.into_iter().map(plain).collect()
}

/// The word behind a number that is `0XAE`, which T-SQL reads as `0xAE` and the parser as `0 AS XAE`.
pub(super) fn capital_literal(tokens: &[TokenWithSpan]) -> Option<&TokenWithSpan> {
    let mut pairs = tokens.iter().zip(tokens.iter().skip(1));
    let found = pairs.find(|(number, word)| {
        let is_zero = matches!(&number.token, Token::Number(digits, _) if digits == "0");
        let is_word = matches!(&word.token, Token::Word(word) if word.quote_style.is_none() && word.value.starts_with('X'));
        is_zero && is_word
    });
    found.map(|(_, word)| word)
}

/// Refuses the alias of a table that is a clause or a hint for the engine: `orders OPTION (RECOMPILE)`.
pub(super) fn is_no_clause(alias: &Ident) -> Result<(), &'static str> {
    let word = alias.value.to_ascii_lowercase();
    match word.as_str() {
        _ if alias.quote_style.is_some() => Ok(()),
        "option" => Err(
            "OPTION (…) is not supported; leave it out, or write [option] if it is the name of a table",
        ),
        "holdlock" => Err("table hints are not supported; leave HOLDLOCK out"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{guard, tests::shop};
    use mindhost_base::error::Code;
    use mindhost_plugin_api::Dialect;

    fn text(sql: &str) -> String {
        guard(sql, &shop(Dialect::Mssql))
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
            .text()
            .to_owned()
    }

    #[test]
    fn binary_literal_stays_as_it_was_written() {
        assert_eq!(text("SELECT 0xAE, 0xdeadBEEF"), "SELECT 0xAE, 0xdeadBEEF");
        for sql in [
            "SELECT X'AE'",
            "SELECT 0x",
            "SELECT 0XAE",
            "SELECT x'AE' FROM customers",
        ] {
            let error = guard(sql, &shop(Dialect::Mssql)).unwrap_err();
            assert_eq!(error.code(), Code::SqlNotSupported, "{sql}");
        }
    }

    #[test]
    fn money_says_what_to_write() {
        for sql in ["SELECT $1.5", "SELECT $1"] {
            let error = guard(sql, &shop(Dialect::Mssql)).unwrap_err();
            assert!(error.message().contains("AS money"), "{sql}: {error}");
        }
    }

    #[test]
    fn clause_is_no_alias() {
        for sql in [
            "SELECT id FROM customers OPTION (recompile)",
            "SELECT id FROM customers option",
            "SELECT id FROM (SELECT 1 AS id) OPTION (MAXDOP)",
            "SELECT id FROM customers HOLDLOCK",
        ] {
            let error = guard(sql, &shop(Dialect::Mssql)).unwrap_err();
            assert_eq!(error.code(), Code::SqlNotSupported, "{sql}");
            assert!(error.message().contains("leave"), "{sql}: {error}");
        }
        text("SELECT id FROM customers AS [option]");
    }

    #[test]
    fn joins_may_stand_in_joins() {
        let sent = text(
            "SELECT c.id FROM customers AS c LEFT JOIN orders AS o JOIN order_items AS i ON i.order_id = o.id \
             ON o.customer_id = c.id",
        );
        assert!(sent.contains(" LEFT JOIN ("), "{sent}");
        assert!(
            sent.ends_with("ON i.order_id = o.id) ON o.customer_id = c.id"),
            "{sent}"
        );
        text("SELECT city, COUNT(*) FROM customers GROUP BY city WITH ROLLUP");
        text("SELECT city, COUNT(*) FROM customers GROUP BY city WITH CUBE");
    }
}
