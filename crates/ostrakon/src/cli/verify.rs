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
}

impl Verify {
    /// Walks and reports.
    pub(crate) fn run(self, global: &Global) -> anyhow::Result<u8> {
        let (request, json) = match self.what {
            What::Store { json } => (Request::Verify, json),
            What::Kernel { json } => (Request::VerifyKernel, json),
        };
        let Answer::Verify(answer) = global.ask(&request)? else {
            return Err(unexpected());
        };
        print(&if json { serde_json::to_string_pretty(&answer)? + "\n" } else { answer.text() })?;
        Ok(if answer.0.is_clean() { failure::OK } else { failure::FAILED })
    }
}
