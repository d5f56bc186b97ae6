//! Paths for the audit trail, without parts that could be a key's text.

use percent_encoding::percent_decode_str;
use uuid::Uuid;

/// Longest part that is written.
const LONGEST: usize = 128;

/// A part of this length can be a secret, unless it is an id.
const LONG: usize = 32;

/// The path with every part that cannot be what its place expects replaced by `…`.
pub(super) fn shown(template: &str, path: &str, configured: Option<&str>) -> String {
    let parts = template.split('/').zip(path.split('/'));
    let parts = parts.map(|(place, part)| match place.starts_with('{') {
        true => part_shown(place, part, configured),
        false => place,
    });
    parts.collect::<Vec<_>>().join("/")
}

fn part_shown<'a>(place: &str, part: &'a str, configured: Option<&str>) -> &'a str {
    let Ok(text) = percent_decode_str(part).decode_utf8() else {
        return "…";
    };
    // In any case, and after any prefix.
    if text.to_ascii_lowercase().contains("mh_") {
        return "mh_…";
    }
    let is_configured = configured.is_some_and(|key| text.contains(key));
    match !is_configured && text.len() <= LONGEST && fits(place, &text) {
        true => part,
        false => "…",
    }
}

/// Whether a text can be the id, name or version that this place expects.
fn fits(place: &str, text: &str) -> bool {
    let is_made_of = |signs: &str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || signs.contains(c))
    };
    match place {
        "{id}" | "{item_id}" => is_id(text),
        // Engines take any letters; a doubly encoded text could hide some.
        "{table_name}" | "{column_name}" => !text.contains('%') && !text.contains(char::is_control),
        "{version}" => is_made_of("_-.+"),
        _ => is_made_of("_-."),
    }
}

/// Also `resp_<uuid>` and the like.
fn is_id(text: &str) -> bool {
    let bare = text.rsplit('_').next().unwrap_or(text);
    bare.parse::<Uuid>().is_ok() && text.len() <= bare.len() + "resp_".len()
}

/// The path of an unknown route or resource. Long parts of it may be any secret.
pub(super) fn of_nothing_known(path: &str) -> String {
    let parts = path
        .split('/')
        .map(|part| match part.len() > LONG && !is_id(part) {
            true => part.chars().take(8).chain(['…']).collect(),
            false => part.to_owned(),
        });
    parts.collect::<Vec<String>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, path: &str, expected: &str) {
        let found = shown(template, path, Some("the-configured-admin-key"));
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn a_path_is_noted_without_the_text_of_a_key() {
        for key in [
            "mh_secret",
            "xmh_secret",
            "%6dh_secret",
            "MH_secret",
            "Bearer%20mh_secret",
        ] {
            check(
                "/keys/{id}/rotate",
                &format!("/keys/{key}/rotate"),
                "/keys/mh_…/rotate",
            );
            check(
                "/datasources/{name}",
                &format!("/datasources/{key}"),
                "/datasources/mh_…",
            );
        }
        for key in [
            "the-configured-admin-key",
            "the-c%6Fnfigured-admin-key",
            "x_the-configured-admin-key",
        ] {
            check("/keys/{id}", &format!("/keys/{key}"), "/keys/…");
            check("/minds/{name}", &format!("/minds/{key}"), "/minds/…");
            let table = format!("/datasources/shop/catalog/tables/{key}");
            check(
                "/datasources/{name}/catalog/tables/{table_name}",
                &table,
                "/datasources/shop/catalog/tables/…",
            );
        }
        check("/minds/{name}", "/minds/pass%20word", "/minds/…");
        check("/minds/{name}", "/minds/%256dh_secret", "/minds/…");
        check("/minds/{name}", "/minds/%ff", "/minds/…");
    }

    #[test]
    fn ids_and_names_are_noted_as_they_came() {
        let id = Uuid::now_v7();
        for id in [format!("{id}"), format!("conv_{id}")] {
            check(
                "/conversations/{id}",
                &format!("/conversations/{id}"),
                &format!("/conversations/{id}"),
            );
        }
        check("/minds/{name}", "/minds/sales", "/minds/sales");
        check("/keys", "/keys", "/keys");
        let version = "/plugins/connector-sqlite/versions/1.0.0-rc.1+b2";
        check("/plugins/{name}/versions/{version}", version, version);
        let column = "/datasources/shop/catalog/tables/main.order%20line/columns/größe";
        check(
            "/datasources/{name}/catalog/tables/{table_name}/columns/{column_name}",
            column,
            column,
        );
    }

    #[test]
    fn what_is_long_and_not_there_is_cut() {
        let id = format!("/keys/{}", Uuid::now_v7());
        assert_eq!(of_nothing_known(&id), id);
        assert_eq!(of_nothing_known("/minds/nothing"), "/minds/nothing");
        let secret = format!("/providers/sk-proj-{}", "x".repeat(40));
        assert_eq!(of_nothing_known(&secret), "/providers/sk-proj-…");
    }
}
