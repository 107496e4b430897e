//! `ostrakon shards`: how well the tables are placed.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use placement::render;

use super::{Global, print, unexpected};
use crate::admin::{Answer, Request};
use crate::failure;
use crate::generated;

/// Judge where the rows of each table live, and how the load would spread over a cluster
#[derive(Debug, Args)]
pub(crate) struct Shards {
    /// As JSON
    #[arg(long, conflicts_with = "html")]
    json: bool,
    /// Write one self-contained HTML page into FILE
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Judge a cluster of N nodes, 1 to 256, beside the usual sizes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    nodes: Option<u16>,
    /// Compare shard keys on generated rows instead of reading the store
    #[arg(long, value_name = "WHAT")]
    generated: Option<Generated>,
}

/// Rows that are generated rather than read.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Generated {
    /// Monthly activity of users, under three shard keys (paper 001)
    Activity,
}

impl Shards {
    /// Shows the report.
    pub(crate) fn run(self, global: &Global) -> anyhow::Result<u8> {
        let report = match self.generated {
            Some(Generated::Activity) => generated::activity(self.nodes)?,
            None => {
                let answer = global.ask(&Request::Shards { nodes: self.nodes })?;
                let Answer::Shards(report) = answer else { return Err(unexpected()) };
                *report
            }
        };
        if let Some(file) = self.html {
            std::fs::write(&file, render::html(&report))
                .with_context(|| format!("cannot write {}", file.display()))?;
            print(&format!("{} is written.\n", file.display()))?;
        } else if self.json {
            print(&(render::json(&report)? + "\n"))?;
        } else {
            print(&render::text(&report))?;
        }
        Ok(failure::OK)
    }
}
