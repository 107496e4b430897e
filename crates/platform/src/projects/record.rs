//! A project as it is stored, listed and shown.

use serde::{Deserialize, Serialize};

use crate::accounts::UserId;
use crate::chains::ChainName;
use crate::guarded::json_value;
use crate::secret::SecretHash;

use super::{Pid, ProjectError};

/// Characters of a project's name.
const NAME_CHARS: usize = 64;

/// Whether a project is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Status {
    /// It is.
    #[default]
    Active,
    /// It was deleted. It is in no list, counts nowhere, and its key opens nothing.
    Deleted,
}

/// A project as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectRecord {
    /// Whose it is.
    pub uid: UserId,
    /// For which chain.
    pub chain: ChainName,
    /// What its owner calls it.
    pub name: String,
    /// The hash of its key.
    pub key: SecretHash,
    /// When it was made, Unix milliseconds.
    pub createtime: u64,
    /// When it changed last.
    pub lasttime: u64,
    /// Whether it is served.
    #[serde(default)]
    pub status: Status,
    /// The operation that changed it last, so that a repeated request is known.
    pub changed_by: u128,
}
json_value!(ProjectRecord, format 1);

/// A project in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectLine {
    /// Whose it is.
    pub uid: UserId,
    /// For which chain.
    pub chain: ChainName,
    /// What its owner calls it.
    pub name: String,
    /// When it was made, Unix milliseconds.
    pub createtime: u64,
    /// When it changed last.
    pub lasttime: u64,
}
json_value!(ProjectLine, format 1);

/// A project as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Project {
    /// Its id.
    pub pid: Pid,
    /// Whose it is.
    pub uid: UserId,
    /// For which chain.
    pub chain: ChainName,
    /// What its owner calls it.
    pub name: String,
    /// When it was made, Unix milliseconds.
    pub createtime: u64,
    /// When it changed last.
    pub lasttime: u64,
    /// Whether it is served.
    pub status: Status,
}

impl ProjectRecord {
    /// What stands in lists.
    pub(crate) fn line(&self) -> ProjectLine {
        ProjectLine {
            uid: self.uid.clone(),
            chain: self.chain.clone(),
            name: self.name.clone(),
            createtime: self.createtime,
            lasttime: self.lasttime,
        }
    }

    /// What its owner sees.
    pub(crate) fn shown(self, pid: Pid) -> Project {
        let Self { uid, chain, name, createtime, lasttime, status, .. } = self;
        Project { pid, uid, chain, name, createtime, lasttime, status }
    }
}

impl ProjectLine {
    pub(crate) fn shown(self, pid: Pid) -> Project {
        let Self { uid, chain, name, createtime, lasttime } = self;
        Project { pid, uid, chain, name, createtime, lasttime, status: Status::Active }
    }
}

/// A name that can be shown: trimmed, 1 to 64 characters, none of them a control character.
pub(crate) fn check_name(name: &str) -> Result<String, ProjectError> {
    // Before it is trimmed: what is refused in the middle is refused at the ends, too.
    let fits = name.chars().take(NAME_CHARS + 1).count() <= NAME_CHARS;
    let odd = name.chars().any(char::is_control);
    let name = name.trim();
    if fits && !odd && !name.is_empty() {
        return Ok(name.to_owned());
    }
    Err(ProjectError::Name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{CHAIN_PROJECTS, PROJECTS, USER_PROJECTS};
    use store::Value as _;

    #[test]
    fn names_have_a_length_and_can_be_shown() {
        assert_eq!(check_name(" a project ").expect("a name"), "a project");
        assert_eq!(check_name("项目").expect("a name"), "项目");
        for bad in ["", "  ", "a\nb", "a\r", "\u{7f}", &"x".repeat(65)] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_widest_project_is_within_its_bounds() {
        let record = ProjectRecord {
            uid: UserId::new(&"u".repeat(32)).expect("a name"),
            chain: ChainName::new("c".repeat(32)).expect("a name"),
            name: check_name(&"\u{10ffff}".repeat(64)).expect("a name"),
            key: SecretHash::of("a", "b"),
            createtime: u64::MAX,
            lasttime: u64::MAX,
            status: Status::Deleted,
            changed_by: u128::MAX,
        };
        let bytes = record.to_bytes();
        assert!(bytes.len() <= PROJECTS.def().bounds().value_bytes);
        assert_eq!(ProjectRecord::from_bytes(&bytes), Ok(record.clone()));
        let line = record.line().to_bytes().len();
        assert!(line <= USER_PROJECTS.def().payload_bytes());
        assert!(line <= CHAIN_PROJECTS.def().payload_bytes());
    }
}
