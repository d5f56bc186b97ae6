//! Rate limit for notes that any client can cause in any number: questions, refused requests, wrong keys. A number of
//! them is written per minute; the rest become one note with their count.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use super::Note;
use mindhost_base::locks::lock;

/// How long notes of one origin are counted together.
const MINUTE: Duration = Duration::from_secs(60);
/// Notes of one key that are written in a minute.
const PER_KEY: u32 = 300;
/// Notes of all clients without a valid key that are written per minute.
const UNAUTHENTICATED: u32 = 60;
/// Notes of one origin that are written in a minute while little of the disk is free.
const WITH_LOW_DISK: u32 = 1;

/// Counts the notes of a minute, by their origin.
#[derive(Debug, Default)]
pub(super) struct Folding(Mutex<HashMap<Origin, Window>>);

/// A workspace, and the key that asked; none for wrong keys.
type Origin = (Arc<str>, Option<Arc<str>>);

#[derive(Debug)]
struct Window {
    since: Instant,
    written: u32,
    folded: u64,
}

impl Folding {
    /// Whether a note is written. Otherwise it is counted.
    pub fn admits(&self, note: &Note, has_disk: bool, now: Instant) -> bool {
        let limit = match (has_disk, &note.key) {
            (false, _) => WITH_LOW_DISK,
            (true, Some(_)) => PER_KEY,
            (true, None) => UNAUTHENTICATED,
        };
        let mut windows = lock(&self.0);
        let origin = (note.workspace.clone(), note.key.clone());
        let window = windows.entry(origin).or_insert(Window {
            since: now,
            written: 0,
            folded: 0,
        });
        let is_admitted = window.written < limit;
        match is_admitted {
            true => window.written += 1,
            false => window.folded += 1,
        }
        is_admitted
    }

    /// Ends the minutes that began a minute before `now`, and gives one note for each that has notes which were not
    /// written.
    pub fn end(&self, now: Instant) -> Vec<Note> {
        let is_over = |window: &Window| now.saturating_duration_since(window.since) >= MINUTE;
        let mut windows = lock(&self.0);
        let ended = windows.extract_if(|_, window| is_over(window));
        ended
            .filter_map(|(origin, window)| rest(origin, window.folded))
            .collect()
    }

    /// As [`Self::end`], of all minutes: none goes on.
    pub fn end_all(&self) -> Vec<Note> {
        let mut windows = lock(&self.0);
        let ended = windows.drain();
        ended
            .filter_map(|(origin, window)| rest(origin, window.folded))
            .collect()
    }
}

/// The one note of those that were not written.
fn rest((workspace, key): Origin, folded: u64) -> Option<Note> {
    let (action, resource) = match (folded, &key) {
        (0, _) => return None,
        (_, Some(_)) => ("further requests", format!("{folded} within a minute")),
        (_, None) => ("failed login", format!("many addresses ({folded})")),
    };
    Some(Note {
        workspace,
        key,
        action: action.to_owned(),
        resource,
        mind: None,
        made: None,
        status: None,
        request_id: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(key: Option<&str>) -> Note {
        Note {
            workspace: "default".into(),
            key: key.map(Arc::from),
            action: "POST /conversations".to_owned(),
            resource: "/conversations".to_owned(),
            mind: None,
            made: None,
            status: Some(200),
            request_id: None,
        }
    }

    #[test]
    fn notes_beyond_the_limit_become_one_with_their_count() {
        let (folding, begin) = (Folding::default(), Instant::now());
        let admitted = |key, has_disk, count: u32| {
            let admits = |_: &u32| folding.admits(&note(key), has_disk, begin);
            (0..count).filter(admits).count()
        };
        assert_eq!(admitted(Some("one"), true, PER_KEY + 7), PER_KEY as usize);
        assert_eq!(admitted(Some("other"), true, 3), 3);
        assert_eq!(admitted(None, true, 65_536), UNAUTHENTICATED as usize);
        assert_eq!(admitted(Some("full"), false, 5), 1);
        assert!(folding.end(begin + MINUTE / 2).is_empty(), "it goes on");

        let mut rest = folding.end(begin + MINUTE);
        rest.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        let told: Vec<_> = rest
            .iter()
            .map(|note| (note.key.as_deref(), &*note.action, &*note.resource))
            .collect();
        assert_eq!(
            told,
            [
                (None, "failed login", "many addresses (65476)"),
                (Some("full"), "further requests", "4 within a minute"),
                (Some("one"), "further requests", "7 within a minute"),
            ]
        );
        assert!(lock(&folding.0).is_empty(), "nothing is kept");
        assert_eq!(admitted(Some("one"), true, PER_KEY + 1), PER_KEY as usize);
        assert_eq!(folding.end_all().len(), 1);
        assert!(folding.end_all().is_empty());
    }
}
