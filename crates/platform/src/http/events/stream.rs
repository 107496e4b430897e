//! One stream: first the past, then the present.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Bytes;
use bytes::BytesMut;
use futures_util::{Stream, stream};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::streams::{Place, Reason};
use super::{Event, Events, Filter};
use crate::http::kinds;
use crate::http::problem::Problem;

/// Events that are held for one client at a time.
pub(crate) const HELD: usize = 64;
/// Bytes after which a chunk is given to the socket.
const CHUNK_BYTES: usize = 64 * 1024;
/// How often a client may read the past again before it has reached the present.
const ROUNDS: u32 = 16;
/// Milliseconds after which browsers come back.
const RETRY: u32 = 2000;

/// Where a stream stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Reads what happened before it came.
    Past,
    /// Has read everything; has not heard anything live yet.
    Joining,
    /// Follows.
    Live,
    /// Has fallen behind; the next thing it hears is why it ends.
    Behind,
}

struct Follower {
    events: Events,
    filter: Filter,
    last: u64,
    live: broadcast::Receiver<Arc<Event>>,
    phase: Phase,
    rounds: u32,
    beat: Interval,
    place: Place,
}

/// Opens a stream behind `after`, or from now on.
pub(super) async fn open(
    events: Events,
    filter: Filter,
    after: Option<u64>,
    place: Place,
) -> Result<impl Stream<Item = Result<Bytes, Infallible>> + use<>, Problem> {
    // Before the newest number is read: what comes between the two is heard twice, not never.
    let live = events.feed.live();
    let last = match after {
        Some(after) => {
            let oldest = events.feed.oldest().await?;
            if after.saturating_add(1) < oldest {
                return Err(gone(oldest));
            }
            let newest = events.feed.newest().await?;
            if after > newest {
                return Err(ahead(newest));
            }
            after
        }
        None => events.feed.newest().await?,
    };
    let mut beat = interval(events.limits.heartbeat);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beat.reset();
    let phase = Phase::Past;
    let follower = Follower { events, filter, last, live, phase, rounds: 0, beat, place };
    // The number comes first: a client that is cut before its first event knows where to resume.
    let hello = Bytes::from(format!("retry: {RETRY}\nid: {last}\n\n"));
    Ok(stream::unfold(State::New(hello, Box::new(follower)), State::next))
}

fn gone(oldest: u64) -> Problem {
    let detail = format!(
        "The oldest event that is kept has the number {oldest}. Read the present state, then \
         follow with `after={}` or without it.",
        oldest.saturating_sub(1)
    );
    Problem::new(&kinds::EVENTS_GONE, detail)
}

/// A client that waits for a number which comes in a year would think that nothing happens.
fn ahead(newest: u64) -> Problem {
    let detail = format!(
        "The newest event has the number {newest}. Follow with a number of this stream, or \
         without one."
    );
    Problem::bad_query("after", detail)
}

enum State {
    New(Bytes, Box<Follower>),
    Following(Box<Follower>),
    Over,
}

impl State {
    async fn next(self) -> Option<(Result<Bytes, Infallible>, Self)> {
        match self {
            Self::New(hello, follower) => Some((Ok(hello), Self::Following(follower))),
            Self::Following(mut follower) => {
                // The chunk before is with the socket now.
                follower.place.hold(0);
                match follower.chunk().await {
                    Ok(chunk) => Some((Ok(chunk), Self::Following(follower))),
                    Err(reason) => Some((Ok(follower.farewell(reason)), Self::Over)),
                }
            }
            Self::Over => None,
        }
    }
}

impl Follower {
    /// The next lines for the client.
    async fn chunk(&mut self) -> Result<Bytes, Reason> {
        loop {
            if *self.events.stop.borrow() {
                return Err(Reason::Shutdown);
            }
            let chunk = match self.phase {
                Phase::Past => self.past().await?,
                Phase::Joining | Phase::Live => self.present().await?,
                Phase::Behind => return Err(Reason::Slow),
            };
            if !chunk.is_empty() {
                self.beat.reset();
                return Ok(chunk);
            }
        }
    }

    /// A page of what happened before.
    async fn past(&mut self) -> Result<Bytes, Reason> {
        let read = self.events.feed.read_after(self.last, &self.filter, HELD);
        let batch = read.await.map_err(|_| Reason::Feed)?;
        let mut chunk = BytesMut::new();
        self.place.hold(batch.events.len());
        for event in &batch.events {
            chunk.extend_from_slice(event.frame());
        }
        // A feed that does not get on would be asked forever.
        if !batch.end && batch.upto <= self.last {
            return Err(Reason::Feed);
        }
        self.last = self.last.max(batch.upto);
        if batch.end {
            self.phase = Phase::Joining;
        }
        Ok(chunk.freeze())
    }

    /// What happens now, or a sign of life when nothing does.
    async fn present(&mut self) -> Result<Bytes, Reason> {
        let heard = tokio::select! {
            biased;
            _ = self.events.stop.wait_for(|stop| *stop) => return Err(Reason::Shutdown),
            heard = self.live.recv() => heard,
            _ = self.beat.tick() => {
                // With the number, so that a client whose filter lets little pass resumes near.
                return Ok(Bytes::from(format!(": alive\nid: {}\n\n", self.last)));
            }
        };
        match heard {
            Ok(event) => Ok(self.collect(event)),
            Err(RecvError::Closed) => Err(Reason::Shutdown),
            Err(RecvError::Lagged(_)) => {
                self.behind();
                Ok(Bytes::new())
            }
        }
    }

    /// Joins what is there already into one chunk, within its bounds.
    fn collect(&mut self, first: Arc<Event>) -> Bytes {
        self.phase = Phase::Live;
        let mut chunk = BytesMut::new();
        let mut count = 0;
        let mut next = Some(first);
        while let Some(event) = next.take() {
            if event.id() > self.last {
                self.last = event.id();
                if self.filter.passes(&event) {
                    chunk.extend_from_slice(event.frame());
                    count += 1;
                }
            }
            if count == HELD || chunk.len() >= CHUNK_BYTES {
                break;
            }
            match self.live.try_recv() {
                Ok(event) => next = Some(event),
                Err(TryRecvError::Lagged(_)) => self.behind(),
                Err(TryRecvError::Empty | TryRecvError::Closed) => {}
            }
        }
        self.place.hold(count);
        chunk.freeze()
    }

    /// The ring has gone on without this client. One that is still reading the past goes on
    /// reading there; one that has followed live is too slow.
    fn behind(&mut self) {
        if self.phase == Phase::Joining && self.rounds < ROUNDS {
            self.rounds += 1;
            self.live = self.events.feed.live();
            self.phase = Phase::Past;
        } else {
            self.phase = Phase::Behind;
        }
    }

    /// The last event of a stream that the server ends.
    fn farewell(&self, reason: Reason) -> Bytes {
        self.events.streams.ended(reason);
        let (name, why) = match reason {
            Reason::Slow => {
                tracing::info!(last = self.last, "an event stream was dropped: too slow");
                ("dropped", "You read more slowly than events come. Come back to go on.")
            }
            Reason::Feed => ("dropped", "Events cannot be read at present. Come back to go on."),
            Reason::Shutdown => ("closing", "The server stops. Come back to go on."),
        };
        let last = self.last;
        let body = serde_json::json!({ "reason": why, "last": last });
        Bytes::from(format!("id: {last}\nevent: {name}\ndata: {body}\n\n"))
    }
}
