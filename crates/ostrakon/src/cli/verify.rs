//! `ostrakon verify`: proves that what is stored is as it was promised.

use clap::{Args, Subcommand};

use super::{Global, print, unexpected};
use crate::admin::{Answer, Request};
use crate::failure;

/// Prove that what is stored is as it should be
#[derive(Debug, Args)]
pub(crate) struct Verify {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Walk the store and check markers, keys, versions and bounds; exit code 1 on findings
    Store {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Check that chains are whole, sums equal their entries, lists theirs, and intents are
    /// finished; exit code 1 on findings
    Kernel {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Count delegations again and compare them with the statistics of staking; exit code 1 on
    /// findings
    Staking {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Compare the index of a tree-graph chain with a node, field by field; exit code 1 on findings
    Scan(Compare),
}

/// Which chain, which node, which epochs.
#[derive(Debug, Args)]
struct Compare {
    /// Name of the chain
    chain: String,
    /// Address of a node; the first one of the chain when it is left out
    #[arg(long, value_name = "URL")]
    node: Option<String>,
    /// First epoch
    #[arg(long, value_name = "EPOCH", requires = "to")]
    from: Option<u64>,
    /// Last epoch
    #[arg(long, value_name = "EPOCH", requires = "from")]
    to: Option<u64>,
    /// So many epochs, evenly over the whole chain
    #[arg(long, value_name = "COUNT", default_value_t = 100, conflicts_with = "from",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    sample: u64,
    /// Also print a digest of everything that is indexed: equal chains have equal digests
    #[arg(long)]
    digest: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

impl Compare {
    fn request(&self, global: &Global) -> anyhow::Result<Request> {
        let mut chains = global.settings()?.chains.into_iter();
        let configured = chains.find(|chain| chain.name.as_str() == self.chain);
        let first = configured.and_then(|chain| chain.nodes.into_iter().find_map(|it| it.http));
        Ok(Request::VerifyScan {
            chain: self.chain.clone(),
            node: self.node.clone().or(first),
            epochs: self.from.zip(self.to),
            sample: self.sample,
            digest: self.digest,
        })
    }
}

impl Verify {
    /// Walks and reports.
    pub(crate) fn run(self, global: &Global) -> anyhow::Result<u8> {
        let (request, json) = match self.what {
            What::Store { json } => (Request::Verify, json),
            What::Kernel { json } => (Request::VerifyKernel, json),
            What::Staking { json } => (Request::VerifyStaking, json),
            What::Scan(compare) => (compare.request(global)?, compare.json),
        };
        let Answer::Verify(answer) = global.ask(&request)? else {
            return Err(unexpected());
        };
        print(&if json { serde_json::to_string_pretty(&answer)? + "\n" } else { answer.text() })?;
        Ok(if answer.0.is_clean() { failure::OK } else { failure::FAILED })
    }
}
