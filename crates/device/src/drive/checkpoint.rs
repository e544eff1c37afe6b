//! The checkpoint of a drive: what a clean stop writes, so that the next start need not scan the array. It is what a state file has, with
//! the numbers that spare areas carry.
//!
//! A controller keeps it in flash. Here it lies behind the pages of the image, and its reads are counted as those of so many pages.

use std::io::{self, Read, Write};

use config::Config;
use ftl::{PageMapping, Saved};
use nand::Image;

use super::cost::RestartCost;
use crate::device::{Device, policies};
use crate::errors::RunError;
use crate::state::{self, StateShape};

/// How much it is compressed: little, for a drive is soon opened and soon closed.
const LEVEL: i32 = 1;

/// Writes the checkpoint of a device in which nothing is in flight.
fn write(mut out: impl Write, device: &Device, pages: PageMapping) -> io::Result<()> {
    let saved = pages.save(&device.ftl);
    state::write(&mut out, &saved.numbers)?;
    state::write(&mut out, &saved)?;
    state::write(&mut out, &device.flash.nand().save())
}

/// Keeps the checkpoint of a drive in its image.
pub(super) fn keep(device: &mut Device, pages: PageMapping) -> io::Result<()> {
    // It is a part of the device, and is left out of what is written there.
    let mut image = device.flash.nand_mut().detach().expect("a drive stores bytes");
    let kept = image.keep_checkpoint(|out| {
        let mut compressed = zstd::Encoder::new(out, LEVEL)?;
        write(&mut compressed, device, pages)?;
        compressed.finish().map(drop)
    });
    device.flash.nand_mut().put_back(image);
    kept
}

/// Has a pristine device that stores nothing take over what another has, but for the bytes.
pub(super) fn copy(from: &Device, to: &mut Device, config: &Config) -> Result<(), RunError> {
    let (Some(of), Some(pages)) = (from.has.pages, to.has.pages) else { unreachable!("drives map pages") };
    let failed = |why: &str| RunError::Failed(format!("the state of the drive cannot be taken over: {why}"));
    let mut bytes = Vec::new();
    write(&mut bytes, from, of).map_err(|error| failed(&error.to_string()))?;
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

/// The numbers, the FTL and the array of a checkpoint, if there is one.
fn read(image: &Image, shape: &StateShape) -> Option<((u64, u64), (Saved<'static>, nand::SavedArray))> {
    let mut input = zstd::Decoder::new(image.checkpoint()?).ok()?;
    let numbers = state::read_message::<(u64, u64)>(&mut input, 2 * 10, 0)?;
    let parts = state::read_parts(&mut input, shape)?;
    // It ends where the array does.
    (input.read(&mut [0]).ok()? == 0).then_some((numbers, parts))
}

/// Has a pristine device take over an image and its checkpoint. Returns the cost of it, or the image where that cannot be.
pub(super) fn restart(device: &mut Device, config: &Config, image: Image) -> Result<RestartCost, Box<Image>> {
    let Some(pages) = device.has.pages else { return Err(Box::new(image)) };
    let shape = StateShape::of(device, config);
    let (parts, length) = (read(&image, &shape), image.checkpoint_length());
    let Some((numbers, (saved, array))) = parts else { return Err(Box::new(image)) };
    device.flash.attach_saved(image, array)?;
    let saved = || Ok::<_, ftl::OutOfMemory>(Saved { numbers, ..saved });
    let restored = pages.restore(&mut device.ftl, saved, &policies(config), config.run.seed);
    if !matches!(restored, Ok(Ok(()))) {
        return Err(Box::new(device.flash.nand_mut().detach().expect("it was attached")));
    }
    let geometry = device.flash.geometry();
    let pages_read = length.div_ceil(u64::from(config.device.page_size));
    let read = config.device.timing.read.iter().map(|time| time.ns()).max().unwrap_or(0);
    // Over all planes, whose reads go side by side where the chips can.
    let at_once = if config.device.multiplane == base::Multiplane::Off { geometry.dies() } else { geometry.planes() };
    let array_s = (pages_read.div_ceil(u64::from(at_once)) * read) as f64 * 1e-9;
    Ok(RestartCost { from_checkpoint: true, pages_read, array_s, ..RestartCost::default() })
}
