//! Small parts of the explorer's pages: links, badges, amounts, the way through a list.

use axum::response::Response;
use maud::{Markup, html};
use scan::answers::{BlockState, EpochState};
use scan::{Address, Hash};
use web::{Messages, format};

use super::page::{Page, Refused};
pub(super) use crate::pages::kit::{scrolled, shortened};

/// Lines of a list on one page.
pub(super) const LINES: u64 = 25;

impl Page {
    /// A link to a block.
    pub(super) fn block_link(&self, hash: Hash) -> Markup {
        self.hash_link("/blocks/", hash)
    }

    /// A link to a transaction.
    pub(super) fn transaction_link(&self, hash: Hash) -> Markup {
        self.hash_link("/transactions/", hash)
    }

    fn hash_link(&self, place: &str, hash: Hash) -> Markup {
        let text = hash.to_string();
        html! {
            a href={ (self.path(place)) (text) } title=(text) { code { (shortened(&text, 8, 4)) } }
        }
    }

    /// A link to an epoch.
    pub(super) fn epoch_link(&self, number: u64) -> Markup {
        html! { a href={ (self.path("/epochs/")) (number) } { (format::count(number)) } }
    }

    /// A link to an account.
    pub(super) fn account_link(&self, address: Address) -> Markup {
        self.address_link("/accounts/", address)
    }

    /// A link to a miner.
    pub(super) fn miner_link(&self, address: Address) -> Markup {
        self.address_link("/miners/", address)
    }

    fn address_link(&self, place: &str, address: Address) -> Markup {
        let text = address.base32(self.network);
        // The network is the same everywhere on the page: what tells addresses apart is behind it.
        let (_, body) = text.split_once(':').unwrap_or_default();
        html! {
            a href={ (self.path(place)) (text) } title=(text) { code { (shortened(body, 5, 4)) } }
        }
    }

    /// How far an epoch has come.
    pub(super) fn epoch_state(&self, number: u64) -> Markup {
        let words = self.words();
        html! {
            @match self.scan().epoch_state(number) {
                EpochState::Finalized => span.badge.good { (words.finalized) },
                EpochState::Confirmed => span.badge.good { (words.confirmed) },
                EpochState::Executed => span.badge.watch { (words.executed) },
                EpochState::Mined => span.badge { (words.mined) },
            }
        }
    }
}

/// What has become of a block.
pub(super) fn block_state(words: &Messages, state: BlockState) -> Markup {
    html! {
        @match state {
            BlockState::Pivot => span.badge.good { (words.pivot) },
            BlockState::InEpoch => span.badge.good { (words.in_epoch) },
            BlockState::Skipped => span.badge.watch { (words.skipped) },
            BlockState::Orphaned => span.badge.change { (words.orphaned) },
        }
    }
}

/// An amount of Drip, in CFX; the Drip is in its title.
pub(super) fn amount(drip: u128) -> Markup {
    html! { span title={ (format::large(drip)) " Drip" } { (format::whole_of_18(drip)) " CFX" } }
}

/// The way through a list whose lines have numbers, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// The number of the first line.
    pub(super) start: u64,
    /// Whether the newest line is the first one here.
    pub(super) newest: bool,
    newer: Option<u64>,
    older: Option<u64>,
}

impl Way {
    /// Through a list of `count` lines, from the one asked for or the newest.
    pub(super) fn new(count: u64, asked: Option<u64>) -> Option<Self> {
        let last = count.checked_sub(1)?;
        let start = asked.unwrap_or(last).min(last);
        let newest = start == last;
        let newer = (!newest).then(|| start.saturating_add(LINES).min(last));
        Some(Self { start, newest, newer, older: start.checked_sub(LINES) })
    }

    /// The same where some lines are left out: on from `older`, and back only to the newest, since
    /// nobody knows how many are left out above.
    pub(super) fn sifted(self, older: Option<u64>) -> Self {
        Self { newer: None, older, ..self }
    }

    /// The links; nothing when all lines are on this page. `path` may have a query.
    pub(super) fn links(&self, words: &Messages, path: &str) -> Markup {
        let joined = if path.contains('?') { '&' } else { '?' };
        let to = |number: u64| format!("{path}{joined}from={number}");
        html! {
            @if !self.newest || self.older.is_some() {
                nav.pager aria-label=(words.pages) {
                    @if !self.newest { a href=(path) { (words.newest) } }
                    @if let Some(newer) = self.newer {
                        a rel="prev" href=(to(newer)) { (words.newer) }
                    }
                    @if let Some(older) = self.older {
                        a rel="next" href=(to(older)) { (words.older) }
                        a href=(to(LINES - 1)) { (words.oldest) }
                    }
                }
            }
        }
    }
}

impl Page {
    /// The page of a section that is a list: its table, and the links to the rest. `asked` is the
    /// line that was asked for.
    pub(super) fn list(
        &self,
        (section, title): (&str, &str),
        (way, asked): (Option<Way>, Option<u64>),
        table: &Markup,
    ) -> Result<Response, Refused> {
        let content = html! {
            (table)
            @if let Some(way) = way { (way.links(self.words(), &self.path(section))) }
        };
        // An older page stays as it is; only the newest one grows.
        let renewed = way.is_none_or(|way| way.newest);
        let id = section.trim_start_matches('/');
        let content = html! {
            h1 { (title) }
            @if renewed { (self.live(id, &content)) } @else { section { (content) } }
        };
        self.answer((section, &here(section, asked)), title, &content)
    }
}

/// The path of a list with where it begins, to be opened in the other language.
pub(super) fn here(path: &str, from: Option<u64>) -> String {
    from.map_or_else(|| path.to_owned(), |from| format!("{path}?from={from}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_leads_to_both_ends_and_not_beyond() {
        let check = |count, asked, expected: Option<(u64, Option<u64>, Option<u64>)>| {
            let way = Way::new(count, asked).map(|way| (way.start, way.newer, way.older));
            assert_eq!(way, expected, "{count} {asked:?}");
        };
        check(0, None, None);
        check(1, None, Some((0, None, None)));
        check(25, None, Some((24, None, None)));
        check(26, None, Some((25, None, Some(0))));
        check(60, Some(30), Some((30, Some(55), Some(5))));
        check(60, Some(50), Some((50, Some(59), Some(25))));
        check(60, Some(u64::MAX), Some((59, None, Some(34))));
        check(60, Some(3), Some((3, Some(28), None)));
    }
}
