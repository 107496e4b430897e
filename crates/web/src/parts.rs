//! Small parts that many pages use.

use maud::{Markup, html};

use crate::format;
use crate::messages::Messages;

/// A moment: in UTC as it is rendered, in the reader's zone once the script has run.
#[must_use]
pub fn time(unix: u64) -> Markup {
    let utc = format::utc(unix);
    let machine = format!("{}Z", utc.replace(' ', "T"));
    html! { time datetime=(machine) { (utc) " UTC" } }
}

/// What stands in place of a list without entries: what it would show, and what to do about it.
#[must_use]
pub fn empty(title: &str, advice: &str) -> Markup {
    html! { div.empty { p { strong { (title) } } p.note { (advice) } } }
}

/// Links to the first and the next page of a list.
#[derive(Debug)]
pub struct Pager<'a> {
    /// The words.
    pub words: &'a Messages,
    /// The path of the list with its filter, without a cursor: `/chains?kind=conflux`.
    pub path: &'a str,
    /// Whether this is not the first page.
    pub later: bool,
    /// The cursor of the next page.
    pub next: Option<&'a str>,
}

impl Pager<'_> {
    /// The links; nothing when all entries are on this page.
    #[must_use]
    pub fn links(&self) -> Markup {
        let joined = if self.path.contains('?') { '&' } else { '?' };
        html! {
            @if self.later || self.next.is_some() {
                nav.pager aria-label=(self.words.pages) {
                    @if self.later { a href=(self.path) { (self.words.first_page) } }
                    @if let Some(cursor) = self.next {
                        a rel="next" href={ (self.path) (joined) "cursor=" (cursor) } {
                            (self.words.next_page)
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::ENGLISH;

    #[test]
    fn a_moment_is_readable_by_people_and_programs() {
        let text = time(1_763_240_000).into_string();
        assert_eq!(text, "<time datetime=\"2025-11-15T20:53:20Z\">2025-11-15 20:53:20 UTC</time>");
    }

    #[test]
    fn a_pager_keeps_the_filter() {
        let pager =
            |path, later, next| Pager { words: &ENGLISH, path, later, next }.links().into_string();
        assert_eq!(pager("/a", false, None), "");
        assert!(pager("/a", false, Some("c")).contains("href=\"/a?cursor=c\""));
        assert!(pager("/a?b=1", true, Some("c")).contains("href=\"/a?b=1&amp;cursor=c\""));
        assert!(pager("/a?b=1", true, None).contains("href=\"/a?b=1\""));
    }
}
