//! Making, listing, enabling and removing webhooks.

use bytes::Bytes;
use store::{Change, PageRequest, Read, Version};

use crate::accounts::UserId;
use crate::address::Address;
use crate::events::EventFilter;
use crate::guarded::{Attempts, StoreError, commit_of, try_commit};
use crate::secret::{Secret, random};
use crate::tables::{WEBHOOK_STATES, WEBHOOKS};

use super::{Webhook, WebhookError, WebhookId, WebhookState, Webhooks};

/// Webhooks of one account.
pub const ACCOUNT_WEBHOOKS: usize = 20;
/// Webhooks of a store. They are read as a whole, in one page.
pub const WEBHOOKS_LIMIT: usize = 1000;

/// A webhook to be made.
#[derive(Clone, Debug)]
pub struct NewWebhook {
    /// Where to, `https://`, or loopback where that is allowed.
    pub url: String,
    /// Which events.
    pub filter: EventFilter,
}

/// A webhook as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownWebhook {
    /// Its id.
    pub id: WebhookId,
    /// Where to.
    pub url: String,
    /// Which events.
    pub filter: EventFilter,
    /// When it was made, Unix milliseconds.
    pub created: u64,
    /// How far it is.
    pub state: WebhookState,
}

/// All webhooks at one version.
pub(super) struct All {
    version: Version,
    pub(super) hooks: Vec<(WebhookId, Webhook)>,
}

impl Webhooks {
    /// Makes a webhook and shows its secret once. It hears of events from now on.
    ///
    /// # Errors
    /// When the url or the filter are not possible, or there are too many.
    pub async fn create(
        &self,
        user: &UserId,
        new: NewWebhook,
    ) -> Result<(WebhookId, Secret), WebhookError> {
        self.check_url(&new.url)?;
        new.filter.check()?;
        let (id, secret) = (WebhookId(random()?), Secret::new("whsec_")?);
        let after = self.inner.events.span().await?.map_or(0, |(_, newest)| newest);
        let hook = Webhook {
            uid: user.clone(),
            url: new.url,
            filter: new.filter,
            secret: secret.reveal().to_owned(),
            created: self.inner.clock.now(),
            after,
        };
        self.change(|all| {
            if all.len() >= WEBHOOKS_LIMIT {
                return Err(WebhookError::Crowded);
            }
            let own = all.iter().filter(|(_, hook)| hook.uid == *user).count();
            if own >= ACCOUNT_WEBHOOKS {
                return Err(WebhookError::Full);
            }
            Ok(WEBHOOKS.insert(&id, &hook))
        })
        .await?;
        Ok((id, secret))
    }

    /// The webhooks of an account, oldest first. At most [`ACCOUNT_WEBHOOKS`], so there are no
    /// pages.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn list(&self, user: &UserId) -> Result<Vec<ShownWebhook>, StoreError> {
        let mut shown = Vec::new();
        for (id, hook) in self.all(Read::Quorum).await?.hooks {
            if hook.uid != *user {
                continue;
            }
            let state = self.inner.store.get(&WEBHOOK_STATES, &id, &()).await?;
            let state = state.unwrap_or_else(|| begin(&hook));
            let Webhook { url, filter, created, .. } = hook;
            shown.push(ShownWebhook { id, url, filter, created, state });
        }
        shown.sort_by_key(|hook| (hook.created, hook.id));
        Ok(shown)
    }

    /// Removes a webhook.
    ///
    /// # Errors
    /// When the user has no such webhook.
    pub async fn remove(&self, user: &UserId, id: WebhookId) -> Result<(), WebhookError> {
        self.change(|all| match find(all, user, id) {
            Some(_) => Ok(WEBHOOKS.delete(&id)),
            None => Err(WebhookError::Missing),
        })
        .await?;
        self.forget(id).await;
        Ok(())
    }

    /// Deletes the state of a webhook that is gone. If that fails a small row stays, under an id
    /// that nobody gets again.
    async fn forget(&self, id: WebhookId) {
        let forgotten = async {
            let seen = self.inner.store.get_versioned(&WEBHOOK_STATES, &id, &()).await?;
            let (changes, op) = (vec![WEBHOOK_STATES.delete(&())], index::new_op()?);
            let commit = commit_of(&WEBHOOK_STATES, &id, seen.version, changes, op, Bytes::new())?;
            if seen.value.is_some() {
                try_commit(&self.inner.store, commit).await?;
            }
            Ok::<_, StoreError>(())
        };
        if let Err(error) = forgotten.await {
            tracing::warn!(%id, "the state of a removed webhook stays: {error}");
        }
    }

    /// Lets a webhook that was disabled, or that pauses, go on where it stopped.
    ///
    /// # Errors
    /// When the user has no such webhook.
    pub async fn enable(&self, user: &UserId, id: WebhookId) -> Result<(), WebhookError> {
        let all = self.all(Read::Quorum).await?;
        let hook = find(&all.hooks, user, id).ok_or(WebhookError::Missing)?;
        let mut attempts = Attempts::of(WEBHOOK_STATES.def().name());
        loop {
            let seen = self.inner.store.get_versioned(&WEBHOOK_STATES, &id, &()).await?;
            let state = seen.value.unwrap_or_else(|| begin(hook));
            let state = state.delivered(state.position);
            if self.write_state(id, seen.version, &state).await? {
                return Ok(());
            }
            attempts.again().await?;
        }
    }

    /// Writes a state; false when somebody was faster.
    pub(super) async fn write_state(
        &self,
        id: WebhookId,
        version: Version,
        state: &WebhookState,
    ) -> Result<bool, StoreError> {
        let changes = vec![WEBHOOK_STATES.insert(&(), state)];
        let op = index::new_op()?;
        let commit = commit_of(&WEBHOOK_STATES, &id, version, changes, op, Bytes::new())?;
        Ok(try_commit(&self.inner.store, commit).await?.is_some())
    }

    pub(super) async fn all(&self, read: Read) -> Result<All, StoreError> {
        let request = PageRequest { read, ..PageRequest::first(WEBHOOKS_LIMIT) };
        let page = self.inner.store.page(&WEBHOOKS, &(), request).await?;
        Ok(All { version: page.version, hooks: page.rows })
    }

    async fn change(
        &self,
        decide: impl Fn(&[(WebhookId, Webhook)]) -> Result<Change, WebhookError>,
    ) -> Result<(), WebhookError> {
        let op = index::new_op()?;
        let mut attempts = Attempts::of(WEBHOOKS.def().name());
        loop {
            let All { version, hooks } = self.all(Read::Serial).await?;
            let changes = vec![decide(&hooks)?];
            let commit = commit_of(&WEBHOOKS, &(), version, changes, op, Bytes::new())?;
            if try_commit(&self.inner.store, commit).await?.is_some() {
                return Ok(());
            }
            attempts.again().await?;
        }
    }

    fn check_url(&self, url: &str) -> Result<(), WebhookError> {
        let address = Address::parse(url, &["https", "http"])?;
        if address.is_loopback() {
            return if self.inner.loopback { Ok(()) } else { Err(WebhookError::Loopback) };
        }
        if address.scheme() == "https" { Ok(()) } else { Err(WebhookError::Plain) }
    }
}

fn find<'a>(all: &'a [(WebhookId, Webhook)], user: &UserId, id: WebhookId) -> Option<&'a Webhook> {
    all.iter().find(|(known, hook)| *known == id && hook.uid == *user).map(|(_, hook)| hook)
}

/// The state of a webhook that never delivered anything.
pub(super) fn begin(hook: &Webhook) -> WebhookState {
    WebhookState { position: hook.after, ..WebhookState::default() }
}
