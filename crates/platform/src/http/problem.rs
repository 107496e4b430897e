//! Every refusal and failure as a problem of RFC 9457.
//!
//! A problem has a stable `code` for programs, a `detail` for people, and the request id as its
//! `instance`, so that an operator finds the request in the log. Nothing of the inside is told:
//! what the engine said goes to the log, under the same request id.

use std::fmt;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Serialize, Serializer};
use store::{BoundError, CommitError, CursorError, EngineError, PutError, ReadError};
use utoipa::ToSchema;

use super::kinds::{self, Kind};

/// The media type of a problem.
pub const MEDIA_TYPE: &str = "application/problem+json";
/// Seconds after which to try again when the store is in trouble.
const STORE_RETRY: u32 = 5;

/// A refusal or failure. Return it as the error of any handler.
#[derive(Clone, Debug)]
pub struct Problem {
    kind: &'static Kind,
    detail: Box<str>,
    instance: Option<Box<str>>,
    field: Option<Box<str>>,
    limit: Option<u64>,
    retry_after: Option<u32>,
    challenge: bool,
}

/// A problem as it travels (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct Wire {
    /// Leads to the description of this kind of problem.
    #[serde(rename = "type")]
    #[schema(example = "/api/docs#problem-not-found")]
    r#type: String,
    /// A short title, the same for every occurrence of the kind.
    title: &'static str,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// What happened here, and what to do next.
    detail: String,
    /// The kind, for programs; it never changes.
    #[schema(example = "not-found")]
    code: &'static str,
    /// The request id. Name it when you report the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<String>,
    /// The parameter, or the place in the body, that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// The limit that was passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    /// Seconds after which to try again.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u32>,
}

impl Problem {
    /// A problem of a kind. The detail says what happened here and what to do next.
    pub fn new(kind: &'static Kind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into().into(),
            instance: None,
            field: None,
            limit: None,
            retry_after: None,
            challenge: kind.status == 401,
        }
    }

    /// The problem of a kind in its general words.
    #[must_use]
    pub fn of(kind: &'static Kind) -> Self {
        Self::new(kind, kind.meaning)
    }

    /// There is no such thing. `what` names the thing and its id: "block 17 of btc".
    pub fn not_found(what: impl fmt::Display) -> Self {
        Self::new(&kinds::NOT_FOUND, format!("There is no {what}. Check the name, or search."))
    }

    /// The credential does not allow it. `needed` names the role or scope.
    pub fn forbidden(needed: impl fmt::Display) -> Self {
        Self::new(&kinds::FORBIDDEN, format!("This needs {needed}; use a credential that has it."))
    }

    /// A body that has JSON's form but not the meaning; `field` is the place in it.
    pub fn bad_body(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(&kinds::BAD_BODY, detail).field(field)
    }

    /// A query parameter that has the right form but cannot be meant.
    pub fn bad_query(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(&kinds::BAD_QUERY, detail).field(field)
    }

    /// Somebody else was first, or the thing is not in a state for this.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(&kinds::CONFLICT, detail)
    }

    /// Too many requests of one caller; `seconds` until the next may come.
    pub fn too_many(detail: impl Into<String>, seconds: u32) -> Self {
        Self::new(&kinds::TOO_MANY, detail).retry_after(seconds)
    }

    /// Our own mistake. The reason goes to the log and nowhere else.
    pub fn internal(reason: impl fmt::Display) -> Self {
        tracing::error!(%reason, "a request failed by our own mistake");
        Self::of(&kinds::INTERNAL)
    }

    /// Names the parameter, or the place in the body.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into().into());
        self
    }

    /// Names the limit that was passed.
    #[must_use]
    pub fn limit(mut self, limit: u64) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Tells when to try again, here and in the header `Retry-After`.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// The request id.
    #[must_use]
    pub(crate) fn instance(mut self, id: &str) -> Self {
        self.instance = Some(id.into());
        self
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> &'static Kind {
        self.kind
    }

    /// Its stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.code
    }

    /// What happened.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The parameter or place that is wrong.
    #[cfg(test)]
    pub(crate) fn wire_field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    /// The status it is answered with.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.kind.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// As it travels.
    #[must_use]
    pub fn wire(&self) -> Wire {
        Wire {
            r#type: format!("/api/docs#problem-{}", self.kind.code),
            title: self.kind.title,
            status: self.kind.status,
            detail: self.detail.to_string(),
            code: self.kind.code,
            instance: self.instance.as_deref().map(str::to_owned),
            field: self.field.as_deref().map(str::to_owned),
            limit: self.limit,
            retry_after: self.retry_after,
        }
    }

    fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let mut headers = vec![(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
        if let Some(seconds) = self.retry_after {
            headers.push((header::RETRY_AFTER, HeaderValue::from(seconds)));
        }
        if self.challenge {
            let challenge = HeaderValue::from_static("Bearer realm=\"ostrakon\"");
            headers.push((header::WWW_AUTHENTICATE, challenge));
        }
        if self.kind.status == 408 {
            // What is left of the body is not waited for.
            headers.push((header::CONNECTION, HeaderValue::from_static("close")));
        }
        headers
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.wire().serialize(serializer)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.title, self.detail)
    }
}

impl std::error::Error for Problem {}

impl IntoResponse for Problem {
    /// The problem also travels beside its bytes: the shell writes it again with the request id.
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.wire()).unwrap_or_default();
        let mut response =
            (self.status(), [(header::CONTENT_TYPE, MEDIA_TYPE)], body).into_response();
        response.headers_mut().extend(self.headers());
        response.extensions_mut().insert(self);
        response
    }
}

impl From<CursorError> for Problem {
    fn from(_: CursorError) -> Self {
        Self::of(&kinds::BAD_CURSOR).field("cursor")
    }
}

impl From<BoundError> for Problem {
    fn from(error: BoundError) -> Self {
        match error {
            BoundError::TooLarge { what, size, limit, .. } => Self::new(
                &kinds::OVER_LIMIT,
                format!("The {what} is {size}, the limit is {limit}. Split the request."),
            )
            .limit(limit as u64),
            // The others are ours: no request can choose a verb, or change a key twice.
            other => Self::internal(other),
        }
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        tracing::error!(%error, "the store failed a request");
        Self::of(&kinds::STORE_UNAVAILABLE).retry_after(STORE_RETRY)
    }
}

/// A table that is missing is an installation in the middle of its migration.
fn no_table(error: impl fmt::Display) -> Problem {
    tracing::error!(%error, "the store failed a request");
    Problem::of(&kinds::STORE_UNAVAILABLE).retry_after(STORE_RETRY)
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Bound(error) => error.into(),
            ReadError::Cursor(error) => error.into(),
            ReadError::Engine(error) => error.into(),
            error @ ReadError::NoTable { .. } => no_table(error),
            other => Self::internal(other),
        }
    }
}

impl From<PutError> for Problem {
    fn from(error: PutError) -> Self {
        match error {
            PutError::Bound(error) => error.into(),
            PutError::Engine(error) => error.into(),
            error @ PutError::NoTable { .. } => no_table(error),
            other => Self::internal(other),
        }
    }
}

impl From<CommitError> for Problem {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Bound(error) => error.into(),
            CommitError::Conflict { .. } => Self::of(&kinds::CONFLICT),
            CommitError::Unknown(error) => {
                tracing::error!(%error, "the outcome of a commit is unknown");
                Self::of(&kinds::OUTCOME_UNKNOWN).retry_after(STORE_RETRY)
            }
            CommitError::Engine(error) => error.into(),
            error @ CommitError::NoTable { .. } => no_table(error),
            other => Self::internal(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::Version;

    fn check(problem: impl Into<Problem>, status: u16, code: &str) -> Problem {
        let problem = problem.into();
        assert_eq!((problem.kind().status, problem.code()), (status, code));
        let text = serde_json::to_string(&problem).expect("JSON");
        assert!(!text.contains("rack 7"), "the inside is told: {text}");
        problem
    }

    #[test]
    fn errors_of_the_store_become_problems_that_tell_nothing_of_the_inside() {
        let engine = || EngineError::new("rack 7 burns", "call rack 7");
        let large = BoundError::TooLarge { table: "a.b", what: "value", size: 9, limit: 3 };
        check(CursorError, 400, "bad-cursor");
        check(ReadError::Cursor(CursorError), 400, "bad-cursor");
        check(ReadError::Engine(engine()), 503, "store-unavailable");
        check(ReadError::NoTable { table: "a.b" }, 503, "store-unavailable");
        check(PutError::Engine(engine()), 503, "store-unavailable");
        check(CommitError::Unknown(engine()), 503, "outcome-unknown");
        check(BoundError::EmptyPage { table: "a.b" }, 500, "internal");
        let conflict = CommitError::Conflict { expected: Version(1), current: Version(2) };
        check(conflict, 409, "conflict");
        let problem = check(large, 400, "over-limit");
        assert_eq!(problem.limit, Some(3));
    }

    #[test]
    fn a_problem_is_answered_with_its_type_and_headers() {
        let response = Problem::too_many("Wait.", 7).into_response();
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()[header::CONTENT_TYPE], MEDIA_TYPE);
        assert_eq!(response.headers()[header::RETRY_AFTER], "7");
        let response = Problem::of(&kinds::BAD_CREDENTIAL).into_response();
        assert!(response.headers().contains_key(header::WWW_AUTHENTICATE));
        let wire = serde_json::to_value(Problem::not_found("block 17").instance("r1"));
        let wire = wire.expect("JSON");
        assert_eq!(wire["type"], "/api/docs#problem-not-found");
        assert_eq!((&wire["status"], &wire["instance"]), (&404.into(), &"r1".into()));
        assert!(wire.get("field").is_none(), "what is not known is left out");
    }
}
