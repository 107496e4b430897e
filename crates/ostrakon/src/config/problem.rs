//! What is wrong with a configuration: file, line, and what to do about it.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A mistake in the configuration.
#[derive(Debug)]
pub(crate) struct Problem {
    file: PathBuf,
    place: Option<(usize, usize)>,
    what: String,
    remedy: String,
}

impl Problem {
    /// A mistake at some bytes of a file's text.
    pub(crate) fn at(
        file: &Path,
        text: &str,
        span: Option<Range<usize>>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let place = span.map(|span| line_and_column(text, span.start));
        Self { file: file.to_owned(), place, what: what.into(), remedy: remedy.into() }
    }

    /// A file that cannot be read.
    pub(crate) fn unreadable(file: &Path, error: &io::Error) -> Self {
        let remedy = match error.kind() {
            io::ErrorKind::NotFound => {
                "write one with `ostrakon init`, name another with --config FILE, or name the data \
                 with --data DIR"
            }
            io::ErrorKind::PermissionDenied => "let this user read it: chmod u+r, or chown",
            io::ErrorKind::InvalidData => "save it as UTF-8 text",
            io::ErrorKind::IsADirectory => "name the file, not its directory",
            _ => "check the disk, or name another file with --config FILE",
        };
        let what = match error.kind() {
            io::ErrorKind::NotFound => "there is no such configuration file".to_owned(),
            io::ErrorKind::InvalidData => "it is not text in UTF-8".to_owned(),
            _ => format!("it cannot be read ({error})"),
        };
        Self { file: file.to_owned(), place: None, what, remedy: remedy.to_owned() }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}\n  {}", self.what, self.remedy)
    }
}

impl std::error::Error for Problem {}

/// Line and column of a byte, both from 1, columns in characters.
fn line_and_column(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before.get(start..).map_or(0, |line| line.chars().count());
    (before.matches('\n').count() + 1, column + 1)
}

/// The known word nearest to a misspelt one, if any is near.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distances = known.into_iter().map(|known| (distance(word, known), known));
    let (distance, known) = distances.min_by_key(|(distance, _)| *distance)?;
    // Half of the letters changed is another word, not a slip.
    (distance <= known.chars().count() / 2).then_some(known)
}

/// Levenshtein's distance, without regard to case.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, to) in row.iter_mut().skip(1).zip(b.chars()) {
            let changed = diagonal + usize::from(from != to);
            diagonal = *cell;
            left = changed.min(left + 1).min(diagonal + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let known = ["directory", "cache"];
        for (word, found) in [
            ("cahce", Some("cache")),
            ("Directory", Some("directory")),
            ("directoy", Some("directory")),
            ("replication", None),
            ("dir", None),
        ] {
            assert_eq!(nearest(word, known), found, "{word}");
        }
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn lines_and_columns_count_from_one_in_characters() {
        let text = "a = 1\nå = 2\n";
        assert_eq!(line_and_column(text, 0), (1, 1));
        assert_eq!(line_and_column(text, 6), (2, 1));
        assert_eq!(line_and_column(text, 9), (2, 3));
        assert_eq!(line_and_column(text, 999), (3, 1));
    }
}
