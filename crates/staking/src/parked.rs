//! Steps that wait for an earlier one that never comes are given up: they are kept as messages that
//! cannot be applied, and leave their delegation, unless it counts already.

use serde_json::{Value, json};
use store::PageRequest;

use crate::TxHash;
use crate::delegation::{Delegation, Waiting};
use crate::guarded;
use crate::hex::Hex;
use crate::ingest::HOUR;
use crate::intake::Message;
use crate::staking::{Staking, StakingError};
use crate::tables::{DELEGATIONS, DIRECTORY, Directory, LANES, WAITING};

/// Why a step is given up.
const LEFT: &str = "what it builds on did not come; replay it when it has";
/// Why a step of a stake that is known is told of.
const WAITS: &str = "what it builds on did not come; it stays noted, and applies when that comes";

impl Staking {
    /// Gives up steps that have waited for too long; how many.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn give_up(&self) -> Result<u64, StakingError> {
        let now = self.inner.clock.now() / HOUR;
        let last = now.saturating_sub(self.inner.settings.patience_hours);
        let mut given_up = 0;
        for hour in self.directory(Directory::Waiting).await? {
            if hour >= last {
                break;
            }
            given_up += self.give_up_hour(hour).await?;
            let row = DIRECTORY.sweep(&(Directory::Waiting as u8), &hour)?;
            self.inner.store.put(vec![row]).await?;
        }
        Ok(given_up)
    }

    async fn give_up_hour(&self, hour: u64) -> Result<u64, StakingError> {
        let mut given_up = 0;
        for place in (0..LANES).map(|lane| (hour, lane)) {
            let mut cursor = None;
            loop {
                let request = PageRequest { cursor, ..PageRequest::first(1000) };
                let page = self.inner.store.page(&WAITING, &place, request).await?;
                let mut swept = Vec::with_capacity(page.rows.len());
                for (hash, ()) in page.rows {
                    given_up += self.release(TxHash(hash)).await?;
                    swept.push(WAITING.sweep(&place, &hash)?);
                }
                if !swept.is_empty() {
                    self.inner.store.put(swept).await?;
                }
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
        }
        Ok(given_up)
    }

    /// Takes parked steps out of a delegation. They are kept first: a crash in between keeps them
    /// twice, and replaying them twice changes nothing. A delegation whose stake is known ranks its
    /// sums by what it knows, so it forgets nothing: its steps are only kept.
    async fn release(&self, hash: TxHash) -> Result<u64, StakingError> {
        loop {
            let seen = self.delegation(hash).await?.unwrap_or_default();
            let parked: Vec<Waiting> = seen.parked().collect();
            let messages: Vec<Message> =
                parked.iter().filter_map(|step| message(hash, &seen, *step)).collect();
            let reason = if seen.staked.is_some() { WAITS } else { LEFT };
            let refused: Vec<_> =
                (0..messages.len()).map(|number| (number, reason.to_owned())).collect();
            self.keep(&messages, &refused).await?;
            if parked.is_empty() || seen.staked.is_some() {
                return Ok(messages.len() as u64);
            }
            let released =
                guarded::change(&self.inner.store, &DELEGATIONS, (&hash.0, &()), |now| {
                    let is_seen = now.as_ref() == Some(&seen);
                    let nothing = is_seen.then(Delegation::default);
                    Ok::<_, StakingError>((nothing, is_seen))
                });
            if released.await? {
                return Ok(messages.len() as u64);
            }
        }
    }
}

/// The message that a parked step came from, as it can be replayed.
fn message(TxHash(hash): TxHash, delegation: &Delegation, waiting: Waiting) -> Option<Message> {
    let (queue, event, fields) = match waiting {
        Waiting::Unbonding => {
            let unbonding = delegation.unbonding.as_ref()?;
            let fields = json!({
                "unbonding_tx_hash_hex": unbonding.hash.to_string(),
                "unbonding_tx_hex": Hex(&unbonding.tx).to_string(),
                "unbonding_start_height": unbonding.start.0,
                "unbonding_start_timestamp": unbonding.timestamp,
                "unbonding_timelock": unbonding.timelock.0,
                "unbonding_output_index": unbonding.output,
            });
            ("unbonding_staking_queue", 2, fields)
        }
        Waiting::StakingExpired => ("expired_staking_queue", 4, json!({ "tx_type": "active" })),
        Waiting::UnbondingExpired => {
            ("expired_staking_queue", 4, json!({ "tx_type": "unbonding" }))
        }
        Waiting::Withdrawal => {
            let withdrawal = delegation.withdrawal.as_ref()?;
            let fields = withdrawal.hash.zip(withdrawal.height).map(|(hash, height)| {
                json!({
                    "schema_version": 1,
                    "withdraw_tx_hash_hex": hash.to_string(),
                    "withdraw_tx_btc_height": height.0,
                })
            });
            ("withdraw_staking_queue", 3, fields.unwrap_or_else(|| json!({})))
        }
        Waiting::Slashing => {
            let slashing = delegation.slashing.as_ref()?;
            let fields = json!({
                "slashing_tx_hash_hex": slashing.hash.to_string(),
                "slashing_tx_btc_height": slashing.height.0,
            });
            ("slashed_staking_queue", 8, fields)
        }
    };
    let Value::Object(mut fields) = fields else { return None };
    fields.insert("event_type".to_owned(), event.into());
    fields.insert("staking_tx_hash_hex".to_owned(), Hex(&hash).to_string().into());
    let body = serde_json::to_vec(&Value::Object(fields)).ok()?;
    Some(Message { source: queue.to_owned(), body })
}
