//! The live feed: one reader of the store in a process, any number of subscribers.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::broadcast::{self, error::RecvError};
use tokio::task::AbortHandle;

use crate::guarded::jittered;

use super::{EVENTS_PER_PAGE, Event, EventFilter, Events, FeedError, ReadEventsError};

/// Events that wait for the slowest subscriber; then it is told that it lags.
pub(super) const FEED_EVENTS: usize = 1024;
/// How often the store is asked for events of other processes.
const PERIOD: Duration = Duration::from_millis(500);

/// Keeps a process's feed going; it ends when this is dropped.
#[derive(Debug)]
pub struct Follower(AbortHandle);

impl Drop for Follower {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Live events of one subscriber.
#[derive(Debug)]
pub struct Feed {
    receiver: broadcast::Receiver<Arc<Event>>,
    filter: EventFilter,
    last: u64,
}

impl Feed {
    /// The next event that matches.
    ///
    /// # Errors
    /// [`FeedError::Lagged`] when events behind [`Feed::last`] are no longer here: read on with
    /// [`Events::read_after`], call [`Feed::resume_at`] with the last id of each page, and go on
    /// here when there are no more pages. Nothing is missed.
    pub async fn next(&mut self) -> Result<Arc<Event>, FeedError> {
        loop {
            let lagged = Err(FeedError::Lagged { last: self.last });
            match self.receiver.recv().await {
                Ok(event) if event.id <= self.last => {}
                Ok(event) if event.id == self.last + 1 => {
                    self.last = event.id;
                    if self.filter.matches(&event) {
                        return Ok(event);
                    }
                }
                Ok(_) | Err(RecvError::Lagged(_)) => return lagged,
                Err(RecvError::Closed) => return Err(FeedError::Closed),
            }
        }
    }

    /// The last event the feed accounted for, whether it matched or not.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Everything up to `id` has been read elsewhere.
    pub fn resume_at(&mut self, id: u64) {
        self.last = self.last.max(id);
    }
}

impl Events {
    /// A feed of events behind `after`, or from now on. One that begins further back than the feed
    /// reaches is told so by its first answer, as one that lags; somebody must keep a
    /// [`Events::follow`] alive for anything to arrive.
    #[must_use]
    pub fn subscribe(&self, after: Option<u64>, filter: EventFilter) -> Feed {
        // The receiver first: what is fed between the two is received and skipped, never missed.
        let receiver = self.inner.feed.subscribe();
        let last = after.unwrap_or_else(|| self.inner.fed.load(Ordering::SeqCst));
        Feed { receiver, filter, last }
    }

    /// Subscribers at the moment.
    #[must_use]
    pub fn subscribers(&self) -> usize {
        self.inner.feed.receiver_count()
    }

    /// Feeds the subscribers of this process from now on: at once with what is appended here, and
    /// within a second with what is appended elsewhere.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn follow(&self) -> Result<Follower, crate::StoreError> {
        let newest = self.span().await?.map_or(0, |(_, newest)| newest);
        self.inner.fed.fetch_max(newest, Ordering::SeqCst);
        let events = self.clone();
        let task = tokio::spawn(async move {
            loop {
                // Enabled before the read, so that an append during it is not slept over.
                let appended = events.inner.appended.notified();
                tokio::pin!(appended);
                appended.as_mut().enable();
                if let Err(error) = events.feed_new().await {
                    tracing::warn!("events could not be read and will be later: {error}");
                }
                let pause = PERIOD / 2 + jittered(PERIOD);
                let _ = tokio::time::timeout(pause, appended).await;
            }
        });
        Ok(Follower(task.abort_handle()))
    }

    async fn feed_new(&self) -> Result<(), ReadEventsError> {
        let everything = EventFilter::default();
        loop {
            let fed = self.inner.fed.load(Ordering::SeqCst);
            let page = match self.read_after(fed, &everything, EVENTS_PER_PAGE).await {
                Ok(page) => page,
                Err(ReadEventsError::Gone { first }) => {
                    // Longer away than events are kept. Subscribers see the gap and say so.
                    self.inner.fed.store(first - 1, Ordering::SeqCst);
                    continue;
                }
                Err(error) => return Err(error),
            };
            for event in page.events {
                // Before it is sent: a subscriber that comes in between has not missed it.
                self.inner.fed.store(event.id, Ordering::SeqCst);
                // Without subscribers there is nobody to miss it.
                let _ = self.inner.feed.send(Arc::new(event));
            }
            if !page.more {
                return Ok(());
            }
        }
    }
}
