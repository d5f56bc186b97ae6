//! Runs a double by itself, until its standard input ends: for clients that are tried by hand.

use std::io::Read;

use tds_double::{DATABASE, Double, Encryption, Options, PASSWORD, USER};

const SHOP: &str = "
    CREATE TABLE dbo.item (id int NOT NULL PRIMARY KEY, name nvarchar(40) NOT NULL, price decimal(12,2));
    INSERT INTO dbo.item VALUES (1, N'tea', 2.50), (2, N'salt', NULL);
";

fn main() {
    let mut arguments = std::env::args().skip(1);
    let port = arguments
        .next()
        .and_then(|port| port.parse().ok())
        .unwrap_or_default();
    let encryption = match arguments.next().as_deref() {
        Some("strict") => Encryption::Strict,
        Some("required") => Encryption::Required,
        Some("none") => Encryption::None,
        _ => Encryption::Optional,
    };
    let options = Options {
        encryption,
        port,
        ..Options::default()
    };
    let double = Double::with(SHOP, options);
    println!("127.0.0.1:{} {USER} {PASSWORD} {DATABASE}", double.port());
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
