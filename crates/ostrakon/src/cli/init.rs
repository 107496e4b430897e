//! `ostrakon init`: a commented configuration file to start from.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use super::Global;
use crate::config::{DEFAULT_FILE, TEMPLATE};
use crate::failure;

/// Write a commented configuration file
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The file to write [default: the one of --config, else ostrakon.toml]
    file: Option<PathBuf>,
    /// Replace a file that is already there
    #[arg(long)]
    force: bool,
}

impl Init {
    /// Writes the file.
    pub(crate) fn run(self, global: &Global) -> anyhow::Result<u8> {
        let default = || global.config.clone().unwrap_or_else(|| DEFAULT_FILE.into());
        let path = self.file.unwrap_or_else(default);
        let mut options = OpenOptions::new();
        options.write(true).create(true).create_new(!self.force).truncate(self.force);
        let mut file = match options.open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let path = path.display();
                let what = format!("{path} exists already; --force replaces it, settings and all");
                return Err(failure::Usage(what).into());
            }
            opened => opened.with_context(|| format!("cannot write {}", path.display()))?,
        };
        file.write_all(TEMPLATE.as_bytes())?;
        super::print(&format!(
            "{} is written. Next: look through it, then `ostrakon schema apply`.\n",
            path.display()
        ))?;
        Ok(failure::OK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_only_when_asked_for() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("o.toml");
        let init = |force| {
            Init { file: Some(file.clone()), force }.run(&Global { config: None, data: None })
        };
        init(false).expect("written");
        std::fs::write(&file, "mine").expect("written");
        let error = init(false).expect_err("refused").to_string();
        assert!(error.contains("--force"), "{error}");
        assert_eq!(std::fs::read_to_string(&file).expect("read"), "mine");
        init(true).expect("replaced");
        assert_eq!(std::fs::read_to_string(&file).expect("read"), TEMPLATE);
    }
}
