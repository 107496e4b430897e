//! Writes that another site makes a browser send are refused.
//!
//! A write that carries a session cookie must come from a page of this origin, by what the browser
//! says (`Sec-Fetch-Site`, `Origin`), and must carry the token of its session, which no other site
//! can read. Either one alone has failed before: old browsers send no `Origin`, and a token can
//! leak. A write of a page without a session (log in, register) must come from this origin too, so
//! that nobody is logged in to an account of somebody else.

use axum::http::{HeaderMap, HeaderName, Uri, header};
use sha2::{Digest as _, Sha256};

use super::problem::Problem;
use super::{kinds, query};

/// The header that carries the token, for scripts.
pub const HEADER: HeaderName = HeaderName::from_static("x-csrf-token");
/// The field that carries the token, for forms.
pub const FIELD: &str = "csrf";

/// The token of a session. It follows from the secret and tells nothing about it, so it needs no
/// table, and a new session has a new one.
#[must_use]
pub fn token(secret: &str) -> String {
    let digest = Sha256::new().chain_update("ostrakon csrf\0").chain_update(secret).finalize();
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Whether what was sent is the token, in a time that tells nothing about it.
pub(crate) fn matches(expected: &str, sent: &str) -> bool {
    let differs = expected.bytes().zip(sent.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    expected.len() == sent.len() && differs == 0
}

/// The token in a form's body.
pub(crate) fn in_form(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let mut values = text.split('&').filter_map(|part| {
        let (name, value) = part.split_once('=')?;
        (name == FIELD).then_some(value)
    });
    let value = values.next()?;
    if values.next().is_some() { None } else { query::decode(value) }
}

/// Where this server is reached, as browsers see it.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    /// Scheme, host and port as set by the operator.
    pub(crate) origin: Option<String>,
    /// The scheme when no origin is set.
    pub(crate) encrypted: bool,
}

/// What the browser says about where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// A page of this origin.
    Here,
    /// Another origin.
    Elsewhere,
    /// It says nothing.
    Unknown,
}

impl Home {
    /// Where a request comes from. Both headers must agree where both are sent.
    pub(crate) fn comes_from(&self, headers: &HeaderMap, uri: &Uri) -> From {
        let mut said = From::Unknown;
        for value in headers.get_all("sec-fetch-site") {
            if value != "same-origin" {
                return From::Elsewhere;
            }
            said = From::Here;
        }
        for value in headers.get_all(header::ORIGIN) {
            let Some(home) = self.own(headers, uri) else { return From::Elsewhere };
            if !value.as_bytes().eq_ignore_ascii_case(home.as_bytes()) {
                return From::Elsewhere;
            }
            said = From::Here;
        }
        said
    }

    /// This server's own origin.
    fn own(&self, headers: &HeaderMap, uri: &Uri) -> Option<String> {
        if let Some(origin) = &self.origin {
            return Some(origin.clone());
        }
        let host = match uri.authority() {
            Some(authority) => authority.as_str(),
            None => headers.get(header::HOST)?.to_str().ok()?,
        };
        let scheme = if self.encrypted { "https" } else { "http" };
        Some(format!("{scheme}://{host}"))
    }
}

/// The refusal.
pub(crate) fn refused() -> Problem {
    Problem::of(&kinds::CROSS_SITE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn from(headers: &[(&'static str, &'static str)], origin: Option<&str>) -> From {
        let mut map = HeaderMap::new();
        map.insert(header::HOST, HeaderValue::from_static("a.example:8080"));
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        let home = Home { origin: origin.map(str::to_owned), encrypted: false };
        home.comes_from(&map, &Uri::from_static("/x"))
    }

    #[test]
    fn only_this_origin_is_here() {
        let own = ("origin", "http://a.example:8080");
        let fetch = |site| ("sec-fetch-site", site);
        for (headers, expected) in [
            (&[][..], From::Unknown),
            (&[own], From::Here),
            (&[fetch("same-origin")], From::Here),
            (&[own, fetch("same-origin")], From::Here),
            (&[own, fetch("cross-site")], From::Elsewhere),
            (&[fetch("same-site")], From::Elsewhere),
            (&[fetch("none")], From::Elsewhere),
            (&[("origin", "null")], From::Elsewhere),
            (&[("origin", "https://a.example:8080")], From::Elsewhere),
            (&[("origin", "http://a.example:8081")], From::Elsewhere),
            (&[("origin", "http://a.example:8080.evil.example")], From::Elsewhere),
            (&[own, ("origin", "http://evil.example")], From::Elsewhere),
            (&[("origin", "http://evil.example"), fetch("same-origin")], From::Elsewhere),
        ] {
            assert_eq!(from(headers, None), expected, "{headers:?}");
        }
        let set = Some("https://b.example");
        assert_eq!(from(&[("origin", "https://b.example")], set), From::Here);
        assert_eq!(from(&[own], set), From::Elsewhere, "the host header decides nothing");
    }

    #[test]
    fn a_token_follows_from_its_session_alone() {
        let first = token("one");
        assert!(matches(&first, &token("one")));
        for other in ["", "x", &token("two"), &first[1..]] {
            assert!(!matches(&first, other), "{other}");
        }
        let form = format!("a=b&csrf={first}&c=d");
        assert_eq!(in_form(form.as_bytes()), Some(first.clone()));
        let twice = format!("csrf={first}&csrf=x");
        assert_eq!(in_form(twice.as_bytes()), None, "which one would count is a guess");
        assert_eq!(in_form(b"a=b"), None);
    }
}
