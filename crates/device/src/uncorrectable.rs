//! Pages with more errors than can be corrected fail the run.

use base::{Block, Page};
use nand::Disturbed;

use crate::device::Device;
use crate::errors::RunError;

/// Fails where a page was read whose errors cannot be corrected.
pub(crate) fn check_reads(device: &Device) -> Result<(), RunError> {
    let nand = device.flash.nand();
    if let Some(error) = nand.uncorrectable() {
        return Err(RunError::Failed(uncorrectable(error.block, error.page, error.error)));
    }
    nand.disturbed().map_or(Ok(()), |page| Err(RunError::Failed(disturbed(device, page))))
}

/// Fails where a page that holds data, and a stamp to prove it, would be read so.
pub(crate) fn check_data(device: &Device) -> Result<(), RunError> {
    check_reads(device)?;
    if device.oracle.is_none() {
        return Ok(());
    }
    let (ftl, nand, geometry) = (&device.ftl, device.flash.nand(), device.flash.geometry());
    let places = (0..device.has.user_pages).flat_map(|lpn| ftl.lookup(base::Lpn(lpn))).map(|ppn| geometry.place(ppn));
    let error = |block, page| nand.errors_of(block, page);
    match places.into_iter().find(|place| error(place.block, place.page) > base::ECC_LIMIT) {
        Some(place) => Err(RunError::Failed(uncorrectable(place.block, place.page, error(place.block, place.page)))),
        None => Ok(()),
    }
}

fn uncorrectable(block: Block, page: Page, error: u32) -> String {
    format!(
        "uncorrectable error: page {page} of block {block} has {:.2} times the errors that ECC corrects, after copybacks without \
         correction\nhint: use a restricted `ftl.migration`, such as `rcpb`",
        f64::from(error) / f64::from(base::ECC_LIMIT)
    )
}

fn disturbed(device: &Device, Disturbed { block, page, reads, limit }: Disturbed) -> String {
    let density = if device.flash.nand().has_guard_levels(block, page) { "low" } else { "full" };
    format!(
        "uncorrectable error: page {page} of block {block} was read after {reads} reads of its block, and takes {limit} at {density} \
         density (`device.wear.read_limit`)\nhint: refresh blocks before that, `ftl.read_disturb` = \"refresh\"; or let reads \
         disturb nothing, `device.wear.read_limit` = \"none\""
    )
}
