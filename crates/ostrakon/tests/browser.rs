//! The pages in a real browser: they render, and the browser has nothing to complain about.

mod common;

use std::process::Command;

use common::Place;
use parts::{debian, require};

/// Console messages appear in Chromium's log under this name.
const CONSOLE: &str = ":CONSOLE";

/// Loads a page in a window of this size; its document and what Chromium logged meanwhile.
fn load(url: &str, size: &str) -> (String, String) {
    let profile = tempfile::tempdir().expect("a directory");
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--window-size={size}"))
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(url)
        .output()
        .expect("chromium runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_pages_render_in_a_real_browser_without_complaint() {
    let Some(()) = require(debian::ensure(&["chromium"])) else { return };
    let place = Place::new();
    let demo = place.demo("data");
    let pages =
        [("/", ["system.samples", "system.starts"]), ("/shards", ["Shard report", "Lorenz"])];
    for size in ["1280,900", "390,844"] {
        for (path, words) in &pages {
            let (document, log) = load(&format!("http://{}{path}", demo.address), size);
            for word in words {
                assert!(document.contains(word), "{path} at {size} lacks {word}");
            }
            let complaints: Vec<&str> = log.lines().filter(|line| line.contains(CONSOLE)).collect();
            assert!(complaints.is_empty(), "{path} at {size}: {complaints:#?}");
        }
    }
    assert!(demo.terminate().success());
}
