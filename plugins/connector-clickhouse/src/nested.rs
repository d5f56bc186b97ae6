//! Arrays, maps and tuples, from ClickHouse's text to JSON.

use std::fmt::Write as _;

use serde_json::value::RawValue;

use crate::text::{Reading, float, padded};
use crate::time;
use crate::tsv::unescaped;
use crate::types::{Kind, Type};

/// Integers beyond this lose digits in most readers of JSON, so they become strings.
const EXACT: u128 = 1 << 53;
/// How deep values without a type may be nested.
const MAX_DEPTH: usize = 32;

/// The JSON of a value such as `[(1,'a'),(2,'b')]`; `None` if it is not of the type, or a text in it is not UTF-8.
pub(crate) fn json(text: &[u8], of: &Type, reading: Reading) -> Option<String> {
    let mut reader = Reader {
        text,
        at: 0,
        out: String::with_capacity(text.len() + 16),
        reading,
    };
    reader.value(of)?;
    (reader.at == text.len()).then_some(reader.out)
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    out: String,
    reading: Reading,
}

impl<'t> Reader<'t> {
    fn value(&mut self, of: &Type) -> Option<()> {
        if of.nullable && self.takes(b"NULL") {
            self.out.push_str("null");
            return Some(());
        }
        match &of.kind {
            Kind::Array(item) => self.list(b'[', b']', ('[', ']'), |reader, _| reader.value(item)),
            Kind::Tuple(fields) => self.tuple(fields),
            Kind::Map(key, value) => self.list(b'{', b'}', ('{', '}'), |reader, _| {
                reader.key(key)?;
                reader.expect(b':')?;
                reader.out.push(':');
                reader.value(value)
            }),
            Kind::Json => self.document(),
            Kind::Other => self.untyped(0),
            _ => {
                let token = self.token()?;
                self.scalar(&token, of)
            }
        }
    }

    fn tuple(&mut self, fields: &[(Option<String>, Type)]) -> Option<()> {
        let named = !fields.is_empty() && fields.iter().all(|(name, _)| name.is_some());
        let brackets = if named { ('{', '}') } else { ('[', ']') };
        let count = self.list_counted(b'(', b')', brackets, |reader, nth| {
            let (name, of) = fields.get(nth)?;
            if let (true, Some(name)) = (named, name) {
                reader.string(name);
                reader.out.push(':');
            }
            reader.value(of)
        })?;
        (count == fields.len()).then_some(())
    }

    fn list(
        &mut self,
        open: u8,
        close: u8,
        brackets: (char, char),
        item: impl FnMut(&mut Self, usize) -> Option<()>,
    ) -> Option<()> {
        self.list_counted(open, close, brackets, item).map(drop)
    }

    fn list_counted(
        &mut self,
        open: u8,
        close: u8,
        brackets: (char, char),
        mut item: impl FnMut(&mut Self, usize) -> Option<()>,
    ) -> Option<usize> {
        self.expect(open)?;
        self.out.push(brackets.0);
        let mut count = 0;
        // A tuple of one is written with a comma behind it.
        while !self.takes(&[close]) {
            if count > 0 {
                self.out.push(',');
            }
            item(self, count)?;
            count += 1;
            if !self.takes(b",") {
                self.expect(close)?;
                break;
            }
        }
        self.out.push(brackets.1);
        Some(count)
    }

    /// Keys of JSON are strings.
    fn key(&mut self, of: &Type) -> Option<()> {
        let from = self.out.len();
        self.value(of)?;
        let written = self.out.split_off(from);
        if written.starts_with('"') {
            self.out.push_str(&written);
        } else {
            self.string(&written);
        }
        Some(())
    }

    fn scalar(&mut self, token: &str, of: &Type) -> Option<()> {
        match &of.kind {
            Kind::Int { .. } | Kind::Interval => self.integer(token)?,
            Kind::Float32 | Kind::Float64 | Kind::BFloat16 => self.float(token)?,
            Kind::Bool => self.out.push_str(if matches!(token, "true" | "1") {
                "true"
            } else {
                "false"
            }),
            Kind::Decimal { scale } => {
                let text = padded(token, *scale).into_owned();
                self.string(&text);
            }
            Kind::Instant { .. } if self.reading.instants => {
                let text = time::timestamp_text(time::instant(token)?);
                self.string(&format!("{text}Z"));
            }
            Kind::Instant { .. } => self.string(&token.replacen(' ', "T", 1)),
            Kind::Nothing => self.out.push_str("null"),
            _ => self.string(token),
        }
        Some(())
    }

    fn integer(&mut self, token: &str) -> Option<()> {
        let digits = token.strip_prefix('-').unwrap_or(token);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        match digits.parse::<u128>() {
            Ok(number) if number <= EXACT => self.out.push_str(token),
            _ => self.string(token),
        }
        Some(())
    }

    fn float(&mut self, token: &str) -> Option<()> {
        let number = float(token)?;
        match number {
            _ if number.is_nan() => self.out.push_str("\"NaN\""),
            f64::INFINITY => self.out.push_str("\"Infinity\""),
            f64::NEG_INFINITY => self.out.push_str("\"-Infinity\""),
            // Writing into a string cannot fail.
            _ => _ = write!(self.out, "{number}"),
        }
        Some(())
    }

    /// A JSON document, bare or quoted.
    fn document(&mut self) -> Option<()> {
        if self.peek() == Some(b'\'') {
            let text = self.token()?;
            let document: &RawValue = serde_json::from_str(&text).ok()?;
            self.out.push_str(document.get());
            return Some(());
        }
        let rest = self.text.get(self.at..)?;
        let mut documents = serde_json::Deserializer::from_slice(rest).into_iter::<&RawValue>();
        let document = documents.next()?.ok()?;
        self.out.push_str(document.get());
        self.at += documents.byte_offset();
        Some(())
    }

    /// A value whose type is known to the server only.
    fn untyped(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.peek()? {
            b'[' => self.list(b'[', b']', ('[', ']'), |reader, _| {
                reader.untyped(depth + 1)
            }),
            b'(' => self.list(b'(', b')', ('[', ']'), |reader, _| {
                reader.untyped(depth + 1)
            }),
            b'{' => self.list(b'{', b'}', ('{', '}'), |reader, _| {
                let key = reader.token()?;
                reader.string(&key);
                reader.expect(b':')?;
                reader.out.push(':');
                reader.untyped(depth + 1)
            }),
            b'\'' => {
                let text = self.token()?;
                self.string(&text);
                Some(())
            }
            _ => {
                let token = self.token()?;
                match token.as_str() {
                    "NULL" => self.out.push_str("null"),
                    "true" | "false" => self.out.push_str(&token),
                    _ if self.integer(&token).is_some() => {}
                    _ if is_exact(&token) && self.float(&token).is_some() => {}
                    _ => self.string(&token),
                }
                Some(())
            }
        }
    }

    /// A quoted text without its quotes, or what stands before the next sign of the grammar.
    fn token(&mut self) -> Option<String> {
        let start = self.at;
        if !self.takes(b"'") {
            let end = |byte: &u8| matches!(byte, b',' | b']' | b')' | b'}' | b':');
            let rest = self.text.get(start..)?;
            self.at += rest.iter().position(end).unwrap_or(rest.len());
            let token = self.text.get(start..self.at)?;
            return match token.is_empty() {
                true => None,
                false => String::from_utf8(token.to_vec()).ok(),
            };
        }
        loop {
            match self.peek()? {
                b'\\' => self.at += 2,
                b'\'' => break,
                _ => self.at += 1,
            }
        }
        let inside = self.text.get(start + 1..self.at)?;
        self.at += 1;
        String::from_utf8(unescaped(inside).into_owned()).ok()
    }

    fn string(&mut self, text: &str) {
        // A text can always be written as JSON.
        self.out
            .push_str(&serde_json::Value::from(text).to_string());
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn takes(&mut self, what: &[u8]) -> bool {
        let is = self
            .text
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(what));
        if is {
            self.at += what.len();
        }
        is
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.takes(&[byte]).then_some(())
    }
}

/// Whether a double writes the same number again. It does for every double of the server, and for decimals that do not
/// have more digits than a double. `nan` and the infinities are doubles, too.
fn is_exact(token: &str) -> bool {
    match float(token) {
        Some(number) if number.is_finite() => digits(token) == digits(&format!("{number:e}")),
        Some(_) => !token.bytes().any(|byte| byte.is_ascii_digit()),
        None => false,
    }
}

/// The sign of a number, its digits without zeros at either end, and the exponent of 10 behind `0.`: `-1.50` and
/// `-15e-1` are both `(true, "15", 1)`. `None` for 0.
fn digits(token: &str) -> Option<(bool, String, i64)> {
    let (mantissa, exponent) = token.split_once(['e', 'E']).unwrap_or((token, "0"));
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0');
    let zeros = all.len() - significant.len();
    let point = i64::try_from(whole.len()).ok()? - i64::try_from(zeros).ok()?;
    let exponent = exponent.parse().unwrap_or(i64::MIN).saturating_add(point);
    let significant = significant.trim_end_matches('0');
    (!significant.is_empty()).then(|| (negative, significant.to_owned(), exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, of: &str) -> Option<String> {
        json(
            text.as_bytes(),
            &Type::parse(of).unwrap(),
            Reading { instants: true },
        )
    }

    #[test]
    fn values_become_json() {
        for (text, kind, expected) in [
            ("[]", "Array(UInt8)", "[]"),
            ("[1,2,-3]", "Array(Int8)", "[1,2,-3]"),
            (
                "[9007199254740993]",
                "Array(UInt64)",
                r#"["9007199254740993"]"#,
            ),
            (
                r"['a\'b','c\\d\n',NULL]",
                "Array(Nullable(String))",
                r#"["a'b","c\\d\n",null]"#,
            ),
            (
                "[1.5,nan,-inf]",
                "Array(Float64)",
                r#"[1.5,"NaN","-Infinity"]"#,
            ),
            ("(1,'a')", "Tuple(UInt8, String)", r#"[1,"a"]"#),
            ("(1,'a')", "Tuple(n UInt8, s String)", r#"{"n":1,"s":"a"}"#),
            ("(1,)", "Tuple(UInt8)", "[1]"),
            ("{'a':1,'b':2}", "Map(String, UInt8)", r#"{"a":1,"b":2}"#),
            ("{5:['x']}", "Map(UInt8, Array(String))", r#"{"5":["x"]}"#),
            ("['2024-01-02']", "Array(Date)", r#"["2024-01-02"]"#),
            (
                "['2024-06-30T15:00:00Z']",
                "Array(DateTime('Asia/Tokyo'))",
                r#"["2024-06-30T15:00:00Z"]"#,
            ),
            (
                "{'a':'1969-12-31T23:59:59.5Z'}",
                "Map(String, DateTime64(1))",
                r#"{"a":"1969-12-31T23:59:59.500000Z"}"#,
            ),
            (
                r#"['{"t":"2024-01-01T10:00:00Z"}']"#,
                "Array(JSON)",
                r#"[{"t":"2024-01-01T10:00:00Z"}]"#,
            ),
            (
                "[['2024-01-01T01:00:00Z']]",
                "Array(Dynamic)",
                r#"[["2024-01-01T01:00:00Z"]]"#,
            ),
            ("[1.5]", "Array(Decimal(9, 2))", r#"["1.50"]"#),
            ("[true,false]", "Array(Bool)", "[true,false]"),
            ("(1,2)", "Point", "[1,2]"),
            (r#"['{"a":1}']"#, "Array(JSON)", r#"[{"a":1}]"#),
            (r#"[{"a":[1,2]},{}]"#, "Array(JSON)", r#"[{"a":[1,2]},{}]"#),
            (
                "[1,'x',[2]]",
                "Array(Variant(Int8, String))",
                r#"[1,"x",[2]]"#,
            ),
        ] {
            assert_eq!(of(text, kind).as_deref(), Some(expected), "{text} {kind}");
        }
    }

    #[test]
    fn numbers_without_a_type_keep_their_digits() {
        for (text, expected) in [
            ("0.1", "0.1"),
            ("1.50", "1.5"),
            ("-0.00", "-0"),
            ("1e-7", "0.0000001"),
            ("2.5e21", "2500000000000000000000"),
            ("1.7976931348623157e308", &format!("{}", f64::MAX)),
            ("nan", r#""NaN""#),
            ("-inf", r#""-Infinity""#),
            ("9007199254740993", r#""9007199254740993""#),
            ("1234567890123456789.12", r#""1234567890123456789.12""#),
            ("-0.12345678901234567890", r#""-0.12345678901234567890""#),
            ("9007199254740992.1", r#""9007199254740992.1""#),
            ("1e400", r#""1e400""#),
            ("1e-400", r#""1e-400""#),
            ("1e-99999999999999999999", r#""1e-99999999999999999999""#),
        ] {
            let json = of(&format!("[{text}]"), "Array(Dynamic)");
            assert_eq!(json, Some(format!("[{expected}]")), "{text}");
        }
        let nested = of(
            "{'a':(1234567890123456789.12,0.5)}",
            "Map(String, Variant(Tuple(Decimal(38, 2), Float64)))",
        );
        assert_eq!(
            nested.as_deref(),
            Some(r#"{"a":["1234567890123456789.12",0.5]}"#)
        );
    }

    #[test]
    fn values_of_another_type_are_refused() {
        for (text, kind) in [
            ("[1", "Array(UInt8)"),
            ("[1]x", "Array(UInt8)"),
            ("['a]", "Array(String)"),
            ("['a\\", "Array(String)"),
            ("[x]", "Array(UInt8)"),
            ("['1719759600']", "Array(DateTime)"),
            ("(1)", "Tuple(UInt8, UInt8)"),
            ("(1,2,3)", "Tuple(UInt8, UInt8)"),
            ("{'a'}", "Map(String, UInt8)"),
        ] {
            assert_eq!(of(text, kind), None, "{text} {kind}");
        }
    }

    #[test]
    fn text_that_is_not_utf8_is_refused() {
        let reading = Reading { instants: true };
        for (text, kind) in [
            (&b"['\xff']"[..], "Array(String)"),
            (b"(1,'a\xfe')", "Tuple(UInt8, String)"),
            (b"{'\xff':1}", "Map(String, UInt8)"),
            (br"['\xff']", "Array(String)"),
        ] {
            assert_eq!(
                json(text, &Type::parse(kind).unwrap(), reading),
                None,
                "{kind}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_accepted_is_json(text in r"[\[\](){}'a1,:\\-]{0,30}") {
            for kind in ["Array(String)", "Map(String, Array(Int8))", "Tuple(a Int8, b String)", "Array(Dynamic)"] {
                if let Some(json) = of(&text, kind) {
                    serde_json::from_str::<serde_json::Value>(&json).unwrap();
                }
            }
        }
    }
}
