//! Static striping: the 24 orders of channel, way (chip), die and plane, as a formula of the LPN.

use base::{Domain, FastDiv, Geometry, Lpn};

/// A static order, as a table of one stripe.
#[derive(Clone)]
pub struct Striped {
    stripe: FastDiv,
    domains: u32,
    domain_by_position: Vec<Domain>,
}

impl Striped {
    pub(super) fn new(order: &str, geometry: &Geometry) -> Striped {
        // Pages that make up a flash page lie together.
        let positions = geometry.domains() * geometry.parts;
        let domain_at = |position: u32| domain_at(order, position / geometry.parts, geometry);
        let domain_by_position = (0..positions).map(domain_at).collect();
        Striped { stripe: FastDiv::new(positions), domains: geometry.domains(), domain_by_position }
    }

    pub(super) fn domains(&self) -> u32 {
        self.domains
    }

    #[inline]
    pub(crate) fn domain_of(&self, lpn: Lpn) -> Domain {
        self.domain_by_position[self.stripe.split(lpn.0).1 as usize]
    }
}

/// The domain at a position of the stripe: the position as a mixed-radix number, fastest letter first.
fn domain_at(order: &str, mut position: u32, geometry: &Geometry) -> Domain {
    let (mut channel, mut chip, mut die, mut plane) = (0, 0, 0, 0);
    for letter in order.chars() {
        let (digit, radix) = match letter {
            'C' => (&mut channel, geometry.channels),
            'W' => (&mut chip, geometry.chips_per_channel),
            'D' => (&mut die, geometry.dies_per_chip),
            'P' => (&mut plane, geometry.domains_per_die()),
            other => panic!("`{other}` in an allocation order"),
        };
        *digit = position % radix;
        position /= radix;
    }
    let die = (channel * geometry.chips_per_channel + chip) * geometry.dies_per_chip + die;
    Domain::new(die * geometry.domains_per_die() + plane)
}
