//! Advice for a user whose file cannot be written.

use std::io::{Error, ErrorKind};

/// The remedy against a system's error in writing.
pub fn remedy(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull => "free some space on that disk, or name a place on another one",
        ErrorKind::QuotaExceeded => "free some of your quota on that disk, or name a place on another one",
        ErrorKind::ReadOnlyFilesystem => "that disk is mounted read-only: name a place on another one",
        ErrorKind::FileTooLarge => {
            "files may not become that large here: raise the limit (`ulimit -f`), or name a place on another disk"
        }
        ErrorKind::PermissionDenied => "name a place that you may write to, or change its permissions",
        ErrorKind::InvalidFilename => "name a shorter one",
        ErrorKind::NotFound | ErrorKind::NotADirectory => "name a place in a directory that exists",
        _ => "name another place",
    }
}
