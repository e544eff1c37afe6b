//! The pages of a die that could not be corrected, and how often each has to be read yet.

use base::{Cause, OpKind};

use crate::timed::command::{Command, Item};

/// How often a page has to be read yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) reads: u8,
    /// It cannot be corrected even then.
    pub(super) is_uncorrectable: bool,
}

impl Left {
    const NOTHING: Left = Left { reads: 0, is_uncorrectable: false };
}

/// Pages of one command that are read again together.
#[derive(Clone, Copy)]
struct PagesAgain {
    command: Command,
    /// By page, how often it has to be read after that.
    after: [Left; ftl::MAX_PAGES],
}

impl PagesAgain {
    const NONE: PagesAgain = PagesAgain { command: Command::NONE, after: [Left::NOTHING; ftl::MAX_PAGES] };

    #[inline]
    fn is_due(&self) -> bool {
        self.command.len() > 0
    }

    fn add(&mut self, item: Item, after: Left) {
        if !self.is_due() {
            self.command.begin(OpKind::Read, Cause::Retry);
        }
        self.after[self.command.len()] = after;
        self.command.add(item.ppn, item.carried);
    }
}

/// The pages that a die has to read again.
#[derive(Clone)]
pub(super) struct Again {
    next: PagesAgain,
    /// Pages of the read that followed in cache mode, whose addresses do not fit those of the one before.
    behind: PagesAgain,
    /// Pages of the die's command that fail are of those.
    is_behind: bool,
    /// By page of the command that the die has, how often it has to be read after that, if it reads again.
    now: [Left; ftl::MAX_PAGES],
    reads_again: bool,
}

impl Again {
    pub(super) const NOTHING: Again = Again {
        next: PagesAgain::NONE,
        behind: PagesAgain::NONE,
        is_behind: false,
        now: [Left::NOTHING; ftl::MAX_PAGES],
        reads_again: false,
    };

    /// Pages have to be read again.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.next.is_due()
    }

    /// They have, or the die does so now.
    pub(super) fn is_under_way(&self) -> bool {
        self.reads_again || self.is_due()
    }

    /// The first page of the die's command leaves, which is no retry.
    #[inline]
    pub(super) fn command_leaves(&mut self) {
        self.is_behind = self.is_due();
    }

    /// How often a page of the die's command has to be read after this one, where the command reads again.
    pub(super) fn left(&self, at: usize) -> Left {
        self.now[at]
    }

    /// A page has to be read again, and so many times after that.
    pub(super) fn add(&mut self, item: Item, after: Left) {
        if self.is_behind { &mut self.behind } else { &mut self.next }.add(item, after);
    }

    /// The command that reads pages again, which is the die's from now on.
    pub(super) fn take(&mut self) -> Command {
        let PagesAgain { command, after } = std::mem::replace(&mut self.next, PagesAgain::NONE);
        (self.now, self.reads_again, self.is_behind) = (after, true, false);
        command
    }

    /// The command of a die is over: if its pages are all correct, those behind are next.
    #[inline]
    pub(super) fn end(&mut self) {
        if !self.next.is_due() {
            self.reads_again = false;
            if self.behind.is_due() {
                self.next = std::mem::replace(&mut self.behind, PagesAgain::NONE);
            }
        }
    }
}
