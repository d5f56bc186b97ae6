//! A future that outlives its caller.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use tokio::runtime::Handle;

/// A future that the caller polls in place, without the cost of a task. If the caller drops it early, it continues in a
/// task of its own.
pub struct DetachOnDrop<T: Send + 'static>(Option<BoxFuture<'static, T>>);

impl<T: Send + 'static> DetachOnDrop<T> {
    /// Wraps a future, which starts at the first poll. If a shutdown must wait for it, the caller tracks it.
    pub fn new(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self(Some(Box::pin(work)))
    }
}

impl<T: Send + 'static> Future for DetachOnDrop<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        // Taken out while it is polled: a future that panics is not polled again in a task.
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

impl<T: Send + 'static> Drop for DetachOnDrop<T> {
    fn drop(&mut self) {
        // Without a runtime nothing can continue the work, so it is dropped.
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
    async fn dropped_future_continues_in_a_task() {
        let (begin, begun) = oneshot::channel::<()>();
        let (done, ended) = oneshot::channel();
        let mut work = DetachOnDrop::new(async move {
            let _ = begun.await;
            let _ = done.send(7);
        });
        assert!(futures_util::poll!(&mut work).is_pending());
        drop(work);
        begin.send(()).unwrap();
        assert_eq!(ended.await, Ok(7));
    }
}
