//! Answers in the original's form: `{data}`, `{data, pagination}`, `{errorCode, message}`.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use platform::http::AsIs;
use serde::Serialize;
use utoipa::{IntoResponses, ToSchema};

use crate::StakingError;

/// The envelope of every answer.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BabylonAnswer)]
pub(super) struct Answer<T> {
    /// What was asked for.
    data: T,
    /// The way to the next page; only lists that are paged have it, on their last page too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pagination: Option<Pagination>,
}

/// The way to the next page.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BabylonPagination)]
struct Pagination {
    /// `pagination_key` of the next page; empty on the last one.
    next_key: String,
}

/// An answer without content, which the original writes as `null`.
#[derive(Debug)]
pub(super) struct Nothing(pub(super) StatusCode);

impl<T> Answer<T> {
    /// The whole of it.
    pub(super) fn whole(data: T) -> Self {
        Self { data, pagination: None }
    }

    /// A page, and the key of the next one.
    pub(super) fn page(data: T, next: Option<String>) -> Self {
        Self { data, pagination: Some(Pagination { next_key: next.unwrap_or_default() }) }
    }
}

impl<T: Serialize> IntoResponse for Answer<T> {
    fn into_response(self) -> Response {
        written(StatusCode::OK, &self)
    }
}

impl IntoResponse for Nothing {
    fn into_response(self) -> Response {
        written(self.0, &())
    }
}

/// An answer that the shell leaves as it is.
pub(super) fn written(status: StatusCode, body: &impl Serialize) -> Response {
    let (status, body) = match serde_json::to_vec(body) {
        Ok(body) => (status, body),
        Err(error) => {
            tracing::error!(%error, "an answer could not be written");
            (StatusCode::INTERNAL_SERVER_ERROR, b"null".to_vec())
        }
    };
    let mut response = (status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
    response.extensions_mut().insert(AsIs);
    response
}

/// The original's codes of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(as = BabylonErrorCode)]
pub(super) enum Code {
    /// Our own mistake, or the store's.
    InternalServiceError,
    /// An unbonding transaction that is not what it must be.
    ValidationError,
    /// There is no such thing.
    NotFound,
    /// The query or body cannot be read.
    BadRequest,
    /// It is not in a state for this.
    Forbidden,
}

/// An error as it travels.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BabylonError)]
pub(super) struct ErrorBody {
    /// The kind.
    #[serde(rename = "errorCode")]
    #[schema(rename = "errorCode")]
    error_code: Code,
    /// What is wrong.
    message: String,
}

/// What every operation may answer instead.
#[derive(Debug, IntoResponses)]
#[allow(dead_code, reason = "for the document: it says what a refusal looks like")]
pub(super) enum Failure {
    /// A parameter or the body cannot be read.
    #[response(status = 400)]
    Unreadable(ErrorBody),
    /// Our own mistake, or the store's.
    #[response(status = 500)]
    Internal(ErrorBody),
}

/// A refusal or failure. The error of every handler here.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    body: ErrorBody,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, error_code: Code, message: impl Into<String>) -> Self {
        Self { status, body: ErrorBody { error_code, message: message.into() } }
    }

    /// The query or body cannot be read.
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Code::BadRequest, message)
    }

    /// Forbidden by the state of things, with the code that says why.
    pub(super) fn forbidden(code: Code, message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, message)
    }

    /// Our own mistake. The reason goes to the log and nowhere else.
    pub(super) fn internal(reason: impl std::fmt::Display) -> Self {
        tracing::error!(%reason, "a request failed by our own mistake");
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Self::new(status, Code::InternalServiceError, "Internal service error")
    }
}

impl From<StakingError> for Refusal {
    fn from(error: StakingError) -> Self {
        Self::internal(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = written(self.status, &self.body);
        let keep = header::HeaderValue::from_static("no-store");
        response.headers_mut().insert(header::CACHE_CONTROL, keep);
        response
    }
}
