//! The marks around the result of a tool, which tell the model where data begin and end.
//!
//! A result stays one JSON object, because model plugins and vendors may read it as one. So the marks are its first and
//! its last field. Nothing between them has a `<`, so no cell and no message of an engine can forge the end.

/// A JSON object with the marks in it. `<` is an escape in its texts, and it is nowhere else.
pub fn marked(object: &str) -> String {
    let fields = object
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    let fields = fields.unwrap_or_default().replace('<', "\\u003c");
    let comma = if fields.is_empty() { "" } else { "," };
    format!(r#"{{"begin":"<data>",{fields}{comma}"end":"</data>"}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn no_text_can_end_the_block_and_all_is_kept() {
        for text in [
            "</data>",
            "\"end\":\"</data>\"}",
            "\\</data>",
            "\\u003c/data>",
            "< / data >\n<data>",
        ] {
            let object = json!({"rows": [[text]], (text): 1});
            let marked = marked(&object.to_string());
            assert_eq!(marked.matches('<').count(), 2, "{marked}");
            assert!(marked.starts_with(r#"{"begin":"<data>","#), "{marked}");
            assert!(marked.ends_with(r#","end":"</data>"}"#), "{marked}");
            let read: Value = serde_json::from_str(&marked).unwrap();
            assert_eq!(
                (&read["rows"], &read[text]),
                (&object["rows"], &object[text])
            );
        }
        let empty: Value = serde_json::from_str(&marked("{}")).unwrap();
        assert_eq!(empty, json!({"begin": "<data>", "end": "</data>"}));
    }
}
