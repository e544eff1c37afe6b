//! The device after a power cut: everything but the array is gone.

use base::{Block, Page, Ppn, Unit};
use config::Config;
use ftl::allocation::DieTurns;
use ftl::{Ftl, OutOfMemory, PageFound, Scan, Scanned};

use crate::device::{AtOnce, Device, policies};
use crate::flash::{Content, Found};

/// The cost of a restart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Restarted {
    /// Spare areas that were read.
    pub pages_read: u64,
    /// Units that were erased.
    pub erased: u64,
    /// Pages that were brought back from backups.
    pub rescued: u64,
    /// Time that the array reads take, all dies at once and without transfers.
    pub array_s: f64,
}

impl Device {
    /// Switches the power on and builds the FTL anew from what the array holds, without time.
    ///
    /// The power may go off again in the middle of it; then what is left is for the next restart.
    ///
    /// # Errors
    /// When the maps do not fit in memory.
    pub(crate) fn restart(&mut self, config: &Config) -> Result<Restarted, OutOfMemory> {
        let geometry = *self.flash.geometry();
        let array_s = self.scan_seconds(config);
        let user_pages = u64::from(self.has.user_pages);
        let mut array = AtOnce::new(&mut self.flash, &mut self.recorder.counters, &mut self.watchdog, Content::EMPTY);
        let recovered = Ftl::recover(geometry, user_pages, &policies(config), config.run.seed, &mut array)?;
        let (ftl, has, recovery) = recovered.expect("restarts are refused where nothing can be found again");
        (self.ftl, self.has, self.turns) = (ftl, has, DieTurns::new(&self.allocation));
        recovery.busy.iter().for_each(|&domain| self.collect_now(domain));
        self.fill_up();
        Ok(Restarted {
            pages_read: recovery.pages_read * u64::from(self.parts.count),
            erased: recovery.erased as u64,
            rescued: recovery.rescued as u64,
            array_s,
        })
    }

    /// Time that the array reads of all programmed pages take.
    fn scan_seconds(&self, config: &Config) -> f64 {
        let geometry = self.flash.geometry();
        let (cell, order) = (config.device.cell, config.device.program_order);
        let layout = base::PageLayout::new(cell, order, geometry.pages_per_block, geometry.parts);
        let times = &config.device.timing.read;
        // The last one is that of all further page types.
        let time_of = |page| times[usize::from(layout.page_type(page).0).min(times.len() - 1)].ns();
        let mut planes = vec![0u64; geometry.planes() as usize];
        for (block, state) in self.flash.nand().blocks().iter().enumerate() {
            // A read brings all parts of a flash page.
            let reads = (0..u32::from(state.next_page))
                .step_by(geometry.parts as usize)
                .filter(|&page| self.flash.nand().is_programmed(Block::new(block as u32), Page::new(page)))
                .map(time_of);
            planes[block / geometry.blocks_per_plane as usize] += reads.sum::<u64>();
        }
        let together = config.device.multiplane != base::Multiplane::Off;
        let dies = planes.chunks(geometry.planes_per_die as usize);
        let of_die = |die: &[u64]| if together { die.iter().copied().max().unwrap_or(0) } else { die.iter().sum() };
        dies.map(of_die).max().unwrap_or(0) as f64 * 1e-9
    }
}

impl Scan for AtOnce<'_> {
    fn unit(&self, unit: Unit) -> Scanned {
        let (flash, geometry) = (&*self.flash, self.flash.geometry());
        let bad = flash.is_bad(unit);
        let found = |found| if bad { PageFound::Empty } else { page_found(found) };
        let pages = flash.scan(unit).map(found).collect();
        let lanes = 0..geometry.unit_width;
        let blocks = lanes.map(|lane| geometry.block_of(unit, lane));
        let reads = blocks.map(|block| flash.reads_of(block)).max().unwrap_or(0);
        let block = &flash.nand().blocks()[geometry.block_of(unit, 0).index()];
        let torn = !bad && flash.is_torn(unit);
        Scanned { torn, bad, lsb_only: block.is_lsb_only(), erases: block.erases, reads, pages }
    }

    fn page(&self, at: Ppn) -> PageFound {
        page_found(self.flash.found_at(at))
    }
}

fn page_found(found: Found) -> PageFound {
    match found {
        Found::Unprogrammed | Found::Torn => PageFound::Empty,
        Found::Lost => PageFound::Lost,
        Found::Guard => PageFound::Guard,
        Found::Programmed { spare } => PageFound::Holds(spare),
    }
}
