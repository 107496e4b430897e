//! Puts APIs and pages behind one set of rules.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{Extensions, HeaderMap, StatusCode, Version, header};
use axum::middleware::from_fn_with_state;
use maud::{DOCTYPE, html};
use serde_json::Value;
use tokio::sync::watch;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate as _, SizeAbove};
use utoipa_axum::router::OpenApiRouter;

use super::auth::{Authority, Nobody};
use super::docs;
use super::events::{self, Events, Feed, Streams};
use super::guard::{self, Guard};
use super::health::{self, Check, Health, MetricsHook};
use super::kinds::{self, Kind};
use super::measure::Measured;
use super::observe::{self, Frame, Observer};
use super::openapi::{self, About, Pages};
use super::problem::Problem;
use super::search::{self, Finder};
use super::settings::{RouteLimits, Settings};

/// Bytes below which compression costs more than it saves.
const COMPRESSED_BYTES: u64 = 1024;

/// Collects what is served; [`Shell::finish`] makes one router of it.
pub struct Shell {
    settings: Settings,
    api: OpenApiRouter,
    pages: Router,
    authority: Arc<dyn Authority>,
    feed: Option<Arc<dyn Feed>>,
    finder: Option<Arc<dyn Finder>>,
    checks: Vec<Arc<dyn Check>>,
    hooks: Vec<MetricsHook>,
    kinds: Vec<&'static Kind>,
    routes: HashMap<String, RouteLimits>,
    frame: Option<Frame>,
    stop: Option<watch::Receiver<bool>>,
    version: String,
}

/// A finished shell.
pub struct Built {
    /// Everything, behind the rules.
    pub router: Router,
    /// The API document, as `/api/openapi.json` serves it.
    pub document: Value,
    /// Measurements of requests.
    pub measured: Arc<Measured>,
    /// Event streams.
    pub streams: Arc<Streams>,
}

impl Shell {
    /// A shell that serves nothing yet but its own state.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            api: OpenApiRouter::new(),
            pages: Router::new(),
            authority: Arc::new(Nobody),
            feed: None,
            finder: None,
            checks: Vec::new(),
            hooks: Vec::new(),
            kinds: kinds::ALL.to_vec(),
            routes: HashMap::new(),
            frame: None,
            stop: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Adds an API. Its routes have their whole paths (`/api/…`, `/compat/…`) and no fallback.
    #[must_use]
    pub fn api(mut self, api: OpenApiRouter) -> Self {
        self.api = self.api.merge(api);
        self
    }

    /// Adds routes that are no part of the document: pages, files, the gateway. No fallback.
    #[must_use]
    pub fn pages(mut self, pages: Router) -> Self {
        self.pages = self.pages.merge(pages);
        self
    }

    /// Who knows credentials. Without one every credential is wrong.
    #[must_use]
    pub fn authority(mut self, authority: Arc<dyn Authority>) -> Self {
        self.authority = authority;
        self
    }

    /// Serves events at `/api/events`.
    #[must_use]
    pub fn feed(mut self, feed: Arc<dyn Feed>) -> Self {
        self.feed = Some(feed);
        self
    }

    /// Serves the search at `/api/search`.
    #[must_use]
    pub fn finder(mut self, finder: Arc<dyn Finder>) -> Self {
        self.finder = Some(finder);
        self
    }

    /// Adds something that must be well before `/ready` says so.
    #[must_use]
    pub fn check(mut self, check: Arc<dyn Check>) -> Self {
        self.checks.push(check);
        self
    }

    /// Adds measurements to `/metrics`.
    #[must_use]
    pub fn metrics(mut self, hook: MetricsHook) -> Self {
        self.hooks.push(hook);
        self
    }

    /// Documents kinds of problems of a service.
    #[must_use]
    pub fn problems(mut self, kinds: &[&'static Kind]) -> Self {
        self.kinds.extend_from_slice(kinds);
        self
    }

    /// Sets limits of one route, by its template: `/api/projects/{id}`.
    #[must_use]
    pub fn limits(mut self, route: &str, limits: RouteLimits) -> Self {
        self.routes.insert(route.to_owned(), limits);
        self
    }

    /// The product's page, put around the documentation and around problems that people see.
    #[must_use]
    pub fn frame(mut self, frame: Frame) -> Self {
        self.frame = Some(frame);
        self
    }

    /// Event streams end when this becomes true. Without it they end with their connections.
    #[must_use]
    pub fn stop(mut self, stop: watch::Receiver<bool>) -> Self {
        self.stop = Some(stop);
        self
    }

    /// The version that the document names.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// One router with everything.
    ///
    /// # Panics
    /// When two parts bring the same route, or one brings a fallback; axum says which.
    #[must_use]
    pub fn finish(mut self) -> Built {
        let measured = Arc::new(Measured::default());
        let streams = Arc::new(Streams::default());
        let about_api = Arc::new(OnceLock::new());
        let api = self.whole_api(&measured, &streams, &about_api);
        let (router, document) = api.split_for_parts();
        let about = About { version: self.version.clone(), origin: self.settings.origin.clone() };
        let document = openapi::complete(&document, &about, &self.kinds);
        let _ = about_api.set(self.about_pages(&document));

        let guard = Guard::new(self.settings.clone(), self.authority.clone(), self.routes);
        let observer = Observer {
            measured: measured.clone(),
            frame: self.frame.clone(),
            encrypted: self.settings.encrypted,
        };
        let router = router
            .merge(self.pages)
            .fallback(no_route)
            .method_not_allowed_fallback(no_method)
            // The guard limits bodies for every reader, not for axum's extractors alone.
            .layer(DefaultBodyLimit::disable())
            .layer(from_fn_with_state(Arc::new(guard), guard::guard))
            .layer(compression())
            .layer(from_fn_with_state(Arc::new(observer), observe::observe));
        Built { router, document, measured, streams }
    }

    fn whole_api(
        &mut self,
        measured: &Arc<Measured>,
        streams: &Arc<Streams>,
        about_api: &Arc<OnceLock<Pages>>,
    ) -> OpenApiRouter {
        let mut hooks = std::mem::take(&mut self.hooks);
        let counted = streams.clone();
        hooks.push(Arc::new(move || counted.text()));
        let checks = std::mem::take(&mut self.checks);
        let health =
            Health { checks: checks.into(), hooks: hooks.into(), measured: measured.clone() };
        let mut api = std::mem::take(&mut self.api)
            .merge(health::routes(health))
            .merge(openapi::routes(about_api.clone()));
        if let Some(feed) = self.feed.take() {
            // A receiver whose sender is gone never hears that it should stop, which is right here.
            let stop = self.stop.take().unwrap_or_else(|| watch::channel(false).1);
            let limits = self.settings.streams;
            let streams = streams.clone();
            api = api.merge(events::routes(Events { feed, streams, limits, stop }));
        }
        if let Some(finder) = self.finder.take() {
            api = api.merge(search::routes(finder));
        }
        api
    }

    fn about_pages(&self, document: &Value) -> Pages {
        let content = docs::content(document, &self.kinds);
        let page = match &self.frame {
            Some(frame) => frame("API", &content),
            None => html! {
                (DOCTYPE)
                html lang="en" {
                    head { meta charset="utf-8"; title { "API" } }
                    body { main { (content) } }
                }
            },
        };
        let document = serde_json::to_vec_pretty(document).unwrap_or_default();
        Pages { document: document.into(), docs: page.into_string().into() }
    }
}

async fn no_route() -> Problem {
    Problem::of(&kinds::NO_ROUTE)
}

async fn no_method() -> Problem {
    Problem::of(&kinds::NO_METHOD)
}

/// Compression of what is worth it.
fn compression() -> CompressionLayer<impl tower_http::compression::Predicate> {
    let worth = SizeAbove::new(COMPRESSED_BYTES)
        .and(NotForContentType::SSE)
        .and(NotForContentType::IMAGES)
        .and(may_be_compressed);
    CompressionLayer::new().compress_when(worth)
}

/// A page with a session holds a secret (the token of its forms) beside text that others can
/// choose; the length of such a page, compressed, would tell about the secret.
fn may_be_compressed(status: StatusCode, _: Version, headers: &HeaderMap, _: &Extensions) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let private_page = text(header::CACHE_CONTROL).contains("no-store")
        && text(header::CONTENT_TYPE).starts_with("text/html");
    status.is_success() && !private_page
}
