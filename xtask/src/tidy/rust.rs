//! Checks of the Rust sources: width, module documentation, unfinished work, length.

use super::{Complaint, SourceFile};

/// The widest line, in characters; rustfmt keeps to it except in text and comments.
const WIDTH: usize = 100;

/// The longest source file. One that is longer holds more than one idea.
const LINES: usize = 600;

fn rust(files: &[SourceFile]) -> impl Iterator<Item = &SourceFile> {
    files.iter().filter(|file| file.has_extension(&["rs"]))
}

/// Lines of Rust have at most 100 characters.
pub(super) fn width(files: &[SourceFile]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in rust(files) {
        for (index, line) in file.text.lines().enumerate() {
            let width = line.chars().count();
            if width > WIDTH {
                let what = format!("{width} characters wide; break it at {WIDTH}");
                complaints.push(file.complaint(index + 1, what));
            }
        }
    }
    complaints
}

/// Every Rust file begins with `//!`: a reader learns first what the file is for.
pub(super) fn module_doc(files: &[SourceFile]) -> Vec<Complaint> {
    let undocumented = |file: &&SourceFile| {
        let first = file.text.lines().find(|line| !line.trim().is_empty());
        !first.is_some_and(|line| line.starts_with("//! "))
    };
    rust(files)
        .filter(undocumented)
        .map(|file| file.complaint(1, "begin the file with a `//!` sentence that says what it is"))
        .collect()
}

/// No unfinished work: an issue holds what is to do, and a test that is not run proves nothing.
pub(super) fn unfinished(files: &[SourceFile]) -> Vec<Complaint> {
    // Put together here, so that this file does not contain what it looks for.
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    let codes = [concat!("to", "do!"), concat!("#[ig", "nore")];
    let mut complaints = Vec::new();
    for file in files.iter().filter(|f| f.has_extension(&["rs", "toml", "sh", "js", "css"])) {
        for (index, line) in file.text.lines().enumerate() {
            let word = words.iter().find(|word| has_word(line, word));
            if let Some(found) = word.or_else(|| codes.iter().find(|code| line.contains(**code))) {
                let what = format!("`{found}`: finish it, or file an issue and remove the mark");
                complaints.push(file.complaint(index + 1, what));
            }
        }
    }
    complaints
}

/// A source file has at most 600 lines.
pub(super) fn length(files: &[SourceFile]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.has_extension(&["rs", "sh", "js", "css"])) {
        let lines = file.text.lines().count();
        if lines > LINES {
            let what = format!("{lines} lines; split it by ideas, at most {LINES} lines each");
            complaints.push(file.complaint(LINES + 1, what));
        }
    }
    complaints
}

/// Whether a line contains a word that is not part of a longer one.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    let joined = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].ends_with(joined) && !line[at + word.len()..].starts_with(joined)
    })
}

#[cfg(test)]
mod tests {
    use super::super::{files, places};
    use super::*;

    #[test]
    fn a_line_of_100_characters_is_fine_and_one_of_101_is_not() {
        // Characters, not bytes: each of these has two.
        let (fits, wide) = ("ä".repeat(100), "ä".repeat(101));
        let text = format!("//! A.\n{fits}\n{wide}\n");
        let found = width(&files(&[("a.rs", &text), ("a.md", &wide)]));
        assert_eq!(places(&found), ["a.rs:3"]);
    }

    #[test]
    fn a_file_without_a_module_doc_is_named() {
        let found = module_doc(&files(&[
            ("good.rs", "//! What it is.\n"),
            ("shebang.md", "no doc"),
            ("bad.rs", "// Not a doc.\n"),
            ("empty.rs", ""),
            ("late.rs", "use a;\n//! Too late.\n"),
        ]));
        assert_eq!(places(&found), ["bad.rs:1", "empty.rs:1", "late.rs:1"]);
    }

    #[test]
    fn unfinished_work_is_found_in_words_and_code() {
        for bad in ["// TO_DO later", "TO_DO: x", "FIX_ME", "(XX_X)", "to_do!()", "#[ig_nore]"] {
            let bad = bad.replace('_', "");
            let found = unfinished(&files(&[("a.rs", &format!("//! A.\n{bad}\n"))]));
            assert_eq!(places(&found), ["a.rs:2"], "{bad}");
        }
    }

    #[test]
    fn parts_of_other_words_are_fine() {
        for good in ["0xXX_XX", "MASTO_DON", "ignore(x)", "the to_do list"] {
            let good = good.replace('_', "");
            let found = unfinished(&files(&[("a.rs", &good)]));
            assert_eq!(found, [], "{good}");
        }
    }

    #[test]
    fn a_file_of_601_lines_is_too_long() {
        let (fits, long) = ("x\n".repeat(600), "x\n".repeat(601));
        let found = length(&files(&[("a.rs", &fits), ("b.rs", &long), ("c.md", &long)]));
        assert_eq!(places(&found), ["b.rs:601"]);
    }
}
