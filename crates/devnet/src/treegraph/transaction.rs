//! Transactions: what they ask for, and what executing them gives.
//!
//! Nothing is computed here. A transaction carries its fate from the start, so that every branch
//! that executes it says the same about it.

use super::{Account, Hash};

/// Gas of a transfer, used and allowed.
const TRANSFER_GAS: u64 = 21_000;
/// Gas that a call may use.
const CALL_GAS: u64 = 80_000;
/// Gas that the creation of a contract may use.
const CREATE_GAS: u64 = 500_000;
/// Bytes of a signed transfer, about.
const TRANSFER_BYTES: u64 = 107;
/// `transfer(address,uint256)`.
const TRANSFER_SELECTOR: [u8; 4] = [0xa9, 0x05, 0x9c, 0xbb];

/// What a transaction asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// To pay somebody.
    Transfer,
    /// To run a contract.
    Call,
    /// To make a contract.
    Create,
}

/// What a contract writes down for others to find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// The contract.
    pub address: Account,
    /// What it can be found by.
    pub topics: Vec<Hash>,
    /// The rest.
    pub data: Vec<u8>,
}

/// A transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Its hash.
    pub hash: Hash,
    /// Who pays.
    pub from: Account,
    /// Who is paid or called; when a contract is made, the contract. The node tells nobody then.
    pub to: Account,
    /// How much, in drip.
    pub value: u128,
    /// How many the payer sent before.
    pub nonce: u64,
    /// The epoch it was made for.
    pub epoch_height: u64,
    /// What it asks for.
    pub action: Action,
    /// What is sent along: arguments of a call, code of a new contract.
    pub data: Vec<u8>,
    /// Whether executing it fails.
    pub fails: bool,
}

impl Transaction {
    pub(super) fn transfer(
        (from, nonce): (Account, u64),
        to: Account,
        value: u128,
        epoch_height: u64,
    ) -> Self {
        let (action, data, fails) = (Action::Transfer, Vec::new(), false);
        let hash = Hash([0; 32]);
        Self { hash, from, to, value, nonce, epoch_height, action, data, fails }.sealed()
    }

    /// Moves tokens of a contract to somebody.
    pub(super) fn call(
        (from, nonce): (Account, u64),
        (contract, to): (Account, Account),
        (amount, fails): (u128, bool),
        epoch_height: u64,
    ) -> Self {
        let mut data = TRANSFER_SELECTOR.to_vec();
        data.extend(word(&to.0).0);
        data.extend(word(&amount.to_be_bytes()).0);
        let (hash, action) = (Hash([0; 32]), Action::Call);
        Self { hash, from, to: contract, value: 0, nonce, epoch_height, action, data, fails }
            .sealed()
    }

    pub(super) fn create(
        (from, nonce): (Account, u64),
        (code, fails): (Vec<u8>, bool),
        epoch_height: u64,
    ) -> Self {
        let (hash, to, action) =
            (Hash([0; 32]), Account::contract(&from, nonce, &code), Action::Create);
        Self { hash, from, to, value: 0, nonce, epoch_height, action, data: code, fails }.sealed()
    }

    fn sealed(mut self) -> Self {
        let (value, height) = (self.value.to_be_bytes(), self.epoch_height.to_be_bytes());
        let (nonce, fails) = (self.nonce.to_be_bytes(), [u8::from(self.fails)]);
        let parts: [&[u8]; 8] =
            [b"transaction", &self.from.0, &nonce, &self.to.0, &value, &height, &self.data, &fails];
        self.hash = Hash::of(&parts);
        self
    }

    /// Gas that it may use.
    pub(super) fn gas(&self) -> u64 {
        match self.action {
            Action::Transfer => TRANSFER_GAS,
            Action::Call => CALL_GAS,
            Action::Create => CREATE_GAS,
        }
    }

    /// Gas that it uses where it is executed.
    pub(super) fn gas_used(&self) -> u64 {
        // Calls are not all alike.
        let varied = u64::from(self.hash.0[0]) * 64;
        match (self.action, self.fails) {
            (Action::Transfer, _) => TRANSFER_GAS,
            (Action::Call, false) => 34_000 + varied,
            (Action::Call, true) => 24_000 + varied / 8,
            (Action::Create, false) => 53_000 + 200 * self.data.len() as u64 + varied,
            // It ran out of it.
            (Action::Create, true) => CREATE_GAS,
        }
    }

    /// Gas that is paid for: what is left over is given back, up to a quarter of what was allowed.
    pub(super) fn gas_charged(&self) -> u64 {
        self.gas_used().max(self.gas() - self.gas() / 4)
    }

    /// Bytes of a block that it takes.
    pub(super) fn size(&self) -> u64 {
        TRANSFER_BYTES + self.data.len() as u64
    }

    /// The contract that it makes.
    pub(super) fn contract_created(&self) -> Option<Account> {
        (self.action == Action::Create && !self.fails).then_some(self.to)
    }

    /// Why it fails, in the words of the real node.
    pub(super) fn failure(&self) -> Option<&'static str> {
        let reverted = "Vm reverted, Reason provided by the contract: \
                        'ERC20: transfer amount exceeds balance'";
        self.fails.then_some(match self.action {
            Action::Create => "VmError(OutOfGas)",
            Action::Transfer | Action::Call => reverted,
        })
    }

    /// What its execution leaves to be found: a token's transfer, or its first issue.
    pub(super) fn logs(&self) -> Vec<Log> {
        let event = Hash::keccak(&[b"Transfer(address,address,uint256)"]);
        let argument = |at: usize| self.data.get(4 + 32 * at..36 + 32 * at).map(<[u8]>::to_vec);
        let (from, to, data) = match (self.action, self.fails) {
            (Action::Call, false) => {
                let to = argument(0).unwrap_or_default();
                (word(&self.from.0), word(&to), argument(1).unwrap_or_default())
            }
            (Action::Create, false) => {
                (word(&[]), word(&self.from.0), word(&1_000_000_u64.to_be_bytes()).0.to_vec())
            }
            _ => return Vec::new(),
        };
        vec![Log { address: self.to, topics: vec![event, from, to], data }]
    }
}

/// Bytes at the end of a word of 32.
fn word(bytes: &[u8]) -> Hash {
    let mut word = [0; 32];
    for (to, from) in word.iter_mut().rev().zip(bytes.iter().rev()) {
        *to = *from;
    }
    Hash(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_of_tokens_leaves_a_log_unless_it_fails() {
        let account = |byte: u8| Account([byte; 20]);
        let ends = (account(0x81), account(0x12));
        let call = |fails| Transaction::call((account(0x11), 3), ends, (500, fails), 9);
        let logs = call(false).logs();
        let [log] = logs.as_slice() else { panic!("one log: {logs:?}") };
        assert_eq!(log.address, account(0x81));
        assert_eq!(log.topics[1..], [word(&[0x11; 20]), word(&[0x12; 20])]);
        assert_eq!(log.data, word(&[1, 244]).0);
        let event = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
        assert_eq!(log.topics[0].to_string(), event, "the event every token has");
        assert!(call(true).logs().is_empty() && call(true).failure().is_some());
        assert_ne!(call(true).hash, call(false).hash);
        assert!(call(false).gas_charged() >= call(false).gas_used());
    }
}
