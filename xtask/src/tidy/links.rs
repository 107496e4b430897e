//! Check: a link between documents leads to a file of the repository.

use std::collections::BTreeSet;

use super::{Complaint, SourceFile};

/// Links in Markdown to files of the repository resolve.
pub(super) fn check(files: &[SourceFile]) -> Vec<Complaint> {
    let known = known(files);
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.has_extension(&["md"])) {
        for (line, target) in targets(&file.text) {
            let Some(local) = local_part(&target) else { continue };
            let found = resolve(&file.path, local).is_some_and(|path| known.contains(&path));
            if !found {
                let what = format!("the link to `{target}` leads to no file of the repository");
                complaints.push(file.complaint(line, what));
            }
        }
    }
    complaints
}

/// All files, and all folders that hold one.
fn known(files: &[SourceFile]) -> BTreeSet<String> {
    let mut known = BTreeSet::from([String::new()]);
    for file in files {
        let mut path = file.path.as_str();
        known.insert(path.to_owned());
        while let Some((folder, _)) = path.rsplit_once('/') {
            known.insert(folder.to_owned());
            path = folder;
        }
    }
    known
}

/// The targets of links with their lines, outside code.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut targets = Vec::new();
    let mut fence = None;
    for (index, line) in text.lines().enumerate() {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, Some(_)) => fence = mark,
            (Some(open), Some(close)) if open == close => fence = None,
            (None, None) => {
                targets.extend(in_line(line).into_iter().map(|target| (index + 1, target)));
            }
            _ => {}
        }
    }
    targets
}

fn in_line(line: &str) -> Vec<String> {
    // Every second piece between backticks is code.
    let prose: Vec<&str> = line.split('`').step_by(2).collect();
    let prose = prose.join("`");
    let mut targets: Vec<String> = prose
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.to_owned())
        .collect();
    // A definition: `[name]: target`. A footnote (`[^1]: text`) looks alike and is none.
    if let Some((name, target)) = prose.trim_start().split_once("]: ")
        && name.starts_with('[')
        && !name.starts_with("[^")
    {
        targets.push(target.to_owned());
    }
    targets
}

/// The path in a target, without title and anchor; none when it leads elsewhere.
fn local_part(target: &str) -> Option<&str> {
    let target = target.trim().trim_start_matches('<');
    let path = target.split([' ', '>', '#', '?']).next().unwrap_or_default();
    let scheme = path.split_once(':').is_some_and(|(scheme, _)| !scheme.contains('/'));
    (!path.is_empty() && !scheme && !path.starts_with("//")).then_some(path)
}

/// The path from the root of what a file links to; none when it leaves the repository.
fn resolve(from: &str, link: &str) -> Option<String> {
    let mut path: Vec<&str> = match link.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => from.split('/').rev().skip(1).collect::<Vec<_>>().into_iter().rev().collect(),
    };
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(path.pop()?),
            part => path.push(part),
        }
    }
    Some(path.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::{files, places};
    use super::*;

    fn complaints(text: &str) -> Vec<String> {
        let list = [("docs/guide.md", text), ("docs/pictures/a.svg", ""), ("README.md", "")];
        places(&check(&files(&list)))
    }

    #[test]
    fn good_links_are_fine() {
        let text = "[a](pictures/a.svg) [b](../README.md#top) [c](pictures) [d](/README.md)\n\
                    [e](https://example.org/x) [f](#here) [g](mailto:a@example.org)\n\
                    [h](../README.md \"a title\") [i]: ../README.md\n\
                    [self](guide.md) [root](..)\n[j]: ../README.md\n[^1]: a footnote\n";
        assert!(complaints(text).is_empty(), "{:?}", complaints(text));
    }

    #[test]
    fn bad_links_are_named_with_their_line() {
        let text = "fine\n[a](missing.md)\n[b](../../elsewhere.md)\n[c]: gone.md\n[ok](guide.md)";
        assert_eq!(complaints(text), ["docs/guide.md:2", "docs/guide.md:3", "docs/guide.md:4"]);
    }

    #[test]
    fn code_holds_no_links() {
        let text = "```\n[a](missing.md)\n```\n`[b](missing.md)` and `c`\n";
        assert!(complaints(text).is_empty());
    }
}
