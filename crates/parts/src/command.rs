//! A command run to its end, with an error that shows the command and what it said.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

/// How many of the last lines of a log or an output an error quotes.
pub(crate) const TAIL_LINES: usize = 20;

/// A command that could not be started or did not succeed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The program could not be started at all.
    #[error("cannot start `{command}`: {source}; is the program installed?")]
    Start {
        /// The command as it would be typed.
        command: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The program ended with an error.
    #[error("`{command}` failed ({status}):\n{output}")]
    Failed {
        /// The command as it would be typed.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// The end of what it printed on both streams.
        output: String,
    },
}

/// Runs a command to its end and returns what it printed on standard output.
///
/// Standard input is empty, so that no tool waits for an answer that nobody will give.
///
/// # Errors
///
/// When it cannot be started or ends with an error; the message quotes the command and its output.
pub fn run(command: &mut Command) -> Result<String, CommandError> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|source| CommandError::Start { command: shown(command), source })?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(stdout);
    }
    let both = format!("{stdout}{}", String::from_utf8_lossy(&output.stderr));
    Err(CommandError::Failed {
        command: shown(command),
        status: output.status,
        output: tail(&both, TAIL_LINES),
    })
}

/// A program in `PATH`, with links followed: a JDK's `keytool` stands beside the real `java`.
pub(crate) fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut found = std::env::split_paths(&path).map(|dir| dir.join(program));
    found.find(|file| file.is_file()).and_then(|file| file.canonicalize().ok())
}

/// The command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let mut line = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        let argument = argument.to_string_lossy();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+@%".contains(c);
        if !argument.is_empty() && argument.chars().all(plain) {
            let _ = write!(line, " {argument}");
        } else {
            let _ = write!(line, " '{}'", argument.replace('\'', r"'\''"));
        }
    }
    line
}

/// The last `lines` lines of a text.
pub(crate) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_returns_standard_output() {
        assert_eq!(run(Command::new("echo").arg("two words")).expect("echo"), "two words\n");
    }

    #[test]
    fn a_failure_quotes_command_and_output() {
        let error =
            run(Command::new("sh").args(["-c", "echo why >&2; exit 3"])).expect_err("fails");
        let text = error.to_string();
        assert!(text.contains("sh -c 'echo why >&2; exit 3'"), "{text}");
        assert!(text.ends_with("why"), "{text}");
    }

    #[test]
    fn an_absent_program_is_named() {
        let error = run(&mut Command::new("no-such-program-here")).expect_err("fails");
        assert!(error.to_string().contains("no-such-program-here"), "{error}");
    }

    #[test]
    fn the_tail_is_the_end() {
        assert_eq!(tail("a\nb\nc\n", 2), "b\nc");
        assert_eq!(tail("a", 2), "a");
    }
}
