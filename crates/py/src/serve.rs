//! A drive of real bytes behind an NBD server.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use device::drive::{Drive, DriveError, RestartCost, SECTOR};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;
use serve::{
    Address, BlockSizes, Blocks, Cut, CutAt, Error, Limits, Listener, LiveFigures, LogWrites, RequestCounts, ServerEnd,
};

use crate::caller::Caller;
use crate::configs::Given;
use crate::{configs, errors, guard};

/// The longest read or write: what a Linux host sends at most is a third of it.
const LONGEST: u32 = 4 << 20;

/// A drive, as the server knows it. One request at a time.
struct ServedDrive {
    drive: Mutex<Drive>,
    size: u64,
    page: u32,
    is_read_only: bool,
    restart: RestartCost,
}

impl ServedDrive {
    fn new(drive: Drive) -> ServedDrive {
        let (size, page, is_read_only) = (drive.size(), drive.page_size() as u32, drive.is_read_only());
        let restart = drive.restart();
        ServedDrive { size, page, is_read_only, restart, drive: Mutex::new(drive) }
    }

    fn drive(&self) -> Result<MutexGuard<'_, Drive>, Error> {
        self.drive.lock().map_err(|_| Error::Io("the device broke in an earlier request".into()))
    }

    fn carry_out(&self, request: impl FnOnce(&mut Drive) -> Result<(), DriveError>) -> Result<(), Error> {
        request(&mut *self.drive()?).map_err(|error| match error {
            DriveError::NoSpace => Error::NoSpace,
            DriveError::PowerCut => Error::PowerCut,
            DriveError::ReadOnly => Error::ReadOnly,
            error @ (DriveError::Unreadable { .. } | DriveError::Image(_)) => Error::Io(error.to_string()),
        })
    }
}

impl Blocks for ServedDrive {
    fn size(&self) -> u64 {
        self.size
    }

    fn block_sizes(&self) -> BlockSizes {
        let preferred = if self.page.is_power_of_two() { self.page.max(512) } else { 4096 };
        BlockSizes { minimum: SECTOR as u32, preferred, maximum: LONGEST }
    }

    fn read_only(&self) -> bool {
        self.is_read_only
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), Error> {
        self.carry_out(|drive| drive.read(offset, data))
    }

    fn write(&self, offset: u64, data: &[u8], fua: bool) -> Result<(), Error> {
        self.carry_out(|drive| drive.write(offset, data, fua))
    }

    fn flush(&self) -> Result<(), Error> {
        self.carry_out(Drive::flush)
    }

    fn trim(&self, offset: u64, length: u64) -> Result<(), Error> {
        self.carry_out(|drive| drive.trim(offset, length))
    }

    fn zero(&self, offset: u64, length: u64, may_trim: bool, fua: bool) -> Result<(), Error> {
        if may_trim {
            self.trim(offset, length)?;
        } else {
            // In pieces, so that others get their turn.
            for at in (offset..offset + length).step_by(LONGEST as usize) {
                let piece = u64::from(LONGEST).min(offset + length - at);
                self.carry_out(|drive| drive.write_zeros(at, piece, false))?;
            }
        }
        if fua { self.flush() } else { Ok(()) }
    }

    fn cut_after(&self, operations: u64) {
        if let Ok(mut drive) = self.drive() {
            match operations.checked_sub(1) {
                None => drive.cut(),
                Some(before) => drive.cut_after(before, true),
            }
        }
    }

    fn figures(&self) -> LiveFigures {
        self.drive().map_or_else(
            |_| LiveFigures::default(),
            |drive| LiveFigures {
                waf: drive.write_amplification(),
                free_blocks: Some(drive.free_blocks()),
                erases: Some(drive.erases()),
            },
        )
    }

    fn close(&self) -> Result<(), Error> {
        self.carry_out(Drive::close)
    }
}

/// An NBD server over the drive of an image.
#[pyclass(name = "Server")]
pub(crate) struct DriveServer {
    served: Arc<ServedDrive>,
    server: Mutex<Option<serve::Server>>,
    #[pyo3(get)]
    uri: String,
    #[pyo3(get)]
    warning: Option<String>,
}

#[pymethods]
impl DriveServer {
    /// Opens the drive and starts to serve it.
    #[new]
    #[pyo3(signature = (
        kind, source, sets, image, *, socket=None, tcp=None, read_only=false, cut_at=None, log_writes=None
    ))]
    #[allow(clippy::too_many_arguments)] // The Python signature, all but four by keyword.
    fn new(
        py: Python<'_>,
        kind: &str,
        source: Given,
        sets: Vec<String>,
        image: PathBuf,
        socket: Option<PathBuf>,
        tcp: Option<String>,
        read_only: bool,
        cut_at: Option<&str>,
        log_writes: Option<PathBuf>,
    ) -> PyResult<DriveServer> {
        let cut_at: Option<CutAt> = cut_at.map(str::parse).transpose().map_err(errors::input)?;
        let address = match (socket, tcp) {
            (Some(path), None) => Address::Unix(path),
            (None, Some(text)) => Address::Tcp(text),
            _ => return Err(PyValueError::new_err("either a socket or a TCP address")),
        };
        guard::run(
            || format!("drive of a {kind} configuration"),
            || {
                let caller = Caller::new(None);
                let loaded = configs::load_drive(py, kind, &source, &sets, &caller)?;
                let opened = py.detach(|| Drive::open(&loaded.config, &image, read_only));
                let served = Arc::new(ServedDrive::new(caller.result(opened, errors::run)?));
                let mut blocks: Arc<dyn Blocks> = served.clone();
                if let Some(at) = cut_at {
                    blocks = Arc::new(Cut::new(blocks, at));
                }
                if let Some(path) = log_writes {
                    blocks = Arc::new(LogWrites::create(blocks, &path).map_err(errors::input)?);
                }
                let listener = Listener::bind(&address).map_err(errors::input)?;
                let (uri, warning) = (listener.uri(), listener.warning());
                let server = Mutex::new(Some(serve::Server::start(blocks, listener, Limits::default())));
                Ok(DriveServer { served, server, uri, warning })
            },
        )
    }

    /// Waits for at most so many seconds; why the server ended by itself, if it did.
    fn wait(&self, py: Python<'_>, seconds: f64) -> Option<String> {
        let end = py.detach(|| {
            let server = self.server.lock().ok()?;
            server.as_ref()?.wait(Duration::from_secs_f64(seconds.clamp(0.0, 3600.0)))
        })?;
        Some(match end {
            ServerEnd::PowerCut => "the power is cut".into(),
            ServerEnd::Broken(text) => format!("the device broke: {text}"),
        })
    }

    /// Lines on clients since the last call.
    fn lines(&self) -> Vec<String> {
        let server = self.server.lock().ok();
        server.and_then(|server| server.as_ref().map(serve::Server::lines)).unwrap_or_default()
    }

    /// All that there is to tell, as JSON text: requests of clients, and figures of the drive and of its restart.
    fn status(&self, py: Python<'_>) -> String {
        let (counts, connected) = py.detach(|| {
            let server = self.server.lock().ok();
            let server = server.as_ref().and_then(|server| server.as_ref());
            server.map_or((RequestCounts::default(), 0), |server| (server.counts(), server.connected()))
        });
        let (figures, restart) = (py.detach(|| self.served.figures()), self.served.restart);
        json!({
            "size": self.served.size,
            "page_size": self.served.page,
            "read_only": self.served.is_read_only,
            "connected": connected,
            "reads": counts.reads,
            "bytes_read": counts.read_bytes,
            "writes": counts.writes,
            "bytes_written": counts.written_bytes,
            "flushes": counts.flushes,
            "trims": counts.trims,
            "bytes_trimmed": counts.trimmed_bytes,
            "zeroes": counts.zeroes,
            "bytes_zeroed": counts.zeroed_bytes,
            "errors": counts.errors,
            "waf": figures.waf,
            "free_blocks": figures.free_blocks,
            "erases": figures.erases,
            "restart": restart.to_json(),
            "restart_wall_s": restart.wall_s,
        })
        .to_string()
    }

    /// Ends in good order: what was acknowledged is in the image.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        let stopped = py.detach(|| {
            let server = self.server.lock().ok().and_then(|mut server| server.take());
            server.map_or(Ok(()), serve::Server::stop)
        });
        stopped.map_err(|error| errors::failed(format!("the drive cannot be closed: {error}")))
    }
}
