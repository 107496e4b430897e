//! A staker asks to take a delegation out: who may ask, and what is checked before it is noted.

use ::bitcoin::secp256k1::schnorr::Signature;
use ::bitcoin::{Sequence, Transaction, Txid, absolute, transaction};
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answer::{Code, ErrorBody, Failure, Nothing, Refusal};
use super::asked::Asked;
use super::params::VersionedParams;
use super::scripts::Signers;
use super::{Compat, CompatSettings};
use crate::delegation::{self, UnbondingRequest};
use crate::event::{Staked, TX_BYTES};
use crate::{Blocks, RequestError, TxHash};

/// Bytes of a body at the most: a transaction in hexadecimal, two hashes and a signature.
const BODY_BYTES: usize = 2 * TX_BYTES + 4_096;

pub(super) fn routes() -> OpenApiRouter<Compat> {
    OpenApiRouter::new().routes(routes!(unbond)).routes(routes!(eligibility))
}

/// What a staker sends. What is missing is empty, and refused as what it should have been.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = BabylonUnbonding)]
struct Payload {
    /// The delegation.
    #[schema(pattern = "^[0-9a-fA-F]{64}$", required = true)]
    staking_tx_hash_hex: String,
    /// The hash of the transaction.
    #[schema(pattern = "^[0-9a-fA-F]{64}$", required = true)]
    unbonding_tx_hash_hex: String,
    /// The transaction that takes it out.
    #[schema(required = true)]
    unbonding_tx_hex: String,
    /// The staker's signature of it, 64 bytes.
    #[schema(pattern = "^[0-9a-fA-F]{128}$", required = true)]
    staker_signed_signature_hex: String,
}

/// A request whose parts can be read.
#[derive(Debug)]
struct Unbond {
    staking: TxHash,
    tx: Transaction,
    signature: Signature,
    request: UnbondingRequest,
}

impl Unbond {
    fn read(body: &[u8]) -> Result<Self, Refusal> {
        // Serde also fills a struct from a list, by position; nobody means that.
        let object = Some(body).filter(|body| body.trim_ascii_start().starts_with(b"{"));
        let payload: Option<Payload> = object.and_then(|it| serde_json::from_slice(it).ok());
        let payload = payload.ok_or_else(|| Refusal::bad("invalid request payload"))?;
        let hash = |text: &str, name| TxHash::parse(text).map_err(|_| Refusal::bad(name));
        let staking = hash(&payload.staking_tx_hash_hex, "invalid staking transaction hash")?;
        let unbonding = hash(&payload.unbonding_tx_hash_hex, "invalid unbonding transaction hash")?;
        let bytes = crate::hex::read(&payload.unbonding_tx_hex);
        let bytes = bytes.filter(|bytes| bytes.len() <= TX_BYTES);
        let tx = bytes.as_ref().and_then(|it| ::bitcoin::consensus::deserialize(it).ok());
        let (Some(bytes), Some(tx)) = (bytes, tx) else {
            return Err(Refusal::bad("invalid unbonding transaction hex"));
        };
        let signature = crate::hex::read(&payload.staker_signed_signature_hex);
        let read = signature.as_ref().and_then(|bytes| Signature::from_slice(bytes).ok());
        let (Some(signature), Some(read)) = (signature, read) else {
            return Err(Refusal::bad("invalid staker signed signature hex"));
        };
        let request = UnbondingRequest { hash: unbonding, tx: bytes, signature };
        Ok(Self { staking, tx, signature: read, request })
    }

    /// Whether the transaction is one that unbonds this stake.
    fn check(&self, staked: &Staked, settings: &CompatSettings) -> Result<(), Refusal> {
        let invalid = |message: String| Refusal::forbidden(Code::ValidationError, message);
        self.check_shape().map_err(|what| {
            let what = format!("the unbonding tx is not a valid pre-signed unbonding tx: {what}");
            invalid(format!("invalid unbonding tx hex: {what}"))
        })?;
        if shown(self.tx.compute_txid()) != Some(self.request.hash) {
            let what = "unbonding_tx_hash_hex must match the hash calculated from the provided \
                        unbonding tx";
            return Err(invalid(what.to_owned()));
        }
        self.check_input(staked).map_err(invalid)?;
        let Some(params) = &settings.global_params else { return Ok(()) };
        let params = params.at(staked.start).ok_or_else(|| {
            let height = staked.start.0;
            Refusal::internal(format!("global-params.json has no version for height {height}"))
        })?;
        self.check_scripts(staked, params).map_err(|what| invalid(what.to_owned()))
    }

    /// It must be final as it is, because others sign it as it is.
    fn check_shape(&self) -> Result<(), &'static str> {
        let tx = &self.tx;
        let [input] = tx.input.as_slice() else { return Err("tx must have exactly 1 inputs") };
        if tx.output.len() != 1 {
            return Err("tx must have exactly 1 outputs");
        }
        if tx.lock_time != absolute::LockTime::ZERO {
            return Err("pre-signed tx must not have locktime");
        }
        if tx.version != transaction::Version::TWO {
            return Err("tx version must be between 2 and 2");
        }
        if input.sequence != Sequence::MAX {
            return Err("pre-signed tx must not be replaceable");
        }
        if !input.script_sig.is_empty() {
            return Err("pre-signed tx must not have signature script");
        }
        Ok(())
    }

    fn check_input(&self, staked: &Staked) -> Result<(), String> {
        let spent = self.tx.input.first().map(|input| input.previous_output).unwrap_or_default();
        let (expected, found) = (self.staking, spent.txid);
        if shown(found) != Some(expected) {
            return Err(format!(
                "the unbonding tx input must match the previous staking tx hash, expected: \
                 {expected}, got: {found}"
            ));
        }
        let (expected, found) = (staked.output, spent.vout);
        if found != expected {
            return Err(format!(
                "the unbonding tx input must match the previous staking tx output index, \
                 expected: {expected}, got: {found}"
            ));
        }
        Ok(())
    }

    /// Whether it pays into the scripts of the parameters, and the staker signed it.
    fn check_scripts(&self, staked: &Staked, params: &VersionedParams) -> Result<(), &'static str> {
        let left = params.unbonded(staked.value).ok_or("staking output value is too low")?;
        let signers = Signers::new(staked.staker, staked.provider, params)
            .ok_or("failed to build unbonding info")?;
        let expected = signers.unbonding(Blocks(params.unbonding_time()), left);
        if self.tx.output.first() != Some(&expected) {
            return Err("unbonding output does not match expected output");
        }
        let stake = signers.stake(staked.timelock, staked.value.0);
        let is_signed = signers.is_signed(&self.tx, &stake, &self.signature);
        is_signed.then_some(()).ok_or("invalid unbonding signature")
    }
}

/// A transaction's id as it is shown, which is how hashes are kept here.
fn shown(txid: Txid) -> Option<TxHash> {
    TxHash::parse(&txid.to_string()).ok()
}

impl Compat {
    /// The stake of a delegation that its staker may ask back.
    async fn active(&self, hash: TxHash) -> Result<Staked, Refusal> {
        let found = self.delegation(hash).await?;
        match found.state() {
            None => Err(unknown()),
            Some(delegation::State::Active) => found.staked.ok_or_else(unknown),
            Some(_) => Err(not_active()),
        }
    }
}

fn unknown() -> Refusal {
    Refusal::forbidden(Code::NotFound, "delegation not found")
}

fn not_active() -> Refusal {
    Refusal::forbidden(Code::Forbidden, "delegation state is not active")
}

async fn read_body(request: Request) -> Result<Bytes, Refusal> {
    match Limited::new(request.into_body(), BODY_BYTES).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            let status = StatusCode::PAYLOAD_TOO_LARGE;
            Err(Refusal::new(status, Code::BadRequest, "Request Entity Too Large"))
        }
        Err(_) => Err(Refusal::bad("invalid request payload")),
    }
}

/// Asks to take a delegation out. Others sign and send the transaction later.
#[utoipa::path(post, path = "/compat/babylon/v1/unbonding", tag = "compat-babylon",
    operation_id = "babylon_unbond", request_body = Payload,
    responses((status = 202, description = "The request is noted."), Failure,
        (status = 403, description = "The delegation is not known or not active, or the \
            transaction is not one that unbonds it.", body = ErrorBody),
        (status = 413, description = "The body is too large.", body = ErrorBody)))]
async fn unbond(State(compat): State<Compat>, request: Request) -> Result<Nothing, Refusal> {
    let unbond = Unbond::read(&read_body(request).await?)?;
    let staked = compat.active(unbond.staking).await?;
    unbond.check(&staked, &compat.settings)?;
    match compat.staking.request_unbonding(unbond.staking, unbond.request).await {
        Ok(()) => Ok(Nothing(StatusCode::ACCEPTED)),
        Err(RequestError::Unknown) => Err(unknown()),
        Err(RequestError::Refused(_)) => Err(not_active()),
        Err(RequestError::Failed(error)) => Err(error.into()),
    }
}

/// Whether a delegation may be asked back.
#[utoipa::path(get, path = "/compat/babylon/v1/unbonding/eligibility", tag = "compat-babylon",
    operation_id = "babylon_unbonding_eligibility",
    params(("staking_tx_hash_hex" = String, Query,
        description = "The hash of its staking transaction.", pattern = "^[0-9a-fA-F]{64}$")),
    responses((status = 200, description = "It may."), Failure,
        (status = 403, description = "It is not known or not active.", body = ErrorBody)))]
async fn eligibility(State(compat): State<Compat>, asked: Asked) -> Result<Nothing, Refusal> {
    compat.active(asked.hash()?).await?;
    Ok(Nothing(StatusCode::OK))
}
