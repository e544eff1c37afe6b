//! The checkpoint of a drive: what a clean stop writes, so that the next start need not scan the array. It is what a state file has, with
//! the numbers that spare areas carry.
//!
//! A controller keeps it in flash. Here it lies behind the pages of the image, and its reads are counted as those of so many pages.

use std::io;

use config::Config;
use ftl::{PageMapping, Saved};
use nand::Image;

use super::cost::RestartCost;
use crate::device::{Device, policies};
use crate::errors::RunError;
use crate::state::{self, StateShape};

/// The checkpoint of a device in which nothing is in flight.
pub(super) fn of(device: &Device, pages: PageMapping) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let saved = pages.save(&device.ftl);
    state::write(&mut bytes, &saved.numbers)?;
    state::write(&mut bytes, &saved)?;
    state::write(&mut bytes, &device.flash.nand().save())?;
    Ok(bytes)
}

/// Has a pristine device that stores nothing take over what another has, but for the bytes.
pub(super) fn copy(from: &Device, to: &mut Device, config: &Config) -> Result<(), RunError> {
    let (Some(of), Some(pages)) = (from.has.pages, to.has.pages) else { unreachable!("drives map pages") };
    let failed = |why: &str| RunError::Failed(format!("the state of the drive cannot be taken over: {why}"));
    let bytes = self::of(from, of).map_err(|error| failed(&error.to_string()))?;
    let mut input = &bytes[..];
    let shape = StateShape::of(to, config);
    let numbers = state::read_message::<(u64, u64)>(&mut input, 2 * 10, 0);
    let parts = numbers.and_then(|_| state::read_parts(&mut input, &shape));
    let (saved, array) = parts.ok_or_else(|| failed("it is of another shape"))?;
    pages
        .restore(&mut to.ftl, || Ok::<_, ftl::OutOfMemory>(saved), &policies(config), config.run.seed)?
        .map_err(|why| failed(&why))?;
    to.flash.nand_mut().restore(array).map_err(failed)?;
    to.flash.begin_passes();
    to.fill_up_parts();
    Ok(())
}

/// Has a pristine device take over an image and its checkpoint. Returns the cost of it and the number of the newest write,
/// or the image where that cannot be.
pub(super) fn restart(device: &mut Device, config: &Config, image: Image) -> Result<(RestartCost, u64), Box<Image>> {
    let (Some(bytes), Some(pages)) = (image.checkpoint(), device.has.pages) else { return Err(Box::new(image)) };
    let mut input = &bytes[..];
    let shape = StateShape::of(device, config);
    let numbers = state::read_message::<(u64, u64)>(&mut input, 2 * 10, 0);
    let parts = numbers.and_then(|numbers| Some((numbers, state::read_parts(&mut input, &shape)?)));
    let Some((numbers, (saved, array))) = parts else { return Err(Box::new(image)) };
    device.flash.attach_saved(image, array)?;
    let saved = || Ok::<_, ftl::OutOfMemory>(Saved { numbers, ..saved });
    let restored = pages.restore(&mut device.ftl, saved, &policies(config), config.run.seed);
    if !matches!(restored, Ok(Ok(()))) {
        return Err(Box::new(device.flash.nand_mut().detach().expect("it was attached")));
    }
    let geometry = device.flash.geometry();
    let pages_read = (bytes.len() as u64).div_ceil(u64::from(config.device.page_size));
    let read = config.device.timing.read.iter().map(|time| time.ns()).max().unwrap_or(0);
    // Over all planes, whose reads go side by side where the chips can.
    let at_once = if config.device.multiplane == base::Multiplane::Off { geometry.dies() } else { geometry.planes() };
    let array_s = (pages_read.div_ceil(u64::from(at_once)) * read) as f64 * 1e-9;
    Ok((RestartCost { from_checkpoint: true, pages_read, array_s, ..RestartCost::default() }, numbers.0))
}
