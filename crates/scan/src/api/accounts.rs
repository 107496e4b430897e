//! Accounts and miners.

use axum::extract::State;
use axum::response::Response;
use futures_util::{StreamExt as _, TryStreamExt as _};
use platform::http::{Items, Json, List, PageParams, Path, Problem};
use serde::{Deserialize, Serialize};
use timeline::ViewError;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::objects::{Account, AccountItem, Miner, MinerBlock};
use super::pages::{Dense, Reading, Sorted};
use super::{Opened, address, problem};
use crate::Address;
use crate::explorer::Explorers;
use crate::query::{Scan, Stretch};
use crate::tables::{AccountLine, Direction};

/// Entries that a filtered page looks through before it answers with what it has.
const LOOKED_THROUGH: usize = 20_000;
/// Reads at a time.
const AT_ONCE: usize = 16;

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
pub(super) enum Wanted {
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

impl Wanted {
    /// Whether an entry is wanted. What an account sends to itself goes in and out.
    pub(super) fn fits(self, direction: Direction) -> bool {
        match self {
            Self::In => matches!(direction, Direction::In | Direction::Own),
            Self::Out => matches!(direction, Direction::Out | Direction::Own | Direction::Create),
            Self::Own => direction == Direction::Own,
            Self::Create => direction == Direction::Create,
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
    pub(super) direction: Option<Wanted>,
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
    opened.check()?;
    Ok(Json(Account::new(address, opened.explorer.network(), (transactions, blocks))))
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
    let found = entries(&scan, address, stretch, list.filter.direction).await.map_err(problem)?;
    opened.check()?;
    let (lines, last) = found;
    let next = dense.next(&list, sorted, last)?;
    Ok(list.answer(lines.into_iter().map(AccountItem::new).collect(), next.as_ref()))
}

/// Entries that are wanted, and the last position that was looked at.
pub(super) async fn entries(
    scan: &Scan<'_>,
    address: Address,
    (start, order, limit): Stretch,
    wanted: Option<Wanted>,
) -> Result<(Vec<(u64, AccountLine)>, Option<u64>), ViewError> {
    let (mut found, mut start, mut last) = (Vec::new(), start, None);
    let mut looked = 0;
    while found.len() < limit && looked < LOOKED_THROUGH {
        let lines = scan.account(address, (start, order, limit)).await?;
        looked += lines.len();
        let end = lines.len() < limit;
        for (position, line) in lines {
            if found.len() == limit {
                break;
            }
            last = Some(position);
            if wanted.is_none_or(|wanted| wanted.fits(line.direction)) {
                found.push((position, line));
            }
        }
        let next = match order {
            store::Order::Ascending => last.map(|last| last + 1),
            store::Order::Descending => last.and_then(|last| last.checked_sub(1)),
        };
        let (Some(next), false) = (next, end) else { break };
        start = next;
    }
    Ok((found, last))
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
    let scan = &opened.scan();
    let total = scan.totals().await.map_err(problem)?.miners;
    let dense = Dense { name: "scan.miners", key: (&chain, String::new()), total };
    let sorted = list.filter.order;
    let Some(stretch) = dense.stretch(&list, sorted)? else {
        return Ok(list.answer(Vec::<Miner>::new(), None));
    };
    let lines = scan.miners(stretch).await.map_err(problem)?;
    let next = dense.next(&list, sorted, lines.last().map(|(position, _)| *position))?;
    let counted = lines.into_iter().map(|(position, first)| async move {
        let blocks = scan.miner_count(first.address).await?;
        Ok::<_, ViewError>(Miner::new(position, &first, blocks))
    });
    let counted = futures_util::stream::iter(counted).buffered(AT_ONCE);
    let items: Vec<Miner> = counted.try_collect().await.map_err(problem)?;
    opened.check()?;
    Ok(list.answer(items, next.as_ref()))
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
