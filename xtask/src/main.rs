//! The project's own tasks: `cargo xtask test`, `bench`, `tidy` and `docs`.
//!
//! Everything that CI does is here, so that a person can do the same with the same command. The
//! suites stand in one table, [`suites::SUITES`]; the checks of the sources in [`tidy`].

mod built;
mod demo;
mod docs;
mod room;
mod runner;
mod suites;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

/// The tasks of the project.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, about)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run the test suites: all of them, or those named
    #[command(after_help = suites::list())]
    Test {
        /// Run the full counts instead of the reduced ones of CI
        #[arg(long)]
        full: bool,
        /// Suites to run, in the order of the table
        #[arg(value_name = "SUITE")]
        suites: Vec<String>,
    },
    /// Run a benchmark in release mode; without a name, list them
    Bench {
        /// The benchmark, and arguments of its own
        #[arg(value_name = "NAME", trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Check the sources: layers, line width, module docs, links, names of tests
    Tidy,
    /// Write the generated documents again
    Docs {
        /// Write nothing; fail when a document differs from what would be written
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let workspace = Workspace::find()?;
    match cli.task {
        Task::Test { full, suites } => runner::run(&workspace, &suites, full),
        Task::Bench { arguments } => {
            let mut command = workspace.cargo(&["run", "--release", "-p", "benches", "--"]);
            let status = command.args(arguments).status()?;
            Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Task::Tidy => tidy::run(&workspace).map(|()| ExitCode::SUCCESS),
        Task::Docs { check } => {
            workspace.succeed(&["build", "--quiet", "-p=ostrakon"])?;
            docs::run(&workspace, check).map(|()| ExitCode::SUCCESS)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
