//! The operations of dies that may be suspended: which may be, when, and what is left of it.

use base::{Block, Die, Domain, Duration, Instant, OpKind, Page, Ppn, Slot, SuspendLimits, Unit};

use crate::flash::Flash;
use crate::timed::command::{Carried, Command, MAX_PLANES};
use crate::timed::timing::Line;

/// Where the program or erase of a die is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There is none, or it may not be suspended.
    None,
    /// The array works on it, or will when its data have come.
    Runs,
    /// As before, and a timer ends when it may be suspended.
    Awaited,
    /// It is suspended, and the array does not take reads yet.
    Stops,
    /// It is suspended.
    Suspended,
}

/// The program or erase of a die that may be suspended.
#[derive(Clone, Copy)]
struct Operation {
    state: State,
    /// Suspends so far.
    suspends: u32,
    /// When the array began with it, or went on.
    from: Instant,
    /// When it ends if it is not suspended.
    until: Instant,
    /// The line of timers of that end.
    line: Line,
    /// The time that it still takes, while it is suspended.
    rest: Duration,
    /// Programs that went before it since it was suspended.
    programs: u32,
    /// The pages of the units that it is on and of those between, as far as that was looked up.
    units: (Ppn, Ppn),
    command: Command,
}

impl Operation {
    const NONE: Operation = Operation {
        state: State::None,
        suspends: 0,
        from: Instant::ZERO,
        until: Instant::ZERO,
        line: Line::ARRIVAL,
        rest: Duration::ZERO,
        programs: 0,
        units: (Ppn(0), Ppn(0)),
        command: Command::NONE,
    };
}

/// When an operation can be suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// Now.
    Now,
    /// When the array has worked for long enough.
    At(Instant),
    /// Not any more: it was too often, or ends before the array would take reads.
    Never,
}

/// The programs and erases of all dies that may be suspended.
pub(super) struct Operations {
    /// By kind of operation.
    limits: [Option<SuspendLimits>; 3],
    /// By die; empty where nothing is suspended.
    operations: Vec<Operation>,
    /// By die, where its operation works; empty until somebody wants to know.
    places: Vec<Vec<(Block, Page)>>,
    /// By die, a program whose pages gathered while it erased, and which goes before what is left of that or behind it.
    ready: Vec<Option<Command>>,
}

impl Operations {
    /// Bytes for each die.
    pub(super) const BYTES_OF_DIE: usize = size_of::<Operation>()
        + size_of::<Vec<(Block, Page)>>()
        + MAX_PLANES * size_of::<(Block, Page)>()
        + size_of::<Option<Command>>();

    /// `dies`: none where nothing is suspended.
    pub(super) fn new(limits: [Option<SuspendLimits>; 3], dies: u32) -> Operations {
        let (places, ready) = (vec![Vec::new(); dies as usize], vec![None; dies as usize]);
        Operations { limits, operations: vec![Operation::NONE; dies as usize], places, ready }
    }

    /// True if a die has an operation that is suspended or may be.
    #[inline]
    pub(super) fn has(&self, die: Die) -> bool {
        self.operations.get(die.index()).is_some_and(|it| it.state != State::None)
    }

    /// The limits of a die's operation.
    fn limits(&self, die: Die) -> SuspendLimits {
        self.limits[self.operations[die.index()].command.kind() as usize].expect("it may be suspended")
    }

    /// True if the next command of a die may be suspended. A copyback is not: the page that it read lies in the
    /// register that reads need. Nor is a program beside what is suspended itself.
    #[inline]
    pub(super) fn concern(&self, die: Die, command: &Command) -> bool {
        self.limits[command.kind() as usize].is_some() && command.sources().is_empty() && !self.is_suspended(die)
    }

    /// True if pages of the host may be programmed before the operation that a die's array works on or has suspended.
    /// Such an operation is an erase, and has let fewer programs by than it may.
    pub(super) fn let_writes_by(&self, die: Die) -> bool {
        self.operations.get(die.index()).is_some_and(|it| {
            let limits = self.limits[it.command.kind() as usize];
            let has_let = if it.state == State::Suspended { it.programs } else { 0 };
            it.state != State::None && limits.is_some_and(|limits| has_let < limits.programs)
        })
    }

    /// A program goes before what is suspended.
    pub(super) fn note_program(&mut self, die: Die) {
        self.operations[die.index()].programs += 1;
    }

    /// A program is ready for a die that erases.
    pub(super) fn make_ready(&mut self, die: Die, program: &Command) {
        self.ready[die.index()] = Some(*program);
    }

    /// There may be such programs: erases let writes by.
    pub(super) fn have_ready(&self) -> bool {
        !self.operations.is_empty() && self.limits[OpKind::Erase as usize].is_some_and(|limits| limits.programs > 0)
    }

    /// True if there is one.
    pub(super) fn has_ready(&self, die: Die) -> bool {
        self.ready.get(die.index()).is_some_and(Option::is_some)
    }

    /// The die takes it.
    pub(super) fn take_ready(&mut self, die: Die) -> Option<Command> {
        self.ready.get_mut(die.index())?.take()
    }

    /// True if it programs that page, which is in the controller until then.
    pub(super) fn is_ready(&self, die: Die, ppn: Ppn) -> bool {
        let ready = self.ready.get(die.index()).and_then(Option::as_ref);
        ready.is_some_and(|program| program.ppns().any(|of| of == ppn))
    }

    /// True if the operation that a die's array works on or has suspended is for that domain.
    pub(super) fn is_for(&self, die: Die, domain: Domain) -> bool {
        let Some(operation) = self.operations.get(die.index()).filter(|it| it.state != State::None) else {
            return false;
        };
        let items = operation.command.items();
        items.iter().any(|item| matches!(item.carried, Carried::Domain(of) if of == domain))
    }

    /// The array of a die begins with a command that may be suspended.
    #[inline(never)]
    pub(super) fn begin(&mut self, die: Die, command: &Command, (from, until): (Instant, Instant), line: Line) {
        self.places[die.index()].clear();
        // In place, since a command is long.
        let operation = &mut self.operations[die.index()];
        (operation.state, operation.suspends, operation.programs) = (State::Runs, 0, 0);
        (operation.from, operation.until, operation.line, operation.rest) = (from, until, line, Duration::ZERO);
        operation.command = *command;
    }

    /// Looks up where the operation of a die works, before somebody asks what it bars: most operations are over before that.
    #[inline]
    pub(super) fn find_places(&mut self, flash: &Flash, die: Die) {
        let places = &mut self.places[die.index()];
        if places.is_empty() {
            let Operation { command, units, .. } = &mut self.operations[die.index()];
            let geometry = flash.geometry();
            flash.places_of(command.first_parts(geometry), places);
            let [least, most] =
                [command.ppns().min(), command.ppns().max()].map(|ppn| ppn.expect("pages of a command"));
            let first_of = |unit: Unit| geometry.ppn(unit, Slot::FIRST);
            let last = Ppn(first_of(geometry.unit_of(most)).0 + geometry.unit_slots() - 1);
            *units = (first_of(geometry.unit_of(least)), last);
        }
    }

    /// True if a die's array works on an operation that may be suspended.
    #[inline]
    pub(super) fn runs(&self, die: Die) -> bool {
        self.operations.get(die.index()).is_some_and(|it| matches!(it.state, State::Runs | State::Awaited))
    }

    /// True if a timer ends when it may be.
    #[inline]
    pub(super) fn is_awaited(&self, die: Die) -> bool {
        self.operations[die.index()].state == State::Awaited
    }

    /// True if an operation of a die is suspended.
    #[inline]
    pub(super) fn is_suspended(&self, die: Die) -> bool {
        self.operations.get(die.index()).is_some_and(|it| matches!(it.state, State::Stops | State::Suspended))
    }

    /// If the array of a die was about to stop: it takes reads from now on.
    pub(super) fn stop(&mut self, die: Die) -> bool {
        let operation = &mut self.operations[die.index()];
        let was_about = operation.state == State::Stops;
        if was_about {
            operation.state = State::Suspended;
        }
        was_about
    }

    /// An operation of a die is suspended, and the array takes reads.
    pub(super) fn has_stopped(&self, die: Die) -> bool {
        self.operations[die.index()].state == State::Suspended
    }

    /// The command of a die that is suspended.
    pub(super) fn suspended(&self, die: Die) -> Option<&Command> {
        self.is_suspended(die).then(|| &self.operations[die.index()].command)
    }

    /// When the operation that a die's array works on can be suspended.
    pub(super) fn when(&self, die: Die, now: Instant) -> When {
        let (Operation { suspends, from, until, .. }, limits) = (&self.operations[die.index()], self.limits(die));
        let at = limits.between_steps(now.max(*from + limits.interval), *until);
        if *suspends >= limits.most || at + limits.latency >= *until {
            When::Never
        } else if at > now {
            When::At(at)
        } else {
            When::Now
        }
    }

    /// A timer ends when the operation of a die may be suspended, in place of that of its end. Returns the line of that, unless
    /// such a timer runs already.
    pub(super) fn wait(&mut self, die: Die) -> Option<Line> {
        let operation = &mut self.operations[die.index()];
        let was = std::mem::replace(&mut operation.state, State::Awaited);
        (was == State::Runs).then_some(operation.line)
    }

    /// If the timer that has ended was such a one: the time and the line of the operation's end.
    pub(super) fn end_wait(&mut self, die: Die) -> Option<(Instant, Line)> {
        let operation = &mut self.operations[die.index()];
        if operation.state != State::Awaited {
            return None;
        }
        operation.state = State::Runs;
        Some((operation.until, operation.line))
    }

    /// The operation of a die is suspended. Returns the line of its end, since when the array worked on it, and how long it takes
    /// until the array takes reads.
    pub(super) fn suspend(&mut self, die: Die, now: Instant) -> (Line, Instant, Duration) {
        let latency = self.limits(die).latency;
        let operation = &mut self.operations[die.index()];
        assert!(operation.state == State::Runs && operation.until > now, "nothing to suspend");
        (operation.state, operation.rest) = (State::Stops, operation.until - now);
        operation.suspends += 1;
        operation.programs = 0;
        (operation.line, operation.from, latency)
    }

    /// The operation of a die is resumed. Returns its command, the time of the resume, and when the operation ends.
    pub(super) fn resume(&mut self, die: Die, now: Instant, line: Line) -> (&Command, Duration, Instant) {
        let resume = self.limits(die).resume;
        let operation = &mut self.operations[die.index()];
        assert!(operation.state == State::Suspended, "nothing to resume");
        (operation.state, operation.from, operation.line) = (State::Runs, now + resume, line);
        operation.until = operation.from + operation.rest;
        (&operation.command, resume, operation.until)
    }

    /// The operation of a die is done. Returns since when the array worked on it.
    pub(super) fn end(&mut self, die: Die) -> Instant {
        let operation = &mut self.operations[die.index()];
        operation.state = State::None;
        operation.from
    }

    /// True if all operations have ended.
    pub(super) fn are_over(&self) -> bool {
        let are_none = self.operations.iter().all(|operation| operation.state == State::None);
        are_none && self.ready.iter().all(Option::is_none)
    }

    /// True if a page cannot be read before the operation of its die has ended.
    #[inline]
    pub(super) fn bar(&self, flash: &Flash, die: Die, ppn: Ppn) -> bool {
        let Some(operation) = self.operations.get(die.index()).filter(|it| it.state != State::None) else {
            return false;
        };
        debug_assert!(!self.places[die.index()].is_empty(), "an operation whose places nobody has found");
        // Most pages are of other units.
        let (first, last) = operation.units;
        first <= ppn
            && ppn <= last
            && !flash.may_read_while_suspended((operation.command.kind(), &self.places[die.index()]), ppn)
    }

    /// Has the array confirm that a die takes a command beside the operation that is suspended.
    pub(super) fn check(&self, flash: &Flash, die: Die, beside: &Command) {
        if self.is_suspended(die) {
            let suspended = (self.operations[die.index()].command.kind(), self.places[die.index()].as_slice());
            flash.check_while_suspended(suspended, beside.kind(), beside.ppns());
        }
    }
}
