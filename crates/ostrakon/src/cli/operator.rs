//! `ostrakon operator`: makes the account of somebody who runs the installation.

use std::io::{BufRead as _, IsTerminal as _};

use clap::Args;

use super::{Global, print, unexpected};
use crate::admin::{Answer, Hidden, Request};
use crate::{demo, failure};

/// Make an account that may change chains and roles
///
/// The password is the first line of standard input; without one, at a terminal, a new one is made
/// and printed. An account that exists becomes an operator's with this password, and its sessions
/// and tokens end.
#[derive(Debug, Args)]
pub(crate) struct Operator {
    /// Name of the account
    name: String,
}

impl Operator {
    /// Makes it.
    pub(crate) fn run(self, global: &Global) -> anyhow::Result<u8> {
        let given = given()?;
        let password = match &given {
            Some(password) => password.clone(),
            None => demo::password()?,
        };
        let request = Request::Operator { name: self.name, password: Hidden(password.clone()) };
        let Answer::Operator(name) = global.ask(&request)? else { return Err(unexpected()) };
        let shown =
            if given.is_none() { format!(" with the password {password}") } else { String::new() };
        print(&format!("{name} is an operator{shown}.\n"))?;
        Ok(failure::OK)
    }
}

/// The password on standard input; none at a terminal, where it would be shown while it is typed.
fn given() -> anyhow::Result<Option<String>> {
    let input = std::io::stdin().lock();
    if input.is_terminal() {
        return Ok(None);
    }
    let mut line = String::new();
    // Longer than any password: what is cut off is refused by its length.
    std::io::Read::take(input, 4096).read_line(&mut line)?;
    let line = line.trim_end_matches(['\r', '\n']);
    Ok((!line.is_empty()).then(|| line.to_owned()))
}
