//! Finds blocks, transactions, accounts and epochs by what a person types.

use platform::search::{Hit, Query, Search};
use store::Task;
use timeline::{Lane, ViewError};

use crate::explorer::{Explorer, Explorers};
use crate::query::Scan;
use crate::{Address, Hash};

impl Search for Explorers {
    fn kind(&self) -> &'static str {
        "scan"
    }

    fn find<'a>(&'a self, query: &'a Query) -> Task<'a, Vec<Hit>> {
        Box::pin(async move {
            let mut hits = Vec::new();
            for (explorer, _) in self.all() {
                match find(&explorer, query).await {
                    Ok(found) => hits.extend(found),
                    Err(error) => tracing::warn!(kind = "scan", "a search failed: {error}"),
                }
            }
            hits
        })
    }
}

async fn find(explorer: &Explorer, query: &Query) -> Result<Vec<Hit>, ViewError> {
    let view = explorer.view().await?;
    let scan = Scan::new(explorer.timeline(), &view);
    let chain = explorer.name().as_str();
    let hit = |kind: &'static str, room: &str, name: String| Hit {
        kind,
        path: format!("/chains/{chain}/{room}/{name}"),
        title: name,
        chain: Some(chain.to_owned()),
    };
    let mut hits = Vec::new();
    let hex = query.hex().map(|digits| format!("0x{digits}"));
    if let Some(hash) = hex.as_deref().and_then(|text| Hash::parse(text).ok()) {
        if scan.transaction(hash).await?.is_some() {
            hits.push(hit("transaction", "transactions", hash.to_string()));
        }
        if scan.block(hash).await?.is_some() {
            hits.push(hit("block", "blocks", hash.to_string()));
        }
    }
    let typed = hex.as_deref().or(query.address()).and_then(|text| Address::parse(text).ok());
    if let Some(address) = typed {
        let known = scan.account_count(address).await? + scan.miner_count(address).await?;
        // Base32 has a checksum: what fits is an address, even one without transactions.
        if known > 0 || hex.is_none() {
            hits.push(Hit {
                title: query.text().to_owned(),
                ..hit("account", "accounts", address.to_string())
            });
        }
    }
    let newest = scan.head(Lane::MINED);
    if let Some(number) = query.number().filter(|number| Some(*number) <= newest) {
        hits.push(hit("epoch", "epochs", number.to_string()));
    }
    Ok(hits)
}
