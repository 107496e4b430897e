//! A request's body within its limits: bytes and time.
//!
//! The limits stand on the body itself, not on the extractor, so that a handler that reads it in a
//! way of its own is limited too. What went wrong is written down beside the body: extractors that
//! know nothing of it answer 400, and the shell corrects that.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep};

/// The body went beyond its limit in bytes.
#[derive(Debug)]
pub(crate) struct TooLarge(pub(crate) usize);

/// The time for the body is over.
#[derive(Debug)]
pub(crate) struct Ended;

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the body is larger than {} bytes", self.0)
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body came too slowly")
    }
}

impl std::error::Error for TooLarge {}
impl std::error::Error for Ended {}

/// What became of a body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fate(Arc<AtomicU8>);

const LARGE: u8 = 1;
const SLOW: u8 = 2;

impl Fate {
    /// It was larger than allowed.
    pub(crate) fn too_large(&self) -> bool {
        self.0.load(Ordering::Relaxed) == LARGE
    }

    /// It came too slowly.
    pub(crate) fn too_slow(&self) -> bool {
        self.0.load(Ordering::Relaxed) == SLOW
    }
}

/// A body that is cut at its limits.
pub(crate) struct Limited {
    body: Body,
    limit: usize,
    seen: usize,
    patience: Duration,
    // Made at the first wait: most bodies are there with the head, and need no timer.
    deadline: Option<Pin<Box<Sleep>>>,
    begun: Instant,
    fate: Fate,
}

/// Puts limits around a body.
pub(crate) fn limited(body: Body, limit: usize, patience: Duration) -> (Body, Fate) {
    let fate = Fate::default();
    let begun = Instant::now();
    let limited =
        Limited { body, limit, seen: 0, patience, deadline: None, begun, fate: fate.clone() };
    (Body::new(limited), fate)
}

impl Limited {
    fn late(&mut self, context: &mut Context<'_>) -> bool {
        let end = self.begun + self.patience;
        let sleep = self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
        sleep.as_mut().poll(context).is_ready()
    }
}

impl HttpBody for Limited {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                self.seen += frame.data_ref().map_or(0, Bytes::len);
                if self.seen > self.limit {
                    self.fate.0.store(LARGE, Ordering::Relaxed);
                    return Poll::Ready(Some(Err(TooLarge(self.limit).into())));
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending if self.late(context) => {
                self.fate.0.store(SLOW, Ordering::Relaxed);
                Poll::Ready(Some(Err(Ended.into())))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{StreamExt as _, stream};
    use http_body_util::BodyExt as _;
    use std::convert::Infallible;

    #[tokio::test]
    async fn an_endless_body_is_cut_at_its_limit() {
        let endless = stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(&[7; 100])));
        let (body, fate) = limited(Body::from_stream(endless), 1000, Duration::from_secs(60));
        assert!(body.collect().await.is_err());
        assert!(fate.too_large() && !fate.too_slow());
    }

    #[tokio::test]
    async fn a_body_that_drips_is_cut_at_its_time() {
        let drips = stream::repeat(()).then(|()| async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok::<_, Infallible>(Bytes::from_static(b"x"))
        });
        let (body, fate) = limited(Body::from_stream(drips), 1 << 20, Duration::from_millis(50));
        assert!(body.collect().await.is_err());
        assert!(fate.too_slow() && !fate.too_large());
    }

    #[tokio::test]
    async fn a_body_at_its_limit_passes() {
        let (body, fate) = limited(Body::from("12345"), 5, Duration::from_secs(60));
        assert_eq!(body.collect().await.expect("read").to_bytes(), "12345");
        assert!(!fate.too_large() && !fate.too_slow());
    }
}
