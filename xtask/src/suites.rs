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
    /// Integration tests of crates, one after the other.
    Tests(&'static [(&'static str, &'static [&'static str])]),
    /// The checks of the sources, in this process.
    Tidy,
    /// The generated documents are the ones in the repository.
    Docs,
    /// The demo starts, shows its page and stops cleanly.
    Demo,
}

use Step::{Cargo, Demo, Docs, Tests, Tidy};

/// All suites, cheap ones first: what fails in a second should not wait for what takes minutes.
///
/// All tests are of one build of the whole workspace: cargo would build every crate again for each
/// selection of packages, because each has other features of what they share. With `--full` that
/// build is optimised. What talks to a real Cassandra runs in the cluster suite only. A test below
/// finds the test that nobody names.
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
        proves: "all tests build, and generated documents are the ones in the repository",
        packages: &[],
        limit: 30,
        steps: &[Cargo(BUILD), Docs],
    },
    Suite {
        name: "unit",
        proves: "every crate keeps its promises; documentation and examples compile and run",
        packages: &[],
        limit: 20,
        steps: &[
            Cargo(&["test", "--workspace", "--lib", "--bins", "--examples"]),
            Cargo(&["test", "--workspace", "--doc"]),
            Tests(&[
                ("devnet", &["sockets", "treegraph"]),
                ("parts", &["cassandra", "conflux", "group", "postgres", "process"]),
                ("parts", &["rabbitmq", "redis", "tmpfs"]),
                ("ostrakon", &["commands", "lease", "running"]),
            ]),
        ],
    },
    Suite {
        name: "store",
        proves: "engines keep the contract: random operations, kill -9, full disk, torn files",
        packages: &[],
        limit: 20,
        steps: &[Tests(&[
            ("store", &["model"]),
            ("store-fjall", &["conformance", "edges", "format", "full_disk", "journal", "kill"]),
            ("store-fjall", &["one_process", "operations", "reopen", "snapshot"]),
            ("store-remote", &["conformance"]),
        ])],
    },
    Suite {
        name: "kernel",
        proves: "no view is torn, nothing counts twice, no list loses a row, whoever dies",
        packages: &[],
        limit: 20,
        steps: &[Tests(&[
            ("timeline", &["lease", "sums", "switches", "untorn"]),
            ("tally", &["concurrent", "drift", "generations", "kill", "parts", "unknown"]),
            ("index", &["effects", "kill", "lists", "pages", "verify"]),
        ])],
    },
    Suite {
        name: "cluster",
        proves: "the same rows on a real Cassandra: contract, kernel, faults, copy",
        packages: &[],
        limit: 30,
        steps: &[Tests(&[
            ("store-cassandra", &["conformance", "nodes", "unknown"]),
            ("timeline", &["cassandra", "nodes"]),
            ("tally", &["cassandra", "nodes"]),
            ("index", &["cassandra"]),
            ("scan", &["cassandra"]),
            ("staking", &["nodes"]),
            ("ostrakon", &["cluster"]),
        ])],
    },
    Suite {
        name: "platform",
        proves: "accounts keep guessers out, projects and events agree with their models",
        packages: &[],
        limit: 20,
        steps: &[Tests(&[(
            "platform",
            &["accounts", "api", "events", "projects", "search", "tips", "webhooks"],
        )])],
    },
    Suite {
        name: "scan",
        proves: "the explorer's lists equal a plain model's, its Redis keys a real Redis's",
        packages: &[],
        limit: 20,
        steps: &[Tests(&[
            ("scan", &["conflux", "follow", "long", "model", "redis", "redis_cli"]),
            ("resp", &["real", "server"]),
            ("ostrakon", &["scan"]),
        ])],
    },
    Suite {
        name: "staking",
        proves: "every event counts once, through a broker that comes and goes, whoever dies",
        packages: &[],
        limit: 20,
        steps: &[Tests(&[
            ("staking", &["babylon", "babylon_unbonding", "cut", "model", "rabbitmq"]),
            ("staking", &["scenarios"]),
            ("ostrakon", &["staking"]),
        ])],
    },
    Suite {
        name: "web",
        proves: "pages in a browser, the API by its document, attacks refused, 5,000 streams",
        // nodejs and npm are installed by the test where no others are in PATH.
        packages: &["chromium", "python3-venv"],
        limit: 20,
        // One by one: some measure, and a browser on a busy machine is slow.
        steps: &[Tests(&[("ostrakon", &["security", "document", "streams", "browser"])])],
    },
    Suite {
        name: "demo",
        proves: "the demo starts, shows its page and stops cleanly",
        packages: &[],
        limit: 20,
        steps: &[Demo],
    },
];

/// Builds every test there is.
pub(crate) const BUILD: &[&str] = &["test", "--workspace", "--tests", "--no-run"];

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

    /// Whether a step runs the integration test `test` of `package`.
    fn runs(step: &Step, package: &str, test: &str) -> bool {
        let Tests(tests) = step else { return false };
        tests.iter().any(|(of, names)| *of == package && names.contains(&test))
    }

    #[test]
    fn every_integration_test_runs_in_exactly_one_suite() {
        let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates");
        let list = |path: &std::path::Path| {
            let entries = std::fs::read_dir(path).into_iter().flatten();
            entries.map(|entry| entry.expect("listed").path()).collect::<Vec<_>>()
        };
        let name = |path: &std::path::Path| {
            path.file_stem().expect("a name").to_string_lossy().into_owned()
        };
        let mut seen = 0;
        for directory in list(crates.as_ref()) {
            let tests = list(&directory.join("tests"));
            for file in tests.iter().filter(|file| file.extension().is_some_and(|e| e == "rs")) {
                let (package, test) = (name(&directory), name(file));
                let here = |suite: &&Suite| suite.steps.iter().any(|s| runs(s, &package, &test));
                let suites: Vec<&str> = SUITES.iter().filter(here).map(|s| s.name).collect();
                assert_eq!(suites.len(), 1, "{package}, {test} runs in {suites:?}");
                seen += 1;
            }
        }
        assert!(seen > 20, "{seen} test files were found");
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
