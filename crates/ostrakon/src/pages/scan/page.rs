//! What every page of the explorer has: a chain, one view of it, its navigation, its refusals.

use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use platform::http::Problem;
use scan::query::Scan;
use scan::{Address, Explorer, Hash};
use serde::Deserialize;
use store::DecodeError;
use timeline::{View, ViewError};
use web::{Link, Messages};

use crate::pages::kit::{Visitor, answer};
pub(super) use crate::pages::refusal::Refused;
use crate::pages::refusal::refuse;
use crate::server::App;

/// The network of addresses when no block has told it yet.
const MAIN_NETWORK: u64 = 1029;

/// The sections of the explorer: what follows the chain's name in the path, and the name.
const SECTIONS: [Link; 9] = [
    Link { path: "", name: |words| words.overview },
    Link { path: "/epochs", name: |words| words.epochs },
    Link { path: "/blocks", name: |words| words.blocks },
    Link { path: "/transactions", name: |words| words.transactions },
    Link { path: "/miners", name: |words| words.miners },
    Link { path: "/pivot-chain", name: |words| words.pivot_chain },
    Link { path: "/graph", name: |words| words.tree_graph },
    Link { path: "/charts", name: |words| words.charts },
    Link { path: "/journal", name: |words| words.journal },
];

/// Where a list begins.
#[derive(Debug, Deserialize)]
pub(super) struct Listed {
    /// The number of its first line.
    pub(super) from: Option<u64>,
    /// The language, which the visitor has read already.
    #[serde(default)]
    #[allow(dead_code, reason = "parameters that nobody names are refused")]
    lang: Option<String>,
}

impl From<ViewError> for Refused {
    fn from(error: ViewError) -> Self {
        Self::Problem(scan::api::problem(error))
    }
}

impl From<DecodeError> for Refused {
    fn from(error: DecodeError) -> Self {
        Self::Problem(Problem::internal(error))
    }
}

/// A page about one state of a chain.
pub(super) struct Page {
    pub(super) visitor: Visitor,
    pub(super) explorer: Explorer,
    pub(super) view: View,
    /// The network that shows in addresses.
    pub(super) network: u64,
    /// The newest event before the view was taken: whatever comes behind it may not be in it.
    pub(super) event: u64,
}

impl Page {
    /// Begins a page about the chain called `chain`.
    pub(super) async fn open(app: &App, visitor: Visitor, chain: &str) -> Result<Self, Refused> {
        let Some(explorer) = app.explorers.get(chain) else {
            let words = visitor.words();
            let said = (words.not_explored, words.not_explored_advice);
            let back = ("/chains", words.all_chains);
            return Err(refuse(&visitor, StatusCode::NOT_FOUND, said, ("/chains", back)));
        };
        Self::with(app, visitor, explorer).await
    }

    /// The same for a chain that is known to be explored.
    pub(super) async fn with(
        app: &App,
        visitor: Visitor,
        explorer: Explorer,
    ) -> Result<Self, Refused> {
        let span = app.platform.events.span().await.map_err(Problem::from)?;
        let event = span.map_or(0, |(_, newest)| newest);
        let view = explorer.view().await?;
        let network = Scan::new(explorer.timeline(), &view).network().await?;
        let network = network.unwrap_or(MAIN_NETWORK);
        Ok(Self { visitor, explorer, view, network, event })
    }

    /// The words of the reader.
    pub(super) fn words(&self) -> &'static Messages {
        self.visitor.words()
    }

    /// What can be asked.
    pub(super) fn scan(&self) -> Scan<'_> {
        Scan::new(self.explorer.timeline(), &self.view)
    }

    /// A path of this chain.
    pub(super) fn path(&self, rest: &str) -> String {
        format!("/chains/{}{rest}", self.explorer.name())
    }

    /// The links to all sections; `section` is the one this page belongs to.
    pub(super) fn sections(&self, section: &str) -> Markup {
        let words = self.words();
        html! {
            nav.tabs aria-label=(words.explorer) {
                @for Link { path, name } in SECTIONS {
                    @let here = (path == section).then_some("page");
                    a href=(self.path(path)) aria-current=[here] { (name(words)) }
                }
            }
        }
    }

    /// A part of the page that renews itself when an epoch comes or goes.
    pub(super) fn live(&self, id: &str, content: &Markup) -> Markup {
        html! {
            section id=(id) data-live="scan.epochs" data-chain=(self.explorer.name())
                data-behind=(self.event) { (content) }
        }
    }

    /// The whole page. `here` is its path behind the chain's name, with its query.
    pub(super) fn answer(
        &self,
        (section, here): (&str, &str),
        title: &str,
        content: &Markup,
    ) -> Result<Response, Refused> {
        // Rows that a view sees are kept for some minutes; what was read later may have holes.
        self.explorer.timeline().check_age(&self.view)?;
        let whole = html! {
            p.trail {
                a href="/chains" { (self.words().chains) } " / "
                a href=(self.path("")) { (self.explorer.name()) }
            }
            (self.sections(section))
            (content)
        };
        let title = format!("{title} · {}", self.explorer.name());
        Ok(answer(&self.visitor, StatusCode::OK, (&title, &self.path(here)), &whole))
    }

    /// There is no such thing.
    pub(super) fn missing(&self, title: &str, advice: &str) -> Refused {
        self.refuse(StatusCode::NOT_FOUND, title, advice)
    }

    /// It cannot be meant.
    pub(super) fn bad(&self, title: &str, advice: &str) -> Refused {
        self.refuse(StatusCode::BAD_REQUEST, title, advice)
    }

    fn refuse(&self, status: StatusCode, title: &str, advice: &str) -> Refused {
        let (path, name) = (self.path(""), self.words().to_the_chain);
        refuse(&self.visitor, status, (title, advice), ("/chains", (&path, name)))
    }

    /// A hash of the path.
    pub(super) fn hash(&self, text: &str) -> Result<Hash, Refused> {
        let words = self.words();
        Hash::parse(text).map_err(|_| self.bad(words.bad_hash, words.bad_hash_advice))
    }

    /// An address of the path.
    pub(super) fn address(&self, text: &str) -> Result<Address, Refused> {
        let words = self.words();
        Address::parse(text).map_err(|_| self.bad(words.bad_address, words.bad_address_advice))
    }

    /// A number of the path.
    pub(super) fn number(&self, text: &str) -> Result<u64, Refused> {
        let words = self.words();
        // A sign is no digit, though it would be read.
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| digits);
        number.ok_or_else(|| self.bad(words.bad_number, words.bad_number_advice))
    }
}
