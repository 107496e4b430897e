//! What handlers take: path, query and body, each refused as a [`Problem`].
//!
//! Use these instead of axum's of the same name, whose refusals are plain text without a code.

use std::error::Error;

use axum::body::Bytes;
use axum::extract::path::ErrorKind;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::body::{Ended, TooLarge};
use super::problem::Problem;
use super::{kinds, query};

/// The query, read into a type. Unknown and repeated parameters are refused.
#[derive(Debug, Clone, Copy)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let pairs = query::pairs(parts.uri.query().unwrap_or_default())?;
        query::read(pairs).map(Self)
    }
}

/// The parameters of the path, read into a type.
#[derive(Debug, Clone, Copy)]
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        match path {
            Ok(axum::extract::Path(value)) => Ok(Self(value)),
            Err(PathRejection::FailedToDeserializePathParams(error)) => {
                Err(bad_path(error.into_kind()))
            }
            Err(other) => Err(Problem::internal(other)),
        }
    }
}

fn bad_path(kind: ErrorKind) -> Problem {
    let bad = |detail: String| Problem::new(&kinds::BAD_PATH, detail);
    match kind {
        ErrorKind::ParseErrorAtKey { key, expected_type, .. } => {
            bad(format!("`{key}` in the path must be {}.", words(expected_type))).field(key)
        }
        ErrorKind::ParseError { expected_type, .. }
        | ErrorKind::ParseErrorAtIndex { expected_type, .. } => {
            bad(format!("The last part of the path must be {}.", words(expected_type)))
        }
        ErrorKind::InvalidUtf8InPathParam { key } => {
            bad(format!("`{key}` in the path is not UTF-8. Encode it again.")).field(key)
        }
        ErrorKind::DeserializeError { key, message, .. } => {
            bad(format!("`{key}` in the path cannot be read: {message}.")).field(key)
        }
        ErrorKind::Message(message) => bad(format!("The path cannot be read: {message}.")),
        other => Problem::internal(other),
    }
}

/// A Rust type in the words of the person who wrote the URL.
fn words(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number, not below 0",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "bool" => "true or false",
        other => other,
    }
}

/// A JSON body, read into a type; as an answer, a value written as JSON.
#[derive(Debug, Clone, Copy)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        if !is_json(request.headers()) {
            return Err(Problem::of(&kinds::NOT_JSON));
        }
        let bytes = read_body(request).await?;
        from_json(&bytes).map(Self)
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
            Err(error) => Problem::internal(error).into_response(),
        }
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (types.next(), types.next()) else { return false };
    let Ok(text) = value.to_str() else { return false };
    let essence = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// The whole body, within the limits that the shell put around it.
///
/// # Errors
/// A problem when the body is too large, too slow, or ends early.
pub async fn read_body(request: Request) -> Result<Bytes, Problem> {
    let collected = request.into_body().collect().await.map_err(|error| body_problem(&error))?;
    Ok(collected.to_bytes())
}

fn body_problem(error: &(dyn Error + 'static)) -> Problem {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(TooLarge(limit)) = error.downcast_ref() {
            return too_large(*limit);
        }
        if error.is::<Ended>() {
            return Problem::of(&kinds::SLOW_BODY);
        }
        cause = error.source();
    }
    Problem::new(&kinds::BAD_REQUEST, "The body ended early. Send the request again.")
}

/// The refusal of a body beyond its limit.
pub(crate) fn too_large(limit: usize) -> Problem {
    let detail = format!("The body is larger than {limit} bytes. Send less at a time.");
    Problem::new(&kinds::BODY_TOO_LARGE, detail).limit(limit as u64)
}

fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // Serde also fills a struct from a list, by position; nobody means that.
    if bytes.trim_ascii_start().first() == Some(&b'[') && !is_list::<T>() {
        return Err(Problem::new(&kinds::BAD_BODY, "The body must be an object, not a list."));
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        bad_json(error.inner(), (path != ".").then_some(path))
    })?;
    reader.end().map_err(|error| bad_json(&error, None))?;
    Ok(value)
}

/// Whether a type is read from a list: an empty one is enough for it.
fn is_list<T: DeserializeOwned>() -> bool {
    serde_json::from_str::<T>("[]").is_ok()
}

fn bad_json(error: &serde_json::Error, field: Option<String>) -> Problem {
    if error.is_data() {
        let detail = format!("The body does not fit: {error}.");
        let problem = Problem::new(&kinds::BAD_BODY, detail);
        return match field {
            Some(field) => problem.field(field),
            None => problem,
        };
    }
    Problem::new(&kinds::BAD_JSON, format!("The body is not JSON: {error}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Thing {
        #[allow(dead_code)]
        name: String,
        inner: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    struct Inner {
        count: u8,
    }

    async fn check(kind: &str, body: &str, code: &str, field: Option<&str>) {
        let request = Request::post("/").header(header::CONTENT_TYPE, kind);
        let request = request.body(Body::from(body.to_owned())).expect("a request");
        let problem = Json::<Thing>::from_request(request, &()).await.expect_err(body);
        assert_eq!(problem.code(), code, "{body:.60}");
        assert_eq!(problem.wire_field(), field, "{body:.60}");
    }

    #[tokio::test]
    async fn a_body_that_does_not_fit_is_refused_with_its_place() {
        let json = "application/json";
        check("text/plain", "{}", "not-json", None).await;
        check("application/jsonx", "{}", "not-json", None).await;
        check(json, "{", "bad-json", None).await;
        check(json, r#"{"name":"a","inner":[]} x"#, "bad-json", None).await;
        check(json, r#"{"name":1,"inner":[]}"#, "bad-body", Some("name")).await;
        let deep = r#"{"name":"a","inner":[{"count":1},{"count":256}]}"#;
        check(json, deep, "bad-body", Some("inner[1].count")).await;
        check(json, r#"{"name":"a","inner":[],"more":1}"#, "bad-body", Some("more")).await;
        let open = "[".repeat(100_000);
        check(json, &open, "bad-body", None).await;
        check(json, r#" ["a", []]"#, "bad-body", None).await;
        let inside = format!("{{\"inner\":[[{open}");
        check(json, &inside, "bad-body", Some("inner[0][0]")).await;
    }

    #[tokio::test]
    async fn a_body_that_fits_is_read() {
        for kind in ["application/json; charset=utf-8", "Application/merge-patch+JSON"] {
            let request = Request::post("/").header(header::CONTENT_TYPE, kind);
            let body = Body::from(r#"{"name":"a","inner":[{"count":3}]}"#);
            let request = request.body(body).expect("a request");
            let Json(thing) = Json::<Thing>::from_request(request, &()).await.expect(kind);
            assert_eq!(thing.inner[0].count, 3);
        }
    }
}
