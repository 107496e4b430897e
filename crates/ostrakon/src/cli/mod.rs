//! The command line. Each command is one file with its arguments, its help and its tests.

mod backup;
mod copy;
mod demo;
mod docs;
mod init;
mod operator;
mod progress;
mod restore;
mod run;
mod schema;
mod shards;
mod staking;
mod verify;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::admin::{self, Answer, Request};
use crate::config::Settings;
use crate::failure;

/// How long threads that still work get to end after a command is done.
const GRACE: Duration = Duration::from_secs(2);

/// Chain data on one sharded store: the server, and what its operator needs.
#[derive(Debug, Parser)]
#[command(name = "ostrakon", version, disable_help_subcommand = true)]
#[command(
    after_help = "Exit codes: 0 done, 1 failed or something was found, 2 called or configured \
                        wrongly."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// Configuration file [default: ostrakon.toml]
    #[arg(long, global = true, value_name = "FILE", help_heading = "Every command")]
    config: Option<PathBuf>,
    /// Directory of the store; wins over the configuration
    #[arg(long, global = true, value_name = "DIR", help_heading = "Every command")]
    data: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Init),
    Schema(schema::Schema),
    Shards(shards::Shards),
    Verify(verify::Verify),
    Backup(backup::Backup),
    Restore(restore::Restore),
    Copy(copy::Copy),
    Operator(operator::Operator),
    Staking(staking::Staking),
    Run(run::Run),
    Demo(demo::Demo),
    Docs(docs::Docs),
}

/// Runs the program with its arguments.
pub(crate) fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are errors to clap; a closed pipe is nobody's.
            let _ = error.print();
            return if error.use_stderr() { failure::USAGE } else { failure::OK }.into();
        }
    };
    failure::end(dispatch(cli))
}

fn dispatch(cli: Cli) -> anyhow::Result<u8> {
    let global = cli.global;
    match cli.command {
        Command::Init(command) => command.run(&global),
        Command::Schema(command) => command.run(&global),
        Command::Shards(command) => command.run(&global),
        Command::Verify(command) => command.run(&global),
        Command::Backup(command) => command.run(&global),
        Command::Restore(command) => command.run(&global),
        Command::Copy(command) => command.run(&global),
        Command::Operator(command) => command.run(&global),
        Command::Staking(command) => command.run(&global),
        Command::Run(command) => command.run(&global),
        Command::Demo(command) => command.run(&global),
        Command::Docs(command) => command.run(),
    }
}

impl Global {
    /// The settings of a command that works on a store and ends: it logs only what goes wrong.
    pub(crate) fn settings(&self) -> anyhow::Result<Settings> {
        let mut settings = Settings::load(self.config.as_deref(), self.data.as_deref())?;
        "warn".clone_into(&mut settings.log.level);
        crate::log::start(&settings.log);
        Ok(settings)
    }

    /// Asks the store of the settings, wherever it is held, and shows progress.
    fn ask(&self, request: &Request) -> anyhow::Result<Answer> {
        let settings = self.settings()?;
        in_runtime(async {
            let mut watch = progress::on_stderr();
            admin::ask(&settings, request, &mut watch).await
        })
    }
}

/// Runs a future to its end on a runtime of its own.
fn in_runtime<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(work);
    runtime.shutdown_timeout(GRACE);
    outcome
}

/// Prints a result on standard output. A reader that closed the pipe has seen enough.
fn print(text: &str) -> anyhow::Result<()> {
    use std::io::Write as _;
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// An answer of another kind than the request: a server of another version.
fn unexpected() -> anyhow::Error {
    anyhow::anyhow!("the server answered something else; use the `ostrakon` of its version")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_and_argument_has_help() {
        fn check(command: &clap::Command) {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "`{name}` says nothing about itself");
            for argument in command.get_arguments() {
                let id = argument.get_id();
                assert!(argument.get_help().is_some(), "`{name}`: {id} has no help");
            }
            command.get_subcommands().for_each(check);
        }
        let mut command = Cli::command();
        command.build();
        check(&command);
    }

    #[test]
    fn global_arguments_stand_before_or_behind_the_command() {
        for line in ["--data d schema show", "schema show --data d", "schema --data d show"] {
            let words = std::iter::once("ostrakon").chain(line.split(' '));
            let cli = Cli::try_parse_from(words).expect(line);
            assert_eq!(cli.global.data, Some(PathBuf::from("d")));
        }
    }
}
