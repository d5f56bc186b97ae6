//! Checks knowledge again after its Mind, a datasource or a catalog changed.
//!
//! Each Mind with knowledge has a state, made of what is checked, of when it and its datasources were changed, and of
//! the stamps of their catalogs. The store has the state that all entries were last checked against, so that a change is
//! noticed whichever host made it, and after a crash too. Two hosts may check the same Mind; the result is the same.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use tokio::time::{Instant, sleep};

use super::{CHECK, Services, check::Checker};
use mindhost_base::error::{Error, Kind, Result};
use mindhost_core::{
    knowledge::{Change, Entry, MindRef},
    minds::Mind,
};
use mindhost_plugin_api::Call;

/// Counts the changes of what is checked: entries that were stored before one are checked again after it.
const CHECKS: u32 = 3;
/// How often the states are compared.
const POLL: Duration = Duration::from_secs(2);
/// How long a Mind waits whose engine could not be asked.
const RETRY: Duration = Duration::from_secs(30);
/// Most characters of a reason.
const REASON: usize = 1000;

/// When Minds are tried again whose engine could not be asked, by id.
type RetryTimes = HashMap<String, Instant>;

/// Runs until shutdown.
pub(super) async fn run(parts: &Services) {
    let mut delayed = RetryTimes::new();
    let look = async {
        loop {
            if let Err(error) = compare(parts, &mut delayed).await {
                tracing::warn!(%error, cause = ?std::error::Error::source(&error), "could not check knowledge again");
            }
            sleep(POLL).await;
        }
    };
    parts.ending.run_until_cancelled(look).await;
}

/// Checks the Minds whose state is another one than that of their last check.
async fn compare(parts: &Services, delayed: &mut RetryTimes) -> Result<()> {
    let taught = parts.base.taught().await?;
    delayed.retain(|mind, until| {
        *until > Instant::now() && taught.iter().any(|one| one.mind == *mind)
    });
    let ids = taught.iter().flat_map(|one| &one.datasources);
    let ids: BTreeSet<String> = ids.map(|(id, _)| id.clone()).collect();
    let stamps = parts.catalog.stamps(&Vec::from_iter(ids)).await?;
    for one in &taught {
        let state = state(one, &stamps);
        let Some(state) = state.filter(|state| one.state.as_ref() != Some(state)) else {
            continue;
        };
        if delayed.contains_key(&one.mind) {
            continue;
        }
        match check_all(parts, one, &state).await {
            Ok(()) => {}
            // Of one Mind; the others go on.
            Err(error) => {
                tracing::debug!(%error, mind = one.mind, "the knowledge of a Mind is checked later");
                delayed.insert(one.mind.clone(), Instant::now() + RETRY);
            }
        }
    }
    Ok(())
}

/// The state of a Mind. None while a catalog is being loaded.
fn state(taught: &MindRef, stamps: &HashMap<String, String>) -> Option<String> {
    let mut state = format!("checks {CHECKS}; {}", taught.updated_at);
    for (id, modified_at) in &taught.datasources {
        let stamp = stamps.get(id)?;
        state.push_str(&format!("; {id} {modified_at} {stamp}"));
    }
    Some(state)
}

/// Checks all entries of a Mind and notes the state.
async fn check_all(parts: &Services, taught: &MindRef, state: &str) -> Result<()> {
    let mind = parts
        .minds
        .find_by_id(&taught.workspace, &taught.mind)
        .await?;
    let Some(mind) = mind else {
        return Ok(());
    };
    let access = parts.results.current_access(&mind).await?;
    for entry in parts.base.stored(&mind).await? {
        let call = Call::new(CHECK, parts.ending.child_token());
        let checker = Checker {
            results: &parts.results,
            access: &access,
            call: &call,
        };
        let reason = stale_reason(checker.check(&entry.knowledge).await)?;
        let change = parts.base.checked(&entry, reason.as_deref()).await?;
        log(&mind, &entry, reason.as_deref(), change);
    }
    parts.base.note_state(&mind, state).await
}

/// Why an entry does not work. That an engine cannot be asked says nothing of the entry.
fn stale_reason(checked: Result<()>) -> Result<Option<String>> {
    match checked {
        Ok(()) => Ok(None),
        Err(error) if is_of_entry(&error) => {
            Ok(Some(error.message().chars().take(REASON).collect()))
        }
        Err(error) => Err(error),
    }
}

fn is_of_entry(error: &Error) -> bool {
    matches!(
        error.kind(),
        Kind::Invalid | Kind::Unprocessable | Kind::Conflict
    )
}

fn log(mind: &Mind, entry: &Entry, reason: Option<&str>, change: Change) {
    let (kind, name) = (entry.knowledge.kind().as_str(), entry.knowledge.name());
    match (change, reason) {
        (Change::Done, Some(_)) => {
            tracing::info!(mind = mind.name, kind, name, "knowledge is stale");
        }
        (Change::Done, None) => {
            tracing::info!(mind = mind.name, kind, name, "knowledge is valid again");
        }
        (Change::None | Change::Overtaken, _) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_changes_with_the_mind_its_datasources_and_their_catalogs() {
        let taught = |updated_at, modified_at| MindRef {
            workspace: "w".to_owned(),
            mind: "m".to_owned(),
            updated_at,
            datasources: vec![("shop".to_owned(), modified_at)],
            state: None,
        };
        let stamps = |stamp: &str| HashMap::from([("shop".to_owned(), stamp.to_owned())]);
        let of = |one, stamp: &str| state(&one, &stamps(stamp)).unwrap();
        let first = of(taught(1, 1), "3 0 3 7");
        assert_eq!(first, of(taught(1, 1), "3 0 3 7"));
        for other in [
            of(taught(2, 1), "3 0 3 7"),
            of(taught(1, 2), "3 0 3 7"),
            of(taught(1, 1), "3 1 3 7"),
        ] {
            assert_ne!(first, other);
        }
        assert_eq!(state(&taught(1, 1), &HashMap::new()), None);
    }

    #[test]
    fn unreachable_engine_makes_nothing_stale() {
        use mindhost_base::error::Code;
        let of = |code| stale_reason(Err(Error::new(code, "why")));
        assert_eq!(of(Code::SqlInvalid).unwrap().as_deref(), Some("why"));
        assert_eq!(of(Code::UnknownColumn).unwrap().as_deref(), Some("why"));
        assert!(of(Code::UpstreamUnreachable).is_err());
        assert!(of(Code::Timeout).is_err());
        assert_eq!(stale_reason(Ok(())).unwrap(), None);
    }
}
