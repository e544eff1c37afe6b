//! The array as the executors use it: commands by physical page number, with the payload.
//!
//! A command that the array refuses is a fault of the FTL, never of the user, so it ends the run.

use base::{Geometry, Lpn, Multiplane, OpKind, Ppn};
use nand::{Nand, Shape, Violation};

/// The array and its addressing.
pub(crate) struct Flash {
    geometry: Geometry,
    nand: Nand,
    block_address_constraint: bool,
    multiplane: bool,
}

/// What a page stores: which logical page, and which of its versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) lpn: Lpn,
    pub(crate) version: u32,
}

impl Stamp {
    pub(crate) fn pack(self) -> u64 {
        u64::from(self.lpn.0) << 32 | u64::from(self.version)
    }

    pub(crate) fn unpack(bits: u64) -> Stamp {
        Stamp { lpn: Lpn((bits >> 32) as u32), version: bits as u32 }
    }
}

impl Flash {
    pub(crate) fn new(geometry: Geometry, device: &config::model::Device, stamps: bool) -> Flash {
        let multiplane = device.multiplane;
        let shape = Shape {
            planes: geometry.planes(),
            planes_per_die: geometry.planes_per_die,
            blocks_per_plane: geometry.blocks_per_plane,
            pages_per_block: geometry.pages_per_block,
            multiplane,
            cell: device.cell,
            program_order: device.program_order,
        };
        Flash {
            geometry,
            nand: Nand::new(shape, stamps),
            block_address_constraint: multiplane == Multiplane::Bac,
            multiplane: multiplane != Multiplane::Off,
        }
    }

    pub(crate) fn nand(&self) -> &Nand {
        &self.nand
    }

    pub(crate) fn nand_mut(&mut self) -> &mut Nand {
        &mut self.nand
    }

    /// Global block number and page offset.
    #[inline]
    fn address(&self, ppn: Ppn) -> (u32, u32) {
        if self.geometry.unit_width == 1 {
            // Units are blocks and slots are pages, so two of the three divisions fall away.
            self.geometry.unit_and_slot(ppn)
        } else {
            let place = self.geometry.place(ppn);
            (place.block, place.page)
        }
    }

    /// The page offset of a page in its block.
    #[inline]
    pub(crate) fn page_offset(&self, ppn: Ppn) -> u32 {
        self.address(ppn).1
    }

    /// Reads a page; the stamp is 0 when payloads are off.
    #[inline]
    pub(crate) fn read(&mut self, ppn: Ppn) -> u64 {
        let (block, page) = self.address(ppn);
        obey(self.nand.read(block, page));
        if self.nand.has_payload() { self.nand.stamp(block, page) } else { 0 }
    }

    /// Programs a page with a stamp.
    #[inline]
    pub(crate) fn program(&mut self, ppn: Ppn, stamp: u64) {
        let (block, page) = self.address(ppn);
        obey(self.nand.program(block, page));
        if self.nand.has_payload() {
            self.nand.store(block, page, stamp, 0);
        }
    }

    /// Erases the blocks of a reclaim unit; returns how many they are.
    pub(crate) fn erase(&mut self, unit: u32) -> u64 {
        for lane in 0..self.geometry.unit_width {
            obey(self.nand.erase(self.geometry.block_of(unit, lane)));
        }
        u64::from(self.geometry.unit_width)
    }

    /// Whether two pages may go into one multi-plane command, given that their planes are distinct.
    #[inline]
    pub(crate) fn may_share_command(&self, first: Ppn, second: Ppn) -> bool {
        let (first_block, first_page) = self.address(first);
        let (second_block, second_page) = self.address(second);
        self.multiplane && first_page == second_page && self.same_block_offset(first_block, second_block)
    }

    /// Whether two blocks may go into one multi-plane erase, given that their planes are distinct.
    pub(crate) fn may_share_erase(&self, first_unit: u32, second_unit: u32) -> bool {
        let blocks = (self.geometry.block_of(first_unit, 0), self.geometry.block_of(second_unit, 0));
        self.multiplane && self.same_block_offset(blocks.0, blocks.1)
    }

    #[inline]
    fn same_block_offset(&self, first: u32, second: u32) -> bool {
        let blocks = self.geometry.blocks_per_plane;
        !self.block_address_constraint || first % blocks == second % blocks
    }

    /// Has the array confirm that pages may share a command; the scheduler made sure, and the array checks.
    #[inline]
    pub(crate) fn check_shared(&self, kind: OpKind, ppns: &[Ppn]) {
        if ppns.len() > 1 {
            let mut places = [(0, 0); ftl::MAX_LANES];
            for (place, &ppn) in places.iter_mut().zip(ppns) {
                *place = self.address(ppn);
            }
            obey(self.nand.check_multiplane(kind, &places[..ppns.len()]));
        }
    }
}

#[inline]
fn obey(result: Result<(), Violation>) {
    if let Err(violation) = result {
        refuse(violation);
    }
}

#[cold]
fn refuse(violation: Violation) -> ! {
    panic!("the flash array refused a command of the FTL: {violation}");
}
