//! Delivering: from a stored position, in order, by whoever holds the lease.

use std::sync::Arc;

use futures_util::StreamExt as _;
use store::{Read, Store, Task};

use crate::clock::Clock;
use crate::events::{Event, Events, ReadEventsError};
use crate::guarded::StoreError;
use crate::lease::{LEASE_BEAT, Lease};
use crate::tables::WEBHOOK_STATES;

use super::manage::begin;
use super::sign::sign;
use super::{Webhook, WebhookId};

/// Events delivered to one webhook before its position is written: what a crash delivers again.
const BATCH: usize = 20;
/// Webhooks that are served at the same time.
const AT_ONCE: usize = 16;
/// The name of the lease.
const LEASE: &str = "platform.webhooks";

/// One delivery. The body is the event as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Where to.
    pub url: String,
    /// What.
    pub body: String,
    /// The value of the header [`SIGNATURE_HEADER`](super::SIGNATURE_HEADER).
    pub signature: String,
}

/// Why a delivery was not acknowledged, in words for the webhook's owner.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PostError(pub String);

/// Sends deliveries.
///
/// Its duties: a time limit; no following of redirects; only an answer of 200 to 299 is a success;
/// and, because anybody may register an address, no connection to addresses of private networks
/// unless the operator allows it.
pub trait Post: Send + Sync + 'static {
    /// Sends one delivery and waits for the answer.
    fn post<'a>(&'a self, delivery: &'a Delivery) -> Task<'a, Result<(), PostError>>;
}

/// Webhooks of a store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Webhooks {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) store: Store,
    pub(super) events: Events,
    pub(super) clock: Clock,
    pub(super) loopback: bool,
}

impl Webhooks {
    /// Webhooks in `store` for `events`; `loopback` allows addresses of this machine.
    #[must_use]
    pub fn new(store: Store, events: Events, clock: Clock, loopback: bool) -> Self {
        Self { inner: Arc::new(Inner { store, events, clock, loopback }) }
    }

    /// Delivers for ever, whenever this process holds the lease. End it by dropping the future.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub async fn run(&self, post: &dyn Post) -> Result<(), StoreError> {
        let mut lease = Lease::new(self.inner.store.clone(), LEASE)?;
        loop {
            if held(&mut lease).await {
                let step = self.step(post);
                tokio::pin!(step);
                loop {
                    tokio::select! {
                        done = &mut step => {
                            if let Err(error) = done {
                                tracing::warn!("webhooks wait for the store: {error}");
                            }
                            break;
                        }
                        () = tokio::time::sleep(LEASE_BEAT) => {
                            if !held(&mut lease).await {
                                break;
                            }
                        }
                    }
                }
            }
            tokio::time::sleep(LEASE_BEAT).await;
        }
    }

    /// Delivers what is due, a batch for each webhook; says how many events were.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn step(&self, post: &dyn Post) -> Result<usize, StoreError> {
        let hooks = self.all(Read::Quorum).await?.hooks;
        let served = hooks.into_iter().map(|(id, hook)| async move {
            self.serve(id, &hook, post).await.unwrap_or_else(|error| {
                tracing::warn!(%id, "a webhook waits for the store: {error}");
                0
            })
        });
        let served = futures_util::stream::iter(served).buffer_unordered(AT_ONCE);
        Ok(served.fold(0, |sum, count| async move { sum + count }).await)
    }

    async fn serve(
        &self,
        id: WebhookId,
        hook: &Webhook,
        post: &dyn Post,
    ) -> Result<usize, StoreError> {
        let inner = &self.inner;
        let seen = inner.store.get_versioned(&WEBHOOK_STATES, &id, &()).await?;
        let state = seen.value.unwrap_or_else(|| begin(hook));
        if !state.is_due(inner.clock.now()) {
            return Ok(0);
        }
        let page = match inner.events.read_after(state.position, &hook.filter, BATCH).await {
            Ok(page) => page,
            Err(ReadEventsError::Gone { first }) => {
                tracing::warn!(%id, first, "a webhook was away for longer than events are kept");
                self.write_state(id, seen.version, &state.delivered(first - 1)).await?;
                return Ok(0);
            }
            Err(ReadEventsError::Store(error)) => return Err(error),
            // Behind a replica that has not seen the newest events yet.
            Err(_) => return Ok(0),
        };
        let (mut position, mut delivered) = (state.position, 0);
        let mut failure = None;
        for event in &page.events {
            match post.post(&self.delivery(hook, event)).await {
                Ok(()) => (position, delivered) = (event.id, delivered + 1),
                Err(PostError(reason)) => {
                    failure = Some(reason);
                    break;
                }
            }
        }
        let new = match failure {
            Some(reason) => state.failed(position, &reason, inner.clock.now()),
            None if page.last == state.position => return Ok(0),
            None => state.delivered(page.last),
        };
        if !self.write_state(id, seen.version, &new).await? {
            tracing::warn!(%id, "another process moved a webhook's position; it decides");
        }
        Ok(delivered)
    }

    fn delivery(&self, hook: &Webhook, event: &Event) -> Delivery {
        let body = serde_json::to_string(event).unwrap_or_default();
        let signature = sign(&hook.secret, self.inner.clock.now() / 1000, &body);
        Delivery { url: hook.url.clone(), body, signature }
    }
}

async fn held(lease: &mut Lease) -> bool {
    lease.beat().await.unwrap_or_else(|error| {
        tracing::warn!("the lease of webhooks is taken for lost: {error}");
        false
    })
}
