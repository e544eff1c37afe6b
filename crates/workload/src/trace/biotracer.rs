//! BIOtracer (smartphone eMMC): `sector nsectors bytes type t_generate t_process t_submit t_complete`,
//! times in seconds; bit 0 of the type is a write. The request's time is `t_generate`, which runs
//! backwards in places: lines are written as requests are processed.

use base::RequestKind;

use super::fields::{SECOND, Words, integer, scaled, time};
use super::parser::{Bad, Format, Layout, LineParser, Sink, WINDOW_LARGE};

pub(super) const FORMAT: Format = Format {
    name: "biotracer",
    doc: "BIOtracer smartphone trace: sector nsectors bytes type (bit 0: write) t_generate t_process t_submit t_complete (s)",
    expected: "`sector nsectors bytes type t_generate t_process t_submit t_complete`",
    window: WINDOW_LARGE,
    layout: Layout::Lines,
    detect: |sample| sample.percent(|line| Biotracer.line(line, &mut Sink::new(None)).is_ok()),
    parser: |_| Box::new(Biotracer),
};

struct Biotracer;

impl LineParser for Biotracer {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let mut words = Words::new(line);
        let offset = scaled(words.column()?, 512, "sector (column 1) is not a sector number")?;
        let size = scaled(words.column()?, 512, "nsectors (column 2) is not a number of sectors")?;
        if integer(words.column()?) != Some(size) {
            return Err(Bad("bytes (column 3) is not 512 times nsectors (column 2)"));
        }
        let bits = integer(words.column()?).ok_or(Bad("type (column 4) is not a whole number"))?;
        let generated = time(words.column()?, SECOND)?;
        for _ in 0..3 {
            time(words.column()?, SECOND)?;
        }
        if words.next().is_some() {
            return Err(Bad("more than 8 columns"));
        }
        let kind = if bits & 1 == 1 { RequestKind::Write } else { RequestKind::Read };
        sink.data(kind, generated, 0, offset, size, false)
    }
}
