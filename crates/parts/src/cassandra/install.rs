//! How Cassandra comes to this machine: a JDK 17, and the jars from Maven.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Cassandra;
use crate::cache::{Cache, CacheError};
use crate::command::{in_path, run};
use crate::debian;
use crate::need::Missing;

/// The version that is tested. Rows in its `bti` files cannot be read by versions before 5.
const VERSION: &str = "5.0.9";

/// The version of Java. Cassandra 5.0 knows 11 and 17; from 18 on, Java refuses the security
/// manager that it installs at its start.
const JAVA: &str = "17";

/// Where Debian puts its JDKs, side by side; another one may come first in `PATH`.
const DEBIAN_JDKS: &str = "/usr/lib/jvm";

/// The goal that copies jars, with a version: without one, Maven takes the newest of the day.
const COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies";

/// A project that has nothing but its dependency.
const POM: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>ostrakon</groupId>
  <artifactId>parts-cassandra</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.cassandra</groupId>
      <artifactId>cassandra-all</artifactId>
      <version>@VERSION@</version>
    </dependency>
  </dependencies>
</project>
"#;

/// Installs Java 17 and Cassandra if they are not there; 67 MB are fetched, once.
///
/// # Errors
///
/// A [`Missing`] with the command to run, for [`require`](crate::require).
pub fn install() -> Result<Cassandra, Missing> {
    let java = java()?;
    let entry = Cache::open()
        .and_then(|cache| cache.entry("cassandra", VERSION, |dir| fetch(dir, &java)))
        .map_err(missing)?;
    Ok(Cassandra { java, lib: entry.join("lib") })
}

/// A usable `java`: the one in `PATH`, or Debian's.
fn java() -> Result<PathBuf, Missing> {
    if let Some(java) = in_path("java").filter(|java| usable(java)).or_else(debian_java) {
        return Ok(java);
    }
    let package = format!("openjdk-{JAVA}-jre-headless");
    debian::ensure(&[&package])?;
    debian_java().ok_or_else(|| {
        let why =
            format!("{package} is installed, but {DEBIAN_JDKS} has no java of version {JAVA}");
        let command = format!("sudo apt-get install --reinstall {package}");
        Missing::new(format!("Java {JAVA}"), why, command)
    })
}

fn debian_java() -> Option<PathBuf> {
    let homes = fs::read_dir(DEBIAN_JDKS).ok()?.flatten().map(|home| home.path());
    homes.map(|home| home.join("bin/java")).find(|java| usable(java))
}

/// Whether it is there and of the right version.
fn usable(java: &Path) -> bool {
    run(Command::new(java).arg("--version")).is_ok_and(|text| major(&text) == Some(JAVA))
}

/// The first number of the version in what `java --version` prints.
fn major(text: &str) -> Option<&str> {
    text.split_whitespace().nth(1)?.split(['.', '-', '+']).next()
}

/// Fills a directory with `lib/*.jar`.
fn fetch(dir: &Path, java: &Path) -> Result<(), Box<dyn Error + Send + Sync>> {
    if in_path("mvn").is_none() {
        debian::ensure(&["maven"])?;
    }
    fs::write(dir.join("pom.xml"), POM.replace("@VERSION@", VERSION))?;
    let mut maven = Command::new("mvn");
    maven.args(["--batch-mode", "--quiet", "-Dstyle.color=never", COPY]);
    maven.args(["-DincludeScope=runtime", "-DoutputDirectory=lib"]).current_dir(dir);
    if let Some(home) = java.parent().and_then(Path::parent) {
        maven.env("JAVA_HOME", home);
    }
    run(&mut maven)?;
    Ok(())
}

/// Maven's absence has a command of its own; for all else the fetching itself is the best one.
fn missing(error: CacheError) -> Missing {
    let why = match error {
        CacheError::Build { source, .. } => match source.downcast::<Missing>() {
            Ok(missing) => return *missing,
            Err(source) => source.to_string(),
        },
        other => other.to_string(),
    };
    let command =
        format!("mvn dependency:get -Dartifact=org.apache.cassandra:cassandra-all:{VERSION}");
    Missing::new(format!("Cassandra {VERSION}"), why, command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_java_is_found() {
        let check = |text, expected| assert_eq!(major(text), expected, "{text}");
        check("openjdk 17.0.15 2025-04-15\nOpenJDK Runtime Environment (build 17)", Some("17"));
        check("java 17 2021-09-14 LTS", Some("17"));
        check("openjdk 25-ea 2025-09-16", Some("25"));
        check("openjdk", None);
    }

    #[test]
    fn an_absent_maven_is_told_with_its_own_command() {
        let told =
            Missing::new("Debian package maven", "not installed", "sudo apt-get install maven");
        let entry = "cassandra-5.0.9".to_owned();
        let error = CacheError::Build { entry, source: Box::new(told.clone()) };
        assert_eq!(missing(error), told);
        let error = CacheError::Build { entry: String::new(), source: "no route".into() };
        assert!(missing(error).line().contains("no route; run: mvn "));
    }
}
