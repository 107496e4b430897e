//! Blocks, and what they pack.

use axum::extract::State;
use axum::response::Response;
use platform::http::{Items, Json, List, PageParams, Path, Problem};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::objects::{Block, BlockItem};
use super::pages::{Dense, Reading, Sorted};
use super::{Opened, hash, problem};
use crate::explorer::Explorers;

pub(super) fn routes() -> OpenApiRouter<Explorers> {
    OpenApiRouter::new()
        .routes(routes!(blocks))
        .routes(routes!(block))
        .routes(routes!(block_transactions))
}

/// Blocks in the order of execution.
///
/// The newest first, unless asked otherwise.
#[utoipa::path(get, path = "/api/{chain}/blocks", tag = "scan", operation_id = "scan_blocks",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32), Reading, PageParams),
    responses((status = 200, description = "A page.", body = Items<BlockItem>)))]
async fn blocks(
    State(explorers): State<Explorers>,
    Path(chain): Path<String>,
    list: List<Reading>,
) -> Result<Response, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    let scan = opened.scan();
    let total = scan.totals().await.map_err(problem)?.blocks;
    let dense = Dense { name: "scan.blocks", key: (&chain, String::new()), total };
    let read = |stretch| scan.blocks(stretch);
    dense.answer(&opened, (&list, list.filter.order), read, BlockItem::new).await
}

/// A block.
///
/// Also one that is skipped, or no longer in any epoch: its `state` says so.
#[utoipa::path(get, path = "/api/{chain}/blocks/{hash}", tag = "scan",
    operation_id = "scan_block",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32),
        ("hash" = String, Path, description = "0x and 64 digits.",
            pattern = "^0x[0-9a-fA-F]{64}$")),
    responses((status = 200, description = "The block.", body = Block)))]
async fn block(
    State(explorers): State<Explorers>,
    Path((chain, text)): Path<(String, String)>,
) -> Result<Json<Block>, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    let hash = hash(&text)?;
    let found = opened.scan().block(hash).await.map_err(problem)?;
    opened.check()?;
    let found = found.ok_or_else(|| Problem::not_found(format_args!("block {hash}")))?;
    Ok(Json(Block(found.fields(hash).map_err(Problem::internal)?)))
}

/// A block's transactions in order.
#[utoipa::path(get, path = "/api/{chain}/blocks/{hash}/transactions", tag = "scan",
    operation_id = "scan_block_transactions",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32),
        ("hash" = String, Path, description = "0x and 64 digits.",
            pattern = "^0x[0-9a-fA-F]{64}$"), PageParams),
    responses((status = 200, description = "A page of hashes.", body = Items<String>)))]
async fn block_transactions(
    State(explorers): State<Explorers>,
    Path((chain, text)): Path<(String, String)>,
    list: List,
) -> Result<Response, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    let hash = hash(&text)?;
    let scan = opened.scan();
    let block = scan.block(hash).await.map_err(problem)?;
    let block = block.ok_or_else(|| Problem::not_found(format_args!("block {hash}")))?;
    let total = u64::from(block.facts.transactions);
    let key = (chain.as_str(), hash.to_string());
    let dense = Dense { name: "scan.block_transactions", key, total };
    let Some((start, _, limit)) = dense.stretch(&list, Sorted::Asc)? else {
        return Ok(list.answer(Vec::<String>::new(), None));
    };
    let start = u32::try_from(start).unwrap_or(u32::MAX);
    let hashes = scan.block_transactions(hash, start, limit).await.map_err(problem)?;
    let last = u64::from(start) + hashes.len() as u64;
    let next = dense.next(&list, Sorted::Asc, last.checked_sub(1))?;
    Ok(list.answer(hashes.iter().map(ToString::to_string).collect(), next.as_ref()))
}
