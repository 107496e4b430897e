//! Transactions of Conflux's core space: described, signed, encoded.

use super::account::{Account, Address, hex, keccak};
use super::rlp;

/// What the node asks for as a rule (`cfx_gasPrice`), in drip.
const GAS_PRICE: u64 = 1_000_000_000;

/// The gas of a transfer between users.
const TRANSFER_GAS: u64 = 21_000;

/// Gas and bytes of storage that are enough for the small contracts of tests.
const CREATE: (u64, u64) = (500_000, 1024);

/// What the sender offers for gas, which also decides the type of the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fee {
    /// One price: type 0.
    Price(u64),
    /// A bound and a tip for the miner (CIP-1559): type 2, from epoch 3 on.
    Market {
        /// `maxFeePerGas`.
        most: u64,
        /// `maxPriorityFeePerGas`.
        tip: u64,
    },
}

/// A transaction that is not signed yet.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// The sender's count; none takes the next one that the node's pool knows of. Give it when
    /// several transactions of a sender go into blocks directly: the pool sees none of them.
    pub nonce: Option<u64>,
    /// What is offered for gas.
    pub fee: Fee,
    /// The most gas that may be used; a quarter is the least that is charged.
    pub gas: u64,
    /// Who receives it; none creates a contract.
    pub to: Option<Address>,
    /// How much is sent, in drip.
    pub value: u128,
    /// How many bytes of storage it may add; the sender must own the collateral.
    pub storage_limit: u64,
    /// Input of a call, or the code that creates a contract.
    pub data: Vec<u8>,
}

impl Transaction {
    /// Sends drip to a user.
    #[must_use]
    pub fn transfer(to: Address, value: u128) -> Self {
        let (fee, data) = (Fee::Price(GAS_PRICE), Vec::new());
        Self { nonce: None, fee, gas: TRANSFER_GAS, to: Some(to), value, storage_limit: 0, data }
    }

    /// Runs code that creates a contract.
    #[must_use]
    pub fn create(code: Vec<u8>) -> Self {
        let (gas, storage_limit) = CREATE;
        let fee = Fee::Price(GAS_PRICE);
        Self { nonce: None, fee, gas, to: None, value: 0, storage_limit, data: code }
    }

    /// The same with another nonce.
    #[must_use]
    pub fn nonce(mut self, nonce: u64) -> Self {
        self.nonce = Some(nonce);
        self
    }

    /// Signs it. None only if no signature exists for its hash, which nobody can bring about.
    pub(super) fn sign(&self, account: &Account, place: &Place) -> Option<Signed> {
        let unsigned = rlp::list(&self.fields(place));
        let hash = keccak(&[self.kind(), &unsigned].concat());
        let (signature, recovery) = account.sign(&hash)?;
        let signed = rlp::list(&[
            unsigned,
            rlp::number(recovery.to_byte()),
            rlp::integer(&signature.r().to_bytes()),
            rlp::integer(&signature.s().to_bytes()),
        ]);
        Some(Signed { raw: [self.kind(), &signed].concat(), typed: !self.kind().is_empty() })
    }

    /// What stands before the list of a transaction with a type.
    fn kind(&self) -> &'static [u8] {
        match self.fee {
            Fee::Price(_) => b"",
            Fee::Market { .. } => b"cfx\x02",
        }
    }

    fn fields(&self, place: &Place) -> Vec<Vec<u8>> {
        let prices = match self.fee {
            Fee::Price(price) => vec![price],
            Fee::Market { most, tip } => vec![tip, most],
        };
        let to = self.to.map_or_else(Vec::new, |to| to.0.to_vec());
        let mut fields = vec![rlp::number(place.nonce)];
        fields.extend(prices.into_iter().map(rlp::number));
        fields.extend([
            rlp::number(self.gas),
            rlp::string(&to),
            rlp::number(self.value),
            rlp::number(self.storage_limit),
            rlp::number(place.epoch_height),
            rlp::number(place.chain_id),
            rlp::string(&self.data),
        ]);
        if let Fee::Market { .. } = self.fee {
            // No list of addresses that are touched.
            fields.push(rlp::list(&[]));
        }
        fields
    }
}

/// What makes a transaction valid once, on one chain, for some time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) nonce: u64,
    pub(super) chain_id: u32,
    /// It may be packed within 100,000 epochs of this one.
    pub(super) epoch_height: u64,
}

/// A signed transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    raw: Vec<u8>,
    typed: bool,
}

impl Signed {
    /// As `cfx_sendRawTransaction` wants it.
    #[must_use]
    pub fn raw(&self) -> String {
        hex(&self.raw)
    }

    /// Its hash, before anybody has seen it.
    #[must_use]
    pub fn hash(&self) -> String {
        hex(&keccak(&self.raw))
    }

    /// As it stands in a block: one with a type is wrapped as a string.
    fn in_block(&self) -> Vec<u8> {
        if self.typed { rlp::string(&self.raw) } else { self.raw.clone() }
    }
}

/// The transactions of a block, as `test_generatecustomblock` wants them.
pub(super) fn body(transactions: &[Signed]) -> String {
    hex(&rlp::list(&transactions.iter().map(Signed::in_block).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place { nonce: 3, chain_id: 1234, epoch_height: 24 };

    fn sign(transaction: &Transaction) -> Signed {
        transaction.sign(&Account::numbered(0), &PLACE).expect("signed")
    }

    #[test]
    fn the_unsigned_fields_stand_in_the_order_of_the_protocol() {
        let transfer = Transaction::transfer(Address([0x11; 20]), 5);
        let mut expected = vec![0xe5, 3, 0x84, 0x3b, 0x9a, 0xca, 0, 0x82, 0x52, 0x08, 0x94];
        expected.extend([0x11; 20]);
        expected.extend([5, 0x80, 24, 0x82, 0x04, 0xd2, 0x80]);
        assert_eq!(rlp::list(&transfer.fields(&PLACE)), expected);
        let signed = sign(&transfer);
        assert!(signed.raw.windows(expected.len()).any(|part| part == expected));
    }

    #[test]
    fn signing_twice_gives_the_same_transaction() {
        let transfer = Transaction::transfer(Address([0x11; 20]), 5);
        assert_eq!(sign(&transfer), sign(&transfer));
        assert_ne!(sign(&transfer).hash(), sign(&Transaction { value: 6, ..transfer }).hash());
    }

    #[test]
    fn a_type_is_told_in_front_and_wrapped_in_a_block() {
        let plain = sign(&Transaction::create(vec![0]));
        assert_eq!(body(std::slice::from_ref(&plain)).len(), 2 + 2 * (plain.raw.len() + 2));
        let fee = Fee::Market { most: 2, tip: 1 };
        let typed = sign(&Transaction { fee, ..Transaction::create(vec![0]) });
        assert!(typed.raw().starts_with("0x63667802f8"), "{}", typed.raw());
        assert_eq!(typed.in_block()[..2], [0xb8, u8::try_from(typed.raw.len()).expect("small")]);
    }
}
