//! `[[tenant]]`: hosts that share a device, each with requests and a queue of its own.
//!
//! A tenant is read as a small config: its keys are those of `[workload]`, `replay` and `queue_depth` of `[host]`, and a few of its
//! own. So each of them has one declaration, one range and one text for what is wrong with it.

use std::collections::BTreeSet;

use base::Duration;

use crate::diagnostic::{Diagnostic, OriginPlace, Problems, clean, did_you_mean};
use crate::document::{KeyValue, Node, Value};
use crate::keys::{SOURCES, TENANT_KEYS, Word};
use crate::model::{Executor, Host, Namespace, Priority, Replay, Source, Steady, SteadyFigure, Tenant, Workload};
use crate::reader::Reader;
use crate::resolve;
use crate::tree::{Leaf, Tree};
use crate::units::{list, print_size, print_time};

/// The key of the array.
pub(crate) const TENANT: &str = "tenant";

/// More would be a fleet.
const TENANTS_MAX: usize = 256;

/// Characters of a label.
const LABEL_MAX: usize = 255;

/// Keys of `[host]` that each tenant has for itself.
const OF_HOST: [&str; 2] = ["replay", "queue_depth"];

const ARBITRATION: &str = "host.arbitration";

/// The tenants as they were written: keys with their places: the array, or keys of tenants by name (`--set tenant.NAME.KEY=VALUE`).
pub(crate) fn sorted(entry: KeyValue) -> Vec<(String, OriginPlace, Node)> {
    let Value::Table(tenants) = entry.node.value else { return vec![(TENANT.into(), entry.place, entry.node)] };
    let mut keys = Vec::new();
    for KeyValue { key: name, place, node } in tenants {
        match node.value {
            Value::Table(inner) => {
                let path = |key: &str| format!("{TENANT}.{name}.{key}");
                keys.extend(inner.into_iter().map(|key| (path(&key.key), key.place, key.node)));
            }
            value => keys.push((format!("{TENANT}.{name}"), place, Node { place: node.place, value })),
        }
    }
    keys
}

/// The keys that a layer gives up to the one above it: tenants take the place of a workload, and the other way round, with the
/// arbitration among them.
pub(crate) fn given_up(upper: &Tree) -> impl Fn(&str) -> bool + use<> {
    let (tenants, workload) = (upper.has(TENANT), SOURCES.iter().any(|path| upper.has(path)));
    move |path| {
        let of = |table: &str| path.split('.').next() == Some(table);
        tenants && (of(TENANT) || of("workload")) || workload && (of(TENANT) || path == ARBITRATION)
    }
}

/// One tenant as it was written.
struct Written {
    place: OriginPlace,
    keys: Vec<(String, Leaf)>,
}

/// The tenants, as the source of a workload.
pub(crate) fn read(
    reader: &mut Reader<'_>,
    sizes: Option<(u64, u64)>,
    host: Option<&Host>,
    executor: Option<Executor>,
) -> Option<Workload> {
    both(reader);
    let written = written(reader)?;
    let is_weighted = host.is_some_and(|host| host.arbitration.name == "weighted");
    let has_end = written.iter().any(|tenant| {
        let has = |names: &[&str]| tenant.keys.iter().any(|(key, _)| names.contains(&key.as_str()));
        (has(&["volume", "requests", "duration", "trace"]) || ends_by_itself(tenant))
            && !tenant.keys.iter().any(|(key, leaf)| key == "idle" && matches!(leaf.node.value, Value::Bool(true)))
    });
    if !has_end {
        let label = "expected `requests`, `volume` or `duration` in one of them that is not idle: those without go on for as long as the others";
        reader.refuse(TENANT, "no tenant has an end", label);
    }
    let (mut tenants, mut names, mut first) = (Vec::new(), BTreeSet::new(), 0);
    let is_sound = reader.problems.is_empty();
    for tenant in &written {
        let made = one(reader, tenant, sizes, (first, &tenants), is_weighted, executor);
        if let Some(made) = made {
            if !names.insert(made.name.clone()) {
                let title = format!("two tenants are called `{}`", clean(&made.name));
                reader.problem(&tenant.place, title, "expected a name for each");
            }
            first += made.namespace.map_or(0, |namespace| namespace.bytes);
            tenants.push(made);
        }
    }
    unknown(reader, &written, &names);
    if tenants.len() < written.len() || !is_sound {
        return None;
    }
    namespaces(reader, &tenants, sizes?.0);
    if executor.is_some_and(|executor| executor != Executor::Timed) {
        let label = "tenants wait for each other, which takes time; expected `run.executor = \"timed\"`";
        reader.clash(&["run.executor", TENANT], "tenants need an executor with time", label);
    }
    Some(Workload::of(Source::Tenants(tenants)))
}

/// Refuses a workload beside tenants.
fn both(reader: &mut Reader<'_>) {
    let first = reader.tree.below("workload").next().map(|(key, _)| format!("workload.{key}"));
    if let Some(path) = first {
        let label = "a tenant has the keys of `[workload]`; expected them there, or no `[[tenant]]`";
        reader.refuse(&path, "a device has a workload or tenants, not both", label);
    }
}

/// The tables of the array, with what later layers say of tenants by name.
fn written(reader: &mut Reader<'_>) -> Option<Vec<Written>> {
    let expected = "expected a table for each: `[[tenant]]` with its keys below";
    let leaf = reader.tree.get(TENANT)?;
    let Value::Array(items) = &leaf.node.value else {
        let label = format!("found {}; {expected}", leaf.node.found());
        reader.refuse(TENANT, "`tenant` is an array of tables", label);
        return None;
    };
    if items.is_empty() || items.len() > TENANTS_MAX {
        let title = format!("there are {} tenants", items.len());
        reader.refuse(TENANT, title, format!("expected 1 to {TENANTS_MAX}"));
        return None;
    }
    let mut tenants = Vec::new();
    for item in items {
        let Value::Table(entries) = &item.value else {
            reader.problem(&item.place, "a tenant is a table", format!("found {}; {expected}", item.found()));
            return None;
        };
        let own = |entry: &KeyValue| {
            (entry.key.clone(), Leaf { layer: leaf.layer, ..Leaf::new(entry.place.clone(), entry.node.clone()) })
        };
        let mut keys: Vec<(String, Leaf)> = entries.iter().map(own).collect();
        if let Some(name) = name_of(&keys) {
            for (key, later) in reader.tree.below(&format!("{TENANT}.{name}")) {
                let mut later = later.clone();
                if let Some(at) = keys.iter().position(|(old, _)| old == key) {
                    later.replaces(&keys.remove(at).1);
                }
                keys.push((key.to_owned(), later));
            }
        }
        // Of inline tables on the command line there is no place but that of the whole.
        let place = entries.first().map_or(&item.place, |entry| &entry.place).clone();
        tenants.push(Written { place, keys });
    }
    Some(tenants)
}

/// True for a job that does not go by time alone.
fn ends_by_itself(tenant: &Written) -> bool {
    tenant.keys.iter().any(|(key, leaf)| match &leaf.node.value {
        Value::String(text) if key == "job" => !Source::Job { text: text.clone() }.is_endless(),
        _ => false,
    })
}

fn name_of(keys: &[(String, Leaf)]) -> Option<String> {
    keys.iter().find_map(|(key, leaf)| match &leaf.node.value {
        Value::String(name) if key == "name" => Some(name.clone()),
        _ => None,
    })
}

/// Refuses keys of tenants that there are not.
fn unknown(reader: &mut Reader<'_>, written: &[Written], names: &BTreeSet<String>) {
    let all = || names.iter().map(String::as_str);
    let strangers: Vec<(String, OriginPlace)> = reader
        .tree
        .below(TENANT)
        .filter(|(path, _)| {
            let of = |tenant: &Written| name_of(&tenant.keys).is_some_and(|name| path.starts_with(&format!("{name}.")));
            !written.iter().any(of)
        })
        .map(|(path, leaf)| (path.split('.').next().unwrap_or(path).to_owned(), leaf.place.clone()))
        .collect();
    for (name, place) in strangers {
        let title = match names.contains(&name) {
            true => format!("tenant `{}` is a table", clean(&name)),
            false => format!("there is no tenant `{}`", clean(&name)),
        };
        let diagnostic = Diagnostic::new(title).at(&place);
        let label = format!("expected `tenant.NAME.KEY`, with one of the names {}", list(all()));
        let hint = did_you_mean(&name, all()).filter(|_| !names.contains(&name));
        reader.problems.push(diagnostic.label(label).maybe_hint(hint));
    }
}

/// Reads one tenant, as a config of its own.
fn one(
    reader: &mut Reader<'_>,
    written: &Written,
    sizes: Option<(u64, u64)>,
    before: (u64, &[Tenant]),
    is_weighted: bool,
    executor: Option<Executor>,
) -> Option<Tenant> {
    let mut keys = Vec::new();
    for (key, leaf) in &written.keys {
        match section_of(reader, key) {
            Some(section) => keys.push((format!("{section}.{key}"), leaf.clone())),
            None => unknown_key(reader, key, leaf),
        }
    }
    let inherited = reader.tree.get("host.replay").map(|leaf| ("host.replay".to_owned(), leaf.clone()));
    let tree = Tree::of(inherited.into_iter().chain(keys));
    let mut part = Reader { tree: &tree, keys: reader.keys, problems: Problems::default() };
    let name = name(&mut part);
    let made = tenant(&mut part, name.clone(), sizes, before, is_weighted, executor);
    let problems = part.problems;
    let is_sound = problems.is_empty();
    let called = name.map_or_else(|| "a tenant".to_owned(), |name| format!("tenant `{}`", clean(&name)));
    reader.problems.adopt(problems, |problem| reworded(problem, &called, &written.place));
    made.filter(|_| is_sound)
}

/// The table that declares a key of a tenant.
fn section_of(reader: &Reader<'_>, key: &str) -> Option<&'static str> {
    if OF_HOST.contains(&key) {
        return Some("host");
    }
    let declared = |section: &str| reader.keys.iter().any(|other| other.section == section && other.name == key);
    ["tenant", "workload"].into_iter().find(|section| declared(section))
}

fn unknown_key(reader: &mut Reader<'_>, key: &str, leaf: &Leaf) {
    let of_workload = reader.keys.iter().filter(|key| key.section == "workload").map(|key| key.name);
    let names: Vec<&str> = TENANT_KEYS.iter().map(|key| key.name).chain(OF_HOST).chain(of_workload).collect();
    let diagnostic = Diagnostic::new(format!("unknown key `{}` in `[[tenant]]`", clean(key))).at(&leaf.place);
    let label = format!("expected one of {}", list(&names));
    reader.problems.push(diagnostic.label(label).maybe_hint(did_you_mean(key, names.iter().copied())));
}

/// A problem in the words of a tenant, which has its keys without a table before them.
fn reworded(problem: Diagnostic, called: &str, place: &OriginPlace) -> Diagnostic {
    let short = |text: String| text.replace("`workload.", "`").replace("`host.replay", "`replay");
    let short = |text: String| short(text).replace("`host.queue_depth", "`queue_depth").replace("`tenant.", "`");
    Diagnostic {
        message: format!("{called}: {}", short(problem.message)),
        place: problem.place.or_else(|| Some(place.clone())),
        label: problem.label.map(short),
        hint: problem.hint.map(short),
    }
}

fn name(part: &mut Reader<'_>) -> Option<String> {
    const PATH: &str = "tenant.name";
    if !part.tree.has(PATH) {
        let label = "expected `name = \"reader\"`, or whatever it is called in the results";
        part.refuse(PATH, "it has no name", label);
        return None;
    }
    let name = part.text(PATH)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.chars().all(is_plain) && name.len() <= 40 {
        return Some(name);
    }
    part.refuse(PATH, "its name cannot be used", "expected at most 40 letters, digits, `-` and `_`");
    None
}

/// Its name in tables.
fn label(part: &mut Reader<'_>) -> Option<String> {
    const PATH: &str = "tenant.label";
    if !part.tree.has(PATH) {
        return Some(String::new());
    }
    let label = part.text(PATH)?;
    if label.chars().count() <= LABEL_MAX && !label.chars().any(char::is_control) {
        return Some(label);
    }
    let expected = format!("expected at most {LABEL_MAX} characters, none of them a control character");
    part.refuse(PATH, "its label cannot be used", expected);
    None
}

fn tenant(
    part: &mut Reader<'_>,
    name: Option<String>,
    sizes: Option<(u64, u64)>,
    (first, before): (u64, &[Tenant]),
    is_weighted: bool,
    executor: Option<Executor>,
) -> Option<Tenant> {
    let replay = part.word("host.replay");
    if replay == Some(Replay::Batch) {
        let label = "`batch` waits for the writes of one host; expected \"closed\" or \"open\"";
        part.refuse("host.replay", "`host.replay` of a tenant cannot be `batch`", label);
    }
    let queue_depth = resolve::queue_depth(part, replay);
    let namespace = namespace(part, sizes, first);
    let reclaim_group = reclaim_group(part);
    let weight = part.count32("tenant.weight");
    let priority = part.word::<Priority>("tenant.priority");
    for path in ["tenant.weight", "tenant.priority"] {
        if !is_weighted && part.tree.has(path) {
            let label = format!(
                "expected `{ARBITRATION} = \"weighted\"`, or no such key: the tenants have their turns one by one"
            );
            part.refuse(path, format!("`{path}` has no effect under round robin"), label);
        }
    }
    let (label, is_joined) = (label(part), part.flag("tenant.joined"));
    if is_joined == Some(true) && before.is_empty() {
        part.refuse(
            "tenant.joined",
            "`tenant.joined` of the first tenant",
            "expected a tenant before it, or no `joined`",
        );
    }
    let is_idle = part.flag("tenant.idle");
    let (think, start, ramp) = (part.time("tenant.think"), part.time("tenant.start"), part.time("tenant.ramp"));
    if replay == Some(Replay::Open) && think.is_some_and(|think| think > Duration::ZERO) {
        let label = "an open loop waits for nothing; expected `replay = \"paced\"` or \"closed\", or no `think`";
        part.refuse("tenant.think", "`tenant.think` has no effect in an open loop", label);
    }
    let after = after(part, before);
    let ends_others = part.flag("tenant.ends_others");
    let think_after = part.count("tenant.think_after");
    let refill = part.count32("tenant.refill");
    if replay == Some(Replay::Open) && think_after.is_some_and(|requests| requests > 0) {
        let label = "an open loop waits for nothing; expected `replay = \"paced\"` or \"closed\", or no `think_after`";
        part.refuse("tenant.think_after", "`tenant.think_after` has no effect in an open loop", label);
    }
    let duration = if part.tree.has("tenant.duration") { Some(part.time("tenant.duration")?) } else { None };
    if let (Some(ramp), Some(duration)) = (ramp, duration)
        && ramp >= duration
    {
        let label = format!("it is over after {}; expected less", print_time(duration));
        part.refuse("tenant.ramp", "`tenant.ramp` leaves nothing to measure", label);
    }
    let steady = steady(part);
    let ends = ["workload.requests", "workload.volume", "workload.trace", "tenant.duration"];
    let has_end = ends.iter().any(|path| part.tree.has(path)) || part.tree.has("workload.job");
    if priority == Some(Priority::Urgent) && !has_end {
        let label = "the others might never have a turn again; expected `requests`, `volume` or `duration`, or a priority of \"weighted\"";
        part.refuse("tenant.priority", "an urgent tenant has no end", label);
    }
    let own = match namespace? {
        Some(namespace) => sizes.map(|(_, page)| (namespace.bytes, page)),
        None => sizes,
    };
    let workload = resolve::workload(part, own, false);
    let (replay, mut workload) = (replay?, workload?);
    if part.problems.is_empty() {
        resolve::drop_arrivals(part, &mut workload.source, replay, executor);
    }
    Some(Tenant {
        name: name?,
        label: label?,
        is_joined: is_joined?,
        weight: weight?,
        priority: priority?,
        namespace: namespace?,
        reclaim_group: reclaim_group?,
        is_idle: is_idle?,
        think: think?,
        think_after: Some(think_after?).filter(|requests| *requests > 0),
        refill: refill?,
        start: start?,
        after: after?,
        ends_others: ends_others?,
        duration,
        ramp: ramp?,
        steady: steady?,
        replay,
        queue_depth: queue_depth?,
        workload,
    })
}

/// When its figures are steady.
fn steady(part: &mut Reader<'_>) -> Option<Option<Steady>> {
    const PATH: &str = "tenant.steady";
    let (window, ramp) = (part.time("tenant.steady_window")?, part.time("tenant.steady_ramp")?);
    if !part.tree.has(PATH) {
        for path in ["tenant.steady_window", "tenant.steady_ramp"] {
            if part.tree.has(path) {
                let label = "expected `steady` as well, such as \"iops_slope:0.3%\", or no such key";
                part.refuse(path, format!("`{path}` has no effect without `{PATH}`"), label);
            }
        }
        return Some(None);
    }
    let text = part.text(PATH)?;
    let found = text.split_once(':').and_then(|(word, limit)| {
        let (_, figure) = *SteadyFigure::ALL.iter().find(|(name, _)| *name == word)?;
        let (number, is_share) = limit.strip_suffix('%').map_or((limit, false), |number| (number, true));
        let limit: f64 = number.parse().ok().filter(|limit: &f64| limit.is_finite() && *limit >= 0.0)?;
        Some(Steady { figure, limit, is_share, window, ramp })
    });
    if found.is_none() {
        let label =
            "expected `iops`, `iops_slope`, `bw` or `bw_slope`, a colon and a limit, such as \"iops_slope:0.3%\"";
        part.refuse(PATH, format!("`{PATH}` cannot be \"{}\"", clean(&text)), label);
        return None;
    }
    Some(found)
}

/// The places of the tenants that it waits for.
fn after(part: &mut Reader<'_>, before: &[Tenant]) -> Option<Vec<usize>> {
    const PATH: &str = "tenant.after";
    let Some(names) = (if part.tree.has(PATH) { Some(part.text(PATH)?) } else { None }) else {
        return Some(Vec::new());
    };
    let mut found = Vec::new();
    for name in names.split_whitespace() {
        let Some(place) = before.iter().position(|tenant| tenant.name == name) else {
            let known = before.iter().map(|tenant| tenant.name.as_str());
            let label = if before.is_empty() {
                "there is none before it; expected those that it waits for before it".to_owned()
            } else {
                format!("expected names of those before it: {}", list(known.clone()))
            };
            let hint = did_you_mean(name, known);
            let at = part.tree.get(PATH).map(|leaf| leaf.place.clone());
            let mut diagnostic =
                Diagnostic::new(format!("`{PATH}` names `{}`, which is no tenant before it", clean(name)));
            if let Some(at) = &at {
                diagnostic = diagnostic.at(at);
            }
            part.problems.push(diagnostic.label(label).maybe_hint(hint));
            return None;
        };
        let waited_for = &before[place];
        let ends = waited_for.is_idle
            || waited_for.duration.is_some()
            || waited_for.workload.end != crate::model::End::default()
            || match &waited_for.workload.source {
                Source::Generator(_) => false,
                source => !source.is_endless(),
            };
        if !ends {
            let label = "expected `requests`, `volume` or `duration` there";
            part.refuse(PATH, format!("`{PATH}` names `{}`, which has no end", clean(name)), label);
            return None;
        }
        found.push(place);
    }
    Some(found)
}

/// Its part of the addresses, from `first` on; the inner `None`: none was given.
fn namespace(part: &mut Reader<'_>, sizes: Option<(u64, u64)>, first: u64) -> Option<Option<Namespace>> {
    const PATH: &str = "tenant.namespace";
    if !part.tree.has(PATH) {
        return Some(None);
    }
    let (capacity, page) = sizes.unwrap_or((1 << 20, 1));
    let (bytes, is_part) = part.footprint(PATH, capacity)?;
    let whole = bytes / page * page;
    if whole != bytes && !is_part {
        let title = format!("`{PATH}` is not a whole number of pages of {}", print_size(page));
        part.refuse(
            PATH,
            title,
            format!("{bytes} bytes; expected {} or {}", print_size(whole), print_size(whole + page)),
        );
        return None;
    }
    if whole == 0 || first + whole > capacity {
        let left = print_size(capacity.saturating_sub(first) / page * page);
        let title = format!("`{PATH}` of {} does not fit the device", print_size(whole));
        part.refuse(PATH, title, format!("expected a page or more, and at most {left}, which those before it leave"));
        return None;
    }
    Some(Some(Namespace { first, bytes: whole }))
}

/// The reclaim group of its namespace; the inner `None`: none was given.
fn reclaim_group(part: &mut Reader<'_>) -> Option<Option<u32>> {
    const PATH: &str = "tenant.reclaim_group";
    if !part.tree.has(PATH) {
        return Some(None);
    }
    if !part.tree.has("tenant.namespace") {
        let label = "a namespace lies in a reclaim group; expected `namespace` too, or no `reclaim_group`";
        part.refuse(PATH, format!("`{PATH}` needs a namespace"), label);
    }
    Some(Some(part.count32(PATH)?))
}

/// Either every tenant has a namespace or none.
fn namespaces(reader: &mut Reader<'_>, tenants: &[Tenant], capacity: u64) {
    let without: Vec<&str> =
        tenants.iter().filter(|tenant| tenant.namespace.is_none()).map(|tenant| tenant.name.as_str()).collect();
    if without.is_empty() || without.len() == tenants.len() {
        return;
    }
    let used: u64 = tenants.iter().filter_map(|tenant| tenant.namespace).map(|namespace| namespace.bytes).sum();
    let label = format!(
        "{} {} none, and {} of the device are left; expected one for each, or none at all",
        list(without.iter()),
        if without.len() == 1 { "has" } else { "have" },
        print_size(capacity - used),
    );
    reader.refuse(TENANT, "some tenants have a `namespace`, and some have not", label);
}

/// Refuses a way to arbitrate among hosts where there is one.
pub(crate) fn needs_tenants(reader: &mut Reader<'_>) {
    if reader.tree.has(ARBITRATION) && !reader.tree.has(TENANT) {
        let label = "there is one host; expected `[[tenant]]` tables, or no `arbitration`";
        reader.refuse(ARBITRATION, format!("`{ARBITRATION}` has no effect without tenants"), label);
    }
    if !reader.tree.has(TENANT)
        && let Some(place) = reader.tree.below(TENANT).next().map(|(_, leaf)| leaf.place.clone())
    {
        let label = "expected the tenants as `[[tenant]]` tables, with these keys in them";
        reader.problem(&place, "there are no tenants to set keys of", label);
    }
}

/// The keys of a tenant as a user writes them, before those of its workload.
pub(crate) fn printed(tenant: &Tenant, all: &[Tenant], is_weighted: bool) -> Vec<(&'static str, serde_json::Value)> {
    use serde_json::json;
    let mut keys = vec![("name", json!(tenant.name))];
    keys.extend((!tenant.label.is_empty()).then(|| ("label", json!(tenant.label))));
    keys.extend(tenant.is_joined.then_some(("joined", json!(true))));
    keys.extend(tenant.namespace.map(|namespace| ("namespace", json!(print_size(namespace.bytes)))));
    keys.extend(tenant.reclaim_group.map(|group| ("reclaim_group", json!(group))));
    if is_weighted {
        keys.extend([("weight", json!(tenant.weight)), ("priority", json!(tenant.priority.word()))]);
    }
    keys.extend([
        ("idle", json!(tenant.is_idle)),
        ("replay", json!(tenant.replay.word())),
        ("queue_depth", tenant.queue_depth.map_or_else(|| json!(crate::keys::UNLIMITED), |depth| json!(depth))),
        ("start", json!(print_time(tenant.start))),
    ]);
    if tenant.replay != Replay::Open {
        keys.push(("think", json!(print_time(tenant.think))));
        keys.extend((tenant.refill > 1).then(|| ("refill", json!(tenant.refill))));
        keys.extend(tenant.think_after.map(|requests| ("think_after", json!(requests))));
    }
    if !tenant.after.is_empty() {
        let names: Vec<&str> = tenant.after.iter().map(|&place| all[place].name.as_str()).collect();
        keys.push(("after", json!(names.join(" "))));
    }
    keys.extend(tenant.ends_others.then_some(("ends_others", json!(true))));
    keys.extend(tenant.duration.map(|duration| ("duration", json!(print_time(duration)))));
    keys.push(("ramp", json!(print_time(tenant.ramp))));
    if let Some(Steady { figure, limit, is_share, window, ramp }) = tenant.steady {
        let limit = format!("{}:{limit}{}", figure.word(), if is_share { "%" } else { "" });
        keys.extend([
            ("steady", json!(limit)),
            ("steady_window", json!(print_time(window))),
            ("steady_ramp", json!(print_time(ramp))),
        ]);
    }
    keys
}
