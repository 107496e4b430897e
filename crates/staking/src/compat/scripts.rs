//! The scripts that lock a stake and its unbonding, rebuilt from keys and parameters.
//!
//! ```text
//!   stake       ┬─┬─ staker signs, after the timelock of the stake
//!               │ └─ staker and covenant sign: unbonding
//!               └─── staker, finality provider and covenant sign: slashing
//!   unbonding   ┬─── staker signs, after the timelock of the unbonding
//!               └─── staker, finality provider and covenant sign: slashing
//! ```
//!
//! Nobody knows a key for the output itself, so one of these is the only way to spend it.

use ::bitcoin::opcodes::all::{
    OP_CHECKSIG, OP_CHECKSIGADD, OP_CHECKSIGVERIFY, OP_CSV, OP_NUMEQUAL,
};
use ::bitcoin::script::Builder;
use ::bitcoin::secp256k1::{Message, schnorr};
use ::bitcoin::sighash::{Prevouts, SighashCache};
use ::bitcoin::taproot::LeafVersion;
use ::bitcoin::{
    Amount, ScriptBuf, TapLeafHash, TapNodeHash, TapSighashType, Transaction, TxOut, XOnlyPublicKey,
};

use super::params::VersionedParams;
use crate::address::CURVE;
use crate::{Blocks, PublicKey};

/// The point of BIP 341 whose private key nobody knows.
const NOBODY: [u8; 32] = [
    0x50, 0x92, 0x9b, 0x74, 0xc1, 0xa0, 0x49, 0x54, 0xb7, 0x8b, 0x4b, 0x60, 0x35, 0xe9, 0x7a, 0x5e,
    0x07, 0x8a, 0x5a, 0x0f, 0x28, 0xec, 0x96, 0xd5, 0x47, 0xbf, 0xee, 0x9a, 0xce, 0x80, 0x3a, 0xc0,
];

/// Whoever can sign for a stake.
#[derive(Debug)]
pub(super) struct Signers {
    staker: XOnlyPublicKey,
    provider: XOnlyPublicKey,
    /// In the order of their bytes.
    covenant: Vec<XOnlyPublicKey>,
    quorum: u32,
    nobody: XOnlyPublicKey,
}

impl Signers {
    /// The signers of a stake under its parameters; none when a key is not on the curve, or one
    /// signs twice.
    pub(super) fn new(
        staker: PublicKey,
        provider: PublicKey,
        params: &VersionedParams,
    ) -> Option<Self> {
        let key = |PublicKey(key): PublicKey| XOnlyPublicKey::from_slice(&key).ok();
        let (staker, provider, covenant) = (key(staker)?, key(provider)?, params.covenant()?);
        let is_twice =
            staker == provider || covenant.contains(&staker) || covenant.contains(&provider);
        let nobody = XOnlyPublicKey::from_slice(&NOBODY).ok()?;
        (!is_twice).then(|| Self { staker, provider, covenant, quorum: params.quorum(), nobody })
    }

    /// The output that a stake is locked in.
    pub(super) fn stake(&self, timelock: Blocks, satoshi: u64) -> TxOut {
        let early = TapNodeHash::from_node_hashes(
            leaf(&self.after(timelock)),
            leaf(&self.unbonding_script()),
        );
        self.output(TapNodeHash::from_node_hashes(early, leaf(&self.slashing())), satoshi)
    }

    /// The output that an unbonding is locked in.
    pub(super) fn unbonding(&self, timelock: Blocks, satoshi: u64) -> TxOut {
        let root =
            TapNodeHash::from_node_hashes(leaf(&self.after(timelock)), leaf(&self.slashing()));
        self.output(root, satoshi)
    }

    /// Whether the staker signed a transaction that unbonds a stake, its only input.
    pub(super) fn is_signed(
        &self,
        tx: &Transaction,
        stake: &TxOut,
        signature: &schnorr::Signature,
    ) -> bool {
        let script = self.unbonding_script();
        let leaf = TapLeafHash::from_script(&script, LeafVersion::TapScript);
        let spent = [stake];
        let signed = SighashCache::new(tx).taproot_script_spend_signature_hash(
            0,
            &Prevouts::All(&spent),
            leaf,
            TapSighashType::Default,
        );
        let Ok(signed) = signed else { return false };
        CURVE.verify_schnorr(signature, &Message::from(signed), &self.staker).is_ok()
    }

    fn output(&self, root: TapNodeHash, satoshi: u64) -> TxOut {
        let script_pubkey = ScriptBuf::new_p2tr(&*CURVE, self.nobody, Some(root));
        TxOut { value: Amount::from_sat(satoshi), script_pubkey }
    }

    fn after(&self, Blocks(blocks): Blocks) -> ScriptBuf {
        let script = Builder::new().push_x_only_key(&self.staker).push_opcode(OP_CHECKSIGVERIFY);
        script.push_int(blocks.into()).push_opcode(OP_CSV).into_script()
    }

    fn unbonding_script(&self) -> ScriptBuf {
        let staker = Builder::new().push_x_only_key(&self.staker).push_opcode(OP_CHECKSIGVERIFY);
        self.and_covenant(staker)
    }

    fn slashing(&self) -> ScriptBuf {
        let both = Builder::new()
            .push_x_only_key(&self.staker)
            .push_opcode(OP_CHECKSIGVERIFY)
            .push_x_only_key(&self.provider)
            .push_opcode(OP_CHECKSIGVERIFY);
        self.and_covenant(both)
    }

    /// Enough of the covenant sign too. One alone needs no counting.
    fn and_covenant(&self, mut script: Builder) -> ScriptBuf {
        for (place, key) in self.covenant.iter().enumerate() {
            let check = if place == 0 { OP_CHECKSIG } else { OP_CHECKSIGADD };
            script = script.push_x_only_key(key).push_opcode(check);
        }
        if self.covenant.len() > 1 {
            script = script.push_int(self.quorum.into()).push_opcode(OP_NUMEQUAL);
        }
        script.into_script()
    }
}

fn leaf(script: &ScriptBuf) -> TapNodeHash {
    TapNodeHash::from_script(script, LeafVersion::TapScript)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BtcHeight;
    use crate::compat::GlobalParams;
    use serde_json::json;

    const STAKER: &str = "91fef91f0f00d010d6c918acb9197db6cd33d99ee617090fa8cb61fa2a31405a";
    const PROVIDER: &str = "03d5a0bb72d71993e435d6c5a70e2aa4db500a62cfaae33c56050deefee64ec0";
    const COVENANT: [&str; 5] = [
        "57349e985e742d5131e1e2b227b5170f6350ac2e2feb72254fcc25b3cee21a18",
        "59d3532148a597a2d05c0395bf5f7176044b1cd312f37701a9b4d0aad70bc5a4",
        "a5c60c2188e833d39d0fa798ab3f69aa12ed3dd2f3bad659effa252782de3c31",
        "c8ccb03c379e452f10c81232b41a1ca8b63d0baf8387e57d302c987e5abb8527",
        "ffeaec52a9b407b355ef6967a7ffc15fd6c3fe07de2844d61550475e7a5233e5",
    ];

    fn signers(staker: &str, covenant: &[&str], quorum: u32) -> Option<Signers> {
        let covenant: Vec<String> = covenant.iter().map(|key| format!("03{key}")).collect();
        let params = json!({ "versions": [{
            "version": 0, "activation_height": 1, "cap_height": 5, "tag": "01020304",
            "covenant_pks": covenant, "covenant_quorum": quorum, "unbonding_time": 1_000,
            "unbonding_fee": 10_000, "max_staking_amount": 100_000,
            "min_staking_amount": 100_000, "max_staking_time": 100, "min_staking_time": 100,
            "confirmation_depth": 2,
        }] });
        let params = GlobalParams::read(&params.to_string()).expect("valid");
        let key = |text| PublicKey::parse(text).expect("a key");
        Signers::new(key(staker), key(PROVIDER), params.at(BtcHeight(1)).expect("a version"))
    }

    #[test]
    fn the_outputs_are_those_of_a_real_stake_and_its_unbonding() {
        let mut shuffled = COVENANT;
        shuffled.reverse();
        let signers = signers(STAKER, &shuffled, 3).expect("keys");
        let stake = signers.stake(Blocks(100), 100_000).script_pubkey.to_hex_string();
        let expected = "512072a6ef79c17676fb1b54a157a4921fa57f4295dae778a423523a378171b09f3e";
        assert_eq!(stake, expected);
        let unbonding = signers.unbonding(Blocks(1_000), 90_000).script_pubkey.to_hex_string();
        let expected = "5120ba296d88e83fd2faf5864ddda74ac8d0df6a7d76b39d5ef4c0751117a26cfd31";
        assert_eq!(unbonding, expected);
        // The script that the real transaction reveals.
        let [first, rest @ ..] = COVENANT;
        let rest: String = rest.iter().map(|key| format!("20{key}ba")).collect();
        let revealed = format!("20{STAKER}ad20{first}ac{rest}539c");
        assert_eq!(signers.unbonding_script().to_hex_string(), revealed);
    }

    #[test]
    fn a_covenant_of_one_is_not_counted_and_nobody_signs_twice() {
        let [first, ..] = COVENANT;
        let alone = signers(STAKER, &[first], 1).expect("keys");
        let script = alone.unbonding_script().to_hex_string();
        assert_eq!(script, format!("20{STAKER}ad20{first}ac"));
        assert!(signers(first, &[first], 1).is_none());
        assert!(signers(PROVIDER, &[first], 1).is_none());
        assert!(signers(&"ff".repeat(32), &[first], 1).is_none(), "not on the curve");
    }
}
