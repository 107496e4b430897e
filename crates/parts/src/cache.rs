//! Downloads and built tools, kept outside the checkout and found again by name and version.

use std::error::Error;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A directory of finished entries.
///
/// An entry is a directory `NAME-VERSION`. It is built beside its place and renamed into it, so an
/// entry that is there is complete; a build that was cut off is thrown away by the next one. A lock
/// on `NAME-VERSION.lock` keeps two processes from building the same entry at once: the second
/// waits and finds it ready. Removing an entry is always safe; it is built again when it is needed.
#[derive(Clone, Debug)]
pub struct Cache {
    dir: PathBuf,
}

/// Why an entry of the cache cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// No variable says where the cache is.
    #[error("no place for the cache: set OSTRAKON_CACHE (or XDG_CACHE_HOME, or HOME)")]
    NoPlace,
    /// A name or version that cannot be a file name.
    #[error("`{0}` cannot name a cache entry: use letters, digits, `.`, `_` and `-`")]
    Name(String),
    /// The directory cannot be used.
    #[error("cannot use the cache at {path}: {source}; set OSTRAKON_CACHE to another directory")]
    Io {
        /// What was touched.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The builder failed; nothing of its work is kept.
    #[error("cannot build {entry} for the cache: {source}")]
    Build {
        /// Name and version.
        entry: String,
        /// What the builder said.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl Cache {
    /// The cache of this user: `$OSTRAKON_CACHE`, else `$XDG_CACHE_HOME/ostrakon`, else
    /// `~/.cache/ostrakon`.
    ///
    /// # Errors
    ///
    /// When none of the variables is set or the directory cannot be made.
    pub fn open() -> Result<Self, CacheError> {
        let place = place(|name| std::env::var_os(name).map(PathBuf::from));
        Self::at(place.ok_or(CacheError::NoPlace)?)
    }

    /// A cache in the given directory, which is made if it does not exist.
    ///
    /// # Errors
    ///
    /// When the directory cannot be made.
    pub fn at(dir: impl Into<PathBuf>) -> Result<Self, CacheError> {
        let dir = dir.into();
        fs::create_dir_all(&dir).map_err(at(&dir))?;
        Ok(Self { dir })
    }

    /// Where the cache is.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where cargo builds in CI, so that a fresh clone does not compile every dependency again.
    #[must_use]
    pub fn target_dir(&self) -> PathBuf {
        self.dir.join("target")
    }

    /// The directory of an entry; `build` fills it, in the directory it is given, if it is absent.
    ///
    /// The builder works in another directory than the one returned: what it writes must not name
    /// its own place.
    ///
    /// # Errors
    ///
    /// When the builder fails, or the cache cannot be written.
    pub fn entry<E>(
        &self,
        name: &str,
        version: &str,
        build: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, CacheError>
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let entry = format!("{name}-{version}");
        let place = self.path_of(&entry)?;
        if place.is_dir() {
            return Ok(place);
        }
        let _lock = self.lock(&entry)?;
        // Another process may have built it while this one waited for the lock.
        if place.is_dir() {
            return Ok(place);
        }
        let building = self.dir.join(format!("{entry}.building"));
        remove(&building)?;
        fs::create_dir(&building).map_err(at(&building))?;
        if let Err(error) = build(&building) {
            remove(&building)?;
            return Err(CacheError::Build { entry, source: error.into() });
        }
        fs::rename(&building, &place).map_err(at(&place))?;
        Ok(place)
    }

    /// Waits for the lock of that name; it is held until the value is dropped or the process ends.
    ///
    /// # Errors
    ///
    /// When the lock file cannot be made or locked.
    pub fn lock(&self, name: &str) -> Result<File, CacheError> {
        let path = self.path_of(&format!("{name}.lock"))?;
        let file = File::options().create(true).append(true).open(&path).map_err(at(&path))?;
        file.lock().map_err(at(&path))?;
        Ok(file)
    }

    fn path_of(&self, name: &str) -> Result<PathBuf, CacheError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(fits) {
            return Err(CacheError::Name(name.to_owned()));
        }
        Ok(self.dir.join(name))
    }
}

/// The first place that the environment names; an empty variable names none.
fn place(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|path| !path.as_os_str().is_empty());
    set("OSTRAKON_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|dir| dir.join("ostrakon")))
        .or_else(|| set("HOME").map(|dir| dir.join(".cache/ostrakon")))
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> CacheError + use<> {
    let path = path.to_owned();
    move |source| CacheError::Io { path, source }
}

fn remove(path: &Path) -> Result<(), CacheError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    fn cache() -> (tempfile::TempDir, Cache) {
        let dir = tempfile::tempdir().expect("a directory");
        let cache = Cache::at(dir.path().join("cache")).expect("a cache");
        (dir, cache)
    }

    #[test]
    fn an_entry_is_built_once_and_again_when_removed() {
        let (_dir, cache) = cache();
        let built = AtomicUsize::new(0);
        let get = || {
            cache.entry("tool", "1.2", |dir| {
                built.fetch_add(1, Ordering::Relaxed);
                fs::write(dir.join("bin"), "x")
            })
        };
        let path = get().expect("built");
        assert_eq!(get().expect("found"), path);
        assert!(path.join("bin").is_file());
        assert_eq!(built.load(Ordering::Relaxed), 1);
        fs::remove_dir_all(&path).expect("removed");
        get().expect("built again");
        assert_eq!(built.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_failed_build_leaves_nothing() {
        let (_dir, cache) = cache();
        let error = cache
            .entry("tool", "1", |dir| {
                fs::write(dir.join("half"), "x").expect("written");
                Err("no compiler")
            })
            .expect_err("fails");
        assert!(error.to_string().contains("tool-1") && error.to_string().contains("no compiler"));
        let path = cache.entry("tool", "1", |_| Ok::<_, CacheError>(())).expect("built");
        assert!(!path.join("half").exists());
    }

    #[test]
    fn a_build_that_was_cut_off_is_thrown_away() {
        let (_dir, cache) = cache();
        let torn = cache.dir().join("tool-1.building");
        fs::create_dir(&torn).expect("made");
        fs::write(torn.join("half"), "x").expect("written");
        let path = cache.entry("tool", "1", |_| Ok::<_, CacheError>(())).expect("built");
        assert!(!path.join("half").exists() && !torn.exists());
    }

    #[test]
    fn two_builders_of_one_entry_build_it_once() {
        let (_dir, cache) = cache();
        let built = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let build = |_: &Path| {
                        std::thread::sleep(Duration::from_millis(30));
                        built.fetch_add(1, Ordering::Relaxed);
                        Ok::<_, CacheError>(())
                    };
                    cache.entry("tool", "1", build).expect("there");
                });
            }
        });
        assert_eq!(built.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn names_cannot_leave_the_cache() {
        let (_dir, cache) = cache();
        for name in ["", "..", "a/b", ".hidden"] {
            assert!(matches!(cache.lock(name), Err(CacheError::Name(_))), "{name}");
        }
    }

    #[test]
    fn the_place_follows_the_environment() {
        let check = |set: &[(&str, &str)], expected: Option<&str>| {
            let found = place(|name| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| PathBuf::from(value))
            });
            assert_eq!(found, expected.map(PathBuf::from));
        };
        check(&[("OSTRAKON_CACHE", "/a"), ("XDG_CACHE_HOME", "/b"), ("HOME", "/c")], Some("/a"));
        check(&[("XDG_CACHE_HOME", "/b"), ("HOME", "/c")], Some("/b/ostrakon"));
        check(&[("OSTRAKON_CACHE", ""), ("HOME", "/c")], Some("/c/.cache/ostrakon"));
        check(&[], None);
    }
}
