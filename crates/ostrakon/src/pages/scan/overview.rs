//! What the explorer adds to the page of its chain: figures and the newest epochs.

use maud::{Markup, html};
use platform::http::Problem;
use scan::tables::{CONFIRMED, FINALIZED};
use timeline::Lane;
use web::format;

use super::epochs;
use super::page::{Page, Refused};
use crate::pages::kit::Visitor;
use crate::server::App;

/// Epochs that the page begins with.
const EPOCHS: u64 = 10;

/// The parts of the chain's page.
pub(in crate::pages) struct Explored {
    /// The links to all sections.
    pub(in crate::pages) sections: Markup,
    /// Figures and newest epochs.
    pub(in crate::pages) content: Markup,
}

/// The parts for a chain, and the visitor again; no parts when it is not explored.
pub(in crate::pages) async fn of_chain(
    app: &App,
    visitor: Visitor,
    chain: &str,
) -> Result<(Visitor, Option<Explored>), Problem> {
    let Some(explorer) = app.explorers.get(chain) else { return Ok((visitor, None)) };
    let made = async {
        let page = Page::with(app, visitor, explorer).await?;
        let content = html! {
            (page.live("figures", &figures(&page).await?))
            (page.live("newest", &epochs::newest(&page, EPOCHS).await?))
        };
        Ok::<_, Refused>((page.sections(""), content, page))
    };
    match made.await {
        Ok((sections, content, page)) => Ok((page.visitor, Some(Explored { sections, content }))),
        Err(Refused::Problem(problem)) => Err(problem),
        Err(Refused::Page(_)) => Err(Problem::internal("a chain's page was refused")),
    }
}

async fn figures(page: &Page) -> Result<Markup, Refused> {
    let words = page.words();
    let totals = page.scan().totals().await?;
    let latest = page.scan().latest(page.explorer.latest()).await?;
    let epoch =
        |lane| page.scan().head(lane).map_or_else(|| html! { "–" }, |it| page.epoch_link(it));
    let plain = |text: String| html! { (text) };
    let rate = latest.transactions as f64 / latest.seconds.max(1) as f64;
    let of_latest = |name: &str| name.replace("{}", &format::count(latest.blocks));
    let figures = [
        (words.newest_mined.to_owned(), epoch(Lane::MINED)),
        (words.newest_executed.to_owned(), epoch(Lane::EXECUTED)),
        (words.newest_confirmed.to_owned(), epoch(CONFIRMED)),
        (words.newest_finalized.to_owned(), epoch(FINALIZED)),
        (words.blocks.to_owned(), plain(format::count(totals.blocks))),
        (words.transactions.to_owned(), plain(format::count(totals.transactions))),
        (words.accounts.to_owned(), plain(format::count(totals.accounts))),
        (words.miners.to_owned(), plain(format::count(totals.miners))),
        (of_latest(words.latest_difficulty), plain(format::large(latest.difficulty))),
        (of_latest(words.latest_tps), plain(format::short(rate))),
    ];
    Ok(html! {
        dl.facts {
            @for (name, value) in figures { div { dt { (name) } dd { (value) } } }
        }
    })
}
