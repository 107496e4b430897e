//! Lists: a page at a time, and the way to the next one.
//!
//! A handler takes [`List<F>`](List), reads `page.limit` items behind `page.cursor`, and returns
//! [`List::answer`]. Cursors are the store's: bound to their list and filter, refused elsewhere.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use store::Cursor;
use utoipa::{IntoParams, ToSchema};

use super::extract::Json;
use super::problem::Problem;
use super::target::Asked;
use super::{kinds, query};

/// Items of a page when the client does not say.
pub const DEFAULT_LIMIT: usize = 50;
/// Items of a page at most.
pub const MAX_LIMIT: usize = 1000;

/// The parameters of every list, for the API document.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageParams {
    /// Items of the page.
    #[param(minimum = 1, maximum = 1000, default = 50)]
    pub limit: Option<u16>,
    /// `next` of the page before, of the same list with the same filter.
    pub cursor: Option<String>,
}

/// Which page of a list.
#[derive(Clone, Debug)]
pub struct Page {
    /// Items of the page, 1 to 1000.
    pub limit: usize,
    /// Where the page before ended.
    pub cursor: Option<Cursor>,
}

/// A page of a list, with the filter that the list knows (`()` for none).
#[derive(Clone, Debug)]
pub struct List<F = ()> {
    /// Which page.
    pub page: Page,
    /// What the list is filtered by.
    pub filter: F,
    next: String,
}

impl<F: DeserializeOwned, S: Sync> FromRequestParts<S> for List<F> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let uri = parts.extensions.get::<Asked>().map_or(&parts.uri, |asked| &asked.0);
        Self::read(uri)
    }
}

impl<F: DeserializeOwned> List<F> {
    fn read(uri: &Uri) -> Result<Self, Problem> {
        let mut page = Page { limit: DEFAULT_LIMIT, cursor: None };
        let mut next = format!("{}?", uri.path());
        let mut filter = Vec::new();
        let mut seen = [false; 2];
        for (name, value) in query::pairs(uri.query().unwrap_or_default())? {
            let place = match name.as_str() {
                "limit" => 0,
                "cursor" => 1,
                _ => {
                    next.push_str(&format!("{}={}&", query::encode(&name), query::encode(&value)));
                    filter.push((name, value));
                    continue;
                }
            };
            if std::mem::replace(&mut seen[place], true) {
                let detail = format!("The query parameter `{name}` is given twice. Send it once.");
                return Err(Problem::bad_query(name, detail));
            }
            if place == 0 {
                page.limit = limit(&value)?;
            } else {
                page.cursor = Some(Cursor::parse(&value)?);
            }
        }
        next.push_str(&format!("limit={}&cursor=", page.limit));
        Ok(Self { page, filter: filter_of(filter)?, next })
    }
}

/// Names of the page are suggested too: `limt` is no filter.
fn filter_of<F: DeserializeOwned>(pairs: Vec<(String, String)>) -> Result<F, Problem> {
    let names: Vec<String> = pairs.iter().map(|(name, _)| name.clone()).collect();
    query::read(pairs).map_err(|problem| {
        let unknown = problem.code() == kinds::UNKNOWN_PARAMETER.code;
        let meant = names.iter().find_map(|name| {
            query::nearest(name, &["limit", "cursor"]).map(|near| (name.clone(), near))
        });
        match meant {
            Some((name, near)) if unknown && !problem.detail().contains("Did you mean") => {
                let detail =
                    format!("There is no query parameter `{name}`. Did you mean `{near}`?");
                Problem::new(&kinds::UNKNOWN_PARAMETER, detail).field(name)
            }
            _ => problem,
        }
    })
}

fn limit(text: &str) -> Result<usize, Problem> {
    let limit = text.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
    limit.ok_or_else(|| {
        let detail = format!("`limit` must be a whole number from 1 to {MAX_LIMIT}.");
        Problem::new(&kinds::BAD_LIMIT, detail).field("limit").limit(MAX_LIMIT as u64)
    })
}

impl<F> List<F> {
    /// The answer: these items, and the way to the next page when there is one.
    pub fn answer<T: Serialize>(&self, items: Vec<T>, next: Option<&Cursor>) -> Response {
        let next = next.map(|cursor| cursor.as_str().to_owned());
        let link = next.as_ref().map(|cursor| {
            let cursor = query::encode(cursor);
            format!("<{}{cursor}>; rel=\"next\"", self.next)
        });
        let mut response = Json(Items { items, next }).into_response();
        if let Some(link) = link.and_then(|link| HeaderValue::from_str(&link).ok()) {
            response.headers_mut().insert(header::LINK, link);
        }
        response
    }
}

/// A page of a list. The header `Link: rel="next"` leads to the next one as well.
#[derive(Debug, Serialize, ToSchema)]
pub struct Items<T> {
    /// The items in the order of the list.
    pub items: Vec<T>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Filter {
        chain: Option<String>,
    }

    fn read(uri: &'static str) -> Result<List<Filter>, Problem> {
        List::read(&Uri::from_static(uri))
    }

    #[test]
    fn a_page_has_a_default_and_a_range() {
        let list = read("/api/x").expect("a list");
        assert_eq!((list.page.limit, list.page.cursor), (50, None));
        let list = read("/api/x?limit=1000&cursor=abc&chain=btc&key=s").expect("a list");
        assert_eq!(list.page.limit, 1000);
        assert_eq!(list.page.cursor.expect("a cursor").as_str(), "abc");
        assert_eq!(list.filter.chain.as_deref(), Some("btc"));
        for uri in ["/?limit=0", "/?limit=1001", "/?limit=-1", "/?limit=x", "/?limit="] {
            let problem = read(uri).expect_err(uri);
            assert_eq!((problem.code(), problem.wire_field()), ("bad-limit", Some("limit")));
            assert!(problem.detail().contains("from 1 to 1000"));
        }
        for (uri, code) in [
            ("/?limit=1&limit=2", "bad-query"),
            ("/?chian=btc", "unknown-parameter"),
            ("/?chain=a&chain=b", "bad-query"),
        ] {
            assert_eq!(read(uri).expect_err(uri).code(), code, "{uri}");
        }
        let problem = read("/?limt=5").expect_err("a typing error");
        assert!(problem.detail().contains("`limit`"), "{}", problem.detail());
        let long = format!("/?cursor={}", "A".repeat(5000));
        let problem = List::<()>::read(&long.parse().expect("a URI")).expect_err("too long");
        assert_eq!(problem.code(), "bad-cursor");
        assert!(problem.detail().contains("`next` of the page before"));
    }

    #[test]
    fn the_next_page_keeps_the_filter_and_never_the_key() {
        let list = read("/api/x?key=secret&chain=a%20b&limit=2&cursor=old").expect("a list");
        let next = Cursor::parse("new-cursor").expect("a cursor");
        let answer = list.answer(vec![1, 2], Some(&next));
        let link = answer.headers()[header::LINK].to_str().expect("text");
        assert_eq!(link, "</api/x?chain=a%20b&limit=2&cursor=new-cursor>; rel=\"next\"");
        let last = list.answer(vec![1], None);
        assert!(!last.headers().contains_key(header::LINK));
    }
}
