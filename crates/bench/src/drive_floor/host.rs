//! The host, the way to the device and back, and the buffer.

use super::*;

impl DriveFloor {
    /// Runs so many requests, in a closed loop.
    #[inline(never)]
    pub(super) fn run(&mut self, requests: u64) {
        let end = self.counts.reads + self.counts.writes + requests;
        if self.counts.events == 0 {
            (0..self.facts.depth).for_each(|id| self.send(id as u8));
        }
        while self.counts.reads + self.counts.writes < end {
            self.now = self.events.first().0;
            loop {
                let leaf = self.events.first().1;
                self.counts.events += 1;
                match leaf {
                    0..DIES => self.happen(leaf),
                    DIES..COMING => self.release(leaf - DIES),
                    COMING => self.come(),
                    _ => self.go(),
                }
                if self.events.first().0 != self.now {
                    break;
                }
            }
            self.offer_rows();
        }
    }

    /// The host sends its next request, in the place of one that is complete.
    #[inline(always)]
    pub(super) fn send(&mut self, id: u8) {
        let lpn = self.draw();
        let is_read = self.read_share > 0 && self.random() < self.read_share;
        self.map.0.prefetch(lpn as usize);
        self.requests[usize::from(id)] = RequestRecord { sent: self.now, lpn, is_read, next: NOBODY };
        let begins = self.controller.max(self.now);
        self.controller = begins + self.facts.times.interval;
        let at = begins + self.facts.times.controller + if is_read { 0 } else { self.facts.times.link };
        if self.coming.is_empty() {
            self.events.set(COMING, at);
        }
        self.coming.push_back((at, id));
    }

    /// The next request comes to the device.
    #[inline(always)]
    pub(super) fn come(&mut self) {
        let (_, id) = self.coming.pop_front().expect("a request on its way");
        self.events.set(COMING, self.coming.front().map_or(NEVER, |&(at, _)| at));
        let RequestRecord { lpn, is_read, .. } = self.requests[usize::from(id)];
        if !is_read {
            self.writes.push_back(id);
            return self.accept();
        }
        let word = self.map.get(lpn);
        if word & IN_BUFFER != 0 {
            return self.answer(id);
        }
        let die = word / SLOTS / self.facts.superblocks;
        let record = &mut self.dies[die as usize];
        match record.first {
            NOBODY => record.first = id,
            _ => self.requests[usize::from(record.last)].next = id,
        }
        record.last = id;
        match record.state {
            DieState::Idle => self.choose(die),
            DieState::Works => self.suspend(die),
            _ => {}
        }
    }

    /// Data of a read begin their way through correction and link.
    #[inline(always)]
    pub(super) fn answer(&mut self, id: u8) {
        self.link_out = self.link_out.max(self.now + self.facts.times.correction) + self.facts.times.link;
        if self.going.is_empty() {
            self.events.set(GOING, self.link_out);
        }
        self.going.push_back((self.link_out, id));
    }

    /// A read is complete.
    #[inline(always)]
    pub(super) fn go(&mut self) {
        let (_, id) = self.going.pop_front().expect("data on their way");
        self.events.set(GOING, self.going.front().map_or(NEVER, |&(at, _)| at));
        self.counts.reads += 1;
        self.latencies[0].record(self.now - self.requests[usize::from(id)].sent);
        self.send(id);
    }

    /// Writes enter the buffer, as far as there is room.
    #[inline(always)]
    pub(super) fn accept(&mut self) {
        while let Some(&id) = self.writes.front() {
            let RequestRecord { lpn, sent, .. } = self.requests[usize::from(id)];
            if self.map.get(lpn) & IN_BUFFER != 0 {
                self.counts.hits += 1;
            } else if self.fill < self.facts.buffer {
                self.buffer(lpn);
            } else {
                return;
            }
            self.writes.pop_front();
            self.counts.writes += 1;
            self.latencies[1].record(self.now - sent);
            self.send(id);
        }
    }

    /// A unit enters the buffer, where it was not.
    #[inline(always)]
    pub(super) fn buffer(&mut self, lpn: u32) {
        let at = self.tail & (self.facts.buffer - 1);
        self.ring[at as usize] = (lpn, self.map.get(lpn));
        self.map.set(lpn, IN_BUFFER | at);
        self.tail = self.tail.wrapping_add(1);
        self.fill += 1;
    }

    #[inline(always)]
    pub(super) fn waiting(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }

    /// Idle dies take rows from the buffer, in turn.
    #[inline(always)]
    pub(super) fn offer_rows(&mut self) {
        while self.idle != 0 && self.waiting() >= UNITS {
            let behind = self.idle >> self.turn << self.turn;
            let die = if behind != 0 { behind.trailing_zeros() } else { self.idle.trailing_zeros() };
            self.turn = (die + 1) % DIES;
            self.idle &= !(1 << die);
            self.place_row(die);
            self.dies[die as usize].passed = 0;
            self.begin(die, Operation::HostProgram);
        }
    }
}
