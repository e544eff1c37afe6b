//! The executor of real bytes: a drive that a host writes and reads, whose data lie at physical pages of an image.
//!
//! The FTL, its mechanisms and the array are those of the executor without time; an operation of the array is one on the image. When a
//! drive is opened it knows nothing but the image, and finds everything by the FTL's own recovery: a drive that was closed, a process
//! that was killed and a power cut are the same to it.
//!
//! Writes lie in the write buffer, in memory, until it is full or a flush comes; without a buffer they are programmed at once. A write of
//! part of a page reads the old version of it and merges both. Discards are in `trims.rs`.

mod cache;
mod checkpoint;
mod cost;
pub(crate) mod executor;
mod losses;
pub mod open;
pub mod pace;
mod protected;
mod trims;

use std::collections::BTreeSet;

use base::scope::{Area, Scope};
use base::{Instant, Lpn, Ppn, RequestKind};
use config::Config;

use crate::buffer::{self, Buffer};
use crate::device::Device;
use crate::flash::{Content, Fault};
use crate::pages::{Share, Span};
use crate::promises;
pub use cache::SECTOR;
use cache::{BufferBytes, put};
pub use cost::RestartCost;
use protected::Protected;
use trims::Trims;

/// Why a request was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriveError {
    /// Data cannot be read, and no other data are given in their place.
    #[error("page {lpn} cannot be read: {why}")]
    Unreadable {
        /// The logical page.
        lpn: u32,
        /// The fate of its data.
        why: &'static str,
    },
    /// The disk of the image is full. Nothing was begun, and it goes on when there is room.
    #[error("no space is left on the disk of the image")]
    NoSpace,
    /// The image cannot be written for another reason.
    #[error("the image cannot be written: {0}")]
    Image(String),
    /// The power is off.
    #[error("the power is off")]
    PowerCut,
    /// Too many blocks have failed for further pages to find room. Data that were written before can be read.
    #[error("the drive has come to the end of its life, and takes no more writes")]
    EndOfLife,
    /// The drive was opened for reading.
    #[error("the drive is read-only")]
    ReadOnly,
}

/// A drive.
#[derive(Clone)]
pub struct Drive {
    config: Config,
    device: Device,
    buffer: Option<Box<Buffer>>,
    cache: BufferBytes,
    /// The byte that fills what was never written, or was discarded.
    deallocated: u8,
    /// Where the buffer outlives the power.
    protected: Option<Protected>,
    trims: Trims,
    /// Pages of the host.
    pages: u32,
    /// Pages that failed programs took along, as far as they were looked at.
    losses_seen: u64,
    /// Bytes of the disk that a write needs at most, and those of them that one page of the buffer does.
    reserve: (u64, u64),
    restart: RestartCost,
    /// Set once: no request is carried out any more.
    end: Option<DriveError>,
    is_read_only: bool,
    /// The time of the host, where its requests have one.
    now: Instant,
}

/// The part of a page that a request covers.
struct PagePart {
    lpn: Lpn,
    /// Bytes of the page.
    from: usize,
    to: usize,
    /// Where they are in the request's data.
    at: usize,
}

impl AsMut<Device> for Drive {
    fn as_mut(&mut self) -> &mut Device {
        &mut self.device
    }
}

impl AsRef<Device> for Drive {
    fn as_ref(&self) -> &Device {
        &self.device
    }
}

impl Drive {
    /// Bytes that the host may address.
    pub fn size(&self) -> u64 {
        u64::from(self.pages) * self.page_size()
    }

    /// Bytes of a page.
    pub fn page_size(&self) -> u64 {
        self.device.page_size.bytes()
    }

    /// A write of at most so many bytes is after a power cut wholly there or not at all. One of at most a page is that if it crosses no
    /// border of pages.
    pub fn atomic_size(&self) -> u64 {
        promises::atomic_size(&self.config)
    }

    /// The byte that sectors are full of which were discarded, or never written.
    pub fn deallocated(&self) -> u8 {
        self.deallocated
    }

    /// True if the drive takes no writes.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// True if so many blocks have failed that it takes no writes any more.
    pub fn has_ended(&self) -> bool {
        self.device.is_read_only()
    }

    /// The cost of the restart when it was opened.
    pub fn restart(&self) -> RestartCost {
        self.restart
    }

    /// True if no block of it was programmed yet.
    pub fn is_new(&self) -> bool {
        self.device.flash.nand().is_pristine()
    }

    /// True if a page holds data of the host; else it reads as deallocated ones do.
    pub fn stores(&self, page: u32) -> bool {
        let lpn = Lpn(page);
        self.buffer.as_deref().is_some_and(|buffer| buffer.find(lpn).is_some())
            || !self.trims.is_pending(lpn) && self.device.ftl.lookup(lpn) != Err(ftl::Nowhere::Unwritten)
    }

    /// Pages programmed for each page that the host wrote; nothing before the first one.
    pub fn write_amplification(&self) -> Option<f64> {
        self.device.recorder.counters.waf(self.page_size())
    }

    /// Good blocks in which nothing is programmed.
    pub fn free_blocks(&self) -> u64 {
        let blocks = self.device.flash.nand().blocks();
        blocks.iter().filter(|block| block.next_page == 0 && !block.is_bad()).count() as u64
    }

    /// Blocks erased since the drive was opened.
    pub fn erases(&self) -> u64 {
        self.device.recorder.counters.block_erases()
    }

    /// Operations of the flash since the last call of [`Drive::cut_after`].
    pub fn operations(&self) -> u64 {
        self.device.flash.operations()
    }

    /// The power goes off at the operation of the flash of that number, counted from now: `during` it, or just before.
    pub fn cut_after(&mut self, operations: u64, during: bool) {
        self.device.flash.arm(Fault::PowerCut { at: operations, during });
    }

    /// The power goes off now.
    pub fn cut(&mut self) {
        self.device.flash.power_off();
    }

    /// True if the power is off.
    pub fn is_off(&self) -> bool {
        self.device.flash.is_off()
    }

    /// The image as it is now: what is left of the drive when the power goes off.
    pub fn image(&self) -> &nand::Image {
        self.device.flash.nand().image().expect("a drive stores bytes")
    }

    fn image_mut(&mut self) -> &mut nand::Image {
        self.device.flash.nand_mut().image_mut().expect("a drive stores bytes")
    }

    /// From now on only so many words and pages are written to the image, as if the process were killed then: for tests.
    #[doc(hidden)]
    pub fn live_for(&mut self, writes: u64) {
        self.image_mut().live_for(writes);
    }

    /// The image of a drive that is used no more.
    pub fn into_image(mut self) -> nand::Image {
        self.device.flash.nand_mut().detach().expect("a drive stores bytes")
    }

    /// The host's time goes on; some policies look at it.
    pub(crate) fn pass_time(&mut self, now: Instant) {
        self.now = now;
        self.device.tell_time(now, None);
    }

    /// Ranges of data that were acknowledged and are not programmed: the first byte, and the number of bytes.
    pub(crate) fn unwritten(&self) -> Vec<(u64, u64)> {
        let page = self.page_size();
        let waits = |lpn: Lpn| {
            self.trims.is_pending(lpn)
                || self.buffer.as_deref().is_some_and(|buffer| buffer.find(lpn).is_some())
                || self.device.ftl.lookup(lpn).is_ok_and(|at| self.device.flash.in_frame(at).is_some())
        };
        (0..self.pages).map(Lpn).filter(|&lpn| waits(lpn)).map(|lpn| (u64::from(lpn.0) * page, page)).collect()
    }

    /// No request follows: all that was acknowledged is programmed, and the figures end.
    pub(crate) fn finish(&mut self, now: Instant) -> Result<(), DriveError> {
        if let Some(buffer) = self.buffer.as_deref() {
            self.device.recorder.buffer_finish(buffer.age());
        }
        let drained = self.drain();
        self.device.recorder.finish(now);
        drained
    }

    /// Fills `data` with the bytes from `offset` on.
    ///
    /// # Errors
    /// [`DriveError`].
    pub fn read(&mut self, offset: u64, data: &mut [u8]) -> Result<(), DriveError> {
        self.is_up()?;
        let mut read = BTreeSet::new();
        let mut failed = Ok(());
        for part in self.parts(offset, data.len()) {
            // The others are read all the same.
            match self.read_part(&part, &mut data[part.at..][..part.to - part.from], &mut read) {
                Err(error @ DriveError::Unreadable { .. }) => failed = failed.and(Err(error)),
                done => done?,
            }
        }
        self.count(RequestKind::Read, data.len());
        self.is_up().and(failed)
    }

    fn read_part(&mut self, part: &PagePart, data: &mut [u8], read: &mut BTreeSet<u32>) -> Result<(), DriveError> {
        let buffered = self.buffer.as_deref().and_then(|buffer| buffer.find(part.lpn));
        if let Some(slot) = buffered
            && (self.cache.has(slot, part.from, part.to)
                || self.device.ftl.lookup(part.lpn) == Err(ftl::Nowhere::Unwritten))
        {
            // Beside what was written nothing was.
            self.cache.read(slot, part.from, data);
            self.device.recorder.counters.buffer_read_hits += 1;
            self.buffer.as_deref_mut().expect("it has the page").touch(slot);
            return Ok(());
        }
        let (offset, size) = self.span_of(part);
        let parts = match self.buffer.as_deref() {
            Some(buffer) => {
                let valid = buffered.map_or(0, |slot| buffer.page(slot).valid);
                buffer.pieces.parts_of(buffer.pieces.touched(part.lpn, offset, size) & !valid)
            }
            None => self.device.parts.share(part.lpn, size < self.page_size(), offset, size).touched,
        };
        if buffered.is_none() && size == self.page_size() {
            return self.read_page(part.lpn, data, parts, read);
        }
        let mut page = vec![0; self.page_size() as usize];
        self.read_page(part.lpn, &mut page, parts, read)?;
        if let Some(slot) = buffered {
            self.cache.overlay(slot, &mut page);
        }
        data.copy_from_slice(&page[part.from..part.to]);
        Ok(())
    }

    /// Reads a page of which so many flash pages are not, or not all, in the buffer; `read` are those that were read before
    /// for the same request.
    fn read_page(&mut self, lpn: Lpn, page: &mut [u8], parts: u8, read: &mut BTreeSet<u32>) -> Result<(), DriveError> {
        if self.trims.is_pending(lpn) {
            page.fill(self.deallocated);
            return Ok(());
        }
        let readable = self.check_readable(lpn);
        if readable.is_err() && self.device.ftl.lookup(lpn).is_ok() {
            return readable;
        }
        if self.buffer.is_some() {
            // Through a buffer pages are read one by one, as without bytes.
            read.clear();
        }
        match self.device.read_content_after(lpn, parts, read) {
            None => {
                page.fill(self.deallocated);
                readable
            }
            Some(content) => self.unpack(lpn, content.data, page),
        }
    }

    /// Takes the data of a page out of the controller's memory.
    fn unpack(&mut self, lpn: Lpn, data: u64, page: &mut [u8]) -> Result<(), DriveError> {
        let nand = self.device.flash.nand_mut();
        let is_whole = nand.copy_out(data, page);
        nand.let_go(data);
        // With the power off nothing is read.
        if is_whole || self.device.flash.is_off() {
            return Ok(());
        }
        Err(DriveError::Unreadable { lpn: lpn.0, why: "its data have another checksum than those that were written" })
    }

    fn check_readable(&self, lpn: Lpn) -> Result<(), DriveError> {
        match self.device.ftl.lookup(lpn) {
            Ok(ppn) if !self.device.flash.is_off() && self.device.flash.is_unreadable(ppn) => {
                Err(DriveError::Unreadable { lpn: lpn.0, why: "it has more errors than can be corrected" })
            }
            Err(ftl::Nowhere::Lost) => Err(DriveError::Unreadable {
                lpn: lpn.0,
                why: "a failed program took it along, or left no room for it",
            }),
            _ => Ok(()),
        }
    }

    /// Writes `data` from `offset` on; with `fua` they are programmed when it returns.
    ///
    /// # Errors
    /// [`DriveError`].
    pub fn write(&mut self, offset: u64, data: &[u8], fua: bool) -> Result<(), DriveError> {
        self.write_all(offset, data.len(), Some(data), fua)
    }

    /// Writes zeros that take room.
    ///
    /// # Errors
    /// [`DriveError`].
    pub fn write_zeros(&mut self, offset: u64, length: u64, fua: bool) -> Result<(), DriveError> {
        self.write_all(offset, length as usize, None, fua)
    }

    fn write_all(&mut self, offset: u64, length: usize, data: Option<&[u8]>, fua: bool) -> Result<(), DriveError> {
        self.takes_writes()?;
        self.keep_reserve(self.reserve.0)?;
        let (pages, atomic) = (self.parts(offset, length).count(), self.atomic_size());
        let is_unit = pages > 1 && length as u64 <= atomic && atomic > self.page_size();
        self.make_room(offset, length)?;
        if is_unit {
            self.make_slots(pages + 1)?;
            self.with_slots(|protected, _| protected.begin_unit());
        }
        let written = self.parts(offset, length).try_for_each(|part| {
            let bytes = data.map(|data| &data[part.at..][..part.to - part.from]);
            self.write_part(&part, bytes, fua)
        });
        if is_unit && !self.device.flash.is_off() {
            self.with_slots(Protected::end_unit);
        }
        written?;
        self.end_write(fua)?;
        self.count(RequestKind::Write, length);
        self.is_up()
    }

    /// Makes room in the buffer for all pages of a write, if it holds so many.
    fn make_room(&mut self, offset: u64, length: usize) -> Result<(), DriveError> {
        loop {
            let Some(buffer) = self.buffer.as_deref() else { return Ok(()) };
            let need = self.parts(offset, length).filter(|part| buffer.find_open(part.lpn).is_none()).count();
            let is_larger = self.parts(offset, length).count() > buffer.capacity() as usize;
            if is_larger || buffer.room() as usize >= need {
                return Ok(());
            }
            self.evict_oldest()?;
        }
    }

    /// Writes part of a page: these bytes, or zeros.
    fn write_part(&mut self, part: &PagePart, data: Option<&[u8]>, fua: bool) -> Result<(), DriveError> {
        let whole = self.page_size() as usize;
        let covers = part.from == 0 && part.to == whole;
        if !covers && !self.trims.is_pending(part.lpn) {
            // Later, when it leaves the buffer, it could not be said.
            self.check_readable(part.lpn)?;
        }
        let Some(buffer) = self.buffer.as_deref() else {
            self.keep_reserve(self.reserve.1)?;
            let mut page = vec![self.deallocated; whole];
            let (offset, size) = self.span_of(part);
            let share = self.device.parts.share(part.lpn, !covers, offset, size);
            if share.old > 0 {
                self.read_old(part.lpn, &mut page, share.old)?;
            }
            put(&mut page[part.from..part.to], data);
            return self.program(part.lpn, &page, share.touched);
        };
        let is_new = buffer.find_open(part.lpn).is_none();
        while is_new && self.buffer.as_deref().is_some_and(|buffer| buffer.room() == 0) {
            self.evict_oldest()?;
        }
        if is_new {
            self.make_slots(1)?;
        }
        let over_discard = self.trims.write(part.lpn);
        let (offset, size) = self.span_of(part);
        let buffer = self.buffer.as_deref_mut().expect("there is one");
        let written = buffer.pieces.written(part.lpn, !covers && !over_discard, offset, size, 0);
        let age = buffer.age();
        let slot = buffer::accept(&mut self.device, buffer, part.lpn, written, age);
        if is_new {
            self.cache.begin(slot, over_discard);
        }
        self.cache.write(slot, part.from, part.to, data);
        if fua && !buffer.is_protected {
            buffer.hurry(slot);
        }
        self.keep(slot, part.lpn)
    }

    /// The bytes of a part of a page, as a request has them.
    fn span_of(&self, part: &PagePart) -> (u64, u64) {
        (u64::from(part.lpn.0) * self.page_size() + part.from as u64, (part.to - part.from) as u64)
    }

    /// A page of the buffer was written: it outlives the power from now on, where the buffer does.
    fn keep(&mut self, slot: u32, lpn: Lpn) -> Result<(), DriveError> {
        if let Some(protected) = &mut self.protected
            && !self.device.flash.is_off()
        {
            let image = self.device.flash.nand_mut().image_mut().expect("a drive stores bytes");
            protected.keep(image, slot, lpn, &self.cache);
        }
        self.is_up()
    }

    /// Makes room for so many pages that enter the buffer, in slots where they outlive the power.
    fn make_slots(&mut self, pages: usize) -> Result<(), DriveError> {
        if self.protected.as_ref().is_none_or(|protected| protected.has_room(pages)) {
            return Ok(());
        }
        self.look_at_waiting();
        if self.protected.as_ref().is_some_and(|protected| !protected.has_room(pages)) {
            self.make_trims_last()?;
            self.device.fill_up();
            self.look_at_waiting();
        }
        self.is_up()
    }

    /// Pages that waited for their wordlines may have been programmed.
    fn look_at_waiting(&mut self) {
        if let Some(protected) = &mut self.protected
            && !self.device.flash.is_off()
        {
            let flash = &mut self.device.flash;
            let waiting: Vec<Ppn> = protected.leaving().filter(|&at| flash.in_frame(at).is_some()).collect();
            let image = flash.nand_mut().image_mut().expect("a drive stores bytes");
            protected.look(image, |at| waiting.contains(&at));
        }
    }

    /// True if writes outlive the power as soon as they are acknowledged.
    pub fn is_protected(&self) -> bool {
        self.protected.is_some()
    }

    /// A write is in the buffer, or programmed.
    fn end_write(&mut self, fua: bool) -> Result<(), DriveError> {
        if self.buffer.as_deref().is_some_and(|buffer| buffer.room() == 0) {
            self.evict_oldest()?;
        }
        self.evict_due()?;
        if fua && !self.is_protected() {
            self.device.fill_up();
        }
        Ok(())
    }

    /// All that was acknowledged is programmed, and discards last.
    ///
    /// # Errors
    /// [`DriveError`].
    pub fn flush(&mut self) -> Result<(), DriveError> {
        self.is_up()?;
        if self.is_read_only {
            return Ok(());
        }
        if self.is_protected() {
            // Only discards have something to wait for.
            self.make_trims_last()?;
        } else {
            self.drain()?;
        }
        self.count(RequestKind::Flush, 0);
        self.is_up()
    }

    /// Programs all that is buffered, and has discards last.
    fn drain(&mut self) -> Result<(), DriveError> {
        if let Some(buffer) = self.buffer.as_deref_mut() {
            buffer.flush();
        }
        self.evict_due()?;
        self.make_trims_last()?;
        self.device.fill_up();
        self.look_at_waiting();
        self.is_up()?;
        // What waits to be programmed with others finds no room any more.
        if self.device.is_read_only() && self.device.flash.unit_in_frames().is_some() {
            return Err(DriveError::EndOfLife);
        }
        Ok(())
    }

    /// Discards `length` bytes: they read as deallocated ones, and last when a flush after it is acknowledged.
    ///
    /// # Errors
    /// [`DriveError`].
    pub fn trim(&mut self, offset: u64, length: u64) -> Result<(), DriveError> {
        self.takes_writes()?;
        self.keep_reserve(self.reserve.0)?;
        let page = self.page_size();
        let (first, end) = (offset.div_ceil(page), (offset + length) / page);
        // Parts of pages are written with what a discarded page holds; without a whole page there is one such part.
        let edges = if first >= end {
            [(offset, length), (0, 0)]
        } else {
            [(offset, first * page - offset), (end * page, offset + length - end * page)]
        };
        for (offset, length) in edges.into_iter().filter(|edge| edge.1 > 0) {
            for part in self.parts(offset, length as usize) {
                let bytes = vec![self.deallocated; part.to - part.from];
                self.write_part(&part, Some(&bytes), false)?;
            }
            self.end_write(false)?;
        }
        self.discard(first as u32..end as u32);
        self.count(RequestKind::Trim, length as usize);
        self.is_up()
    }

    fn discard(&mut self, pages: std::ops::Range<u32>) {
        for lpn in pages.map(Lpn) {
            self.discard_buffered(lpn);
            if self.device.ftl.lookup(lpn) != Err(ftl::Nowhere::Unwritten) {
                self.trims.add(lpn);
            }
        }
    }

    /// Discards pages, which the FTL forgets at once, as a device does whose map needs no restart. They last when
    /// [`Drive::write_down_discards`] returns, and the power is not cut before.
    pub(crate) fn discard_now(&mut self, pages: Span, size: u64) -> Result<(), DriveError> {
        self.takes_writes()?;
        for (lpn, _) in pages.pages() {
            self.discard_buffered(lpn);
            self.trims.forget(lpn);
        }
        self.device.trim_now(pages);
        self.count(RequestKind::Trim, size as usize);
        self.is_up()
    }

    fn discard_buffered(&mut self, lpn: Lpn) {
        if let Some(buffer) = self.buffer.as_deref_mut()
            && let Some(slot) = buffer.find(lpn)
        {
            let age = buffer.age();
            buffer::drop_page(&mut self.device, buffer, slot, age);
            self.cache.end(slot);
            if let Some(protected) = &mut self.protected
                && !self.device.flash.is_off()
            {
                let shows_through = self.device.ftl.lookup(lpn) != Err(ftl::Nowhere::Unwritten);
                let image = self.device.flash.nand_mut().image_mut().expect("a drive stores bytes");
                protected.discard(image, slot, lpn, shows_through);
            }
        }
    }

    /// Writes down what was discarded at once.
    pub(crate) fn write_down_discards(&mut self) -> Result<(), DriveError> {
        self.trims.hurry();
        self.make_trims_last()
    }

    /// Ends cleanly: all of it is programmed, and on the disk of the image with a checkpoint. Where that finds no room the next start
    /// scans the array. At the end of the drive's life there is none.
    ///
    /// # Errors
    /// [`DriveError`]. With [`DriveError::EndOfLife`] it has ended; what was not flushed is lost.
    pub fn close(&mut self) -> Result<(), DriveError> {
        let flushed = self.flush().and_then(|()| if self.is_read_only { Ok(()) } else { self.drain() });
        match &flushed {
            Err(error) if *error != DriveError::EndOfLife => return flushed,
            _ => {}
        }
        if self.device.is_read_only() {
            self.image_mut().forget_checkpoint();
        } else if !self.is_read_only {
            let pages = self.device.has.pages.expect("refused before");
            if checkpoint::keep(&mut self.device, pages).is_err() {
                self.image_mut().forget_checkpoint();
            }
        }
        self.image().sync().map_err(|error| DriveError::Image(error.to_string()))?;
        self.end = Some(DriveError::PowerCut);
        // Writes in slots outlive the process, and discards do not.
        if self.is_protected() && !self.trims.are_pending() { Ok(()) } else { flushed }
    }

    fn evict_due(&mut self) -> Result<(), DriveError> {
        while let Some(slot) = self.buffer.as_deref().and_then(Buffer::oldest_due) {
            self.evict(slot)?;
        }
        Ok(())
    }

    fn evict_oldest(&mut self) -> Result<(), DriveError> {
        let slot = self.buffer.as_deref().and_then(Buffer::oldest).expect("a full buffer holds pages");
        self.evict(slot)
    }

    fn evict(&mut self, slot: u32) -> Result<(), DriveError> {
        self.keep_reserve(self.reserve.1)?;
        let buffer = self.buffer.as_deref_mut().expect("a page leaves it");
        let lpn = buffer.page(slot).lpn;
        let Share { touched, old } = buffer.share(buffer.page(slot));
        let mut page = vec![self.deallocated; self.page_size() as usize];
        let readable = if self.cache.is_whole(slot) { Ok(()) } else { self.read_old(lpn, &mut page, old) };
        self.cache.overlay(slot, &mut page);
        // A page that finds no room stays.
        match readable {
            // The rest of it was lost since it was written in part: it is an error to read, and never zeros.
            Err(DriveError::Unreadable { .. }) => self.program_unreadable(lpn, touched)?,
            read => read.and_then(|()| self.program(lpn, &page, touched))?,
        }
        let buffer = self.buffer.as_deref_mut().expect("a page leaves it");
        let age = buffer.age();
        buffer::leave(&mut self.device, buffer, slot, age);
        self.cache.end(slot);
        if let Some(protected) = &mut self.protected {
            let flash = &mut self.device.flash;
            let waits_at = self.device.ftl.lookup(lpn).ok().filter(|&at| flash.in_frame(at).is_some());
            let image = flash.nand_mut().image_mut().expect("a drive stores bytes");
            protected.left(image, slot, lpn, waits_at);
        }
        self.look_at_waiting();
        Ok(())
    }

    /// Reads the old version of a page that is written in part.
    fn read_old(&mut self, lpn: Lpn, page: &mut [u8], parts: u8) -> Result<(), DriveError> {
        if self.trims.is_pending(lpn) {
            return Ok(());
        }
        self.check_readable(lpn)?;
        match self.device.read_old_now(lpn, parts) {
            None => Ok(()),
            Some(content) => self.unpack(lpn, content.data, page),
        }
    }

    fn program(&mut self, lpn: Lpn, page: &[u8], touched: u8) -> Result<(), DriveError> {
        let was_discarded = self.trims.write(lpn);
        let content = self.device.flash.take(page);
        let placed = self.place(lpn, content, touched);
        if was_discarded && placed == Err(DriveError::EndOfLife) {
            self.trims.add(lpn);
        }
        placed
    }

    fn place(&mut self, lpn: Lpn, content: Content, touched: u8) -> Result<(), DriveError> {
        let is_placed = self.device.place_now(lpn.into(), 0, content, touched);
        self.replace_own_pages();
        if !is_placed {
            return self.is_up().and(Err(DriveError::EndOfLife));
        }
        self.is_up()
    }

    /// Writes down what was discarded, and only then lets the FTL forget it: were it forgotten before, its newest version could be erased
    /// while an older one is still in the array.
    fn make_trims_last(&mut self) -> Result<(), DriveError> {
        if !self.trims.are_pending() {
            return Ok(());
        }
        self.keep_reserve(self.reserve.1)?;
        let newest = self.device.has.pages.expect("drives map pages").newest_write(&self.device.ftl);
        for (lpn, page) in self.trims.pages_to_write(newest) {
            let content = self.device.flash.take(&page);
            self.place(lpn, content, 1)?;
        }
        self.device.fill_up();
        self.is_up()?;
        self.look_at_waiting();
        if let Some(protected) = &mut self.protected {
            protected.settle_discards(self.device.flash.nand_mut().image_mut().expect("a drive stores bytes"));
        }
        let trimmed = self.trims.settle();
        for lpn in trimmed {
            self.device.trim(lpn);
            self.device.collect_after_trim();
        }
        Ok(())
    }

    /// The pages of a range, and what it covers of each.
    fn parts(&self, offset: u64, length: usize) -> impl Iterator<Item = PagePart> + use<> {
        let (page, end) = (self.page_size(), offset + length as u64);
        assert!(end <= self.size(), "a request lies within the drive");
        (offset / page..end.div_ceil(page)).map(move |lpn| {
            let start = lpn * page;
            let (from, to) = (offset.max(start), end.min(start + page));
            PagePart {
                lpn: Lpn(lpn as u32),
                from: (from - start) as usize,
                to: (to - start) as usize,
                at: (from - offset) as usize,
            }
        })
    }

    fn count(&mut self, kind: RequestKind, length: usize) {
        self.device.recorder.completed(kind, self.now, self.now, length as u64);
    }

    fn takes_writes(&mut self) -> Result<(), DriveError> {
        if self.is_read_only {
            return Err(DriveError::ReadOnly);
        }
        self.is_up()?;
        if self.has_ended() { Err(DriveError::EndOfLife) } else { Ok(()) }
    }

    /// Makes sure that the image can take these bytes, or begins nothing.
    fn keep_reserve(&mut self, bytes: u64) -> Result<(), DriveError> {
        if self.image_mut().keep_reserve(bytes) { Ok(()) } else { Err(DriveError::NoSpace) }
    }

    /// Fails for good once the power is off, or the image cannot be written.
    fn is_up(&mut self) -> Result<(), DriveError> {
        if self.end.is_none() {
            if self.device.flash.is_off() {
                self.end = Some(DriveError::PowerCut);
            } else if let Some(kind) = self.image().failure() {
                let is_full = matches!(kind, std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded);
                self.end = Some(match kind {
                    _ if is_full => DriveError::NoSpace,
                    std::io::ErrorKind::InvalidData => DriveError::Image(
                        "one of its records is not as it was written, and no copy is made of it".into(),
                    ),
                    kind => DriveError::Image(kind.to_string()),
                });
                self.cut();
            }
        }
        self.end.clone().map_or(Ok(()), Err)
    }

    /// Checks the whole state of the FTL.
    ///
    /// # Panics
    /// If it is inconsistent, which is a fault of this program.
    pub fn check(&self) {
        self.device.check_state();
    }

    /// From now on no erase waits for pages that are placed, which is a fault: for proof that it is found.
    #[doc(hidden)]
    pub fn erase_early(&mut self) {
        self.device.flash.erase_early();
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }
}

/// The scope of this part.
pub(crate) static SCOPE: Scope = Scope {
    area: Area::Faults,
    name: "Drives with real bytes",
    keys: &["run.executor"],
    modelled: "A host reads and writes sectors of an image; parts of pages are merged, discards last, and a clean stop writes a checkpoint.",
    not_modelled: &[
        "The checkpoint lies beside the flash pages and wears nothing.",
        "Hybrid mapping and policies of the user are refused.",
        "Without `--pace` requests take the time of this computer.",
    ],
};
