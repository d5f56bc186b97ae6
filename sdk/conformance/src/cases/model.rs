//! The cases of a model provider.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use mindhost_base::{Error, Result as Called};
use mindhost_plugin_api::{
    ModelEvent, ModelMessage, ModelRequest, Part, Role, StopReason, Tool, ToolCall,
};

use super::{concurrency, opening::wrong_credentials};
use crate::{
    bench::{Bench, Bounds, PATIENCE, usual},
    case::{
        Case, Expect, Stop, Verdict, ensure, failed, passed, shown, skipped, skipped_until,
        unexpected,
    },
    cause::{Cause, kind},
    config::Data,
    proxy::{Proxy, Route, Stranger, closed_port},
};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "check",
        proves: "`check` says that the configuration works, in a text for a person.",
        run: |bench| Box::pin(check(bench)),
    },
    Case {
        name: "models",
        proves: "`models` lists names, or nothing.",
        run: |bench| Box::pin(models(bench)),
    },
    Case {
        name: "answer",
        proves: "An answer begins, its last event is `stop`, and nothing comes after.",
        run: |bench| Box::pin(answer(bench)),
    },
    Case {
        name: "usage",
        proves: "Tokens are counted under the names of the contract.",
        run: |bench| Box::pin(usage(bench)),
    },
    Case {
        name: "tool-call",
        proves: "A tool is called by its name with an id, and the answer goes on with its result.",
        run: |bench| Box::pin(tool_call(bench)),
    },
    Case {
        name: "tool-choice",
        proves: "A tool choice that cannot be kept is an error or something not less strict.",
        run: |bench| Box::pin(tool_choice(bench)),
    },
    Case {
        name: "long-prompt",
        proves: "A prompt of a megabyte is answered or refused, in time and without a trap.",
        run: |bench| Box::pin(long_prompt(bench)),
    },
    Case {
        name: "hostile-prompt",
        proves: "A prompt with NUL, rare characters and broken markup is answered or refused, without a trap.",
        run: |bench| Box::pin(hostile_prompt(bench)),
    },
    Case {
        name: "concurrency",
        proves: "Four answers at once each end with their own `stop`.",
        run: |bench| Box::pin(concurrency(bench)),
    },
    Case {
        name: "cancel",
        proves: "An answer that the host cancels in its middle ends at once, and the next one works.",
        run: |bench| Box::pin(cancel(bench)),
    },
    Case {
        name: "bad-credentials",
        proves: "A wrong key is refused as `auth`.",
        run: |bench| Box::pin(bad_credentials(bench)),
    },
    Case {
        name: "unreachable",
        proves: "A port on which nobody listens is `unreachable`.",
        run: |bench| Box::pin(unreachable(bench)),
    },
    Case {
        name: "stranger",
        proves: "A server of another protocol is an error, in time and without a trap.",
        run: |bench| Box::pin(stranger(bench)),
    },
    Case {
        name: "reconnect",
        proves: "When the network broke, the next answer works again.",
        run: |bench| Box::pin(reconnect(bench)),
    },
    Case {
        name: "discretion",
        proves: "No secret is in an error or a log line, and the log is not flooded.",
        run: |bench| Box::pin(async { concurrency::discretion(&bench.notes) }),
    },
    Case {
        name: "within-grants",
        proves: "The plugin tried to reach nothing that its configuration does not name.",
        run: |bench| Box::pin(async { concurrency::within_grants(&bench.notes) }),
    },
];

const QUESTION: &str = "Say hello in one word.";

fn question(bench: &Bench) -> ModelRequest {
    let text = bench.config.tests.prompt.as_deref();
    asking(text.unwrap_or(QUESTION))
}

/// A request of one text.
fn asking(text: &str) -> ModelRequest {
    ModelRequest {
        messages: vec![ModelMessage {
            role: Role::User,
            parts: vec![Part::Text(text.to_owned())],
        }],
        tool_choice: "auto".to_owned(),
        ..ModelRequest::default()
    }
}

/// Everything that comes of a request.
async fn ask(bench: &Bench, data: &Data, request: ModelRequest) -> Called<Vec<ModelEvent>> {
    let mut completion = bench.start(data, request, &usual()).await?;
    let mut events = Vec::new();
    while let Some(more) = completion.next(&usual()).await? {
        events.extend(more);
    }
    Ok(events)
}

async fn ask_usual(bench: &Bench, request: ModelRequest) -> Called<Vec<ModelEvent>> {
    ask(bench, bench.data(), request).await
}

fn stop_of(events: &[ModelEvent]) -> Option<StopReason> {
    match events.last() {
        Some(ModelEvent::Stop(reason, _)) => Some(*reason),
        _ => None,
    }
}

async fn check(bench: &Bench) -> Verdict {
    let text = bench.check_model().await;
    let text = text.expect_to("`check` succeeds")?;
    ensure(
        !text.is_empty(),
        "a short text for a person",
        "an empty one",
        "say what works: `ready`",
    )?;
    Ok(text)
}

async fn models(bench: &Bench) -> Verdict {
    let models = bench.models().await;
    let models = models.expect_to("`models` succeeds")?;
    ensure(
        models.iter().all(|name| !name.is_empty()),
        "names of models",
        "an empty name",
        "list what a request may put into `model`",
    )?;
    Ok(format!("{} models", models.len()))
}

async fn answer(bench: &Bench) -> Verdict {
    let start = Instant::now();
    let events = ask_usual(bench, question(bench))
        .await
        .expect_to("an answer comes to its end")?;
    let stops = events
        .iter()
        .filter(|event| matches!(event, ModelEvent::Stop(..)))
        .count();
    ensure(
        stops == 1 && stop_of(&events).is_some(),
        "one `stop` event, as the last one",
        format!("{stops} of {} events", events.len()),
        "end every answer with `stop`; a stream of the vendor that ends without one is `connection-lost`",
    )?;
    let has_content = events
        .iter()
        .any(|event| matches!(event, ModelEvent::Text(_) | ModelEvent::ToolCall(_)));
    ensure(
        has_content,
        "text or a tool call",
        "nothing but the end",
        "hand on what the model says",
    )?;
    Ok(format!(
        "{} events in {}",
        events.len(),
        shown(start.elapsed())
    ))
}

async fn usage(bench: &Bench) -> Verdict {
    const NAMES: [&str; 4] = ["input", "output", "cached-input", "reasoning"];
    let events = ask_usual(bench, question(bench))
        .await
        .expect_to("an answer comes to its end")?;
    let last = events.iter().rev().find_map(|event| match event {
        ModelEvent::Usage(counts) => Some(counts),
        _ => None,
    });
    let Some(counts) = last else {
        return Err(skipped(
            "the plugin reports no usage; the host then counts four bytes as a token",
        ));
    };
    let stray = counts
        .iter()
        .find(|(name, _)| !NAMES.contains(&name.as_str()));
    ensure(
        stray.is_none() && counts.iter().any(|(name, _)| name == "output"),
        "counts named `input`, `output`, `cached-input` or `reasoning`",
        format!("{counts:?}"),
        "use the names of the contract",
    )?;
    Ok(counts
        .iter()
        .map(|(name, count)| format!("{name} {count}"))
        .collect::<Vec<_>>()
        .join(", "))
}

fn lookup() -> Tool {
    Tool {
        name: "lookup".into(),
        description: "Looks up the value of a key.".into(),
        parameters:
            r#"{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}"#.into(),
    }
}

async fn tool_call(bench: &Bench) -> Verdict {
    const PROMPT: &str =
        "Use the tool `lookup` with the key \"colour\", then answer with its value.";
    let prompt = bench.config.tests.tool_prompt.as_deref().unwrap_or(PROMPT);
    let mut request = asking(prompt);
    request.tools = vec![lookup()];
    let events = ask_usual(bench, request.clone()).await;
    let events = events.expect_to("an answer with tools comes to its end")?;
    let calls: Vec<&ToolCall> = events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::ToolCall(call) => Some(call),
            _ => None,
        })
        .collect();
    if calls.is_empty() {
        return Err(skipped_until(
            "the model called no tool",
            "tests.tool_prompt: a question that this model answers with a call of the tool `lookup`",
        ));
    }
    for call in &calls {
        ensure(
            call.name == "lookup" && !call.id.is_empty(),
            "a call of `lookup` with an id",
            format!("`{}` with the id `{}`", call.name, call.id),
            "hand on the vendor's id; where it has none, make one",
        )?;
    }
    let reason = stop_of(&events);
    ensure(
        reason == Some(StopReason::ToolCalls),
        "`stop` with the reason `tool-calls`",
        format!("{reason:?}"),
        "map the vendor's word for it",
    )?;
    go_on(bench, request, &calls).await
}

/// Gives the results of the tools, and expects an answer.
async fn go_on(bench: &Bench, mut request: ModelRequest, calls: &[&ToolCall]) -> Verdict {
    let called = calls
        .iter()
        .map(|call| Part::ToolCall((*call).clone()))
        .collect();
    let results = calls.iter().map(|call| Part::ToolResult {
        call_id: call.id.clone(),
        content: r#"{"value":"green"}"#.into(),
        is_error: false,
    });
    request.messages.push(ModelMessage {
        role: Role::Assistant,
        parts: called,
    });
    request.messages.push(ModelMessage {
        role: Role::Tool,
        parts: results.collect(),
    });
    let events = ask_usual(bench, request).await;
    let events = events.expect_to("the answer goes on with the result of the tool")?;
    ensure(
        stop_of(&events).is_some(),
        "an answer that ends with `stop`",
        format!("{} events", events.len()),
        "give a tool's result to the vendor with the id of its call",
    )?;
    Ok(format!("{} calls", calls.len()))
}

async fn tool_choice(bench: &Bench) -> Verdict {
    let mut request = question(bench);
    request.tools = vec![lookup()];
    request.tool_choice = "required".into();
    match ask_usual(bench, request).await {
        Ok(events) => {
            let called = events
                .iter()
                .any(|event| matches!(event, ModelEvent::ToolCall(_)));
            match called {
                true => Ok("a tool was called".to_owned()),
                false => Ok(
                    "the model called none although it had to; `unsupported` would say so"
                        .to_owned(),
                ),
            }
        }
        Err(error) => typed(&error, "an answer or an error for tool-choice `required`"),
    }
}

/// An error of the plugin's own is as good as an answer.
fn typed(error: &Error, expected: &str) -> Verdict {
    match Cause::of(error) {
        Cause::Reported(kind) => Ok(kind.to_owned()),
        _ => Err(unexpected(expected, error)),
    }
}

async fn long_prompt(bench: &Bench) -> Verdict {
    let text = "All work and no play makes a dull day. ".repeat((1 << 20) / 39);
    match ask_usual(bench, asking(&text)).await {
        Ok(_) => Ok("answered".to_owned()),
        Err(error) => typed(&error, "an answer or an error for a prompt of a megabyte"),
    }
}

async fn hostile_prompt(bench: &Bench) -> Verdict {
    for text in [
        "",
        "a\0b",
        "☃ 🦀 \u{202e}right to left \u{feff}",
        "data: [DONE]\n\ndata: {\"choices\": [",
        "\"}],\"model\":\"other\",\"x\":[{\"y\":\"",
    ] {
        if let Err(error) = ask_usual(bench, asking(text)).await {
            let expected = format!("an answer or an error for the prompt {text:?}");
            typed(&error, &expected)?;
        }
    }
    let nobody = ModelRequest {
        messages: Vec::new(),
        ..asking("")
    };
    if let Err(error) = ask_usual(bench, nobody).await {
        typed(
            &error,
            "an answer or an error for a request without messages",
        )?;
    }
    passed()
}

async fn concurrency(bench: &Bench) -> Verdict {
    let answers = join_all((0..4).map(|_| ask_usual(bench, question(bench)))).await;
    for events in answers {
        let events = events.expect_to("four answers at once come to their ends")?;
        ensure(
            stop_of(&events).is_some(),
            "a `stop` at the end of each",
            "an answer without",
            "keep no state outside of a completion",
        )?;
    }
    passed()
}

async fn cancel(bench: &Bench) -> Verdict {
    // As long as for a scan, for the same reason.
    const SOON: Duration = Duration::from_secs(20);
    let bounds = Bounds::of(PATIENCE);
    let completion = bench
        .start(bench.data(), question(bench), &bounds.call())
        .await;
    let mut completion = completion.expect_to("an answer begins")?;
    // The first piece is there; what is cancelled is the work on the rest.
    let first = completion.next(&bounds.call()).await;
    first.expect_to("an answer has a first piece")?;
    let rest = async {
        let ended = loop {
            match completion.next(&bounds.call()).await {
                Ok(Some(_)) => {}
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        (ended, Instant::now())
    };
    let stop = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        bounds.cancel.cancel();
        Instant::now()
    };
    let ((ended, over), cancelled) = futures_util::join!(rest, stop);
    let took = over.saturating_duration_since(cancelled);
    ensure(
        took <= SOON,
        format!("an end within {}", shown(SOON)),
        shown(took),
        "look at `control` wherever the plugin waits or computes",
    )?;
    let remark = match ended {
        Ok(()) => "the answer was over before it was cancelled",
        Err(error) if Cause::of(&error).is_cancellation() => "",
        Err(error) => return Err(unexpected("an end because of the cancellation", &error)),
    };
    drop(completion);
    let events = ask_usual(bench, question(bench)).await;
    events.expect_to("the next answer works")?;
    Ok(remark.to_owned())
}

async fn bad_credentials(bench: &Bench) -> Verdict {
    if bench.manifest().credentials.is_empty() {
        return Err(skipped("the manifest names no credentials"));
    }
    let hint = bench.config.tests.wrong_credentials.as_ref();
    let wrong = wrong_credentials(bench.data(), bench.manifest(), hint).ok_or_else(|| {
        skipped_until(
            "the configuration holds no credentials",
            "connection_data with a key, or tests.wrong_credentials: connection data that must be refused",
        )
    })?;
    let answered = ask(bench, &wrong, question(bench)).await;
    answered.expect_kind("an answer with a wrong key", &[kind::AUTH])?;
    passed()
}

async fn unreachable(bench: &Bench) -> Verdict {
    let route = Route::of(bench.manifest(), bench.data())?;
    let port = closed_port()
        .await
        .map_err(|error| skipped(format!("no port is free: {error}")))?;
    let answered = ask(bench, &route.to(port), question(bench)).await;
    answered.expect_kind("an answer from where nobody listens", &[kind::UNREACHABLE])?;
    passed()
}

async fn stranger(bench: &Bench) -> Verdict {
    let route = Route::of(bench.manifest(), bench.data())?;
    let stranger = Stranger::start()
        .await
        .map_err(|error| skipped(format!("no port is free: {error}")))?;
    let expected = "an error of the plugin when a mail server answers in the place of the vendor";
    match ask(bench, &route.to(stranger.port), question(bench)).await {
        Ok(_) => Err(failed(
            expected,
            "an answer",
            "look at what the server sends",
        )),
        Err(error) => typed(&error, expected),
    }
}

async fn reconnect(bench: &Bench) -> Verdict {
    let route = Route::of(bench.manifest(), bench.data())?;
    let proxy: Result<Proxy, Stop> = Proxy::to(route.host.clone(), route.port)
        .await
        .map_err(|error| skipped(format!("no port is free: {error}")));
    let proxy = proxy?;
    let data = route.to(proxy.port());
    let first = ask(bench, &data, question(bench)).await;
    first.expect_to("an answer comes through a proxy of the kit")?;
    proxy.cut().await;
    let second = ask(bench, &data, question(bench)).await;
    second.expect_to("an answer comes after the network broke and came back")?;
    passed()
}
