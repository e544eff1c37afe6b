//! CloudPhysics vscsiStats as CSV: `version,time,op,size,lbn`; microseconds, the SCSI operation code in
//! hexadecimal, bytes, and blocks of 512 bytes.

use base::RequestKind;

use super::fields::{Commas, MICROSECOND, hexadecimal, integer, scaled, time};
use super::parser::{Bad, Format, LineParser, Sink, WINDOW_SMALL};

pub(super) const FORMAT: Format = Format {
    name: "vscsi",
    doc: "CloudPhysics vscsi CSV: version,time (us),op (SCSI, hex),size (B),lbn (512 B)",
    expected: "`version,time,op,size,lbn` with op a SCSI operation code in hexadecimal",
    window: WINDOW_SMALL,
    header: true,
    detect: |sample| sample.percent(detects),
    parser: |_| Box::new(Vscsi),
};

struct Vscsi;

enum VscsiOp {
    Data(RequestKind),
    Flush,
    Other,
}

/// By SCSI operation code (SBC-4): the 6, 10, 12 and 16 byte forms.
fn op(code: u64) -> Option<VscsiOp> {
    match code {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(VscsiOp::Data(RequestKind::Read)),
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Some(VscsiOp::Data(RequestKind::Write)),
        0x35 | 0x91 => Some(VscsiOp::Flush),
        0x00..=0xff => Some(VscsiOp::Other),
        _ => None,
    }
}

/// The version is a small number, and the operation one that moves data.
fn detects(line: &[u8]) -> bool {
    let mut columns = Commas::new(line);
    let version = columns.next().and_then(integer).is_some_and(|version| version < 10);
    let moves = matches!(columns.nth(1).and_then(hexadecimal).and_then(op), Some(VscsiOp::Data(_)));
    version && moves && Vscsi.line(line, &mut Sink::new(None)).is_ok()
}

impl LineParser for Vscsi {
    #[inline]
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let mut columns = Commas::new(line);
        integer(columns.column()?).ok_or(Bad("version (column 1) is not a whole number"))?;
        let time = time(columns.column()?, MICROSECOND)?;
        let code = hexadecimal(columns.column()?).and_then(op);
        let code = code.ok_or(Bad("op (column 3) is not a SCSI operation code"))?;
        let size = integer(columns.column()?).ok_or(Bad("size (column 4) is not a whole number"))?;
        let offset = scaled(columns.column()?, 512, "lbn (column 5) is not a block number")?;
        if columns.next().is_some() {
            return Err(Bad("more than 5 columns"));
        }
        match code {
            VscsiOp::Data(kind) => return sink.data(kind, time, 0, offset, size, false),
            VscsiOp::Flush => sink.flush(time, 0),
            VscsiOp::Other => sink.other(),
        }
        Ok(())
    }
}
