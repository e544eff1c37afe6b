//! A write buffer that outlives the power: drives with capacitors save it when the power goes off. Here it lies in slots of the image from
//! the beginning, since a killed process saves nothing.
//!
//! A page is in its slot when its write is acknowledged, and leaves it when it is programmed: a page that waits for the rest of its
//! wordline keeps its slot. A discard of a page that was only in the buffer takes over its slot, lest an older version came back.
//! After a restart the slots are the buffer again.
//!
//! A write of several pages that is to be there wholly or not at all is a *unit*: its pages go to slots of their own, beside those of their
//! older versions. They count when one slot more says so, and only then the older ones are given back. A restart drops what does not count.

use std::collections::BTreeMap;

use base::{Lpn, Ppn};
use nand::{Image, SLOT_HEADER};

use super::cache::{BufferBytes, SECTOR};

/// Slots beside those of a full buffer: pages that wait for their wordlines, and discards.
const BESIDE: u64 = 64;

/// Slots for a buffer of so many pages, and for units of as many as are given.
pub(super) fn slots(pages: u64, of_unit: u64) -> u32 {
    (pages + BESIDE + pages / 4 + of_unit) as u32
}

/// A page that left the buffer and is not programmed yet.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    slot: u32,
    lpn: Lpn,
    at: Ppn,
}

/// The slots.
#[derive(Clone)]
pub(super) struct Protected {
    free: Vec<u32>,
    /// By the buffer's number of a page.
    of_page: Vec<Option<u32>>,
    leaving: Vec<Leaving>,
    /// By page, slots of discards that do not last yet.
    discards: BTreeMap<u32, u32>,
    /// The number of the newest content.
    number: u64,
    /// The slot that says up to which number units count, once there was one.
    commit: Option<u32>,
    /// Slots of older versions, while pages of a unit come.
    older: Option<Vec<u32>>,
    content: Vec<u8>,
}

/// The content of a slot, as a restart finds it.
pub(super) struct SlotFound {
    pub(super) slot: u32,
    pub(super) number: u64,
    pub(super) lpn: Lpn,
    /// By sector, whether it was written; nothing for a discard.
    pub(super) is_written: Option<Vec<bool>>,
    content: Vec<u8>,
}

impl SlotFound {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.content[SLOT_HEADER..]
    }
}

/// Fields of a slot's header: checksum, page, kind, whether it is part of a unit, then a bit for each sector.
const CHECKSUM: usize = 4;
const LPN: usize = 8;
const KIND: usize = 12;
const IN_UNIT: usize = 13;
const SECTORS: usize = 16;
/// Pages have at most so many sectors, whose bits fit the header.
pub(super) const MAX_SECTORS: u64 = (SLOT_HEADER - SECTORS) as u64 * 8;

const PAGE: u8 = 1;
const DISCARD: u8 = 2;
const COMMIT: u8 = 3;

impl Protected {
    /// The slots of an image, in the order in which they were filled; all others are free.
    ///
    /// # Errors
    /// The text says what is wrong with a slot.
    pub(super) fn find(image: &mut Image, pages: u32) -> Result<(Protected, Vec<SlotFound>), String> {
        let mut all = Protected {
            free: Vec::new(),
            of_page: Vec::new(),
            leaving: Vec::new(),
            discards: BTreeMap::new(),
            number: 0,
            commit: None,
            older: None,
            content: vec![0; image.slot_bytes()],
        };
        let mut found = Vec::new();
        for slot in (0..image.slots()).rev() {
            match image.slot(slot)? {
                None => all.free.push(slot),
                Some((number, content)) => found.push(unpacked(slot, number, content, pages)?),
            }
        }
        found.sort_by_key(|slot: &SlotFound| slot.number);
        all.number = found.last().map_or(0, |slot| slot.number);
        let commit = found.iter().rposition(|slot| slot.content[KIND] == COMMIT).map(|at| found.remove(at));
        all.commit = commit.as_ref().map(|commit| commit.slot);
        let counts = commit.map_or(0, |commit| commit.number);
        for torn in found.extract_if(.., |slot| slot.content[IN_UNIT] == 1 && slot.number > counts) {
            all.release(image, torn.slot);
        }
        Ok((all, found))
    }

    /// True if so many pages more, or discards, find slots.
    pub(super) fn has_room(&self, pages: usize) -> bool {
        self.free.len() >= pages
    }

    /// The pages that come from now on are a unit.
    pub(super) fn begin_unit(&mut self) {
        self.older = Some(Vec::new());
    }

    /// All pages of the unit are in their slots: they count.
    pub(super) fn end_unit(&mut self, image: &mut Image) {
        self.number += 1;
        let slot = *self.commit.get_or_insert_with(|| self.free.pop().expect("there is room"));
        let older = self.older.take().expect("a unit was begun");
        self.content.fill(0);
        self.put(self.number, image, slot, Lpn(0), COMMIT);
        older.into_iter().for_each(|slot| self.release(image, slot));
    }

    /// A page of the buffer was written: it is in its slot from now on.
    pub(super) fn keep(&mut self, image: &mut Image, page: u32, lpn: Lpn, cache: &BufferBytes) {
        self.number += 1;
        self.keep_as(self.number, image, page, lpn, cache);
    }

    /// Keeps a page of the buffer under the number of a slot that was found: slots written after that are newer still.
    pub(super) fn keep_as(&mut self, number: u64, image: &mut Image, page: u32, lpn: Lpn, cache: &BufferBytes) {
        let mut held = self.slot_of(page).or_else(|| self.discards.remove(&lpn.0));
        if let Some(older) = &mut self.older {
            older.extend(held.take());
        }
        let slot = held.unwrap_or_else(|| self.free.pop().expect("there is room"));
        self.own(page, slot);
        self.content.fill(0);
        self.content[IN_UNIT] = u8::from(self.older.is_some());
        let (bytes, is_written) = cache.content(page);
        self.content[SLOT_HEADER..].copy_from_slice(bytes);
        for (sector, _) in is_written.iter().enumerate().filter(|(_, is)| **is) {
            self.content[SECTORS + sector / 8] |= 1 << (sector % 8);
        }
        self.put(number, image, slot, lpn, PAGE);
    }

    fn put(&mut self, number: u64, image: &mut Image, slot: u32, lpn: Lpn, kind: u8) {
        self.content[LPN..LPN + 4].copy_from_slice(&lpn.0.to_le_bytes());
        self.content[KIND] = kind;
        let checksum = crc32fast::hash(&self.content[LPN..]);
        self.content[CHECKSUM..CHECKSUM + 4].copy_from_slice(&checksum.to_le_bytes());
        image.put_slot(slot, number, &self.content);
    }

    fn slot_of(&self, page: u32) -> Option<u32> {
        self.of_page.get(page as usize).copied().flatten()
    }

    /// A page of the buffer has this slot.
    pub(super) fn own(&mut self, page: u32, slot: u32) {
        if self.of_page.len() <= page as usize {
            self.of_page.resize(page as usize + 1, None);
        }
        self.of_page[page as usize] = Some(slot);
    }

    /// A page left the buffer, and is programmed, or waits at a place.
    pub(super) fn left(&mut self, image: &mut Image, page: u32, lpn: Lpn, waits_at: Option<Ppn>) {
        let Some(slot) = self.of_page[page as usize].take() else { return };
        match waits_at {
            Some(at) => self.leaving.push(Leaving { slot, lpn, at }),
            None => self.programmed(image, slot, lpn),
        }
    }

    /// A version of a page is programmed. Older ones, if they still wait, are not asked for any more.
    fn programmed(&mut self, image: &mut Image, slot: u32, lpn: Lpn) {
        // First: without the newest an older one would count.
        let (older, others) = self.leaving.drain(..).partition(|leaving| leaving.lpn == lpn);
        self.leaving = others;
        let older: Vec<Leaving> = older;
        older.iter().for_each(|leaving| self.release(image, leaving.slot));
        self.release(image, slot);
    }

    fn release(&mut self, image: &mut Image, slot: u32) {
        image.clear_slot(slot);
        self.free.push(slot);
    }

    /// The places of pages that wait.
    pub(super) fn leaving(&self) -> impl Iterator<Item = Ppn> {
        self.leaving.iter().map(|leaving| leaving.at)
    }

    /// Pages that waited may have been programmed.
    pub(super) fn look(&mut self, image: &mut Image, waits: impl Fn(Ppn) -> bool) {
        while let Some(first) = self.leaving.iter().position(|leaving| !waits(leaving.at)) {
            let Leaving { slot, lpn, .. } = self.leaving[first];
            // Those behind it are newer.
            let older: Vec<u32> =
                self.leaving[..first].iter().filter(|other| other.lpn == lpn).map(|other| other.slot).collect();
            let mut index = 0;
            self.leaving.retain(|other| {
                index += 1;
                index > first + 1 || other.lpn != lpn
            });
            older.into_iter().chain([slot]).for_each(|slot| self.release(image, slot));
        }
    }

    /// A page of the buffer is discarded. With `shows_through` there is an older version, which must not come back: the slot says so.
    pub(super) fn discard(&mut self, image: &mut Image, page: u32, lpn: Lpn, shows_through: bool) {
        let Some(slot) = self.of_page[page as usize].take() else { return };
        if shows_through {
            self.content.fill(0);
            self.number += 1;
            self.put(self.number, image, slot, lpn, DISCARD);
            self.discards.insert(lpn.0, slot);
        } else {
            self.release(image, slot);
        }
    }

    /// A discard was found in a slot, and does not last yet.
    pub(super) fn adopt_discard(&mut self, lpn: Lpn, slot: u32) {
        self.discards.insert(lpn.0, slot);
    }

    /// A page of the buffer was discarded after it was found.
    pub(super) fn drop_page(&mut self, image: &mut Image, page: u32) {
        let slot = self.of_page[page as usize].take().expect("a page that was found has a slot");
        self.release(image, slot);
    }

    /// A slot that was found is not needed.
    pub(super) fn give_back(&mut self, image: &mut Image, slot: u32) {
        self.release(image, slot);
    }

    /// All discards last.
    pub(super) fn settle_discards(&mut self, image: &mut Image) {
        for slot in std::mem::take(&mut self.discards).into_values() {
            self.release(image, slot);
        }
    }
}

fn unpacked(slot: u32, number: u64, content: Vec<u8>, pages: u32) -> Result<SlotFound, String> {
    let word = |at: usize| u32::from_le_bytes(content[at..at + 4].try_into().expect("four bytes"));
    let (lpn, kind) = (Lpn(word(LPN)), content[KIND]);
    if word(CHECKSUM) != crc32fast::hash(&content[LPN..]) || lpn.0 >= pages || ![PAGE, DISCARD, COMMIT].contains(&kind)
    {
        return Err(format!("slot {slot} of the write buffer is not as it was written"));
    }
    let sectors = (content.len() - SLOT_HEADER) / SECTOR as usize;
    let is_written = |sector: usize| content[SECTORS + sector / 8] >> (sector % 8) & 1 == 1;
    let is_written = (kind == PAGE).then(|| (0..sectors).map(is_written).collect());
    Ok(SlotFound { slot, number, lpn, is_written, content })
}
