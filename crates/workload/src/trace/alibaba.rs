//! Alibaba block traces: `device_id,opcode,offset,length,timestamp`, bytes and microseconds.

use base::RequestKind;

use super::fields::{Commas, MICROSECOND, device, integer, time};
use super::parser::{Bad, Format, Layout, LineParser, Sink, WINDOW_SMALL};

pub(super) const FORMAT: Format = Format {
    name: "alibaba",
    doc: "Alibaba Cloud block trace: device_id,opcode (R|W),offset (B),length (B),timestamp (us)",
    expected: "`device_id,R|W,offset,length,timestamp`",
    window: WINDOW_SMALL,
    layout: Layout::Headed,
    detect: |sample| sample.percent(|line| Alibaba.line(line, &mut Sink::new(None)).is_ok()),
    parser: |_| Box::new(Alibaba),
};

struct Alibaba;

impl LineParser for Alibaba {
    #[inline]
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let mut columns = Commas::new(line);
        let volume = device(columns.column()?)?;
        let kind = match columns.column()? {
            b"R" | b"r" => RequestKind::Read,
            b"W" | b"w" => RequestKind::Write,
            _ => return Err(Bad("opcode (column 2) is not R or W")),
        };
        let offset = integer(columns.column()?).ok_or(Bad("offset (column 3) is not a whole number"))?;
        let size = integer(columns.column()?).ok_or(Bad("length (column 4) is not a whole number"))?;
        let time = time(columns.column()?, MICROSECOND)?;
        sink.data(kind, time, volume, offset, size, false)
    }
}
