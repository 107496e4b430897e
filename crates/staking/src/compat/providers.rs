//! Finality providers: what the operator's file says of them, beside our sums.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Compat;
use super::answer::{Answer, Failure, Refusal};
use super::asked::Asked;
use super::keys::Keys;
use super::settings::{Description, FinalityProvider};
use crate::PublicKey;
use crate::tables::Standing;

pub(super) fn routes() -> OpenApiRouter<Compat> {
    OpenApiRouter::new().routes(routes!(finality_providers))
}

/// A finality provider.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BabylonFinalityProvider)]
struct ProviderDetails {
    /// What it says of itself; empty when the operator does not know it.
    description: Description,
    /// What it keeps of rewards, decimal.
    commission: String,
    /// Its key.
    btc_pk: String,
    /// Satoshi that are staked with it.
    active_tvl: u64,
    /// Satoshi that were ever staked with it.
    total_tvl: u64,
    /// Delegations that are active.
    active_delegations: u64,
    /// Delegations there ever were.
    total_delegations: u64,
}

impl ProviderDetails {
    fn new(key: PublicKey, configured: Option<&FinalityProvider>, standing: &Standing) -> Self {
        Self {
            description: configured.map(|known| known.description.clone()).unwrap_or_default(),
            commission: configured.map(|known| known.commission.clone()).unwrap_or_default(),
            btc_pk: key.to_string(),
            active_tvl: standing.active_tvl,
            total_tvl: standing.total_tvl,
            active_delegations: standing.active_delegations,
            total_delegations: standing.total_delegations,
        }
    }
}

/// A place in the list: first those with a stake, by what is staked and then by key, then those
/// without, as the operator lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Place {
    Staked(Reverse<u64>, [u8; 32]),
    Listed(usize),
}

/// Everybody in the order of the list.
fn merged(
    staked: Vec<(PublicKey, Standing)>,
    listed: &[FinalityProvider],
) -> Vec<(Place, ProviderDetails)> {
    let known: HashMap<PublicKey, &FinalityProvider> =
        listed.iter().map(|provider| (provider.btc_pk, provider)).collect();
    // One that only has stakes beyond the cap counts as one without a stake.
    let staked: Vec<_> = staked.into_iter().filter(|(_, it)| it.total_delegations > 0).collect();
    let has_stake: HashSet<PublicKey> = staked.iter().map(|(key, _)| *key).collect();
    let with_stake = staked.iter().map(|(key, standing)| {
        let place = Place::Staked(Reverse(standing.active_tvl), key.0);
        (place, ProviderDetails::new(*key, known.get(key).copied(), standing))
    });
    let without = listed.iter().enumerate().filter(|(_, it)| !has_stake.contains(&it.btc_pk));
    let without = without.map(|(number, provider)| {
        let details = ProviderDetails::new(provider.btc_pk, Some(provider), &Standing::default());
        (Place::Listed(number), details)
    });
    let mut all: Vec<_> = with_stake.chain(without).collect();
    all.sort_unstable_by_key(|(place, _)| *place);
    all
}

/// Finality providers by what is staked with them, or one, which comes without `pagination`.
///
/// Those without a stake come last, in pages like the others; the original sends them all at once.
#[utoipa::path(get, path = "/compat/babylon/v1/finality-providers", tag = "compat-babylon",
    operation_id = "babylon_finality_providers",
    params(
        ("fp_btc_pk" = Option<String>, Query, description = "Only this one.",
            pattern = "^([0-9a-fA-F]{64})?$"),
        ("pagination_key" = Option<String>, Query, description = "`next_key` of the page before.")),
    responses((status = 200, description = "A page.", body = Answer<Vec<ProviderDetails>>),
        Failure))]
async fn finality_providers(
    State(compat): State<Compat>,
    asked: Asked,
) -> Result<Response, Refusal> {
    let listed = &compat.settings.finality_providers;
    if let Some(key) = asked.key("fp_btc_pk")? {
        let staked = compat.staking.provider(key).await?.map(|standing| (key, standing));
        let listed: Vec<_> = listed.iter().filter(|it| it.btc_pk == key).cloned().collect();
        let found = merged(staked.into_iter().collect(), &listed);
        let data: Vec<_> = found.into_iter().map(|(_, details)| details).collect();
        return Ok(Answer::whole(data).into_response());
    }
    let keys = Keys { list: "babylon.providers", filter: () };
    let after: Option<Place> = keys.read(asked.page())?;
    let all = merged(compat.staking.all_providers().await?, listed);
    let mut rest = all.into_iter().filter(|(place, _)| after.is_none_or(|after| *place > after));
    let (places, rows): (Vec<Place>, Vec<_>) = rest.by_ref().take(compat.settings.page).unzip();
    let last = places.last().filter(|_| rest.next().is_some());
    let next = last.map(|place| keys.write(place));
    Ok(Answer::page(rows, next).into_response())
}
