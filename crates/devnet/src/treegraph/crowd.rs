//! Who mines and who pays: a few large ones and many small ones, as everywhere.

use super::{Account, Transaction};

/// Miners by name, with the share of blocks that each finds, in percent.
pub const MINERS: [(&str, u8); 8] = [
    ("aurora", 31),
    ("basalt", 22),
    ("cinder", 15),
    ("dune", 11),
    ("ember", 8),
    ("fjord", 6),
    ("grove", 4),
    ("harbour", 3),
];
/// Accounts that pay each other.
pub(super) const ACCOUNTS: usize = 40;
/// Contracts that are called; of more, the oldest is left alone.
const CONTRACTS: usize = 12;
/// Transactions in a hundred that call a contract, that make one, and that fail of either.
const CALLS_PERCENT: u8 = 30;
const CREATES_PERCENT: u8 = 2;
const FAILS_PERCENT: u8 = 12;

/// The account of a miner.
#[must_use]
pub fn miner(name: &str) -> Account {
    Account::user(&[b"miner", name.as_bytes()])
}

/// Those who send transactions.
#[derive(Clone, Debug)]
pub(super) struct Crowd {
    /// How many transactions each sent.
    nonces: [u64; ACCOUNTS],
    contracts: Vec<Account>,
}

impl Crowd {
    pub(super) fn new() -> Self {
        Self { nonces: [0; ACCOUNTS], contracts: Vec::new() }
    }

    /// New transactions, for a block on this epoch.
    pub(super) fn transactions(
        &mut self,
        random: &mut fastrand::Rng,
        most: usize,
        epoch: u64,
    ) -> Vec<Transaction> {
        // Mostly few, sometimes many.
        let most = random.usize(0..=most);
        let count = random.usize(0..=most);
        (0..count).map(|_| self.transaction(random, epoch)).collect()
    }

    fn transaction(&mut self, random: &mut fastrand::Rng, epoch: u64) -> Transaction {
        let (from, to) = (somebody(random), somebody(random));
        let sender = (account(from), self.nonces[from]);
        self.nonces[from] += 1;
        let (kind, fails) = (random.u8(0..100), random.u8(0..100) < FAILS_PERCENT);
        let contract = self.contracts.get(random.usize(0..CONTRACTS)).copied();
        match (kind, contract) {
            (kind, _) if kind < CREATES_PERCENT => {
                let made = Transaction::create(sender, (code(random), fails), epoch);
                self.remember(made.contract_created());
                made
            }
            (kind, Some(contract)) if kind < CREATES_PERCENT + CALLS_PERCENT => {
                let amount = u128::from(random.u64(1..10_000));
                Transaction::call(sender, (contract, account(to)), (amount, fails), epoch)
            }
            _ => {
                // From a trillionth of a coin to a few, so that amounts differ in length.
                let scale = 10_u128.pow(random.u32(6..=15));
                let value = u128::from(random.u64(1..10_000)) * scale;
                Transaction::transfer(sender, account(to), value, epoch)
            }
        }
    }

    fn remember(&mut self, contract: Option<Account>) {
        self.contracts.extend(contract);
        if self.contracts.len() > CONTRACTS {
            self.contracts.remove(0);
        }
    }
}

/// Who found a block.
pub(super) fn some_miner(random: &mut fastrand::Rng) -> Account {
    let mut ticket = random.u8(0..100);
    for (name, share) in MINERS {
        if ticket < share {
            return miner(name);
        }
        ticket -= share;
    }
    miner(MINERS[0].0)
}

/// The lower its number, the more an account does.
fn somebody(random: &mut fastrand::Rng) -> usize {
    let below = random.usize(0..ACCOUNTS);
    random.usize(0..=below)
}

fn account(number: usize) -> Account {
    Account::user(&[b"account", &(number as u64).to_be_bytes()])
}

/// Code of a contract: nobody runs it, but its beginning is a real one's.
fn code(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut code = vec![0x60, 0x80, 0x60, 0x40, 0x52];
    let length = random.usize(40..200);
    code.extend(std::iter::repeat_with(|| random.u8(..)).take(length));
    code
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::Action;
    use super::*;

    #[test]
    fn shares_are_uneven_and_everybody_takes_part() {
        assert_eq!(MINERS.iter().map(|(_, share)| u32::from(*share)).sum::<u32>(), 100);
        let mut random = fastrand::Rng::with_seed(3);
        let mut crowd = Crowd::new();
        let (mut senders, mut kinds) = (HashMap::new(), HashMap::new());
        for epoch in 0..3000 {
            let made = crowd.transactions(&mut random, 12, epoch);
            assert!(made.len() <= 12);
            for tx in made {
                let next = senders.entry(tx.from.0).or_insert(0);
                assert_eq!(tx.nonce, *next, "without a gap");
                *next += 1;
                *kinds.entry((tx.action as u8, tx.fails)).or_insert(0) += 1;
            }
        }
        assert_eq!(senders.len(), ACCOUNTS);
        let most = senders.values().max().copied().unwrap_or_default();
        let least = senders.values().min().copied().unwrap_or_default();
        assert!(most > 20 * least, "{most} and {least}");
        assert_eq!(kinds.len(), 5, "transfers never fail: {kinds:?}");
        assert!(kinds[&(Action::Create as u8, false)] > 50, "{kinds:?}");
        let mut found = HashMap::new();
        for _ in 0..5000 {
            *found.entry(some_miner(&mut random).0).or_insert(0) += 1;
        }
        assert_eq!(found.len(), MINERS.len());
        assert!(found[&miner("aurora").0] > 5 * found[&miner("harbour").0], "{found:?}");
    }
}
