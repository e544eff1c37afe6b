//! Collections ahead of need as a user runs them: whose time they fill, and what they cost (Wen and Chang, GC forwarding).

use crate::common::*;
use base::{Duration, Multiplane, ParamValue};
use config::Config;
use config::model::*;
use serde_json::Value;

/// Channels of one chip, with a write buffer of two pages for each, overwritten at random by batch replay.
fn channels(channels: u32, planes: u32, mapping: &str) -> Config {
    let mut config = plain(channels, 1, 1, planes, 80, 32);
    if mapping == "dftl" {
        // Sixteen translation pages in each plane, and 64 entries cached.
        config.device.page_size = 512;
        choose(
            &mut config.ftl,
            "mapping",
            "dftl",
            &[("cache", ParamValue::Size(u64::from(channels * planes * 64 * 8)))],
        );
    }
    let page = u64::from(config.device.page_size);
    config.device.user_capacity = u64::from(channels * planes) * 64 * 32 * page;
    config.device.multiplane = Multiplane::Any;
    if mapping == "fast" {
        choose(&mut config.ftl, "mapping", "fast", &[("broken", "fill".into())]);
        choose(&mut config.ftl, "victim", "fifo", &[]);
    }
    choose(&mut config.ftl, "write_buffer", "fifo", &[("size", ParamValue::Size(2 * u64::from(channels) * page))]);
    choose(&mut config.ftl, "scheduler", "paq", &[]);
    config.host.replay = Replay::Batch;
    config.workload.source = Source::Generator(generator("uniform", page, 0.0, config.device.user_capacity));
    config.workload.end = End { requests: Some(12_000 * u64::from(channels * planes) / 4), ..End::default() };
    config.run.precondition = Precondition::Sequential { volume: config.device.user_capacity };
    config.run.payload = Payload::None;
    config.run.checks = Checks::Fast;
    config
}

fn under(config: &Config, schedule: &str, params: &[(&str, ParamValue)]) -> Value {
    let mut config = config.clone();
    choose(&mut config.ftl, "gc_schedule", schedule, params);
    run(&config)
}

fn iops(summary: &Value) -> f64 {
    figure(summary, "host.write_iops")
}

fn idle(summary: &Value) -> f64 {
    figure(summary, "utilisation.die.idle")
}

/// With independent channels one collects while the buffer fills with its pages, and the others are idle.
#[test]
fn idle_time_of_channels_is_filled() {
    for mapping in names("mapping", &[]) {
        let config = channels(4, 1, mapping);
        let alone = under(&config, "threshold", &[]);
        assert_eq!(figure(&alone, "gc.forward"), 0.0);
        for schedule in ["forwarding", "cycle-filling"] {
            let filled = under(&config, schedule, &[]);
            let gain = iops(&filled) / iops(&alone);
            // Collections of page mapping are short: there is less to fill, and an erase that others wait for weighs more.
            // With a map in flash a third of the time goes into translation pages, which nothing is begun early for.
            let (least, most_idle) = match mapping {
                "fast" => (1.6, 0.6),
                "dftl" => (1.05, 1.0),
                _ => (1.1, 0.9),
            };
            assert!(gain > least, "{mapping}, {schedule}: {gain}");
            let (before, after) = (idle(&alone), idle(&filled));
            assert!(after < most_idle * before, "{mapping}, {schedule}: idle {before} and {after}");
            let (forward, preempted) = (figure(&filled, "gc.forward"), figure(&filled, "gc.preempted"));
            assert!(forward > 100.0 && preempted > 10.0, "{mapping}, {schedule}: {forward}, {preempted}");
            // GC ahead of need costs some: pages are copied that would have been overwritten by the time of need.
            let cost = figure(&filled, "waf_units") / figure(&alone, "waf_units");
            // A map in flash holds blocks free for collections, which those ahead of need use: there is more spare space.
            let cheapest = if mapping == "dftl" { 0.85 } else { 0.97 };
            assert!((cheapest..1.25).contains(&cost), "{mapping}, {schedule}: {cost}");
        }
    }
}

/// One channel has nobody to fill time with.
#[test]
fn alone_every_collection_is_mandatory() {
    let config = channels(1, 1, "fast");
    let alone = under(&config, "threshold", &[]);
    for (schedule, params) in [("forwarding", &[][..]), ("cycle-filling", &[])] {
        let summary = under(&config, schedule, params);
        assert_eq!(figure(&summary, "gc.forward"), 0.0);
        assert_eq!(iops(&summary), iops(&alone), "{schedule}");
    }
}

/// Planes that collect in step share their commands, where they are addressed independently.
#[test]
fn planes_in_step_share_their_commands() {
    for mapping in ["page", "fast"] {
        let mut config = channels(2, 2, mapping);
        let together = under(&config, "cycle-filling", &[]);
        config.device.multiplane = Multiplane::Off;
        let apart = under(&config, "cycle-filling", &[]);
        let gain = iops(&together) / iops(&apart);
        assert!(gain > 1.4, "{mapping}: {gain}");
        let shared = figure(&together, "flash.multiplane.erase_fraction");
        assert!(shared > 0.7, "{mapping}: {shared}");
        // Without the initiator's pace planes of a die collect one by one.
        config.device.multiplane = Multiplane::Any;
        let alone = under(&config, "threshold", &[]);
        assert!(iops(&together) > 1.3 * iops(&alone), "{mapping}");
    }
}

/// Followers that do not keep step with the initiator begin with log blocks, or victims, at times of their own.
#[test]
fn at_their_own_pace_followers_fall_out_of_step() {
    let config = channels(2, 2, "fast");
    let [step, own] = ["initiator", "own"].map(|pace| under(&config, "cycle-filling", &[("pace", pace.into())]));
    let shared = |summary: &Value| figure(summary, "flash.multiplane.erase_fraction");
    assert!(shared(&step) > shared(&own) + 0.03 && iops(&step) > iops(&own), "{} and {}", shared(&step), shared(&own));
    // Alone on its channel a plane has nobody to share commands with, and under page mapping nothing to wait for.
    let config = channels(4, 1, "page");
    let [step, own] = ["initiator", "own"].map(|pace| under(&config, "cycle-filling", &[("pace", pace.into())]));
    assert!(iops(&own) > iops(&step), "{} and {}", iops(&own), iops(&step));
    assert!(figure(&own, "gc.forward") > 100.0 && figure(&own, "gc.preempted") > 10.0);
}

/// A collection under DFTL ends with updates of the map, more or fewer of them. Where only the kind of operation counts nobody
/// waits for another's, a channel that fetches an entry when a collection begins elsewhere follows when it has it, and a copy
/// on one plane goes with an update on the other.
#[test]
fn by_kind_of_operation_copies_and_updates_of_the_map_share_their_time() {
    let paces = |config: &Config| {
        ["initiator", "own", "kind"].map(|pace| under(config, "cycle-filling", &[("pace", pace.into())]))
    };
    let [step, _, kind] = paces(&channels(4, 1, "dftl"));
    assert!(idle(&kind) < 0.5 * idle(&step) && iops(&kind) > 1.1 * iops(&step), "{} {}", idle(&step), idle(&kind));
    let [step, own, kind] = paces(&channels(2, 2, "dftl"));
    assert!(iops(&kind) > 1.15 * iops(&step).max(iops(&own)), "{} {} {}", iops(&step), iops(&own), iops(&kind));
    // What a command of several causes is for is counted page by page.
    let of = |path: &str| figure(&kind, path);
    let updates = ["write_backs", "gc_updates", "trim_updates"].map(|name| of(&format!("policy.mapping.{name}")));
    assert_eq!(of("flash.by_cause.gc.programs"), of("gc.moved_pages"));
    // Collections copy pages of the map as well.
    assert!(of("flash.by_cause.mapping.programs") >= updates.iter().sum());
}

/// Everything is written to one channel. The others have time, but nothing to gain: N_s keeps them from wearing out.
#[test]
fn spare_blocks_limit_useless_collections() {
    let mut config = channels(4, 1, "page");
    let page = u64::from(config.device.page_size);
    // Pages go round the channels, so every fourth one is of the first.
    let rows: Vec<_> = (0..3_000u64).map(|i| (0, "Write", i * 7919 % 2048 * 4 * page, page)).collect();
    let trace = TraceFile::new(&rows);
    config.workload.source = trace.source();
    config.workload.end = End { rounds: Some(1), ..End::default() };
    config.run.precondition = Precondition::Random { volume: 2 * config.device.user_capacity };
    let alone = under(&config, "threshold", &[]);
    let erases = |summary: &Value| figure(summary, "flash.block_erases");
    for schedule in ["forwarding", "cycle-filling"] {
        let limited = under(&config, schedule, &[("spare_blocks", 3.into())]);
        let free = under(&config, schedule, &[("spare_blocks", 10_000.into())]);
        let extra = |summary| erases(summary) - erases(&alone);
        assert!(extra(&free) > 30.0, "{schedule}: {} erases more", extra(&free));
        assert!(extra(&limited) < 0.3 * extra(&free), "{schedule}: {} and {}", extra(&limited), extra(&free));
        assert_eq!(iops(&limited) / iops(&alone), 1.0, "{schedule}: nothing is gained");
    }
}

/// Whenever a channel is out of pages it may begin to merge, or only while another one is in foreground GC.
#[test]
fn the_trigger_decides_how_much_is_merged_early() {
    let mut config = channels(4, 1, "fast");
    choose(
        &mut config.ftl,
        "write_buffer",
        "fifo",
        &[("size", ParamValue::Size(8 * u64::from(config.device.page_size)))],
    );
    let congestion = under(&config, "forwarding", &[("trigger", "congestion".into())]);
    let empty = under(&config, "forwarding", &[("trigger", "empty".into())]);
    let share = |summary: &Value| figure(summary, "gc.forward") / figure(summary, "gc.invocations");
    assert!(share(&empty) > share(&congestion), "{} and {}", share(&empty), share(&congestion));
    assert!(figure(&empty, "waf_units") > figure(&congestion, "waf_units"), "log blocks are merged before their time");
}

#[test]
fn without_preemption_nothing_is_put_down() {
    for mapping in names("mapping", &[]) {
        let config = channels(4, 1, mapping);
        for schedule in ["forwarding", "cycle-filling", "background"] {
            let summary = under(&config, schedule, &[("preempt", "off".into())]);
            assert_eq!(figure(&summary, "gc.preempted"), 0.0, "{mapping}, {schedule}");
        }
        let (on, off) =
            (under(&config, "cycle-filling", &[]), under(&config, "cycle-filling", &[("preempt", "off".into())]));
        assert!(figure(&on, "gc.preempted") > 0.0 && iops(&on) != iops(&off));
    }
}

/// Requests come in bursts, with pauses in between. What is collected in these, no write waits for.
#[test]
fn background_collection_uses_pauses() {
    for mapping in names("mapping", &[]) {
        let mut config = channels(2, 1, mapping);
        choose(&mut config.ftl, "write_buffer", "none", &[]);
        config.host.replay = Replay::Open;
        config.host.queue_depth = Some(32);
        if let Source::Generator(generator) = &mut config.workload.source {
            generator.interval = Duration::from_us(4_000);
            (generator.idle_every, generator.idle_for) = (16, Duration::from_us(4_000_000));
        }
        let foreground = under(&config, "threshold", &[]);
        let background = under(&config, "background", &[]);
        let of = |summary: &Value, path: &str| figure(summary, path);
        let mandatory = |summary: &Value| of(summary, "gc.foreground");
        assert!(
            mandatory(&background) < 0.1 * mandatory(&foreground),
            "{mapping}: {} of {} collections are mandatory",
            mandatory(&background),
            mandatory(&foreground)
        );
        let tail = |summary: &Value| of(summary, "host.write_latency_us.p99");
        assert!(tail(&background) < 0.5 * tail(&foreground), "{mapping}: {} {}", tail(&background), tail(&foreground));
        // A die that is never idle for so long collects nothing ahead of need.
        let never = under(&config, "background", &[("idle", Duration(3_600_000_000_000).into())]);
        assert_eq!(of(&never, "gc.forward"), 0.0);
        assert_eq!(iops(&never), iops(&foreground));
    }
}

/// Chips of two dies: the channel runs out of pages later than each of its dies.
#[test]
fn the_scope_may_be_a_die() {
    let mut config = channels(2, 1, "page");
    (config.device.dies_per_chip, config.device.user_capacity) = (2, 2 * config.device.user_capacity);
    if let Source::Generator(generator) = &mut config.workload.source {
        generator.footprint = config.device.user_capacity;
    }
    let alone = under(&config, "threshold", &[]);
    let by_channel = under(&config, "forwarding", &[("scope", "channel".into())]);
    let by_die = under(&config, "forwarding", &[("scope", "die".into())]);
    assert!(iops(&by_die) > iops(&alone) && iops(&by_channel) > iops(&alone));
    let forward = |summary: &Value| figure(summary, "gc.forward");
    assert!(forward(&by_die) > forward(&by_channel), "{} and {}", forward(&by_die), forward(&by_channel));
}

/// A plane of blocks of 16 pages, all written in order, then every second page in order: each victim holds 8 valid pages.
/// A write waits for a page to move or, at the end, for the erase, and by itself at `threshold` for all of these.
#[test]
fn a_paced_collection_goes_with_the_writes_of_the_host() {
    let mut config = plain(1, 1, 1, 1, 24, 16);
    let page = u64::from(config.device.page_size);
    let user = 18 * 16;
    config.device.user_capacity = user * page;
    config.run.precondition = Precondition::Sequential { volume: user * page };
    let rows: Vec<_> = (0..user / 2).map(|i| (0, "Write", 2 * i * page, page)).collect();
    let trace = TraceFile::new(&rows);
    config.workload.source = trace.source();
    config.workload.end = End { rounds: Some(1), ..End::default() };
    let longest = |summary: &Value| figure(summary, "host.write_latency_us.max");
    let (read, program, erase) = (115.96, 1640.96, 5000.0);
    let at_once = under(&config, "threshold", &[]);
    let paced = under(&config, "paced", &[]);
    assert_eq!(longest(&at_once), 8.0 * (read + program) + erase + program);
    assert_eq!(longest(&paced), erase + program);
    assert_eq!(figure(&paced, "gc.foreground"), 0.0);
    assert!(figure(&paced, "gc.forward") >= 5.0 && figure(&paced, "gc.preempted") == 0.0);
}

/// Victims that hold `v` of `n` pages gain room for `n - v` writes: each of these waits for at most `(v + 1) / (n - v)` steps,
/// rounded up. What is free more than under `threshold` is half a block.
#[test]
fn pacing_costs_next_to_nothing() {
    let mut config = plain(1, 1, 1, 1, 128, 16);
    config.run.precondition = Precondition::Random { volume: 2 * config.device.user_capacity };
    config.workload.end = End { requests: Some(10_000), ..End::default() };
    let at_once = under(&config, "threshold", &[]);
    let paced = under(&config, "paced", &[]);
    assert_eq!(figure(&paced, "gc.foreground"), 0.0);
    let cost = figure(&paced, "waf_units") / figure(&at_once, "waf_units");
    assert!((0.98..1.05).contains(&cost), "{cost}");
    let longest = |summary: &Value| figure(summary, "host.write_latency_us.max");
    // No victim holds more than 11 of 16 pages here: 3 steps, of which one may be an erase, and the write.
    assert!(longest(&paced) <= 2.0 * 1756.92 + 5000.0 + 1640.96, "{}", longest(&paced));
    assert!(longest(&at_once) > 2.0 * longest(&paced), "{} {}", longest(&at_once), longest(&paced));
    // The earlier it begins, the more it costs.
    let early = under(&config, "paced", &[("low", 8.into())]);
    assert!(figure(&early, "waf_units") > 1.03 * figure(&paced, "waf_units"), "{}", figure(&early, "waf_units"));
}

/// Dies of two planes with their blocks in pairs, written through a buffer half as fast as they can: no write waits for a
/// whole collection.
#[test]
fn pacing_goes_with_twin_blocks_and_a_buffer() {
    for allocation in ["CWDP", "F2"] {
        let mut config = plain(2, 1, 2, 2, 64, 32);
        let page = u64::from(config.device.page_size);
        choose(&mut config.ftl, "reclaim_unit", "twin", &[("neighbours", 0.0.into())]);
        choose(&mut config.ftl, "allocation", allocation, &[]);
        choose(&mut config.ftl, "scheduler", "paq", &[("max_wait", Duration(2_000_000).into())]);
        choose(
            &mut config.ftl,
            "write_buffer",
            "fifo",
            &[("size", ParamValue::Size(8 * page)), ("flush", "free".into())],
        );
        (config.host.replay, config.host.queue_depth) = (Replay::Open, Some(64));
        config.run.checks = Checks::Fast;
        config.run.precondition = Precondition::Random { volume: config.device.user_capacity };
        let mut mixed = generator("uniform", page, 0.5, config.device.user_capacity);
        mixed.interval = Duration::from_us(600);
        config.workload.source = Source::Generator(mixed);
        config.workload.end = End { requests: Some(20_000), ..End::default() };
        let [at_once, paced] = ["threshold", "paced"].map(|schedule| under(&config, schedule, &[]));
        let of = |summary: &Value, path: &str| figure(summary, path);
        assert!(of(&paced, "gc.foreground") <= 0.01 * of(&paced, "gc.forward"), "{allocation}");
        let tails = [&at_once, &paced].map(|summary| of(summary, "host.write_latency_us.p999"));
        assert!(tails[1] < 0.5 * tails[0], "{allocation}: {tails:?}");
        let cost = of(&paced, "waf_units") / of(&at_once, "waf_units");
        // A block more of the sixteen that are spare.
        assert!((0.95..1.09).contains(&cost), "{allocation}: {cost}");
    }
}

/// Without time whole victims are collected at the same mark, so as much is moved.
#[test]
fn pacing_without_time_moves_as_much() {
    let mut config = plain(2, 1, 1, 1, 64, 32);
    config.run.checks = Checks::Fast;
    config.run.precondition = Precondition::Random { volume: 2 * config.device.user_capacity };
    config.workload.source = Source::Generator(generator("uniform", 8192, 0.0, config.device.user_capacity));
    config.workload.end = End { requests: Some(20_000), ..End::default() };
    let timed = under(&config, "paced", &[]);
    config.run.executor = Executor::Count;
    let [count, at_once] = ["paced", "threshold"].map(|schedule| under(&config, schedule, &[]));
    let waf = |summary: &Value| figure(summary, "waf");
    assert!((waf(&count) / waf(&timed) - 1.0).abs() < 0.03, "{} and {}", waf(&count), waf(&timed));
    assert!(figure(&count, "gc.forward") > 0.0 && waf(&count) != waf(&at_once));
}

/// A merge of hybrid mapping is no longer or shorter for being paced.
#[test]
fn pacing_is_refused_where_it_means_nothing() {
    let mut config = channels(2, 1, "fast");
    choose(&mut config.ftl, "gc_schedule", "paced", &[]);
    let refusal = device::check(&config).expect_err("merges");
    assert!(refusal.message.contains("a logical block is merged as a whole"), "{refusal:?}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut config = channels(2, 1, "page");
    choose(&mut config.ftl, "gc_schedule", "forwarding", &[]);
    assert!(device::check(&config).is_ok());
    config.run.executor = Executor::Count;
    let refusal = device::check(&config).expect_err("no time");
    assert_eq!(refusal.key, "ftl.gc_schedule");
    assert!(refusal.message.contains("under `count` no time passes"), "{refusal:?}");
}

/// A victim that GCMix empties page by page is one job; what a channel collects ahead of need is another.
#[test]
fn forwarding_goes_with_gcmix() {
    let mut config = channels(2, 1, "page");
    config.device.cell = base::Cell::Mlc;
    choose(&mut config.ftl, "paired_page", "gcmix", &[]);
    let alone = under(&config, "threshold", &[]);
    let both = under(&config, "forwarding", &[]);
    assert_eq!(figure(&alone, "gc.forward"), 0.0);
    assert!(figure(&both, "gc.forward") > 0.0);
    for summary in [&alone, &both] {
        assert!(summary["policy"]["paired_page"]["paired_pages"].as_u64() > Some(0), "{summary}");
    }
}
