//! The kinds of refusals and failures, one constant each.
//!
//! A kind's `code` is part of the API: programs compare it, so it is never renamed. Services add
//! kinds of their own and hand them to [`Shell::problems`](super::Shell::problems), which puts them
//! on the documentation page, where the `type` of every problem leads.

/// A kind of problem.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// What programs compare: lower case words joined by hyphens.
    pub code: &'static str,
    /// The HTTP status it is answered with.
    pub status: u16,
    /// A short title, the same for every occurrence.
    pub title: &'static str,
    /// What it means and what to do next.
    pub meaning: &'static str,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $status:literal, $title:literal,
        $meaning:literal;)*) => {
        $($(#[$doc])* pub static $name: Kind = Kind {
            code: $code, status: $status, title: $title, meaning: $meaning,
        };)*
        /// All kinds that the shell itself answers with.
        pub static ALL: &[&Kind] = &[$(&$name),*];
    };
}

kinds! {
    /// A request that is not understood for a reason without a kind of its own.
    BAD_REQUEST = "bad-request", 400, "The request is not understood",
        "Read the detail, change the request and send it again.";
    /// A path that cannot be meant honestly.
    BAD_TARGET = "bad-target", 400, "The path is not in its plain form",
        "Send the path without dot segments, empty segments, encoded slashes or control \
         characters.";
    /// A path parameter that cannot be read.
    BAD_PATH = "bad-path", 400, "A part of the path cannot be read",
        "The field names the part; the documentation says what it looks like.";
    /// A query parameter that cannot be read.
    BAD_QUERY = "bad-query", 400, "A query parameter cannot be read",
        "The field names the parameter; the documentation says what it looks like.";
    /// A query parameter that does not exist here.
    UNKNOWN_PARAMETER = "unknown-parameter", 400, "There is no such query parameter",
        "Parameters are never ignored, so that a typing error cannot widen a query. Remove it, \
         or use the name that the detail suggests.";
    /// A query parameter that is needed.
    MISSING_PARAMETER = "missing-parameter", 400, "A query parameter is missing",
        "Add the parameter that the field names.";
    /// A cursor of another list.
    BAD_CURSOR = "bad-cursor", 400, "The cursor does not belong to this list",
        "Cursors come from the `next` of the page before, of the same list with the same filter. \
         Start again without one.";
    /// A limit that is out of range.
    BAD_LIMIT = "bad-limit", 400, "The limit is out of range",
        "Ask for a number of items in the range that the detail names.";
    /// A body that is not JSON.
    BAD_JSON = "bad-json", 400, "The body is not JSON",
        "The detail has line and column of the first mistake.";
    /// JSON of another shape.
    BAD_BODY = "bad-body", 422, "The body does not have the right shape",
        "The field names the place in the body; the documentation has its schema.";
    /// A key that cannot name an operation.
    BAD_IDEMPOTENCY_KEY = "bad-idempotency-key", 400, "The Idempotency-Key cannot be used",
        "Send 1 to 128 visible ASCII characters, once, the same for every try of one operation.";
    /// More than one credential.
    AMBIGUOUS_CREDENTIALS = "ambiguous-credentials", 400, "More than one credential was sent",
        "Send a session cookie, or a bearer token, or a key: one of them, once.";
    /// A key where it would be kept by others.
    KEY_IN_URL = "key-in-url", 400, "A key in the URL is only for GET",
        "Send it as `Authorization: Bearer` or `X-Api-Key`.";
    /// Something goes beyond what a row or request may hold.
    OVER_LIMIT = "over-limit", 400, "The request goes beyond a limit",
        "Split the request, or ask for less. The limit is in the detail.";
    /// Nobody is logged in.
    UNAUTHENTICATED = "unauthenticated", 401, "A credential is needed",
        "Log in, or send a personal token or a project key.";
    /// A credential that is not valid.
    BAD_CREDENTIAL = "bad-credential", 401, "The credential is not valid",
        "It is unknown, withdrawn or has expired. Get a new one, or send none to read what is \
         public.";
    /// Not allowed.
    FORBIDDEN = "forbidden", 403, "This credential does not allow it",
        "Use a credential with the role or scope that the detail names.";
    /// A write that may come from another site.
    CROSS_SITE = "cross-site", 403, "The request may come from another site",
        "A write with a session cookie must come from this site's own pages and carry the token \
         of its session. Programs use a token or a key instead of the cookie.";
    /// Nothing under this name.
    NOT_FOUND = "not-found", 404, "There is no such thing",
        "It does not exist, or not yet, or this credential may not see it.";
    /// No such route.
    NO_ROUTE = "no-route", 404, "Nothing is served under this path",
        "The documentation lists every path.";
    /// A method that the route does not have.
    NO_METHOD = "no-method", 405, "The path does not take this method",
        "The `Allow` header lists the methods.";
    /// The client was too slow.
    SLOW_BODY = "slow-body", 408, "The body came too slowly",
        "Send the request again over a faster connection, or in smaller parts.";
    /// Somebody else was first.
    CONFLICT = "conflict", 409, "Somebody else changed it first",
        "Read it again and decide anew.";
    /// Events that are no longer kept.
    EVENTS_GONE = "events-gone", 410, "These events are no longer kept",
        "Read the present state, then follow the events from now on or from the oldest kept.";
    /// A body that is too large.
    BODY_TOO_LARGE = "body-too-large", 413, "The body is too large",
        "Send less at a time. The limit in bytes is in `limit`.";
    /// Not JSON.
    NOT_JSON = "not-json", 415, "The body must be JSON",
        "Send `Content-Type: application/json`.";
    /// Too many of these requests.
    TOO_MANY = "too-many", 429, "Too many requests",
        "Wait as many seconds as `retry_after` says, then go on more slowly.";
    /// Headers that are too large.
    HEAD_TOO_LARGE = "head-too-large", 431, "The headers are too large",
        "Send fewer or shorter headers. The limit in bytes is in `limit`.";
    /// Our mistake.
    INTERNAL = "internal", 500, "The server made a mistake",
        "Nothing is wrong with the request. Report it with the request id in `instance`.";
    /// The store is in trouble.
    STORE_UNAVAILABLE = "store-unavailable", 503, "The store does not answer",
        "Try again after `retry_after` seconds. The operator finds the reason in the log, under \
         the request id.";
    /// Applied or not, nobody knows yet.
    OUTCOME_UNKNOWN = "outcome-unknown", 503, "It is not known whether the change was made",
        "Send the same request with the same Idempotency-Key again: it is done once, and the \
         answer tells its outcome.";
    /// Too much at a time.
    OVERLOADED = "overloaded", 503, "Too many requests at a time",
        "Try again after `retry_after` seconds.";
    /// The answer took too long.
    TOO_SLOW = "too-slow", 503, "The answer took too long",
        "Ask for less at a time, or try again after `retry_after` seconds.";
    /// No further event stream.
    TOO_MANY_STREAMS = "too-many-streams", 503, "Too many event streams",
        "Close one, or try again after `retry_after` seconds. One stream can carry every kind and \
         every chain.";
}

/// The kind that an answer with nothing but a status stands for.
#[must_use]
pub fn by_status(status: u16) -> &'static Kind {
    match status {
        401 => &UNAUTHENTICATED,
        403 => &FORBIDDEN,
        404 => &NO_ROUTE,
        405 => &NO_METHOD,
        408 => &SLOW_BODY,
        409 => &CONFLICT,
        413 => &BODY_TOO_LARGE,
        415 => &NOT_JSON,
        422 => &BAD_BODY,
        429 => &TOO_MANY,
        431 => &HEAD_TOO_LARGE,
        503 => &OVERLOADED,
        400..=499 => &BAD_REQUEST,
        _ => &INTERNAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_plain_words_and_tell_what_to_do() {
        let mut codes: Vec<_> = ALL.iter().map(|kind| kind.code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), ALL.len(), "a code stands for one kind");
        for kind in ALL {
            let plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
            assert!(kind.code.bytes().all(plain), "{}", kind.code);
            assert!((400..600).contains(&kind.status), "{}", kind.code);
            assert!(kind.meaning.ends_with('.'), "{}", kind.code);
        }
    }

    #[test]
    fn a_status_has_a_kind_of_its_class() {
        for status in 400..600 {
            assert_eq!(by_status(status).status / 100, status / 100, "{status}");
        }
    }
}
