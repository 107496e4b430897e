//! The table of suites: what `cargo xtask test` runs, in this order.

use std::fmt::Write as _;

/// One suite.
#[derive(Debug)]
pub(crate) struct Suite {
    /// How it is called on the command line.
    pub(crate) name: &'static str,
    /// What a green run proves.
    pub(crate) proves: &'static str,
    /// Debian packages it needs; without them it is skipped, which in CI is a failure.
    pub(crate) packages: &'static [&'static str],
    /// Minutes after which it is ended and counts as failed. With `--full` ten times as many.
    pub(crate) limit: u64,
    /// What is run, one after the other, until one fails.
    pub(crate) steps: &'static [Step],
}

/// One step of a suite.
#[derive(Debug)]
pub(crate) enum Step {
    /// A call of cargo.
    Cargo(&'static [&'static str]),
    /// The checks of the sources, in this process.
    Tidy,
    /// The generated documents are the ones in the repository.
    Docs,
    /// The demo starts, shows its page and stops cleanly.
    Demo,
}

use Step::{Cargo, Demo, Docs, Tidy};

/// All suites, cheap ones first: what fails in a second should not wait for what takes minutes.
///
/// Integration tests of the store and the kernel write and sync in earnest, so they run in release
/// mode in a suite of their own and not a second time among the unit tests.
pub(crate) const SUITES: &[Suite] = &[
    Suite {
        name: "tidy",
        proves: "layers, line width, module docs, links and names of tests are right",
        packages: &[],
        limit: 1,
        steps: &[Tidy],
    },
    Suite {
        name: "format",
        proves: "the sources are as rustfmt writes them",
        packages: &[],
        limit: 2,
        steps: &[Cargo(&["fmt", "--all", "--check"])],
    },
    Suite {
        name: "lint",
        proves: "clippy and the compiler have nothing to say",
        packages: &[],
        limit: 20,
        steps: &[Cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])],
    },
    Suite {
        name: "docs",
        proves: "generated documents are the ones in the repository",
        packages: &[],
        limit: 20,
        steps: &[Cargo(&["build", "-p=ostrakon"]), Docs],
    },
    Suite {
        name: "unit",
        proves: "every crate keeps its promises; documentation and examples compile and run",
        packages: &[],
        limit: 20,
        steps: &[
            Cargo(&["test", "--workspace", "--lib", "--bins", "--examples"]),
            Cargo(&["test", "--workspace", "--doc"]),
            Cargo(&["test", "-p=ostrakon", "-p=parts", "-p=placement", "-p=xtask", "--tests"]),
        ],
    },
    Suite {
        name: "store",
        proves: "engines keep the contract: random operations, kill -9, full disk, torn files",
        packages: &[],
        limit: 20,
        steps: &[Cargo(&["test", "--release", "-p=store", "-p=store-fjall", "--tests"])],
    },
    Suite {
        name: "kernel",
        proves: "no view is torn, nothing counts twice, no list loses a row, whoever dies",
        packages: &[],
        limit: 20,
        steps: &[Cargo(&["test", "--release", "-p=timeline", "-p=tally", "-p=index", "--tests"])],
    },
    Suite {
        name: "platform",
        proves: "accounts keep guessers out, projects and events agree with their models",
        packages: &[],
        limit: 20,
        steps: &[Cargo(&["test", "--release", "-p=platform", "--tests"])],
    },
    Suite {
        name: "demo",
        proves: "the demo starts, shows its page and stops cleanly",
        packages: &[],
        limit: 10,
        steps: &[Cargo(&["build", "--release", "-p=ostrakon"]), Demo],
    },
];

/// The table as the help of `cargo xtask test` shows it.
pub(crate) fn list() -> String {
    let mut text = String::from("Suites:\n");
    for suite in SUITES {
        let _ = writeln!(text, "  {:<8} {}", suite.name, suite.proves);
    }
    text
}

/// The suites of the given names in the order of the table; all of them without a name.
pub(crate) fn select(names: &[String]) -> anyhow::Result<Vec<&'static Suite>> {
    if let Some(unknown) = names.iter().find(|name| !SUITES.iter().any(|s| s.name == **name)) {
        anyhow::bail!("there is no suite `{unknown}`\n{}", list());
    }
    let wanted = |suite: &&Suite| names.is_empty() || names.iter().any(|name| name == suite.name);
    Ok(SUITES.iter().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(wanted: &[&str]) -> anyhow::Result<Vec<&'static str>> {
        let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
        Ok(select(&wanted)?.iter().map(|suite| suite.name).collect())
    }

    #[test]
    fn without_names_all_suites_run() {
        assert_eq!(names(&[]).expect("all").len(), SUITES.len());
    }

    #[test]
    fn named_suites_run_in_the_order_of_the_table() {
        assert_eq!(names(&["unit", "tidy"]).expect("both"), ["tidy", "unit"]);
    }

    #[test]
    fn an_unknown_suite_is_refused_with_the_list() {
        let error = names(&["untit"]).expect_err("unknown").to_string();
        assert!(error.contains("`untit`") && error.contains("  unit"), "{error}");
    }

    #[test]
    fn names_are_unique_and_suites_are_complete() {
        let mut names: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SUITES.len());
        assert!(SUITES.iter().all(|suite| suite.limit > 0 && !suite.steps.is_empty()));
    }
}
