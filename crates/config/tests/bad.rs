//! What bad configs are told: one snapshot per group, every message complete.

mod common;

use std::fmt::Write;

use common::registry;
use config::{Base, load};

/// A workload, so that nothing but the case itself is wrong.
const WORKLOAD: &str = "[workload]\ngenerator = \"uniform\"\nvolume = \"2x\"\n";

/// What `load` says, which must be a refusal.
fn refusal(base: &Base, sets: &[&str], trace: Option<&str>) -> String {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    match load(base, &sets, trace, &registry()) {
        Err(problems) => {
            assert!(!problems.is_empty());
            assert!(problems.iter().count() <= problems.len());
            assert!(problems.iter().all(|problem| !problem.message().is_empty()));
            problems.to_string()
        }
        Ok(loaded) => panic!("accepted:\n{}", loaded.to_toml()),
    }
}

fn check(group: &str, messages: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(group, messages));
}

/// Refusals of texts; a workload is added to those without one.
fn texts(cases: &[&str]) -> String {
    let mut out = String::new();
    for case in cases {
        let text = if case.contains("[workload]") || case.contains("preset") {
            (*case).to_owned()
        } else {
            format!("{case}\n{WORKLOAD}")
        };
        let base = Base::Text { name: "device.toml".into(), text };
        writeln!(out, "{}\n", refusal(&base, &[], None)).unwrap();
    }
    out
}

/// Refusals of `--set` strings over a preset.
fn sets(cases: &[&[&str]]) -> String {
    let mut out = String::new();
    for case in cases {
        writeln!(out, "{}\n", refusal(&Base::Preset("tbm-small".into()), case, None)).unwrap();
    }
    out
}

#[test]
fn wear() {
    let cases = [
        "[device.wear]\npe_cycles = -1",
        "[device.wear]\nretention = \"2y\"",
        "[device.wear]\nquality.shares = { best = 0.7, worst = 0.4 }",
        "[device.wear]\nquality = \"tial\"",
        "[device.wear]\ncopyback_bands = 400",
        "[device.wear]\ncopyback_bands = [400, \"1000\"]",
        "[device.wear]\ncopyback_bands = [1000, 400]",
        "[device.wear]\ncopyback_bands = []",
        "[device.wear]\ncopyback_bands = [400, 1000]",
        "[device.wear]\ncopyback_worst = [3, 2, 2, 1, 1]",
        "[device.wear]\ncopyback_median = [5, 5, 3, 3, 2, 1]",
        "[device.wear]\ncopyback_best = [5, 4, 4, 3, 3, 2000]",
        "[device.wear]\nread_limit = \"tlc\"",
        "[device.wear]\nread_limit = 10000",
        "[device.wear]\nread_limit = [100000, 10000]",
        "[device.wear]\nread_limit = [10000]",
        "[device.wear]\nread_limit = [0, 10]",
        "[device.wear]\nread_limit = [\"10\", 10]",
        "[device.wear]\nread_limit = [10, 4000000000]",
        "[device]\ncell = \"qlc\"\n[device.wear]\nread_limit = \"cell\"",
        "[device.wear]\nreprogram_restarts = 1",
        "[device.wear]\nreprogram_rates = 0.2",
        "[device.wear]\nreprogram_rates = [0.2, \"0.4\"]",
        "[device.wear]\nreprogram_rates = [0.2, 1.4]",
        "[device.wear]\nreprogram_rates = [0.2, 0.1]",
        "[device.wear]\nreprogram_rates = []",
        "[device.wear]\nreprogram_wear = [1.2]",
        "[device.wear]\nreprogram_wear = [0.9, 1.2]",
    ];
    check("wear", &texts(&cases));
}

#[test]
fn syntax() {
    check(
        "syntax",
        &texts(&[
            "[device",
            "[device]\nchannels = \n",
            "[device]\nchannels = = 3\n",
            "[device]\nchannels 4\n",
            "[device]\nchannels = 4\nplanes_per_die = 2\nchannels = 8\n",
            "[device]\nchannels = 4\n[ftl]\n[device]\nplanes_per_die = 2\n",
            "[device]\npage_size = \"8KiB\n",
            "[device]\ncell = mlc\n",
            "[ftl]\nvictim.rga = 1\nvictim.rga.d = 4\n",
            "[device]\r\nchannels = 4 5\r\n",
            "\n{\"run\": {\"seed\": 1}}\n",
        ]),
    );
}

#[test]
fn depth() {
    let path = vec!["a"; 100_000].join(".");
    let array = format!("[ftl]\nvictim = {}{}\n", "[".repeat(200), "]".repeat(200));
    let tables = format!("[ftl]\nvictim = {}1{}\n", "{a = ".repeat(200), "}".repeat(200));
    let mut out = texts(&[&format!("[ftl]\n{path} = 1\n"), &format!("[{path}]\nb = 1\n"), &array, &tables]);
    out += &sets(&[&[&format!("ftl.victim.{path}=1")], &["ftl.victim.a.b.c.d.e.f=1"], &["ftl.victim.a.b.c.d.e.f.g=1"]]);
    check("depth", &out);
}

#[test]
fn printable_text_has_nothing_a_terminal_acts_on() {
    assert_eq!(config::printable("a\u{1b}[31m\nb\u{202e}µ", &['\n']), "a\\u{1b}[31m\nb\\u{202e}µ");
    assert_eq!(config::printable("a\n\t\u{9b}", &[]), "a\\n\\t\\u{9b}");
}

#[test]
fn names() {
    check(
        "names",
        &texts(&[
            "[devise]\nchannels = 4\n",
            "[device]\nchanels = 4\n",
            "[device]\nqueue_depth = 4\n",
            "channels = 4\n",
            "[device.timings]\nread = \"75us\"\n",
            "[device]\nread = \"75us\"\n",
            "[ftl]\nvictims = \"greedy\"\n",
            "[ftl.victim.rga]\nd = 4\nn = 3\n",
            "[host]\nwrite-buffer = 4\n",
            "[run]\n\"\" = 4\n",
            "[run]\nzzz = 4\n",
            "[run]\n\"a\\u001b[31mb\" = 4\n",
            "device = 4\n",
            "[[device]]\nchannels = 4\n",
        ]),
    );
}

#[test]
fn types_and_ranges() {
    check(
        "types_and_ranges",
        &texts(&[
            "[device]\nchannels = \"4\"\n",
            "[device]\nchannels = 4.0\n",
            "[device]\nchannels = 0\n",
            "[device]\nchannels = -4\n",
            "[device]\nchannels = 1979-05-27\n",
            "[device]\nchannels = 99999999999999999999999999999999999999999999\n",
            "[device]\nchannels = [4]\n",
            "[device]\nchannels = { a = 1 }\n",
            "[device]\nplanes_per_die = 17\n",
            "[device]\nblocks_per_plane = 3\n",
            "[device]\npages_per_block = 65536\n",
            "[device]\nover_provisioning = nan\n",
            "[device]\nover_provisioning = inf\n",
            "[device]\nover_provisioning = 0\n",
            "[device]\nover_provisioning = -0.07\n",
            "[device]\ncell = \"tcl\"\n",
            "[device]\ncell = 3\n",
            "[host]\nreplay = \"burst\"\n",
            "[host]\nqueue_depth = 0\n",
            "[host]\nqueue_depth = \"8\"\n",
            "[host]\nqueue_depth = \"unlimited\"\n",
            "[host]\nreplay = \"batch\"\nqueue_depth = \"unlimited\"\n",
            "[host]\ntime_scale = 0.0\n",
            "[run]\nexecutor = \"emulated\"\n",
            "[run]\nseed = -1\n",
            "[run]\nseed = 18446744073709551616\n",
            "[workload]\ngenerator = \"uniform\"\nrequests = 10\nread_fraction = 1.5\n",
            "[workload]\ngenerator = \"uniform\"\nrequests = 10\npoisson = \"true\"\n",
            "[workload]\ngenerator = \"uniform\"\nrequests = 0\n",
            "[workload]\ntrace = \"\"\n",
            "[workload]\ntrace = 4\n",
        ]),
    );
}

#[test]
fn units() {
    check(
        "units",
        &texts(&[
            "[device]\npage_size = \"8K\"\n",
            "[device]\npage_size = \"8kib\"\n",
            "[device]\npage_size = \"8 apples\"\n",
            "[device]\npage_size = \"big\"\n",
            "[device]\npage_size = \"\"\n",
            "[device]\npage_size = \"-8KiB\"\n",
            "[device]\npage_size = \"0.3KiB\"\n",
            "[device]\npage_size = 1000\n",
            "[device]\npage_size = 8192.0\n",
            "[device]\nuser_capacity = \"99999999PiB\"\n",
            "[device.timing]\nread = 75\n",
            "[device.timing]\nread = \"75\"\n",
            "[device.timing]\nread = 0\n",
            "[device.timing]\nread = 1.5\n",
            "[device.timing]\nread = -75\n",
            "[device.timing]\nread = \"75 usec\"\n",
            "[device.timing]\nerase = \"0.5ns\"\n",
            "[device.timing]\nerase = \"2000000s\"\n",
            "[device.timing]\nprogram = [\"1ms\", 2]\n",
            "[device.timing]\nprogram = [\"1ms\", \"2ms\", \"3ms\"]\n",
            "[device.timing]\nprogram = []\n",
            "[device.timing]\nchannel_rate = \"200MB/s\"\n",
            "[device.timing]\nchannel_rate = \"0MT/s\"\n",
            "[device.timing]\nchannel_rate = 200\n",
            "[device.timing]\nchannel_rate = \"off\"\n",
            "[device.timing]\ndram_bandwidth = \"none\"\n",
            "[device.timing]\ndram_bandwidth = \"3200MB\"\n",
            "[workload]\ngenerator = \"uniform\"\nvolume = \"10y\"\n",
            "[workload]\ngenerator = \"uniform\"\nvolume = \"0x\"\n",
            "[workload]\ngenerator = \"uniform\"\nvolume = \"99999999999999999999x\"\n",
            "[workload]\ngenerator = \"uniform\"\nvolume = \"1x\"\nfootprint = \"50 percent\"\n",
        ]),
    );
}

#[test]
fn geometry_and_capacity() {
    check(
        "geometry_and_capacity",
        &texts(&[
            "[device]\ncell = \"tlc\"\n",
            "[device]\npages_per_block = 255\n",
            "[device]\nblocks_per_plane = 1048576\n",
            "[device]\nchannels = 256\nchips_per_channel = 256\ndies_per_chip = 64\nplanes_per_die = 16\n\
             pages_per_block = 65534\n",
            "[device]\nblocks_per_plane = 128\nuser_capacity = \"16GiB\"\n",
            "[device]\nuser_capacity = \"1000B\"\n",
            "[device]\nblocks_per_plane = 128\nuser_capacity = \"15GiB\"\nover_provisioning = 0.28\n",
            "[device]\nblocks_per_plane = 128\nuser_capacity = \"15GiB\"\nover_provisioning = 0.0667001\n",
            "[device]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
             blocks_per_plane = 4\npages_per_block = 2\nover_provisioning = 9\n",
        ]),
    );
}

#[test]
fn choices() {
    check(
        "choices",
        &texts(&[
            "[ftl]\nvictim = \"cost-benfit\"\n",
            "[ftl]\nvictim = \"Greedy\"\n",
            "[ftl]\nvictim = \"zzzzzz\"\n",
            "[ftl]\nvictim = 4\n",
            "[ftl]\nvictim = {}\n",
            "[ftl]\nvictim = { rga = { d = 4 }, greedy = {} }\n",
            "[ftl]\nvictim.rga.d = 4\nvictim.fifo = {}\n",
            "[ftl]\nvictim = { name = \"rga\", d = 4 }\n",
            "[ftl]\nvictim.rag.d = 4\n",
            "[ftl]\nvictim.rga = 4\n",
            "[ftl]\nvictim.greedy = true\n",
            "[ftl]\nvictim.greedy.d = 4\n",
            "[ftl]\nvictim.rga.k = 4\n",
            "[ftl]\nvictim.rga.d = 0\n",
            "[ftl]\nvictim.rga.d = 2.5\n",
            "[ftl]\nvictim.rga.d = \"4\"\n",
            "[ftl]\ngc_schedule.background.idle = \"2h\"\n",
            "[ftl]\ngc_schedule.background.idle = \"soon\"\n",
            "[ftl]\ngc_schedule.background.idle = true\n",
            "[ftl]\nwrite_buffer.fifo = \"32KiB\"\n",
            "[ftl]\nwrite_buffer.fifo.size = \"32K\"\n",
            "[ftl]\nwrite_buffer.fifo.size = 100\n",
            "[ftl]\nwrite_buffer.fifo.size = \"2PiB\"\n",
            "[ftl]\nwrite_buffer.fifo.size = true\n",
            "[ftl]\nwrite_buffer.fifo.order = \"chanel\"\n",
            "[ftl]\nwrite_buffer.fifo.order = 1\n",
            "[ftl]\ngc_schedule.threshold.free_block = 2\n",
            "[ftl]\nreclaim_unit = \"twins\"\n",
            "[ftl]\nallocation = \"F\"\nbinding = \"static\"\n",
            "[ftl]\nbinding = \"dynamic\"\n",
            "[workload]\ngenerator = \"unifrom\"\nvolume = \"1x\"\n",
            "[workload]\ngenerator.zipf.z = 9\nvolume = \"1x\"\n",
            "[workload]\ngenerator.zipf.theta = 0.9\nvolume = \"1x\"\n",
        ]),
    );
}

/// A value of another type than the parameter's, and of its type but not in its range.
#[test]
fn parameters() {
    let zipf = |z: &str| format!("[workload]\ngenerator.zipf.z = {z}\nvolume = \"1x\"\n");
    let ftl = |param: &str, value: &str| format!("[ftl]\n{param} = {value}\n");
    let mut cases = Vec::new();
    for value in ["4.0", "true", "-4", "65537", "99999999999999999999", "[4]"] {
        cases.push(ftl("victim.rga.d", value));
    }
    cases.extend(["\"0.9\"", "true", "-0.1", "nan"].map(zipf));
    for value in ["1", "0", "2", "1.0", "\"true\"", "\"on\"", "{}"] {
        cases.push(ftl("paired_page.gcmix.hold", value));
    }
    for value in ["\"Channel\"", "\"\"", "true", "[\"channel\"]"] {
        cases.push(ftl("write_buffer.fifo.order", value));
    }
    for value in ["4096.5", "-1", "\"4us\"", "[]"] {
        cases.push(ftl("write_buffer.fifo.size", value));
    }
    for value in ["5", "-5", "\"5\"", "\"5KiB\"", "[\"5us\"]"] {
        cases.push(ftl("gc_schedule.background.idle", value));
    }
    check("parameters", &texts(&cases.iter().map(String::as_str).collect::<Vec<_>>()));
}

#[test]
fn workloads_and_runs() {
    check(
        "workloads_and_runs",
        &texts(&[
            "[workload]\n",
            "[workload]\ngenerator = \"uniform\"\n",
            "[workload]\ngenerator = \"uniform\"\ntrace = \"a.csv\"\nvolume = \"1x\"\n",
            "[workload]\ntrace = \"a.csv\"\nrequest_size = \"8KiB\"\nread_fraction = 0.5\n",
            "[workload]\ngenerator = \"uniform\"\nrounds = 3\nvolume = \"1x\"\n",
            "[workload]\ngenerator = \"uniform\"\nvolume = \"1x\"\nout_of_range = \"wrap\"\nskip_bad = true\n",
            "[workload]\ngenerator = \"uniform\"\nvolume = \"1x\"\ntrace_format = \"msr\"\n",
            "[workload]\ntrace = \"a.csv\"\ntrace_format = \"msrr\"\n",
            "[workload]\ntrace = \"a.csv\"\ntrace_format = 3\n",
            "[workload]\ntrace = \"a.csv\"\naddress_offset = \"1000B\"\n",
            "[workload]\ntrace = \"a.csv\"\naddress_offset = \"1TiB\"\n",
            "[workload]\ngenerator = \"uniform\"\nvolume = \"1x\"\naddress_offset = \"0B\"\nout_of_range = \"wrap\"\n",
            "[workload]\ngenerator = \"uniform\"\nvolume = \"1x\"\naddress_offset = \"512B\"\nout_of_range = \"reject\"\n",
            "[workload]\ngenerator = \"uniform\"\nvolume = \"1x\"\nrequest_size = 1000\n",
            "[workload]\ngenerator = \"uniform\"\nvolume = \"1x\"\nfootprint = \"16GiB\"\n",
            "[workload]\ngenerator = \"uniform\"\nvolume = \"1x\"\nfootprint = \"200%\"\n",
            "[workload]\ngenerator = \"uniform\"\nvolume = \"1x\"\nfootprint = \"4KiB\"\n",
            "[workload]\ngenerator = \"uniform\"\nvolume = \"1x\"\nfootprint = \"12KiB\"\n",
            "[workload]\ngenerator = \"uniform\"\nvolume = \"1x\"\nread_fraction = 1\n",
            "[workload]\ngenerator = \"uniform\"\nvolume = \"1x\"\npoisson = true\n",
            "[workload]\ngenerator = \"uniform\"\nvolume = \"1x\"\nidle_every = 10\n",
            "[workload]\ngenerator = \"uniform\"\nvolume = \"1x\"\nidle_for = \"1s\"\n",
            "[workload]\ngenerator = \"uniform\"\nvolume = \"1x\"\ninterval = \"1ms\"\npoisson = true\n",
            "[host]\nreplay = \"batch\"\n[workload]\ngenerator = \"uniform\"\nvolume = \"1x\"\nidle_every = 9\nidle_for = \"1s\"\n",
            "[workload]\ngenerator = \"uniform\"\nvolume = \"1x\"\ndiscards = \"ignore\"\n",
            "[workload]\ntrace = \"a.csv\"\ndiscards = \"drop\"\n",
            "[workload]\ntrace = \"a.csv\"\nhint = []\n",
            "[workload]\ntrace = \"a.csv\"\nhint = \"1\"\n",
            "[workload]\ntrace = \"a.csv\"\nhint = [1, 65536]\n",
            "[workload]\ntrace = \"a.csv\"\nhint = [1, \"2\"]\n",
            "[workload]\ntrace = \"a.csv\"\nhint = [0, 1]\nhint_parts = 2\n",
            "[workload]\ntrace = \"a.csv\"\nhint = [0, 1]\nhint_select = \"roundrobin\"\n",
            "[workload]\ntrace = \"a.csv\"\nhint = 1\nhint_select = \"random\"\n",
            "[device]\nuser_capacity = \"900TiB\"\n",
            "[device]\nover_provisioning = \"7 percent\"\n",
            "[device]\nover_provisioning = \"0%\"\n",
            "[host]\ntime_scale = 0.5\n",
            "[host]\nreplay = \"closed\"\ntime_scale = 0.5\n",
            "[run]\nprecondition = \"sequential\"\n",
            "[run]\nprecondition = \"stedy\"\n",
            "[run]\nprecondition = 3\n",
            "[run]\nprecondition = {}\n",
            "[run]\nprecondition.random = \"3y\"\n",
            "[run]\nprecondition.random = 0\n",
            "[run]\nprecondition.worn = \"0x\"\n",
            "[run]\nprecondition = \"worn\"\n",
            "[run]\nprecondition.steady = 3\n",
            "[run]\nprecondition.sate = \"file\"\n",
            "[run]\nprecondition = { random = \"3x\", sequential = \"1x\" }\n",
            "[run]\nprecondition.state = 3\n",
            "[run]\nsample = \"1/1\"\n",
            "[run]\nsample = \"2/64\"\n",
            "[run]\nsample = 0.5\n",
            "[run]\nsample = \"1/64\"\nsample_hashes = 65\n",
            "[run]\nsample = \"1/64\"\nsample_run = 4096\n",
            "[run]\nsample_hashes = 8\n",
            "[run]\nchecks = \"none\"\n",
            "[run]\npayload = \"bytes\"\n",
        ]),
    );
}

#[test]
fn presets() {
    check(
        "presets",
        &texts(&[
            "preset = \"tmb\"\n",
            "preset = 4\n",
            "preset = \"tbm\"\n[device]\ncell = \"tlc\"\n",
            "preset = \"tbm\"\n[device]\nblocks_per_plane = 100\n",
            "preset = \"stack\"\n[device]\ncell = \"mlc\"\n",
            "preset = \"stack\"\n[workload]\nrequest_size = \"1MiB\"\nfootprint = \"512KiB\"\n",
        ]),
    );
}

#[test]
fn all_problems_at_once() {
    check(
        "all_problems_at_once",
        &texts(&["[device]\nchannels = \"four\"\npage_size = \"8K\"\nspares = 3\n\n[device.timing]\nread = 75\n\n\
             [ftl]\nvictim = \"gredy\"\n\
         [host]\nqueue_depth = 0\n[workload]\ngenerator = \"unifrom\"\nvolume = \"1y\"\n[run]\nseed = true\n"]),
    );
}

#[test]
fn of_very_many_problems_the_first_are_shown_and_the_rest_counted() {
    let lines = |line: &dyn Fn(usize) -> String, n: usize| (0..n).map(line).collect::<String>();
    let unknown = |n| lines(&|i| format!("unknown{i} = {i}\n"), n);
    let shown = |text: String, sets: &[&str]| {
        let begun = std::time::Instant::now();
        let text = refusal(&Base::Text { name: "device.toml".into(), text }, sets, None);
        assert!(text.len() < 40_000, "{} bytes", text.len());
        // A second in a release build; it took half an hour.
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
        (text.matches("-->").count(), text.lines().last().unwrap_or_default().to_owned())
    };
    let more = |n| format!("error: {n} more problems are not shown");
    // All end with that there is no workload.
    assert_eq!(shown(unknown(18), &[]).0, 19);
    assert_eq!(shown(unknown(20), &[]), (20, "error: one more problem is not shown".into()));
    assert_eq!(shown(unknown(30_000), &[]), (20, more(29_981)));
    assert_eq!(shown(format!("[device]\n{}", unknown(30_000)), &[]), (20, more(29_981)));
    assert_eq!(shown(lines(&|i| format!("[table{i}]\n"), 30_000), &[]), (20, more(29_981)));
    let parameters = format!("{WORKLOAD}[ftl.victim.rga]\n{}", unknown(30_000));
    assert_eq!(shown(parameters, &[]), (20, more(29_980)));
    let choices = shown(format!("{WORKLOAD}[ftl.victim]\n{}", unknown(30_000)), &[]);
    assert_eq!(choices.0, 1);
    assert_eq!(shown(WORKLOAD.into(), &["unknown=1"; 1000]), (20, more(980)));
    // Errors of syntax follow from each other; ten of them are enough.
    assert_eq!(shown("=\n".repeat(500_000), &[]).0, 10);
    assert_eq!(shown(lines(&|i| format!("key{i} = = {i}\n"), 50_000), &[]).0, 10);
}

#[test]
fn what_has_no_end_is_no_config() {
    let text = refusal(&Base::File("/dev/zero".into()), &[], None);
    assert!(text.starts_with("error: the config is longer than 1 MiB"), "{text}");
}

#[test]
fn the_reading_of_a_config_can_be_stopped() {
    let pipe = std::env::temp_dir().join(format!("ftlab-config-pipe-{}", std::process::id()));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let begun = std::time::Instant::now();
    let interrupt = files::Interrupt::new(move || begun.elapsed().as_millis() < 100);
    let stopped = Base::File(pipe.clone()).read(&interrupt).expect_err("nobody writes to the pipe");
    std::fs::remove_file(&pipe).unwrap();
    assert!(begun.elapsed().as_millis() < 5_000, "{:?}", begun.elapsed());
    assert!(stopped.to_string().contains("stopped before the end"), "{stopped}");
}

#[test]
fn command_lines() {
    check(
        "command_lines",
        &sets(&[
            &["ftl.victim"],
            &[""],
            &["=4"],
            &["device..channels=4"],
            &["device.chanels=4"],
            &["devise.channels=4"],
            &["channels=4"],
            &["device.channels="],
            &["device.channels=four"],
            &["device.channels=4\nrun.seed=3"],
            &["device=4"],
            &["device.timing.read=75"],
            &["device.timing.read=[75us, 80us]"],
            &["device.timing.read=[\"75us\"]"],
            &["ftl.victim=gredy"],
            &["ftl.victim.rag.d=4"],
            &["ftl.victim.rga.d=0"],
            &["ftl.victim.rga.d=4", "ftl.victim.greedy.d=4"],
            &["ftl.binding=static"],
            &["device.user_capacity=10GiB", "device.over_provisioning=0.07"],
            &["workload.trace=a.csv", "workload.generator=uniform"],
            &["workload.trace=a.csv", "workload.read_fraction=0.5"],
            &["run.precondition=sequential"],
            &["preset=tbm"],
            &["device.channels=0", "run.seed=x", "host.depth=3"],
        ]),
    );
}

#[test]
fn traces_by_option() {
    let base = Base::Preset("tbm-small".into());
    let cases = [
        refusal(&base, &["workload.generator=uniform"], Some("a.csv")),
        refusal(&base, &["workload.footprint=50%"], Some("a.csv")),
        refusal(&base, &[], Some("")),
    ];
    check("traces_by_option", &cases.join("\n\n"));
}

#[test]
fn files() {
    let directory = std::env::temp_dir().join(format!("ftlab-config-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = directory.join(name);
        std::fs::write(&path, bytes).unwrap();
        Base::File(path)
    };
    let long = "# a line of a long file\n".repeat(50_000);
    let cases = [
        Base::File(directory.join("missing.toml")),
        Base::File(directory.clone()),
        Base::argument("tmb-small"),
        Base::Preset("tmb".into()),
        write("binary.toml", b"[device]\nchannels = \xff4\n"),
        write("empty.toml", b""),
        write("long.toml", long.as_bytes()),
        write("marked.toml", b"\xef\xbb\xbf[device]\nchannels = 0\n"),
        write("one-line.toml", format!("x = [{}]\ny = = 3\n", "1, ".repeat(500)).as_bytes()),
    ];
    let texts: Vec<String> = cases.iter().map(|base| refusal(base, &[], None)).collect();
    std::fs::remove_dir_all(&directory).unwrap();
    let text = texts.join("\n\n").replace(&*directory.to_string_lossy(), "DIR");
    check("files", &text);
}

#[test]
fn objects() {
    let object = |text: &str| match serde_json::from_str(text) {
        Ok(serde_json::Value::Object(object)) => Base::Object { name: "config".into(), object },
        other => panic!("{other:?}"),
    };
    let cases = [
        object(r#"{"device": {"channels": null, "chips_per_channel": 1.5}, "workload": {"trace": "a"}}"#),
        object(r#"{"ftl": {"victim": {"rga": {"k": 1}}}, "workload": {"generator": "unifrom", "requests": 5}}"#),
        object(r#"{"device": 4, "workload": {"trace": "a.csv"}}"#),
        object("{}"),
    ];
    let texts: Vec<String> = cases.iter().map(|base| refusal(base, &[], None)).collect();
    check("objects", &texts.join("\n\n"));
}

#[test]
fn tenants() {
    const ONE: &str = "[[tenant]]\nname = \"one\"\ngenerator = \"uniform\"\nrequests = 9\n";
    let one = |more: &str| format!("preset = \"tbm-small\"\n{ONE}{more}\n");
    let cases = [
        format!("{}{ONE}", one("")),
        one("queue_dept = 4"),
        one("weight = 2"),
        one("replay = \"batch\""),
        one("interval = \"1ms\""),
        one("namespace = \"12345B\""),
        one("namespace = \"200%\""),
        one("reclaim_group = 1"),
        one("namespace = \"50%\"\n[[tenant]]\nname = \"two\"\ngenerator = \"uniform\""),
        one("namespace = \"60%\"\n[[tenant]]\nname = \"two\"\nnamespace = \"60%\"\ngenerator = \"uniform\""),
        one("idle = true"),
        one(
            "[[tenant]]\nname = \"two\"\npriority = \"urgent\"\ngenerator = \"uniform\"\n[host]\narbitration = \"weighted\"",
        ),
        one("footprint = \"9GiB\"\nnamespace = \"1GiB\""),
        one("[run]\nexecutor = \"count\""),
        one("[workload]\nvolume = \"1x\""),
        "preset = \"tbm-small\"\n[[tenant]]\ngenerator = \"uniform\"\n".into(),
        "preset = \"tbm-small\"\n[[tenant]]\nname = \"a b\"\ngenerator = \"uniform\"\nrequests = 1\n".into(),
        "preset = \"tbm-small\"\n[tenant]\nname = \"one\"\ngenerator = \"uniform\"\n".into(),
        "preset = \"tbm-small\"\ntenant = 3\n".into(),
        "preset = \"tbm-small\"\ntenant = [3]\n".into(),
        "preset = \"tbm-small\"\ntenant = []\n".into(),
        "preset = \"tbm-small\"\n[host]\narbitration = \"weighted\"\n".into(),
        "preset = \"tbm-small\"\n[host]\nreplay = \"paced\"\n".into(),
        one("replay = \"open\"\nthink = \"1ms\""),
        one("duration = \"1s\"\nramp = \"1s\""),
        one("steady = \"lat:1%\""),
        one("steady_window = \"2s\""),
    ];
    let mut messages = texts(&cases.iter().map(String::as_str).collect::<Vec<_>>());
    for set in ["tenant.oen.weight=2", "tenant.one.weight=0", "tenant.one=3"] {
        let base = Base::Text { name: "device.toml".into(), text: one("[host]\narbitration = \"weighted\"") };
        writeln!(messages, "{}\n", refusal(&base, &[set], None)).unwrap();
    }
    messages.push_str(&sets(&[&["tenant.one.weight=2"]]));
    check("tenants", &messages);
}
