//! Many pieces of work at once, but never too many.

use std::collections::HashMap;
use std::future::Future;

use store::EngineError;
use tokio::task::JoinSet;

/// Runs all work, at most `in_flight` pieces at a time. The order of the results is any.
///
/// # Errors
/// When the runtime ends before the work does.
pub(crate) async fn gather<T: Send + 'static>(
    in_flight: usize,
    work: impl IntoIterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Result<Vec<T>, EngineError> {
    // Boxed, so that no caller's future carries theirs inside it.
    let mut work = work.into_iter().map(Box::pin);
    let mut results = Vec::new();
    let Some(first) = work.next() else { return Ok(results) };
    let Some(second) = work.next() else {
        // One piece needs no task of its own.
        results.push(first.await);
        return Ok(results);
    };
    let mut running = JoinSet::new();
    for piece in [first, second].into_iter().chain(work) {
        if running.len() >= in_flight {
            results.extend(ended(running.join_next().await)?);
        }
        running.spawn(piece);
    }
    while let Some(result) = ended(running.join_next().await)? {
        results.push(result);
    }
    Ok(results)
}

fn ended<T>(joined: Option<Result<T, tokio::task::JoinError>>) -> Result<Option<T>, EngineError> {
    match joined {
        None => Ok(None),
        Some(Ok(result)) => Ok(Some(result)),
        Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Some(Err(_)) => {
            Err(EngineError::new("the program is ending", "the next start goes on from here"))
        }
    }
}

/// Items by a key, in their order.
pub(crate) fn group<K: Eq + std::hash::Hash, T>(
    items: impl IntoIterator<Item = (K, T)>,
) -> HashMap<K, Vec<T>> {
    let mut groups: HashMap<K, Vec<T>> = HashMap::new();
    for (key, item) in items {
        groups.entry(key).or_default().push(item);
    }
    groups
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn no_more_than_asked_run_at_once() {
        for pieces in [0, 1, 2, 3, 50] {
            let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let work = (0..pieces).map(|piece| {
                let (now, most) = (now.clone(), most.clone());
                async move {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    now.fetch_sub(1, Ordering::SeqCst);
                    piece
                }
            });
            let mut results = gather(3, work.collect::<Vec<_>>()).await.expect("all end");
            results.sort_unstable();
            assert_eq!(results, (0..pieces).collect::<Vec<_>>());
            assert!(most.load(Ordering::SeqCst) <= 3);
        }
    }
}
