//! What every page of staking has: its navigation, its refusals, its cursors.

use ::staking::{PublicKey, StakingError, TxHash};
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use platform::ListCursor;
use platform::http::Problem;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use web::{Link, Messages};

use crate::pages::kit::{Visitor, answer};
pub(super) use crate::pages::refusal::Refused;
use crate::pages::refusal::refuse;
use crate::server::App;

/// Lines of a list on one page.
pub(super) const LINES: usize = 25;
/// Where all of these pages are.
const ROOT: &str = "/staking";
/// Tells of changes; the parts that show things as they are now wait for it.
const CHANGED: &str = "staking.delegations.changed";

/// The sections that everybody sees.
const SECTIONS: [Link; 3] = [
    Link { path: "", name: |words| words.overview },
    Link { path: "/providers", name: |words| words.providers },
    Link { path: "/stakers", name: |words| words.stakers },
];
/// The section for operators.
const OPERATORS: Link = Link { path: "/unprocessable", name: |words| words.unprocessable };

/// Where a list begins.
#[derive(Debug, Deserialize)]
pub(super) struct Listed {
    /// The cursor that the page before gave.
    pub(super) cursor: Option<String>,
    /// The language, which the visitor has read already.
    #[serde(default)]
    #[allow(dead_code, reason = "parameters that nobody names are refused")]
    lang: Option<String>,
}

impl From<StakingError> for Refused {
    fn from(error: StakingError) -> Self {
        Self::Problem(error.into())
    }
}

/// A page about staking.
pub(super) struct Page {
    pub(super) visitor: Visitor,
    /// The newest event before anything was read: what comes behind it may not be on the page.
    event: u64,
}

impl Page {
    /// Begins a page.
    pub(super) async fn open(app: &App, visitor: Visitor) -> Result<Self, Refused> {
        let span = app.platform.events.span().await.map_err(Problem::from)?;
        Ok(Self { visitor, event: span.map_or(0, |(_, newest)| newest) })
    }

    /// The words of the reader.
    pub(super) fn words(&self) -> &'static Messages {
        self.visitor.words()
    }

    /// A path of these pages.
    pub(super) fn path(&self, rest: &str) -> String {
        format!("{ROOT}{rest}")
    }

    /// A part of the page that renews itself when delegations change.
    pub(super) fn live(&self, id: &str, content: &Markup) -> Markup {
        html! { section id=(id) data-live=(CHANGED) data-behind=(self.event) { (content) } }
    }

    fn sections(&self, section: &str) -> Markup {
        let words = self.words();
        let own = self.visitor.is_operator().then_some(OPERATORS);
        html! {
            nav.tabs aria-label=(words.staking) {
                @for Link { path, name } in SECTIONS.into_iter().chain(own) {
                    @let here = (path == section).then_some("page");
                    a href=(self.path(path)) aria-current=[here] { (name(words)) }
                }
            }
        }
    }

    /// The whole page. `here` is its path behind the root, with its query.
    pub(super) fn answer(
        &self,
        status: StatusCode,
        (section, here): (&str, &str),
        title: &str,
        content: &Markup,
    ) -> Response {
        let words = self.words();
        let whole = html! {
            (self.sections(section))
            (content)
        };
        let title = match here {
            "" => title.to_owned(),
            _ => format!("{title} · {}", words.staking),
        };
        answer(&self.visitor, status, (&title, &self.path(here)), &whole)
    }

    /// There is no such thing.
    pub(super) fn missing(&self, title: &str) -> Refused {
        self.refuse(StatusCode::NOT_FOUND, title, self.words().no_such_staking_advice)
    }

    /// It cannot be meant.
    pub(super) fn bad(&self, title: &str, advice: &str) -> Refused {
        self.refuse(StatusCode::BAD_REQUEST, title, advice)
    }

    fn refuse(&self, status: StatusCode, title: &str, advice: &str) -> Refused {
        let back = (ROOT, self.words().to_staking);
        refuse(&self.visitor, status, (title, advice), (ROOT, back))
    }

    /// A key of the path.
    pub(super) fn key(&self, text: &str) -> Result<PublicKey, Refused> {
        let words = self.words();
        PublicKey::parse(text).map_err(|_| self.bad(words.bad_key, words.bad_key_advice))
    }

    /// A hash of the path.
    pub(super) fn hash(&self, text: &str) -> Result<TxHash, Refused> {
        let words = self.words();
        TxHash::parse(text).map_err(|_| self.bad(words.bad_hash, words.bad_key_advice))
    }

    /// The place that a cursor of the list called `name` leads to; `bound` is its filter.
    pub(super) fn place<T: DeserializeOwned>(
        &self,
        (name, bound): (&str, &impl Serialize),
        cursor: Option<&str>,
    ) -> Result<Option<T>, Refused> {
        let Some(cursor) = cursor else { return Ok(None) };
        let words = self.words();
        let place = ListCursor::place(name, bound, cursor);
        place.map(Some).map_err(|_| self.bad(words.bad_cursor, words.bad_cursor_advice))
    }
}

/// The cursor of a page that ended at `last`.
pub(super) fn cursor(
    (name, bound): (&str, &impl Serialize),
    last: Option<&impl Serialize>,
) -> Option<String> {
    last.map(|last| ListCursor::behind(name, bound, last))
}

/// The path of a list with where it begins, to be opened in the other language.
pub(super) fn here(path: &str, cursor: Option<&str>) -> String {
    let joined = if path.contains('?') { '&' } else { '?' };
    cursor.map_or_else(|| path.to_owned(), |cursor| format!("{path}{joined}cursor={cursor}"))
}
