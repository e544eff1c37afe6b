//! A drive of real bytes behind an NBD server.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use device::drive::Drive;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};
use serve::{Address, Blocks, Cut, CutAt, Limits, Listener, LogWrites, RequestCounts, ServerEnd};
use served::{RunningModel, ServedDrive};

use crate::caller::Caller;
use crate::configs::Given;
use crate::{configs, errors, guard};

/// The model that paces the server.
enum ServerModel {
    /// No model: requests are answered as soon as they are carried out.
    None,
    Running(RunningModel),
    /// It has ended; its latencies, or why.
    Ended(Value),
}

impl ServerModel {
    fn to_json(&self) -> Value {
        match self {
            ServerModel::None => Value::Null,
            ServerModel::Running(model) => model.to_json(),
            ServerModel::Ended(told) => told.clone(),
        }
    }

    /// Has a running model end.
    fn end(&mut self) {
        if let ServerModel::Running(model) = std::mem::replace(self, ServerModel::None) {
            let mut told = model.to_json();
            told["latency"] = model.end();
            *self = ServerModel::Ended(told);
        }
    }
}

/// An NBD server over the drive of an image.
#[pyclass(name = "Server")]
pub(crate) struct DriveServer {
    served: Arc<ServedDrive>,
    server: Mutex<Option<serve::Server>>,
    model: Mutex<ServerModel>,
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
        kind, source, sets, image, *, socket=None, tcp=None, read_only=false, aged=false, cut_at=None,
        log_writes=None, pace=false
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
        aged: bool,
        cut_at: Option<&str>,
        log_writes: Option<PathBuf>,
        pace: bool,
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
                let opened = py.detach(|| {
                    let mut drive = Drive::open(&loaded.config, &image, read_only)?;
                    if aged {
                        drive.age(&caller.interrupt())?;
                    }
                    let model = if pace { Some(drive.paced_model()?) } else { None };
                    Ok((drive, model))
                });
                let (drive, model) = caller.result(opened, errors::run)?;
                let served = Arc::new(ServedDrive::new(drive));
                let mut blocks: Arc<dyn Blocks> = served.clone();
                if let Some(at) = cut_at {
                    blocks = Arc::new(Cut::new(blocks, at));
                }
                if let Some(path) = log_writes {
                    blocks = Arc::new(LogWrites::create(blocks, &path).map_err(errors::input)?);
                }
                let listener = Listener::bind(&address).map_err(errors::input)?;
                let (uri, warning) = (listener.uri(), listener.warning());
                let model = model.map(RunningModel::start);
                let pace = model.as_ref().map(|model| Arc::clone(model.pace()));
                let server = serve::Server::start_paced(blocks, listener, Limits::default(), pace);
                let model = Mutex::new(model.map_or(ServerModel::None, ServerModel::Running));
                Ok(DriveServer { served, server: Mutex::new(Some(server)), model, uri, warning })
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
        let model = self.model.lock().map_or(Value::Null, |model| model.to_json());
        let (figures, restart) = (py.detach(|| self.served.figures()), self.served.restart());
        json!({
            "size": self.served.size(),
            "page_size": self.served.page_size(),
            "read_only": self.served.read_only(),
            "new": self.served.is_new(),
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
            "end_of_life": figures.has_ended,
            "restart": restart.to_json(),
            "restart_wall_s": restart.wall_s,
            "pace": model,
        })
        .to_string()
    }

    /// Ends in good order: what was acknowledged is in the image.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        let stopped = py.detach(|| {
            let server = self.server.lock().ok().and_then(|mut server| server.take());
            let stopped = server.map_or(Ok(()), serve::Server::stop);
            if let Ok(mut model) = self.model.lock() {
                model.end();
            }
            stopped
        });
        stopped.map_err(|error| errors::failed(format!("the drive cannot be closed: {error}")))
    }
}
