//! A model of the buffer beside it, over random orders of events.

use base::ParamValue;
use engine::Chance;

use super::*;

const LANES: u32 = 2;
const LPNS: u32 = 12;
const QUEUES: u32 = 3;

/// A buffer of so many pages, of three queues that program a page each at a time, beside what it should do.
struct Model {
    buffer: Buffer,
    early: bool,
    /// By LPN, the versions accepted and programmed last.
    accepted: Vec<u32>,
    programmed: Vec<u32>,
    /// By queue, the pages handed to it, in order; whether the first is being programmed, with which version,
    /// and whether its data are in the chip.
    handed: Vec<std::collections::VecDeque<u32>>,
    programming: Vec<Option<(u32, bool)>>,
    versions: u32,
}

impl Model {
    fn new(policy: &str, params: [(&'static str, ParamValue); 3]) -> Model {
        let mut selection = Selection::default_of(SEAM.find(policy).expect("a choice"));
        params.iter().for_each(|(name, value)| selection.set(name, *value));
        let shape = BufferShape { queues: QUEUES, channels: vec![0, 1, 1], planes: QUEUES, row: 1 };
        let mut buffer = Buffer::new(&selection, Parts::new(LANES, 512), shape);
        buffer.flushing = true;
        let none = || vec![0; LPNS as usize];
        Model {
            early: buffer.releases_early(),
            buffer,
            accepted: none(),
            programmed: none(),
            handed: vec![Default::default(); QUEUES as usize],
            programming: vec![None; QUEUES as usize],
            versions: 0,
        }
    }

    /// Takes a random step of the host or of a die, if it can be taken now.
    fn step(&mut self, random: &mut Chance) {
        let queue = Queue::new(random.below_u32(QUEUES));
        let (lpn, at) = (Lpn(random.below_u32(LPNS)), queue.index());
        match random.below(5) {
            0 | 1 => self.accept(lpn, random.below(3) == 0),
            2 => self.hand_over(queue),
            3 => self.go_on_programming(at),
            _ => self.end_program(at),
        }
    }

    fn hand_over(&mut self, queue: Queue) {
        if let Some(page) = self.buffer.next_of(queue) {
            self.buffer.hand_over(page, 7);
            self.handed[queue.index()].push_back(page);
        }
    }

    /// Begins a program, or ends its transfer.
    fn go_on_programming(&mut self, queue: usize) {
        let Some(&page) = self.handed[queue].front() else { return };
        let version = self.buffer.page(page).version;
        match self.programming[queue] {
            None => {
                self.buffer.begin_program(page);
                self.programming[queue] = Some((version, false));
            }
            Some((version, false)) => {
                if self.early {
                    self.buffer.release(page);
                }
                self.programming[queue] = Some((version, true));
            }
            Some((_, true)) => {}
        }
    }

    fn accept(&mut self, lpn: Lpn, hurries: bool) {
        let written = self.buffer.pieces.written(lpn, false, 0, 0, 0);
        let version = self.versions + 1;
        let page = match self.buffer.find_open(lpn) {
            Some(page) => {
                self.buffer.merge(page, version, written);
                page
            }
            None if self.buffer.room() == 0 => return,
            None => self.buffer.insert(lpn, version, written, Queue::new(lpn.0 % QUEUES)),
        };
        if hurries {
            self.buffer.hurry(page);
        }
        (self.versions, self.accepted[lpn.index()]) = (version, version);
    }

    fn end_program(&mut self, queue: usize) {
        let Some((version, true)) = self.programming[queue] else { return };
        self.programming[queue] = None;
        let page = self.handed[queue].pop_front().expect("a page is programmed");
        let left = self.buffer.remove(page);
        assert_eq!(left.version, version, "a page that is being programmed does not change");
        let before = std::mem::replace(&mut self.programmed[left.lpn.index()], version);
        assert!(before < version, "version {version} of LPN {} comes after {before}", left.lpn.0);
    }

    fn check(&self) {
        for lpn in 0..LPNS as usize {
            let found = self.buffer.find(Lpn(lpn as u32)).map(|page| self.buffer.page(page).version);
            let waits = self.accepted[lpn] > self.programmed[lpn];
            assert_eq!(found, waits.then_some(self.accepted[lpn]), "the newest version is found until programmed");
        }
        let released = self.programming.iter().filter(|state| self.early && matches!(state, Some((_, true)))).count();
        assert_eq!(self.buffer.unprogrammed() - released as u32, self.buffer.capacity() - self.buffer.room());
        assert_eq!(self.buffer.dirty().iter().sum::<u32>(), self.buffer.capacity() - self.buffer.room());
    }
}

#[test]
fn no_write_of_a_page_is_lost_or_overtaken() {
    let mut most = [0; 2];
    for seed in 0..400u64 {
        let mut random = Chance::new(seed, "buffer");
        let capacity = 1 + random.below(5);
        let params = [
            ("size", ParamValue::Size(capacity * u64::from(LANES) * 512)),
            ("order", ["channel", "global"][(seed / 2 % 2) as usize].into()),
            ("release", ["programmed", "transferred"][(seed % 2) as usize].into()),
        ];
        let policies = &SEAM.choices[1..];
        let mut model = Model::new(policies[seed as usize / 4 % policies.len()].name, params);
        for _ in 0..400 {
            model.step(&mut random);
            model.check();
            let beyond = model.buffer.unprogrammed().saturating_sub(model.buffer.capacity());
            most[seed as usize % 2] = most[seed as usize % 2].max(beyond);
        }
        // A flush makes everything leave.
        model.buffer.flushing = false;
        model.buffer.flush();
        while model.buffer.unprogrammed() > 0 {
            for queue in (0..QUEUES).map(Queue::new) {
                model.hand_over(queue);
                model.go_on_programming(queue.index());
                model.end_program(queue.index());
                model.check();
            }
        }
        assert_eq!(model.programmed, model.accepted, "seed {seed}");
        assert_eq!((model.buffer.unprogrammed(), model.buffer.room()), (0, model.buffer.capacity()));
    }
    assert_eq!(most, [0, QUEUES], "only what is in the chips goes beyond the buffer, and all of it does");
}
