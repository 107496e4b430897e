//! Chains and their nodes.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, html};
use platform::chains::{Chain, ChainKind, Source, Tip};
use platform::http::{Path, Problem};
use platform::projects::Which;
use web::{Messages, format};

use super::kit::{Visitor, answer, moment};
use super::scan;
use crate::server::App;

/// What the nodes of a chain say, by their names.
type Tips = Vec<(String, Tip)>;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/chains", get(all)).route("/chains/{chain}", get(one))
}

fn kind(kind: ChainKind) -> &'static str {
    match kind {
        ChainKind::Conflux => "Conflux",
        ChainKind::Evm => "EVM",
        ChainKind::Bitcoin => "Bitcoin",
        ChainKind::Substrate => "Substrate",
        ChainKind::Cosmos => "Cosmos",
        _ => "JSON-RPC",
    }
}

/// The highest height any node says.
fn highest(tips: &[(String, Tip)]) -> Option<u64> {
    tips.iter().filter_map(|(_, tip)| tip.height).max()
}

fn badge(words: &Messages, enabled: bool) -> Markup {
    html! {
        @if enabled { span.badge.good { (words.served) } }
        @else { span.badge { (words.not_served) } }
    }
}

/// A card for each chain.
pub(super) async fn cells(app: &App, words: &Messages) -> Result<Markup, Problem> {
    let chains = app.platform.chains.current();
    let mut cards = Vec::new();
    for (_, chain) in chains.iter() {
        cards.push((chain, app.platform.tips.of(&chain.name).await?));
    }
    Ok(html! {
        @if cards.is_empty() { (web::empty(words.no_chains, words.no_chains_advice)) }
        div.cells {
            @for (chain, tips) in &cards {
                a.cell href={ "/chains/" (chain.name) } {
                    strong { (chain.name) }
                    span.note {
                        (kind(chain.kind)) " · " (chain.network)
                        @if app.explorers.get(chain.name.as_str()).is_some() {
                            " · " (words.explorer)
                        }
                    }
                    span.height {
                        @match highest(tips) {
                            Some(height) => { " " (format::count(height)) }
                            None => { " –" }
                        }
                    }
                }
            }
        }
    })
}

async fn all(State(app): State<Arc<App>>, visitor: Visitor) -> Result<Response, Problem> {
    let words = visitor.words();
    let chains = app.platform.chains.current();
    let mut rows = Vec::new();
    for (source, chain) in chains.iter() {
        rows.push((source, chain, app.platform.tips.of(&chain.name).await?));
    }
    let content = html! {
        h1 { (words.chains) }
        section {
            @if rows.is_empty() {
                (web::empty(words.no_chains, words.no_chains_advice))
            } @else {
                div.scroll role="region" tabindex="0" aria-label=(words.chains) {
                    (table(words, &rows))
                }
            }
        }
    };
    Ok(answer(&visitor, StatusCode::OK, (words.chains, "/chains"), &content))
}

fn table(words: &Messages, rows: &[(Source, &Chain, Tips)]) -> Markup {
    html! {
        table {
            thead { tr {
                th { (words.name) } th { (words.kind) } th { (words.network) }
                th.number { (words.tip) } th.number { (words.nodes) } th { (words.source) }
                th { (words.state) }
            } }
            tbody {
                @for (source, chain, tips) in rows {
                    tr {
                        th scope="row" { a href={ "/chains/" (chain.name) } { (chain.name) } }
                        td { (kind(chain.kind)) }
                        td { (chain.network) }
                        td.number {
                            @match highest(tips) {
                                Some(height) => (format::count(height)),
                                None => "–",
                            }
                        }
                        td.number { (chain.nodes.len()) }
                        td { (origin(words, *source)) }
                        td { (badge(words, chain.enabled)) }
                    }
                }
            }
        }
    }
}

fn origin(words: &Messages, source: Source) -> &'static str {
    match source {
        Source::Configured => words.from_configuration,
        Source::Stored => words.from_api,
    }
}

async fn one(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let words = visitor.words();
    let chains = app.platform.chains.current();
    let found = chains.iter().find(|(_, chain)| chain.name.as_str() == name);
    let missing = || Problem::not_found(format_args!("chain of this name"));
    let (source, chain) = found.ok_or_else(missing)?;
    let (visitor, explored) = scan::of_chain(&app, visitor, &name).await?;
    let tips = app.platform.tips.of(&chain.name).await?;
    let projects = app.platform.projects.count(&Which::Chain(chain.name.clone())).await?;
    let content = html! {
        div.top { h1 { (chain.name) } (badge(words, chain.enabled)) }
        p.lead { a href="/chains" { "← " (words.all_chains) } }
        @if let Some(scan::Explored { sections, content }) = &explored {
            (sections)
            (content)
        }
        section {
            dl.facts {
                div { dt { (words.kind) } dd { (kind(chain.kind)) } }
                div { dt { (words.network) } dd { (chain.network) } }
                div { dt { (words.tip) } dd {
                    (highest(&tips).map_or_else(|| "–".to_owned(), format::count))
                } }
                div { dt { (words.projects_all) } dd { (format::count(projects)) } }
                div { dt { (words.source) } dd { (origin(words, source)) } }
            }
        }
        section {
            h2 { (words.nodes) }
            @if chain.nodes.is_empty() {
                (web::empty(words.no_nodes, words.no_nodes_advice))
            } @else {
                div.scroll role="region" tabindex="0" aria-label=(words.nodes) {
                    (nodes(words, chain, &tips))
                }
            }
        }
    };
    let here = format!("/chains/{}", chain.name);
    Ok(answer(&visitor, StatusCode::OK, (chain.name.as_str(), &here), &content))
}

fn nodes(words: &Messages, chain: &Chain, tips: &[(String, Tip)]) -> Markup {
    html! {
        table {
            thead { tr {
                th { (words.node) } th.number { (words.tip) } th { (words.tip_since) }
                th.number { (words.answered_in) } th.number { (words.weight) }
                th.number { (words.priority) } th { (words.state) }
            } }
            tbody {
                @for node in &chain.nodes {
                    @let tip = tips.iter().find(|(name, _)| *name == node.name);
                    @let tip = tip.map(|(_, tip)| tip);
                    @let known = tip.and_then(|tip| Some((tip.height?, tip.at)));
                    tr {
                        th scope="row" { (node.name) }
                        td.number { @if let Some((height, _)) = known { (format::count(height)) } }
                        td.word { @if let Some((_, at)) = known { (moment(at)) } }
                        td.number { @if let Some(tip) = tip { (tip.millis) " ms" } }
                        td.number { (node.weight) }
                        td.number { (node.priority) }
                        td { (node_state(words, tip)) }
                    }
                }
            }
        }
    }
}

fn node_state(words: &Messages, tip: Option<&Tip>) -> Markup {
    html! {
        @match tip {
            None => span.badge { (words.asking) },
            Some(Tip { failure: Some(failure), .. }) => {
                span.badge.change { (words.failing) } " " small lang="en" { (failure) }
            },
            Some(_) => span.badge.good { (words.serving) },
        }
    }
}
