//! A staker's delegations, and one delegation.

use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Compat;
use super::answer::{Answer, Code, ErrorBody, Failure, Refusal};
use super::asked::Asked;
use super::keys::Keys;
use crate::delegation::{self, Delegation};
use crate::event::Lock;
use crate::hex::Hex;
use crate::{StakerPlace, TxHash};

pub(super) fn routes() -> OpenApiRouter<Compat> {
    OpenApiRouter::new().routes(routes!(staker_delegations)).routes(routes!(one))
}

/// A transaction that locks an output.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BabylonTransaction)]
pub(super) struct TransactionPublic {
    /// The transaction.
    tx_hex: String,
    /// Which of its outputs.
    output_index: u32,
    /// When it was confirmed, RFC 3339 in UTC.
    start_timestamp: String,
    /// The height of its block.
    start_height: u64,
    /// For how many blocks the output is locked.
    timelock: u16,
}

/// A delegation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BabylonDelegation)]
pub(super) struct DelegationPublic {
    /// The hash of its staking transaction.
    staking_tx_hash_hex: String,
    /// The staker.
    staker_pk_hex: String,
    /// The finality provider.
    finality_provider_pk_hex: String,
    /// How far it is.
    state: &'static str,
    /// Satoshi.
    staking_value: u64,
    /// The staking transaction.
    staking_tx: TransactionPublic,
    /// The unbonding transaction, once it is on Bitcoin.
    #[serde(skip_serializing_if = "Option::is_none")]
    unbonding_tx: Option<TransactionPublic>,
    /// It came when no more was taken.
    is_overflow: bool,
    /// Always false: nothing moves to another phase here.
    is_eligible_for_transition: bool,
    /// It was taken away.
    is_slashed: bool,
}

impl From<Lock<'_>> for TransactionPublic {
    fn from(lock: Lock<'_>) -> Self {
        Self {
            tx_hex: Hex(lock.tx).to_string(),
            output_index: lock.output,
            start_timestamp: rfc3339(lock.timestamp),
            start_height: lock.start.0,
            timelock: lock.timelock.0,
        }
    }
}

impl DelegationPublic {
    /// None as long as only later steps are known.
    fn new(hash: TxHash, delegation: &Delegation) -> Option<Self> {
        let (staked, state) = (delegation.staked.as_ref()?, delegation.state()?);
        Some(Self {
            staking_tx_hash_hex: hash.to_string(),
            staker_pk_hex: staked.staker.to_string(),
            finality_provider_pk_hex: staked.provider.to_string(),
            state: state.word(),
            staking_value: staked.value.0,
            staking_tx: staked.lock().into(),
            unbonding_tx: delegation.unbonding.as_ref().map(|unbonding| unbonding.lock().into()),
            is_overflow: staked.is_overflow,
            is_eligible_for_transition: false,
            is_slashed: state == delegation::State::Slashed,
        })
    }
}

/// Delegations of a staker, newest first.
#[utoipa::path(get, path = "/compat/babylon/v1/staker/delegations", tag = "compat-babylon",
    operation_id = "babylon_staker_delegations",
    params(
        ("staker_btc_pk" = String, Query, description = "The staker.",
            pattern = "^[0-9a-fA-F]{64}$"),
        ("state" = Option<Vec<String>>, Query,
            description = "Only these states: `active`, `unbonding_requested`, `unbonding`, \
                `unbonded`, `withdrawn`, `slashed`."),
        ("pending_action" = Option<bool>, Query,
            description = "Only those of which something is left to do."),
        ("pagination_key" = Option<String>, Query, description = "`next_key` of the page before.")),
    responses((status = 200, description = "A page.", body = Answer<Vec<DelegationPublic>>),
        Failure))]
async fn staker_delegations(
    State(compat): State<Compat>,
    asked: Asked,
) -> Result<Answer<Vec<DelegationPublic>>, Refusal> {
    let staker = asked.required_key("staker_btc_pk")?;
    let states = asked.states()?;
    let keys = Keys { list: "babylon.delegations", filter: (staker, &states) };
    let after: Option<StakerPlace> = keys.read(asked.page())?;
    if states.as_ref().is_some_and(Vec::is_empty) {
        return Ok(Answer::page(Vec::new(), None));
    }
    let states = states.as_deref().unwrap_or_default();
    let page =
        compat.staking.staker_delegations(staker, states, after, compat.settings.page).await?;
    let rows = page.rows.iter();
    let rows = rows.filter_map(|row| DelegationPublic::new(row.hash, &row.delegation)).collect();
    let next = page.next.map(|place| keys.write(&place));
    Ok(Answer::page(rows, next))
}

/// A delegation by the hash of its staking transaction.
#[utoipa::path(get, path = "/compat/babylon/v1/delegation", tag = "compat-babylon",
    operation_id = "babylon_delegation",
    params(("staking_tx_hash_hex" = String, Query,
        description = "The hash of its staking transaction.", pattern = "^[0-9a-fA-F]{64}$")),
    responses((status = 200, description = "The delegation.", body = Answer<DelegationPublic>),
        Failure,
        (status = 404, description = "There is no such delegation.", body = ErrorBody)))]
async fn one(
    State(compat): State<Compat>,
    asked: Asked,
) -> Result<Answer<DelegationPublic>, Refusal> {
    let hash = asked.hash()?;
    let data = DelegationPublic::new(hash, &compat.delegation(hash).await?);
    let message = "staking delegation not found, please retry";
    let missing = || Refusal::new(StatusCode::NOT_FOUND, Code::NotFound, message);
    data.map(Answer::whole).ok_or_else(missing)
}

/// Unix seconds as RFC 3339 in UTC.
fn rfc3339(unix: u64) -> String {
    let (days, second) = (unix / 86_400, unix % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of a number of days since 1970. Years are counted from March on, so that the
/// leap day is the last one.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year + u64::from(month >= 10);
    (year, if month < 10 { month + 3 } else { month - 9 }, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_people_read_them() {
        for (unix, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_714_035_159, "2024-04-25T08:52:39Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(rfc3339(unix), expected);
        }
    }
}
