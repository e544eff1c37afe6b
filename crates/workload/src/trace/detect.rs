//! Which format a file is in, from its first lines.

use super::parser::Format;
use super::{FORMATS, fields};

/// The first lines of a file.
pub(crate) struct FirstLines<'a> {
    /// All of it, for formats that are no text.
    pub bytes: &'a [u8],
    /// Whole lines without line ends, blanks at either end, blank lines and comments.
    pub lines: Vec<&'a [u8]>,
}

/// Lines that are looked at.
const LINES: usize = 4096;

impl<'a> FirstLines<'a> {
    /// The lines of the beginning of a file; the last, cut one is left out unless it is the file's end.
    pub fn new(text: &'a [u8], whole: bool) -> FirstLines<'a> {
        let end = if whole { text.len() } else { memchr::memrchr(b'\n', text).unwrap_or(0) };
        let lines = text[..end]
            .split(|&byte| byte == b'\n')
            .map(fields::trim)
            .filter(|line| !line.is_empty() && line[0] != b'#')
            .take(LINES)
            .collect();
        FirstLines { bytes: text, lines }
    }

    /// Percent of the lines that `accepts` says yes to; at least 1 if there is any.
    pub fn percent(&self, accepts: impl Fn(&[u8]) -> bool) -> u32 {
        let accepted = self.lines.iter().filter(|line| accepts(line)).count();
        match accepted * 100 / self.lines.len().max(1) {
            0 if accepted > 0 => 1,
            percent => percent as u32,
        }
    }

    /// The format that explains most lines, the earlier one of equals; at least one line in ten.
    pub fn detect(&self) -> Option<&'static Format> {
        let mut best = None;
        let mut most = 9;
        for format in FORMATS {
            let percent = (format.detect)(self);
            if percent > most {
                most = percent;
                best = Some(format);
            }
        }
        best
    }
}
