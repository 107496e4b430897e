//! A tree-graph that grows, forks and merges at random, with transactions.

use super::{Account, ConfluxNode, RpcError, Transaction};

/// Code that says something and leaves a contract of no bytes.
const GOOD_CODE: &[u8] = &[0x60, 0, 0x60, 0, 0xa0, 0x60, 0, 0x60, 0, 0xf3];
/// Code that ends in an error.
const BAD_CODE: &[u8] = &[0xfe];
/// Accounts that send.
const SENDERS: u32 = 8;

impl ConfluxNode {
    /// Does something to the tree-graph.
    ///
    /// # Errors
    /// When the node refuses.
    pub fn change(&self, rng: &mut fastrand::Rng) -> Result<(), RpcError> {
        let sender = |rng: &mut fastrand::Rng| Account::numbered(rng.u32(0..SENDERS));
        match rng.u8(0..11) {
            0..=2 => drop(self.empty_blocks(rng.usize(1..4))?),
            3 | 4 => drop(self.siblings(rng.usize(2..5))?),
            5 | 6 => {
                let latest = self.epoch("latest_mined")?;
                let ancestor = self.pivot(latest.saturating_sub(rng.u64(1..8)))?;
                drop(self.fork_from(&ancestor)?);
            }
            7 | 8 => {
                for _ in 0..rng.usize(1..4) {
                    let (from, to) = (sender(rng), sender(rng));
                    self.transfer(&from, to.address(), rng.u128(1..1000))?;
                }
                drop(self.pack(10)?);
            }
            9 => {
                let code = if rng.bool() { GOOD_CODE } else { BAD_CODE };
                self.create(&sender(rng), code.to_vec())?;
                drop(self.pack(10)?);
            }
            _ => {
                let transfer = Transaction::transfer(Account::numbered(SENDERS + 1).address(), 5);
                let signed = self.sign(&sender(rng), &transfer)?;
                drop(self.in_two_branches(&[signed])?);
            }
        }
        Ok(())
    }
}
