//! Unit tests without a server: `cargo test`.

use std::io::{self, Cursor, Read, Write};

use mindhost_sdk::{ErrorKind, Value};

use super::*;

const END: &str = "{\"end\": true}\n";

/// A server that says what it was told to say, and keeps what it heard.
struct Script(Cursor<Vec<u8>>, Vec<u8>);

impl Read for Script {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Script {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn script(said: &str) -> Script {
    Script(Cursor::new(said.into()), Vec::new())
}

/// The names of the columns and the first row of an answer.
fn asked(said: &str) -> Result<(Vec<String>, Option<Vec<Value>>)> {
    let mut wire = Wire::over(script(said));
    let columns = wire.ask("select 1", CATALOG_TIMEOUT)?;
    let row = wire.row()?;
    let cells = row.map(|row| row.into_iter().map(|cell| value(cell, 1 << 20)).collect());
    let names = columns.into_iter().map(|column| column.name).collect();
    Ok((names, cells.transpose()?))
}

#[test]
fn an_answer_has_its_columns_and_rows() {
    let head =
        r#"{"columns": [{"name": "name", "type": "text"}, {"name": "raw", "type": "blob"}]}"#;
    let names = vec!["name".to_owned(), "raw".to_owned()];
    let said = [head, r#"["Earth", {"hex": "00ff"}]"#, END].join("\n");
    let row = vec![Value::Text("Earth".into()), Value::Bytes(vec![0, 255])];
    assert_eq!(asked(&said).unwrap(), (names.clone(), Some(row)));
    let empty = [head, END].join("\n");
    assert_eq!(asked(&empty).unwrap(), (names, None));
}

#[test]
fn what_is_wrong_has_its_kind() {
    let kind = |said: &str| asked(said).unwrap_err().kind();
    let refused = r#"{"error": "no such table: nowhere", "code": "statement"}"#;
    let error = asked(&format!("{refused}\n")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidStatement);
    assert!(error.is_connection_usable());
    assert_eq!(
        kind("{\"error\": \"interrupted\", \"code\": \"timeout\"}\n"),
        ErrorKind::Timeout
    );
    assert_eq!(kind("{\"columns\": []}\n[1"), ErrorKind::ConnectionLost);
    assert_eq!(kind("220 mail.example.com\r\n"), ErrorKind::Upstream);
}

#[test]
fn a_server_without_tls_gets_no_password() {
    let mut mail = script("220 mail.example.com\r\n");
    let error = wire::upgrade(&mut mail).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream);
    assert_eq!(mail.1, b"tls\n");
    assert!(wire::upgrade(&mut script("tls\n")).is_ok());
}
