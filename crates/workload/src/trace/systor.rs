//! SYSTOR '17 (Lee et al., enterprise storage of a virtual desktop infrastructure): `timestamp,response,type,LUN,offset,size`,
//! seconds and bytes.

use base::RequestKind;

use super::fields::{Commas, SECOND, device, integer, time};
use super::parser::{Bad, Format, Layout, LineParser, Sink, WINDOW_LARGE};

pub(super) const FORMAT: Format = Format {
    name: "systor",
    doc: "SYSTOR '17 VDI trace: timestamp (s),response (s),type (R|W),LUN,offset (B),size (B)",
    expected: "`timestamp,response,R|W,LUN,offset,size`",
    // Several LUNs in a file.
    window: WINDOW_LARGE,
    layout: Layout::Headed,
    detect: |sample| sample.percent(|line| Systor.line(line, &mut Sink::new(None)).is_ok()),
    parser: |_| Box::new(Systor),
};

struct Systor;

impl LineParser for Systor {
    #[inline]
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let mut columns = Commas::new(line);
        let at = time(columns.column()?, SECOND)?;
        let response = columns.column()?;
        if !response.is_empty() {
            time(response, SECOND).map_err(|_| Bad("response (column 2) is not a number of seconds"))?;
        }
        let kind = match columns.column()? {
            b"R" => Some(RequestKind::Read),
            b"W" => Some(RequestKind::Write),
            // Requests of other types, which the collection leaves unnamed.
            b"" => None,
            _ => return Err(Bad("type (column 3) is not R or W")),
        };
        let lun = device(columns.column()?)?;
        let offset = integer(columns.column()?).ok_or(Bad("offset (column 5) is not a whole number"))?;
        let size = integer(columns.column()?).ok_or(Bad("size (column 6) is not a whole number"))?;
        if columns.next().is_some() {
            return Err(Bad("more than 6 columns"));
        }
        match kind {
            Some(kind) => sink.data(kind, at, lun, offset, size, false),
            None => {
                sink.other();
                Ok(())
            }
        }
    }
}
