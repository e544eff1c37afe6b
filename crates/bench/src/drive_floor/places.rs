//! Where units lie: frontiers, victims and the pace of collections.

use super::*;

impl DriveFloor {
    pub(super) fn valid_of(&self, superblock: u32) -> u64 {
        u64::from(self.valid[superblock as usize] & !NOT_CLOSED)
    }

    /// Takes the least worn free superblock. Returns its first slot.
    #[cold]
    pub(super) fn open(&mut self, die: u32) -> u32 {
        let free = &mut self.dies[die as usize].free;
        let at = (0..free.len()).min_by_key(|&at| self.erases[free[at] as usize]).expect("the reserve");
        free.swap_remove(at) * SLOTS
    }

    /// The oldest units of the buffer go to a row of a die, whose collection does what is due for them.
    #[inline(always)]
    pub(super) fn place_row(&mut self, die: u32) {
        let first = match self.dies[die as usize].host {
            NONE => self.open(die),
            slot => slot,
        };
        for slot in first..first + UNITS {
            let (lpn, old) = self.ring[(self.head & (self.facts.buffer - 1)) as usize];
            self.head = self.head.wrapping_add(1);
            if old != NONE {
                self.rows[(old / UNITS) as usize] &= !(1 << (old % UNITS));
                self.valid[(old / SLOTS) as usize] -= 1;
            }
            self.map.set(lpn, slot);
            self.reverse.set(slot, lpn);
        }
        self.rows[(first / UNITS) as usize] = u16::MAX;
        self.valid[(first / SLOTS) as usize] += UNITS as u16;
        self.counts.rows += 1;
        let is_full = (first + UNITS).is_multiple_of(SLOTS);
        let (reserve, record) = (self.facts.reserve as usize, &mut self.dies[die as usize]);
        record.host = if is_full { NONE } else { first + UNITS };
        if is_full {
            self.valid[(first / SLOTS) as usize] -= NOT_CLOSED;
            if record.free.len() <= reserve {
                return self.make_room(die);
            }
        }
        self.keep_pace(die);
    }

    /// The host has nothing to write to before a victim is erased.
    #[cold]
    pub(super) fn make_room(&mut self, die: u32) {
        let record = &mut self.dies[die as usize];
        (record.is_collecting, record.stop) = (true, 0);
        if record.victim == NONE {
            self.choose_victim(die);
        }
    }

    #[cold]
    pub(super) fn choose_victim(&mut self, die: u32) {
        let first = die * self.facts.superblocks;
        let victim = (first..first + self.facts.superblocks).min_by_key(|&at| self.valid[at as usize]);
        let record = &mut self.dies[die as usize];
        (record.victim, record.row, record.line) = (victim.expect("a die has superblocks"), 0, 0);
    }

    /// As much of a victim moves as is due for a row of the host: see `ftl`'s schedule `paced`.
    #[inline(always)]
    pub(super) fn keep_pace(&mut self, die: u32) {
        let record = &self.dies[die as usize];
        if record.free.len() as u32 > self.facts.reserve + self.facts.low {
            return;
        }
        let left_of = |slot: u32| if slot == NONE { 0 } else { u64::from(SLOTS - slot % SLOTS) };
        let slots = u64::from(SLOTS);
        let free = record.free.len() as u64 * slots + left_of(record.host) + left_of(record.copies);
        let mark = u64::from(self.facts.reserve + self.facts.low) * slots;
        if free > mark || record.free.is_empty() {
            return;
        }
        if record.victim == NONE {
            self.choose_victim(die);
        }
        let valid = self.valid_of(self.dies[die as usize].victim);
        let record = &mut self.dies[die as usize];
        let (left, after) = (valid + 1, free + slots - valid);
        if record.line == 0 {
            record.line = free + (mark - free) * (after - free) / (u64::from(self.facts.low) * slots);
        }
        let written = u64::from(UNITS);
        let room = (after + written).saturating_sub(record.line);
        let due = if room <= written { left } else { (written * left).div_ceil(room) };
        (record.is_collecting, record.stop) = (true, left - due);
    }

    /// A collection has done what is due, and the host has room.
    pub(super) fn may_stop(&self, die: u32) -> bool {
        let record = &self.dies[die as usize];
        let free = record.free.len() as u32;
        let has_room = free > 0 && (record.host != NONE || free > self.facts.reserve);
        has_room && self.valid_of(record.victim) < record.stop
    }

    /// The next row of the victim is read. Returns its planes.
    #[inline(always)]
    pub(super) fn take_row(&mut self, die: u32) -> u32 {
        let record = &mut self.dies[die as usize];
        let first = record.victim * ROWS;
        // What lies behind the cursor was overwritten or moved.
        while self.rows[(first + record.row) as usize] == 0 {
            record.row += 1;
        }
        record.held_row = first + record.row;
        record.held = self.rows[record.held_row as usize];
        let mut units = record.held;
        while units != 0 {
            let lpn = self.reverse.get(record.held_row * UNITS + units.trailing_zeros());
            self.map.0.prefetch(lpn as usize);
            units &= units - 1;
        }
        (0..UNITS / UNITS_OF_PLANE).filter(|plane| record.held >> (plane * UNITS_OF_PLANE) & 15 != 0).count() as u32
    }

    /// The units that were read and are valid still go to the frontier of copies. Returns whether they complete a row.
    #[inline(always)]
    pub(super) fn place_copies(&mut self, die: u32) -> bool {
        let (row, victim) = (self.dies[die as usize].held_row, self.dies[die as usize].victim);
        let mut units = std::mem::take(&mut self.dies[die as usize].held) & self.rows[row as usize];
        self.rows[row as usize] = 0;
        self.valid[victim as usize] -= units.count_ones() as u16;
        self.counts.moved += u64::from(units.count_ones());
        let mut is_complete = false;
        let mut to = self.dies[die as usize].copies;
        while units != 0 {
            if to == NONE {
                to = self.open(die);
            }
            let from = row * UNITS + units.trailing_zeros();
            units &= units - 1;
            let lpn = self.reverse.get(from);
            let word = self.map.get(lpn);
            if word & IN_BUFFER == 0 {
                self.map.set(lpn, to);
            } else {
                self.ring[(word & !IN_BUFFER) as usize].1 = to;
            }
            self.reverse.set(to, lpn);
            self.rows[(to / UNITS) as usize] |= 1 << (to % UNITS);
            self.valid[(to / SLOTS) as usize] += 1;
            to += 1;
            if to.is_multiple_of(UNITS) {
                is_complete = true;
                to = self.end_row(to);
            }
        }
        self.dies[die as usize].copies = to;
        is_complete
    }

    /// The slot behind a row of copies: none if it was the last one.
    #[inline(always)]
    pub(super) fn end_row(&mut self, to: u32) -> u32 {
        self.counts.rows += 1;
        if !to.is_multiple_of(SLOTS) {
            return to;
        }
        self.valid[(to / SLOTS - 1) as usize] -= NOT_CLOSED;
        NONE
    }

    /// The last row of copies from a victim is filled up with dummy units before its erase. Returns whether there is one.
    pub(super) fn fill_up(&mut self, die: u32) -> bool {
        let to = self.dies[die as usize].copies;
        if to == NONE || to.is_multiple_of(UNITS) {
            return false;
        }
        let end = to.next_multiple_of(UNITS);
        self.counts.padded += u64::from(end - to);
        self.dies[die as usize].copies = self.end_row(end);
        true
    }

    pub(super) fn erased(&mut self, die: u32) {
        let record = &mut self.dies[die as usize];
        let victim = std::mem::replace(&mut record.victim, NONE);
        (record.is_collecting, record.line) = (false, 0);
        record.free.push(victim);
        let is_short = record.host == NONE && record.free.len() <= self.facts.reserve as usize;
        self.valid[victim as usize] = NOT_CLOSED;
        self.erases[victim as usize] += 1;
        self.counts.erases += 1;
        if is_short {
            self.make_room(die);
        }
    }
}
