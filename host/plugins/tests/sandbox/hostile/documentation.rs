//! `docs/sandbox.md` has the rows of this suite, all of them and no others.

use std::{collections::BTreeSet, fmt::Write as _, path::Path};

use super::{
    Behaviour, Ends, arrow, catalogs, endless, greedy, lasting, models, network, packages, results,
    texts,
};

const BEGIN: &str = "<!-- behaviours -->\n";
const END: &str = "<!-- end of behaviours -->";

fn families() -> [(&'static str, &'static [Behaviour]); 9] {
    [
        ("Without an end", endless::ROWS),
        ("Too much, or fallen over", greedy::ROWS),
        ("Long lives", lasting::ROWS),
        ("Results", results::ROWS),
        ("Arrow", arrow::ROWS),
        ("Catalogs", catalogs::ROWS),
        ("Texts", texts::ROWS),
        ("Network and files", network::ROWS),
        ("Models", models::ROWS),
    ]
}

fn end(ends: Ends) -> String {
    match ends {
        Ends::Well => String::from("—"),
        Ends::TimedOut => String::from("`timeout`"),
        Ends::Failed(code, blame, _) => format!("`{}`, {}", code.as_str(), blame.as_str()),
    }
}

fn tables() -> String {
    let mut text = String::new();
    for (title, rows) in families() {
        let _ = write!(
            text,
            "\n### {title}\n\n| | the guest | in | ends as | contained by |\n|---|---|---|---|---|\n"
        );
        for Behaviour {
            name,
            does,
            at,
            ends,
            by,
            ..
        } in rows
        {
            let _ = writeln!(text, "| {name} | {does} | `{at}` | {} | {by} |", end(*ends));
        }
    }
    text.push_str("\n### Files\n\n| | the file | contained by |\n|---|---|---|\n");
    for packages::Package { name, does, by, .. } in packages::ROWS {
        let _ = writeln!(text, "| {name} | {does} | {by} |");
    }
    text.push('\n');
    text
}

#[test]
fn the_page_on_the_sandbox_has_every_row() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/sandbox.md");
    let text = std::fs::read_to_string(page).unwrap();
    let (_, rest) = text.split_once(BEGIN).unwrap();
    let (table, _) = rest.split_once(END).unwrap();
    let expected = tables();
    assert!(
        table == expected,
        "put this between the marks of docs/sandbox.md:\n{expected}"
    );
}

#[test]
fn each_row_has_a_name_of_its_own() {
    let rows = families().into_iter().flat_map(|(_, rows)| rows);
    let mut names: Vec<&str> = rows.map(|row| row.name).collect();
    names.extend(packages::ROWS.iter().map(|row| row.name));
    let different: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(names.len(), different.len());
    assert!(names.len() >= 40, "{} rows", names.len());
}
