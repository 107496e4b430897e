//! Small parts of the staking pages: amounts, links, badges, sums, tables.

use ::staking::delegation::State;
use ::staking::{Listed, PublicKey, Standing, TxHash};
use maud::{Markup, html};
use web::{Messages, format};

use crate::pages::kit::{scrolled, shortened};

/// Somebody with sums.
pub(super) type Party = (PublicKey, Standing);

/// An amount in bitcoins; the satoshi are in its title.
pub(super) fn amount(satoshi: u64) -> Markup {
    html! {
        span title={ (format::count(satoshi)) " satoshi" } {
            (format::bitcoin(satoshi)) " BTC"
        }
    }
}

fn link(room: &str, name: &str) -> Markup {
    html! {
        a href={ "/staking/" (room) "/" (name) } title=(name) { code { (shortened(name, 8, 4)) } }
    }
}

/// A link to a delegation.
pub(super) fn delegation_link(hash: TxHash) -> Markup {
    link("delegations", &hash.to_string())
}

/// A link to a staker.
pub(super) fn staker_link(key: PublicKey) -> Markup {
    link("stakers", &key.to_string())
}

/// A link to a finality provider.
pub(super) fn provider_link(key: PublicKey) -> Markup {
    link("providers", &key.to_string())
}

/// A link to whatever is known of a transaction of Bitcoin.
pub(super) fn transaction_link(hash: TxHash) -> Markup {
    html! { a href={ "/search?q=" (hash) } { code { (hash) } } }
}

/// The name of a state.
pub(super) fn state_name(words: &Messages, state: State) -> &'static str {
    match state {
        State::Active => words.state_active,
        State::UnbondingRequested => words.state_unbonding_requested,
        State::Unbonding => words.state_unbonding,
        State::Unbonded => words.state_unbonded,
        State::Withdrawn => words.state_withdrawn,
        State::Slashed => words.state_slashed,
    }
}

/// How far a delegation is.
pub(super) fn state(words: &Messages, state: Option<State>) -> Markup {
    let (class, name) = match state {
        None => ("badge watch", words.state_unknown),
        Some(state) => {
            let class = match state {
                State::Active => "badge good",
                State::UnbondingRequested | State::Unbonding => "badge watch",
                State::Unbonded | State::Withdrawn => "badge",
                State::Slashed => "badge change",
            };
            (class, state_name(words, state))
        }
    };
    html! { span class=(class) { (name) } }
}

/// Sums of somebody.
pub(super) fn sums(words: &Messages, standing: &Standing) -> Markup {
    html! {
        section {
            dl.facts.broad {
                div { dt { (words.active_tvl) } dd { (amount(standing.active_tvl)) } }
                div { dt { (words.total_tvl) } dd { (amount(standing.total_tvl)) } }
                div { dt { (words.active_delegations) } dd {
                    (format::count(standing.active_delegations))
                } }
                div { dt { (words.total_delegations) } dd {
                    (format::count(standing.total_delegations))
                } }
            }
        }
    }
}

/// A part of all that is staked.
fn share(part: u64, all: u64) -> String {
    format!("{:.2} %", 100.0 * part as f64 / all.max(1) as f64)
}

/// Parties by what is staked. `name` is what they are; `all` is what everybody has staked.
pub(super) fn parties(
    words: &Messages,
    (title, name): (&str, &str),
    (rows, all): (&[Party], u64),
    link: fn(PublicKey) -> Markup,
) -> Markup {
    let table = html! {
        table {
            thead { tr {
                th { (name) } th.number { (words.active_tvl) } th.number { (words.share) } th {}
                th.number { (words.active_delegations) } th.number { (words.total_delegations) }
                th.number { (words.total_tvl) }
            } }
            tbody {
                @for (key, standing) in rows {
                    tr {
                        th scope="row" { (link(*key)) }
                        td.number { (amount(standing.active_tvl)) }
                        td.number { (share(standing.active_tvl, all)) }
                        td {
                            meter aria-label=(words.share) min="0" max=(all.max(1))
                                value=(standing.active_tvl) {}
                        }
                        td.number { (format::count(standing.active_delegations)) }
                        td.number { (format::count(standing.total_delegations)) }
                        td.number { (amount(standing.total_tvl)) }
                    }
                }
            }
        }
    };
    scrolled(title, &table)
}

/// The other party of each delegation of a list.
#[derive(Clone, Copy, Debug)]
pub(super) enum Other {
    Staker,
    Provider,
}

/// Delegations in a list.
pub(super) fn delegations(words: &Messages, rows: &[Listed], other: Other) -> Markup {
    let table = html! {
        table {
            thead { tr {
                th { (words.delegation) } th.number { (words.amount) } th { (words.state) }
                th.number { (words.start_height) } th.number { (words.end_height) }
                th { (words.time) }
                th { @match other {
                    Other::Staker => (words.staker),
                    Other::Provider => (words.provider),
                } }
            } }
            tbody {
                @for Listed { hash, delegation } in rows {
                    tr {
                        th scope="row" { (delegation_link(*hash)) }
                        @match &delegation.staked {
                            None => {
                                td {} td { (state(words, None)) } td {} td {} td {} td {}
                            }
                            Some(staked) => {
                                td.number { (amount(staked.value.0)) }
                                td {
                                    (state(words, delegation.state()))
                                    @if staked.is_overflow {
                                        " " span.badge.watch { (words.overflow) }
                                    }
                                }
                                td.number { (format::count(staked.start.0)) }
                                td.number { (format::count(staked.end().0)) }
                                td.word { (web::time(staked.timestamp)) }
                                td { @match other {
                                    Other::Staker => (staker_link(staked.staker)),
                                    Other::Provider => (provider_link(staked.provider)),
                                } }
                            }
                        }
                    }
                }
            }
        }
    };
    scrolled(words.delegations, &table)
}
