//! A program that failed: its page and the lower pages of its wordline are written elsewhere.
//!
//! The unit takes no more pages. It is emptied like any other and used again: a failure is taken as
//! transient, blocks are not retired.

use base::{Cause, Lpn, Ppn};

use crate::collection::GcSink;
use crate::layer::{Ftl, NONE};
use crate::paired::Cover;
use crate::spare::Kind;

/// Where the data of a page come from that is written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// From the controller, which has not let go of them: the page whose program failed.
    Controller,
    /// From the controller's page buffer, if it has one: a lower page, by its place.
    PageBuffer(Ppn),
    /// From another page.
    Page(Ppn),
    /// From a parity page and the other page of the parity.
    Parity(Ppn, Ppn),
}

/// A page that a failed program destroyed.
#[derive(Clone, Copy)]
struct Hurt {
    lpn: Lpn,
    source: Source,
    cover: Cover,
}

impl Ftl {
    /// Deals with the failed program of a page: of a host page, or of a copy of another page.
    pub fn repair(&mut self, at: Ppn, copied_from: Option<Ppn>, sink: &mut impl GcSink) {
        let unit = self.geometry.unit_of(at);
        let domain = self.geometry.domain_of_unit(unit);
        if let Some(guard) = self.protection.guards.get(domain as usize)
            && guard.backup.unit == unit
        {
            // A failed backup covers nothing, and will be made again.
            self.protection.guards[domain as usize].lowers.uncover_page(at);
            return;
        }
        let mut hurt = self.hurt_below(domain, at);
        if self.is_valid(at) {
            hurt.push(Hurt {
                lpn: Lpn(self.reverse[at.index()]),
                source: copied_from.map_or(Source::Controller, Source::Page),
                cover: copied_from.map_or(Cover::None, Cover::Copy),
            });
        }
        let stream = usize::from(self.unit_streams[unit as usize]);
        if self.domains[domain as usize].frontiers[stream].unit == unit {
            self.seal(domain, stream);
        } else if let Some(guard) = self.protection.guards.get_mut(domain as usize) {
            guard.lowers.forget(unit, self.geometry.unit_slots());
        }
        for hurt in hurt {
            let (to, tag) = self.rewrite(domain, stream, hurt.lpn, hurt.cover);
            self.announce_lsb_only(to, sink);
            if !sink.rewritten(Cause::Backup, hurt.source, to, tag) {
                self.lose(hurt.lpn);
            }
        }
    }

    /// The valid lower pages of a page's wordline, and what is left of them.
    fn hurt_below(&self, domain: u32, at: Ppn) -> Vec<Hurt> {
        let (unit, slot) = self.geometry.unit_and_slot(at);
        let wordlines = &self.protection.wordlines;
        let page = self.geometry.page_of_slot(slot);
        let tracked = self.protection.guards.get(domain as usize);
        (0..page)
            .filter(|&lower| wordlines.share(lower, page))
            .map(|lower| self.geometry.ppn(unit, lower * self.geometry.unit_width + slot % self.geometry.unit_width))
            .filter(|&lower| self.is_valid(lower))
            .map(|lower| {
                let cover = tracked.map_or(Cover::None, |guard| guard.lowers.cover_of(lower));
                let source = match cover {
                    Cover::None | Cover::Lost => Source::PageBuffer(lower),
                    Cover::Copy(page) => Source::Page(page),
                    Cover::Parity { parity, other } => Source::Parity(parity, other),
                };
                let cover = if let Cover::Parity { .. } = cover { Cover::None } else { cover };
                Hurt { lpn: Lpn(self.reverse[lower.index()]), source, cover }
            })
            .collect()
    }

    /// Places a page anew that lost its place; returns where, and its spare area but for the identity.
    pub(crate) fn rewrite(&mut self, domain: u32, stream: usize, lpn: Lpn, cover: Cover) -> (Ppn, u128) {
        let old = self.map[lpn.index()];
        if old != NONE {
            self.invalidate(old);
        }
        self.domains[domain as usize].valid += 1;
        let to = self.append(domain, stream, lpn);
        if self.protection.scheme.keeps_track() {
            self.note_program(domain, to, cover);
        }
        let tag = self.tag(Kind::Data, Some(lpn), to);
        (to, tag)
    }

    /// Closes a frontier before its unit is full.
    pub(crate) fn seal(&mut self, domain: u32, stream: usize) {
        let unit = self.domains[domain as usize].frontiers[stream].unit;
        if let Some(guard) = self.protection.guards.get_mut(domain as usize) {
            guard.lowers.forget(unit, self.geometry.unit_slots());
        }
        self.close(domain, stream, unit);
    }

    /// The data of a page are gone for good.
    fn lose(&mut self, lpn: Lpn) {
        let at = std::mem::replace(&mut self.map[lpn.index()], NONE);
        self.separation.trim(lpn);
        self.invalidate(at);
        self.lost_pages += 1;
    }

    /// Pages whose data were lost to failed programs.
    pub fn lost_pages(&self) -> u64 {
        self.lost_pages
    }
}
