//! Dies and channels: what they do, and for how long.

use super::*;

impl DriveFloor {
    /// A die that does nothing begins what presses most.
    #[inline(always)]
    pub(super) fn choose(&mut self, die: u32) {
        let presses = self.waiting() >= UNITS;
        let record = &mut self.dies[die as usize];
        record.state = DieState::Idle;
        if record.first != NOBODY {
            let (now, is_passed_over) = (self.now, record.is_collecting && presses);
            if !is_passed_over || record.passed == 0 || now - record.passed < self.facts.times.max_wait {
                record.passed = match is_passed_over {
                    true if record.passed != 0 => record.passed,
                    true => now,
                    false => 0,
                };
                return self.read(die);
            }
        }
        while self.dies[die as usize].is_collecting {
            if self.collect(die) {
                return;
            }
        }
        if self.dies[die as usize].first != NOBODY {
            return self.read(die);
        }
        self.idle |= 1 << die;
        self.events.set(die, NEVER);
    }

    /// The next step of a collection. Returns whether it takes time; if not, the die chooses again.
    #[inline(always)]
    pub(super) fn collect(&mut self, die: u32) -> bool {
        let record = &mut self.dies[die as usize];
        if record.held != 0 {
            if record.ready > self.now {
                let ready = record.ready;
                self.events.set(die, ready);
                return true;
            }
            if !self.place_copies(die) {
                return false;
            }
            self.begin(die, Operation::CopyProgram);
            return true;
        }
        if self.may_stop(die) {
            self.dies[die as usize].is_collecting = false;
            return false;
        }
        if self.valid_of(self.dies[die as usize].victim) > 0 {
            let planes = self.take_row(die);
            self.dies[die as usize].state = DieState::CopyRead;
            self.ask(die, true, planes);
        } else if self.fill_up(die) {
            self.begin(die, Operation::CopyProgram);
        } else {
            self.begin(die, Operation::Erase);
        }
        true
    }

    #[inline(always)]
    pub(super) fn begin(&mut self, die: u32, operation: Operation) {
        let record = &mut self.dies[die as usize];
        (record.state, record.operation, record.suspends) = (DieState::Sends, operation, 0);
        self.ask(die, operation == Operation::Erase, UNITS / UNITS_OF_PLANE);
    }

    /// A die reads for the host.
    #[inline(always)]
    pub(super) fn read(&mut self, die: u32) {
        self.idle &= !(1 << die);
        let record = &mut self.dies[die as usize];
        record.reading = record.first;
        record.first = self.requests[usize::from(record.first)].next;
        record.state = DieState::Read;
        self.ask(die, true, 1);
    }

    /// A die asks for its channel; commands without data go before data.
    #[inline(always)]
    pub(super) fn ask(&mut self, die: u32, is_command: bool, planes: u32) {
        self.planes[die as usize] = planes;
        let channel = die % CHANNELS;
        let record = &mut self.channels[channel as usize];
        if self.now >= record.until && record.commands.count + record.data.count == 0 {
            return self.grant(die);
        }
        if record.commands.count + record.data.count == 0 {
            self.events.set(DIES + channel, record.until);
        }
        if is_command {
            record.commands.push(die)
        } else {
            record.data.push(die)
        }
        self.events.set(die, NEVER);
    }

    /// A channel is free, and dies wait for it.
    #[inline(always)]
    pub(super) fn release(&mut self, channel: u32) {
        let record = &mut self.channels[channel as usize];
        let die = record.commands.pop().or_else(|| record.data.pop()).expect("a die that waits");
        let is_last = record.commands.count + record.data.count == 0;
        self.grant(die);
        let until = if is_last { NEVER } else { self.channels[channel as usize].until };
        self.events.set(DIES + channel, until);
    }

    #[inline(always)]
    pub(super) fn through_dram(&mut self, units: u32) -> u64 {
        self.dram = self.dram.max(self.now) + self.facts.times.dram * u64::from(units);
        self.dram
    }

    /// A die has its channel. The end of what it sends is known, and so is that of what its array does then.
    #[inline(always)]
    pub(super) fn grant(&mut self, die: u32) {
        let DriveTimes { read, program, erase, command, row_in, unit_out, .. } = self.facts.times;
        let DieRecord { state, operation, held, .. } = self.dies[die as usize];
        let (now, cycles) = (self.now, command * u64::from(self.planes[die as usize]));
        let until = match (state, operation) {
            (DieState::Read | DieState::CopyRead, _) => now + cycles,
            (DieState::ReadOut, _) => (now + unit_out).max(self.through_dram(1)),
            (DieState::CopyOut, _) => {
                let units = held.count_ones();
                (now + unit_out * u64::from(units)).max(self.through_dram(units))
            }
            (_, Operation::Erase) => now + cycles,
            _ => (now + row_in).max(self.through_dram(UNITS)),
        };
        self.channels[(die % CHANNELS) as usize].until = until;
        match state {
            DieState::Read | DieState::CopyRead => {
                self.events.set(die, until + read);
            }
            DieState::ReadOut | DieState::CopyOut => self.events.set(die, until),
            _ => {
                let takes = if operation == Operation::Erase { erase } else { program };
                let record = &mut self.dies[die as usize];
                (record.state, record.from, record.until) = (DieState::Works, until, until + takes);
                self.events.set(die, until + takes);
                if record.first != NOBODY {
                    self.suspend(die);
                }
            }
        }
    }

    /// Reads wait for a die whose array works on what may be suspended: now, or as soon as the chip takes that.
    #[inline(always)]
    pub(super) fn suspend(&mut self, die: u32) {
        let record = &mut self.dies[die as usize];
        let limits = &self.facts.times.suspends[usize::from(record.operation == Operation::Erase)];
        let at = self.now.max(record.from + limits.interval.0);
        if record.suspends >= limits.most || at + limits.latency.0 >= record.until {
            return;
        }
        if at > self.now {
            record.state = DieState::Awaits;
            return self.events.set(die, at);
        }
        record.state = DieState::Stops;
        record.suspends += 1;
        record.rest = record.until - at;
        self.counts.suspends += 1;
        self.events.set(die, at + limits.latency.0);
    }

    /// Starts the next work of a die whose operation is suspended: a read that waits, or else the rest of that
    /// operation.
    #[inline(always)]
    pub(super) fn go_on(&mut self, die: u32) {
        if self.dies[die as usize].first != NOBODY {
            return self.read(die);
        }
        let record = &mut self.dies[die as usize];
        let limits = &self.facts.times.suspends[usize::from(record.operation == Operation::Erase)];
        record.from = self.now + limits.resume.0;
        record.until = record.from + record.rest;
        (record.state, record.is_suspended) = (DieState::Works, false);
        let until = record.until;
        self.events.set(die, until);
    }

    /// The event of a die.
    #[inline(always)]
    pub(super) fn happen(&mut self, die: u32) {
        let record = &mut self.dies[die as usize];
        match record.state {
            DieState::Idle => self.choose(die),
            DieState::Read => {
                record.state = DieState::ReadOut;
                self.ask(die, false, 0);
            }
            DieState::CopyRead => {
                record.state = DieState::CopyOut;
                self.ask(die, false, 0);
            }
            DieState::ReadOut => {
                let id = record.reading;
                if record.is_suspended {
                    self.go_on(die)
                } else {
                    self.choose(die)
                }
                self.answer(id);
            }
            DieState::CopyOut => {
                record.ready = self.now + self.facts.times.correction;
                self.choose(die);
            }
            DieState::Awaits => {
                record.state = DieState::Works;
                self.suspend(die);
            }
            DieState::Stops => {
                record.is_suspended = true;
                self.go_on(die);
            }
            DieState::Works => {
                match record.operation {
                    Operation::HostProgram => {
                        self.fill -= UNITS;
                        self.accept();
                    }
                    Operation::Erase => self.erased(die),
                    Operation::CopyProgram => {}
                }
                self.choose(die);
            }
            DieState::Sends => unreachable!("it has no event"),
        }
    }
}
