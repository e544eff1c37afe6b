//! What good configs become.

mod common;

use base::{Cell, Duration, Multiplane};
use common::registry;
use config::model::{Executor, Precondition, Replay, Source};
use config::{Base, Config, PRESETS, load, reference_page, to_json, to_toml};

fn text(text: &str) -> Base {
    Base::Text { name: "device.toml".into(), text: text.into() }
}

fn read(base: &Base, sets: &[&str], trace: Option<&str>) -> Config {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    match load(base, &sets, trace, &registry()) {
        Ok(loaded) => loaded.config,
        Err(problems) => panic!("{problems}"),
    }
}

fn on(preset: &str, sets: &[&str]) -> Config {
    read(&Base::Preset(preset.into()), sets, None)
}

const UNIFORM: &str = "[workload]\ngenerator = \"uniform\"\nvolume = \"2x\"\n";

#[test]
fn presets_resolve_and_read_back() {
    for preset in PRESETS {
        let config = on(preset.name, &[]);
        assert_eq!(read(&text(&to_toml(&config)), &[], None), config, "{}", preset.name);
        let serde_json::Value::Object(object) = to_json(&config) else { panic!("not an object") };
        assert_eq!(read(&Base::Object { name: "config".into(), object }, &[], None), config, "{}", preset.name);
        assert!(!preset.description().is_empty());
    }
}

/// A user's file names its base with the same key, and gets the same.
#[test]
fn a_presets_file_is_read_as_a_users_is() {
    for preset in PRESETS {
        let config = on(preset.name, &[]);
        let path = format!("{}/../../presets/{}.toml", env!("CARGO_MANIFEST_DIR"), preset.name);
        assert_eq!(read(&Base::File(path.into()), &[], None), config, "{}", preset.name);
        assert_eq!(read(&text(preset.text()), &[], None), config, "{}", preset.name);
    }
}

#[test]
fn a_policy_of_ones_own_is_named_where_others_are() {
    let config = on("tbm-small", &["ftl.victim=mine.py:Greedy", "ftl.allocation=\"some.module:Runs\""]);
    let names = ["victim", "allocation", "binding"].map(|key| config.ftl.get(key).written());
    assert_eq!(names, ["mine.py:Greedy", "some.module:Runs", "static"]);
    assert!(config.ftl.get("victim").own.as_ref().is_some_and(|own| !own.is_loaded()));
    let printed = to_toml(&config);
    assert!(printed.contains("victim = \"mine.py:Greedy\""), "{printed}");
    assert_eq!(read(&text(&printed), &[], None), config);
    let mapping = ["ftl.mapping=mine.py:Page".to_owned()];
    let refused = load(&Base::Preset("tbm-small".into()), &mapping, None, &registry()).unwrap_err().to_string();
    assert!(refused.contains("unknown mapping policy `mine.py:Page`"), "only where one can be: {refused}");
}

#[test]
fn copyback_thresholds_are_the_papers_where_none_are_given() {
    let wear = |sets: &[&str]| on("rcftl-small", sets).device.wear;
    let given = wear(&[]);
    assert_eq!(given.copyback.worst, [3, 2, 2, 1, 1, 0]);
    assert_eq!(
        wear(&["device.wear.retention=3m"]).copyback.worst,
        [4, 3, 2, 2, 1, 1],
        "a preset leaves them to its retention"
    );
    let base = |keys: &str| {
        let text_of = format!("{keys}\n[workload]\ngenerator = \"uniform\"\nvolume = \"2x\"\n");
        read(&text(&text_of), &[], None).device.wear
    };
    assert_eq!(base("").copyback, given.copyback, "a year, unless it is said");
    let short = base("[device.wear]\nretention = \"3m\"");
    assert_eq!((short.copyback.best[0], short.copyback.median[5], short.copyback.worst[5]), (6, 2, 1));
    let own = base("[device.wear]\nretention = \"3m\"\ncopyback_worst = [1, 1, 1, 1, 1, 1]");
    assert_eq!((own.copyback.best, own.copyback.worst), (short.copyback.best, vec![1; 6]));
}

#[test]
fn presets_give_every_key() {
    for preset in PRESETS {
        let table: toml::Table = preset.text().parse().unwrap();
        let resolved: toml::Table = to_toml(&on(preset.name, &[])).parse().unwrap();
        for (section, keys) in &resolved {
            for key in keys.as_table().unwrap().keys() {
                let given = table[section].as_table().unwrap();
                // Blocks may follow from the capacity and the spare space.
                let follows = key == "blocks_per_plane" && given.contains_key("over_provisioning")
                    // The depth of a drive follows from the loop; papers say theirs.
                    || key == "queue_depth" && (!preset.is_of_paper() || preset.name == "stack");
                assert!(given.contains_key(key) || follows, "{}: {section}.{key}", preset.name);
            }
        }
    }
}

#[test]
fn read_limits_are_those_of_the_cell_or_given() {
    let limit = |sets: &[&str]| on("stack", sets).device.wear.read_limit;
    assert_eq!(limit(&[]), None);
    assert_eq!(limit(&["device.wear.read_limit=cell"]), Some([10_000, 100_000]));
    let mlc =
        ["device.wear.read_limit=cell", "device.cell=mlc", "device.timing.read=75us", "device.timing.program=1ms"];
    assert_eq!(limit(&mlc), Some([100_000, 1_000_000]));
    let given = on("tbm-small", &["device.wear.read_limit=[7, 7]", "device.wear.reprogram_restarts=true"]).device.wear;
    let limits = given.read_limits().unwrap();
    assert_eq!((limits.full, limits.low, limits.restarts), (7, 7, true));
    assert_eq!((limits.wear.thousandths(0, 1), limits.wear.thousandths(1, 1)), (2000, 1200));
}

#[test]
fn small_twins_differ_in_blocks_alone() {
    let (full, small) = (on("tbm", &[]).device, on("tbm-small", &[]).device);
    assert_eq!(small.blocks_per_plane * 16, full.blocks_per_plane);
    assert_eq!(small.user_capacity * 16, full.user_capacity);
    assert_eq!(small.timing, full.timing);
    assert_eq!(small.over_provisioning, full.over_provisioning);
}

#[test]
fn tbm_is_the_device_of_the_paper() {
    let config = on("tbm", &[]);
    let device = &config.device;
    assert_eq!((device.channels, device.chips_per_channel, device.dies_per_chip, device.planes_per_die), (4, 4, 2, 2));
    assert_eq!((device.blocks_per_plane, device.pages_per_block, device.page_size), (2048, 256, 8192));
    assert_eq!(device.user_capacity, 240 << 30);
    assert!((device.over_provisioning - 16.0 / 240.0).abs() < 1e-12);
    assert_eq!(device.multiplane, Multiplane::Pac);
    assert_eq!(device.timing.read, [Duration::from_us(75); 2]);
    assert_eq!(device.timing.program, [Duration::from_us(1600); 2]);
    assert_eq!(device.timing.erase, Duration::from_us(5000));
    assert_eq!(device.timing.channel_rate, 200_000_000);
    assert_eq!(device.timing.dram_bandwidth, None);
    assert_eq!(config.host.queue_depth, Some(32));
    assert_eq!(config.ftl.get("victim").name, "rga");
    assert_eq!(config.ftl.get("scheduler").name, "paq");
    assert_eq!((config.ftl.get("allocation").name, config.ftl.get("binding").name), ("F", "dynamic"));
}

#[test]
fn only_an_open_loop_has_no_depth_where_none_is_given() {
    let depth =
        |host: &str, sets: &[&str]| read(&text(&format!("[host]\n{host}\n{UNIFORM}")), sets, None).host.queue_depth;
    assert_eq!(depth("", &[]), Some(32));
    assert_eq!(depth("replay = \"batch\"", &[]), Some(32));
    assert_eq!(depth("replay = \"open\"", &[]), None);
    assert_eq!(depth("replay = \"open\"\nqueue_depth = \"unlimited\"", &[]), None);
    // What is given holds, whatever layer makes the loop an open one.
    assert_eq!(depth("replay = \"open\"\nqueue_depth = 8", &[]), Some(8));
    assert_eq!(depth("queue_depth = 8", &["host.replay=open"]), Some(8));
    assert_eq!(depth("queue_depth = 8", &["host.replay=open", "host.queue_depth=unlimited"]), None);
    // A loop that is closed on a later layer has to have a depth.
    assert_eq!(depth("replay = \"open\"\nqueue_depth = \"unlimited\"", &["host.replay=closed"]), Some(32));
    // Drives of today have none of their own, and papers' devices have.
    for (preset, closed, open) in [("client-tlc", 32, None), ("qlc-small", 32, None), ("tbm", 32, Some(32))] {
        assert_eq!(on(preset, &[]).host.queue_depth, Some(closed), "{preset}");
        assert_eq!(on(preset, &["host.replay=open"]).host.queue_depth, open, "{preset}");
    }
    assert!(to_toml(&on("client-tlc", &["host.replay=open"])).contains("\nqueue_depth = \"unlimited\"\n"));
}

#[test]
fn the_defaults_are_the_device_of_tbm_small() {
    let defaults = read(&text(UNIFORM), &[], None);
    let mut tbm = on("tbm-small", &[]).device;
    // The default capacity follows from the over-provisioning.
    assert_eq!(defaults.device.user_capacity, (((16u64 << 30) as f64 / 1.07) as u64) / 8192 * 8192);
    tbm.user_capacity = defaults.device.user_capacity;
    tbm.over_provisioning = defaults.device.over_provisioning;
    assert_eq!(defaults.device, tbm);
    assert_eq!(defaults.host.replay, Replay::Closed);
    assert_eq!(defaults.run.executor, Executor::Timed);
    assert_eq!(defaults.ftl.get("binding").name, "static");
    assert_eq!(defaults.workload.end.volume, Some(2 * defaults.device.user_capacity));
}

#[test]
fn the_binding_follows_the_allocation() {
    for (allocation, binding) in [("PDWC", "static"), ("F", "dynamic"), ("D", "dynamic"), ("F2", "dynamic")] {
        let config = on("tbm-small", &[&format!("ftl.allocation={allocation}")]);
        assert_eq!(config.ftl.get("binding").name, binding, "{allocation}");
    }
}

#[test]
fn choices_replace_choices_and_parameters_of_one_choice_add_up() {
    assert_eq!(on("tbm", &["ftl.victim=greedy"]).ftl.get("victim").name, "greedy");
    assert_eq!(on("tbm", &["ftl.victim.rga.d=4"]).ftl.get("victim").integer("d"), 4);
    assert_eq!(on("tbm", &["ftl.victim={ rga = { d = 5 } }"]).ftl.get("victim").integer("d"), 5);
    let buffer = |sets: &[&str]| on("tbm", sets).ftl.get("write_buffer").clone();
    let given = buffer(&["ftl.write_buffer.fifo={ size = \"2MiB\", order = \"global\" }"]);
    assert_eq!((given.size("size"), given.word("order")), (2_097_152, "global"));
    assert_eq!(buffer(&["ftl.write_buffer.fifo.size=4096"]).word("order"), "channel");
    let below = text("preset = \"tbm\"\n[ftl]\nvictim.rga.d = 3\n");
    assert_eq!(read(&below, &["ftl.victim=rga"], None).ftl.get("victim").integer("d"), 10);
    let sets = ["workload.generator.hot-cold.data=0.2", "workload.generator.hot-cold.writes=0.7"];
    let Source::Generator(generator) = on("tbm", &sets).workload.source else { panic!("not a generator") };
    assert_eq!(generator.pattern.params, [("data", 0.2.into()), ("writes", 0.7.into())]);
}

/// `--set` or a file that gives one parameter of the preset's choice keeps the others of it.
#[test]
fn parameters_of_a_lower_layer_stay_with_their_choice() {
    let protected = "preset = \"enterprise-tlc\"\n[ftl]\nwrite_buffer.fifo.size = \"32MiB\"\n";
    let size = "ftl.write_buffer.fifo.size=32MiB";
    for config in [on("enterprise-tlc", &[size]), read(&text(protected), &[], None)] {
        let buffer = config.ftl.get("write_buffer");
        let given = (buffer.size("size"), buffer.word("power_loss"), buffer.word("flush"));
        assert_eq!(given, (32 << 20, "protected", "free"));
    }
    let buffer = |sets: &[&str]| on("enterprise-tlc", sets).ftl.get("write_buffer").clone();
    let afresh = buffer(&["ftl.write_buffer=fifo", size]);
    assert_eq!((afresh.size("size"), afresh.word("power_loss")), (32 << 20, "volatile"));
    assert_eq!(buffer(&["ftl.write_buffer=fifo"]).word("flush"), "full");
    assert_eq!(on("tbm", &["ftl.victim.rga.d=4", "ftl.victim=greedy"]).ftl.get("victim").name, "greedy");
    let three = read(&text(protected), &["ftl.write_buffer.fifo.flush=full"], None).ftl.get("write_buffer").clone();
    assert_eq!((three.size("size"), three.word("power_loss"), three.word("flush")), (32 << 20, "protected", "full"));
    let tenant = text(
        "preset = \"tbm-small\"\n[[tenant]]\nname = \"one\"\nrequests = 9\n\
         generator.hot-cold = { data = 0.1, writes = 0.7 }\n",
    );
    let sets = ["tenant.one.generator.hot-cold.data=0.2"];
    let Source::Tenants(tenants) = read(&tenant, &sets, None).workload.source else { panic!("no tenants") };
    let Source::Generator(generator) = &tenants[0].workload.source else { panic!("not a generator") };
    assert_eq!(generator.pattern.params, [("data", 0.2.into()), ("writes", 0.7.into())]);
}

#[test]
fn values_of_set_are_toml_or_bare_words() {
    let sets =
        ["device.timing.read=[\"50us\", \"80us\"]", "device.timing.erase=3ms", "run.seed=7", "run.checks='full'"];
    let config = on("tbm", &sets);
    assert_eq!(config.device.timing.read, [Duration::from_us(50), Duration::from_us(80)]);
    assert_eq!(config.device.timing.erase, Duration::from_us(3000));
    assert_eq!(config.run.seed, 7);
    assert_eq!(on("tbm", &["run.seed=1", "run.seed=2"]).run.seed, 2);
}

#[test]
fn one_layer_replaces_capacity_and_spare_together() {
    let config = on("tbm", &["device.over_provisioning=0.28"]);
    assert_eq!(config.device.user_capacity, 214_748_364_800);
    let config = on("tbm", &["device.user_capacity=200GiB"]);
    assert_eq!(config.device.over_provisioning, 0.28);
}

#[test]
fn a_trace_takes_the_place_of_a_generator() {
    let config = read(&Base::Preset("tbm-small".into()), &[], Some("a.csv"));
    assert_eq!(config.workload.source, Source::Trace { path: "a.csv".into() });
    assert_eq!(config.workload.end, config::model::End::default());
    let config = read(&Base::Preset("tbm-small".into()), &["workload.volume=1x", "workload.rounds=9"], Some("a.csv"));
    assert_eq!(config.workload.end.volume, Some(15 << 30));
    assert_eq!(config.workload.end.rounds, Some(9));
    let traced = text("[workload]\ntrace = \"b.csv\"\nvolume = \"1x\"\nout_of_range = \"clamp\"\n");
    let config = read(&traced, &[], Some("a.csv"));
    assert!(config.workload.end.volume.is_some());
    assert_eq!(config.workload.out_of_range, config::model::OutOfRange::Clamp);
    let config = read(&traced, &["workload.generator=uniform", "workload.requests=5"], None);
    assert_eq!((config.workload.end.volume, config.workload.end.requests), (None, Some(5)));
}

/// Tenants take the place of the preset's workload, keep their own part of the addresses, and are set by name.
#[test]
fn tenants_take_the_place_of_a_workload() {
    let written = "preset = \"tbm-small\"\n[host]\narbitration.weighted.burst = 4\n\
        [[tenant]]\nname = \"one\"\nnamespace = \"25%\"\nreclaim_group = 1\nweight = 3\ngenerator.zipf.z = 1.1\nfootprint = \"50%\"\nrequests = 9\n\
        [[tenant]]\nname = \"two\"\nnamespace = \"1GiB\"\nreplay = \"open\"\ninterval = \"1ms\"\ngenerator = \"uniform\"\n";
    let config = read(&text(written), &["tenant.two.weight=5", "tenant.one.queue_depth=7"], None);
    let Source::Tenants(tenants) = &config.workload.source else { panic!("{:?}", config.workload) };
    let [one, two] = &tenants[..] else { panic!("{tenants:?}") };
    assert_eq!((one.weight, one.queue_depth, one.replay), (3, Some(7), Replay::Closed));
    assert_eq!((two.weight, two.queue_depth, two.replay), (5, None, Replay::Open));
    assert_eq!((one.reclaim_group, two.reclaim_group), (Some(1), None));
    let (of_one, of_two) = (one.namespace.unwrap(), two.namespace.unwrap());
    assert_eq!((of_one.first, of_one.bytes), (0, 15 << 28));
    assert_eq!((of_two.first, of_two.bytes), (15 << 28, 1 << 30));
    let Source::Generator(generator) = &one.workload.source else { panic!() };
    assert_eq!(generator.footprint, 15 << 27, "a part of its own addresses");
    assert_eq!(config.host.queue_depth, Some(32), "the preset's");
    // As TOML and as JSON it means the same.
    assert_eq!(read(&text(&to_toml(&config)), &[], None), config);
    let serde_json::Value::Object(object) = to_json(&config) else { panic!("not an object") };
    assert_eq!(read(&Base::Object { name: "config".into(), object }, &[], None), config);
    // A workload of a later layer takes their place in turn.
    let config = read(&text(written), &[], Some("a.csv"));
    assert_eq!(config.workload.source, Source::Trace { path: "a.csv".into() });
}

#[test]
fn a_format_belongs_to_its_trace() {
    let traced = text("[workload]\ntrace = \"b.csv\"\ntrace_format = \"spc\"\n");
    assert_eq!(read(&traced, &[], None).workload.trace_format, Some("spc"));
    assert_eq!(read(&traced, &["workload.trace_format=msr"], None).workload.trace_format, Some("msr"));
    assert_eq!(read(&traced, &[], Some("a.csv")).workload.trace_format, None);
    let both = read(&traced, &["workload.trace_format=etw"], Some("a.csv"));
    assert_eq!(both.workload.trace_format, Some("etw"));
    let generated = read(&traced, &["workload.generator=uniform", "workload.requests=5"], None);
    assert_eq!(generated.workload.trace_format, None);
}

#[test]
fn a_partition_begins_anywhere_on_the_device() {
    assert_eq!(on("tbm-small", &[]).workload.address_offset, 0);
    let sets = ["workload.address_offset=31.5KiB", "workload.out_of_range=clamp"];
    let workload = on("tbm-small", &sets).workload;
    assert_eq!((workload.address_offset, workload.out_of_range), (63 * 512, config::model::OutOfRange::Clamp));
    let sets = ["workload.address_offset=1GiB", "workload.out_of_range=reject", "workload.footprint=14GiB"];
    assert_eq!(on("tbm-small", &sets).workload.address_offset, 1 << 30);
}

#[test]
fn over_provisioning_stays_as_it_was_written() {
    for written in ["0.4", "40%", "40.0 %"] {
        let config = on("tbm-small", &[&format!("device.over_provisioning={written}")]);
        assert_eq!(config.device.over_provisioning, 0.4, "{written}: a page is rounded off, and no digit moves");
        assert_eq!(read(&text(&to_toml(&config)), &[], None), config);
    }
    let both = on("tbm-small", &["device.over_provisioning=7%", "device.user_capacity=15GiB"]);
    assert!((both.device.over_provisioning - 16.0 / 15.0 + 1.0).abs() < 1e-12, "the capacity decides");
}

#[test]
fn blocks_follow_from_a_capacity() {
    let device = |keys: &str| read(&text(&format!("[device]\n{keys}\n{UNIFORM}")), &[], None).device;
    // 64 planes of 256 pages of 8 KiB: a block of each is 128 MiB.
    let own = device("user_capacity = \"20GiB\"");
    assert_eq!(own.blocks_per_plane, 172, "21.4 GiB");
    assert!((0.07..0.08).contains(&own.over_provisioning), "{}", own.over_provisioning);
    let more = device("user_capacity = \"20GiB\"\nover_provisioning = \"28%\"");
    assert_eq!((more.blocks_per_plane, more.over_provisioning), (205, 0.28125));
    let given = device("user_capacity = \"10GiB\"\nblocks_per_plane = 128");
    assert_eq!((given.blocks_per_plane, given.over_provisioning), (128, 0.6));
    assert_eq!(device("over_provisioning = 0.6").blocks_per_plane, 128);
}

#[test]
fn a_closed_loop_of_a_later_layer_takes_the_place_of_arrivals() {
    let interval = |sets: &[&str]| match on("gcmix-dm", sets).workload.source {
        Source::Generator(generator) => generator.interval,
        other => panic!("{other:?}"),
    };
    let ten = Duration::from_us(10_000);
    assert_eq!(interval(&[]), ten);
    assert_eq!(interval(&["run.executor=timed"]), ten, "open");
    assert_eq!(interval(&["run.executor=timed", "host.replay=closed"]), Duration::ZERO);
    assert_eq!(
        interval(&["run.executor=count", "host.replay=closed"]),
        ten,
        "without time arrivals are the only clock"
    );
}

#[test]
fn footprints_and_volumes_are_parts_of_the_user_capacity() {
    let generator = |set: &str| match on("tbm-small", &[set]).workload.source {
        Source::Generator(generator) => generator,
        other => panic!("{other:?}"),
    };
    assert_eq!(generator("workload.footprint=50%").footprint, 15 << 29);
    assert_eq!(generator("workload.footprint=0.5x").footprint, 15 << 29);
    assert_eq!(generator("workload.footprint=1GiB").footprint, 1 << 30);
    // A part is rounded down to whole requests: 15 GiB hold 19 660.8 of them.
    assert_eq!(generator("workload.request_size=800KiB").footprint, 19_660 * 800 * 1024);
    assert_eq!(
        on("tbm-small", &["run.precondition.sequential=0.5x"]).run.precondition,
        Precondition::Sequential { volume: 15 << 29 }
    );
    assert_eq!(
        on("tbm-small", &["run.precondition.worn=2x"]).run.precondition,
        Precondition::Worn { volume: 15 << 31 }
    );
    assert_eq!(
        on("tbm-small", &["run.precondition={ state = \"aged.state\" }"]).run.precondition,
        Precondition::State { path: "aged.state".into() }
    );
}

#[test]
fn times_per_page_type() {
    let config = on("stack", &[]);
    assert_eq!(config.device.cell, Cell::Tlc);
    assert_eq!(config.device.timing.read.len(), 3);
    assert_eq!(on("stack", &["device.timing.read=50us"]).device.timing.read, [Duration::from_us(50); 3]);
}

#[test]
fn a_later_refusal_points_at_the_key() {
    let base = text("preset = \"tbm-small\"\n[device]\nuser_capacity = \"15GiB\"\n");
    let loaded = load(&base, &[], None, &registry()).unwrap();
    let small = loaded.refuse("device.over_provisioning", "the spare space is too small", "give more");
    let set = load(&base, &["ftl.victim.rga.d=4".into()], None, &registry()).unwrap();
    let bare = load(&text(UNIFORM), &[], None, &registry()).unwrap();
    let refusals = [
        small,
        set.refuse("ftl.victim.rga.d", "too many", "give fewer"),
        set.refuse("run.seed", "no luck", "another"),
        bare.refuse("run.seed", "no luck", "another"),
    ];
    let texts: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(texts.join("\n\n"));
}

#[test]
fn arguments_are_presets_or_files() {
    assert!(matches!(Base::argument("tbm"), Base::Preset(_)));
    assert!(matches!(Base::argument("./tbm"), Base::File(_)));
    assert!(matches!(Base::argument("tbm.toml"), Base::File(_)));
}

#[test]
fn the_smallest_user_space_reads_back() {
    let device = "[device]\nblocks_per_plane = 2048\nuser_capacity = \"8KiB\"\n";
    let config = read(&text(&format!("{device}{UNIFORM}")), &[], None);
    assert_eq!(config.device.over_provisioning, f64::from((1 << 25) - 1));
    assert_eq!(read(&text(&to_toml(&config)), &[], None), config);
}

/// The committed page holds the policies of the real registries too; what comes from this crate is compared here.
#[test]
fn the_reference_page_is_current() {
    let page = reference_page(&registry());
    let committed = include_str!("../../../docs/config.md");
    let section = |page: &str, name: &str| {
        let start = page.find(name).unwrap_or_else(|| panic!("no {name}"));
        let end = page[start + 3..].find("\n## ").map_or(page.len(), |end| start + 3 + end);
        page[start..end].to_owned()
    };
    for name in [
        "# Configuration reference",
        "## `[device]`",
        "## `[device.timing]`",
        "## `[host]`",
        "## `[run]`",
        "## Presets: drives",
        "## Presets: devices of papers",
    ] {
        assert_eq!(section(&page, name), section(committed, name), "{name}: docs/config.md is out of date");
    }
    let keys = |page: &str| {
        let section = section(page, "## `[workload]`");
        section.split("### ").next().unwrap_or("").to_owned()
    };
    assert_eq!(keys(&page), keys(committed), "[workload]: docs/config.md is out of date");
}

#[test]
fn the_reference_page_lists_choices_with_their_parameters() {
    let page = reference_page(&registry());
    assert!(
        page.contains("| `rga` | d drawn at random. | `d` = 10: A whole number. (a whole number from 1 to 65536) |")
    );
    assert!(page.contains("### `workload.generator`"));
    // Neighbours with one description share a line.
    assert!(page.contains("| `cost-benefit` `fifo` `random` | A choice without parameters. |  |"));
}
