//! Tencent block traces: `timestamp,offset,size,io_type,volume_id`, seconds and sectors of 512 bytes.

use base::RequestKind;

use super::fields::{Commas, SECOND, device, scaled, time};
use super::parser::{Bad, Format, Layout, LineParser, Sink, WINDOW_SMALL};

pub(super) const FORMAT: Format = Format {
    name: "tencent",
    doc: "Tencent Cloud block trace: timestamp (s),offset (512 B),size (512 B),io_type (0 read, 1 write),volume_id",
    expected: "`timestamp,offset,size,0|1,volume_id`",
    window: WINDOW_SMALL,
    layout: Layout::Headed,
    detect: |sample| sample.percent(|line| Tencent.line(line, &mut Sink::new(None)).is_ok()),
    parser: |_| Box::new(Tencent),
};

struct Tencent;

impl LineParser for Tencent {
    #[inline]
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let mut columns = Commas::new(line);
        let time = time(columns.column()?, SECOND)?;
        let offset = scaled(columns.column()?, 512, "offset (column 2) is not a sector number")?;
        let size = scaled(columns.column()?, 512, "size (column 3) is not a number of sectors")?;
        let kind = match columns.column()? {
            b"0" => RequestKind::Read,
            b"1" => RequestKind::Write,
            _ => return Err(Bad("io_type (column 4) is not 0 or 1")),
        };
        let volume = device(columns.column()?)?;
        if columns.next().is_some() {
            return Err(Bad("more than 5 columns"));
        }
        sink.data(kind, time, volume, offset, size, false)
    }
}
