//! Static striping: the 24 orders of channel, way (chip), die and plane, as a formula of the LPN.

use base::{Domain, FastDiv, Geometry, Lpn};

use super::Stripe;
use super::groups::{InGroup, ReclaimGroups, shape_of_group};

/// A static order, as a table of one stripe; with reclaim groups, of one over the first of them.
#[derive(Clone)]
pub struct Striped {
    stripe: FastDiv,
    domains: u32,
    domain_by_position: Vec<Domain>,
    groups: Option<Box<ReclaimGroups>>,
}

impl Striped {
    pub(super) fn new(order: &str, geometry: &Geometry, groups: Option<ReclaimGroups>) -> Striped {
        let count = groups.as_ref().map_or(1, ReclaimGroups::count);
        let shape = shape_of_group(geometry, count).expect("dies that can be divided");
        // Pages that make up a flash page lie together.
        let positions = geometry.domains() / count * geometry.parts;
        let domain_at = |position: u32| domain_at(order, position / geometry.parts, shape);
        let domain_by_position = (0..positions).map(domain_at).collect();
        let groups = groups.map(Box::new);
        Striped { stripe: FastDiv::new(positions), domains: geometry.domains(), domain_by_position, groups }
    }

    pub(super) fn domains(&self) -> u32 {
        self.domains
    }

    #[inline]
    pub(crate) fn domain_of(&self, lpn: Lpn) -> Domain {
        match &self.groups {
            None => self.domain_by_position[self.stripe.split(lpn.0).1 as usize],
            Some(groups) => self.domain_in_group(groups.find(lpn)),
        }
    }

    #[inline(never)]
    fn domain_in_group(&self, InGroup { group, position, .. }: InGroup) -> Domain {
        let in_first = self.domain_by_position[self.stripe.split(position).1 as usize];
        let of_group = self.domains / self.groups.as_ref().map_or(1, |groups| groups.count());
        Domain::new(group * of_group + in_first.number())
    }

    /// The stripe of a page.
    pub(super) fn stripe_of(&self, lpn: Lpn) -> Stripe {
        let (position, end) = self.groups.as_ref().map_or((lpn.0, Lpn(u32::MAX)), |groups| {
            let InGroup { position, end, .. } = groups.find(lpn);
            (position, end)
        });
        Stripe { pages: self.stripe.divisor(), before: self.stripe.split(position).1, end }
    }
}

/// The domain at a position of the stripe: the position as a mixed-radix number, fastest letter first. `shape`: the channels, the chips
/// of one, the dies of one and the domains of one.
fn domain_at(order: &str, mut position: u32, shape: [u32; 4]) -> Domain {
    let [channels, chips, dies, domains] = shape;
    let (mut channel, mut chip, mut die, mut plane) = (0, 0, 0, 0);
    for letter in order.chars() {
        let (digit, radix) = match letter {
            'C' => (&mut channel, channels),
            'W' => (&mut chip, chips),
            'D' => (&mut die, dies),
            'P' => (&mut plane, domains),
            other => panic!("`{other}` in an allocation order"),
        };
        *digit = position % radix;
        position /= radix;
    }
    let die = (channel * chips + chip) * dies + die;
    Domain::new(die * domains + plane)
}
