//! Finds the one credential of a request, and writes the session cookie.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};

use super::auth::{Authority, Resolved, SessionOf, Who};
use super::problem::Problem;
use super::{csrf, kinds, query};

/// The header of a project's key.
pub const KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");
/// Characters of a credential; longer ones are none of ours and are not looked up.
const LONGEST: usize = 512;

/// A credential as it was sent. It has no `Debug`: it must not reach a log.
pub(crate) enum Credential {
    Session(String),
    Bearer(String),
    Key(String),
}

/// How the session cookie is called and written.
///
/// Over HTTPS its name begins with `__Host-`: browsers then accept it only from this very host,
/// over HTTPS, for all paths, so no neighbour can plant one. Plain HTTP on the loopback address,
/// where browsers accept no such cookie, has a name without the prefix.
#[derive(Clone, Copy, Debug)]
pub struct CookieJar {
    encrypted: bool,
}

impl CookieJar {
    /// Cookies of an installation that is reached over HTTPS, or not.
    #[must_use]
    pub fn new(encrypted: bool) -> Self {
        Self { encrypted }
    }

    /// The cookie's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        if self.encrypted { "__Host-ostrakon" } else { "ostrakon" }
    }

    /// The `Set-Cookie` value that keeps a session for `seconds`.
    ///
    /// # Errors
    /// A problem when the secret has characters that no cookie may have.
    pub fn keep(self, secret: &str, seconds: u32) -> Result<HeaderValue, Problem> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        if secret.is_empty() || secret.len() > LONGEST || !secret.bytes().all(plain) {
            return Err(Problem::internal("a session secret is not fit for a cookie"));
        }
        self.write(secret, seconds).map_err(Problem::internal)
    }

    /// The `Set-Cookie` value that ends a session.
    #[must_use]
    pub fn forget(self) -> HeaderValue {
        self.write("", 0).unwrap_or_else(|_| HeaderValue::from_static(""))
    }

    fn write(
        self,
        value: &str,
        seconds: u32,
    ) -> Result<HeaderValue, axum::http::header::InvalidHeaderValue> {
        let secure = if self.encrypted { "; Secure" } else { "" };
        let mut header = HeaderValue::from_str(&format!(
            "{}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}",
            self.name()
        ))?;
        header.set_sensitive(true);
        Ok(header)
    }

    /// The one session secret that a request carries.
    #[must_use]
    pub fn secret(self, headers: &HeaderMap) -> Option<String> {
        let mut secrets = self.read(headers);
        secrets.pop().filter(|_| secrets.is_empty())
    }

    /// The session secrets that a request carries under our name.
    fn read(self, headers: &HeaderMap) -> Vec<String> {
        let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        values
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(name, value)| *name == self.name() && !value.is_empty())
            .map(|(_, value)| value.to_owned())
            .collect()
    }
}

/// The one credential of a request, if it has one.
pub(crate) fn find(jar: CookieJar, parts: &Parts) -> Result<Option<Credential>, Problem> {
    let mut found: Vec<Credential> = Vec::new();
    found.extend(jar.read(&parts.headers).into_iter().map(Credential::Session));
    for value in parts.headers.get_all(header::AUTHORIZATION) {
        found.push(Credential::Bearer(bearer(value)?));
    }
    for value in parts.headers.get_all(KEY_HEADER) {
        let key = value.to_str().map_err(|_| Problem::of(&kinds::BAD_CREDENTIAL))?;
        found.push(Credential::Key(key.to_owned()));
    }
    for key in keys_in(parts.uri.query().unwrap_or_default()) {
        if parts.method != Method::GET && parts.method != Method::HEAD {
            return Err(Problem::of(&kinds::KEY_IN_URL).field(query::KEY));
        }
        let key = query::decode(key).ok_or_else(|| Problem::of(&kinds::BAD_CREDENTIAL))?;
        found.push(Credential::Key(key));
    }
    // Which one counts would be a guess, and a wrong guess acts for somebody else.
    if found.len() > 1 {
        return Err(Problem::of(&kinds::AMBIGUOUS_CREDENTIALS));
    }
    Ok(found.pop())
}

fn bearer(value: &HeaderValue) -> Result<String, Problem> {
    let text = value.to_str().unwrap_or_default().trim();
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    if !scheme.eq_ignore_ascii_case("bearer") || token.trim().is_empty() {
        let detail = "`Authorization` must be `Bearer` and a token or key. Other schemes are not \
                      known here.";
        return Err(Problem::new(&kinds::BAD_CREDENTIAL, detail));
    }
    Ok(token.trim().to_owned())
}

fn keys_in(raw: &str) -> impl Iterator<Item = &str> {
    raw.split('&').filter_map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (query::decode(name).as_deref() == Some(query::KEY)).then_some(value)
    })
}

/// Asks the authority. A session that has ended is told apart: a page may be read without one.
pub(crate) async fn resolve(
    authority: &dyn Authority,
    jar: CookieJar,
    credential: Credential,
    reads: bool,
) -> Result<Resolved, Problem> {
    let (Credential::Session(text) | Credential::Bearer(text) | Credential::Key(text)) =
        &credential;
    let fits = (1..=LONGEST).contains(&text.len());
    if let Credential::Session(secret) = &credential {
        let session = if fits { authority.by_session(secret).await? } else { None };
        let Some(SessionOf { who, renew }) = session else {
            return Ok(Resolved { ended: true, ..Resolved::default() });
        };
        // A form that is being sent carries the token of the old secret: it is renewed by reading.
        let renewed = if renew && reads { authority.renewed(secret).await? } else { None };
        let csrf = csrf::token(renewed.as_ref().map_or(secret, |renewed| &renewed.secret));
        let cookie = renewed.map(|renewed| jar.keep(&renewed.secret, renewed.seconds));
        let cookie = cookie.transpose()?;
        return Ok(Resolved { who: Some(who), csrf: Some(csrf), ended: false, cookie });
    }
    let who: Option<Who> = match &credential {
        Credential::Bearer(token) if fits => match authority.by_bearer(token).await? {
            Some(who) => Some(who),
            None => authority.by_key(token).await?,
        },
        Credential::Key(key) if fits => authority.by_key(key).await?,
        _ => None,
    };
    let who = who.ok_or_else(|| Problem::of(&kinds::BAD_CREDENTIAL))?;
    Ok(Resolved { who: Some(who), ..Resolved::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn look(method: &str, uri: &str, headers: &[(&str, &str)]) -> Result<String, &'static str> {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        match find(CookieJar::new(true), &parts) {
            Ok(None) => Ok("none".to_owned()),
            Ok(Some(Credential::Session(text))) => Ok(format!("session {text}")),
            Ok(Some(Credential::Bearer(text))) => Ok(format!("bearer {text}")),
            Ok(Some(Credential::Key(text))) => Ok(format!("key {text}")),
            Err(problem) => Err(problem.code()),
        }
    }

    #[test]
    fn a_credential_is_found_where_it_may_stand() {
        let cookie = ("cookie", "a=b; __Host-ostrakon=s1; c=d");
        let token = ("authorization", "bearer  t1");
        for (method, uri, headers, found) in [
            ("GET", "/", &[][..], Ok("none")),
            ("GET", "/", &[cookie], Ok("session s1")),
            ("GET", "/", &[("cookie", "ostrakon=s1; x__Host-ostrakon=s2")], Ok("none")),
            ("POST", "/", &[token], Ok("bearer t1")),
            ("POST", "/", &[("x-api-key", "k1")], Ok("key k1")),
            ("GET", "/?a=1&key=k%31", &[], Ok("key k1")),
            ("HEAD", "/?%6bey=k1", &[], Ok("key k1")),
            ("POST", "/?key=k1", &[], Err("key-in-url")),
            ("GET", "/", &[cookie, token], Err("ambiguous-credentials")),
            ("GET", "/", &[token, token], Err("ambiguous-credentials")),
            ("GET", "/?key=a", &[cookie], Err("ambiguous-credentials")),
            ("GET", "/?key=a&key=b", &[], Err("ambiguous-credentials")),
            ("GET", "/", &[cookie, cookie], Err("ambiguous-credentials")),
            ("GET", "/", &[("authorization", "Basic YTpi")], Err("bad-credential")),
            ("GET", "/", &[("authorization", "Bearer ")], Err("bad-credential")),
        ] {
            let looked = look(method, uri, headers);
            assert_eq!(looked.as_deref(), found.as_deref(), "{method} {uri} {headers:?}");
        }
    }

    #[test]
    fn the_cookie_is_bound_to_this_host() {
        let cookie = CookieJar::new(true).keep("abc", 60).expect("a cookie");
        assert_eq!(
            cookie,
            "__Host-ostrakon=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure"
        );
        assert!(cookie.is_sensitive());
        let plain = CookieJar::new(false).keep("abc", 60).expect("a cookie");
        assert_eq!(plain, "ostrakon=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Lax");
        assert!(CookieJar::new(true).forget().to_str().expect("text").contains("Max-Age=0"));
        for bad in ["", "a;b", "a b", "a\r\nb"] {
            assert!(CookieJar::new(true).keep(bad, 60).is_err(), "{bad:?}");
        }
    }
}
