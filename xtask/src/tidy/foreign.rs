//! Check: nothing in the repository names a machine it was written on or a registry's host.
//!
//! A path of one machine works for nobody else, and packages are named by name: where they come
//! from is the reader's own setting.

use super::{Complaint, SourceFile};

// All put together here, so that this file does not contain what it looks for.

/// Directories of machines, as the beginning of a path.
const PATHS: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/fa", "rm/")];

/// Hosts of registries.
const HOSTS: &[&str] = &[
    concat!("crates", ".io/"),
    concat!("registry", ".npmjs"),
    concat!("pypi", ".org"),
    concat!("repo", ".maven"),
    concat!("proxy", ".golang"),
    concat!("deb", ".debian"),
];

/// Written by package managers, which put hosts into them.
const LOCKS: &[&str] = &["Cargo.lock", "package-lock.json"];

/// No path of a machine, no host of a registry.
pub(super) fn check(files: &[SourceFile]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| !is_lock(&file.path)) {
        for (index, line) in file.text.lines().enumerate() {
            let line = line.to_lowercase();
            if let Some(path) = PATHS.iter().find(|path| begins_a_path(&line, path)) {
                let what = format!("`{path}` is a path of one machine; write a relative one");
                complaints.push(file.complaint(index + 1, what));
            }
            if let Some(host) = HOSTS.iter().find(|host| line.contains(**host)) {
                let what = format!("`{host}` is a registry's host; name the package alone");
                complaints.push(file.complaint(index + 1, what));
            }
        }
    }
    complaints
}

fn is_lock(path: &str) -> bool {
    LOCKS.contains(&path.rsplit('/').next().unwrap_or(path))
}

/// Whether the text occurs where a path begins, and not inside a relative one.
fn begins_a_path(line: &str, path: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || "._-~}".contains(c);
    line.match_indices(path).any(|(at, _)| !line[..at].ends_with(inside))
}

#[cfg(test)]
mod tests {
    use super::super::{files, places};
    use super::*;

    fn check_line(line: &str) -> usize {
        // The line is written with `_` inside the words, for the reason given above.
        check(&files(&[("docs/a.md", &line.replace('_', ""))])).len()
    }

    #[test]
    fn paths_of_machines_are_found() {
        assert_eq!(check_line("see /wo_rk/main/x"), 1);
        assert_eq!(check_line("(`/ro_ot/.cargo`)"), 1);
        assert_eq!(check_line("file:///fa_rm/x"), 1);
    }

    #[test]
    fn relative_paths_are_fine() {
        assert_eq!(check_line("docs/wo_rk/x, ~/wo_rk/x, ../ro_ot/x, ${HOME}/wo_rk/x"), 0);
    }

    #[test]
    fn hosts_of_registries_are_found() {
        assert_eq!(check_line("https://crates_.io/crates/fjall"), 1);
        assert_eq!(check_line("http://Deb_.Debian.org"), 1);
        assert_eq!(check_line("the crate fjall, from the registry"), 0);
    }

    #[test]
    fn lock_files_may_name_hosts() {
        let text = HOSTS.join("\n");
        let found = check(&files(&[("web/package-lock.json", &text), ("a.lock", &text)]));
        assert_eq!(places(&found).len(), HOSTS.len());
        assert!(places(&found)[0].starts_with("a.lock"));
    }
}
