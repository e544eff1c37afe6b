//! How a drive is opened: what it refuses, and the restart from an image.

use std::path::Path;

use base::{Instant, Lpn};
use config::Config;
use config::model::Precondition;
use files::Interrupt;
use nand::{Extras, Image, StoreKind};

use super::cache::{BufferBytes, SECTOR};
use super::cost::RestartCost;
use super::protected::{self, MAX_SECTORS, Protected, SlotFound};
use super::trims::Trims;
use super::{Drive, DriveError, checkpoint, losses};
use crate::device::{Device, policies};
use crate::errors::{Refusal, RunError};
use crate::promises::deallocated_byte;
use crate::watch::Watch;
use crate::{buffer, end_of_life, flash, foresight, gang, lives, precondition, watchdog};

/// Refuses devices that cannot be drives of real bytes.
///
/// # Errors
/// The [`Refusal`].
pub fn check(config: &Config) -> Result<(), Refusal> {
    foresight::check_drive(config)?;
    let separation = config.ftl.get("separation");
    if ftl::separation::is_by_hints(separation) {
        return Err(Refusal {
            key: "ftl.separation",
            message: format!(
                "`{}` places pages by hints of their writes, and what comes to a drive of real bytes has none",
                separation.name
            ),
            help: "set `ftl.separation = \"sepbit\"`, which needs no hints, or the executor `timed` or `count`".into(),
        });
    }
    if config.ftl.get("mapping").name == "fast" {
        return Err(Refusal {
            key: "ftl.mapping",
            message: "hybrid mapping leaves no spare areas from which a restart finds its pages, and a drive of real bytes restarts \
                      whenever its image is opened"
                .into(),
            help: "set `ftl.mapping` to `page` or `dftl`".into(),
        });
    }
    if let Some(&key) = ftl::TAKE_OWN.iter().find(|key| config.ftl.get(key).own.is_some()) {
        return Err(Refusal {
            key: if key == "victim" { "ftl.victim" } else { "ftl.allocation" },
            message: "a drive is served by threads, and a policy of your own runs in the interpreter".into(),
            help: "use one of the policies that are built in".into(),
        });
    }
    let (page, capacity) = (gang::page_size(config), config.device.user_capacity);
    if slots(config) > 0 && page / SECTOR > MAX_SECTORS {
        return Err(Refusal {
            key: "ftl.write_buffer",
            message: format!(
                "a protected write buffer of a drive has pages of at most {}",
                config::print_size(MAX_SECTORS * SECTOR)
            ),
            help: "set `power_loss = \"volatile\"`, or put fewer planes or channels in step".into(),
        });
    }
    if slots(config) > 0 && lives::are_limited(config) && policies(config).program.slots > 1 {
        return Err(Refusal {
            key: "device.bad_blocks",
            message: "pages that left a protected write buffer, and wait to be programmed with others, find no room in it again when \
                      too many blocks have failed"
                .into(),
            help: "set `power_loss = \"volatile\"`, or have pages of one map unit programmed one by one".into(),
        });
    }
    if !page.is_multiple_of(SECTOR) {
        return Err(Refusal {
            key: "device.page_size",
            message: format!("pages of {page} bytes are not made of sectors of 512"),
            help: "use a multiple of 512".into(),
        });
    }
    let own = Trims::own_pages(capacity / page, page) * page;
    let largest = ftl::largest_user_pages(&gang::geometry(config), &policies(config)) * page;
    if capacity + own > largest {
        let size = config::print_size;
        return Err(Refusal {
            key: "device.user_capacity",
            message: format!(
                "a drive keeps what was discarded in {} of its own, and only {} are left",
                size(own),
                size(largest - capacity)
            ),
            help: format!("use at most {}", size(largest.saturating_sub(own) / page * page)),
        });
    }
    Ok(())
}

/// Slots of the image for a write buffer that outlives the power.
pub(crate) fn slots(config: &Config) -> u32 {
    let buffer = config.ftl.get("write_buffer");
    if !buffer::is_protected(buffer) {
        return 0;
    }
    let page = gang::page_size(config);
    // All pages of a unit, of which the first and the last may be there in part, and one slot more.
    let of_unit = buffer::largest_unit(buffer).map_or(0, |unit| unit.div_ceil(page) + 2);
    protected::slots(buffer.size("size") / page, of_unit)
}

/// The parts of the image beside its blocks.
pub(crate) fn extras(config: &Config) -> Extras {
    Extras { slots: slots(config), losses: losses::most(config) }
}

/// Bytes of the disk that a write needs at most, before collections give some back, and those of them that one page does.
fn reserve(config: &Config) -> (u64, u64) {
    let geometry = gang::geometry(config);
    let page = gang::page_size(config);
    // A collection has a unit of copies at most before it erases one, and what it writes beside them is far less than another.
    let unit = u64::from(geometry.unit_width) * u64::from(geometry.pages_per_block) * u64::from(geometry.page_size);
    let of_page = 2 * unit + 16 * page;
    let buffer = config.ftl.get("write_buffer");
    (of_page + if buffer.name == "none" { 0 } else { 2 * buffer.size("size") }, of_page)
}

/// The text that has to be the same whenever an image is opened: the device and its FTL.
fn identity(config: &Config) -> String {
    let mut is_part = false;
    let mut lines = Vec::new();
    for line in config::to_toml(config).lines() {
        if line.starts_with('[') {
            is_part = line.starts_with("[device") || line.starts_with("[ftl");
        }
        if is_part && !line.is_empty() {
            lines.push(line.to_owned());
        }
    }
    if lives::are_limited(config) {
        // Blocks fail by it.
        lines.push(format!("seed = {}", config.run.seed));
    }
    lines.join("\n")
}

impl Drive {
    /// Opens the drive of an image, or makes a pristine one where there is no file. With `is_read_only` nothing is written to it: what
    /// the restart does is done in memory.
    ///
    /// # Errors
    /// [`RunError`]; its text is for the user.
    pub fn open(config: &Config, image: &Path, is_read_only: bool) -> Result<Drive, RunError> {
        let input = |error: &dyn std::fmt::Display| RunError::Input(error.to_string());
        check(config).map_err(|refusal| input(&refusal))?;
        let geometry = gang::geometry(config);
        let shape = flash::shape(&geometry, &config.device);
        let opened = Image::open(image, &shape, geometry.page_size, extras(config), &identity(config), !is_read_only);
        let opened = opened.map_err(|error| input(&error))?;
        // What a scan and refreshes change is changed in a copy in memory; a checkpoint changes nothing.
        let is_changed = config.device.wear.read_limit.is_some() || opened.checkpoint().is_none();
        let opened = if is_read_only && is_changed { opened.clone() } else { opened };
        let mut drive = Drive::over(config, opened).map_err(|error| match error {
            RunError::Input(found) => RunError::Input(format!(
                "the image {} is damaged: {found}\nhint: restore it from a copy, or remove it so that a new image is made",
                image.display()
            )),
            error => error,
        })?;
        drive.is_read_only = is_read_only;
        Ok(drive)
    }

    /// A pristine drive whose image lies in memory.
    ///
    /// # Errors
    /// As [`Drive::open`].
    pub fn in_memory(config: &Config) -> Result<Drive, RunError> {
        check(config).map_err(|refusal| RunError::Input(refusal.to_string()))?;
        let geometry = gang::geometry(config);
        let shape = flash::shape(&geometry, &config.device);
        Drive::over(config, Image::in_memory(&shape, geometry.page_size, extras(config)))
    }

    /// The drive of an image, after a restart.
    ///
    /// # Errors
    /// [`RunError::Input`] for what cannot be in its image; no memory.
    pub fn over(config: &Config, image: Image) -> Result<Drive, RunError> {
        Drive::over_until(config, image, None)
    }

    /// The drive of an image, after a restart in which the power may go off again: at the operation of that number, or
    /// just before it. A restart of fewer operations is not cut.
    ///
    /// # Errors
    /// As [`Drive::over`].
    pub fn over_until(config: &Config, image: Image, cut: Option<(u64, bool)>) -> Result<Drive, RunError> {
        let stopwatch = metrics::Stopwatch::start();
        let page_size = gang::page_size(config);
        let pages = config.device.user_capacity / page_size;
        let own = Trims::own_pages(pages, page_size);
        let mut device = Device::storing(config, false, StoreKind::Bytes, own)?;
        let checkpoint = match checkpoint::restart(&mut device, config, image) {
            Ok(found) => Some(found),
            Err(image) => {
                device.flash.attach(*image).map_err(RunError::Input)?;
                device.flash.mark_factory_bad();
                None
            }
        };
        device.flash.nand_mut().image_mut().expect("it was attached").forget_checkpoint();
        let buffer = buffer::build(config, &mut device).map(Box::new);
        let mut drive = Drive {
            config: config.clone(),
            device,
            buffer,
            cache: BufferBytes::new(page_size, deallocated_byte(config)),
            deallocated: deallocated_byte(config),
            protected: None,
            trims: Trims::new(pages as u32, page_size),
            pages: pages as u32,
            losses_seen: 0,
            reserve: reserve(config),
            restart: RestartCost::default(),
            end: None,
            now: Instant::ZERO,
            is_read_only: false,
        };
        let (at, during) = cut.unwrap_or((u64::MAX, false));
        drive.cut_after(at, during);
        match checkpoint {
            Some(found) => drive.restart = found,
            None if drive.device.flash.nand().is_pristine() => {}
            None => drive.find_all()?,
        }
        drive.find_discards(checkpoint.is_none())?;
        if checkpoint.is_none() {
            drive.find_losses()?;
        }
        if slots(config) > 0 && !drive.device.flash.is_off() {
            drive.find_buffer()?;
        }
        drive.restart.wall_s = stopwatch.usage().wall_s;
        Ok(drive)
    }

    /// Opens the drive anew after a power cut; otherwise as [`Drive::over_until`]. After an error it has no image, and is of no use.
    ///
    /// # Errors
    /// As [`Drive::over`].
    pub fn reopen(&mut self, cut: Option<(u64, bool)>) -> Result<(), RunError> {
        let image = self.device.flash.nand_mut().detach().expect("a drive stores bytes");
        *self = Drive::over_until(&self.config, image, cut)?;
        Ok(())
    }

    /// Ages a new drive: as its configuration says, or with every page written once and twice its size at random. Pages hold zeros then,
    /// which take no room on the disk.
    ///
    /// # Errors
    /// A drive that is not new; one that comes to the end of its life by it; an interrupt.
    pub fn age(&mut self, interrupt: &Interrupt) -> Result<(), RunError> {
        if !self.is_new() {
            return Err(RunError::Input(
                "only a new drive is aged, and this image has been written\nhint: leave out `--aged`, or name another image".into(),
            ));
        }
        let mut config = self.config.clone();
        if config.run.precondition == Precondition::None {
            config.run.precondition = Precondition::Random { volume: 2 * config.device.user_capacity };
        }
        let mut watch = Watch::new(None, interrupt.clone());
        watchdog::caught(self, |drive| precondition::age(drive.as_mut(), &config, &mut watch))?;
        end_of_life::check_aged(&self.device)?;
        self.is_up().map_err(|error| RunError::Failed(error.to_string()))
    }

    /// Finds everything again.
    fn find_all(&mut self) -> Result<(), RunError> {
        let restarted = self.device.restart(&self.config)?;
        self.restart = RestartCost {
            pages_read: restarted.pages_read,
            erased_units: restarted.erased,
            rescued_pages: restarted.rescued,
            array_s: restarted.array_s,
            ..RestartCost::default()
        };
        Ok(())
    }

    /// Reads the numbers of discards. Where the array was scanned, pages that are older are forgotten.
    fn find_discards(&mut self, forgets: bool) -> Result<(), RunError> {
        let mut page = vec![0; self.page_size() as usize];
        for own in 0..Trims::own_pages(self.pages.into(), self.page_size()) as u32 {
            if self.device.flash.is_off() {
                return Ok(());
            }
            let lpn = Lpn(self.pages + own);
            if self.device.ftl.lookup(lpn).is_err() {
                continue;
            }
            self.read_page(lpn, &mut page, 1, &mut std::collections::BTreeSet::new())
                .map_err(|error| RunError::Input(error.to_string()))?;
            if self.device.flash.is_off() {
                return Ok(());
            }
            for (lpn, number) in self.trims.adopt(own, &page) {
                if forgets {
                    self.restart.discarded_pages += u64::from(self.forget_if_older(lpn, number));
                }
            }
        }
        Ok(())
    }

    /// Puts back the content that the write buffer had when the power went off.
    fn find_buffer(&mut self) -> Result<(), RunError> {
        let pages = self.pages;
        let (protected, found) = Protected::find(self.image_mut(), pages).map_err(RunError::Input)?;
        self.protected = Some(protected);
        self.restart.buffered_pages = found.len() as u64;
        for slot in found {
            match self.adopt_slot(&slot) {
                Ok(()) => {}
                // The rest is for the next restart.
                Err(DriveError::PowerCut) => return Ok(()),
                Err(error) => return Err(RunError::Input(error.to_string())),
            }
        }
        Ok(())
    }

    fn adopt_slot(&mut self, found: &SlotFound) -> Result<(), DriveError> {
        let (lpn, page_size) = (found.lpn, self.page_size());
        let Some(is_written) = &found.is_written else {
            if let Some(page) = self.buffer.as_deref().and_then(|buffer| buffer.find_open(lpn)) {
                // An older version, which waited for its wordline beside the one that was discarded.
                let buffer = self.buffer.as_deref_mut().expect("only a buffer has slots");
                let age = buffer.age();
                buffer::drop_page(&mut self.device, buffer, page, age);
                self.cache.end(page);
                self.with_slots(|protected, image| protected.drop_page(image, page));
            }
            if self.device.ftl.lookup(lpn) != Err(ftl::Nowhere::Unwritten) {
                self.trims.add(lpn);
                self.with_slots(|protected, _| protected.adopt_discard(lpn, found.slot));
            } else {
                self.with_slots(|protected, image| protected.give_back(image, found.slot));
            }
            return Ok(());
        };
        let buffer = self.buffer.as_deref().expect("only a buffer has slots");
        let open = buffer.find_open(lpn);
        while open.is_none() && self.buffer.as_deref().is_some_and(|buffer| buffer.room() == 0) {
            self.evict_oldest()?;
        }
        let over_discard = self.trims.write(lpn);
        let is_whole = over_discard || is_written.iter().all(|&is| is);
        let buffer = self.buffer.as_deref_mut().expect("only a buffer has slots");
        let mut page = open;
        for (sector, _) in (0..).zip(is_written).filter(|(_, is)| **is) {
            let from = sector * SECTOR;
            let written = buffer.pieces.written(lpn, !is_whole, u64::from(lpn.0) * page_size + from, SECTOR, 0);
            let age = buffer.age();
            let slot = buffer::accept(&mut self.device, buffer, lpn, written, age);
            if page.is_none() {
                self.cache.begin(slot, over_discard);
            }
            page = Some(slot);
            let (from, to) = (from as usize, (from + SECTOR) as usize);
            self.cache.write(slot, from, to, Some(&found.bytes()[from..to]));
        }
        let Some(page) = page else { return Ok(()) };
        if open.is_some() {
            // Both are in the slot of the older one now.
            let image = self.device.flash.nand_mut().image_mut().expect("a drive stores bytes");
            let protected = self.protected.as_mut().expect("it was found");
            protected.keep_as(found.number, image, page, lpn, &self.cache);
            self.with_slots(|protected, image| protected.give_back(image, found.slot));
        } else {
            self.with_slots(|protected, _| protected.own(page, found.slot));
        }
        Ok(())
    }

    pub(super) fn with_slots(&mut self, does: impl FnOnce(&mut Protected, &mut Image)) {
        let image = self.device.flash.nand_mut().image_mut().expect("a drive stores bytes");
        does(self.protected.as_mut().expect("it was found"), image);
    }

    /// Forgets a page that was discarded after its last write. Returns whether it was.
    fn forget_if_older(&mut self, lpn: Lpn, discarded: u64) -> bool {
        let Ok(ppn) = self.device.ftl.lookup(lpn) else { return true };
        let is_older = ftl::write_of(self.device.flash.waiting(ppn).spare).is_some_and(|write| write <= discarded);
        if is_older {
            self.device.trim(lpn);
        }
        is_older
    }
}
