//! Check: every test that `docs/papers.md` names exists.
//!
//! The document promises that an item of a paper is held by a test. A renamed or removed test must
//! break that promise loudly.

use std::collections::{BTreeMap, BTreeSet};

use super::{Complaint, SourceFile};

const PAPERS: &str = "docs/papers.md";

/// Names of functions, with the files that define them.
type Functions<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Tests named in docs/papers.md exist.
pub(super) fn check(files: &[SourceFile]) -> Vec<Complaint> {
    let Some(papers) = files.iter().find(|file| file.path == PAPERS) else {
        let what = "is missing; it lists what the papers ask for, and the tests".to_owned();
        return vec![Complaint { path: PAPERS.to_owned(), line: 1, what }];
    };
    let functions = functions(files);
    let mut complaints = Vec::new();
    for (line, cell) in test_cells(&papers.text) {
        for name in named_tests(cell) {
            if !exists(name, &functions) {
                let what = format!("there is no test `{name}`; name one that exists, or write —");
                complaints.push(papers.complaint(line, what));
            }
        }
    }
    complaints
}

/// All functions of all Rust files.
fn functions(files: &[SourceFile]) -> Functions<'_> {
    let mut functions = Functions::new();
    for file in files.iter().filter(|file| file.has_extension(&["rs"])) {
        for line in file.text.lines() {
            let Some((before, rest)) = line.split_once("fn ") else { continue };
            // `pub async fn`, not a sentence in a comment or a longer word.
            if !before.is_empty() && !before.ends_with(' ') || before.contains("//") {
                continue;
            }
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
            let name = &rest[..end.unwrap_or(rest.len())];
            functions.entry(name).or_default().insert(&file.path);
        }
    }
    functions
}

/// The cells of columns headed "test", with their lines.
fn test_cells(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut column = None;
    let mut before: Option<Vec<&str>> = None;
    for (index, line) in text.lines().enumerate() {
        let Some(row) = cells(line) else {
            (column, before) = (None, None);
            continue;
        };
        if row.iter().all(|cell| !cell.is_empty() && cell.chars().all(|c| "-: ".contains(c))) {
            // The line under the head of a table.
            let head = before.take().unwrap_or_default();
            column = head.iter().position(|cell| cell.to_lowercase().starts_with("test"));
        } else if let Some(cell) = column.and_then(|column| row.get(column)) {
            found.push((index + 1, *cell));
        }
        before = Some(row);
    }
    found
}

/// The cells of a row of a table; a `|` that is escaped does not end one.
fn cells(line: &str) -> Option<Vec<&str>> {
    let row = line.trim().strip_prefix('|')?;
    let row = row.strip_suffix('|').unwrap_or(row);
    let mut cells = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, c) in row.char_indices() {
        if c == '|' && !escaped {
            cells.push(row[start..at].trim());
            start = at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    cells.push(row[start..].trim());
    Some(cells)
}

/// The names in backticks before a dash; what follows a dash is still to come.
fn named_tests(cell: &str) -> impl Iterator<Item = &str> {
    let end = cell.find(['—', '–']).or_else(|| cell.starts_with('-').then_some(0));
    let today = &cell[..end.unwrap_or(cell.len())];
    let is_name = |name: &&str| {
        let fits = |c: char| c.is_alphanumeric() || c == '_' || c == ':' || c == '-';
        name.starts_with(|c: char| c.is_alphabetic()) && name.chars().all(fits)
    };
    today.split('`').skip(1).step_by(2).filter(is_name)
}

/// Whether `name` or `crate::path::name` is a function; the crate, where given, must be right.
fn exists(name: &str, functions: &Functions<'_>) -> bool {
    let (path, function) = name.rsplit_once("::").unwrap_or(("", name));
    let Some(files) = functions.get(function) else { return false };
    let first = path.split("::").next().unwrap_or_default().replace('_', "-");
    let folder = if first == "end-to-end" { "tests/".into() } else { format!("crates/{first}/") };
    let is_crate = functions.values().flatten().any(|file| file.starts_with(&folder));
    !is_crate || files.iter().any(|file| file.starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use super::super::{files, places};
    use super::*;

    const HEAD: &str = "| # | item | what holds it | test |\n| --- | --- | :-- | --- |\n";

    fn complaints(rows: &str) -> Vec<String> {
        let papers = format!("# Papers\n\n{HEAD}{rows}");
        let code = "//! A.\n#[test]\nfn keys_sort() {}\n    async fn pages_end() {}\n\
                    // the fn in_a_comment is none\n";
        let list = [
            (PAPERS, papers.as_str()),
            ("crates/store/src/keys.rs", code),
            ("crates/placement/src/lib.rs", "fn formula() {}"),
        ];
        places(&check(&files(&list)))
    }

    #[test]
    fn tests_that_exist_are_fine() {
        let rows = "| 1 | a | b | `keys_sort` |\n\
                    | 2 | a \\| b | `x` | `store::keys_sort`, `pages_end` |\n\
                    | 3 | a | b | `store::keys::tests::keys_sort`; — with `scan` |\n";
        assert!(complaints(rows).is_empty(), "{:?}", complaints(rows));
    }

    #[test]
    fn what_is_still_to_come_is_fine() {
        let rows = "| 1 | a | b | — with scan |\n| 2 | a | b | - |\n| 3 | a | b | |\n\
                    | 4 | a | b | with the portal |\n| 5 | a | b | `-` |\n";
        assert!(complaints(rows).is_empty(), "{:?}", complaints(rows));
    }

    #[test]
    fn tests_that_do_not_exist_are_named() {
        let rows = "| 1 | a | b | `keys_sorted` |\n| 2 | `gone` | b | `keys_sort`, `gone` |\n\
                    | 3 | a | b | `placement::keys_sort` |\n| 4 | a | b | `in_a_comment` |\n";
        let expected = [5, 6, 7, 8].map(|line| format!("{PAPERS}:{line}"));
        assert_eq!(complaints(rows), expected);
    }

    #[test]
    fn other_tables_and_columns_are_left_alone() {
        let text = "| name | what |\n| --- | --- |\n| `gone` | `gone` |\n";
        assert!(check(&files(&[(PAPERS, text)])).is_empty());
    }

    #[test]
    fn the_document_must_be_there() {
        assert_eq!(places(&check(&[])), ["docs/papers.md:1"]);
    }
}
