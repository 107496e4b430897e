//! Ends connections whose client does not read.
//!
//! A client that asks and never reads its answer holds a socket, its buffers, and a place among the
//! connections. Timeouts of the answer do not see it: the answer is there, it is only not taken.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A connection that fails when writing stands still for too long. Wrap the accepted stream.
#[derive(Debug)]
pub struct Stall<S> {
    stream: S,
    patience: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> Stall<S> {
    /// Lets writing stand still for `patience` at most.
    pub fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, waiting: None }
    }

    /// Passes on what a write said, and counts the time that it waits.
    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let end = Instant::now() + self.patience;
        let sleep = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
        if sleep.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        tracing::info!("a connection was ended: its client does not read");
        let error = "the client does not read its answer";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, error)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stall<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stall<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.watch(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.watch(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watch(context, ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    #[tokio::test]
    async fn a_client_that_does_not_read_is_ended() {
        let (ours, theirs) = duplex(16);
        let mut ours = Stall::new(ours, Duration::from_millis(50));
        let error = ours.write_all(&[7; 100]).await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(theirs);
    }

    #[tokio::test]
    async fn a_client_that_reads_slowly_but_reads_is_served() {
        let (ours, mut theirs) = duplex(16);
        let mut ours = Stall::new(ours, Duration::from_secs(60));
        let reading = tokio::spawn(async move {
            let mut read = Vec::new();
            let mut part = [0; 8];
            while let Ok(count @ 1..) = theirs.read(&mut part).await {
                read.extend_from_slice(&part[..count]);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            read.len()
        });
        ours.write_all(&[7; 100]).await.expect("it gets on");
        drop(ours);
        assert_eq!(reading.await.expect("read"), 100);
    }
}
