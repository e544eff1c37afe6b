//! FIU (Koller and Rangaswami, home directories, mail and web servers): words between blanks, `time pid process lba size op
//! major minor md5`, nanoseconds and blocks of 512 bytes.

use base::RequestKind;

use super::fields::{Words, integer, scaled, time};
use super::parser::{Bad, Format, Layout, LineParser, Sink, WINDOW_SMALL};

pub(super) const FORMAT: Format = Format {
    name: "fiu",
    doc: "FIU: time (ns) pid process lba (512 B) size (512 B) op (R|W) major minor md5",
    expected: "`time pid process lba size R|W major minor md5`",
    window: WINDOW_SMALL,
    layout: Layout::Lines,
    detect: |sample| sample.percent(|line| Fiu.line(line, &mut Sink::new(None)).is_ok()),
    parser: |_| Box::new(Fiu),
};

struct Fiu;

/// Words behind the name of the process, which may have blanks in it: lba, size, op, major, minor, md5.
const BEHIND: usize = 6;

impl LineParser for Fiu {
    #[inline]
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let mut words = Words::new(line);
        let at = time(words.column()?, 1)?;
        integer(words.column()?).ok_or(Bad("pid (word 2) is not a whole number"))?;
        words.column()?;
        let mut last = [&b""[..]; BEHIND];
        let mut count = 0;
        for word in words {
            last.rotate_left(1);
            last[BEHIND - 1] = word;
            count += 1;
        }
        if count < BEHIND {
            return Err(Bad("too few columns"));
        }
        let [lba, size, op, major, minor, _] = last;
        let offset = scaled(lba, 512, "lba is not a block number")?;
        let size = scaled(size, 512, "size is not a number of blocks")?;
        let kind = match op {
            b"R" => RequestKind::Read,
            b"W" => RequestKind::Write,
            _ => return Err(Bad("op is not R or W")),
        };
        sink.data(kind, at, number(major, minor)?, offset, size, false)
    }
}

/// One number for a device, as Linux makes it of both.
fn number(major: &[u8], minor: &[u8]) -> Result<u32, Bad> {
    let of = |text, limit| integer(text).filter(|number| *number < limit).ok_or(Bad("major or minor is not a number"));
    Ok((of(major, 1 << 12)? << 20 | of(minor, 1 << 20)?) as u32)
}
