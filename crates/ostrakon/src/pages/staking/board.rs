//! A list of those who have something staked, by how much: finality providers and stakers alike.

use ::staking::{ListPage, PublicKey, RankPlace};
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use web::Pager;

use super::page::{Page, Refused, cursor, here};
use super::parts::{Party, parties};

/// What differs between the lists.
pub(super) struct Board<'a> {
    /// The name of the list, for its cursors.
    pub(super) list: &'static str,
    /// Where it is behind the root, and its part of the page that renews itself.
    pub(super) place: (&'static str, &'static str),
    /// What all of them are called, and one.
    pub(super) named: (&'a str, &'a str),
    /// What is said when there is none.
    pub(super) none: &'a str,
    pub(super) link: fn(PublicKey) -> Markup,
}

impl Board<'_> {
    /// Behind whom the page begins.
    pub(super) fn after(
        &self,
        page: &Page,
        asked: Option<&str>,
    ) -> Result<Option<RankPlace>, Refused> {
        page.place((self.list, &()), asked)
    }

    /// The page. `all` is what everybody has staked.
    pub(super) fn answer(
        &self,
        page: &Page,
        asked: Option<&str>,
        found: &ListPage<Party, RankPlace>,
        all: u64,
    ) -> Response {
        let words = page.words();
        let (place, id) = self.place;
        let next = cursor((self.list, &()), found.next.as_ref());
        let path = page.path(place);
        let later = asked.is_some();
        let pager = Pager { words, path: &path, later, next: next.as_deref() };
        let content = html! {
            @if found.rows.is_empty() {
                (web::empty(self.none, words.no_delegations_advice))
            } @else { (parties(words, self.named, (&found.rows, all), self.link)) }
            (pager.links())
        };
        let content = html! {
            h1 { (self.named.0) }
            @if later { section { (content) } } @else { (page.live(id, &content)) }
        };
        page.answer(StatusCode::OK, (place, &here(place, asked)), self.named.0, &content)
    }
}
