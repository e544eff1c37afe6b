//! Plain devices in their own way: what the executor does for all of them is written here a second time, for speed.
//!
//! Page mapping alone decides there what a collection does, pages store nothing, and little comes in between. So pages that move are
//! asked for by unit and slot ([`moves`]), and what a die will do next is known ([`booking`]). Where domains have little to do, a die
//! compares their keys ([`keys`], [`known`]), and where nothing goes before others on a channel it is taken ahead ([`ahead`]). Each way in says
//! whether it is taken; without it the executor does the same, as it does for all others.

mod ahead;
pub(super) mod booking;
pub(super) mod keys;
pub(super) mod known;
pub(super) mod moves;
pub(super) mod record;

use config::Config;
use ftl::PlainPages;
use ftl::schedule::Schedule;

use super::plan::Plan;
use super::timing::Timing;
use crate::device::Device;
use crate::scheduler;
use record::Bookings;

/// Page mapping without mechanisms, if a bare device is run as a plain one: it has no parts at all.
pub(super) fn pages_of(device: &Device, config: &Config, has_buffer: bool) -> Option<PlainPages> {
    device.has.plain.filter(|_| device.flash.nand().is_plain() && collects_in_need(config, has_buffer))
}

/// True if domains have nothing but writes and collections to do, so that keys of theirs are kept.
pub(super) fn keeps_keys(plan: &impl Plan, device: &Device, config: &Config, has_buffer: bool) -> bool {
    let has = &device.has;
    let only_collects = has.only_collects && has.map.is_none() && has.reads.is_none();
    !plan.has().mechanisms || !plan.has().cycles && only_collects && collects_in_need(config, has_buffer)
}

/// True if writes come from the host alone, and collections begin when a write needs room.
fn collects_in_need(config: &Config, has_buffer: bool) -> bool {
    let has_schedule = !Schedule::new(config.ftl.get("gc_schedule")).is_threshold();
    !has_schedule && !has_buffer && scheduler::max_wait(config.ftl.get("scheduler")).is_none()
}

/// Has what dies will do be booked, where every write is of whole pages: then nothing but requests comes in between.
pub(super) fn set_up(plan: &mut impl Plan, timing: &mut Timing) {
    let is_whole = plan.is_whole();
    if let Some(bookings) = plan.bookings()
        && !(is_whole && timing.join_pairs())
    {
        *bookings = Bookings::OFF;
    }
}
