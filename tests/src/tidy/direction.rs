//! Which part of the host uses which: `lib.rs` lists them in groups, the uppermost first, with a blank line between.

/// What the file at `path` (below `host/src`) uses of its own group or of those above, as `path: name`.
pub fn upward(lib: &str, path: &str, text: &str) -> Vec<String> {
    let own = path.split(['/', '.']).next().unwrap_or_default();
    let Some(group) = group_of(lib, own) else {
        return Vec::new();
    };
    used(text)
        .into_iter()
        .filter(|name| *name != own && group_of(lib, name).is_some_and(|used| used <= group))
        .map(|name| format!("{path}: {name}"))
        .collect()
}

fn group_of(lib: &str, part: &str) -> Option<usize> {
    let line = format!("pub mod {part};");
    lib.split("\n\n")
        .position(|group| group.lines().any(|one| one == line))
}

/// The names that follow on `crate::` outside of comments, one by one or in braces.
fn used(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("crate::") {
        let line = before.rsplit('\n').next().unwrap_or_default();
        match after.strip_prefix('{') {
            _ if line.trim_start().starts_with("//") => {}
            Some(list) => found.extend(listed(list)),
            None => found.push(first_word(after)),
        }
        rest = after;
    }
    found
}

/// The first word of each item of a list in braces, whose opening brace was taken off.
fn listed(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (1, 0, Vec::new());
    for (at, sign) in list.char_indices() {
        match sign {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 || (depth == 1 && sign == ',') {
            found.push(first_word(list[start..at].trim_start()));
            start = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    found
}

fn first_word(text: &str) -> &str {
    text.split(|sign: char| !sign.is_alphanumeric() && sign != '_')
        .next()
        .unwrap_or_default()
}

#[test]
fn an_import_from_above_or_beside_is_found() {
    const LIB: &str = "pub mod api;\n\npub mod answering;\n\npub mod minds;\npub mod results;\n\npub mod store;\n";
    let check = |path: &str, text: &str, expected: &[&str]| {
        assert_eq!(upward(LIB, path, text), expected, "{text}");
    };
    check(
        "api/minds.rs",
        "use crate::{answering::{self, Ask}, minds::Mind};",
        &[],
    );
    check(
        "minds.rs",
        "use crate::{\n    minds::rules,\n    store::{Store, now},\n};",
        &[],
    );
    check(
        "results/stored.rs",
        "use crate::answering;",
        &["results/stored.rs: answering"],
    );
    check(
        "minds/store.rs",
        "let all = crate::results::all();",
        &["minds/store.rs: results"],
    );
    check(
        "store.rs",
        "use crate::{\n    error::Result,\n    minds::{Mind, api},\n};",
        &["store.rs: minds"],
    );
    check("store.rs", "/// As in crate::api.\n", &[]);
    check("main.rs", "use crate::api;", &[]);
}
