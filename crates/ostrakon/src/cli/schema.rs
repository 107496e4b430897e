//! `ostrakon schema`: the program's tables against those of the store.

use clap::{Args, Subcommand, ValueEnum};
use store::SchemaChange;

use super::{Global, in_runtime, print, unexpected};
use crate::admin::{self, Answer, Request};
use crate::failure;
use crate::opening::{self, Tables};

/// Show or create the tables of the store
#[derive(Debug, Args)]
pub(crate) struct Schema {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show every table: placement, writes, bounds, and whether it is in the store
    Show {
        /// As JSON
        #[arg(long)]
        json: bool,
        /// Print what `schema apply` would send to an empty cluster, without connecting to it
        #[arg(long, value_name = "ENGINE", conflicts_with = "json")]
        engine: Option<Printed>,
    },
    /// Create missing tables and migrate an older format; refuses what would lose rows
    ///
    /// Needs an embedded store for itself. A running server has all tables of its own version
    /// already; to get those of a newer one, stop it, apply, and start the newer one. In a cluster
    /// it creates the keyspace too, and servers may go on.
    Apply,
}

/// An engine whose schema has a language of its own.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Printed {
    /// CQL for Cassandra and ScyllaDB
    Cassandra,
}

impl Schema {
    /// Shows or applies.
    pub(crate) fn run(self, global: &Global) -> anyhow::Result<u8> {
        match self.what {
            What::Show { engine: Some(Printed::Cassandra), .. } => {
                print(&opening::cql(&global.settings()?.cassandra))?;
                Ok(failure::OK)
            }
            What::Show { json, engine: None } => show(global, json),
            What::Apply => apply(global),
        }
    }
}

fn show(global: &Global, json: bool) -> anyhow::Result<u8> {
    let Answer::Schema(answer) = global.ask(&Request::Schema)? else { return Err(unexpected()) };
    print(&if json { serde_json::to_string_pretty(&answer)? + "\n" } else { answer.text() })?;
    Ok(failure::OK)
}

fn apply(global: &Global) -> anyhow::Result<u8> {
    let settings = global.settings()?;
    let changes = in_runtime(async {
        let advice = "stop it, run `ostrakon schema apply`, start it again";
        admin::refuse_if_held(&settings, advice).await?;
        // Opened without tables, so that creating them is one step whose changes are known.
        let opened = opening::open(&settings, Tables::Untouched).await?;
        let changes = opened.engine.apply(&opened.schema).await?;
        opening::close(&opened).await?;
        Ok(changes)
    })?;
    let place = settings.place();
    if changes.is_empty() {
        print(&format!("Nothing to do: the store in {place} has every table.\n"))?;
    }
    for change in changes {
        print(&match change {
            SchemaChange::Create(table) => {
                format!("created   {}  {}, {}\n", table.name, table.placement, table.writes)
            }
            SchemaChange::Migrate { from, to } => format!("migrated  format {from} to {to}\n"),
        })?;
    }
    Ok(failure::OK)
}
