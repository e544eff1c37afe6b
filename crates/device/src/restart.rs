//! The device after a power cut: everything but the array is gone.

use base::Unit;
use config::Config;
use ftl::{Ftl, OutOfMemory, PageFound, Scanned};

use crate::device::{AtOnce, Device, policies};
use crate::flash::{Content, Found};

/// The cost of a restart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Restarted {
    /// Spare areas that were read.
    pub(crate) pages_read: u64,
    /// Units that were erased.
    pub(crate) erased: u64,
    /// Pages that were brought back from backups.
    pub(crate) rescued: u64,
}

impl Device {
    /// Switches the power on and builds the FTL anew from what the array holds, without time.
    ///
    /// The power may go off again in the middle of it; then what is left is for the next restart.
    ///
    /// # Errors
    /// When the maps do not fit in memory.
    pub(crate) fn restart(&mut self, config: &Config) -> Result<Restarted, OutOfMemory> {
        let geometry = *self.ftl.geometry();
        let scan: Vec<Scanned> = geometry.all_units().map(|unit| self.scan(unit)).collect();
        let user_pages = u64::from(self.has.user_pages);
        let mut array = AtOnce::new(&mut self.flash, &mut self.recorder.counters, &mut self.watchdog, Content::EMPTY);
        let recovered = Ftl::recover(geometry, user_pages, &policies(config), config.run.seed, &scan, &mut array)?;
        let (ftl, has, recovery) = recovered.expect("restarts are refused where nothing can be found again");
        (self.ftl, self.has) = (ftl, has);
        recovery.busy.iter().for_each(|&domain| self.collect_now(domain));
        self.fill_up();
        Ok(Restarted {
            pages_read: recovery.pages_read * u64::from(self.parts.count),
            erased: recovery.erased as u64,
            rescued: recovery.rescued as u64,
        })
    }

    fn scan(&self, unit: Unit) -> Scanned {
        let block = self.ftl.geometry().block_of(unit, 0);
        let pages = self.flash.scan(unit).map(|found| match found {
            Found::Unprogrammed | Found::Torn => PageFound::Empty,
            Found::Lost => PageFound::Lost,
            Found::Guard => PageFound::Guard,
            Found::Programmed { spare } => PageFound::Holds(spare),
        });
        let pages = pages.collect();
        let lanes = 0..self.ftl.geometry().unit_width;
        let reads = lanes.map(|lane| self.flash.reads_of(self.ftl.geometry().block_of(unit, lane))).max().unwrap_or(0);
        let block = &self.flash.nand().blocks()[block.index()];
        Scanned { torn: self.flash.is_torn(unit), lsb_only: block.is_lsb_only(), erases: block.erases, reads, pages }
    }
}
