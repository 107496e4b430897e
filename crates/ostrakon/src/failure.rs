//! How a command ends: exit codes, and errors in one or two lines that say what to do.

use std::fmt::Write as _;
use std::process::ExitCode;

/// The command did what it was asked for.
pub(crate) const OK: u8 = 0;
/// It failed, or found something that should not be.
pub(crate) const FAILED: u8 = 1;
/// It was called or configured wrongly; nothing was tried.
pub(crate) const USAGE: u8 = 2;

/// A mistake in how the program was called, which the caller can mend.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Prints the error, if there is one, and chooses the exit code.
pub(crate) fn end(outcome: anyhow::Result<u8>) -> ExitCode {
    match outcome {
        Ok(code) => code.into(),
        Err(error) => {
            eprintln!("error: {}", describe(&error));
            code_of(&error).into()
        }
    }
}

fn code_of(error: &anyhow::Error) -> u8 {
    if error.is::<Usage>() || error.is::<crate::config::Problem>() { USAGE } else { FAILED }
}

/// The error and its causes. A cause that the line before already quotes is not said twice.
pub(crate) fn describe(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            let _ = write!(text, "\n  because: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn causes_follow_and_none_is_said_twice() {
        let quoted = anyhow::anyhow!("the disk is full").context("cannot write: the disk is full");
        assert_eq!(describe(&quoted), "cannot write: the disk is full");
        let apart = anyhow::anyhow!("the disk is full").context("cannot write a.backup");
        assert_eq!(describe(&apart), "cannot write a.backup\n  because: the disk is full");
    }

    #[test]
    fn a_wrong_call_ends_with_2_and_a_failure_with_1() {
        assert_eq!(code_of(&Usage("no such table".into()).into()), USAGE);
        assert_eq!(code_of(&anyhow::anyhow!("the disk is full")), FAILED);
        let wrapped = Err::<(), _>(Usage("no such table".into())).context("shards");
        assert_eq!(code_of(&wrapped.expect_err("an error")), USAGE);
    }
}
