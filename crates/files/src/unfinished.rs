//! Files that are not finished yet: names that nobody else has, a lock by which others see that the owner lives, and what to do
//! with what the dead left.
//!
//! A lock (`flock`) ends with its process, however that ends, and never has a wrong answer where process numbers come
//! round or several machines share a disk. Where a disk knows no locks nothing is cleared away.

use std::collections::hash_map::RandomState;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::BuildHasher;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

const PREFIX: &str = ".ftlab-";
const FILE: &str = ".partial";
const DIRECTORY: &str = ".staging";

/// The lock of a directory is that of this file in it.
const OWNER: &str = ".owner";

/// An empty directory of this age has no owner that is still about to lock it.
const ABANDONED: Duration = Duration::from_secs(60);

/// The files that this process has not finished, for [`discard_unfinished`].
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file under a name that nobody has, which is removed when this is dropped before [`Partial::rename`].
pub(crate) struct Partial {
    path: PathBuf,
}

impl Partial {
    /// Makes a file in `directory`, after clearing away what dead processes left there.
    pub(crate) fn create(directory: &Path) -> io::Result<(Partial, File)> {
        loop {
            let path = directory.join(unique(FILE));
            let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
            if is_held(&file, &path) {
                note(&path);
                let partial = Partial { path };
                clear_away_the_dead(directory, &file);
                return Ok((partial, file));
            }
        }
    }

    /// Gives the file its name, over whatever has it.
    pub(crate) fn rename(self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After a rename there is nothing to remove.
        let _ = fs::remove_file(&self.path);
        forget(&self.path);
    }
}

/// A directory under a name that nobody has, which is removed with all that is in it when this is dropped.
pub struct Staging {
    path: PathBuf,
    /// Locked as long as this lives.
    owner: File,
}

impl Staging {
    /// Makes a directory in `parent`, after clearing away what dead processes left there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(parent: &Path) -> io::Result<Staging> {
        loop {
            let path = parent.join(unique(DIRECTORY));
            DirBuilder::new().mode(0o700).create(&path)?;
            note(&path);
            let staging = Staging::own(path)?;
            if is_held(&staging.owner, &staging.path.join(OWNER)) {
                clear_away_the_dead(parent, &staging.owner);
                return Ok(staging);
            }
        }
    }

    fn own(path: PathBuf) -> io::Result<Staging> {
        let owner = OpenOptions::new().write(true).create_new(true).open(path.join(OWNER));
        match owner {
            Ok(owner) => Ok(Staging { path, owner }),
            Err(error) => {
                let _ = fs::remove_dir(&path);
                forget(&path);
                Err(error)
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
        forget(&self.path);
    }
}

/// Removes all that this process has not finished, for one that is about to end without further ado.
pub fn discard_unfinished() {
    let Ok(mut unfinished) = UNFINISHED.lock() else { return };
    for path in unfinished.drain(..) {
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
    }
}

fn note(path: &Path) {
    if let Ok(mut unfinished) = UNFINISHED.lock() {
        unfinished.push(path.to_owned());
    }
}

fn forget(path: &Path) {
    if let Ok(mut unfinished) = UNFINISHED.lock() {
        unfinished.retain(|other| other != path);
    }
}

fn unique(suffix: &str) -> String {
    format!("{PREFIX}{:016x}{suffix}", RandomState::new().hash_one(std::process::id()))
}

/// True for a name that [`unique`] makes.
fn is_unique(name: &str, suffix: &str) -> bool {
    let digits = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(suffix));
    digits.is_some_and(|digits| digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Locks a new file; `false` if it was cleared away in the moment before.
fn is_held(file: &File, path: &Path) -> bool {
    // Without locks nobody can clear anything away.
    file.lock().is_err() || is_at(file, path)
}

/// True while a file still has that name.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(file), Ok(named)) => (file.dev(), file.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// Removes what this user's dead processes left in a directory. Whatever goes wrong is no harm: it stays where it is.
fn clear_away_the_dead(directory: &Path, own: &File) {
    let (Ok(entries), Ok(own)) = (fs::read_dir(directory), own.metadata()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        // Not of what a link points to.
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.uid() != own.uid() {
            continue;
        }
        let path = entry.path();
        if is_unique(name, FILE) && metadata.is_file() && metadata.ino() != own.ino() {
            if let Some(_lock) = abandoned(&path) {
                let _ = fs::remove_file(&path);
            }
        } else if is_unique(name, DIRECTORY) && metadata.is_dir() {
            clear_away_staging(&path, &metadata);
        }
    }
}

fn clear_away_staging(path: &Path, metadata: &fs::Metadata) {
    let owner = path.join(OWNER);
    if let Some(_lock) = abandoned(&owner) {
        let _ = fs::remove_dir_all(path);
    } else if metadata.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > ABANDONED)) {
        // Its process died before it had an owner. Where there is one, this fails.
        let _ = fs::remove_dir(path);
    }
}

/// The lock of a file that nobody holds and that still has its name.
fn abandoned(path: &Path) -> Option<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).ok()?;
    (file.try_lock().is_ok() && is_at(&file, path)).then_some(file)
}
