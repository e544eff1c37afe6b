//! The words every stage shares: units, identifiers, geometry, requests, causes, and the shape of a
//! registry of policies.
//!
//! This crate owns no behaviour of a device. It knows nothing of any other crate.

pub mod arbitration;
pub mod bulk;
pub mod cache;
pub mod cause;
pub mod choice;
pub mod disturb;
pub mod geometry;
pub mod ids;
pub mod programming;
pub mod request;
pub mod scope;
pub mod slc;
pub mod slow_die;
pub mod suspend;
pub mod transfer;
pub mod units;
pub mod wear;

pub use arbitration::ARBITRATIONS;
pub use cause::{CAUSES, Cause, OpKind};
pub use choice::{Choice, Choices, FeatureKey, Own, Param, ParamKind, ParamValue, Seam, Selection};
pub use disturb::{ReadLimits, ReprogramWear};
pub use geometry::{Cell, Dimensions, FastDiv, Geometry, InStep, Multiplane, PageLayout, PageType, ProgramOrder};
pub use ids::{Block, Die, Domain, Lpn, Page, Ppn, Queue, Slot, Unit};
pub use request::{Request, RequestKind};
pub use scope::Scope;
pub use suspend::SuspendLimits;
pub use units::{Duration, Instant};
pub use wear::{CopybackTable, ECC_LIMIT, Quality, Wear};
