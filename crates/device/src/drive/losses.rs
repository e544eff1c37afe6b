//! Pages that failed programs took along: they stay errors over restarts, until they are written or discarded.
//!
//! The image has a list of them, for their spare areas are gone with the pages ([`nand::Image::lost_spares`]). A restart compares it with
//! what it found: of a page whose newest version is older than the one that was lost nothing is left to read.

use base::Lpn;
use config::Config;

use super::trims::Trims;
use super::{Drive, DriveError};
use crate::errors::RunError;
use crate::flash::Wordlines;
use crate::{gang, lives};

/// Pages that failed programs may take along in the life of a drive.
pub(super) fn most(config: &Config) -> u32 {
    // Pages that are programmed with the rest of their wordline are held until then.
    if !lives::are_limited(config) || Wordlines::of(&config.device) != Wordlines::ByPage {
        return 0;
    }
    let geometry = gang::geometry(config);
    geometry.blocks() * (config.device.cell.bits() * geometry.parts - 1)
}

impl Drive {
    /// Takes over the list of lost pages after a scan.
    pub(super) fn find_losses(&mut self) -> Result<(), RunError> {
        if self.device.flash.is_off() {
            return Ok(());
        }
        let pages = self.device.has.pages.expect("drives map pages");
        let own = Trims::own_pages(self.pages.into(), self.page_size()) as u32;
        for (entry, spare) in self.image().lost_spares().map_err(RunError::Input)? {
            let known = ftl::page_of(spare).zip(ftl::write_of(spare)).filter(|(lpn, _)| lpn.0 < self.pages + own);
            let is_lost = known.filter(|&(lpn, write)| !self.has_newer(lpn, write));
            let Some((lpn, write)) = is_lost else {
                // Pages of the map are made again.
                self.image_mut().forget_loss(entry);
                continue;
            };
            if lpn.0 < self.pages {
                pages.lose(&mut self.device.ftl, lpn, write);
                continue;
            }
            // Which pages its discards made void is not known: those that are older are not read.
            for lpn in self.trims.pages_of(lpn.0 - self.pages).map(Lpn) {
                if self.device.ftl.lookup(lpn).is_ok() && !self.has_newer(lpn, write) {
                    pages.lose(&mut self.device.ftl, lpn, write);
                }
            }
        }
        Ok(())
    }

    /// A version of a page, or its discard, is as new as that write.
    fn has_newer(&self, lpn: Lpn, write: u64) -> bool {
        let found = self.device.ftl.lookup(lpn).ok();
        let found = found.and_then(|at| ftl::write_of(self.device.flash.waiting(at).spare));
        found.is_some_and(|found| found >= write) || self.trims.number_of(lpn) >= write
    }

    /// An own page that a failed program took along is written again: its numbers are in memory.
    pub(super) fn replace_own_pages(&mut self) {
        let losses = self.image().losses();
        if losses == self.losses_seen || self.device.flash.is_off() {
            return;
        }
        self.losses_seen = losses;
        for (lpn, page) in self.trims.written() {
            if self.device.ftl.lookup(lpn) == Err(ftl::Nowhere::Lost) {
                let content = self.device.flash.take(&page);
                // With no room for it the drive has come to its end, and the next restart knows that it was lost.
                let _ = self.device.place_now(lpn.into(), 0, content, 1);
            }
        }
    }

    /// Programs a page whose data cannot be read.
    pub(super) fn program_unreadable(&mut self, lpn: Lpn, touched: u8) -> Result<(), DriveError> {
        self.trims.write(lpn);
        let data = self.device.flash.nand().unreadable();
        self.place(lpn, crate::flash::Content { data, spare: 0 }, touched)
    }
}
