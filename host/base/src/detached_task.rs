//! Work that outlives whoever waits for it.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use tokio::runtime::Handle;

/// Work that its waiter polls, without the cost of a task, and that goes on in a task of its own when the waiter lets
/// go of it.
pub struct Detaching<T: Send + 'static>(Option<BoxFuture<'static, T>>);

impl<T: Send + 'static> Detaching<T> {
    /// Begins when it is first polled. Work that a shutdown must wait for is tracked by whoever made it.
    pub fn new(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self(Some(Box::pin(work)))
    }
}

impl<T: Send + 'static> Future for Detaching<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        // Taken out while it is polled: work that panics ends there and goes nowhere.
        let Some(mut work) = self.0.take() else {
            return Poll::Pending;
        };
        let polled = work.as_mut().poll(cx);
        if polled.is_pending() {
            self.0 = Some(work);
        }
        polled
    }
}

impl<T: Send + 'static> Drop for Detaching<T> {
    fn drop(&mut self) {
        // Without a runtime there is nobody to go on with the work; it is dropped as it is.
        if let (Some(work), Ok(handle)) = (self.0.take(), Handle::try_current()) {
            handle.spawn(work);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn work_goes_on_when_nobody_waits_for_it() {
        let (begin, begun) = oneshot::channel::<()>();
        let (done, ended) = oneshot::channel();
        let mut work = Detaching::new(async move {
            let _ = begun.await;
            let _ = done.send(7);
        });
        assert!(futures_util::poll!(&mut work).is_pending());
        drop(work);
        begin.send(()).unwrap();
        assert_eq!(ended.await, Ok(7));
    }
}
