//! Structured logs on standard error: text for people, JSON for programs.

use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, LogSettings};

/// Wins over the configured level.
const VARIABLE: &str = "OSTRAKON_LOG";
const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

/// Begins logging. A wrong filter in the environment is said and ignored: a server must start.
pub(crate) fn start(settings: &LogSettings) {
    let configured = || EnvFilter::new(quieted(&settings.level));
    let (filter, ignored) = match std::env::var(VARIABLE) {
        Ok(text) if is_filter(&text) => (EnvFilter::new(text), None),
        Ok(text) => (configured(), Some(text)),
        Err(_) => (configured(), None),
    };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A second start in one process is a test's; the first one's settings stay.
    let _ = match settings.format {
        LogFormat::Text => {
            let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
            builder.with_ansi(colours).with_target(false).try_init()
        }
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    if let Some(text) = ignored {
        tracing::warn!("{VARIABLE}={text} is no log filter; the configured level is used");
    }
}

/// A bare level is about Ostrakon: the engine's own files are of interest to few.
fn quieted(level: &str) -> String {
    match level.to_lowercase().as_str() {
        "info" | "debug" => format!("{level},fjall=warn,lsm_tree=warn"),
        _ => level.to_owned(),
    }
}

/// Whether the text is a level, or a list of levels for parts of the program.
pub(crate) fn is_filter(text: &str) -> bool {
    // The subscriber takes any single word for a target; a level that is misspelt must not be one.
    let known = |word: &str| LEVELS.contains(&word.to_lowercase().as_str());
    let item = |item: &str| match item.rsplit_once('=') {
        Some((_, level)) => known(level.trim()),
        None => known(item.trim()),
    };
    text.split(',').all(item) && EnvFilter::try_new(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{is_filter, quieted};

    #[test]
    fn levels_and_lists_of_levels_are_filters() {
        for good in ["info", "WARN", "info,store_fjall=debug", "off"] {
            assert!(is_filter(good), "{good}");
        }
        assert!(is_filter(&quieted("info")) && is_filter(&quieted("trace")));
        for bad in ["", "inof", "info,", "store_fjall", "store_fjall=loud", "a=b=c"] {
            assert!(!is_filter(bad), "{bad}");
        }
    }
}
