//! The commands that a die takes in cache mode: while its array programs, or while data of a read leave it.

use base::OpKind;

use crate::{Nand, Place, Violation};

/// A command, as far as cache mode has to do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cached {
    /// Its kind.
    pub kind: OpKind,
    /// It copies pages inside their planes. Both registers of a plane take part in that.
    pub copies: bool,
}

impl Nand {
    /// Checks that a die takes a command for these pages in cache mode, behind one that is not done: a read behind a read, a program
    /// behind a program. Each plane has two registers, one for the array and one for the channel: what copies inside a plane
    /// needs both, and an erase has no data. The array looks at what it is told to be under way: it knows no time.
    ///
    /// # Errors
    /// [`Violation`] naming the first page.
    pub fn check_cached(&self, running: Cached, next: Cached, pages: &[Place]) -> Result<(), Violation> {
        let is_taken = running == next && !next.copies && next.kind != OpKind::Erase;
        match pages.first() {
            Some(&(block, page)) if !is_taken => {
                Err(Violation::InCacheMode { kind: next.kind, block, page, running: running.kind })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use base::{OpKind, ProgramOrder};

    use super::Cached;
    use crate::tests::{b, p, tlc_die};

    #[test]
    fn only_equal_operations_with_data_follow_in_cache_mode() {
        let nand = tlc_die(ProgramOrder::Consecutive);
        let kinds = [OpKind::Read, OpKind::Program, OpKind::Erase];
        let all = kinds.map(|kind| [false, true].map(|copies| Cached { kind, copies })).concat();
        let mut taken = Vec::new();
        for (&running, &next) in all.iter().flat_map(|running| all.iter().map(move |next| (running, next))) {
            let found = nand.check_cached(running, next, &[(b(1), p(4)), (b(5), p(4))]);
            match found {
                Ok(()) => taken.push((running.kind, running.copies, next.kind, next.copies)),
                Err(refused) => assert!(refused.to_string().contains("page 4 of block 1"), "{refused}"),
            }
        }
        let expected = [OpKind::Read, OpKind::Program].map(|kind| (kind, false, kind, false));
        assert_eq!(taken, expected);
    }
}
