//! Files that pages refer to. Their paths change with their content, so browsers may keep them.

use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};

/// A file in the program.
#[derive(Debug)]
pub struct Asset {
    /// Where it is served.
    pub path: &'static LazyLock<String>,
    /// Its media type.
    pub kind: &'static str,
    /// Its content.
    pub text: &'static str,
}

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// The mark as an icon of its own.
const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 24 24\">\
    <path fill=\"#b4572c\" d=\"M3 7.5 10 2l10.5 4.5L22 15l-8.5 7L5 18.5z\"/></svg>";

static STYLE_PATH: LazyLock<String> = LazyLock::new(|| path(STYLE, "css"));
static SCRIPT_PATH: LazyLock<String> = LazyLock::new(|| path(SCRIPT, "js"));
static ICON_PATH: LazyLock<String> = LazyLock::new(|| path(ICON, "svg"));

/// The style sheet.
pub static STYLE_SHEET: Asset =
    Asset { path: &STYLE_PATH, kind: "text/css; charset=utf-8", text: STYLE };
/// The script.
pub static SCRIPT_FILE: Asset =
    Asset { path: &SCRIPT_PATH, kind: "text/javascript; charset=utf-8", text: SCRIPT };
/// The icon.
pub static ICON_FILE: Asset = Asset { path: &ICON_PATH, kind: "image/svg+xml", text: ICON };

/// All of them, to be served.
pub static ALL: [&Asset; 3] = [&STYLE_SHEET, &SCRIPT_FILE, &ICON_FILE];

fn path(text: &str, ending: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let short: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("/assets/ostrakon-{short}.{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_stable_and_tell_contents_apart() {
        assert_eq!(path("a", "css"), path("a", "css"));
        assert_ne!(path("a", "css"), path("b", "css"));
        assert!(STYLE_SHEET.path.starts_with("/assets/ostrakon-"));
    }
}
