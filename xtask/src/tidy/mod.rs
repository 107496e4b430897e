//! Checks of the sources: what can be checked by a program is not left to a reviewer.
//!
//! A check is a pure function from the files of the repository to complaints, so each has tests
//! with a good and a bad example beside it. A complaint names file and line and says what to do.

mod direction;
mod foreign;
mod links;
mod papers;
mod rust;

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::workspace::Workspace;

/// A text file of the repository.
#[derive(Debug)]
struct SourceFile {
    /// From the root, with `/`.
    path: String,
    text: String,
}

impl SourceFile {
    fn has_extension(&self, extensions: &[&str]) -> bool {
        let extension = self.path.rsplit_once('.').map_or("", |(_, extension)| extension);
        extensions.contains(&extension)
    }

    fn complaint(&self, line: usize, what: impl Into<String>) -> Complaint {
        Complaint { path: self.path.clone(), line, what: what.into() }
    }
}

/// Something to put right.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Complaint {
    path: String,
    /// From 1.
    line: usize,
    what: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// A rule and the function that checks it.
struct Check {
    rule: &'static str,
    check: fn(&[SourceFile]) -> Vec<Complaint>,
}

/// All checks.
const CHECKS: &[Check] = &[
    Check { rule: "crates depend downwards only", check: direction::check },
    Check { rule: "versions and lints stand in the workspace", check: direction::inherits },
    Check { rule: "lines of Rust have at most 100 characters", check: rust::width },
    Check { rule: "every Rust file says what it is", check: rust::module_doc },
    Check { rule: "no unfinished work and no ignored test", check: rust::unfinished },
    Check { rule: "a source file has at most 600 lines", check: rust::length },
    Check { rule: "no path of a machine, no host of a registry", check: foreign::check },
    Check { rule: "links between documents lead somewhere", check: links::check },
    Check { rule: "tests named in docs/papers.md exist", check: papers::check },
];

/// Runs all checks on the files that git knows or would add.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let files = load(workspace.root())?;
    let mut complaints = 0;
    for check in CHECKS {
        let mut found = (check.check)(&files);
        found.sort();
        println!("{} {}", if found.is_empty() { "ok    " } else { "FAILED" }, check.rule);
        for complaint in &found {
            println!("  {complaint}");
        }
        complaints += found.len();
    }
    if complaints > 0 {
        bail!("{complaints} complaints in {} files read", files.len());
    }
    println!("{} files are tidy", files.len());
    Ok(())
}

/// All text files; what is no text is passed over.
fn load(root: &Path) -> anyhow::Result<Vec<SourceFile>> {
    // The checkout may belong to another user, as in a container; reading names is harmless.
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others"]);
    let listed = parts::run(git.arg("--exclude-standard").current_dir(root))
        .context("tidy asks git for the list of files")?;
    let mut files = Vec::new();
    for path in listed.split_terminator('\0') {
        // A file that is listed but gone was removed and not committed yet.
        let Ok(bytes) = std::fs::read(root.join(path)) else { continue };
        if let Ok(text) = String::from_utf8(bytes)
            && !text.contains('\0')
        {
            files.push(SourceFile { path: path.to_owned(), text });
        }
    }
    Ok(files)
}

/// Files for the tests of checks: pairs of path and text.
#[cfg(test)]
fn files(list: &[(&str, &str)]) -> Vec<SourceFile> {
    let file = |(path, text): &(&str, &str)| SourceFile {
        path: (*path).to_owned(),
        text: (*text).to_owned(),
    };
    list.iter().map(file).collect()
}

/// Complaints as `path:line`, for the tests of checks.
#[cfg(test)]
fn places(complaints: &[Complaint]) -> Vec<String> {
    complaints.iter().map(|complaint| format!("{}:{}", complaint.path, complaint.line)).collect()
}
