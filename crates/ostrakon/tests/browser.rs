//! Every page in a real Chromium: on desktop and phone, in both languages, light and dark. Nothing
//! is said in the console, nothing overflows, axe-core finds nothing serious, every link leads
//! somewhere, and what people do there works.
//!
//! The walk itself is a script (`browser/walk.mjs`), because the tools for it are Node's.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::Place;
use parts::{Missing, debian, npm, require};
use serde_json::Value;

/// What drives the browser, and what judges the pages. The last playwright that is content with
/// Debian's Node.js 18.
const PACKAGES: [&str; 2] = ["playwright-core@1.60.0", "axe-core@4.14.0"];
const VERSION: &str = "1.60.0-4.14.0";
/// How long the first report of the demo's small store may take on a busy machine.
const WALKED: std::time::Duration = std::time::Duration::from_secs(60);
/// Pages that anybody sees, and pages of somebody who is logged in.
const PAGES: usize = 14 + 6;
/// Pages of the explorer.
const EXPLORED: usize = 28;
/// Pages of staking.
const STAKED: usize = 13;

fn browser() -> Result<npm::Packages, Missing> {
    debian::ensure(&["chromium"])?;
    npm::install("browser-walk", VERSION, &PACKAGES)
}

/// What the walk said, by the first name in each line.
fn walk(packages: &npm::Packages, home: &str, password: &str) -> BTreeMap<String, Vec<Value>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/walk.mjs");
    let mut command = packages.script(script);
    command.args([home, "demo", password]).env("CHROMIUM", "/usr/bin/chromium");
    if parts::full() {
        command.env("FULL", "1");
    }
    let said = parts::run(&mut command).unwrap_or_else(|error| panic!("{error}"));
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in said.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let names = ["walked", "tried", "finding", "done"];
        let name = names.into_iter().find(|name| line.get(name).is_some()).expect("a known line");
        found.entry(name.to_owned()).or_default().push(line);
    }
    found
}

#[test]
fn every_page_stands_the_eyes_of_a_real_browser() {
    let Some(packages) = require(browser()) else { return };
    let place = Place::new();
    let demo = place.demo("data");
    let password = demo.password();
    // Until the store has been walked for the first time /shards asks to come again.
    let made = || match demo.get("/shards") {
        page if page.starts_with("HTTP/1.1 200") => Ok(()),
        page => Err(page.lines().next().unwrap_or_default().to_owned()),
    };
    parts::wait_until("the shard report is made", WALKED, made).expect("made");
    let mut said = walk(&packages, &format!("http://{}", demo.address), &password);
    let mut of = |name: &str| said.remove(name).unwrap_or_default();
    let findings = of("finding");
    assert!(findings.is_empty(), "{} findings: {findings:#?}", findings.len());
    assert_eq!(of("done").len(), 1, "the walk did not come to its end");
    let walked = of("walked");
    // Sizes and languages in which each page is seen.
    let ways = parts::pick(2, 4);
    assert_eq!(walked.len(), ways * (PAGES + EXPLORED + STAKED), "{walked:#?}");
    // Signing in, exploring, staking, what happens live, renews itself and is counted again,
    // searching, all links; keyboard and times in each way.
    let tried = of("tried");
    assert_eq!(tried.len(), 8 + 2 * ways, "{tried:#?}");
    let links = tried.iter().find_map(|line| line["links"].as_u64()).expect("links were followed");
    assert!(links > 100, "{links} links were found");
    assert!(demo.terminate().success());
}
