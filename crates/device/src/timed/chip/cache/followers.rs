//! The commands that follow on those of dies: where each is, and when a program may follow.

use base::{Die, Duration, Instant, OpKind};

use crate::timed::command::Command;

/// Where the command is that follows on another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// There is none.
    None,
    /// It waits for the channel, for its cycles and its data.
    Waits,
    /// The channel carries them.
    Transfers,
    /// Of a read: the array works on it.
    Array,
    /// Its data are in a register: of a program all is there that the array needs, of a read all that goes out.
    Ready,
}

/// The command that follows on that of a die.
#[derive(Clone, Copy)]
struct Follower {
    stage: Stage,
    /// True if the die's command is one that followed on another one, and its array has not begun with it.
    has_followed: bool,
    /// True if a timer runs until a program may follow.
    is_timed: bool,
    /// When the data of a next program may set out, at the earliest.
    opens: Instant,
    command: Command,
}

/// The commands that follow, of all dies.
pub(super) struct Followers {
    /// By kind of operation, the time between two of them.
    busy: [Option<Duration>; 3],
    /// How long before the end of a program the next one is chosen: as long as its data take at most.
    lead: Duration,
    /// By die; empty where there is no cache mode.
    followers: Vec<Follower>,
}

impl Followers {
    /// Bytes for each die.
    pub(super) const BYTES_OF_DIE: usize = size_of::<Follower>();

    /// `busy`: by kind of operation, the time between two of them; `lead`: the time that the data of the largest program take. No dies
    /// where there is no cache mode.
    pub(super) fn new(busy: [Option<Duration>; 3], dies: u32, lead: Duration) -> Followers {
        let none = Follower {
            stage: Stage::None,
            has_followed: false,
            is_timed: false,
            opens: Instant::ZERO,
            command: Command::NONE,
        };
        Followers { busy, lead, followers: vec![none; dies as usize] }
    }

    /// True if there is any cache mode on this device.
    #[inline]
    pub(super) fn are_on(&self) -> bool {
        !self.followers.is_empty()
    }

    /// True if commands of that kind follow on each other.
    #[inline]
    pub(super) fn concern(&self, kind: OpKind) -> bool {
        self.busy[kind as usize].is_some()
    }

    /// True if a command may follow on this one as far as its kind goes. A copyback needs both registers of a plane.
    pub(super) fn may_follow(&self, command: &Command) -> bool {
        self.concern(command.kind()) && command.sources().is_empty()
    }

    /// Where the command is that follows on that of a die.
    #[inline]
    pub(super) fn stage(&self, die: Die) -> Stage {
        self.followers.get(die.index()).map_or(Stage::None, |follower| follower.stage)
    }

    /// It is there now.
    pub(super) fn set_stage(&mut self, die: Die, stage: Stage) {
        self.followers[die.index()].stage = stage;
    }

    /// The command that follows on that of a die, or would.
    pub(super) fn command(&self, die: Die) -> &Command {
        &self.followers[die.index()].command
    }

    /// Where it is built.
    pub(super) fn command_mut(&mut self, die: Die) -> &mut Command {
        &mut self.followers[die.index()].command
    }

    /// It is the die's command from now on. Returns it, and where it is.
    pub(super) fn take(&mut self, die: Die) -> (&Command, Stage) {
        let follower = &mut self.followers[die.index()];
        follower.has_followed = follower.command.kind() == OpKind::Program;
        let stage = std::mem::replace(&mut follower.stage, Stage::None);
        (&follower.command, stage)
    }

    /// The time that an array takes besides for a program that followed on another one; asked for when it begins.
    pub(super) fn take_busy(&mut self, die: Die) -> Duration {
        let follower = self.followers.get_mut(die.index());
        let has_followed = follower.is_some_and(|follower| std::mem::take(&mut follower.has_followed));
        if has_followed { self.busy(OpKind::Program) } else { Duration::ZERO }
    }

    /// The time between two operations of that kind.
    pub(super) fn busy(&self, kind: OpKind) -> Duration {
        self.busy[kind as usize].unwrap_or(Duration::ZERO)
    }
}

// When a program may follow.
impl Followers {
    /// A die's array programs in that time. Returns when a timer has to end, after which the next program is chosen, unless one
    /// runs.
    ///
    /// The next program is chosen as late as its data can still come in time: what its die does until then, a read that comes
    /// or more pages for its planes, is decided as it is without cache programs.
    pub(super) fn program_runs(&mut self, die: Die, (from, until): (Instant, Instant)) -> Option<Instant> {
        let follower = &mut self.followers[die.index()];
        follower.opens = from.max(Instant(until.0.saturating_sub(self.lead.0)));
        (!std::mem::replace(&mut follower.is_timed, true)).then_some(follower.opens)
    }

    /// The timer ended. Returns when it has to end again, if the program ends later than it would have.
    pub(super) fn timer_ended(&mut self, die: Die, now: Instant) -> Option<Instant> {
        let follower = &mut self.followers[die.index()];
        follower.is_timed = follower.opens > now;
        follower.is_timed.then_some(follower.opens)
    }

    /// True if the data of a next program may set out now.
    pub(super) fn is_open(&self, die: Die, now: Instant) -> bool {
        self.followers[die.index()].opens <= now
    }
}
