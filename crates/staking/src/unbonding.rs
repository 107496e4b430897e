//! A staker asks to take a delegation out. Whoever signs and sends the transaction finds the
//! request at the delegation; nothing is counted until the transaction is seen on Bitcoin.

use platform::StoreError;
use serde_json::json;

use crate::delegation::{Delegation, State, StepError, UnbondingRequest};
use crate::guarded;
use crate::staking::{Staking, StakingError};
use crate::tables::DELEGATIONS;
use crate::{BtcHeight, TxHash};

/// Why a request was not noted.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// There is no such stake.
    #[error("no stake is known by this hash; wait until it is confirmed, then ask again")]
    Unknown,
    /// It is not in a state for this.
    #[error(transparent)]
    Refused(#[from] StepError),
    /// The store failed; the request may be repeated.
    #[error(transparent)]
    Failed(#[from] StakingError),
}

impl From<StoreError> for RequestError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

impl Staking {
    /// Notes how a staker asks to take a delegation out, and tells so. Of several requests at the
    /// same time one is noted.
    ///
    /// # Errors
    /// When the stake is not known or not active, or when the store fails.
    pub async fn request_unbonding(
        &self,
        hash: TxHash,
        request: UnbondingRequest,
    ) -> Result<(), RequestError> {
        let unbonding = request.hash;
        self.note_request(hash, request).await?;
        let data = json!({
            "staking_tx_hash_hex": hash.to_string(),
            "unbonding_tx_hash_hex": unbonding.to_string(),
        });
        self.announce("staking.unbonding.requested", data).await;
        Ok(())
    }

    async fn note_request(
        &self,
        hash: TxHash,
        request: UnbondingRequest,
    ) -> Result<(), RequestError> {
        let height = BtcHeight(self.bitcoin().await?.height);
        guarded::change(&self.inner.store, &DELEGATIONS, (&hash.0, &()), |known| {
            Ok((Some(requested(known.unwrap_or_default(), &request, height)?), ()))
        })
        .await
    }
}

/// The delegation with the request.
fn requested(
    mut known: Delegation,
    request: &UnbondingRequest,
    height: BtcHeight,
) -> Result<Delegation, RequestError> {
    if known.staked.is_none() {
        return Err(RequestError::Unknown);
    }
    // A timelock that has passed may not be noted yet. Whoever notes it also counts it, so here it
    // is looked at on a copy only.
    let mut as_of_now = known.clone();
    as_of_now.expire(height);
    if as_of_now.state() != Some(State::Active) {
        return Err(StepError::NotActive.into());
    }
    known.request_unbonding(request.clone())?;
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Staked;
    use crate::{Blocks, PublicKey, Satoshi};

    #[test]
    fn only_a_stake_that_still_holds_is_asked_back() {
        let request = UnbondingRequest { hash: TxHash([7; 32]), tx: vec![1], signature: vec![2] };
        let staked = Staked {
            staker: PublicKey([1; 32]),
            provider: PublicKey([2; 32]),
            value: Satoshi(5),
            start: BtcHeight(100),
            timestamp: 5,
            timelock: Blocks(10),
            output: 0,
            tx: vec![0],
            is_overflow: false,
        };
        let nothing = requested(Delegation::default(), &request, BtcHeight(0));
        assert!(matches!(nothing, Err(RequestError::Unknown)));
        let known = Delegation { staked: Some(staked), ..Delegation::default() };
        let passed = requested(known.clone(), &request, BtcHeight(110));
        assert!(matches!(passed, Err(RequestError::Refused(StepError::NotActive))));
        let asked = requested(known.clone(), &request, BtcHeight(109)).expect("active");
        assert_eq!(asked, Delegation { request: Some(request.clone()), ..known });
        let again = requested(asked, &request, BtcHeight(109));
        assert!(matches!(again, Err(RequestError::Refused(StepError::NotActive))));
    }
}
