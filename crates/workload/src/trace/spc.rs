//! UMass / SPC: `ASU,LBA,size,opcode,timestamp[,…]`, LBA in blocks of 512 bytes, size in bytes, time in
//! seconds.

use base::RequestKind;

use super::fields::{Commas, SECOND, device, integer, scaled, time};
use super::parser::{Bad, Format, Layout, LineParser, Sink, WINDOW_SMALL};

pub(super) const FORMAT: Format = Format {
    name: "spc",
    doc: "UMass / SPC-1 trace: ASU,LBA (512 B),size (B),opcode (R|W),timestamp (s)[,…]",
    expected: "`ASU,LBA,size,R|W,timestamp[,…]`",
    window: WINDOW_SMALL,
    layout: Layout::Headed,
    detect: |sample| sample.percent(|line| Spc.line(line, &mut Sink::new(None)).is_ok()),
    parser: |_| Box::new(Spc),
};

struct Spc;

impl LineParser for Spc {
    #[inline]
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let mut columns = Commas::new(line);
        let asu = device(columns.column()?)?;
        let offset = scaled(columns.column()?, 512, "LBA (column 2) is not a block number")?;
        let size = integer(columns.column()?).ok_or(Bad("size (column 3) is not a whole number"))?;
        let kind = match columns.column()? {
            b"R" | b"r" => RequestKind::Read,
            b"W" | b"w" => RequestKind::Write,
            _ => return Err(Bad("opcode (column 4) is not R or W")),
        };
        let time = time(columns.column()?, SECOND)?;
        sink.data(kind, time, asu, offset, size, false)
    }
}
