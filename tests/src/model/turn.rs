//! What a scripted model does with one request.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::Semaphore;

/// One answer of a scripted model. The constructors begin it, the other methods add to it.
#[derive(Clone, Debug)]
pub struct Turn {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<Value>,
    pub(super) steps: Vec<Step>,
    pub(super) finish: Option<String>,
    /// The steps are all that is sent: no chunk before them, and none after.
    pub(super) is_bare: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Text(String),
    Call { name: String, arguments: String },
    Raw(Vec<u8>),
    Wait(Gate),
    Hang,
    Cut,
}

/// Holds a turn back until the test opens it.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Semaphore>);

impl Default for Gate {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }
}

impl Gate {
    /// Lets one waiting (or the next) step pass.
    pub fn open(&self) {
        self.0.add_permits(1);
    }

    pub(super) async fn pass(&self) {
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
    }
}

impl Turn {
    /// An answer in words, one delta a word.
    pub fn text(text: &str) -> Self {
        let words = text.split_inclusive(' ');
        words.fold(Self::empty(), Turn::and_text)
    }

    /// A call of one tool.
    pub fn call(name: &str, arguments: Value) -> Self {
        Self::empty().and_call(name, arguments)
    }

    /// An answer that is not a stream: an error with the vendor's body.
    pub fn error(status: u16, message: &str) -> Self {
        let body =
            serde_json::json!({"error": {"message": message, "type": "scripted", "code": null}});
        Self {
            status,
            body: Some(body),
            ..Self::empty()
        }
    }

    /// A stream of nothing, to add steps to.
    pub fn empty() -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            body: None,
            steps: Vec::new(),
            finish: None,
            is_bare: false,
        }
    }

    /// A response as `curl -i` prints it, sent in pieces that cut its characters and lines anywhere.
    ///
    /// # Panics
    /// When it does not begin with `HTTP/1.1` and a status.
    pub fn transcript(text: &str) -> Self {
        const PIECE: usize = 61;
        let (head, body) = text.split_once("\n\n").expect("a head and a body");
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let headers = lines.filter_map(|line| line.split_once(": "));
        Self {
            status: status.and_then(|text| text.parse().ok()).expect("a status"),
            headers: headers
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            steps: body
                .as_bytes()
                .chunks(PIECE)
                .map(|piece| Step::Raw(piece.to_vec()))
                .collect(),
            is_bare: true,
            ..Self::empty()
        }
    }

    /// One more delta of text.
    #[must_use]
    pub fn and_text(self, text: &str) -> Self {
        self.step(Step::Text(text.to_owned()))
    }

    /// One more tool call, in the same turn.
    #[must_use]
    pub fn and_call(self, name: &str, arguments: Value) -> Self {
        self.and_call_with(name, &arguments.to_string())
    }

    /// One more tool call, whose arguments need not be JSON.
    #[must_use]
    pub fn and_call_with(self, name: &str, arguments: &str) -> Self {
        self.step(Step::Call {
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        })
    }

    /// Sends these bytes as they are.
    #[must_use]
    pub fn and_raw(self, bytes: &str) -> Self {
        self.step(Step::Raw(bytes.as_bytes().to_vec()))
    }

    /// Waits until the test opens the gate.
    #[must_use]
    pub fn and_wait(self, gate: &Gate) -> Self {
        self.step(Step::Wait(gate.clone()))
    }

    /// Says nothing more, until the reader goes away.
    #[must_use]
    pub fn and_hang(self) -> Self {
        self.step(Step::Hang)
    }

    /// Breaks the transfer.
    #[must_use]
    pub fn and_cut(self) -> Self {
        self.step(Step::Cut)
    }

    /// Ends with another reason than `stop` or `tool_calls`.
    #[must_use]
    pub fn finish(mut self, reason: &str) -> Self {
        self.finish = Some(reason.to_owned());
        self
    }

    /// Adds a header to the reply.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    pub(super) fn reason(&self) -> String {
        let calls = self
            .steps
            .iter()
            .any(|step| matches!(step, Step::Call { .. }));
        let usual = if calls { "tool_calls" } else { "stop" };
        self.finish.clone().unwrap_or_else(|| usual.to_owned())
    }
}
