//! Finds delegations, stakers and finality providers by what a person types.

use platform::search::{Hit, Query, Search};
use store::Task;

use crate::address::Network;
use crate::staking::{Staking, StakingError};
use crate::{PublicKey, TxHash};

impl Search for Staking {
    fn kind(&self) -> &'static str {
        "staking"
    }

    fn find<'a>(&'a self, query: &'a Query) -> Task<'a, Vec<Hit>> {
        Box::pin(async move {
            self.find_all(query).await.unwrap_or_else(|error| {
                tracing::warn!(kind = "staking", "a search failed: {error}");
                Vec::new()
            })
        })
    }
}

impl Staking {
    async fn find_all(&self, query: &Query) -> Result<Vec<Hit>, StakingError> {
        let hit = |kind: &'static str, room: &str, name: String| Hit {
            kind,
            path: format!("/staking/{room}/{name}"),
            title: name,
            chain: None,
        };
        let mut hits = Vec::new();
        if let Some(hash) = query.hex().and_then(|digits| TxHash::parse(&digits).ok()) {
            if self.delegation(hash).await?.is_some() {
                hits.push(hit("delegation", "delegations", hash.to_string()));
            }
            let key = PublicKey(hash.0);
            if self.staker(key).await?.is_some() {
                hits.push(hit("staker", "stakers", key.to_string()));
            }
            if self.provider(key).await?.is_some() {
                hits.push(hit("provider", "providers", key.to_string()));
            }
        }
        let networks = [Network::Mainnet, Network::Testnet, Network::Regtest];
        if let Some(lookup) = networks.iter().find_map(|it| it.lookup_key(query.text()))
            && let Some(key) = self.staker_of(lookup).await?
        {
            hits.push(hit("staker", "stakers", key.to_string()));
        }
        Ok(hits)
    }
}
