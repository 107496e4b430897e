//! What a request is aimed at, and where it comes from, as far as that can be believed.

use std::net::{IpAddr, SocketAddr};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri, header};

use super::kinds;
use super::problem::Problem;

/// Bytes of a path and query.
const LONGEST: usize = 8192;
/// Bytes of all headers together.
const HEAD_BYTES: usize = 32 * 1024;

/// The other end of the connection. Whoever accepts connections puts it beside each request.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// The client's address: the peer's, or what a trusted proxy says. Unknown without a [`Peer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client(pub Option<IpAddr>);

impl<S: Sync> FromRequestParts<S> for Client {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(parts.extensions.get().copied().unwrap_or(Self(None)))
    }
}

/// Path and query as the client sent them; routers that are nested see only a part.
#[derive(Clone, Debug)]
pub(crate) struct Asked(pub(crate) Uri);

/// The client's address. `X-Forwarded-For` counts only when a trusted proxy sent it, and then only
/// the last entry that is no trusted proxy itself: everything before it is the client's own claim.
pub(crate) fn client(peer: Option<Peer>, headers: &HeaderMap, trusted: &[IpAddr]) -> Client {
    let Some(Peer(peer)) = peer else { return Client(None) };
    let mut address = peer.ip().to_canonical();
    let told = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
    let mut told: Vec<&str> = told.flat_map(|value| value.split(',')).collect();
    while trusted.contains(&address) {
        let Some(before) = told.pop().and_then(|text| text.trim().parse::<IpAddr>().ok()) else {
            break;
        };
        address = before.to_canonical();
    }
    Client(Some(address))
}

/// Refuses paths that mean one thing here and another in a proxy or a file system.
pub(crate) fn plain(uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let refuse = |detail: &str| Err(Problem::new(&kinds::BAD_TARGET, detail));
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next();
    if hosts.next().is_some() {
        return refuse("There are two `Host` headers. Send one.");
    }
    if let (Some(authority), Some(host)) = (uri.authority(), host)
        && !host.as_bytes().eq_ignore_ascii_case(authority.as_str().as_bytes())
    {
        return refuse("The host in the request line and the `Host` header differ.");
    }
    if uri.path().len() + uri.query().map_or(0, str::len) > LONGEST {
        return refuse("The path and query are longer than 8192 bytes. Send less in them.");
    }
    let head: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if head > HEAD_BYTES {
        return Err(Problem::of(&kinds::HEAD_TOO_LARGE).limit(HEAD_BYTES as u64));
    }
    if !is_plain(uri.path()) {
        return refuse(kinds::BAD_TARGET.meaning);
    }
    Ok(())
}

fn is_plain(path: &str) -> bool {
    if path.contains("//") || path.contains('\\') || !path.starts_with('/') {
        return false;
    }
    path.split('/').all(|segment| {
        let Some(bytes) = unescaped(segment) else { return false };
        let odd = |byte: &u8| *byte < 0x20 || *byte == 0x7f || *byte == b'/' || *byte == b'\\';
        bytes != b"." && bytes != b".." && !bytes.iter().any(odd)
    })
}

/// Percent decoding of a path segment, where `+` is a plus.
fn unescaped(segment: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let high = char::from(rest.next()?).to_digit(16)?;
        let low = char::from(rest.next()?).to_digit(16)?;
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn odd_paths_are_refused() {
        for path in ["/", "/api/x", "/api/x/", "/a%20b", "/a+b", "/a..b", "/...", "/%C3%A4"] {
            assert!(is_plain(path), "{path}");
        }
        for path in [
            "/..",
            "/a/../b",
            "/a/./b",
            "/%2e%2E/x",
            "/.%2e",
            "/a//b",
            "/a%2fb",
            "/a%5Cb",
            "/a%00",
            "/a%0ab",
            "/a%7f",
            "/..%2f..%2fetc",
            "/a%2",
            "/a%zz",
            "//x",
            "*",
        ] {
            assert!(!is_plain(path), "{path}");
        }
    }

    #[test]
    fn an_absolute_target_must_name_the_host() {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("A.example"));
        let check = |uri: &'static str, headers: &HeaderMap| plain(&Uri::from_static(uri), headers);
        assert!(check("http://a.example/x", &headers).is_ok());
        assert!(check("http://evil.example/x", &headers).is_err());
        headers.append(header::HOST, HeaderValue::from_static("b.example"));
        assert!(check("/x", &headers).is_err(), "two hosts");
    }

    #[test]
    fn a_claim_counts_only_from_a_trusted_proxy() {
        let peer = Some(Peer(SocketAddr::from(([10, 0, 0, 1], 999))));
        let proxy = [IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2])];
        let mut headers = HeaderMap::new();
        let claim = HeaderValue::from_static("1.1.1.1, 2.2.2.2, 10.0.0.2");
        headers.insert("x-forwarded-for", claim);
        let ip = |a, b, c, d| Client(Some(IpAddr::from([a, b, c, d])));
        assert_eq!(client(peer, &headers, &[]), ip(10, 0, 0, 1));
        assert_eq!(client(peer, &headers, &proxy), ip(2, 2, 2, 2));
        assert_eq!(client(peer, &headers, &proxy[..1]), ip(10, 0, 0, 2));
        assert_eq!(client(peer, &HeaderMap::new(), &proxy), ip(10, 0, 0, 1));
        assert_eq!(client(None, &headers, &proxy), Client(None));
        headers.insert("x-forwarded-for", HeaderValue::from_static("nonsense"));
        assert_eq!(client(peer, &headers, &proxy), ip(10, 0, 0, 1));
    }
}
