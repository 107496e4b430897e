//! Whether the process is alive, whether it is fit to serve, and what it measures.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::future::join_all;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Promise;
use super::extract::Json;
use super::measure::Measured;

/// How long one check may take; a check that hangs has failed.
const PATIENCE: Duration = Duration::from_secs(2);
/// The media type of measurements.
const MEASUREMENTS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Something that must work before requests are sent here.
pub trait Check: Send + Sync + 'static {
    /// Its name: "store", "btc tip".
    fn name(&self) -> &str;

    /// How it stands now. It should take milliseconds; after two seconds it counts as failed.
    fn state(&self) -> Promise<'_, CheckState>;
}

/// How something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckState {
    /// It works well enough to serve.
    pub ok: bool,
    /// A sentence for the operator; what to do when it is not well.
    pub detail: String,
    /// How far a tip is behind its source.
    pub lag: Option<Lag>,
}

/// How far a tip is behind its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Lag {
    /// Units (blocks, epochs, messages) that are not indexed yet.
    pub units: u64,
    /// Seconds since the newest indexed unit was made.
    pub seconds: u64,
}

/// The state of the process.
#[derive(Debug, Serialize, ToSchema)]
struct Alive {
    /// Always true: a process that is not alive does not answer.
    alive: bool,
    /// The running version.
    version: &'static str,
}

/// Whether requests may be sent here.
#[derive(Debug, Serialize, ToSchema)]
struct Ready {
    /// Every check is well.
    ready: bool,
    /// The checks.
    checks: Vec<Checked>,
}

/// One check.
#[derive(Debug, Serialize, ToSchema)]
struct Checked {
    /// What was checked.
    name: String,
    /// It is well.
    ok: bool,
    /// A sentence for the operator.
    detail: String,
    /// How far a tip is behind its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    lag: Option<Lag>,
}

/// Text in the format of Prometheus that a part adds to `/metrics`.
pub type MetricsHook = Arc<dyn Fn() -> String + Send + Sync>;

/// What the routes know.
#[derive(Clone)]
pub(crate) struct Health {
    pub(crate) checks: Arc<[Arc<dyn Check>]>,
    pub(crate) hooks: Arc<[MetricsHook]>,
    pub(crate) measured: Arc<Measured>,
}

/// The routes.
pub(crate) fn routes(health: Health) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(alive))
        .routes(routes!(ready))
        .routes(routes!(metrics))
        .with_state(health)
}

/// Whether the process is alive.
///
/// Answers as long as requests are answered at all. It looks at nothing else: a supervisor that
/// restarts a process because its database is away makes things worse.
#[utoipa::path(get, path = "/health", tag = "operations", operation_id = "health",
    responses((status = 200, description = "It is alive.", body = Alive)))]
async fn alive() -> Json<Alive> {
    Json(Alive { alive: true, version: env!("CARGO_PKG_VERSION") })
}

/// Whether requests may be sent here.
///
/// Lists every check with the lag of each tip. A load balancer takes the process out while it
/// answers 503.
#[utoipa::path(get, path = "/ready", tag = "operations", operation_id = "ready",
    responses(
        (status = 200, description = "Every check is well.", body = Ready),
        (status = 503, description = "A check fails; the list says which.", body = Ready),
    ))]
async fn ready(State(health): State<Health>) -> Response {
    let checks = join_all(health.checks.iter().map(|check| checked(check.as_ref()))).await;
    let ready = checks.iter().all(|check| check.ok);
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(Ready { ready, checks })).into_response()
}

async fn checked(check: &dyn Check) -> Checked {
    let name = check.name().to_owned();
    let state = tokio::time::timeout(PATIENCE, check.state()).await.unwrap_or_else(|_| {
        let detail = "It did not answer in time; look at its log.".to_owned();
        CheckState { ok: false, detail, lag: None }
    });
    Checked { name, ok: state.ok, detail: state.detail, lag: state.lag }
}

/// Measurements for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "operations", operation_id = "metrics",
    responses((status = 200, description = "Measurements in the text format of Prometheus.",
        body = String, content_type = "text/plain")))]
async fn metrics(State(health): State<Health>) -> Response {
    let mut text = health.measured.text();
    for hook in health.hooks.iter() {
        text.push_str(&hook());
    }
    ([(header::CONTENT_TYPE, MEASUREMENTS), (header::CACHE_CONTROL, "no-store")], text)
        .into_response()
}
