use super::{mistake::LONGEST_PATH, *};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "most of these bodies are refused, so their fields are not read"
)]
struct Body {
    name: String,
    #[serde(default)]
    items: Vec<Item>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "as above")]
struct Item {
    limit: u32,
}

fn check(body: &str, param: Option<&str>, message: &str) {
    let error = parse::<Body>(body.as_bytes()).unwrap_err();
    assert_eq!(
        (error.param_name(), error.message()),
        (param, message),
        "{body}"
    );
}

#[test]
fn a_whole_number_may_be_written_as_a_float() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Page {
        limit: u32,
        share: f64,
    }
    let page = |json: &str| parse::<Page>(json.as_bytes()).ok();
    let whole = Page {
        limit: 5,
        share: 2.0,
    };
    assert_eq!(page(r#"{"limit": 5.0, "share": 2.0}"#), Some(whole));
    for number in ["5.5", "-5.0", "1e300", "9007199254740994.0"] {
        assert_eq!(page(&format!(r#"{{"limit": {number}, "share": 2}}"#)), None);
    }
}

#[test]
fn a_text_with_u0000_is_refused_and_one_about_it_is_not() {
    let check =
        |json: &str, refused: bool| assert_eq!(holds_nul(json.as_bytes()), refused, "{json}");
    check(r#"{"a": "x\u0000"}"#, true);
    check(r#"{"a": "x\\\u0000"}"#, true);
    check(r#"{"a": "x\\u0000"}"#, false);
    check(r#"{"a": "x\u0001"}"#, false);
}

#[test]
fn a_value_with_the_words_of_an_error_is_not_shown_either() {
    let long = "x".repeat(1_000);
    check(
        &format!(r#"{{"items": "a, expected {long} at line 9"}}"#),
        Some("items"),
        "`items`: expected a list, got a text",
    );
    let unknown = format!(r#"{{"name": "a", "{long}": 1}}"#);
    let cut = "x".repeat(LONGEST_PATH);
    check(
        &unknown,
        Some(&cut),
        &format!("`{cut}` is not known here; expected `name` or `items`"),
    );
}

#[test]
fn a_failure_names_the_field_at_fault_and_never_its_value() {
    check(r#"{"items": []}"#, Some("name"), "`name` is missing");
    check(
        r#"{"name": 5}"#,
        Some("name"),
        "`name`: expected a text, got a number",
    );
    check(
        r#"{"name": "a", "items": [{"limit": "hunter2"}]}"#,
        Some("items[0].limit"),
        "`items[0].limit`: expected an integer from 0, got a text",
    );
    check(
        r#"{"name": "a", "items": [{"limit": 1, "color": 2}]}"#,
        Some("items[0].color"),
        "`items[0].color` is not known here; expected `limit`",
    );
    check(
        r#"{"name": "a", "items": [{}]}"#,
        Some("items[0].limit"),
        "`items[0].limit` is missing",
    );
}

#[test]
fn an_enum_of_another_type_is_a_mistake_of_its_field() {
    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    #[expect(dead_code, reason = "these bodies are refused")]
    enum Mask {
        Empty,
        Text(String),
    }
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "these bodies are refused")]
    struct Masked {
        mask: Mask,
        masks: Option<Vec<Mask>>,
    }
    let several = "expected an object with one field, got another number of fields";
    for (body, param, message) in [
        (r#"{"mask": 1}"#, "mask", "expected a text, got a number"),
        (r#"{"mask": null}"#, "mask", "expected a text, got null"),
        (r#"{"mask": [1]}"#, "mask", "expected a text, got a list"),
        (r#"{"mask": {}}"#, "mask", several),
        (r#"{"mask": {"text": "x", "empty": "y"}}"#, "mask", several),
        (
            r#"{"mask": "empty", "masks": ["empty", true]}"#,
            "masks[1]",
            "expected a text, got true or false",
        ),
    ] {
        let error = parse::<Masked>(body.as_bytes()).unwrap_err();
        assert_eq!(error.code(), Code::InvalidBody, "{body}");
        assert_eq!(error.param_name(), Some(param), "{body}");
        assert_eq!(error.message(), format!("`{param}`: {message}"), "{body}");
    }
}

#[test]
fn a_byte_order_mark_before_the_body_is_skipped() {
    let body = "\u{feff}{\"name\": \"a\"}";
    assert_eq!(parse::<Body>(body.as_bytes()).unwrap().name, "a");
    check("\u{feff}[]", None, "the body is a list; send a JSON object");
}

#[test]
fn what_is_no_json_says_where() {
    check(
        r#"{"name": "#,
        None,
        "the body is not valid JSON: EOF while parsing a value at line 1 column 9",
    );
    check(
        r#"{"name": "a"} x"#,
        None,
        "the body is not valid JSON: trailing characters at line 1 column 15",
    );
}
