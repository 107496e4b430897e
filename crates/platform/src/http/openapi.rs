//! The API document (OpenAPI 3.1): made from the routes, completed with what the shell answers.
//!
//! Handlers describe what is special about them. What every operation may answer because it stands
//! in the shell (limits, credentials, trouble) is added here, so that no handler can forget it and
//! no client meets an answer that the document does not know.

use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use utoipa::PartialSchema as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::kinds::Kind;
use super::problem::{MEDIA_TYPE, Problem, Wire};

/// Statuses with which any operation may be refused.
const ALWAYS: [u16; 10] = [400, 401, 403, 404, 408, 413, 429, 431, 500, 503];
/// Statuses with which an operation that takes a body may be refused.
const WITH_BODY: [u16; 3] = [409, 415, 422];
/// The methods that a path item may have.
pub(crate) const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The pages about the API, made when the shell is finished.
pub(crate) struct Pages {
    pub(crate) document: Bytes,
    pub(crate) docs: Bytes,
}

type Shared = Arc<OnceLock<Pages>>;

/// The routes.
pub(crate) fn routes(pages: Shared) -> OpenApiRouter {
    OpenApiRouter::new().routes(routes!(document)).routes(routes!(docs)).with_state(pages)
}

/// This document.
#[utoipa::path(get, path = "/api/openapi.json", tag = "about", operation_id = "document",
    responses((status = 200, description = "The API in the format OpenAPI 3.1.",
        body = serde_json::Value)))]
async fn document(State(pages): State<Shared>) -> Result<Response, Problem> {
    page(&pages, "application/json", |pages| &pages.document)
}

/// This document for people.
#[utoipa::path(get, path = "/api/docs", tag = "about", operation_id = "docs",
    responses((status = 200, description = "A page.", body = String, content_type = "text/html")))]
async fn docs(State(pages): State<Shared>) -> Result<Response, Problem> {
    page(&pages, "text/html; charset=utf-8", |pages| &pages.docs)
}

fn page(
    pages: &OnceLock<Pages>,
    kind: &'static str,
    which: fn(&Pages) -> &Bytes,
) -> Result<Response, Problem> {
    let pages = pages.get().ok_or_else(|| Problem::internal("the shell is not finished"))?;
    Ok(([(header::CONTENT_TYPE, kind)], which(pages).clone()).into_response())
}

/// What the document says about the installation.
#[derive(Clone, Debug)]
pub(crate) struct About {
    pub(crate) version: String,
    pub(crate) origin: Option<String>,
}

/// Completes the document.
pub(crate) fn complete(api: &OpenApi, about: &About, kinds: &[&'static Kind]) -> Value {
    let mut document = serde_json::to_value(api).unwrap_or_default();
    document["openapi"] = "3.1.0".into();
    document["info"] = json!({
        "title": "Ostrakon",
        "version": about.version,
        "description": "Chain data: indexed, explored, served and counted. Every refusal is a \
                        problem of RFC 9457 with a stable code; lists are paged by opaque cursors; \
                        writes may be repeated under an Idempotency-Key.",
        "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
    });
    document["servers"] = json!([{ "url": about.origin.as_deref().unwrap_or("/") }]);
    document["security"] = json!([
        {}, { "session": [] }, { "bearer": [] }, { "key": [] }, { "keyInQuery": [] }
    ]);
    let components = entry(&mut document, "components");
    components.insert("securitySchemes".into(), schemes());
    let schema = serde_json::to_value(Wire::schema()).unwrap_or_default();
    entry_of(components, "schemas").insert("Problem".into(), schema);
    components.insert("responses".into(), responses(kinds));
    whole_numbers(&mut document);
    for (_, item) in entry(&mut document, "paths").iter_mut() {
        for method in METHODS {
            if let Some(operation) = item.get_mut(method) {
                add_answers(method, operation);
            }
        }
    }
    document
}

/// Numbers of 64 bits that are not below 0 are called signed ones by the derive macro, which would
/// leave out the upper half.
fn whole_numbers(value: &mut Value) {
    if value["format"] == "int64" && value["minimum"] == 0 {
        value["format"] = "uint64".into();
        if value.get("maximum").is_none() {
            value["maximum"] = u64::MAX.into();
        }
    }
    match value {
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        Value::Array(list) => list.iter_mut().for_each(whole_numbers),
        _ => {}
    }
}

fn entry<'a>(value: &'a mut Value, name: &str) -> &'a mut Map<String, Value> {
    static_object(&mut value[name])
}

fn entry_of<'a>(map: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    static_object(map.entry(name).or_insert_with(|| json!({})))
}

/// The value as an object; whatever else it was is replaced.
fn static_object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("it was made an object above"),
    }
}

fn schemes() -> Value {
    json!({
        "session": {
            "type": "apiKey", "in": "cookie", "name": "__Host-ostrakon",
            "description": "The session of a browser. Writes also need `X-CSRF-Token`.",
        },
        "bearer": {
            "type": "http", "scheme": "bearer",
            "description": "A personal token, or a project's key.",
        },
        "key": {
            "type": "apiKey", "in": "header", "name": "X-Api-Key",
            "description": "A project's key.",
        },
        "keyInQuery": {
            "type": "apiKey", "in": "query", "name": "key",
            "description": "A project's key, for GET only: URLs are kept in histories and logs.",
        },
    })
}

/// A response for each status, which names the codes that it is answered with.
fn responses(kinds: &[&'static Kind]) -> Value {
    let mut responses = Map::new();
    for status in ALWAYS.into_iter().chain(WITH_BODY) {
        let mut text = String::new();
        for kind in kinds.iter().filter(|kind| kind.status == status) {
            text.push_str(&format!("`{}`: {}. ", kind.code, kind.title));
        }
        let response = json!({ "description": text.trim_end(), "content": problem_content() });
        responses.insert(format!("Problem{status}"), response);
    }
    responses.insert(
        "NotModified".into(),
        json!({ "description": "The client has this answer already (`If-None-Match`)." }),
    );
    Value::Object(responses)
}

fn problem_content() -> Value {
    json!({ MEDIA_TYPE: { "schema": { "$ref": "#/components/schemas/Problem" } } })
}

fn add_answers(method: &str, operation: &mut Value) {
    let takes_body = operation.get("requestBody").is_some_and(|body| !body.is_null());
    let writes = method != "get";
    let answers = static_object(&mut operation["responses"]);
    let more = WITH_BODY.into_iter().filter(|status| takes_body || (writes && *status == 409));
    for status in ALWAYS.into_iter().chain(more) {
        match answers.get_mut(&status.to_string()) {
            None => {
                let reference = format!("#/components/responses/Problem{status}");
                answers.insert(status.to_string(), json!({ "$ref": reference }));
            }
            // A handler's own answer with this status; the shell may answer with it too.
            Some(answer) if answer.get("$ref").is_none() => {
                let content = static_object(&mut answer["content"]);
                content.entry(MEDIA_TYPE).or_insert_with(|| problem_content()[MEDIA_TYPE].clone());
            }
            Some(_) => {}
        }
    }
    if method == "get" {
        let reference = json!({ "$ref": "#/components/responses/NotModified" });
        answers.entry("304").or_insert(reference);
    }
}
