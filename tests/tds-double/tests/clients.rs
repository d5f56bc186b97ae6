//! Clients of others log in, query, page and cancel: so the double speaks the protocol, and not only ours of it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a panic is a failed test"
)]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tds_double::{DATABASE, Double, Encryption, Options, PASSWORD, USER};

const SETUP: &str = "just setup installs it";
const SHOP: &str = "
    CREATE TABLE dbo.item (id int NOT NULL PRIMARY KEY, name nvarchar(40) NOT NULL, price decimal(12,2));
    INSERT INTO dbo.item VALUES (1, N'tea', '2.50'), (2, N'salt ☃', NULL);
    CREATE TABLE dbo.types (
        c_bit bit, c_tinyint tinyint, c_smallint smallint, c_int int, c_bigint bigint, c_real real, c_float float,
        c_decimal decimal(10,3), c_money money, c_char char(3), c_varchar varchar(10), c_nvarchar nvarchar(max),
        c_binary varbinary(4), c_date date, c_time time(3), c_datetime datetime, c_datetime2 datetime2(7),
        c_offset datetimeoffset(0), c_guid uniqueidentifier, c_xml xml, c_text text, c_null int);
    INSERT INTO dbo.types VALUES (
        1, 255, -2, 3, 4, 0.5, 0.25, '6.125', '7.5', 'abc', 'é', N'☃', X'00FF', '2024-02-29', '12:34:56.789',
        '2024-02-29 12:34:56.790', '2024-02-29 12:34:56.1234567', '2024-02-29 12:34:56 +02:00',
        '6F9619FF-8B86-D011-B42D-00C04FC964FF', N'<a/>', 'long', NULL);
";

fn double(encryption: Encryption) -> Double {
    let options = Options {
        encryption,
        ..Options::default()
    };
    Double::with(SHOP, options)
}

/// The folder into which `just setup` puts clients: that of the build.
fn tools() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(3).unwrap().to_owned()
}

#[track_caller]
fn lines(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    text.lines().map(str::to_owned).collect()
}

#[track_caller]
fn has(lines: &[String], wanted: &str) {
    assert!(
        lines.iter().any(|line| line.contains(wanted)),
        "no `{wanted}` in {lines:#?}"
    );
}

fn jdbc(double: &Double, properties: &str) -> Vec<String> {
    let jar = std::fs::read_dir(tools().join("jdbc"))
        .into_iter()
        .flatten()
        .flatten();
    let jar = jar
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|end| end == "jar"));
    let jar = jar.unwrap_or_else(|| panic!("the JDBC driver is not there; {SETUP}"));
    let url = format!(
        "jdbc:sqlserver://localhost:{};user={USER};password={PASSWORD};databaseName={DATABASE};loginTimeout=30;{properties}",
        double.port()
    );
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients/Jdbc.java");
    let run = Command::new("java")
        .arg("-cp")
        .arg(jar)
        .arg(source)
        .arg(url)
        .output();
    lines(&run.unwrap_or_else(|error| panic!("java: {error}; {SETUP}")))
}

fn check_jdbc(seen: &[String]) {
    for wanted in [
        "server Microsoft SQL Server",
        "row id=1,name=tea,price=2.50",
        "row id=2,name=salt ☃,price=null",
        "type bit 1",
        "type tinyint 255",
        "type bigint 4",
        "type decimal 6.125",
        "type money 7.5000",
        "type char abc",
        "type varchar é",
        "type nvarchar ☃",
        "type varbinary 00FF",
        "type date 2024-02-29",
        "type datetime2 2024-02-29 12:34:56.1234567",
        "type datetimeoffset 2024-02-29 12:34:56 +02:00",
        "type uniqueidentifier 6F9619FF-8B86-D011-B42D-00C04FC964FF",
        "type xml <a/>",
        "type text long",
        "prepared 1 tea",
        "prepared 2 salt ☃",
        "prepared 3 none",
        "error 208 Invalid object name",
        "cancelled The query was canceled",
        "row seven=7",
    ] {
        has(seen, wanted);
    }
    // The second page, of one column.
    assert!(seen.iter().any(|line| line == "row id=2"), "{seen:#?}");
}

#[test]
fn the_driver_of_java_speaks_with_it_in_packets_of_its_own() {
    let double = double(Encryption::None);
    check_jdbc(&jdbc(&double, "encrypt=false"));
}

#[test]
fn the_driver_of_java_speaks_with_it_when_the_login_alone_is_encrypted() {
    let double = double(Encryption::Optional);
    check_jdbc(&jdbc(&double, "encrypt=false"));
}

#[test]
fn the_driver_of_java_speaks_with_it_through_tls() {
    let double = double(Encryption::Optional);
    check_jdbc(&jdbc(&double, "encrypt=true;trustServerCertificate=true"));
}

#[test]
fn the_driver_of_java_speaks_with_it_in_tds_8() {
    let double = double(Encryption::Strict);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, double.authority()).unwrap();
    let store = folder.path().join("ca.jks");
    let made = Command::new("keytool")
        .args([
            "-importcert",
            "-noprompt",
            "-alias",
            "ca",
            "-storepass",
            "changeit",
            "-file",
        ])
        .arg(&file)
        .arg("-keystore")
        .arg(&store)
        .output();
    lines(&made.unwrap_or_else(|error| panic!("keytool: {error}; {SETUP}")));
    let properties = format!(
        "encrypt=strict;trustStore={};trustStorePassword=changeit;trustStoreType=PKCS12",
        store.display()
    );
    check_jdbc(&jdbc(&double, &properties));
}

fn python(double: &Double, authority: Option<&std::path::Path>) -> Vec<String> {
    let program = tools().join("python_tds/bin/python");
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients/client.py");
    let authority = authority
        .map(|path| path.display().to_string())
        .unwrap_or_default();
    let port = double.port().to_string();
    let arguments = ["localhost", &port, USER, PASSWORD, DATABASE, &authority];
    let run = Command::new(program)
        .arg(script)
        .args(arguments)
        .env("PYTHONUTF8", "1")
        .output();
    lines(&run.unwrap_or_else(|error| panic!("python-tds: {error}; {SETUP}")))
}

fn check_python(seen: &[String]) {
    for wanted in [
        "columns id,name,price",
        "row 1 tea 2.5",
        "row 2 salt ☃ None",
        "page [(2,)]",
        "bound salt ☃",
        "type c_tinyint 255",
        "type c_decimal 6.125",
        "type c_money 7.5",
        "type c_datetime2 2024-02-29 12:34:56.123456",
        "type c_guid 6f9619ff-8b86-d011-b42d-00c04fc964ff",
        "Invalid object name 'dbo.nowhere'",
        "first 1",
        "after 7",
    ] {
        has(seen, wanted);
    }
}

#[test]
fn the_client_of_python_speaks_with_it() {
    check_python(&python(&double(Encryption::None), None));
}

#[test]
fn the_client_of_python_speaks_with_it_through_tls() {
    let double = double(Encryption::Required);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, double.authority()).unwrap();
    check_python(&python(&double, Some(&file)));
}

fn tsql(double: &Double, encryption: &str, input: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let settings = format!(
        "[global]\ntds version = 7.4\nclient charset = UTF-8\n[double]\nhost = localhost\nport = {}\nencryption = {encryption}\n",
        double.port()
    );
    let file = folder.path().join("freetds.conf");
    std::fs::write(&file, settings).unwrap();
    let mut run = Command::new("tsql")
        .args(["-S", "double", "-U", USER, "-P", PASSWORD, "-D", DATABASE])
        .env("FREETDSCONF", &file)
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("tsql: {error}; {SETUP}"));
    run.stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = run.wait_with_output().unwrap();
    let both = [output.stdout.clone(), output.stderr.clone()].concat();
    lines(&Output {
        stdout: both,
        ..output
    })
}

#[test]
fn tsql_of_freetds_speaks_with_it() {
    for (encryption, setting) in [
        (Encryption::None, "off"),
        (Encryption::Optional, "request"),
        (Encryption::Required, "require"),
    ] {
        let double = double(encryption);
        let input = "SELECT id, name, price FROM dbo.item ORDER BY id\ngo\nSELECT * FROM dbo.nowhere\ngo\n\
                     SELECT id FROM dbo.item ORDER BY id OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY\ngo\nexit\n";
        let seen = tsql(&double, setting, input);
        has(&seen, "1\ttea\t2.50");
        has(&seen, "2\tsalt ☃\tNULL");
        has(&seen, "Invalid object name");
        has(&seen, "(1 row affected)");
    }
}
