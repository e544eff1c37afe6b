//! A policy of the user's own, which is not compiled in: every call goes through a pointer, which it alone pays for.

use std::sync::Arc;

use base::{Domain, Unit};

use super::{UnitShape, VictimPolicy, VictimView};

/// Makes a policy for a device of that shape.
pub type Maker = Box<dyn Fn(UnitShape) -> Box<dyn VictimPolicy + Send> + Send + Sync>;

/// See the module.
pub struct OwnVictim(Box<dyn VictimPolicy + Send>);

/// A copy of an FTL goes on as the original would, and nobody knows how to copy what a user's policy remembers.
impl Clone for OwnVictim {
    fn clone(&self) -> OwnVictim {
        panic!("an FTL with a victim policy of the user's own is not copied");
    }
}

/// Bytes of a unit, about: what is known of it, and its place among the closed ones.
const BYTES_OF_UNIT: u64 = 256;

impl OwnVictim {
    pub(super) fn bytes(shape: UnitShape) -> u64 {
        u64::from(shape.units()) * BYTES_OF_UNIT
    }

    pub(super) fn build(own: &base::Own, shape: UnitShape) -> OwnVictim {
        let maker: Arc<Maker> = own.loaded();
        OwnVictim(maker(shape))
    }
}

impl VictimPolicy for OwnVictim {
    fn choose(&mut self, view: VictimView<'_>) -> Option<Unit> {
        self.0.choose(view)
    }

    fn on_closed(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
        self.0.on_closed(domain, unit, valid, now);
    }

    fn on_returned(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
        self.0.on_returned(domain, unit, valid, now);
    }

    fn on_invalidated(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
        self.0.on_invalidated(domain, unit, valid, now);
    }

    fn on_removed(&mut self, domain: Domain, unit: Unit, valid: u32) {
        self.0.on_removed(domain, unit, valid);
    }
}
