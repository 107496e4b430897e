//! Events over HTTP: one, many, or one on each line.

use axum::extract::{Request, State};
use axum::http::header;
use platform::http::{Json, Operator, Problem, kinds, read_body};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::intake::{BATCH, Intake as _, Message, Taken};
use crate::staking::Staking;

/// The route, for its limits.
pub const EVENTS_ROUTE: &str = "/api/staking/events";
/// Bytes of one request.
pub const EVENTS_BYTES: usize = 8 * 1024 * 1024;

pub(super) fn routes() -> OpenApiRouter<Staking> {
    OpenApiRouter::new().routes(routes!(take))
}

/// What became of an event.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StakingTaken)]
pub(super) struct Outcome {
    /// `applied`, `repeated`, `parked` or `unprocessable`.
    outcome: &'static str,
    /// Why it cannot be applied. It is kept, and can be replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Outcome {
    /// The outcome of one; a problem when the store did not take it.
    pub(super) fn of(taken: Taken) -> Result<Self, Problem> {
        let plain = |outcome| Ok(Self { outcome, reason: None });
        match taken {
            Taken::Applied => plain("applied"),
            Taken::Repeated => plain("repeated"),
            Taken::Parked => plain("parked"),
            Taken::Unprocessable(reason) => {
                Ok(Self { outcome: "unprocessable", reason: Some(reason) })
            }
            Taken::Later(reason) => {
                tracing::warn!("events were not taken: {reason}");
                Err(Problem::of(&kinds::STORE_UNAVAILABLE).retry_after(1))
            }
        }
    }
}

/// What became of all events of a request.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StakingOutcomes)]
struct Outcomes {
    /// One for each event, in their order.
    outcomes: Vec<Outcome>,
}

/// Take events.
///
/// The body is one event, an array of them (`application/json`), or one event on each line
/// (`application/x-ndjson`); at most 2,000, and 8 MiB. Events are those of Babylon's staking
/// indexer. Sending them again is harmless. What cannot be applied is kept with its reason; when
/// that is all there was, the answer is 422.
#[utoipa::path(post, path = "/api/staking/events", tag = "staking",
    operation_id = "staking_take_events", request_body = serde_json::Value,
    responses((status = 200, description = "What became of each.", body = Outcomes)))]
async fn take(
    State(staking): State<Staking>,
    _operator: Operator,
    request: Request,
) -> Result<Json<Outcomes>, Problem> {
    let form = Form::of(&request)?;
    let body = read_body(request).await?;
    let bodies = match form {
        Form::Json => json_bodies(&body)?,
        Form::Lines => {
            let lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
            lines.filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
        }
    };
    if bodies.len() > BATCH {
        let detail = format!("There are {} events; send at most {BATCH} at a time.", bodies.len());
        return Err(Problem::new(&kinds::OVER_LIMIT, detail).limit(BATCH as u64));
    }
    let message = |body| Message { source: "http".to_owned(), body };
    let taken = staking.take(bodies.into_iter().map(message).collect()).await;
    let outcomes = taken.into_iter().map(Outcome::of).collect::<Result<Vec<_>, _>>()?;
    let reasons: Vec<&str> = outcomes.iter().filter_map(|one| one.reason.as_deref()).collect();
    if let (Some(first), true) = (reasons.first(), reasons.len() == outcomes.len()) {
        return Err(Problem::new(&kinds::BAD_BODY, format!("No event can be applied: {first}.")));
    }
    Ok(Json(Outcomes { outcomes }))
}

/// How events stand in a body.
#[derive(Clone, Copy, Debug)]
enum Form {
    Json,
    Lines,
}

impl Form {
    fn of(request: &Request) -> Result<Self, Problem> {
        let value = request.headers().get(header::CONTENT_TYPE);
        let text = value.and_then(|value| value.to_str().ok()).unwrap_or_default();
        match text.split(';').next().unwrap_or_default().trim() {
            "application/json" => Ok(Self::Json),
            "application/x-ndjson" | "application/jsonl" => Ok(Self::Lines),
            _ => Err(Problem::new(
                &kinds::NOT_JSON,
                "Send `Content-Type: application/json`, or `application/x-ndjson` for one event \
                 on each line.",
            )),
        }
    }
}

/// One event, or an array of them. Each is read for itself: a wrong one holds up no other.
fn json_bodies(body: &[u8]) -> Result<Vec<Vec<u8>>, Problem> {
    let bad = |error: serde_json::Error| {
        Problem::new(&kinds::BAD_JSON, format!("The body is not JSON: {error}."))
    };
    if body.trim_ascii_start().first() == Some(&b'[') {
        let events: Vec<&RawValue> = serde_json::from_slice(body).map_err(bad)?;
        return Ok(events.into_iter().map(|event| event.get().as_bytes().to_vec()).collect());
    }
    let event: &RawValue = serde_json::from_slice(body).map_err(bad)?;
    Ok(vec![event.get().as_bytes().to_vec()])
}
