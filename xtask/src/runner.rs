//! Runs suites, shows what they print, and closes with a table and one plain line.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use parts::Group;

use crate::built::{Built, Test};
use crate::suites::{self, Step, Suite};
use crate::workspace::Workspace;
use crate::{demo, docs, room, tidy};

/// How a suite ended.
#[derive(Debug, PartialEq)]
enum Outcome {
    Passed,
    Failed,
    Skipped,
}

/// What is known of a suite after its run.
#[derive(Debug)]
struct Report {
    name: &'static str,
    outcome: Outcome,
    took: Duration,
    /// What was skipped in it, one line each, with the command that helps.
    skips: Vec<String>,
}

/// Runs the named suites, or all.
pub(crate) fn run(workspace: &Workspace, names: &[String], full: bool) -> anyhow::Result<ExitCode> {
    let chosen = suites::select(names)?;
    room::make(workspace)?;
    let mut reports = Vec::new();
    for suite in chosen {
        println!("\n=== {}: {}", suite.name, suite.proves);
        let report = run_suite(workspace, suite, full)?;
        println!("=== {}: {:?} in {}", suite.name, report.outcome, seconds(report.took));
        reports.push(report);
    }
    print!("\n{}", summary(&reports));
    let failed = reports.iter().any(|report| report.outcome == Outcome::Failed);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn run_suite(workspace: &Workspace, suite: &'static Suite, full: bool) -> anyhow::Result<Report> {
    let start = Instant::now();
    let finish =
        |outcome, skips| Ok(Report { name: suite.name, outcome, took: start.elapsed(), skips });
    if let Err(missing) = parts::debian::ensure(suite.packages) {
        println!("{missing}");
        let outcome = if parts::in_ci() { Outcome::Failed } else { Outcome::Skipped };
        return finish(outcome, vec![missing.line()]);
    }
    let notes = tempfile::tempdir().context("a directory for the suite's notes")?;
    let steps = Steps { workspace, suite, full, skips: &notes.path().join("skips"), start };
    let outcome = match suite.steps.iter().try_for_each(|step| steps.run(step)) {
        Ok(()) => Outcome::Passed,
        Err(error) => {
            println!("{error:#}");
            Outcome::Failed
        }
    };
    finish(outcome, noted(steps.skips))
}

/// The different skips that tests have noted. Many tests may miss the same thing.
fn noted(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// A run of one suite.
struct Steps<'a> {
    workspace: &'a Workspace,
    suite: &'static Suite,
    full: bool,
    skips: &'a Path,
    start: Instant,
}

impl Steps<'_> {
    fn run(&self, step: &Step) -> anyhow::Result<()> {
        match step {
            Step::Cargo(arguments) => {
                println!("$ cargo {}", arguments.join(" "));
                self.wait(&mut self.workspace.cargo(arguments))
            }
            Step::Tests(tests) => self.tests(tests),
            Step::Tidy => tidy::run(self.workspace),
            Step::Docs => docs::run(self.workspace, true),
            Step::Demo => demo::run(self.workspace, self.full),
        }
    }

    /// Runs integration tests as cargo would.
    fn tests(&self, tests: &[(&str, &[&str])]) -> anyhow::Result<()> {
        let built = Built::of(self.workspace, self.full)?;
        let all = tests.iter().flat_map(|(of, names)| names.iter().map(move |name| (*of, *name)));
        for (package, name) in all {
            let Test { program, directory } = built.test(package, name)?;
            println!("$ cargo test --package {package} --test {name}");
            let mut command = Command::new(program);
            command.current_dir(directory).env("CARGO_MANIFEST_DIR", directory);
            self.wait(&mut command).with_context(|| format!("{package}, tests/{name}.rs"))?;
        }
        Ok(())
    }

    /// Runs a command, with its output shown as it comes, within the time of the suite.
    ///
    /// In a group, so that a time-out, a Ctrl-C or a `kill -9` of this process also ends the test
    /// binaries that cargo has started, and with them their parts.
    fn wait(&self, command: &mut Command) -> anyhow::Result<()> {
        command.stdin(Stdio::null()).env(parts::SKIPS, self.skips);
        if self.full {
            command.env("OSTRAKON_FULL", "1");
        }
        let minutes = self.suite.limit * if self.full { 10 } else { 1 };
        let group = Group::new().context("cannot start the guard of the suite")?;
        let mut child = group.spawn(command).context("cannot start it")?;
        loop {
            if let Some(status) = child.try_wait()? {
                if status.success() {
                    return Ok(());
                }
                bail!("it ended with {status}");
            }
            if self.start.elapsed() >= Duration::from_secs(60 * minutes) {
                drop(group);
                child.wait()?;
                bail!("ended after {minutes} minutes, its limit in xtask/src/suites.rs");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The table, the skips, and the closing line.
fn summary(reports: &[Report]) -> String {
    let mut text = String::from("suite      time  result\n");
    for report in reports {
        let _ = write!(text, "{:<8} {:>6}  ", report.name, seconds(report.took));
        let _ = match (&report.outcome, report.skips.len()) {
            (Outcome::Passed, 0) => writeln!(text, "passed"),
            (Outcome::Passed, skips) => writeln!(text, "passed, {skips} skipped in it"),
            (Outcome::Failed, _) => writeln!(text, "FAILED"),
            (Outcome::Skipped, _) => writeln!(text, "skipped"),
        };
    }
    let total: Duration = reports.iter().map(|report| report.took).sum();
    let _ = writeln!(text, "{:<8} {:>6}", "together", seconds(total));
    for report in reports {
        for skip in &report.skips {
            let _ = writeln!(text, "skipped in {}: {skip}", report.name);
        }
    }
    let count = |outcome| reports.iter().filter(|report| report.outcome == outcome).count();
    let skipped: usize = reports.iter().map(|report| report.skips.len()).sum();
    let _ = write!(text, "{} passed, {} failed", count(Outcome::Passed), count(Outcome::Failed));
    let _ = if skipped > 0 { writeln!(text, ", {skipped} skipped") } else { writeln!(text) };
    text
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(name: &'static str, outcome: Outcome, skips: &[&str]) -> Report {
        let skips = skips.iter().map(ToString::to_string).collect();
        Report { name, outcome, took: Duration::from_millis(1500), skips }
    }

    fn closing(reports: &[Report]) -> String {
        summary(reports).lines().last().expect("a line").to_owned()
    }

    #[test]
    fn the_closing_line_counts_suites() {
        let reports = [report("a", Outcome::Passed, &[]), report("b", Outcome::Failed, &[])];
        assert_eq!(closing(&reports), "1 passed, 1 failed");
        assert_eq!(closing(&reports[..1]), "1 passed, 0 failed");
    }

    #[test]
    fn skips_are_counted_and_shown_with_their_command() {
        let reports = [
            report("a", Outcome::Skipped, &["redis: absent; run: sudo x"]),
            report("b", Outcome::Passed, &["tmpfs: not root; run: sudo y"]),
        ];
        assert_eq!(closing(&reports), "1 passed, 0 failed, 2 skipped");
        let text = summary(&reports);
        assert!(text.contains("skipped in a: redis: absent; run: sudo x\n"), "{text}");
        assert!(text.contains("b         1.5 s  passed, 1 skipped in it\n"), "{text}");
    }

    #[test]
    fn the_same_skip_is_told_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("skips");
        fs::write(&file, "b\na\nb\n").expect("written");
        assert_eq!(noted(&file), ["a", "b"]);
        assert!(noted(&dir.path().join("absent")).is_empty());
    }
}
