//! Plain devices in their own way: what the executor does for all of them is written here a second time, for speed.
//!
//! Page mapping alone decides there what a collection does, pages store nothing, and little comes in between. So pages that move are
//! asked for by unit and slot ([`pages`]), and what a die will do next is known ([`booking`]). Where domains have little to do, a die
//! compares their keys ([`keys`]), and where nothing goes before others on a channel it is taken ahead ([`ahead`]). Each way in says
//! whether it is taken; without it the executor does the same, as it does for all others.

mod ahead;
pub(super) mod booking;
pub(super) mod keys;
pub(super) mod pages;
pub(super) mod record;

use config::Config;
use ftl::schedule::Schedule;

use super::plan::{self, Plan};
use super::timing::Timing;
use crate::device::Device;
use crate::scheduler;
use record::Bookings;

/// True if a bare device is run as a plain one; see [`Plan::is_plain`].
pub(super) fn is_plain(device: &Device, config: &Config, has_buffer: bool) -> bool {
    device.has.is_plain
        && Schedule::new(config.ftl.get("gc_schedule")).is_threshold()
        && scheduler::max_wait(config.ftl.get("scheduler")).is_none()
        && device.flash.nand().is_plain()
        && !has_buffer
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

/// True if it is kept how much the work of domains presses.
pub(super) fn keeps_keys(plan: &impl Plan, device: &Device, config: &Config, has_buffer: bool) -> bool {
    plan.is_plain() || plan.is_bare() && plan::only_collect(device, config, has_buffer)
}

/// True if a page that a collection read is waited for until it is correct: its content matters, or its correction may take time.
pub(super) fn await_pages(plan: &impl Plan) -> bool {
    !plan.is_plain()
}

/// True if somebody may want to hear of every instant: a policy that looks at the time, or reads that may fail.
#[inline(always)]
pub(super) fn are_instants_heard_of(plan: &impl Plan) -> bool {
    !plan.is_plain()
}

/// True if there may be a write buffer.
#[inline(always)]
pub(super) fn may_buffer(plan: &impl Plan) -> bool {
    !plan.is_plain()
}

/// True if the schedule may have something for a die that has nothing to do.
#[inline(always)]
pub(super) fn may_fill_idle_time(plan: &impl Plan) -> bool {
    !plan.is_plain()
}
