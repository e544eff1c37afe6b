//! Mechanisms: what a paper or a product adds to page mapping, one folder each.
//!
//! A mechanism owns its state, its table for the configuration, its figures, its checks, its refusals and its scope
//! ([`Scoped`](base::scope::Scoped)). It meets the rest
//! in five traits ([`traits`]), by who asks: the plan of a device, the placing of pages, the agenda, a restart, a report. Their
//! methods have defaults that say nothing. Mechanisms do not know each other: what two of them share is a fact in the kernel.
//! [`rows`] has a row for each mechanism, in the order in which they are asked within a line of [`crate::agenda`].

#[macro_use]
mod rows;

mod all;
mod answers;
#[cfg(test)]
mod blank;
pub mod dftl;
pub mod disturb;
pub mod forwarding;
pub mod migration;
pub mod paired;
mod plan;
pub mod renewal;
pub mod retirement;
pub mod separation;
pub mod slc;
mod traits;
pub mod twin;
pub mod wear;

pub(crate) use all::{All, Mechanisms, Plain, scopes};
pub(crate) use answers::{
    Arrival, Combined, Keepers, NewPage, OwnWork, PageOrigin, Pending, Picked, Product, RoomSource, Under, VictimEnd,
};
pub(crate) use plan::SpacePlan;
pub(crate) use traits::{Agenda, Placing, Planned, Reported, Restart};
