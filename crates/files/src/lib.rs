//! Reading and writing files so that a user can stop it, and loses nothing by it.
//!
//! [`Input`] and [`Output`] ask an [`Interrupt`] whether to go on, also while they wait for the other end of a pipe.
//! An [`Output`] appears under its name only when it is whole. What is unfinished has a name of its own and a lock
//! that its owner holds, so that [`Output`] and [`Staging`] can clear away what a killed process left. This crate
//! knows nothing of what files hold.

mod input;
mod interrupt;
mod output;
mod remedy;
mod unfinished;
mod wait;

pub use input::Input;
pub use interrupt::Interrupt;
pub use output::{Output, is_other};
pub use remedy::remedy;
pub use unfinished::{Staging, discard_unfinished};
