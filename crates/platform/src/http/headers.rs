//! Headers of every answer: what browsers may do with it, and who may read it.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// Only what this server serves: no inline script, no inline style, no framing, nothing from
/// elsewhere.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                          img-src 'self' data:; connect-src 'self'; font-src 'self'; \
                          base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
/// What no page of ours needs.
const PERMISSIONS: &str = "accelerometer=(), camera=(), geolocation=(), gyroscope=(), \
                           magnetometer=(), microphone=(), payment=(), usb=()";
/// Headers that a program on another origin may send.
const SENT: &str = "authorization, content-type, x-api-key, idempotency-key, if-none-match, \
                    last-event-id, x-request-id";
/// Headers that a program on another origin may read.
const READ: &str = "etag, link, location, retry-after, www-authenticate, x-request-id";
/// The methods of our APIs.
const METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE";
/// Paths that any origin may use, without cookies.
const OPEN: [&str; 2] = ["/api", "/compat"];

/// Whether `path` stands under one of `prefixes`.
pub(crate) fn under(path: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| {
        path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Whether programs of any origin may use this path.
pub(crate) fn is_open(path: &str) -> bool {
    under(path, &OPEN)
}

/// Whether the path belongs to programs, not to readers: problems there are always JSON.
pub(crate) fn is_for_programs(path: &str) -> bool {
    is_open(path) || under(path, &["/rpc", "/health", "/ready", "/metrics"])
}

/// The answer to a browser that asks before it sends (CORS preflight).
pub(crate) fn preflight(method: &Method, path: &str, headers: &HeaderMap) -> Option<Response> {
    let asks = method == Method::OPTIONS
        && headers.contains_key(header::ORIGIN)
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if !asks || !is_open(path) {
        return None;
    }
    let answer = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, SENT),
        (header::ACCESS_CONTROL_MAX_AGE, "86400"),
    ];
    Some((StatusCode::NO_CONTENT, answer).into_response())
}

/// Adds what every answer carries. What a handler has set itself stays.
pub(crate) fn protect(path: &str, encrypted: bool, headers: &mut HeaderMap) {
    let mut add = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    add(header::CONTENT_SECURITY_POLICY, POLICY);
    add(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    add(header::X_FRAME_OPTIONS, "DENY");
    // Not `no-referrer`: browsers would then send `Origin: null` with our own forms.
    add(header::REFERRER_POLICY, "same-origin");
    add(HeaderName::from_static("permissions-policy"), PERMISSIONS);
    add(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    add(header::CACHE_CONTROL, "no-cache");
    if encrypted {
        add(header::STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
    let resource = HeaderName::from_static("cross-origin-resource-policy");
    if is_open(path) {
        add(resource, "cross-origin");
        // Any origin, and therefore never with cookies: browsers refuse `*` for those.
        add(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
        add(header::ACCESS_CONTROL_EXPOSE_HEADERS, READ);
    } else {
        add(resource, "same-origin");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_at_a_slash() {
        for (path, open) in [
            ("/api", true),
            ("/api/x", true),
            ("/compat/esplora", true),
            ("/apiary", false),
            ("/", false),
            ("/x/api/", false),
        ] {
            assert_eq!(is_open(path), open, "{path}");
        }
    }

    #[test]
    fn the_policy_allows_nothing_inline() {
        assert!(!POLICY.contains("unsafe"));
        assert!(POLICY.contains("frame-ancestors 'none'"));
    }

    #[test]
    fn what_a_handler_set_stays() {
        let mut headers = HeaderMap::new();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=1"));
        protect("/assets/x", true, &mut headers);
        assert_eq!(headers[header::CACHE_CONTROL], "public, max-age=1");
        assert_eq!(headers["cross-origin-resource-policy"], "same-origin");
        assert!(!headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN));
        assert!(headers.contains_key(header::STRICT_TRANSPORT_SECURITY));
    }

    #[test]
    fn only_open_paths_answer_a_preflight() {
        let mut headers = HeaderMap::new();
        headers.insert(header::ORIGIN, HeaderValue::from_static("https://elsewhere.example"));
        let method = HeaderValue::from_static("POST");
        assert!(preflight(&Method::OPTIONS, "/api/x", &headers).is_none(), "no question");
        headers.insert(header::ACCESS_CONTROL_REQUEST_METHOD, method);
        let answer = preflight(&Method::OPTIONS, "/api/x", &headers).expect("an answer");
        assert!(!answer.headers().contains_key(header::ACCESS_CONTROL_ALLOW_CREDENTIALS));
        assert!(preflight(&Method::OPTIONS, "/login", &headers).is_none());
        assert!(preflight(&Method::GET, "/api/x", &headers).is_none());
    }
}
