//! The chain as a whole: how far it is, sums, epochs, the pivot chain.

use axum::extract::State;
use axum::response::Response;
use platform::http::{Items, Json, List, PageParams, Path, Problem, Query, kinds};
use serde::{Deserialize, Serialize};
use timeline::Lane;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::objects::{Epoch, LatestSums};
use super::pages::{Dense, Reading, Sorted};
use super::{Opened, problem};
use crate::explorer::Explorers;
use crate::query::Scan;
use crate::tables::{CONFIRMED, EpochRow, FINALIZED};

/// Blocks that sums may be asked over.
const MOST_LATEST: u64 = 100_000_000;

pub(super) fn routes() -> OpenApiRouter<Explorers> {
    OpenApiRouter::new()
        .routes(routes!(status))
        .routes(routes!(latest))
        .routes(routes!(epochs))
        .routes(routes!(epoch))
        .routes(routes!(pivot_chain))
}

/// How far the index of a chain is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanStatus)]
struct Status {
    /// The newest epoch; absent before the first one.
    mined: Option<u64>,
    /// The newest epoch with results.
    executed: Option<u64>,
    /// The newest epoch that is buried deep enough.
    confirmed: Option<u64>,
    /// The newest epoch that is decided.
    finalized: Option<u64>,
    /// The newest pivot block.
    pivot: Option<String>,
    /// Blocks.
    blocks: u64,
    /// Transactions, each at its first packing.
    transactions: u64,
    /// Packed transactions, repeats included.
    packed: u64,
    /// Accounts that have a transaction.
    accounts: u64,
    /// Miners.
    miners: u64,
    /// The sum of all difficulties, decimal.
    difficulty: String,
    /// How many switches of the chain were published; each has its number in the journal.
    switches: u64,
}

/// How many blocks.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Count {
    /// Over how many of the latest blocks; as configured when absent, mostly 1000.
    #[param(minimum = 1, maximum = 100000000)]
    blocks: Option<u64>,
}

/// A pivot block.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanPivot)]
struct Pivot {
    /// Its epoch.
    epoch: u64,
    /// Its hash.
    hash: String,
}

/// How far the index of a chain is, and how much there is in it.
#[utoipa::path(get, path = "/api/{chain}/status", tag = "scan", operation_id = "scan_status",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32)),
    responses((status = 200, description = "Heads and totals.", body = Status)))]
async fn status(
    State(explorers): State<Explorers>,
    Path(chain): Path<String>,
) -> Result<Json<Status>, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    let scan = opened.scan();
    let totals = scan.totals().await.map_err(problem)?;
    opened.check()?;
    let head = opened.view.head(Lane::MINED);
    let pivot = head.and_then(|head| head.hash.clone().try_into().ok());
    Ok(Json(Status {
        mined: scan.head(Lane::MINED),
        executed: scan.head(Lane::EXECUTED),
        confirmed: scan.head(CONFIRMED),
        finalized: scan.head(FINALIZED),
        pivot: pivot.map(|hash| crate::Hash(hash).to_string()),
        blocks: totals.blocks,
        transactions: totals.transactions,
        packed: totals.packed,
        accounts: totals.accounts,
        miners: totals.miners,
        difficulty: totals.difficulty.to_string(),
        switches: opened.view.tip().switches,
    }))
}

/// Difficulty, transactions and transactions per second of the latest blocks.
#[utoipa::path(get, path = "/api/{chain}/latest", tag = "scan", operation_id = "scan_latest",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32), Count),
    responses((status = 200, description = "The sums.", body = LatestSums)))]
async fn latest(
    State(explorers): State<Explorers>,
    Path(chain): Path<String>,
    Query(count): Query<Count>,
) -> Result<Json<LatestSums>, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    let blocks = count.blocks.unwrap_or(opened.explorer.latest());
    if !(1..=MOST_LATEST).contains(&blocks) {
        let detail = format!("`blocks` must be from 1 to {MOST_LATEST}.");
        return Err(Problem::bad_query("blocks", detail));
    }
    let latest = opened.scan().latest(blocks).await.map_err(problem)?;
    opened.check()?;
    Ok(Json(LatestSums::new(&latest)))
}

/// Epochs.
#[utoipa::path(get, path = "/api/{chain}/epochs", tag = "scan", operation_id = "scan_epochs",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32), Reading, PageParams),
    responses((status = 200, description = "A page.", body = Items<Epoch>)))]
async fn epochs(
    State(explorers): State<Explorers>,
    Path(chain): Path<String>,
    list: List<Reading>,
) -> Result<Response, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    let scan = opened.scan();
    let total = scan.head(Lane::MINED).map_or(0, |head| head + 1);
    let dense = Dense { name: "scan.epochs", key: (&chain, String::new()), total };
    let item =
        |(number, row): (u64, EpochRow)| Epoch::new(number, &row, scan.epoch_state(number).word());
    let read = |stretch| scan.epochs(stretch);
    dense.answer(&opened, (&list, list.filter.order), read, item).await
}

/// An epoch.
#[utoipa::path(get, path = "/api/{chain}/epochs/{number}", tag = "scan",
    operation_id = "scan_epoch",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32),
        ("number" = String, Path, description = "Its number, decimal or 0x and hexadecimal.",
            pattern = "^(0x[0-9a-fA-F]{1,15}|[0-9]{1,18})$")),
    responses((status = 200, description = "The epoch.", body = Epoch)))]
async fn epoch(
    State(explorers): State<Explorers>,
    Path((chain, text)): Path<(String, String)>,
) -> Result<Json<Epoch>, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let number: u64 = parsed.filter(|_| plain).ok_or_else(|| {
        let detail = "An epoch is a number, decimal or 0x and hexadecimal.";
        Problem::new(&kinds::BAD_PATH, detail).field("number")
    })?;
    let scan = opened.scan();
    let row = scan.epoch(number).await.map_err(problem)?;
    opened.check()?;
    let row = row.ok_or_else(|| missing(&scan, number))?;
    Ok(Json(Epoch::new(number, &row, scan.epoch_state(number).word())))
}

fn missing(scan: &Scan<'_>, number: u64) -> Problem {
    let newest = scan.head(Lane::MINED).map_or_else(|| "none".to_owned(), |it| it.to_string());
    let detail = format!("Epoch {number} is not there yet; the newest one is {newest}.");
    Problem::new(&kinds::NOT_FOUND, detail)
}

/// The pivot chain.
#[utoipa::path(get, path = "/api/{chain}/pivot-chain", tag = "scan",
    operation_id = "scan_pivot_chain",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32), Reading, PageParams),
    responses((status = 200, description = "A page.", body = Items<Pivot>)))]
async fn pivot_chain(
    State(explorers): State<Explorers>,
    Path(chain): Path<String>,
    list: List<Reading>,
) -> Result<Response, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    let scan = opened.scan();
    let total = scan.head(Lane::MINED).map_or(0, |head| head + 1);
    let dense = Dense { name: "scan.pivots", key: (&chain, String::new()), total };
    let sorted = list.filter.order;
    let Some((start, _, limit)) = dense.stretch(&list, sorted)? else {
        return Ok(list.answer(Vec::<Pivot>::new(), None));
    };
    let limit = limit as u64;
    let (from, count) = match sorted {
        Sorted::Asc => (start, limit),
        Sorted::Desc => {
            let from = (start + 1).saturating_sub(limit);
            (from, start + 1 - from)
        }
    };
    let hashes = scan.pivot_chain(from, count).await.map_err(problem)?;
    opened.check()?;
    let item = |(epoch, hash): (u64, crate::Hash)| Pivot { epoch, hash: hash.to_string() };
    let mut items: Vec<Pivot> = (from..).zip(hashes).map(item).collect();
    if sorted == Sorted::Desc {
        items.reverse();
    }
    let next = dense.next(&list, sorted, items.last().map(|pivot| pivot.epoch))?;
    Ok(list.answer(items, next.as_ref()))
}
