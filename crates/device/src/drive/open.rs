//! How a drive is opened: what it refuses, and the restart from an image.

use std::path::Path;

use base::Lpn;
use config::Config;
use nand::{Image, StoreKind};

use super::cache::{BufferBytes, SECTOR};
use super::trims::Trims;
use super::{Drive, RestartCost};
use crate::device::Device;
use crate::errors::{Refusal, RunError};
use crate::{buffer, flash, gang};

/// Refuses what cannot be a drive of real bytes.
///
/// # Errors
/// The [`Refusal`].
pub fn check(config: &Config) -> Result<(), Refusal> {
    crate::check(config)?;
    if config.ftl.get("mapping").name == "fast" {
        return Err(Refusal {
            key: "ftl.mapping",
            message: "hybrid mapping leaves no spare areas from which a restart finds its pages, and a drive of real bytes restarts \
                      whenever its image is opened"
                .into(),
            help: "set `ftl.mapping` to `page` or `dftl`".into(),
        });
    }
    if gang::parts(config) > 1 {
        return Err(Refusal {
            key: "ftl.map_unit",
            message: "a drive of real bytes with map units below the flash page is not modelled".into(),
            help: "set `ftl.map_unit = \"page\"`".into(),
        });
    }
    if let Some(&key) = ftl::TAKE_OWN.iter().find(|key| config.ftl.get(key).own.is_some()) {
        return Err(Refusal {
            key: if key == "victim" { "ftl.victim" } else { "ftl.allocation" },
            message: "a drive is served by threads, and a policy of your own runs in the interpreter".into(),
            help: "use one of the policies that are built in".into(),
        });
    }
    if buffer::is_protected(config.ftl.get("write_buffer")) {
        return Err(Refusal {
            key: "ftl.write_buffer",
            message: "a protected write buffer is saved when the power goes off, and a killed process saves nothing"
                .into(),
            help: "set `power_loss = \"volatile\"`, or `write_buffer = \"none\"`".into(),
        });
    }
    let (page, capacity) = (gang::page_size(config), config.device.user_capacity);
    if !page.is_multiple_of(SECTOR) {
        return Err(Refusal {
            key: "device.page_size",
            message: format!("pages of {page} bytes are not made of sectors of 512"),
            help: "use a multiple of 512".into(),
        });
    }
    let own = Trims::own_pages(capacity / page, page) * page;
    let largest = crate::largest_user_capacity(config);
    if capacity + own > largest {
        let size = config::print_size;
        return Err(Refusal {
            key: "device.user_capacity",
            message: format!(
                "a drive keeps what was discarded in {} of its own, and only {} are left",
                size(own),
                size(largest - capacity)
            ),
            help: format!("use at most {}", size(largest.saturating_sub(own) / page * page)),
        });
    }
    Ok(())
}

/// The text that has to be the same whenever an image is opened: the device and its FTL.
fn identity(config: &Config) -> String {
    let mut is_part = false;
    let mut lines = Vec::new();
    for line in config::to_toml(config).lines() {
        if line.starts_with('[') {
            is_part = line.starts_with("[device") || line.starts_with("[ftl");
        }
        if is_part && !line.is_empty() {
            lines.push(line.to_owned());
        }
    }
    lines.join("\n")
}

impl Drive {
    /// Opens the drive of an image, or makes a pristine one where there is no file. With `is_read_only` nothing is written to it: what
    /// the restart does is done in memory.
    ///
    /// # Errors
    /// [`RunError`]; its text is for the user.
    pub fn open(config: &Config, image: &Path, is_read_only: bool) -> Result<Drive, RunError> {
        let input = |error: &dyn std::fmt::Display| RunError::Input(error.to_string());
        check(config).map_err(|refusal| input(&refusal))?;
        let geometry = gang::geometry(config);
        let shape = flash::shape(&geometry, &config.device);
        let opened = Image::open(image, &shape, geometry.page_size, &identity(config), !is_read_only);
        let opened = opened.map_err(|error| input(&error))?;
        // What the restart changes is changed in a copy in memory.
        let opened = if is_read_only { opened.clone() } else { opened };
        let mut drive = Drive::over(config, opened).map_err(|error| match error {
            RunError::Input(found) => RunError::Input(format!(
                "the image {} is damaged: {found}\nhint: restore it from a copy, or remove it so that a new image is made",
                image.display()
            )),
            error => error,
        })?;
        drive.is_read_only = is_read_only;
        Ok(drive)
    }

    /// A pristine drive whose image lies in memory.
    ///
    /// # Errors
    /// As [`Drive::open`].
    pub fn in_memory(config: &Config) -> Result<Drive, RunError> {
        check(config).map_err(|refusal| RunError::Input(refusal.to_string()))?;
        let geometry = gang::geometry(config);
        Drive::over(config, Image::in_memory(&flash::shape(&geometry, &config.device), geometry.page_size))
    }

    /// The drive of an image, after a restart.
    ///
    /// # Errors
    /// [`RunError::Input`] for what cannot be in its image; no memory.
    pub fn over(config: &Config, image: Image) -> Result<Drive, RunError> {
        Drive::over_until(config, image, None)
    }

    /// The same; the power goes off again at the operation of that number of the restart, during it or just before, if it has so many.
    ///
    /// # Errors
    /// As [`Drive::over`].
    pub fn over_until(config: &Config, image: Image, cut: Option<(u64, bool)>) -> Result<Drive, RunError> {
        let page_size = gang::page_size(config);
        let pages = config.device.user_capacity / page_size;
        let own = Trims::own_pages(pages, page_size);
        let mut device = Device::storing(config, false, StoreKind::Bytes, own)?;
        device.flash.attach(image).map_err(RunError::Input)?;
        let buffer = buffer::build(config, &mut device)?.map(Box::new);
        let mut drive = Drive {
            config: config.clone(),
            device,
            buffer,
            cache: BufferBytes::new(page_size),
            trims: Trims::new(pages as u32, page_size),
            pages: pages as u32,
            restart: RestartCost::default(),
            end: None,
            is_read_only: false,
            broken: None,
        };
        let (at, during) = cut.unwrap_or((u64::MAX, false));
        drive.cut_after(at, during);
        drive.find_all()?;
        Ok(drive)
    }

    /// Finds everything again.
    fn find_all(&mut self) -> Result<(), RunError> {
        let restarted = self.device.restart(&self.config)?;
        self.restart = RestartCost {
            pages_read: restarted.pages_read,
            erased_units: restarted.erased,
            rescued_pages: restarted.rescued,
            discarded_pages: 0,
        };
        let mut page = vec![0; self.page_size() as usize];
        for own in 0..Trims::own_pages(self.pages.into(), self.page_size()) as u32 {
            if self.device.flash.is_off() {
                return Ok(());
            }
            let lpn = Lpn(self.pages + own);
            if self.device.ftl.lookup(lpn).is_none() {
                continue;
            }
            self.read_page(lpn, &mut page).map_err(|error| RunError::Input(error.to_string()))?;
            if self.device.flash.is_off() {
                return Ok(());
            }
            for (lpn, number) in self.trims.adopt(own, &page) {
                self.restart.discarded_pages += u64::from(self.forget_if_older(lpn, number));
            }
        }
        Ok(())
    }

    /// Forgets a page that was discarded after its last write. Returns whether it was.
    fn forget_if_older(&mut self, lpn: Lpn, discarded: u64) -> bool {
        let Some(ppn) = self.device.ftl.lookup(lpn) else { return true };
        let is_older = ftl::write_of(self.device.flash.waiting(ppn).spare).is_some_and(|write| write <= discarded);
        if is_older {
            self.device.trim(lpn);
        }
        is_older
    }
}
