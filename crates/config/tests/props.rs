//! For any input: no panic, and what is printed reads back.

mod common;

use base::{Cell, Choices, Duration, Multiplane, ParamKind, ParamValue, ProgramOrder, Selection};
use common::registry;
use config::model::{
    BackwardsTime, Checks, Device, Discards, End, Executor, Generator, HintSelect, Host, OutOfRange, Payload,
    Precondition, Replay, Retention, Run, Sample, Source, Timing, Wear, Workload,
};
use config::{Base, Config, PRESETS, load, to_json, to_toml};
use proptest::prelude::*;
use proptest::sample::select;

fn text(text: String) -> Base {
    Base::Text { name: "device.toml".into(), text }
}

/// Reads, and prints whatever is said: neither may panic, and every refusal has a message.
fn survives(base: &Base, sets: &[String], trace: Option<&str>) -> Result<(), TestCaseError> {
    match load(base, sets, trace, &registry()) {
        Ok(loaded) => {
            let again = load(&text(loaded.to_toml()), &[], None, &registry());
            prop_assert_eq!(
                again.map(|again| again.config).map_err(|problems| problems.to_string()),
                Ok(loaded.config)
            );
        }
        Err(problems) => prop_assert!(problems.to_string().starts_with("error: ")),
    }
    Ok(())
}

/// Words that lead deep into the reader.
fn word() -> impl Strategy<Value = String> {
    let words = "device timing ftl host workload run preset channels read victim rga d greedy generator zipf z volume \
                 footprint page_size user_capacity over_provisioning cell tlc trace precondition random worn sequential \
                 state seed tbm-small uniform interval poisson time_scale binding allocation F CWDP";
    let words: Vec<&str> = words.split_whitespace().collect();
    prop_oneof![9 => select(words).prop_map(str::to_owned), 1 => "\\PC{0,6}"]
}

fn value() -> impl Strategy<Value = String> {
    let fixed = r#"0|1|-1|4|0.07|1e400|nan|true|"10x"|"50%"|"8KiB"|"75us"|"200MT/s"|"off"|"9999999999999999999PiB"|\
["1us", "2us"]|{ rga = { d = 4 } }|{}|[]|1979-05-27|"tbm-small"|"\u0000"|99999999999999999999|"0.5x"|\
18446744073709551615"#;
    let fixed: Vec<&str> = fixed.split('|').map(|value| value.trim_start_matches("\\\n")).collect();
    prop_oneof![
        8 => select(fixed).prop_map(str::to_owned),
        2 => word().prop_map(|word| format!("\"{word}\"")),
        1 => "\\PC{0,12}",
    ]
}

fn line() -> impl Strategy<Value = String> {
    let path = || proptest::collection::vec(word(), 1..4).prop_map(|words| words.join("."));
    prop_oneof![
        1 => path().prop_map(|path| format!("[{path}]\n")),
        4 => (path(), value()).prop_map(|(path, value)| format!("{path} = {value}\n")),
        1 => "\\PC{0,20}\n",
    ]
}

fn times(bits: u32) -> impl Strategy<Value = Vec<Duration>> {
    proptest::collection::vec((1..3_600_000_000_000u64).prop_map(Duration), bits as usize)
}

fn bandwidth() -> impl Strategy<Value = Option<u64>> + Clone {
    proptest::option::of(1_000u64..10_000_000_000_000)
}

prop_compose! {
    /// Bands that ascend, and rows of thresholds each no higher than the one before; shares of half the blocks at most.
    fn wear()(
        pe_cycles in 0u32..=1_000_000,
        cycles_per_erase in 1u32..=10_000,
        retention in select(&[Retention::Year, Retention::ThreeMonths][..]),
        quality in selection(base::wear::QUALITIES),
        bands in proptest::collection::btree_map(0u32..=1_000_000, (0u32..=1000, 0u32..=1000, 0u32..=1000), 1..8),
        read_limit in proptest::option::of((1u32..=1_000_000_000, 1u32..=1_000_000_000)),
        reprogram_restarts in any::<bool>(),
        of_shares in proptest::collection::btree_map(0u32..=1000, 1f64..100.0, 1..4),
    ) -> Wear {
        let mut quality = quality;
        for param in quality.choice.params {
            quality.set(param.name, (quality.number(param.name) / 2.0).into());
        }
        let rows: Vec<(u32, u32, u32)> = bands
            .values()
            .map(|&(a, b, c)| (a.max(b).max(c), a.max(b).min(a.max(c)).min(b.max(c)), a.min(b).min(c)))
            .collect();
        Wear {
            pe_cycles,
            cycles_per_erase,
            quality,
            retention,
            copyback: base::CopybackTable {
                bands: bands.into_keys().collect(),
                best: rows.iter().map(|row| row.0).collect(),
                median: rows.iter().map(|row| row.1).collect(),
                worst: rows.iter().map(|row| row.2).collect(),
            },
            read_limit: read_limit.map(|(a, b)| [a.min(b), a.max(b)]),
            reprogram_restarts,
            reprogram: base::ReprogramWear {
                rates: of_shares.keys().map(|&share| f64::from(share) / 1000.0).collect(),
                wear: of_shares.into_values().collect(),
            },
        }
    }
}

prop_compose! {
    fn device()(cell in select(&[Cell::Slc, Cell::Mlc, Cell::Tlc, Cell::Qlc][..]))(
        cell in Just(cell),
        shape in (1u32..9, 1u32..5, 1u32..3, 1u32..5, 4u32..2000, 1u32..200),
        page_size in (1u32..2048).prop_map(|sectors| sectors * 512),
        program_order in select(&[ProgramOrder::Consecutive, ProgramOrder::Shadow][..]),
        multiplane in select(&[Multiplane::Off, Multiplane::Any, Multiplane::Pac, Multiplane::Bac][..]),
        user in 0.0001f64..0.9999,
        read in times(cell.bits()),
        program in times(cell.bits()),
        waits in (1..3_600_000_000_000u64, 0..1_000_000_000u64, 0..1_000_000_000u64),
        channel_rate in 1_000u64..100_000_000_000,
        bandwidths in (bandwidth(), bandwidth()),
        wear in wear(),
        features in features(),
    ) -> Device {
        let pages_per_block = shape.5 * cell.bits();
        let blocks = u64::from(shape.0) * u64::from(shape.1) * u64::from(shape.2) * u64::from(shape.3 * shape.4);
        let pages = blocks * u64::from(pages_per_block);
        let user_pages = ((pages as f64 * user) as u64).clamp(1, pages - 1);
        Device {
            channels: shape.0,
            chips_per_channel: shape.1,
            dies_per_chip: shape.2,
            planes_per_die: shape.3,
            blocks_per_plane: shape.4,
            pages_per_block,
            page_size,
            cell,
            program_order,
            multiplane,
            features,
            user_capacity: user_pages * u64::from(page_size),
            over_provisioning: ((pages - user_pages) * u64::from(page_size)) as f64
                / (user_pages * u64::from(page_size)) as f64,
            wear,
            timing: Timing {
                read,
                program,
                erase: Duration(waits.0),
                channel_rate,
                command_overhead: Duration(waits.1),
                dram_bandwidth: bandwidths.0,
                ecc_latency: Duration(waits.2),
                ecc_bandwidth: bandwidths.1,
            },
        }
    }
}

/// The value so far from the smallest to the largest.
fn param_value(kind: ParamKind, at: f64) -> ParamValue {
    let between = |min: u64, max: u64| min + (at * (max - min) as f64) as u64;
    match kind {
        ParamKind::Integer { min, max, .. } => ParamValue::Integer(between(min.into(), max.into()) as u32),
        ParamKind::Number { min, max, .. } => ParamValue::Number(min + at * (max - min)),
        ParamKind::Flag { .. } => ParamValue::Flag(at < 0.5),
        ParamKind::Word(words) => ParamValue::Word(words[(at * words.len() as f64) as usize]),
        ParamKind::Size { min, max, .. } => ParamValue::Size(between(min, max)),
        ParamKind::Time { min, max, .. } => ParamValue::Time(Duration(between(min.0, max.0))),
    }
}

/// A choice of the table, its parameters anywhere in their ranges.
fn selection(choices: &'static [base::Choice]) -> impl Strategy<Value = Selection> {
    (0..choices.len(), proptest::collection::vec(0.0f64..1.0, 4)).prop_map(|(which, at)| {
        let choice = &choices[which];
        let mut selection = Selection::default_of(choice);
        for (param, at) in choice.params.iter().zip(at) {
            selection.set(param.name, param_value(param.kind, at));
        }
        selection
    })
}

fn features() -> impl Strategy<Value = Choices> {
    let made: Vec<_> = registry()
        .features
        .iter()
        .map(|feature| selection(feature.choices).prop_map(|selection| (feature.key, selection)))
        .collect();
    made.prop_map(|made| Choices { made })
}

fn ftl() -> impl Strategy<Value = Choices> {
    let seams: Vec<_> = registry()
        .seams
        .iter()
        .map(|seam| {
            let key = seam.key;
            selection(seam.choices).prop_map(move |selection| (key, selection))
        })
        .collect();
    seams.prop_map(|mut seams| {
        let dynamic = seams.iter().any(|(key, made)| *key == "allocation" && made.name.len() < 4);
        let follows = if dynamic { "dynamic" } else { "static" };
        let binding = registry().seams.iter().find_map(|seam| seam.find(follows)).expect("a binding");
        for (key, made) in &mut seams {
            if *key == "binding" {
                *made = Selection::default_of(binding);
            }
        }
        Choices { made: seams }
    })
}

fn workload(capacity: u64) -> impl Strategy<Value = Workload> {
    let rest = (
        proptest::option::of(1..u64::MAX),
        proptest::option::of(1..u64::MAX),
        proptest::option::of(1..1u64 << 53),
        select(&[OutOfRange::Wrap, OutOfRange::Clamp, OutOfRange::Reject][..]),
        select(&[BackwardsTime::Clamp, BackwardsTime::Reject][..]),
        any::<bool>(),
        proptest::option::of(select(registry().trace_formats)),
        0..(capacity - 1) / 512 + 1,
    );
    let generator = (
        selection(registry().generators),
        1u64..64,
        0.0f64..1.0,
        0.0f64..1.0,
        1..3_600_000_000_000u64,
        any::<bool>(),
        proptest::option::of((1u64..1 << 53, 1u64..3_600_000_000_000)),
    );
    let path = "[a-z/ \"\\\\\u{7f}\u{e9}]{1,20}";
    (rest, generator, proptest::option::of(path)).prop_map(move |(rest, generator, path)| {
        let request_size = (generator.1 * 512).min(capacity / 512 * 512).max(512);
        let requests = (capacity / request_size).max(1);
        let footprint = ((requests as f64 * generator.3) as u64).clamp(1, requests) * request_size;
        let (idle_every, idle_for) = generator.6.unwrap_or((0, 0));
        let is_trace = path.is_some();
        let source = match path {
            Some(path) => Source::Trace { path },
            None => Source::Generator(Generator {
                pattern: generator.0,
                request_size,
                read_fraction: generator.2,
                footprint,
                interval: Duration(generator.4),
                poisson: generator.5,
                idle_every,
                idle_for: Duration(idle_for),
            }),
        };
        let end = End {
            volume: rest.0,
            requests: if is_trace { rest.1 } else { Some(rest.1.unwrap_or(1)) },
            rounds: rest.2.filter(|_| is_trace),
        };
        let address_offset = rest.7 * 512;
        let fits = source_fits(&source, address_offset, capacity);
        let moves = is_trace || address_offset > 0 && (fits || rest.3 != OutOfRange::Reject);
        Workload {
            source,
            end,
            trace_format: rest.6.filter(|_| is_trace),
            trace_columns: None,
            address_offset,
            out_of_range: if moves { rest.3 } else { OutOfRange::Wrap },
            backwards_time: if is_trace { rest.4 } else { BackwardsTime::Clamp },
            discards: if is_trace && rest.5 { Discards::Ignore } else { Discards::Trim },
            skip_bad: is_trace && rest.5,
            hint: (0..1 + rest.7 % 2).map(|hint| (hint + rest.7 % 3) as u16).collect(),
            hint_select: if rest.7 % 6 == 5 { HintSelect::Random } else { HintSelect::RoundRobin },
            hint_parts: if rest.7 % 2 == 0 { 1 + (rest.7 % 5) as u16 } else { 1 },
            share: None,
        }
    })
}

/// Whether a generator stays on the device.
fn source_fits(source: &Source, offset: u64, capacity: u64) -> bool {
    matches!(source, Source::Generator(generator) if generator.footprint <= capacity - offset)
}

fn run() -> impl Strategy<Value = Run> {
    let precondition = prop_oneof![
        Just(Precondition::None),
        Just(Precondition::Steady),
        Just(Precondition::Workload),
        (1..u64::MAX).prop_map(|volume| Precondition::Sequential { volume }),
        (1..u64::MAX).prop_map(|volume| Precondition::Random { volume }),
        (1..u64::MAX).prop_map(|volume| Precondition::Worn { volume }),
        "[a-z./]{1,20}".prop_map(|path| Precondition::State { path }),
    ];
    let executor = select(&[Executor::Count, Executor::Timed, Executor::Device][..]);
    let checks = select(&[Checks::Fast, Checks::Full][..]);
    let payload = select(&[Payload::None, Payload::Stamp][..]);
    let sample = (2u32..65_536, 1u32..65_536, 1u64..1024).prop_map(|(one_in, hashes, runs)| Sample {
        one_in,
        hashes: hashes.min(one_in),
        // Pages here; bytes once the size of a page is known.
        run: runs,
    });
    let sample = prop::option::of(sample);
    (executor, any::<u64>(), checks, payload, precondition, any::<[bool; 2]>(), sample).prop_map(
        |(executor, seed, checks, payload, precondition, [latency_parts, per_request], sample)| Run {
            executor,
            seed,
            checks,
            payload,
            precondition,
            latency_parts,
            per_request,
            sample,
        },
    )
}

fn any_config() -> impl Strategy<Value = Config> {
    let replay = select(&[Replay::Open, Replay::Closed, Replay::Batch][..]);
    let depth = prop::option::of(1u32..65_536);
    let times = (0u64..1_000_000_000, 0u64..1_000_000_000);
    let host = (replay, depth, bandwidth(), times, 1e-6f64..1e6).prop_map(|(replay, depth, link, times, scale)| Host {
        replay,
        queue_depth: depth.or((replay != Replay::Open).then_some(1)),
        link,
        command_time: Duration(times.0),
        command_interval: Duration(times.1),
        time_scale: if replay == Replay::Open { scale } else { 1.0 },
        // Printed and read where there are tenants only.
        ..Host::new(replay, None)
    });
    device().prop_flat_map(move |device| {
        let workload = workload(device.user_capacity);
        (Just(device), ftl(), host.clone(), workload, run()).prop_map(|(device, ftl, host, mut workload, mut run)| {
            if let Source::Generator(generator) = &mut workload.source
                && host.replay != Replay::Open
                && run.executor == Executor::Timed
            {
                // Arrivals, which a closed loop refuses.
                (generator.interval, generator.poisson) = (Duration::ZERO, false);
                (generator.idle_every, generator.idle_for) = (0, Duration::ZERO);
            }
            if let Some(sample) = &mut run.sample {
                sample.run *= u64::from(device.page_size);
            }
            Config { device, ftl, host, workload, run }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_config_reads_back(config in any_config()) {
        let from_toml = load(&text(to_toml(&config)), &[], None, &registry());
        let from_toml = from_toml.map(|loaded| loaded.config).map_err(|problems| problems.to_string());
        prop_assert_eq!(from_toml.as_ref(), Ok(&config));
        let serde_json::Value::Object(object) = to_json(&config) else { panic!("not an object") };
        let from_json = load(&Base::Object { name: "config".into(), object }, &[], None, &registry());
        prop_assert_eq!(from_json.map(|loaded| loaded.config).map_err(|problems| problems.to_string()), Ok(config));
    }

    #[test]
    fn a_number_is_the_same_by_every_door(share in 0.0..=1.0f64) {
        let toml = format!("preset = \"tbm-small\"\nworkload.read_fraction = {share:?}\n");
        let json = format!(r#"{{"preset": "tbm-small", "workload": {{"read_fraction": {share:?}}}}}"#);
        let object = serde_json::from_str(&json).expect("an object");
        let sets = [format!("workload.read_fraction={share:?}")];
        let name = || "config".to_owned();
        for (base, sets) in [
            (Base::Text { name: name(), text: toml }, &[][..]),
            (Base::Object { name: name(), object }, &[]),
            (Base::Preset("tbm-small".into()), &sets),
        ] {
            let config = load(&base, sets, None, &registry()).expect("sound").config;
            let Source::Generator(generator) = &config.workload.source else { panic!("a generator") };
            prop_assert_eq!(generator.read_fraction, share);
            // And what is printed reads back: a result's own configuration gives the same run.
            let printed = to_json(&config).to_string();
            let object = serde_json::from_str(&printed).expect("an object");
            let again = load(&Base::Object { name: name(), object }, &[], None, &registry()).expect("sound").config;
            prop_assert_eq!(&again, &config);
        }
    }

    #[test]
    fn noise_is_refused(noise in "\\PC{0,200}") {
        survives(&text(noise), &[], None)?;
    }

    #[test]
    fn bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        survives(&text(String::from_utf8_lossy(&bytes).into_owned()), &[], None)?;
    }

    #[test]
    fn lines_are_accepted_or_refused(lines in proptest::collection::vec(line(), 0..12)) {
        survives(&text(lines.concat()), &[], None)?;
    }

    #[test]
    fn mutated_presets_are_accepted_or_refused(
        which in 0..PRESETS.len(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), 0usize..8, "\\PC{0,4}"), 1..4),
    ) {
        let mut chars: Vec<char> = PRESETS[which].text().chars().collect();
        for (at, length, inserted) in edits {
            let at = at.index(chars.len());
            let end = (at + length).min(chars.len());
            chars.splice(at..end, inserted.chars());
        }
        survives(&text(chars.into_iter().collect()), &[], None)?;
    }

    #[test]
    fn sets_are_accepted_or_refused(
        sets in proptest::collection::vec(
            prop_oneof![
                (proptest::collection::vec(word(), 1..5), value())
                    .prop_map(|(path, value)| format!("{}={value}", path.join("."))),
                "\\PC{0,30}",
            ],
            1..4,
        ),
        trace in proptest::option::of("\\PC{0,10}"),
    ) {
        survives(&Base::Preset("tbm-small".into()), &sets, trace.as_deref())?;
    }
}
