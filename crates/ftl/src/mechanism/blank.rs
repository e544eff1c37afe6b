//! Counts the valid pages that collections move. To begin a mechanism with: docs/adding-a-policy.md.

use base::scope::{Area, Scope, Scoped};
use base::{Choice, Geometry, Seam};

use super::{Agenda, NewPage, PageOrigin, Placing, Planned, Reported, Restart};
use crate::allocation::Allocation;
use crate::kernel::{Kernel, Needs};
use crate::{Bytes, Figures, OutOfMemory, Policies};

/// The key in `[ftl]` and its choices, the default first.
pub static SEAM: Seam = Seam {
    key: "blank",
    doc: "Counting of moved pages.",
    choices: &[
        Choice { name: "none", doc: "They are not.", params: &[] },
        Choice { name: "count", doc: "They are.", params: &[] },
    ],
};

/// The mechanism in force.
#[derive(Clone)]
pub(crate) struct Blank {
    moved: u64,
}

impl Scoped for Blank {
    const SCOPE: Scope = Scope {
        area: Area::Ftl,
        name: "Counts of moved pages",
        keys: &["ftl.blank"],
        modelled: "Pages that collections move are counted.",
        not_modelled: &["Pages that the host moves are not counted."],
    };
}

impl Planned for Blank {
    fn needs(policies: &Policies<'_>, _: &Geometry) -> Option<Needs> {
        let chosen = policies.wear_leveling; // Yours is a field of its own: `policies.blank`.
        (chosen.name != SEAM.choices[0].name).then_some(Needs::NONE)
    }

    fn bytes(_: &Policies<'_>, _: &Geometry, _user_pages: u64, _keeps_spares: bool) -> Bytes {
        Bytes::default()
    }

    fn build(kernel: &Kernel, policies: &Policies<'_>, _: &Allocation) -> Result<Option<Blank>, OutOfMemory> {
        Ok(Blank::needs(policies, kernel.geometry()).map(|_| Blank { moved: 0 }))
    }
}

impl Placing for Blank {
    fn placed(&mut self, _: &mut Kernel, page: &NewPage) {
        if let PageOrigin::Copy(..) = page.origin {
            self.moved += 1;
        }
    }
}

impl Agenda for Blank {}

impl Restart for Blank {
    fn renew(&mut self, _: &mut Kernel, _: &Policies<'_>) {
        self.moved = 0;
    }
}

impl Reported for Blank {
    fn figures(&self, figures: &mut Figures) {
        figures.count(SEAM.key, "moved_pages", self.moved);
    }
}

#[test]
fn counts_what_is_moved() {
    use crate::{ops::How, sample};
    let chosen = sample::policies(&[("wear_leveling", "static", &[])], base::Cell::Slc);
    let plane = base::Dimensions { blocks_per_plane: 16, pages_per_block: 12, ..base::Dimensions::ONE_PAGE };
    let (mut kernel, _) = sample::kernel(Geometry::new(plane), 60, &chosen);
    let mut blank = Blank::build(&kernel, &chosen, &Allocation::build(chosen.allocation, kernel.geometry()));
    let blank = blank.as_mut().expect("memory").as_mut().expect("it was chosen");
    for origin in [PageOrigin::Copy(base::Ppn(1), How::OffChip), PageOrigin::Map] {
        blank.placed(&mut kernel, &NewPage { domain: sample::FIRST, lpn: base::Lpn(0), at: base::Ppn(0), origin });
    }
    let mut figures = Figures::default();
    blank.figures(&mut figures);
    assert_eq!(figures.get("blank", "moved_pages"), Some(1.0));
}
