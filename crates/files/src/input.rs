//! Reading.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::Interrupt;
use crate::wait::{Direction, until_ready};

/// A file that is read. A pipe without a writer, or one that is silent, is waited for until the interrupt stops that.
pub struct Input {
    file: File,
    metadata: Metadata,
    interrupt: Interrupt,
}

impl Input {
    /// Opens a file, a pipe, or a device. A directory opens, as it does elsewhere; reading it fails.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn open(path: &Path, interrupt: &Interrupt) -> io::Result<Input> {
        interrupt.check()?;
        // Otherwise the system waits for a pipe's writer, and nothing ends that.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        let metadata = file.metadata()?;
        Ok(Input { file, metadata, interrupt: interrupt.clone() })
    }

    /// The system's facts about the file.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.metadata.is_file() || self.metadata.is_dir() {
            self.interrupt.check()?;
            return self.file.read(buffer);
        }
        until_ready(&self.file, Direction::Read, &self.interrupt, || (&self.file).read(buffer))
    }
}
