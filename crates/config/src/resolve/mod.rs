//! From keys to the resolved configuration, with the rules that tie keys together.

mod device;
mod run;
mod wear;
mod workload;

use base::{Choices, Selection};

use crate::Registry;
use crate::keys::{Word, is_static_order};
use crate::model::{Config, Host, Replay};
use crate::reader::Reader;
use crate::tenants::{self, TENANT};
use device::{device, whole_superpages};
use run::run;
pub(crate) use workload::{drop_arrivals, workload};

/// Reads every section; problems are left in the reader.
pub(crate) fn resolve(reader: &mut Reader<'_>, registry: &Registry) -> Option<Config> {
    let device = device(reader, registry);
    let ftl = ftl(reader, registry);
    let device = device.map(|device| whole_superpages(reader, device, ftl.as_ref()));
    let host = host(reader);
    let sizes = device.as_ref().map(|device| (device.user_capacity, u64::from(device.page_size)));
    let run = run(reader, sizes);
    tenants::needs_tenants(reader);
    let workload = match reader.tree.has(TENANT) {
        true => tenants::read(reader, sizes, host.as_ref(), run.as_ref().map(|run| run.executor)),
        false => workload(reader, sizes, true),
    };
    let mut config = Config { device: device?, ftl: ftl?, host: host?, workload: workload?, run: run? };
    if reader.problems.is_empty() {
        let (replay, executor) = (config.host.replay, Some(config.run.executor));
        drop_arrivals(reader, &mut config.workload.source, replay, executor);
    }
    reader.problems.is_empty().then_some(config)
}

fn ftl(reader: &mut Reader<'_>, registry: &Registry) -> Option<Choices> {
    let mut seams = Vec::new();
    let mut sound = true;
    for seam in &registry.seams {
        let noun = format!("{} policy", seam.key.replace('_', " "));
        let path = format!("ftl.{}", seam.key);
        let own = if registry.own.contains(&seam.key) { reader.own_choice(&path) } else { None };
        match own.or_else(|| reader.choice(&path, &noun)) {
            Some(selection) => seams.push((seam.key, selection)),
            None => sound = false,
        }
    }
    bind(reader, registry, &mut seams)?;
    sound.then_some(Choices { made: seams })
}

/// The binding follows from the allocation; one that contradicts it is refused.
fn bind(reader: &mut Reader<'_>, registry: &Registry, seams: &mut [(&'static str, Selection)]) -> Option<()> {
    let made = |key: &str| seams.iter().find(|(seam, _)| *seam == key).map(|(_, selection)| selection);
    let (Some(allocation), Some(binding)) = (made("allocation"), made("binding")) else { return Some(()) };
    let (is_own, allocation, binding) = (allocation.own.is_some(), allocation.written(), binding.name);
    let (follows, why) = match is_own || is_static_order(allocation) {
        true => ("static", "a formula of the LPN names the channel"),
        false => ("dynamic", "any free channel takes the page"),
    };
    if !reader.tree.has("ftl.binding") {
        let seam = registry.seams.iter().find(|seam| seam.key == "binding")?;
        let choice = seam.find(follows)?;
        seams
            .iter_mut()
            .filter(|(key, _)| *key == "binding")
            .for_each(|(_, made)| *made = Selection::default_of(choice));
        return Some(());
    }
    if binding == follows {
        return Some(());
    }
    let title = format!("binding `{binding}` contradicts allocation `{allocation}`");
    let label =
        format!("under `{allocation}` {why}; expected `{follows}`, or no `binding`: it follows from the allocation");
    reader.refuse("ftl.binding", title, label);
    None
}

fn host(reader: &mut Reader<'_>) -> Option<Host> {
    let replay = reader.word("host.replay");
    if replay == Some(Replay::Paced) && !reader.tree.has(TENANT) {
        let label =
            "one host has a closed or an open loop; expected `replay = \"paced\"` in a `[[tenant]]`, or \"open\"";
        reader.refuse("host.replay", "`paced` is a loop of tenants", label);
    }
    let queue_depth = match reader.tree.has(TENANT) && !reader.tree.has(QUEUE_DEPTH) {
        true => Some(Some(TENANTS_DEPTH)),
        false => queue_depth(reader, replay),
    };
    let time_scale = reader.number("host.time_scale");
    if matches!(replay, Some(Replay::Closed | Replay::Batch)) && time_scale.is_some_and(|scale| scale != 1.0) {
        let label = "a closed loop ignores arrival times; expected `host.replay = \"open\"`, or no `time_scale`";
        reader.clash(&["host.time_scale", "host.replay"], "`host.time_scale` has no effect in a closed loop", label);
    }
    let link = reader.bandwidth("host.link");
    let command_time = reader.time("host.command_time");
    let command_interval = reader.time("host.command_interval");
    let arbitration = reader.choice("host.arbitration", "arbitration");
    Some(Host {
        replay: replay?,
        queue_depth: queue_depth?,
        link: link?,
        command_time: command_time?,
        command_interval: command_interval?,
        time_scale: time_scale?,
        arbitration: arbitration?,
    })
}

const QUEUE_DEPTH: &str = "host.queue_depth";

/// Commands of all tenants that the controller has at once, where nothing is said; assumed.
const TENANTS_DEPTH: u32 = 256;

/// Queue depth of a closed loop where none is given.
const CLOSED_DEPTH: u32 = 32;

/// A depth that is given holds in every loop. Without one, an open loop takes what comes; and a closed one has to have one, so that it
/// takes the place of `unlimited` on an earlier layer than that which made the loop a closed one.
pub(crate) fn queue_depth(reader: &mut Reader<'_>, replay: Option<Replay>) -> Option<Option<u32>> {
    let given = if reader.tree.has(QUEUE_DEPTH) { Some(reader.depth(QUEUE_DEPTH)?) } else { None };
    match (replay?, given) {
        (Replay::Open, given) => Some(given.flatten()),
        (_, Some(Some(depth))) => Some(Some(depth)),
        (replay, Some(None)) if reader.tree.layer(QUEUE_DEPTH) >= reader.tree.layer("host.replay") => {
            let label = format!(
                "`{}` sends the next request when one is done, so something has to say how many there are: expected a whole \
                 number from 1 to 65536, or `host.replay = \"open\"`",
                replay.word()
            );
            reader.clash(&[QUEUE_DEPTH, "host.replay"], "only an open loop has no limit of its requests", label);
            None
        }
        (_, Some(None) | None) => Some(Some(CLOSED_DEPTH)),
    }
}
