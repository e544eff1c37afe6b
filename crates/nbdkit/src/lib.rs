//! The drive of real bytes as a plugin of nbdkit, which brings filters of its own: errors, delays, logs, limits of rate.
//!
//! nbdkit's worker threads call in here, and wait where requests are paced. All else is that of `ftlab serve`: the drive, its restart, its
//! image.

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};

use config::Base;
use device::drive::Drive;
use device::drive::pace::PacedModel;
use nbdkit::{Error, ExtentHandle, ExtentType, Flags, FuaFlags, Result, Server, ThreadModel, plugin};
use serve::pace::{PacedKind, PacedRequest};
use serve::{Blocks, Extent, blocks};
use served::{RunningModel, ServedDrive};

/// The parameters, as they come.
#[derive(Default)]
struct Parameters {
    config: Option<PathBuf>,
    sets: Vec<String>,
    image: Option<PathBuf>,
    is_read_only: bool,
    is_paced: bool,
}

/// The drive and what paces it.
struct Opened {
    drive: ServedDrive,
    /// Until nbdkit has its threads.
    ready: Mutex<Option<PacedModel>>,
    paced: RwLock<Option<RunningModel>>,
}

static PARAMETERS: Mutex<Option<Parameters>> = Mutex::new(None);
static OPENED: OnceLock<Opened> = OnceLock::new();

/// A connection. All share the drive.
struct PluginConnection {
    is_read_only: bool,
}

const HELP: &str = "config=FILE         The configuration: a TOML file, or the name of a preset (required).
image=FILE          The file that holds the drive; it is made where there is none (required).
set=KEY=VALUE       Overrides a setting; may be repeated.
readonly=true       Takes no writes, and leaves the image as it is.
pace=true           Answers no earlier than the simulated drive would.";

fn refused(text: impl std::fmt::Display) -> Error {
    Error::new(libc::EINVAL, text.to_string())
}

fn with_parameters<T>(does: impl FnOnce(&mut Parameters) -> T) -> T {
    let mut parameters = PARAMETERS.lock().unwrap_or_else(PoisonError::into_inner);
    does(parameters.get_or_insert_default())
}

fn opened() -> &'static Opened {
    OPENED.get().expect("nbdkit opens the drive before it takes clients")
}

fn open(parameters: &Parameters) -> Result<Opened> {
    let Parameters { config, sets, image, is_read_only, is_paced } = parameters;
    let config = config.clone().ok_or_else(|| refused("the parameter `config` is missing"))?;
    let image = image.clone().ok_or_else(|| refused("the parameter `image` is missing"))?;
    let loaded = device::load_drive(&Base::argument(config), sets).map_err(refused)?;
    let drive = Drive::open(&loaded.config, &image, *is_read_only).map_err(refused)?;
    let model = if *is_paced { Some(drive.paced_model().map_err(refused)?) } else { None };
    Ok(Opened { drive: ServedDrive::new(drive), ready: Mutex::new(model), paced: RwLock::new(None) })
}

/// Carries out a request, and waits until it is due.
fn carry_out(
    kind: PacedKind,
    (offset, length): (u64, u64),
    does: impl FnOnce(&ServedDrive) -> std::result::Result<(), serve::Error>,
) -> Result<()> {
    let Opened { drive, paced, .. } = opened();
    let due = {
        let paced = paced.read().unwrap_or_else(PoisonError::into_inner);
        paced.as_ref().map(|model| model.pace().begin_waited(PacedRequest { kind, offset, length }))
    };
    let done = does(drive);
    if let Some(due) = due {
        due();
    }
    done.map_err(told)
}

fn check(what: &str, offset: u64, length: u64) -> Result<()> {
    blocks::check(&opened().drive, what, offset, length).map_err(|error| {
        refused(format!("{error}; nbdkit's `--filter=blocksize minblock=512` makes whole sectors of such requests"))
    })
}

fn told(error: serve::Error) -> Error {
    let code = match error {
        serve::Error::Io(_) => libc::EIO,
        serve::Error::ReadOnly => libc::EROFS,
        serve::Error::NoSpace => libc::ENOSPC,
        serve::Error::Invalid(_) => libc::EINVAL,
        serve::Error::PowerCut => libc::ESHUTDOWN,
    };
    Error::new(code, error.to_string())
}

impl Server for PluginConnection {
    fn name() -> &'static str {
        "ftlab"
    }

    fn longname() -> Option<&'static str> {
        Some("ftlab: a simulated drive of real bytes")
    }

    fn version() -> Option<&'static str> {
        Some(env!("CARGO_PKG_VERSION"))
    }

    fn config_help() -> Option<&'static str> {
        Some(HELP)
    }

    fn magic_config_key() -> Option<&'static str> {
        Some("config")
    }

    fn config(key: &str, value: &str) -> Result<()> {
        // nbdkit leaves its directory when it goes into the background.
        let path = || std::path::absolute(value).map_err(refused);
        let known = |name: PathBuf| if name.exists() { std::path::absolute(&name).unwrap_or(name) } else { name };
        with_parameters(|parameters| {
            match key {
                "config" => parameters.config = Some(known(value.into())),
                "image" => parameters.image = Some(path()?),
                "set" => parameters.sets.push(value.to_owned()),
                "readonly" => parameters.is_read_only = nbdkit::parse_bool(value)?,
                "pace" => parameters.is_paced = nbdkit::parse_bool(value)?,
                _ => {
                    return Err(refused(format!(
                        "there is no parameter `{key}`; `nbdkit --help` on this plugin lists them"
                    )));
                }
            }
            Ok(())
        })
    }

    fn thread_model() -> Result<ThreadModel> {
        Ok(ThreadModel::Parallel)
    }

    fn get_ready() -> Result<()> {
        // Errors are seen on the terminal until nbdkit goes into the background.
        let opened = with_parameters(|parameters| open(parameters))?;
        OPENED.set(opened).map_err(|_| refused("the drive is open already"))
    }

    fn after_fork() -> Result<()> {
        let Opened { ready, paced, .. } = opened();
        let model = ready.lock().unwrap_or_else(PoisonError::into_inner).take();
        *paced.write().unwrap_or_else(PoisonError::into_inner) = model.map(RunningModel::start);
        Ok(())
    }

    fn unload() {
        let Some(Opened { drive, paced, .. }) = OPENED.get() else { return };
        // Its thread has to end before this library is gone.
        if let Some(model) = paced.write().unwrap_or_else(PoisonError::into_inner).take() {
            model.end();
        }
        match drive.close() {
            Ok(()) | Err(serve::Error::PowerCut) => {}
            Err(error) => eprintln!("ftlab: the drive cannot be closed: {error}"),
        }
    }

    fn open(readonly: bool) -> Result<Box<dyn Server>> {
        Ok(Box::new(PluginConnection { is_read_only: readonly || opened().drive.read_only() }))
    }

    fn get_size(&self) -> Result<i64> {
        i64::try_from(opened().drive.size()).map_err(refused)
    }

    fn can_write(&self) -> Result<bool> {
        Ok(!self.is_read_only)
    }

    fn can_flush(&self) -> Result<bool> {
        Ok(true)
    }

    fn can_fua(&self) -> Result<FuaFlags> {
        Ok(FuaFlags::Native)
    }

    fn can_trim(&self) -> Result<bool> {
        Ok(true)
    }

    fn can_zero(&self) -> Result<bool> {
        Ok(true)
    }

    fn can_extents(&self) -> Result<bool> {
        Ok(true)
    }

    fn can_multi_conn(&self) -> Result<bool> {
        Ok(true)
    }

    fn read_at(&self, data: &mut [u8], offset: u64) -> Result<()> {
        let length = data.len() as u64;
        check("read", offset, length)?;
        carry_out(PacedKind::Read, (offset, length), |drive| drive.read(offset, data))
    }

    fn write_at(&self, data: &[u8], offset: u64, flags: Flags) -> Result<()> {
        let (length, fua) = (data.len() as u64, flags.contains(Flags::FUA));
        check("write", offset, length)?;
        carry_out(PacedKind::Write { fua }, (offset, length), |drive| drive.write(offset, data, fua))
    }

    fn flush(&self) -> Result<()> {
        carry_out(PacedKind::Flush, (0, 0), |drive| drive.flush())
    }

    fn trim(&self, count: u32, offset: u64, flags: Flags) -> Result<()> {
        let length = u64::from(count);
        check("discard", offset, length)?;
        carry_out(PacedKind::Trim, (offset, length), |drive| {
            drive.trim(offset, length)?;
            if flags.contains(Flags::FUA) { drive.flush() } else { Ok(()) }
        })
    }

    fn zero(&self, count: u32, offset: u64, flags: Flags) -> Result<()> {
        let (length, may_trim, fua) = (u64::from(count), flags.contains(Flags::MAY_TRIM), flags.contains(Flags::FUA));
        check("write of zeros", offset, length)?;
        let kind = if may_trim { PacedKind::Trim } else { PacedKind::Write { fua } };
        carry_out(kind, (offset, length), |drive| drive.zero(offset, length, may_trim, fua))
    }

    fn extents(&self, count: u32, offset: u64, flags: Flags, told_to: &mut ExtentHandle) -> Result<()> {
        let length = u64::from(count);
        check("block status", offset, length)?;
        let most = if flags.contains(Flags::REQ_ONE) { 1 } else { blocks::EXTENTS_MAX };
        let mut at = offset;
        for Extent { length, is_hole, is_zero } in opened().drive.extents(offset, length, most).map_err(told)? {
            let kind = match (is_hole, is_zero) {
                (false, false) => ExtentType::Allocated,
                (true, false) => ExtentType::Hole,
                (false, true) => ExtentType::Zero,
                (true, true) => ExtentType::HoleZero,
            };
            told_to.add(at, length, kind)?;
            at += length;
        }
        Ok(())
    }
}

/// The symbol that nbdkit looks for.
mod exported {
    use super::*;

    plugin!(PluginConnection {
        after_fork,
        can_extents,
        can_flush,
        can_fua,
        can_multi_conn,
        can_trim,
        can_write,
        can_zero,
        config,
        config_help,
        extents,
        flush,
        get_ready,
        thread_model,
        trim,
        unload,
        write_at,
        zero
    });
}
