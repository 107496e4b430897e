//! The calls that give a chain its structure: forks, merges, switches, transactions in branches.
//!
//! What the node does with them:
//!
//! - A call returns after its block was handled by the node's consensus, so the next call sees it.
//! - All blocks weigh the same. The pivot chain goes where the subtree is heavier, among equals to
//!   the larger hash.
//! - [`ConfluxNode::empty_blocks`] and [`ConfluxNode::pack`] mine as a miner does: on the best
//!   block, and with all loose ends as referees (199 at most). The other calls refer to what they
//!   are told and nothing else.
//! - A block must have the parent that a miner with the same past would have chosen. If a referee
//!   shows a heavier fork than the parent's, or a child of the parent, the block is partially
//!   invalid: it joins no epoch for a long time, and neither does what is built on it. The call
//!   that makes it succeeds all the same.
//! - An unknown parent is refused. An unknown referee is not: the block waits for it, in no epoch.

use std::time::Duration;

use serde_json::{Value, json};

use super::account::{Account, Address};
use super::node::ConfluxNode;
use super::rpc::RpcError;
use super::transaction::{Place, Signed, Transaction, body};
use crate::wait::wait_until;

/// After so many further epochs an epoch is executed.
const DEFERRED: usize = 5;

/// How long the execution may take when nothing is missing any more.
const EXECUTED: Duration = Duration::from_secs(60);

/// The largest weight, in blocks, that a fork is built against.
const MAX_FORK: usize = 10_000;

/// The size of a block that is packed from the pool; the protocol allows 800 kB.
const BLOCK_SIZE: u32 = 300_000;

/// Looking around.
impl ConfluxNode {
    /// The end of the pivot chain.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or answers with an error.
    pub fn best(&self) -> Result<String, RpcError> {
        self.hash("cfx_getBestBlockHash", json!([]))
    }

    /// The number of an epoch by its tag: `latest_mined`, `latest_state`, `latest_confirmed`.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or answers with an error.
    pub fn epoch(&self, tag: &str) -> Result<u64, RpcError> {
        self.number("cfx_epochNumber", json!([tag]))
    }

    /// The pivot block of an epoch.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or has no such epoch.
    pub fn pivot(&self, epoch: u64) -> Result<String, RpcError> {
        let method = "cfx_getBlockByEpochNumber";
        let block = self.rpc(method, json!([format!("{epoch:#x}"), false]))?;
        text(method, &block["hash"])
    }

    /// The blocks of an epoch in their order, the pivot block last; at most 200, without those
    /// that were skipped.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or has no such epoch.
    pub fn blocks(&self, epoch: u64) -> Result<Vec<String>, RpcError> {
        self.hashes("cfx_getBlocksByEpoch", json!([format!("{epoch:#x}")]))
    }

    /// The blocks of an epoch that are beyond its 200: ordered, but never executed.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or has no such epoch.
    pub fn skipped(&self, epoch: u64) -> Result<Vec<String>, RpcError> {
        self.hashes("cfx_getSkippedBlocksByEpoch", json!([format!("{epoch:#x}")]))
    }
}

/// Blocks.
impl ConfluxNode {
    /// Mines blocks without transactions, one on the other; loose ends join the first one's epoch.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or answers with an error.
    pub fn empty_blocks(&self, count: usize) -> Result<Vec<String>, RpcError> {
        self.hashes("generate_empty_blocks", json!([count]))
    }

    /// Puts an empty block on a parent, wherever that is, with these referees.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or does not know the parent.
    pub fn block_on(&self, parent: &str, referees: &[String]) -> Result<String, RpcError> {
        self.hash("generatefixedblock", json!([parent, referees, 0, false, null, null]))
    }

    /// Puts so many empty blocks on a parent, one on the other.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or does not know the parent.
    pub fn chain_on(&self, parent: &str, count: usize) -> Result<Vec<String>, RpcError> {
        let mut chain: Vec<String> = Vec::with_capacity(count);
        for _ in 0..count {
            let parent = chain.last().map_or(parent, String::as_str);
            chain.push(self.block_on(parent, &[])?);
        }
        Ok(chain)
    }

    /// Puts so many empty blocks on the best block, side by side. Whatever is mined next takes all
    /// but one into its epoch.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or answers with an error.
    pub fn siblings(&self, count: usize) -> Result<Vec<String>, RpcError> {
        let parent = self.best()?;
        (0..count).map(|_| self.block_on(&parent, &[])).collect()
    }

    /// Makes an epoch of exactly so many blocks and returns its pivot block, the new best block.
    ///
    /// The others are branches of about the same length and breadth, because a block may have 200
    /// referees only. Before it come the epochs of the pivot chain, which is longer by one block
    /// than any branch. Beyond 200 blocks the first ones of the epoch's order are skipped.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or answers with an error.
    pub fn epoch_of(&self, blocks: usize) -> Result<String, RpcError> {
        let fork = self.best()?;
        let mut left = blocks.saturating_sub(1);
        let length = left.isqrt().max(1);
        let mut parent = fork.clone();
        for _ in 0..=length {
            parent = self.block_on(&parent, &[])?;
        }
        let mut tips = Vec::new();
        while left > 0 {
            let branch = self.chain_on(&fork, left.min(length))?;
            left -= branch.len();
            tips.extend(branch.last().cloned());
        }
        self.block_on(&parent, &tips)
    }

    /// Builds on an ancestor until the pivot chain switches, and returns the new branch. The old
    /// one comes back inside the epoch of the next block that is mined.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or does not know the ancestor.
    pub fn fork_from(&self, ancestor: &str) -> Result<Vec<String>, RpcError> {
        let mut branch = self.chain_on(ancestor, 1)?;
        while branch.last() != Some(&self.best()?) {
            if branch.len() == MAX_FORK {
                return Err(RpcError::strange("generatefixedblock", &"the pivot does not switch"));
            }
            let parent = branch.last().map_or(ancestor, String::as_str);
            let next = self.block_on(parent, &[])?;
            branch.push(next);
        }
        Ok(branch)
    }
}

/// Transactions.
impl ConfluxNode {
    /// Signs a transaction for this chain, with the account's next nonce if it has none.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or answers with an error.
    pub fn sign(&self, from: &Account, transaction: &Transaction) -> Result<Signed, RpcError> {
        let nonce = match transaction.nonce {
            Some(nonce) => nonce,
            None => self.next_nonce(&from.address())?,
        };
        let chain_id = self.settings().chain_id;
        let place = Place { nonce, chain_id, epoch_height: self.epoch("latest_mined")? };
        let signed = transaction.sign(from, &place);
        signed.ok_or_else(|| RpcError::strange("sign", &"no signature for this hash"))
    }

    /// The next nonce of a sender, as the pool sees it. Transactions that are in blocks but not yet
    /// executed, and never were in the pool, do not count.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or answers with an error.
    pub fn next_nonce(&self, sender: &Address) -> Result<u64, RpcError> {
        self.number("txpool_nextNonce", json!([sender.base32(self.settings().chain_id)]))
    }

    /// Puts a signed transaction into the pool and returns its hash.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or does not take it.
    pub fn send(&self, transaction: &Signed) -> Result<String, RpcError> {
        self.hash("cfx_sendRawTransaction", json!([transaction.raw()]))
    }

    /// Signs and sends a transfer of so many drip, and returns its hash.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or does not take it.
    pub fn transfer(&self, from: &Account, to: Address, value: u128) -> Result<String, RpcError> {
        self.send(&self.sign(from, &Transaction::transfer(to, value))?)
    }

    /// Signs and sends the creation of a contract, and returns its hash.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or does not take it.
    pub fn create(&self, from: &Account, code: Vec<u8>) -> Result<String, RpcError> {
        self.send(&self.sign(from, &Transaction::create(code))?)
    }

    /// Mines a block with up to so many transactions of the pool; loose ends join its epoch.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or answers with an error.
    pub fn pack(&self, transactions: usize) -> Result<String, RpcError> {
        self.hash("generateoneblock", json!([transactions, BLOCK_SIZE]))
    }

    /// Puts a block with these transactions on a parent, wherever that is, with these referees.
    /// The pool is not asked: they may be packed elsewhere, or invalid.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or does not know the parent.
    pub fn block_with(
        &self,
        parent: &str,
        referees: &[String],
        transactions: &[Signed],
    ) -> Result<String, RpcError> {
        let params = json!([parent, referees, body(transactions), false, null]);
        self.hash("test_generatecustomblock", params)
    }

    /// Puts two blocks with the same transactions on the best block, side by side. After the next
    /// block both are in the chain, and each transaction is executed in one of them.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or answers with an error.
    pub fn in_two_branches(&self, transactions: &[Signed]) -> Result<[String; 2], RpcError> {
        let parent = self.best()?;
        let branch = || self.block_with(&parent, &[], transactions);
        Ok([branch()?, branch()?])
    }

    /// Mines empty blocks until all that is mined now is executed and has receipts; returns the
    /// last epoch of it.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or does not execute.
    pub fn execute(&self) -> Result<u64, RpcError> {
        let last = self.epoch("latest_mined")?;
        self.empty_blocks(DEFERRED)?;
        // The node executes in a thread of its own.
        wait_until(&format!("epoch {last} is executed"), EXECUTED, || {
            match self.epoch("latest_state") {
                Ok(executed) if executed >= last => Ok(last),
                Ok(executed) => Err(format!("latest_state is {executed}")),
                Err(error) => Err(error.to_string()),
            }
        })
        .map_err(RpcError::from)
    }
}

/// Answers as what they are.
impl ConfluxNode {
    fn hash(&self, method: &str, params: Value) -> Result<String, RpcError> {
        text(method, &self.rpc(method, params)?)
    }

    fn hashes(&self, method: &str, params: Value) -> Result<Vec<String>, RpcError> {
        let answer = self.rpc(method, params)?;
        let list = answer.as_array().ok_or_else(|| RpcError::strange(method, &answer))?;
        list.iter().map(|hash| text(method, hash)).collect()
    }

    fn number(&self, method: &str, params: Value) -> Result<u64, RpcError> {
        let answer = self.hash(method, params)?;
        let digits = answer.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
        digits.ok_or_else(|| RpcError::strange(method, &answer))
    }
}

fn text(method: &str, value: &Value) -> Result<String, RpcError> {
    value.as_str().map(str::to_owned).ok_or_else(|| RpcError::strange(method, value))
}
