//! Permits for threads that may hang in a system call, such as a read from a file server.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::keyed::KeyedPermits;
use crate::host_errors::{cancelled, overloaded};
use mindhost_base::error::{Error, Result};
use mindhost_plugin_api::Call;

/// The part of the threads, as a divisor, that one workspace may hold. Files or names of it that hang leave the rest to
/// the others.
const WORKSPACE_SHARE: u32 = 4;

/// Threads for one kind of work that may hang, of which each workspace gets a share.
pub struct ThreadPermits {
    what: &'static str,
    max: u32,
    all: Arc<Semaphore>,
    by_workspace: KeyedPermits<(String, Hangs)>,
}

/// Whether the work may hang. What does not has a share of its own, so that a workspace whose file server hangs can
/// still use its other files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hangs {
    /// It waits for a file server or a name service.
    Perhaps,
    /// It uses a local disk.
    No,
}

/// A permit for one thread, released on drop. The thread itself holds it, because nothing can end a system call.
pub struct ThreadPermit {
    _of_workspace: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl ThreadPermits {
    /// `max` threads for `what`, in the plural, as errors name it.
    pub fn new(max: u32, what: &'static str) -> Self {
        Self {
            what,
            max,
            all: Arc::new(Semaphore::new(max as usize)),
            by_workspace: KeyedPermits::new((max / WORKSPACE_SHARE).max(1)),
        }
    }

    /// Acquires a permit for a thread. The wait ends with the call.
    pub async fn acquire(
        &self,
        workspace: &str,
        hangs: Hangs,
        call: &Call,
    ) -> Result<ThreadPermit> {
        // First the share of the workspace: a call that waits for it must not hold a thread of the others.
        let workspace = (workspace.to_owned(), hangs);
        let refused = |size: u32| self.refused(size, "one workspace");
        let of_workspace = self
            .by_workspace
            .acquire(&workspace, call, || (), refused)
            .await?;
        let of_all = tokio::select! {
            biased;
            permit = Arc::clone(&self.all).acquire_owned() => permit.map_err(Error::internal)?,
            () = call.cancel.cancelled() => return Err(cancelled()),
            () = tokio::time::sleep_until(call.deadline) => {
                return Err(self.refused(self.max, "this server"));
            }
        };
        Ok(ThreadPermit {
            _of_workspace: of_workspace,
            _of_all: of_all,
        })
    }

    /// Runs work that may hang on one of the threads. If this is dropped, the thread counts until the work ends.
    pub async fn run<T: Send + 'static>(
        &self,
        workspace: &str,
        call: &Call,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let thread = self.acquire(workspace, Hangs::Perhaps, call).await?;
        let done = tokio::task::spawn_blocking(move || {
            let _thread = thread;
            work()
        });
        done.await.map_err(Error::internal)
    }

    fn refused(&self, size: u32, owner: &str) -> Error {
        overloaded(format!(
            "limit of {size} concurrent {} of {owner} reached, and none ended in time; try again",
            self.what
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mindhost_base::{error::Code, locks::lock};
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[tokio::test]
    async fn hanging_work_of_one_workspace_leaves_threads_to_the_others() {
        let threads = ThreadPermits::new(8, "tests");
        let call = |time| Call::new(time, CancellationToken::new());
        let (short, long) = (
            call(Duration::from_millis(20)),
            call(Duration::from_secs(60)),
        );
        let (release, hang) = std::sync::mpsc::channel::<()>();
        let hang = Arc::new(std::sync::Mutex::new(hang));
        for _ in 0..2 {
            let hang = Arc::clone(&hang);
            let work = threads.run("crowded", &long, move || {
                let _ = lock(&hang).recv();
            });
            // What waits for the work gives up, and the work goes on.
            assert!(
                tokio::time::timeout(Duration::from_millis(20), work)
                    .await
                    .is_err()
            );
        }
        let refused = threads.run("crowded", &short, || ()).await.unwrap_err();
        assert_eq!(refused.code(), Code::Overloaded);
        let message = refused.message();
        assert!(
            message.contains("2 concurrent tests of one workspace"),
            "{message}"
        );
        assert!(threads.run("other", &long, || ()).await.is_ok());
        let local = threads.acquire("crowded", Hangs::No, &short).await;
        assert!(local.is_ok());
        drop(local);

        drop(release);
        assert!(threads.run("crowded", &long, || ()).await.is_ok());
    }

    #[tokio::test]
    async fn all_workspaces_together_have_no_more_than_all_threads() {
        let threads = ThreadPermits::new(4, "tests");
        let call = Call::new(Duration::from_millis(20), CancellationToken::new());
        let mut held = Vec::new();
        for name in ["a", "b", "c", "d"] {
            held.push(
                threads
                    .acquire(name, Hangs::Perhaps, &call)
                    .await
                    .ok()
                    .unwrap(),
            );
        }
        let refused = threads
            .acquire("e", Hangs::Perhaps, &call)
            .await
            .err()
            .unwrap();
        let message = refused.message();
        assert!(
            message.contains("4 concurrent tests of this server"),
            "{message}"
        );
        held.pop();
        let call = Call::new(Duration::from_secs(60), CancellationToken::new());
        assert!(threads.acquire("e", Hangs::Perhaps, &call).await.is_ok());
    }
}
