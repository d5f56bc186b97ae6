//! Server-sent events, as far as the API uses them.

use serde_json::Value;

/// A stream with a longer event is no answer of this server.
const MAX_EVENT: usize = 64 << 20;

/// Puts events together from pieces of a stream.
#[derive(Debug, Default)]
pub(super) struct Events {
    rest: Vec<u8>,
}

impl Events {
    /// Adds a piece, and gives the `data` of the events that are complete with it.
    ///
    /// # Errors
    /// When an event is longer than any of this server, or is no JSON.
    pub(super) fn add(&mut self, piece: &[u8]) -> anyhow::Result<Vec<Value>> {
        // Only the last byte of what was there may be half of an end.
        let mut from = self.rest.len().saturating_sub(1);
        self.rest.extend_from_slice(piece);
        let mut events = Vec::new();
        while let Some(at) = self.rest[from..]
            .windows(2)
            .position(|pair| pair == b"\n\n")
        {
            let frame: Vec<u8> = self.rest.drain(..from + at + 2).collect();
            from = 0;
            events.extend(data(&frame)?);
        }
        anyhow::ensure!(
            self.rest.len() <= MAX_EVENT,
            "the server sent an event of more than {} MiB",
            MAX_EVENT >> 20
        );
        Ok(events)
    }
}

fn data(frame: &[u8]) -> anyhow::Result<Option<Value>> {
    let text = std::str::from_utf8(frame)?;
    let data = text.lines().find_map(|line| line.strip_prefix("data:"));
    Ok(data
        .map(|data| serde_json::from_str(data.trim_start()))
        .transpose()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_put_together_from_any_pieces() {
        let stream = ": hello\n\nevent: a\ndata: {\"n\": 1}\n\nevent: b\ndata: {\"n\": \"ü\"}\n\n";
        for size in [1, 3, 7, 1_000] {
            let mut events = Events::default();
            let mut found = Vec::new();
            for piece in stream.as_bytes().chunks(size) {
                found.extend(events.add(piece).unwrap());
            }
            assert_eq!(
                found,
                [serde_json::json!({"n": 1}), serde_json::json!({"n": "ü"})],
                "{size}"
            );
        }
        assert!(Events::default().add(b"data: x\n\n").is_err());
    }
}
