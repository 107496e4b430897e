//! The page with the picture of the tree-graph.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use platform::http::{Path, Query};
use scan::popped::{self, Place};
use scan::query::BlockAnswer;
use scan::{Hash, journal};
use serde::Deserialize;
use store::Order;
use timeline::Lane;
use web::format;

use super::fields;
use super::page::{Page, Refused};
use super::parts::{scrolled, shortened};
use super::picture::{self, Column, Dot, Kind};
use crate::pages::kit::Visitor;
use crate::server::App;

/// Epochs that are drawn when nobody says which, and at the most.
const USUAL: u64 = 24;
const MOST: u64 = 200;
/// Other blocks of one epoch that are drawn.
const OTHERS: usize = 12;
/// Ghosts of one epoch that are drawn.
const GHOSTS: usize = 4;
/// Switches that are looked through for ghosts.
const SWITCHES: usize = 24;
/// Popped blocks of one of them that are looked at.
const POPPED: usize = 500;

/// Which epochs are to be drawn.
#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    from: Option<u64>,
    to: Option<u64>,
    /// The language, which the visitor has read already.
    #[serde(default)]
    #[allow(dead_code, reason = "parameters that nobody names are refused")]
    lang: Option<String>,
}

impl Asked {
    /// First and last epoch of a chain that ends at `head`; none when they cannot be drawn.
    fn stretch(&self, head: u64) -> Option<(u64, u64)> {
        let (from, to) = match (self.from, self.to) {
            (None, to) => {
                let to = to.unwrap_or(head).min(head);
                (to.saturating_sub(USUAL - 1), to)
            }
            (Some(from), None) => (from, from.saturating_add(USUAL - 1).min(head)),
            (Some(from), Some(to)) => (from, to.min(head)),
        };
        (from <= to && to - from < MOST).then_some((from, to))
    }
}

pub(super) async fn page(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(chain): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor, &chain).await?;
    let words = page.words();
    let title = words.tree_graph;
    let Some(head) = page.scan().head(Lane::MINED) else {
        let content = html! {
            h1 { (title) }
            (page.live("graph", &web::empty(words.no_epochs, words.no_blocks_advice)))
        };
        return page.answer(("/graph", "/graph"), title, &content);
    };
    if asked.from.is_some_and(|from| from > head) {
        let advice = format!("{} {}.", words.no_such_epoch_advice, format::count(head));
        return Err(page.missing(words.no_such_epoch, &advice));
    }
    let stretch = asked.stretch(head);
    let (from, to) = stretch.ok_or_else(|| page.bad(words.bad_range, words.bad_range_advice))?;
    let columns = columns(&page, (from, to)).await?;
    let name = format!("{title} {from} – {to}");
    let drawn = picture::draw(&columns, &name, words.more_blocks);
    let content = html! {
        (choice(&page, (from, to), head))
        (scrolled(&name, &drawn))
        (legend(&page))
        details {
            summary { (words.graph_table) }
            (scrolled(words.graph_table, &table(&page, &columns)))
        }
    };
    let renewed = asked.from.is_none() && asked.to.is_none();
    let content = html! {
        h1 { (title) }
        @if renewed { (page.live("graph", &content)) } @else { section { (content) } }
    };
    let here = if renewed { "/graph".into() } else { format!("/graph?from={from}&to={to}") };
    page.answer(("/graph", &here), title, &content)
}

/// The form that asks for other epochs, and the ways to the sides.
fn choice(page: &Page, (from, to): (u64, u64), head: u64) -> Markup {
    let words = page.words();
    let path = page.path("/graph");
    let width = to - from + 1;
    let to_side = |from: u64| format!("{path}?from={from}&to={}", (from + width - 1).min(head));
    html! {
        form.row.narrow action=(path) {
            label { span { (words.from_epoch) }
                input type="number" name="from" min="0" required value=(from);
            }
            label { span { (words.to_epoch) }
                input type="number" name="to" min="0" required value=(to);
            }
            button { (words.show) }
        }
        nav.pager aria-label=(words.pages) {
            @if from > 0 {
                a rel="prev" href=(to_side(from.saturating_sub(width))) { (words.previous) }
            }
            @if to < head {
                a rel="next" href=(to_side(to + 1)) { (words.following) }
                a href=(path) { (words.newest) }
            }
        }
    }
}

fn legend(page: &Page) -> Markup {
    let words = page.words();
    let dots = [
        ("pivot", words.pivot_block),
        ("other", words.other_block),
        ("skipped", words.skipped),
        ("ghost", words.ghost),
    ];
    html! {
        ul.legend aria-label=(words.graph_legend) {
            @for (class, name) in dots {
                li {
                    svg.graph width="20" height="20" viewBox="0 0 20 20" aria-hidden="true" {
                        g class=(class) { circle cx="10" cy="10" r="6.5" {} }
                    }
                    (name)
                }
            }
            @for (class, name) in [("parent", words.parent_edge), ("referee", words.referee_edge)] {
                li {
                    svg.graph width="28" height="20" viewBox="0 0 28 20" aria-hidden="true" {
                        path class=(class) d="M2 10H26" {}
                    }
                    (name)
                }
            }
        }
    }
}

/// Everything that is drawn.
async fn columns(page: &Page, (from, to): (u64, u64)) -> Result<Vec<Column>, Refused> {
    let count = (to - from + 1) as usize;
    let epochs = page.scan().epochs((from, Order::Ascending, count)).await?;
    let mut wanted: Vec<(usize, Hash, Kind)> = Vec::new();
    let mut columns = Vec::with_capacity(epochs.len());
    for (index, (epoch, row)) in epochs.iter().enumerate() {
        let Some((pivot, others)) = row.blocks.split_last() else { continue };
        let others = others.iter().map(|hash| (index, *hash, Kind::Other));
        let skipped = row.skipped.iter().map(|hash| (index, *hash, Kind::Skipped));
        wanted.extend(others.chain(skipped).take(OTHERS));
        wanted.push((index, *pivot, Kind::Pivot));
        let all = row.blocks.len() - 1 + row.skipped.len();
        columns.push(Column { epoch: *epoch, dots: Vec::new(), more: all.saturating_sub(OTHERS) });
    }
    let hashes: Vec<Hash> = wanted.iter().map(|(_, hash, _)| *hash).collect();
    let known = page.scan().blocks_of(&hashes).await?;
    for ((index, hash, kind), known) in wanted.into_iter().zip(known) {
        let (Some(column), Some(known)) = (columns.get_mut(index), known) else { continue };
        column.dots.push(dot(page, hash, kind, &known)?);
    }
    for (epoch, ghosts) in ghosts(page, (from, to)).await? {
        let Some(column) = columns.iter_mut().find(|column| column.epoch == epoch) else {
            continue;
        };
        for (hash, known) in ghosts.iter().take(GHOSTS) {
            column.dots.push(dot(page, *hash, Kind::Ghost, known)?);
        }
    }
    Ok(columns)
}

/// Blocks that recent switches popped out of these epochs, and that are in none now.
async fn ghosts(
    page: &Page,
    (from, to): (u64, u64),
) -> Result<BTreeMap<u64, Vec<(Hash, BlockAnswer)>>, Refused> {
    let timeline = page.explorer.timeline();
    let recent = journal::page(timeline, page.view.tip().switches, SWITCHES).await?;
    let mut found: Vec<(u64, Hash)> = Vec::new();
    let mut seen = HashSet::new();
    for (number, line) in recent.switches {
        if line.popped.0 > to || line.popped.1 < from {
            continue;
        }
        let begin = Place { epoch: from, ..Place::default() };
        let blocks = popped::blocks(timeline, number, begin, POPPED).await?.items.into_iter();
        let blocks = blocks.map(|it| (it.place.epoch, it.hash)).filter(|(epoch, _)| *epoch <= to);
        found.extend(blocks.filter(|(_, hash)| seen.insert(*hash)));
    }
    let hashes: Vec<Hash> = found.iter().map(|(_, hash)| *hash).collect();
    let known = page.scan().blocks_of(&hashes).await?;
    let mut ghosts: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for ((epoch, hash), known) in found.into_iter().zip(known) {
        if let Some(known) = known.filter(|known| known.seat.is_none()) {
            ghosts.entry(epoch).or_default().push((hash, known));
        }
    }
    Ok(ghosts)
}

fn dot(page: &Page, hash: Hash, kind: Kind, known: &BlockAnswer) -> Result<Dot, Refused> {
    let words = page.words();
    let read = known.facts.fields.read()?;
    let miner = fields::address(read.get("miner")).map(|it| it.base32(page.network));
    let miner = miner.unwrap_or_default();
    let state = match kind {
        Kind::Pivot => words.pivot,
        Kind::Other => words.in_epoch,
        Kind::Skipped => words.skipped,
        Kind::Ghost => words.orphaned,
    };
    let title = format!(
        "{} {} ({state}) · {} {} · {} {}",
        words.block,
        shortened(&hash.to_string(), 10, 6),
        words.miner,
        shortened(&miner, 14, 6),
        words.transactions,
        format::count(known.facts.transactions.into()),
    );
    let referees = read.get("refereeHashes").and_then(|list| list.as_array());
    Ok(Dot {
        hash,
        kind,
        path: page.path(&format!("/blocks/{hash}")),
        title,
        parent: fields::hash(read.get("parentHash")),
        referees: referees.into_iter().flatten().filter_map(|it| fields::hash(Some(it))).collect(),
    })
}

/// The picture for those who do not see it.
fn table(page: &Page, columns: &[Column]) -> Markup {
    let words = page.words();
    html! {
        table {
            thead { tr {
                th.number { (words.epoch) } th { (words.block) } th { (words.state) }
                th { (words.parent) } th { (words.referees) }
            } }
            tbody {
                @for column in columns.iter().rev() {
                    @for dot in &column.dots {
                        tr {
                            td.number { (page.epoch_link(column.epoch)) }
                            th scope="row" { (page.block_link(dot.hash)) }
                            td.word { (match dot.kind {
                                Kind::Pivot => words.pivot,
                                Kind::Other => words.in_epoch,
                                Kind::Skipped => words.skipped,
                                Kind::Ghost => words.orphaned,
                            }) }
                            td { @match dot.parent {
                                Some(parent) if parent.0 != [0; 32] => (page.block_link(parent)),
                                _ => "–",
                            } }
                            td { @for it in &dot.referees { (page.block_link(*it)) " " } }
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

    #[test]
    fn a_stretch_stays_on_the_chain_and_within_the_limit() {
        let check = |from, to, expected| {
            let asked = Asked { from, to, lang: None };
            assert_eq!(asked.stretch(1000), expected, "{from:?} {to:?}");
        };
        check(None, None, Some((977, 1000)));
        check(None, Some(10), Some((0, 10)));
        check(Some(990), None, Some((990, 1000)));
        check(Some(5), Some(u64::MAX), None);
        check(Some(900), Some(u64::MAX), Some((900, 1000)));
        check(Some(0), Some(199), Some((0, 199)));
        check(Some(0), Some(200), None);
        check(Some(9), Some(8), None);
        check(Some(1001), None, None);
    }
}
