//! The commands that a die takes while a program or an erase of it is suspended.

use base::OpKind;

use crate::{Nand, Place, Violation};

impl Nand {
    /// Checks that a die takes a command while an operation on these pages (blocks, of an erase) is suspended: reads, but neither
    /// of a wordline that is half programmed nor of a block that is half erased; and while an erase is suspended programs
    /// of other blocks. The array looks at what it is told to be suspended: it knows no time.
    ///
    /// # Errors
    /// [`Violation`] naming the first page that the die does not take.
    pub fn check_while_suspended(
        &self,
        (suspended, places): (OpKind, &[Place]),
        kind: OpKind,
        pages: &[Place],
    ) -> Result<(), Violation> {
        for &(block, page) in pages {
            let meets = |&&(other, at): &&Place| match (suspended, kind) {
                (OpKind::Program, OpKind::Read) => other == block && self.share_wordline(at, page),
                (OpKind::Erase, OpKind::Read | OpKind::Program) => other == block,
                _ => true,
            };
            if let Some(&(of, _)) = places.iter().find(meets) {
                return Err(Violation::WhileSuspended { kind, block, page, suspended, of });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use base::{OpKind, ProgramOrder};

    use crate::tests::{at, b, p, tlc_die};

    #[test]
    fn a_suspended_operation_bars_what_it_has_half_done() {
        let nand = tlc_die(ProgramOrder::Shadow);
        let takes = |suspended, kind, place| {
            let places = [(1, 4), (5, 4)].map(at);
            nand.check_while_suspended((suspended, &places), kind, &[(b(0), p(0)), place]).is_ok()
        };
        let (read, program, erase) = (OpKind::Read, OpKind::Program, OpKind::Erase);
        // In this order page 4 is the middle page of the wordline of pages 1 and 8.
        for page in 0..12 {
            assert_eq!(takes(program, read, (b(1), p(page))), ![1, 4, 8].contains(&page), "page {page}");
            assert_eq!(
                takes(program, read, (b(5), p(page))),
                ![1, 4, 8].contains(&page),
                "page {page} of the other plane"
            );
            assert!(
                takes(program, read, (b(2), p(page)))
                    && takes(erase, read, (b(2), p(page)))
                    && takes(erase, program, (b(2), p(page)))
            );
            assert!(!takes(erase, read, (b(1), p(page))) && !takes(erase, program, (b(5), p(page))));
            assert!(!takes(program, program, (b(2), p(page))), "no program while a program is suspended");
        }
        assert!(
            !takes(program, erase, (b(2), p(0))) && !takes(erase, erase, (b(2), p(0))),
            "no erase while anything is suspended"
        );
    }
}
