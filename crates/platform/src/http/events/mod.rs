//! `/api/events`: what happens, as server-sent events that resume without a gap.
//!
//! A stream begins where the client says (`Last-Event-ID`, or `?after=` for the first time), reads
//! what it missed from the [`Feed`], then follows what happens live. A client holds no buffer of
//! its own here: live events lie in one ring for all, and a client that falls behind the ring is
//! told so (`event: dropped`), closed, and resumes from the feed when it comes back. So ten
//! thousand clients that do not read cost as much memory as ten thousand that do. One that never
//! reads again is ended by [`Stall`](super::Stall) on its connection.

mod stream;
mod streams;

use std::sync::{Arc, OnceLock};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use tokio::sync::{broadcast, watch};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::{MaybeWho, Promise};
use super::extract::Query;
use super::kinds;
use super::problem::Problem;
use super::settings::StreamLimits;
use super::target::Client;

pub use streams::Streams;

/// Values of a filter.
const FILTER_VALUES: usize = 32;

/// Something that happened.
#[derive(Debug)]
pub struct Event {
    id: u64,
    at: Option<u64>,
    kind: String,
    chain: Option<String>,
    data: serde_json::Value,
    // Written once for all clients.
    frame: OnceLock<Bytes>,
}

/// An event as it travels, in the `data` of a server-sent event.
#[derive(Debug, Serialize, ToSchema)]
struct EventBody<'a> {
    /// Its number. They grow; there may be holes.
    id: u64,
    /// When it was told, Unix milliseconds. Numbers are the order, not times.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
    /// What happened: words joined by dots, the general one first.
    #[schema(example = "block.published")]
    kind: &'a str,
    /// The chain it happened on.
    #[serde(skip_serializing_if = "Option::is_none")]
    chain: Option<&'a str>,
    /// What the kind says.
    data: &'a serde_json::Value,
}

impl Event {
    /// An event. `kind` is words joined by dots: `block.published`.
    pub fn new(
        id: u64,
        kind: impl Into<String>,
        chain: Option<String>,
        data: serde_json::Value,
    ) -> Self {
        Self { id, at: None, kind: kind.into(), chain, data, frame: OnceLock::new() }
    }

    /// The same event, with the moment at which it was told, in Unix milliseconds.
    #[must_use]
    pub fn told_at(self, millis: u64) -> Self {
        Self { at: Some(millis), ..self }
    }

    /// Its number.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The lines that clients get. JSON has no line break inside, so one `data` line is enough.
    fn frame(&self) -> &Bytes {
        self.frame.get_or_init(|| {
            let Self { id, at, kind, chain, data, .. } = self;
            let body = EventBody { id: *id, at: *at, kind, chain: chain.as_deref(), data };
            let body = serde_json::to_string(&body).unwrap_or_default();
            Bytes::from(format!("id: {id}\ndata: {body}\n\n"))
        })
    }
}

/// Which events a client wants.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Kinds, or their beginnings up to a dot. Empty for all.
    pub kinds: Vec<String>,
    /// Chains. Empty for all, and for events that belong to no chain.
    pub chains: Vec<String>,
}

impl Filter {
    /// Whether an event passes: `block` lets `block` and `block.published` pass, not `blocked`.
    #[must_use]
    pub fn passes(&self, event: &Event) -> bool {
        let kind = self.kinds.is_empty()
            || self.kinds.iter().any(|wanted| {
                let rest = event.kind.strip_prefix(wanted.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            });
        let chain = self.chains.is_empty()
            || event.chain.as_ref().is_some_and(|chain| self.chains.contains(chain));
        kind && chain
    }
}

/// Events behind a number.
#[derive(Debug)]
pub struct Batch {
    /// Those that pass the filter, in order.
    pub events: Vec<Arc<Event>>,
    /// The number up to which was looked, whether it passed the filter or not.
    pub upto: u64,
    /// Nothing is behind `upto` at present.
    pub end: bool,
}

/// Where events come from. An event can be read before it is sent live, and numbers become readable
/// in their order; a stream that resumes relies on both.
pub trait Feed: Send + Sync + 'static {
    /// At most `limit` events behind `after`, in order.
    fn read_after<'a>(
        &'a self,
        after: u64,
        filter: &'a Filter,
        limit: usize,
    ) -> Promise<'a, Result<Batch, Problem>>;

    /// What happens from now on. The receiver reports when it has fallen behind.
    fn live(&self) -> broadcast::Receiver<Arc<Event>>;

    /// The number of the oldest event that is kept (1 when none was ever removed).
    fn oldest(&self) -> Promise<'_, Result<u64, Problem>>;

    /// The number of the newest event (0 when there is none).
    fn newest(&self) -> Promise<'_, Result<u64, Problem>>;
}

/// What the route knows.
#[derive(Clone)]
pub(crate) struct Events {
    pub(crate) feed: Arc<dyn Feed>,
    pub(crate) streams: Arc<Streams>,
    pub(crate) limits: StreamLimits,
    pub(crate) stop: watch::Receiver<bool>,
}

/// The question.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// The number of the last event that is known; the stream goes on behind it. The header
    /// `Last-Event-ID`, which browsers send when they come back, counts more.
    after: Option<u64>,
    /// Kinds or their beginnings up to a dot, with commas between them: `block,tx.confirmed`.
    #[serde(default)]
    #[param(style = Form, explode = false, max_items = 32)]
    kind: Vec<String>,
    /// Chains, with commas between them.
    #[serde(default)]
    #[param(style = Form, explode = false, max_items = 32)]
    chain: Vec<String>,
}

/// The route.
pub(crate) fn routes(events: Events) -> OpenApiRouter {
    OpenApiRouter::new().routes(routes!(follow)).with_state(events)
}

/// Follow what happens.
///
/// A stream of server-sent events. The `data` of each is an object with `id`, `kind`, `chain` and
/// `data`. Comments and lines with nothing but an `id` are signs of life. The last event of a
/// stream that the server ends is named `dropped` (the client was too slow) or `closing` (the
/// server stops); come back with `Last-Event-ID`, and nothing is missed.
#[utoipa::path(get, path = "/api/events", tag = "events", operation_id = "events",
    params(
        Wanted,
        ("Last-Event-ID" = Option<u64>, Header, description = "The last event that is known."),
    ),
    responses(
        (status = 200, description = "The stream.", body = String,
            content_type = "text/event-stream"),
        (status = 410, description = "Events behind this number are no longer all kept.",
            body = super::problem::Wire, content_type = "application/problem+json"),
    ))]
async fn follow(
    State(events): State<Events>,
    MaybeWho(who): MaybeWho,
    client: Client,
    headers: HeaderMap,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Problem> {
    let filter = filter(wanted.kind, wanted.chain)?;
    let after = match headers.get("last-event-id") {
        Some(value) => Some(last_id(value.to_str().unwrap_or_default())?),
        None => wanted.after,
    };
    let caller = match (who, client) {
        (Some(who), _) => who.name(),
        (None, Client(Some(address))) => format!("address:{address}"),
        (None, Client(None)) => "address:unknown".to_owned(),
    };
    let place = events.streams.enter(&caller, &events.limits)?;
    let stream = stream::open(events, filter, after, place).await?;
    let head = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // A proxy that collects the stream before it sends it on would make it useless.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((head, Body::from_stream(stream)).into_response())
}

fn filter(kinds: Vec<String>, chains: Vec<String>) -> Result<Filter, Problem> {
    for (field, values) in [("kind", &kinds), ("chain", &chains)] {
        if values.len() > FILTER_VALUES {
            let detail = format!("`{field}` has more than {FILTER_VALUES} values. Name fewer.");
            return Err(Problem::bad_query(field, detail).limit(FILTER_VALUES as u64));
        }
    }
    Ok(Filter { kinds, chains })
}

fn last_id(text: &str) -> Result<u64, Problem> {
    text.trim().parse().map_err(|_| {
        let detail = "`Last-Event-ID` must be the `id` of an event of this stream.";
        Problem::new(&kinds::BAD_REQUEST, detail).field("Last-Event-ID")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_takes_kinds_by_whole_words() {
        let event = |kind: &str, chain: Option<&str>| {
            Event::new(1, kind, chain.map(str::to_owned), serde_json::Value::Null)
        };
        let filter = Filter { kinds: vec!["block".into(), "tx.seen".into()], chains: vec![] };
        for (kind, passes) in [
            ("block", true),
            ("block.published", true),
            ("blocked", false),
            ("tx", false),
            ("tx.seen", true),
            ("tx.seen.twice", true),
        ] {
            assert_eq!(filter.passes(&event(kind, None)), passes, "{kind}");
        }
        let filter = Filter { kinds: vec![], chains: vec!["btc".into()] };
        assert!(filter.passes(&event("x", Some("btc"))));
        assert!(!filter.passes(&event("x", Some("cfx"))));
        assert!(!filter.passes(&event("x", None)));
    }

    #[test]
    fn a_frame_is_one_event_whatever_its_data() {
        let data = serde_json::json!({ "text": "a\n\nid: 9\r\ndata: b" });
        let event = Event::new(7, "note", None, data);
        let frame = String::from_utf8(event.frame().to_vec()).expect("text");
        assert_eq!(frame.lines().count(), 3, "{frame}");
        assert!(frame.starts_with("id: 7\ndata: {\"id\":7,\"kind\":\"note\",\"data\":"));
    }
}
