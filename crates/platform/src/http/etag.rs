//! Tags of answers, so that an unchanged one is not sent again (RFC 9110).
//!
//! The tag is a hash of the body before compression. It is strong for these bytes; the shell marks
//! it as weak where the answer is compressed, because other bytes travel then.

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use http_body_util::BodyExt as _;

use super::problem::Problem;

/// Bytes of an answer up to which it is tagged; a larger one would have to be held whole.
const TAGGED_BYTES: u64 = 1 << 20;

/// Tags an answer to a GET, or replaces it by 304 when the client has it already.
pub(crate) async fn tagged(method: &Method, asked: &HeaderMap, response: Response) -> Response {
    let reads = *method == Method::GET || *method == Method::HEAD;
    if !reads || response.status() != StatusCode::OK {
        return response;
    }
    let response = match response.headers().get(header::ETAG) {
        Some(_) => response,
        None => match with_tag(response).await {
            Ok(response) => response,
            Err(problem) => return axum::response::IntoResponse::into_response(problem),
        },
    };
    let known = response.headers().get(header::ETAG).is_some_and(|tag| has(asked, tag));
    if known { not_modified(response) } else { response }
}

async fn with_tag(response: Response) -> Result<Response, Problem> {
    // A body of unknown size is a stream; waiting for its end would change what it is.
    if response.body().size_hint().exact().is_none_or(|size| size > TAGGED_BYTES) {
        return Ok(response);
    }
    let (mut head, body) = response.into_parts();
    let bytes = body.collect().await.map_err(Problem::internal)?.to_bytes();
    let tag = format!("\"{:032x}\"", xxhash_rust::xxh3::xxh3_128(&bytes));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        head.headers.insert(header::ETAG, tag);
    }
    Ok(Response::from_parts(head, Body::from(bytes)))
}

/// Whether the client says that it has the answer with this tag.
fn has(asked: &HeaderMap, tag: &HeaderValue) -> bool {
    let Ok(tag) = tag.to_str() else { return false };
    asked
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.trim() == "*" || tags(value).any(|known| opaque(known) == opaque(tag)))
}

/// The tags of a list. A comma may stand inside of a tag, so quotes are what separates them.
fn tags(list: &str) -> impl Iterator<Item = &str> {
    list.split('"').skip(1).step_by(2)
}

/// A tag without its weakness and quotes: `If-None-Match` compares weakly.
fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag).trim_matches('"')
}

/// 304 with all headers that do not describe the missing body.
fn not_modified(mut response: Response) -> Response {
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    *response.body_mut() = Body::empty();
    for gone in [header::CONTENT_LENGTH, header::CONTENT_TYPE, header::CONTENT_ENCODING] {
        response.headers_mut().remove(gone);
    }
    response
}

/// Marks the tag of a compressed answer as weak.
pub(crate) fn weaken(headers: &mut HeaderMap) {
    if !headers.contains_key(header::CONTENT_ENCODING) {
        return;
    }
    let Some(tag) = headers.get(header::ETAG).and_then(|tag| tag.to_str().ok()) else { return };
    if tag.starts_with("W/") {
        return;
    }
    if let Ok(weak) = HeaderValue::from_str(&format!("W/{tag}")) {
        headers.insert(header::ETAG, weak);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse as _;

    async fn ask(none_match: &[&str], body: &'static str) -> Response {
        let mut asked = HeaderMap::new();
        for value in none_match {
            asked.append(header::IF_NONE_MATCH, HeaderValue::from_str(value).expect("a value"));
        }
        let answer = ([(header::CACHE_CONTROL, "no-cache")], body).into_response();
        tagged(&Method::GET, &asked, answer).await
    }

    #[tokio::test]
    async fn a_known_answer_is_not_sent_again() {
        let first = ask(&[], "hello").await;
        assert_eq!(first.status(), 200);
        let tag = first.headers()[header::ETAG].to_str().expect("text").to_owned();
        assert!(!tag.starts_with("W/"), "the bytes are the same: {tag}");
        let weak = format!("W/{tag}");
        let list = format!("\"a,b\", {weak}, \"c\"");
        for known in [&*tag, &*weak, &*list, "*"] {
            let answer = ask(&[known], "hello").await;
            assert_eq!(answer.status(), 304, "{known}");
            assert_eq!(answer.headers()[header::ETAG], tag);
            assert_eq!(answer.headers()[header::CACHE_CONTROL], "no-cache");
            assert!(!answer.headers().contains_key(header::CONTENT_TYPE));
        }
        assert_eq!(ask(&["\"x\"", &tag], "hello").await.status(), 304, "in the second header");
        for other in ["\"x\"", "x", "", "\"", "W/"] {
            assert_eq!(ask(&[other], "hello").await.status(), 200, "{other}");
        }
        assert_eq!(ask(&[&tag], "hello!").await.status(), 200, "another body");
    }

    #[tokio::test]
    async fn only_whole_answers_to_reads_are_tagged() {
        let asked = HeaderMap::new();
        let post = tagged(&Method::POST, &asked, "x".into_response()).await;
        assert!(!post.headers().contains_key(header::ETAG));
        let missing = (StatusCode::NOT_FOUND, "x").into_response();
        let missing = tagged(&Method::GET, &asked, missing).await;
        assert!(!missing.headers().contains_key(header::ETAG));
        let large = vec![0_u8; (TAGGED_BYTES + 1) as usize].into_response();
        let large = tagged(&Method::GET, &asked, large).await;
        assert!(!large.headers().contains_key(header::ETAG));
        let own = ([(header::ETAG, "\"own\"")], "x").into_response();
        let own = tagged(&Method::GET, &asked, own).await;
        assert_eq!(own.headers()[header::ETAG], "\"own\"");
    }

    #[test]
    fn a_compressed_answer_has_a_weak_tag() {
        let mut headers = HeaderMap::new();
        headers.insert(header::ETAG, HeaderValue::from_static("\"a\""));
        weaken(&mut headers);
        assert_eq!(headers[header::ETAG], "\"a\"");
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        weaken(&mut headers);
        weaken(&mut headers);
        assert_eq!(headers[header::ETAG], "W/\"a\"");
    }
}
