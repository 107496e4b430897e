//! Accounts and miners.

use axum::extract::State;
use axum::response::Response;
use platform::http::{Items, Json, List, PageParams, Path, Problem};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::objects::{Account, AccountItem, Miner, MinerBlock};
use super::pages::{Dense, Reading, Sorted};
use super::{Opened, address, problem};
use crate::Address;
use crate::explorer::Explorers;
use crate::sift::Wanted;

pub(super) fn routes() -> OpenApiRouter<Explorers> {
    OpenApiRouter::new()
        .routes(routes!(account))
        .routes(routes!(account_transactions))
        .routes(routes!(miners))
        .routes(routes!(miner_blocks))
}

/// What a transaction is to an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ScanDirection)]
pub(super) enum Direction {
    /// It receives.
    In,
    /// It sends, also to create a contract.
    Out,
    /// It does both.
    #[serde(rename = "self")]
    Own,
    /// A contract is created: by it, or it itself.
    Create,
}

impl From<Direction> for Wanted {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::In => Self::In,
            Direction::Out => Self::Out,
            Direction::Own => Self::Own,
            Direction::Create => Self::Create,
        }
    }
}

/// How an account's list is read.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Filtered {
    /// `desc`, the newest first, or `asc`.
    #[serde(default)]
    #[param(inline)]
    pub(super) order: Sorted,
    /// Only what the account receives, sends, sends to itself, or creates.
    #[param(inline)]
    pub(super) direction: Option<Direction>,
}

/// An account.
///
/// An address without transactions is an account with none.
#[utoipa::path(get, path = "/api/{chain}/accounts/{address}", tag = "scan",
    operation_id = "scan_account",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32),
        ("address" = String, Path, description = "0x and 40 digits, or base32.",
            pattern = "^(0x[0-9a-fA-F]{40}|(cfx|cfxtest|net[0-9]{1,9}):[a-z0-9]{42})$")),
    responses((status = 200, description = "The account.", body = Account)))]
async fn account(
    State(explorers): State<Explorers>,
    Path((chain, text)): Path<(String, String)>,
) -> Result<Json<Account>, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    let address = address(&text)?;
    let scan = opened.scan();
    let transactions = scan.account_count(address).await.map_err(problem)?;
    let blocks = scan.miner_count(address).await.map_err(problem)?;
    let network = scan.network().await.map_err(problem)?;
    opened.check()?;
    Ok(Json(Account::new(address, network, (transactions, blocks))))
}

/// An account's transactions.
///
/// Each once, at its first packing. With a direction a page may be shorter than asked for and still
/// have a next one.
#[utoipa::path(get, path = "/api/{chain}/accounts/{address}/transactions", tag = "scan",
    operation_id = "scan_account_transactions",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32),
        ("address" = String, Path, description = "0x and 40 digits, or base32.",
            pattern = "^(0x[0-9a-fA-F]{40}|(cfx|cfxtest|net[0-9]{1,9}):[a-z0-9]{42})$"),
        Filtered, PageParams),
    responses((status = 200, description = "A page.", body = Items<AccountItem>)))]
async fn account_transactions(
    State(explorers): State<Explorers>,
    Path((chain, text)): Path<(String, String)>,
    list: List<Filtered>,
) -> Result<Response, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    let address = address(&text)?;
    let scan = opened.scan();
    let total = scan.account_count(address).await.map_err(problem)?;
    let key = (chain.as_str(), address.to_string());
    let dense = Dense { name: "scan.account", key, total };
    let sorted = list.filter.order;
    let Some(stretch) = dense.stretch(&list, sorted)? else {
        return Ok(list.answer(Vec::<AccountItem>::new(), None));
    };
    let wanted = list.filter.direction.map(Wanted::from);
    let found = scan.account_sifted(address, stretch, wanted).await.map_err(problem)?;
    opened.check()?;
    let next = dense.next(&list, sorted, found.last)?;
    Ok(list.answer(found.lines.into_iter().map(AccountItem::new).collect(), next.as_ref()))
}

/// Miners in the order of their first blocks.
#[utoipa::path(get, path = "/api/{chain}/miners", tag = "scan", operation_id = "scan_miners",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32), Reading, PageParams),
    responses((status = 200, description = "A page.", body = Items<Miner>)))]
async fn miners(
    State(explorers): State<Explorers>,
    Path(chain): Path<String>,
    list: List<Reading>,
) -> Result<Response, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    let scan = opened.scan();
    let total = scan.totals().await.map_err(problem)?.miners;
    let dense = Dense { name: "scan.miners", key: (&chain, String::new()), total };
    let sorted = list.filter.order;
    let Some(stretch) = dense.stretch(&list, sorted)? else {
        return Ok(list.answer(Vec::<Miner>::new(), None));
    };
    let lines = scan.miners(stretch).await.map_err(problem)?;
    let next = dense.next(&list, sorted, lines.last().map(|(position, _)| *position))?;
    let addresses: Vec<Address> = lines.iter().map(|(_, first)| first.address).collect();
    let counts = scan.miner_counts(&addresses).await.map_err(problem)?;
    opened.check()?;
    let lines = lines.into_iter().zip(counts);
    let items = lines.map(|((position, first), blocks)| Miner::new(position, &first, blocks));
    Ok(list.answer(items.collect(), next.as_ref()))
}

/// A miner's blocks.
#[utoipa::path(get, path = "/api/{chain}/miners/{address}/blocks", tag = "scan",
    operation_id = "scan_miner_blocks",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32),
        ("address" = String, Path, description = "0x and 40 digits, or base32.",
            pattern = "^(0x[0-9a-fA-F]{40}|(cfx|cfxtest|net[0-9]{1,9}):[a-z0-9]{42})$"),
        Reading, PageParams),
    responses((status = 200, description = "A page.", body = Items<MinerBlock>)))]
async fn miner_blocks(
    State(explorers): State<Explorers>,
    Path((chain, text)): Path<(String, String)>,
    list: List<Reading>,
) -> Result<Response, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    let address = address(&text)?;
    let scan = opened.scan();
    let total = scan.miner_count(address).await.map_err(problem)?;
    let key = (chain.as_str(), address.to_string());
    let dense = Dense { name: "scan.miner", key, total };
    let read = |stretch| scan.miner(address, stretch);
    dense.answer(&opened, (&list, list.filter.order), read, MinerBlock::new).await
}
