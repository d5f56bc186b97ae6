//! Which test holds which promise of the threat model: a code span that begins with `test: ` names it.

use std::collections::BTreeSet;

/// The threat model.
pub const PAGE: &str = "host/docs/security.md";
/// What the names of attacks begin with.
const ATTACK: &str = "attacks::";

/// The tests that a page names and that do not exist, and the attacks that it does not name.
pub fn broken(page: &str, written: &BTreeSet<String>) -> Vec<String> {
    let named = named(page);
    let missing = named
        .difference(written)
        .map(|name| format!("{PAGE} names a test that does not exist: {name}"));
    let silent = written
        .difference(&named)
        .filter(|name| name.starts_with(ATTACK))
        .map(|name| format!("no promise in {PAGE} names the attack: {name}"));
    missing.chain(silent).collect()
}

/// The tests that a page names.
fn named(page: &str) -> BTreeSet<String> {
    page.split("`test:")
        .skip(1)
        .filter_map(|rest| rest.split('`').next())
        .map(|name| name.trim().to_owned())
        .collect()
}

/// The tests of a file, as a page names them: an attack by its module, any other by its file.
pub fn written(path: &str, text: &str) -> Vec<String> {
    let module = path
        .strip_prefix("tests/tests/e2e/attacks/")
        .and_then(|path| path.strip_suffix(".rs"));
    let place = match module {
        Some(module) => format!("{ATTACK}{}", module.replace('/', "::")),
        None => path.to_owned(),
    };
    functions(text)
        .into_iter()
        .map(|name| format!("{place}::{name}"))
        .collect()
}

/// The functions below `#[test]` or `#[tokio::test]`, whatever stands between.
fn functions(text: &str) -> Vec<&str> {
    let (mut found, mut is_test) = (Vec::new(), false);
    for line in text.lines().map(str::trim_start) {
        let is_mark = line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        let name = line.split_once("fn ").filter(|_| is_test && !is_mark);
        if let Some((_, name)) = name {
            found.extend(name.split(['(', '<']).next());
            is_test = false;
        }
        is_test |= is_mark;
    }
    found
}

#[test]
fn promise_without_test_and_attack_without_promise_are_found() {
    const FILE: &str = "async fn helper() {}\n\n#[tokio::test]\nasync fn one() {}\n\n\
        #[tokio::test(flavor = \"multi_thread\")]\n#[cfg(unix)]\nasync fn two() {}\n\nmod tests {\n    #[test]\n    fn three() {}\n}\n";
    let attacks = written("tests/tests/e2e/attacks/doors.rs", FILE);
    let others = written("host/src/doors.rs", FILE);
    assert_eq!(
        attacks,
        [
            "attacks::doors::one",
            "attacks::doors::two",
            "attacks::doors::three"
        ]
    );
    assert_eq!(others[0], "host/src/doors.rs::one");
    let all: BTreeSet<String> = attacks.into_iter().chain(others).collect();
    let check = |page: &str, expected: &[&str]| assert_eq!(broken(page, &all), expected, "{page}");
    check(
        "- A door. `test: attacks::doors::one` `test:\n  attacks::doors::two`\n- `test: attacks::doors::three`\n",
        &[],
    );
    check(
        "`test: attacks::doors::one` `test: attacks::doors::two` `test: host/src/doors.rs::four`",
        &[
            "host/docs/security.md names a test that does not exist: host/src/doors.rs::four",
            "no promise in host/docs/security.md names the attack: attacks::doors::three",
        ],
    );
}
