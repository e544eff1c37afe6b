//! Writing.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Interrupt;
use crate::unfinished::Partial;
use crate::wait::{Direction, PATIENCE_MS, until_ready};

/// Links behind links that are followed; the system's own limit.
const LINKS_MAX: usize = 40;

/// A file that is written. It appears under its name, in place of what has it, when it is finished; until then nothing
/// is there. A link is followed, and stays. Pipes and devices are written as they are.
pub struct Output {
    file: File,
    interrupt: Interrupt,
    /// The file that it becomes; `None`: it is a pipe or a device.
    whole: Option<Whole>,
}

struct Whole {
    partial: Partial,
    target: PathBuf,
}

/// Where an output goes.
enum Destination {
    /// A file, which may be there already.
    File(PathBuf),
    /// An existing stream (a pipe, a device), written to in place.
    Stream,
}

impl Output {
    /// Begins a file.
    ///
    /// # Errors
    /// When it cannot be written: no such directory, no permission, a directory or a disk under that name.
    pub fn create(path: &Path, interrupt: &Interrupt) -> io::Result<Output> {
        let interrupt = interrupt.clone();
        let Destination::File(target) = place_of(path)? else {
            return Ok(Output { file: open_stream(path, &interrupt)?, interrupt, whole: None });
        };
        let (partial, file) = Partial::create(directory_of(&target))?;
        if let Some(old) = writable(&target)? {
            // Only the owner may give a file away; whose it was is no reason to fail.
            let _ = fchown(&file, Some(old.uid()), Some(old.gid()));
            file.set_permissions(old.permissions())?;
        }
        Ok(Output { file, interrupt, whole: Some(Whole { partial, target }) })
    }

    /// Tries if [`Output::create`] would succeed; leaves nothing behind.
    ///
    /// # Errors
    /// As those of [`Output::create`].
    pub fn check(path: &Path) -> io::Result<()> {
        match place_of(path)? {
            // To open a pipe would tell its reader that there is a writer.
            Destination::Stream => Ok(()),
            Destination::File(_) => Output::create(path, &Interrupt::default()).map(|_| ()),
        }
    }

    /// From here on only waiting for a reader can be stopped.
    pub fn go_on_regardless(&mut self) {
        if self.whole.is_some() {
            self.interrupt = Interrupt::default();
        }
    }

    /// Completes the file: it is on the disk, and has its name.
    ///
    /// # Errors
    /// When the system fails, as on a full disk, which it may notice only now; what was there before is still there.
    pub fn finish(&mut self) -> io::Result<()> {
        let Some(Whole { partial, target }) = self.whole.take() else { return Ok(()) };
        self.interrupt.check()?;
        self.file.sync_all()?;
        partial.rename(&target)
    }
}

/// True if a file is there, not empty, that does not begin like those of a kind.
pub fn is_other(path: &Path, beginning: &[u8]) -> bool {
    // Pipes and devices hold nothing, and to open one might wait for ever.
    if !fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0) {
        return false;
    }
    let mut found = vec![0; beginning.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut found));
    match read {
        Ok(()) => found != beginning,
        Err(error) => error.kind() == ErrorKind::UnexpectedEof,
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.whole.is_some() {
            self.interrupt.check()?;
            return self.file.write(bytes);
        }
        until_ready(&self.file, Direction::Write, &self.interrupt, || (&self.file).write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Follows links to where a file is or would be.
fn place_of(path: &Path) -> io::Result<Destination> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => return Err(io::Error::from_raw_os_error(libc::EISDIR)),
        Ok(found) if found.file_type().is_block_device() => {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is a disk; expected a file"));
        }
        Ok(found) if !found.is_file() => return Ok(Destination::Stream),
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        // A file, or a link to none.
        Ok(_) | Err(_) => {}
    }
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let directory = directory_of(&path).canonicalize()?;
        let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
        path = directory.join(name);
        // `/dev/stdout` and its like: a file that somebody has open, and that therefore has to stay.
        if directory.starts_with("/proc") {
            if fs::symlink_metadata(&path).is_err() {
                return Err(io::Error::new(ErrorKind::InvalidInput, "no file can be made in /proc"));
            }
            return Ok(Destination::Stream);
        }
        if !fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
            return Ok(Destination::File(path));
        }
        path = directory.join(fs::read_link(&path)?);
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// A file that is there and may be written: to take its place would be too easy.
fn writable(path: &Path) -> io::Result<Option<Metadata>> {
    match OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Ok(file) => file.metadata().map(Some),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a pipe or a device, and waits for a pipe's reader.
fn open_stream(path: &Path, interrupt: &Interrupt) -> io::Result<File> {
    loop {
        interrupt.check()?;
        match OpenOptions::new().write(true).truncate(true).custom_flags(libc::O_NONBLOCK).open(path) {
            // So says the system of a pipe without a reader.
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) && is_pipe(path) => {
                std::thread::sleep(Duration::from_millis(PATIENCE_MS as u64));
            }
            opened => return opened,
        }
    }
}

fn is_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
}
