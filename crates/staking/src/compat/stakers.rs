//! Whether a staker is active, and the keys of addresses.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Compat;
use super::answer::{Answer, Failure, Refusal, written};
use super::asked::{Asked, AskedAddress};
use crate::delegation::State::Active;
use crate::{PAGE, PublicKey};

/// Addresses that are looked up at a time.
const ADDRESSES: usize = 10;
/// Seconds of a day.
const DAY: u64 = 86_400;

pub(super) fn routes() -> OpenApiRouter<Compat> {
    OpenApiRouter::new().routes(routes!(check)).routes(routes!(public_keys))
}

/// Whether there is such a delegation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BabylonCheck)]
struct Check {
    /// Whether there is.
    data: bool,
    /// Always 0: those who run campaigns ask for it.
    code: u8,
}

impl IntoResponse for Check {
    fn into_response(self) -> Response {
        written(axum::http::StatusCode::OK, &self)
    }
}

/// Whether the staker of an address has an active delegation.
#[utoipa::path(get, path = "/compat/babylon/v1/staker/delegation/check", tag = "compat-babylon",
    operation_id = "babylon_delegation_check",
    params(
        ("address" = String, Query, description = "A Taproot or native SegWit address.",
            min_length = 1),
        ("timeframe" = Option<String>, Query, pattern = "^(today)?$",
            description = "`today`: only one that began since midnight UTC.")),
    responses((status = 200, description = "Whether there is one.", body = Check), Failure))]
async fn check(State(compat): State<Compat>, asked: Asked) -> Result<Check, Refusal> {
    let address = asked.address(compat.settings.network)?;
    let since = match asked.text("timeframe") {
        "" => 0,
        "today" => {
            let now = compat.staking.inner.clock.now() / 1000;
            now - now % DAY
        }
        _ => return Err(Refusal::bad("invalid timeframe value")),
    };
    let data = match compat.staker_of(address).await? {
        Some(staker) => compat.is_active_since(staker, since).await?,
        None => false,
    };
    Ok(Check { data, code: 0 })
}

impl Compat {
    async fn staker_of(&self, address: AskedAddress) -> Result<Option<PublicKey>, Refusal> {
        let Some(lookup) = address.lookup else { return Ok(None) };
        Ok(self.staking.staker_of(lookup).await?)
    }

    /// Whether a staker has an active delegation that began at a time or later.
    async fn is_active_since(&self, staker: PublicKey, since: u64) -> Result<bool, Refusal> {
        let mut after = None;
        loop {
            let page = self.staking.staker_delegations(staker, &[Active], after, PAGE).await?;
            let times = page.rows.iter().filter_map(|row| row.delegation.staked.as_ref());
            let times: Vec<u64> = times.map(|staked| staked.timestamp).collect();
            if times.iter().any(|time| *time >= since) {
                return Ok(true);
            }
            // They come newest first by height. Times of blocks may go back, by hours and not by
            // a day: what comes behind one that is so much older is older too.
            let is_past = times.iter().any(|time| time.saturating_add(DAY) < since);
            after = page.next;
            if after.is_none() || is_past {
                return Ok(false);
            }
        }
    }
}

/// Keys of the stakers of addresses. Addresses that nobody staked from are left out.
#[utoipa::path(get, path = "/compat/babylon/v1/staker/pubkey-lookup", tag = "compat-babylon",
    operation_id = "babylon_pubkey_lookup",
    params(("address" = Vec<String>, Query, min_items = 1, max_items = 10,
        description = "Taproot or native SegWit addresses, each as a parameter of its own.")),
    responses(
        (status = 200, description = "Keys by address.", body = Answer<BTreeMap<String, String>>),
        Failure))]
async fn public_keys(
    State(compat): State<Compat>,
    asked: Asked,
) -> Result<Answer<BTreeMap<String, String>>, Refusal> {
    let addresses = asked.addresses(compat.settings.network, ADDRESSES)?;
    let mut data = BTreeMap::new();
    for address in addresses {
        let text = address.text.clone();
        if let Some(staker) = compat.staker_of(address).await? {
            data.insert(text, staker.to_string());
        }
    }
    Ok(Answer::whole(data))
}
