//! Answers by each vendor: its published form on one side, the plugin in its sandbox and the host on the other.

use mindhost_tests::{Host, Mind, ScriptedModel, Turn, Value, Vendor, json};

use crate::responses::SHOP;

const SQL: &str = "SELECT count(*) AS n FROM orders";

async fn shop() -> Host {
    let host = Host::start().await;
    host.sqlite("shop", SHOP).await.load().await;
    host
}

/// A Mind over the shop that asks a vendor, which plays these turns.
async fn mind(host: &Host, vendor: Vendor, turns: Vec<Turn>) -> (Mind, ScriptedModel) {
    let model = ScriptedModel::of(vendor, turns).await;
    let name = format!("{vendor:?}");
    host.scripted_provider(&name, &model).await;
    let mind = host.mind(&name).datasource("shop").provider(&name).create();
    (mind.await, model)
}

/// Answers of a vendor, by the names of its transcripts.
fn turns(vendor: Vendor, names: &[&str]) -> Vec<Turn> {
    names.iter().map(|name| vendor.transcript(name)).collect()
}

fn said(response: &Value) -> &str {
    response["output"][0]["content"][0]["text"]
        .as_str()
        .unwrap()
}

#[tokio::test]
async fn every_vendor_answers_with_sql_and_goes_on() {
    let host = shop().await;
    for (vendor, input, output) in [
        (Vendor::OpenAi, 412 + 470, 41 + 7),
        (Vendor::AzureV1, 300 + 330, 20 + 6),
        (Vendor::AzureDeployment, 300 + 330, 20 + 6),
        (Vendor::Gemini, 200 + 240, 18 + 6),
        (Vendor::Ollama, 350 + 420, 60 + 6),
        (Vendor::Vllm, 380 + 440, 50 + 6),
        (Vendor::LmStudio, 333 + 390, 44 + 6),
        (Vendor::Anthropic, 1212 + 1304, 89 + 15),
    ] {
        let played = turns(vendor, &["tool_call", "answer", "answer"]);
        let (mind, model) = mind(&host, vendor, played).await;
        let reply = mind.ask("How many orders are there?").await;
        let first = reply.expect_status(200).json();
        assert!(
            said(&first).contains("There are 3 orders"),
            "{vendor:?}: {first}"
        );
        assert_eq!(first["output"][0]["sql"], SQL, "{vendor:?}");
        assert_eq!(
            (
                &first["usage"]["input_tokens"],
                &first["usage"]["output_tokens"]
            ),
            (&json!(input), &json!(output)),
            "{vendor:?}"
        );
        let asked = model.last().to_string();
        assert!(asked.contains("\\\"rows\\\":[[3]]"), "{vendor:?}: {asked}");

        let next = json!({"model": mind.name, "input": "Are you sure?", "conversation": first["conversation"]["id"]});
        let next = host
            .post("/responses", next)
            .await
            .expect_status(200)
            .json();
        assert!(
            said(&next).contains("There are 3 orders"),
            "{vendor:?}: {next}"
        );
        let asked = model.last().to_string();
        assert!(
            asked.contains("Are you sure?") && asked.contains("There are 3 orders"),
            "{vendor:?}: {asked}"
        );
        assert_eq!(model.left(), 0, "{vendor:?}");
    }
}

#[tokio::test]
async fn characters_that_a_vendor_cuts_in_two_are_whole_in_the_stream() {
    let host = shop().await;
    let vendor = Vendor::Anthropic;
    let (mind, _model) = mind(&host, vendor, turns(vendor, &["tool_call", "answer"])).await;
    let events = mind.stream("How many orders are there?").await.all().await;
    let deltas = events
        .iter()
        .filter(|event| event.name == "response.output_text.delta");
    let deltas: Vec<&str> = deltas
        .map(|event| event.data["delta"].as_str().unwrap())
        .collect();
    let text = deltas.concat();
    assert_eq!(
        text,
        "I count the orders.\n\nThere are 3 orders – größer als 2."
    );
    assert!(deltas.len() > 3, "it was streamed: {deltas:?}");
    assert_eq!(events.last().unwrap().name, "response.completed");
}

/// How often a vendor that limits the rate for a moment is asked: the host repeats the call three times.
const ASKED: usize = 4;

#[tokio::test]
async fn a_refusal_at_the_start_says_what_to_do() {
    let host = shop().await;
    for (vendor, name, status, code, words) in [
        (
            Vendor::OpenAi,
            "refused",
            429,
            "rate_limit_exceeded",
            "asks to wait",
        ),
        (
            Vendor::AzureV1,
            "refused",
            502,
            "upstream_error",
            "name of the deployment",
        ),
        (
            Vendor::AzureDeployment,
            "unauthorized",
            502,
            "upstream_error",
            "`azure_api_key`",
        ),
        (
            Vendor::Gemini,
            "refused",
            429,
            "rate_limit_exceeded",
            "quota",
        ),
        (
            Vendor::Gemini,
            "unauthorized",
            502,
            "upstream_error",
            "`api_key`",
        ),
        (
            Vendor::Ollama,
            "refused",
            502,
            "upstream_error",
            "`ollama pull`",
        ),
        (
            Vendor::Ollama,
            "no_tools",
            502,
            "upstream_error",
            "choose one that can",
        ),
        (
            Vendor::Ollama,
            "plain",
            502,
            "upstream_error",
            "more system memory",
        ),
        (
            Vendor::Vllm,
            "refused",
            400,
            "context_length_exceeded",
            "maximum context length",
        ),
        (
            Vendor::LmStudio,
            "refused",
            502,
            "upstream_error",
            "No models loaded",
        ),
        (
            Vendor::Anthropic,
            "overloaded",
            502,
            "upstream_error",
            "ask again in a moment",
        ),
        (
            Vendor::Anthropic,
            "rate_limited",
            429,
            "rate_limit_exceeded",
            "asks to wait",
        ),
    ] {
        let model = ScriptedModel::of(vendor, turns(vendor, &[name; ASKED])).await;
        let provider = format!("{vendor:?}-{name}");
        host.scripted_provider(&provider, &model).await;
        let new = host.mind(&provider).datasource("shop").provider(&provider);
        let mind = new.create().await;
        let reply = mind.ask("How many?").await;
        let error = reply.expect_error(status, code);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(words), "{provider}: {error}");
    }
}

#[tokio::test]
async fn a_vendor_says_when_to_come_back() {
    let host = shop().await;
    for (vendor, name, seconds) in [
        (Vendor::Anthropic, "rate_limited", "17"),
        (Vendor::Gemini, "refused", "34"),
        (Vendor::OpenAi, "refused", "2"),
    ] {
        let (mind, _model) = mind(&host, vendor, turns(vendor, &[name; ASKED])).await;
        let reply = mind.ask("How many?").await;
        assert_eq!(reply.header("retry-after"), seconds, "{vendor:?}");
    }
}

#[tokio::test]
async fn an_error_in_the_middle_fails_the_answer() {
    let host = shop().await;
    for vendor in Vendor::ALL {
        let name = match vendor {
            Vendor::Anthropic => "overloaded_midway",
            _ => "broken",
        };
        let (mind, _model) = mind(&host, vendor, turns(vendor, &[name])).await;
        let mut stream = mind.stream("How many?").await;
        stream.until("response.output_text.delta").await;
        let rest = stream.all().await;
        let failed = rest.last().unwrap();
        assert_eq!(failed.name, "response.failed", "{vendor:?}");
        assert_eq!(
            failed.data["response"]["error"]["code"], "upstream_error",
            "{vendor:?}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_reaches_its_limit_is_incomplete() {
    let host = shop().await;
    for vendor in Vendor::ALL {
        let name = match vendor {
            Vendor::Anthropic => "max_tokens",
            _ => "length",
        };
        let (mind, model) = mind(&host, vendor, turns(vendor, &[name])).await;
        let body = json!({"model": mind.name, "input": "How many?", "max_output_tokens": 16});
        let response = host
            .post("/responses", body)
            .await
            .expect_status(200)
            .json();
        assert_eq!(response["output"][0]["status"], "incomplete", "{vendor:?}");
        assert_eq!(
            response["incomplete_details"]["reason"], "max_output_tokens",
            "{vendor:?}"
        );
        assert_eq!(said(&response), "There are", "{vendor:?}");
        let asked = model.last();
        let limit = ["max_tokens", "max_completion_tokens"].map(|field| asked[field].as_u64());
        assert_eq!(
            limit.into_iter().flatten().collect::<Vec<_>>(),
            [16],
            "{vendor:?}"
        );
    }
}

#[tokio::test]
async fn a_client_that_leaves_closes_the_connection_to_the_vendor() {
    let host = shop().await;
    for vendor in Vendor::ALL {
        let (mind, model) = mind(&host, vendor, vec![vendor.silence()]).await;
        let mut stream = mind.stream("How many?").await;
        stream.until("response.output_text.delta").await;
        drop(stream);
        model.wait_for_abandoned(1).await;
    }
}

#[tokio::test]
async fn a_question_that_a_vendor_refuses_is_no_fault_of_the_server() {
    let host = shop().await;
    for (vendor, name) in [
        (Vendor::AzureV1, "filtered"),
        (Vendor::Anthropic, "refusal"),
    ] {
        let (mind, _model) = mind(&host, vendor, turns(vendor, &[name])).await;
        let error = mind
            .ask("How many?")
            .await
            .expect_error(502, "answer_failed");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("refused to answer"), "{vendor:?}: {error}");
    }
}

#[tokio::test]
async fn a_wrong_key_or_model_is_found_when_the_provider_is_made() {
    let host = Host::start().await;
    for (vendor, property, value, words) in [
        (
            Vendor::Anthropic,
            "api_key",
            "sk-ant-wrong",
            "refused the key",
        ),
        (
            Vendor::Anthropic,
            "model",
            "claude-nothing",
            "it lists scripted-1-20251001",
        ),
        (
            Vendor::AzureDeployment,
            "azure_api_key",
            "wrong",
            "`azure_api_key`",
        ),
        (
            Vendor::AzureDeployment,
            "api_version",
            "2020-01-01",
            "base_url",
        ),
        (
            Vendor::Gemini,
            "model",
            "gemini-nothing",
            "it lists scripted-1",
        ),
        (Vendor::Ollama, "model", "nothing", "`ollama pull`"),
    ] {
        let model = ScriptedModel::of(vendor, []).await;
        let mut data = model.connection_data();
        data[property] = json!(value);
        let body = json!({"name": "p", "plugin": vendor.plugin(), "connection_data": data});
        let error = host
            .post("/providers", body)
            .await
            .expect_error(400, "connection_failed");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(words), "{vendor:?} {property}: {error}");
        assert!(!message.contains("sk-ant"), "{error}");
    }
}

#[tokio::test]
async fn the_key_of_a_vendor_is_stored_sealed_and_never_shown() {
    let host = Host::start().await;
    for vendor in [Vendor::Anthropic, Vendor::AzureDeployment] {
        let model = ScriptedModel::of(vendor, []).await;
        let name = format!("{vendor:?}");
        host.scripted_provider(&name, &model).await;
        let shown = host.get(&format!("/providers/{name}")).await;
        assert!(!shown.text().contains("sk-scripted"), "{}", shown.text());
        assert!(shown.text().contains("********"), "{}", shown.text());
    }
}
