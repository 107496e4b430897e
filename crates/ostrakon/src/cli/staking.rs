//! `ostrakon staking`: messages that could not be applied.

use clap::{Args, Subcommand};

use super::{Global, print, unexpected};
use crate::admin::{Answer, Request};
use crate::failure;

/// Show and replay messages of staking that could not be applied
#[derive(Debug, Args)]
pub(crate) struct Staking {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// The newest hundred, each with its reason
    Unprocessable {
        /// Those that are older than this one, the last of the hundred before
        #[arg(long, value_name = "ID")]
        before: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Take messages once more; those that still cannot be applied stay
    Replay {
        /// Ids as `unprocessable` shows them
        #[arg(value_name = "ID", required_unless_present = "all")]
        ids: Vec<String>,
        /// All there are
        #[arg(long, conflicts_with = "ids")]
        all: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

impl Staking {
    /// Asks and prints.
    pub(crate) fn run(self, global: &Global) -> anyhow::Result<u8> {
        let (request, json) = match self.what {
            What::Unprocessable { before, json } => (Request::StakingKept { before }, json),
            What::Replay { ids, json, .. } => (Request::StakingReplay { ids }, json),
        };
        let Answer::StakingKept(answer) = global.ask(&request)? else {
            return Err(unexpected());
        };
        print(&if json { serde_json::to_string_pretty(&answer)? + "\n" } else { answer.text() })?;
        Ok(failure::OK)
    }
}
