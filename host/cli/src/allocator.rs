//! The allocator of the program.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// Fast for small values that one thread allocates and another frees, as requests do.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How often freed memory is looked for.
const INTERVAL: Duration = Duration::from_secs(1);

/// Returns freed memory to the operating system until the server ends.
///
/// The allocator holds freed memory back for a moment, in case it is needed again, and afterwards returns it only
/// while other memory is allocated. A server that is idle after a peak would never return it.
pub async fn return_freed_memory(ending: CancellationToken) {
    let mut interval = tokio::time::interval(INTERVAL);
    while ending.run_until_cancelled(interval.tick()).await.is_some() {
        // SAFETY: it takes no pointer, and any thread may call it at any time. `false` leaves memory that was freed
        // just now.
        #[allow(unsafe_code, reason = "the allocator has no safe call for this")]
        unsafe {
            libmimalloc_sys::mi_collect(false);
        }
    }
}
