//! Where the HTTP shell meets accounts, keys, events and search.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::task::AbortHandle;

use crate::accounts::{self, Caller, CheckError, Credential, Role, Scope, UserId};
use crate::events::{self, EventFilter, Events, FeedError, ReadEventsError};
use crate::http::events::{Batch, Event, Feed, Filter};
use crate::http::search::{Finder, Hit};
use crate::http::{
    Authority, Check, CheckState, Problem, Promise, Renewed, Scopes, SessionOf, Via, Who, auth,
};
use crate::platform::Platform;
use crate::projects::KeyError;
use crate::search::Query;

/// Seconds that a browser keeps a session cookie: as long as a session may be idle.
pub const SESSION_SECONDS: u32 = 7 * 24 * 60 * 60;
/// Events that wait for the slowest stream of this process; behind that it is told to come back.
const LIVE_EVENTS: usize = 4096;

impl Authority for Platform {
    fn by_session<'a>(
        &'a self,
        secret: &'a str,
    ) -> Promise<'a, Result<Option<SessionOf>, Problem>> {
        Box::pin(async move {
            let caller = valid(self.accounts.check_session(secret).await)?;
            Ok(caller.map(|caller| {
                let renew = caller.credential == Credential::Session { renew: true };
                SessionOf { who: who(&caller, Via::Session), renew }
            }))
        })
    }

    fn renewed<'a>(&'a self, secret: &'a str) -> Promise<'a, Result<Option<Renewed>, Problem>> {
        Box::pin(async move {
            let renewed = valid(self.accounts.renew_session(secret).await)?.flatten();
            Ok(renewed.map(|secret| Renewed {
                secret: secret.reveal().to_owned(),
                seconds: SESSION_SECONDS,
            }))
        })
    }

    fn by_bearer<'a>(&'a self, token: &'a str) -> Promise<'a, Result<Option<Who>, Problem>> {
        Box::pin(async move {
            let caller = valid(self.accounts.check_token(token).await)?;
            Ok(caller.map(|caller| who(&caller, Via::Bearer)))
        })
    }

    fn by_key<'a>(&'a self, key: &'a str) -> Promise<'a, Result<Option<Who>, Problem>> {
        Box::pin(async move {
            let access = match self.keys.open(key).await {
                Ok(access) => access,
                Err(KeyError::Wrong) => return Ok(None),
                Err(KeyError::Store(error)) => return Err(error.into()),
            };
            Ok(Some(Who {
                account: Some(access.uid.to_string()),
                roles: BTreeSet::new(),
                scopes: Scopes::Only(BTreeSet::from([scope_name(Scope::Read).to_owned()])),
                project: Some(access.pid.to_string()),
                via: Via::Key,
            }))
        })
    }
}

fn valid<T>(checked: Result<T, CheckError>) -> Result<Option<T>, Problem> {
    match checked {
        Ok(value) => Ok(Some(value)),
        Err(CheckError::Invalid) => Ok(None),
        Err(CheckError::Store(error)) => Err(error.into()),
    }
}

fn who(caller: &Caller, via: Via) -> Who {
    let operator = (caller.role == Role::Operator).then(|| auth::OPERATOR.to_owned());
    let scopes = match via {
        Via::Session => Scopes::All,
        _ => {
            let scopes = Vec::from(caller.scopes).into_iter();
            Scopes::Only(scopes.map(|scope| scope_name(scope).to_owned()).collect())
        }
    };
    let account = Some(caller.user.to_string());
    Who { account, roles: operator.into_iter().collect(), scopes, project: None, via }
}

/// A scope as requests and problems name it.
pub(crate) fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Read => "read",
        Scope::Write => "write",
        Scope::Operator => auth::OPERATOR,
    }
}

/// Who asks, in the words of the accounts.
#[must_use]
pub fn caller(who: &Who) -> Option<Caller> {
    let user = UserId::new(who.account.as_deref()?).ok()?;
    let role = if who.roles.contains(auth::OPERATOR) { Role::Operator } else { Role::User };
    let all = [Scope::Read, Scope::Write, Scope::Operator];
    let allowed = all.into_iter().filter(|scope| who.allows(scope_name(*scope)));
    let credential = match who.via {
        Via::Session => Credential::Session { renew: false },
        Via::Bearer => Credential::Token,
        // A project's key stands for its project, not for its owner.
        Via::Key => return None,
    };
    Some(Caller { user, role, scopes: allowed.collect::<accounts::Scopes>(), credential })
}

/// Whether the text is the whole name of what was found: its title, or its id, which ends the path.
fn is_named(hit: &crate::search::Hit, text: &str) -> bool {
    let id = hit.path.rsplit('/').next().unwrap_or_default();
    hit.title.eq_ignore_ascii_case(text) || id.eq_ignore_ascii_case(text)
}

impl Finder for Platform {
    fn find<'a>(
        &'a self,
        text: &'a str,
        who: Option<&'a Who>,
        limit: usize,
    ) -> Promise<'a, Result<Vec<Hit>, Problem>> {
        Box::pin(async move {
            let query = Query::parse(text, who.and_then(caller))
                .map_err(|error| Problem::bad_query("q", error.to_string()))?;
            let found = self.searchers.find(&query).await;
            let hits = found.hits.into_iter().take(limit).map(|hit| Hit {
                exact: is_named(&hit, query.text()),
                kind: hit.kind.to_owned(),
                title: hit.title,
                page: hit.path,
                chain: hit.chain,
            });
            Ok(hits.collect())
        })
    }
}

/// The store answers.
#[derive(Debug)]
pub struct StoreCheck(pub Arc<Platform>);

impl Check for StoreCheck {
    fn name(&self) -> &str {
        "store"
    }

    fn state(&self) -> Promise<'_, CheckState> {
        Box::pin(async {
            let (ok, detail) = match self.0.probe().await {
                Ok(()) => (true, "It answers.".to_owned()),
                Err(error) => {
                    tracing::warn!("the store does not answer: {error}");
                    (false, "It does not answer; the log says why.".to_owned())
                }
            };
            CheckState { ok, detail, lag: None }
        })
    }
}

/// The event stream as event streams over HTTP read it.
#[derive(Debug)]
pub struct LiveEvents {
    events: Events,
    live: broadcast::Sender<Arc<Event>>,
    _follower: events::Follower,
    relay: AbortHandle,
}

impl Drop for LiveEvents {
    fn drop(&mut self) {
        self.relay.abort();
    }
}

impl LiveEvents {
    /// Follows `events` from now on, for all streams of this process.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn follow(events: Events) -> Result<Arc<Self>, crate::StoreError> {
        let follower = events.follow().await?;
        let (live, _) = broadcast::channel(LIVE_EVENTS);
        let relay = tokio::spawn(relay(events.clone(), live.clone())).abort_handle();
        Ok(Arc::new(Self { events, live, _follower: follower, relay }))
    }
}

/// Passes every event on, in order and without a gap.
async fn relay(events: Events, live: broadcast::Sender<Arc<Event>>) {
    let mut feed = events.subscribe(None, EventFilter::default());
    loop {
        match feed.next().await {
            Ok(event) => {
                // Without streams there is nobody to miss it.
                let _ = live.send(Arc::new(event_of(&event)));
            }
            Err(FeedError::Closed) => return,
            Err(FeedError::Lagged { last }) => {
                let page = events.read_after(last, &EventFilter::default(), 1000).await;
                match page {
                    Ok(page) => {
                        for event in &page.events {
                            let _ = live.send(Arc::new(event_of(event)));
                        }
                        feed.resume_at(page.last);
                    }
                    // This process stood still for longer than events are kept.
                    Err(ReadEventsError::Gone { first }) => feed.resume_at(first - 1),
                    Err(error) => {
                        tracing::warn!("events could not be read and will be later: {error}");
                        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                    }
                }
            }
        }
    }
}

fn event_of(event: &events::Event) -> Event {
    let chain = event.chain.as_ref().map(ToString::to_string);
    Event::new(event.id, event.kind.clone(), chain, event.data.clone()).told_at(event.at)
}

impl Feed for LiveEvents {
    fn read_after<'a>(
        &'a self,
        after: u64,
        filter: &'a Filter,
        limit: usize,
    ) -> Promise<'a, Result<Batch, Problem>> {
        Box::pin(async move {
            let limit = limit.clamp(1, events::EVENTS_PER_PAGE);
            let page = self.events.read_after(after, &EventFilter::default(), limit).await?;
            let events = page.events.iter().map(|event| Arc::new(event_of(event)));
            let events = events.filter(|event| filter.passes(event)).collect();
            Ok(Batch { events, upto: page.last, end: !page.more })
        })
    }

    fn live(&self) -> broadcast::Receiver<Arc<Event>> {
        self.live.subscribe()
    }

    fn oldest(&self) -> Promise<'_, Result<u64, Problem>> {
        Box::pin(async { Ok(self.events.span().await?.map_or(1, |(oldest, _)| oldest)) })
    }

    fn newest(&self) -> Promise<'_, Result<u64, Problem>> {
        Box::pin(async { Ok(self.events.span().await?.map_or(0, |(_, newest)| newest)) })
    }
}
