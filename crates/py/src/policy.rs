//! Policies that a user wrote in Python. The package's module `api.own_policies` finds them and words what is wrong with them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use base::{Domain, Own, Selection, Unit};
use config::Loaded;
use ftl::victim::conformance::{self, conform};
use ftl::victim::{Maker, UnitShape, VictimPolicy, VictimView};
use pyo3::exceptions::{PyException, PySystemExit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::caller::Caller;
use crate::{errors, guard};

/// The module of the package.
const OWN: &str = "ftlab.api.own_policies";

/// A reclaim unit as a victim policy of the user's own sees it: there is one object for it all the time.
#[pyclass(module = "ftlab._core", frozen)]
pub(crate) struct Block {
    /// Its number, among all of the device.
    #[pyo3(get)]
    number: u32,
    /// The plane that it is of; with twin blocks the die.
    #[pyo3(get)]
    plane: u32,
    /// Pages that it has.
    #[pyo3(get)]
    pages: u32,
    valid: AtomicU32,
    erases: AtomicU32,
    filled_at: AtomicU64,
    changed_at: AtomicU64,
}

#[pymethods]
impl Block {
    /// Its valid pages.
    #[getter]
    fn valid(&self) -> u32 {
        self.valid.load(Relaxed)
    }

    /// Its invalid pages.
    #[getter]
    fn invalid(&self) -> u32 {
        self.pages - self.valid()
    }

    /// How often it was erased, as of the latest choice on its plane.
    #[getter]
    fn erases(&self) -> u32 {
        self.erases.load(Relaxed)
    }

    /// When its last page was programmed.
    #[getter]
    fn filled_at(&self) -> u64 {
        self.filled_at.load(Relaxed)
    }

    /// When it changed last: was filled, or lost a page.
    #[getter]
    fn changed_at(&self) -> u64 {
        self.changed_at.load(Relaxed)
    }

    fn __repr__(&self) -> String {
        format!(
            "<block {} of plane {}: {} of {} pages valid, {} erases>",
            self.number,
            self.plane,
            self.valid(),
            self.pages,
            self.erases()
        )
    }
}

/// The device as a policy of the user's own is told of it at its start.
#[pyclass(module = "ftlab._core", frozen, get_all)]
pub(crate) struct Device {
    /// Planes; with twin blocks dies.
    planes: u32,
    /// Blocks of each plane.
    blocks_per_plane: u32,
    /// Pages of each block.
    pages_per_block: u32,
    /// The seed of the run.
    seed: u64,
}

/// Loads what a configuration has of the user's own policies.
pub(crate) fn load(py: Python<'_>, loaded: &mut Loaded, caller: &Caller) -> PyResult<()> {
    for key in ftl::TAKE_OWN {
        let Some(name) = own(loaded, key).map(|own| own.name.clone()) else { continue };
        let full = format!("ftl.{key}");
        let (policy, message, hint): (Option<Py<PyAny>>, String, String) =
            py.import(OWN)?.call_method1("find", (*key, &name))?.extract()?;
        let Some(policy) = policy else { return Err(errors::config(loaded.refuse(&full, message, hint))) };
        if *key == ftl::victim::SEAM.key {
            let maker = maker(name, policy, loaded.config.run.seed, caller.clone());
            own(loaded, key).expect("it is there").load(Arc::new(maker));
        } else {
            let table = match table(py, loaded, &name, policy)? {
                Ok(table) => table,
                Err((message, hint)) => return Err(errors::config(loaded.refuse(&full, message, hint))),
            };
            own(loaded, key).expect("it is there").load(Arc::new(table));
        }
    }
    Ok(())
}

fn own<'a>(loaded: &'a mut Loaded, key: &str) -> Option<&'a mut Own> {
    let seams = &mut loaded.config.ftl.made;
    seams.iter_mut().find(|(seam, _)| *seam == key).and_then(|(_, made): &mut (_, Selection)| made.own.as_mut())
}

/// True for a configuration with any.
pub(crate) fn has_own(loaded: &Loaded) -> bool {
    loaded.config.ftl.made.iter().any(|(_, made)| made.own.is_some())
}

/// The planes of all logical pages, as a class of the user's own says; or what is wrong, and what would be right.
fn table(
    py: Python<'_>,
    loaded: &Loaded,
    name: &str,
    policy: Py<PyAny>,
) -> PyResult<Result<Vec<Domain>, (String, String)>> {
    let space = device::space(&loaded.config);
    let device = Device {
        planes: space.domains,
        blocks_per_plane: space.units_per_domain,
        pages_per_block: space.slots,
        seed: loaded.config.run.seed,
    };
    let arguments = (name, policy, device, space.user_pages, space.most_pages_of_domain);
    let (table, message, hint): (Option<Bound<'_, PyBytes>>, String, String) =
        py.import(OWN)?.call_method1("planes", arguments)?.extract()?;
    let Some(table) = table else { return Ok(Err((message, hint))) };
    Ok(Ok(table.as_bytes().as_chunks().0.iter().map(|bytes| Domain::new(u32::from_ne_bytes(*bytes))).collect()))
}

/// The maker of a victim policy, for each device and after preconditioning.
fn maker(name: String, policy: Py<PyAny>, seed: u64, caller: Caller) -> Maker {
    Box::new(move |shape| {
        Python::attach(|py| {
            let made = Victim::new(py, &name, policy.bind(py), shape, seed, &caller);
            let victim: Box<dyn VictimPolicy + Send> = match made {
                Ok(victim) => Box::new(victim),
                Err(error) => {
                    caller.raise(explained(py, &name, "", error));
                    Box::new(Victim::without(&name, shape, &caller))
                }
            };
            victim
        })
    })
}

/// An exception of the user's code with words. `sys.exit()` is one: it would end the process as if the run were over. Only
/// what somebody outside of that code wants, by Ctrl-C for example, stays as it is.
fn explained(py: Python<'_>, name: &str, method: &str, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyException>(py) && !error.is_instance_of::<PySystemExit>(py) {
        return error;
    }
    let words = py.import(OWN).and_then(|own| own.call_method1("explained", (name, method, error.into_value(py))));
    words.map_or_else(|error| error, PyErr::from_value)
}

/// A victim policy in Python. When it fails the caller is told, who ends the run; until then the emptiest unit is taken.
struct Victim {
    name: String,
    caller: Caller,
    calls: Option<Calls>,
    /// By unit.
    blocks: Vec<Py<Block>>,
    /// By domain: closed units, the one that is unchanged for longest first.
    closed: Vec<BTreeMap<u64, Unit>>,
    /// By unit: its place among the closed ones.
    places: Vec<u64>,
    /// By unit: its valid pages.
    valid: Vec<u32>,
    changes: u64,
}

/// The methods of the user's object.
struct Calls {
    choose: Py<PyAny>,
    on_closed: Option<Py<PyAny>>,
    on_returned: Option<Py<PyAny>>,
    on_invalidated: Option<Py<PyAny>>,
    on_removed: Option<Py<PyAny>>,
}

impl Victim {
    fn new(
        py: Python<'_>,
        name: &str,
        policy: &Bound<'_, PyAny>,
        shape: UnitShape,
        seed: u64,
        caller: &Caller,
    ) -> PyResult<Victim> {
        let device = Device {
            planes: shape.domains,
            blocks_per_plane: shape.units_per_domain,
            pages_per_block: shape.slots,
            seed,
        };
        let made = py.import(OWN)?.call_method1("made", (policy, device))?;
        let method = |name: &str| made.getattr_opt(name).map(|method| method.map(Bound::unbind));
        let calls = Calls {
            choose: made.getattr("choose")?.unbind(),
            on_closed: method("on_closed")?,
            on_returned: method("on_returned")?,
            on_invalidated: method("on_invalidated")?,
            on_removed: method("on_removed")?,
        };
        let block = |number: u32| {
            let block = Block {
                number,
                plane: number / shape.units_per_domain,
                pages: shape.slots,
                valid: AtomicU32::new(0),
                erases: AtomicU32::new(0),
                filled_at: AtomicU64::new(0),
                changed_at: AtomicU64::new(0),
            };
            Py::new(py, block)
        };
        let blocks = (0..shape.units()).map(block).collect::<PyResult<_>>()?;
        Ok(Victim { calls: Some(calls), blocks, ..Victim::without(name, shape, caller) })
    }

    /// One whose class could not be used.
    fn without(name: &str, shape: UnitShape, caller: &Caller) -> Victim {
        Victim {
            name: name.to_owned(),
            caller: caller.clone(),
            calls: None,
            blocks: Vec::new(),
            closed: vec![BTreeMap::new(); shape.domains as usize],
            places: vec![0; shape.units() as usize],
            valid: vec![0; shape.units() as usize],
            changes: 0,
        }
    }

    /// Takes note that a unit changed.
    fn change(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
        self.changes += 1;
        self.places[unit.index()] = self.changes;
        self.valid[unit.index()] = valid;
        self.closed[domain.index()].insert(self.changes, unit);
        if let Some(block) = self.blocks.get(unit.index()) {
            block.get().valid.store(valid, Relaxed);
            block.get().changed_at.store(now, Relaxed);
        }
    }

    fn take_out(&mut self, domain: Domain, unit: Unit) {
        self.closed[domain.index()].remove(&self.places[unit.index()]);
    }

    /// Tells the user's object, if it wants to hear of it; `now` where it is told the time.
    fn tell(&mut self, method: fn(&Calls) -> (&'static str, Option<&Py<PyAny>>), unit: Unit, now: Option<u64>) {
        let Some((name, Some(method))) = self.calls.as_ref().map(method) else { return };
        let failed = Python::attach(|py| {
            let block = self.blocks[unit.index()].clone_ref(py);
            let told = match now {
                Some(now) => method.call1(py, (block, now)),
                None => method.call1(py, (block,)),
            };
            told.err().map(|error| explained(py, &self.name, name, error))
        });
        self.fail(failed);
    }

    fn fail(&mut self, failed: Option<PyErr>) {
        if let Some(error) = failed {
            self.caller.raise(error);
            self.calls = None;
        }
    }

    /// The user's choice, or why it is none.
    fn ask(&self, py: Python<'_>, calls: &Calls, view: VictimView<'_>) -> PyResult<Unit> {
        let closed = &self.closed[view.domain.index()];
        for unit in closed.values() {
            self.blocks[unit.index()].get().erases.store(view.erases[unit.index()], Relaxed);
        }
        let offered = PyList::new(py, closed.values().map(|unit| self.blocks[unit.index()].clone_ref(py)))?;
        let answer = calls.choose.call1(py, (offered, view.now));
        let answer = answer.map_err(|error| explained(py, &self.name, "choose", error))?.into_bound(py);
        let block = answer.cast::<Block>().ok().map(|block| Unit::new(block.get().number));
        let is_offered = |unit: &Unit| {
            self.blocks.get(unit.index()).is_some_and(|block| block.is(&answer))
                && closed.get(&self.places[unit.index()]) == Some(unit)
        };
        match block.filter(is_offered) {
            Some(unit) => Ok(unit),
            None => {
                let arguments = (&self.name, answer, closed.len(), view.domain.number());
                Err(PyErr::from_value(py.import(OWN)?.call_method1("wrong_choice", arguments)?))
            }
        }
    }
}

impl VictimPolicy for Victim {
    fn choose(&mut self, view: VictimView<'_>) -> Option<Unit> {
        if self.closed[view.domain.index()].is_empty() {
            return None;
        }
        if let Some(calls) = &self.calls {
            match Python::attach(|py| self.ask(py, calls, view)) {
                Ok(unit) => return Some(unit),
                Err(error) => self.fail(Some(error)),
            }
        }
        self.closed[view.domain.index()].values().min_by_key(|unit| self.valid[unit.index()]).copied()
    }

    fn on_closed(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
        self.change(domain, unit, valid, now);
        if let Some(block) = self.blocks.get(unit.index()) {
            block.get().filled_at.store(now, Relaxed);
        }
        self.tell(|calls| ("on_closed", calls.on_closed.as_ref()), unit, Some(now));
    }

    fn on_returned(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
        self.change(domain, unit, valid, now);
        self.tell(|calls| ("on_returned", calls.on_returned.as_ref()), unit, Some(now));
    }

    fn on_invalidated(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
        self.take_out(domain, unit);
        self.change(domain, unit, valid, now);
        self.tell(|calls| ("on_invalidated", calls.on_invalidated.as_ref()), unit, Some(now));
    }

    fn on_removed(&mut self, domain: Domain, unit: Unit, _valid: u32) {
        self.take_out(domain, unit);
        self.tell(|calls| ("on_removed", calls.on_removed.as_ref()), unit, None);
    }
}

/// Puts a victim policy of the user's own through lives at random, as the policies of the engine are: units are closed,
/// lose pages, are chosen, collected and given back. Returns how many choices that were.
#[pyfunction]
pub(crate) fn conform_victim(py: Python<'_>, name: String, policy: Py<PyAny>, lives: u64) -> PyResult<u64> {
    guard::run(
        || format!("conformance of the victim policy {name}"),
        || {
            let caller = Caller::new(None);
            let maker = maker(name.clone(), policy, 1, caller.clone());
            for seed in 0..lives {
                let kept = py.detach(|| conform(&mut *maker(conformance::SHAPE), seed, || caller.go_on()));
                caller.result(kept, errors::failed)?;
            }
            Ok(lives * conformance::STEPS)
        },
    )
}
