//! The resolved config as TOML and as JSON. Reading either back gives the same config.

use std::fmt::Write;

use base::{Choices, ParamValue, Selection};
use serde_json::{Map, Value, json};

use crate::keys::{UNLIMITED, Word};
use crate::model::{Config, Device, Precondition, Source, Timing, Wear, Workload};
use crate::sample;
use crate::tenants::{self, TENANT};
use crate::units::{print_bandwidth, print_channel_rate, print_size, print_time};

/// A table with its keys, in order. Tables of one name are an array of them.
struct Section {
    name: &'static str,
    keys: Vec<(&'static str, Value)>,
}

/// The resolved config as nested tables of the config's own keys; quantities are texts with units.
pub fn to_json(config: &Config) -> Value {
    let mut root = Map::new();
    for section in sections(config) {
        if section.name == TENANT {
            let table = section.keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
            let tenants = root.entry(TENANT).or_insert_with(|| Value::Array(Vec::new()));
            tenants.as_array_mut().expect("tenants are an array").push(Value::Object(table));
            continue;
        }
        let mut table = &mut root;
        for name in section.name.split('.') {
            let entry = table.entry(name).or_insert_with(|| Value::Object(Map::new()));
            let Value::Object(inner) = entry else { panic!("`{name}` is both a key and a table") };
            table = inner;
        }
        table.extend(section.keys.into_iter().map(|(key, value)| (key.to_owned(), value)));
    }
    Value::Object(root)
}

/// The resolved config as TOML.
pub fn to_toml(config: &Config) -> String {
    let mut out = String::new();
    for section in sections(config).into_iter().filter(|section| !section.keys.is_empty()) {
        if !out.is_empty() {
            out.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = match section.name {
            TENANT => writeln!(out, "[[{TENANT}]]"),
            name => writeln!(out, "[{name}]"),
        };
        for (key, value) in &section.keys {
            write_key(&mut out, key, value);
        }
    }
    out
}

fn write_key(out: &mut String, path: &str, value: &Value) {
    if let Value::Object(table) = value {
        for (key, value) in table {
            write_key(out, &format!("{path}.{key}"), value);
        }
        if table.is_empty() {
            let _ = writeln!(out, "{path} = {{}}");
        }
        return;
    }
    // JSON's strings, numbers and arrays of them are TOML's too, but for one control character.
    let _ = writeln!(out, "{path} = {}", value.to_string().replace('\u{7f}', "\\u007f"));
}

fn sections(config: &Config) -> Vec<Section> {
    let host = &config.host;
    let run = &config.run;
    let mut sections = vec![
        Section { name: "device", keys: device(&config.device) },
        Section { name: "device.wear", keys: wear(&config.device.wear) },
        Section { name: "device.timing", keys: timing(&config.device.timing) },
        Section { name: "ftl", keys: chosen(&config.ftl) },
        Section {
            name: "host",
            keys: vec![
                ("replay", json!(host.replay.word())),
                ("queue_depth", host.queue_depth.map_or_else(|| json!(UNLIMITED), |depth| json!(depth))),
                ("link", json!(print_bandwidth(host.link))),
                ("command_time", json!(print_time(host.command_time))),
                ("command_interval", json!(print_time(host.command_interval))),
                ("time_scale", json!(host.time_scale)),
            ],
        },
    ];
    match &config.workload.source {
        Source::Tenants(tenants) => {
            let (last, is_weighted) = (sections.len() - 1, host.arbitration.name == "weighted");
            sections[last].keys.push(("arbitration", selection(&host.arbitration)));
            // Whoever looks for a workload finds one without keys.
            sections.push(Section { name: "workload", keys: Vec::new() });
            sections.extend(tenants.iter().map(|tenant| {
                let mut keys = tenants::printed(tenant, tenants, is_weighted);
                keys.extend(workload(&tenant.workload));
                Section { name: TENANT, keys }
            }));
        }
        _ => sections.push(Section { name: "workload", keys: workload(&config.workload) }),
    }
    sections.push(Section {
        name: "run",
        keys: [
            ("executor", json!(run.executor.word())),
            ("seed", json!(run.seed)),
            ("checks", json!(run.checks.word())),
            ("payload", json!(run.payload.word())),
            ("latency_parts", json!(run.latency_parts)),
            ("per_request", json!(run.per_request)),
            ("precondition", precondition(&run.precondition)),
        ]
        .into_iter()
        .chain(run.sample.into_iter().flat_map(sample::printed))
        .collect(),
    });
    sections
}

fn device(device: &Device) -> Vec<(&'static str, Value)> {
    let mut keys = vec![
        ("channels", json!(device.channels)),
        ("chips_per_channel", json!(device.chips_per_channel)),
        ("dies_per_chip", json!(device.dies_per_chip)),
        ("planes_per_die", json!(device.planes_per_die)),
        ("blocks_per_plane", json!(device.blocks_per_plane)),
        ("pages_per_block", json!(device.pages_per_block)),
        ("page_size", json!(print_size(u64::from(device.page_size)))),
        ("cell", json!(device.cell.word())),
        ("program_order", json!(device.program_order.word())),
        ("multiplane", json!(device.multiplane.word())),
    ];
    keys.extend(chosen(&device.features));
    keys.extend([
        ("user_capacity", json!(print_size(device.user_capacity))),
        ("over_provisioning", json!(device.over_provisioning)),
    ]);
    keys
}

fn chosen(choices: &Choices) -> Vec<(&'static str, Value)> {
    choices.made.iter().map(|(key, made)| (*key, selection(made))).collect()
}

fn wear(wear: &Wear) -> Vec<(&'static str, Value)> {
    vec![
        ("pe_cycles", json!(wear.pe_cycles)),
        ("cycles_per_erase", json!(wear.cycles_per_erase)),
        ("retention", json!(wear.retention.word())),
        ("quality", selection(&wear.quality)),
        ("copyback_bands", json!(wear.copyback.bands)),
        ("copyback_best", json!(wear.copyback.best)),
        ("copyback_median", json!(wear.copyback.median)),
        ("copyback_worst", json!(wear.copyback.worst)),
        ("read_limit", wear.read_limit.map_or_else(|| json!("none"), |limit| json!(limit))),
        ("reprogram_restarts", json!(wear.reprogram_restarts)),
        ("reprogram_rates", json!(wear.reprogram.rates)),
        ("reprogram_wear", json!(wear.reprogram.wear)),
    ]
}

fn timing(timing: &Timing) -> Vec<(&'static str, Value)> {
    let times = |times: &[base::Duration]| json!(times.iter().map(|time| print_time(*time)).collect::<Vec<_>>());
    vec![
        ("read", times(&timing.read)),
        ("program", times(&timing.program)),
        ("erase", json!(print_time(timing.erase))),
        ("channel_rate", json!(print_channel_rate(timing.channel_rate))),
        ("command_overhead", json!(print_time(timing.command_overhead))),
        ("dram_bandwidth", json!(print_bandwidth(timing.dram_bandwidth))),
        ("ecc_latency", json!(print_time(timing.ecc_latency))),
        ("ecc_bandwidth", json!(print_bandwidth(timing.ecc_bandwidth))),
    ]
}

/// Numbers without decimals are printed without, so that `paired_page.gcmix-adaptive.tau = 10` reads as it was written.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

fn selection(selection: &Selection) -> Value {
    if selection.params.is_empty() {
        return json!(selection.written());
    }
    let params = selection.params.iter().map(|(name, value)| ((*name).to_owned(), parameter(*value)));
    json!({ selection.name: Value::Object(params.collect()) })
}

/// A value of a parameter as a user writes it.
pub fn parameter(value: ParamValue) -> Value {
    match value {
        ParamValue::Integer(number) => json!(number),
        ParamValue::Number(number) if number.fract() == 0.0 && number.abs() < WHOLE_MAX => json!(number as i64),
        ParamValue::Number(number) => json!(number),
        ParamValue::Flag(flag) => json!(flag),
        ParamValue::Word(word) => json!(word),
        ParamValue::Size(bytes) => json!(print_size(bytes)),
        ParamValue::Time(time) => json!(print_time(time)),
    }
}

fn workload(workload: &Workload) -> Vec<(&'static str, Value)> {
    let mut keys = Vec::new();
    match &workload.source {
        Source::Trace { path } => {
            keys.push(("trace", json!(path)));
            keys.extend(workload.trace_format.map(|format| ("trace_format", json!(format))));
            keys.extend(workload.trace_columns.as_ref().map(|columns| ("trace_columns", json!(columns))));
        }
        Source::Job { text } => keys.push(("job", json!(text))),
        Source::Tenants(_) => unreachable!("each tenant has a workload, which is printed by itself"),
        Source::Generator(generator) => keys.extend([
            ("generator", selection(&generator.pattern)),
            ("request_size", json!(print_size(generator.request_size))),
            ("read_fraction", json!(generator.read_fraction)),
            ("footprint", json!(print_size(generator.footprint))),
            ("interval", json!(print_time(generator.interval))),
            ("poisson", json!(generator.poisson)),
            ("idle_every", json!(generator.idle_every)),
            ("idle_for", json!(print_time(generator.idle_for))),
        ]),
    }
    keys.extend(workload.end.volume.map(|volume| ("volume", json!(print_size(volume)))));
    keys.extend(workload.end.requests.map(|requests| ("requests", json!(requests))));
    keys.extend(workload.end.rounds.map(|rounds| ("rounds", json!(rounds))));
    let is_job = matches!(workload.source, Source::Job { .. });
    keys.extend((!is_job).then(|| ("address_offset", json!(print_size(workload.address_offset)))));
    match &workload.hint[..] {
        [] | [0] => {}
        [hint] => keys.push(("hint", json!(hint))),
        hints => keys.extend([("hint", json!(hints)), ("hint_select", json!(workload.hint_select.word()))]),
    }
    keys.extend((workload.hint_parts > 1).then(|| ("hint_parts", json!(workload.hint_parts))));
    let is_trace = matches!(workload.source, Source::Trace { .. });
    if is_trace || workload.address_offset > 0 {
        keys.push(("out_of_range", json!(workload.out_of_range.word())));
    }
    if is_trace {
        keys.extend([
            ("backwards_time", json!(workload.backwards_time.word())),
            ("discards", json!(workload.discards.word())),
            ("skip_bad", json!(workload.skip_bad)),
        ]);
    }
    keys
}

fn precondition(precondition: &Precondition) -> Value {
    match precondition {
        Precondition::None => json!("none"),
        Precondition::Steady => json!("steady"),
        Precondition::Workload => json!("workload"),
        Precondition::Sequential { volume } => json!({ "sequential": print_size(*volume) }),
        Precondition::Random { volume } => json!({ "random": print_size(*volume) }),
        Precondition::Worn { volume } => json!({ "worn": print_size(*volume) }),
        Precondition::State { path } => json!({ "state": path }),
    }
}
