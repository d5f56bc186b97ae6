//! Puts the files of `dist` into the crate, as `npm run build` listed them in `dist/files.txt`. Runs no Node.

use std::{env, error::Error, fmt::Write, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    // The folder is always there, or Cargo would run this each time.
    println!("cargo:rerun-if-changed=dist");
    let dist = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("dist");
    let list = match dist.join("files.txt") {
        list if list.is_file() => fs::read_to_string(list)?,
        _ => String::new(),
    };
    let mut code = String::from("[\n");
    for line in list.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [path, hash] = fields[..] else {
            return Err(format!(
                "dist/files.txt: `{line}` is no path and hash; build the console again"
            )
            .into());
        };
        // Not the place of today: a folder of built things may be used by the same source in another place.
        let bytes = |suffix: &str| {
            let file = format!("/dist/{path}{suffix}");
            format!(r#"concat!(env!("CARGO_MANIFEST_DIR"), {file:?})"#)
        };
        writeln!(
            code,
            "File {{ path: {path:?}, hash: {hash:?}, plain: include_bytes!({}), gzip: include_bytes!({}), \
             brotli: include_bytes!({}) }},",
            bytes(""),
            bytes(".gz"),
            bytes(".br"),
        )?;
    }
    code.push(']');
    fs::write(Path::new(&env::var("OUT_DIR")?).join("files.rs"), code)?;
    Ok(())
}
