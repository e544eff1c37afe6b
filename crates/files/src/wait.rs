//! Waiting for the other end of a pipe, with an ear for whoever wants to stop.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use crate::Interrupt;

/// Longest time without a question, in milliseconds.
pub(crate) const PATIENCE_MS: i32 = 50;

/// The direction: a file is read, or written.
#[derive(Clone, Copy)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// Repeats `transfer`, which does not block, until it can move something.
pub(crate) fn until_ready<T>(
    file: &File,
    direction: Direction,
    interrupt: &Interrupt,
    mut transfer: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    loop {
        interrupt.check()?;
        if is_ready(file, direction)? {
            match transfer() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    }
}

/// Waits a moment; whether the file can be read or written now, or has something else to say.
fn is_ready(file: &File, direction: Direction) -> io::Result<bool> {
    let events = match direction {
        Direction::Read => libc::POLLIN,
        Direction::Write => libc::POLLOUT,
    };
    let mut asked = libc::pollfd { fd: file.as_raw_fd(), events, revents: 0 };
    // SAFETY: one entry, which lives until the call returns, with a file that is open.
    match unsafe { libc::poll(&mut asked, 1, PATIENCE_MS) } {
        0 => Ok(false),
        -1 => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        },
        _ => Ok(true),
    }
}
