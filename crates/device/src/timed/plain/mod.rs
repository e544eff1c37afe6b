//! Plain devices in their own way: what the executor does for all of them is written here a second time, for speed.
//!
//! Page mapping alone decides there what a collection does, pages store nothing, and little comes in between. So pages that move are
//! asked for by unit and slot ([`pages`]), and what a die will do next is known ([`booking`]). Each way in says whether it is
//! taken; without it the executor does the same, as it does for all others.

pub(super) mod booking;
pub(super) mod pages;
pub(super) mod record;

use super::plan::Plan;
use super::timing::Timing;
use record::Bookings;

/// Has what dies will do be booked, where every write is of whole pages: then nothing but requests comes in between.
pub(super) fn set_up(plan: &mut impl Plan, timing: &mut Timing) {
    let is_whole = plan.is_whole();
    if let Some(bookings) = plan.bookings()
        && !(is_whole && timing.join_pairs())
    {
        *bookings = Bookings::OFF;
    }
}
