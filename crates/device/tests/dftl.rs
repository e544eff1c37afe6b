//! A map in flash as a user runs it: figures that follow from the rules, under both executors, and refusals.

use crate::common::*;
use base::{Cell, Duration, ParamValue};
use config::Config;
use config::model::*;
use serde_json::Value;

/// Bytes of a cached mapping table with so many entries for each of so many planes.
fn cache(config: &mut Config, planes: u32, entries: u32) {
    choose(&mut config.ftl, "mapping", "dftl", &[("cache", ParamValue::Size(u64::from(planes * entries * 8)))]);
}

/// A figure of the mapping.
fn dftl(summary: &Value, name: &str) -> f64 {
    let value = &summary["policy"]["mapping"][name];
    value.as_f64().unwrap_or_else(|| panic!("{name} is {value}"))
}

fn mapping(summary: &Value, kind: &str) -> f64 {
    figure(summary, &format!("flash.by_cause.mapping.{kind}"))
}

fn write(config: &mut Config, pattern: &str, capacities: u64) {
    let (capacity, page) = (config.device.user_capacity, u64::from(config.device.page_size));
    config.workload.source = Source::Generator(generator(pattern, page, 0.0, capacity));
    config.workload.end = End { volume: Some(capacities * capacity), ..End::default() };
    config.run.precondition = Precondition::Sequential { volume: capacity };
}

/// Uniform writes over n pages with c entries cached, and e entries on a translation page: LRU holds the c pages that
/// were written last, so a write hits with h = c / n. An entry stays for w = −n ln(1 − h) writes. Once a translation page
/// was written back it is clean; 1 / λ writes later, λ = e / n, one of its pages is written, or the next one if that page
/// is written again before it leaves; w writes after that the entry leaves, and the page is written back again with the
/// 1 + (e − 1) h entries that were written meanwhile. There is so much spare space that nothing is collected.
#[test]
fn uniform_writes_meet_the_closed_form() {
    for (pages, entries) in [(4096u32, 256u32), (4096, 1024), (32_768, 8)] {
        let mut config = plain(1, 1, 1, 1, 1024, 128);
        config.device.page_size = 512;
        config.device.user_capacity = u64::from(pages) * 512;
        config.run.checks = Checks::Fast;
        config.run.executor = Executor::Count;
        cache(&mut config, 1, entries);
        write(&mut config, "uniform", 1);
        config.run.precondition = Precondition::Random { volume: 4096 * 512 };
        config.workload.end = End { requests: Some(24_000), ..End::default() };
        let summary = run(&config);
        assert_eq!(figure(&summary, "gc.invocations"), 0.0);
        let (n, c, e) = (f64::from(pages), f64::from(entries), 128.0);
        let (hit, rate) = (c / n, e / n);
        let stay = -n * (1.0 - hit).ln();
        let write_backs = 1.0 / (rate * stay + 1.0 / (1.0 - hit));
        let found = dftl(&summary, "hit_fraction");
        assert!((found - hit).abs() < 0.005, "{found} hits, {hit} by theory");
        let found = dftl(&summary, "write_backs") / 24_000.0;
        assert!((found / write_backs - 1.0).abs() < 0.03, "{found} write-backs a write, {write_backs} by theory");
        let together = 1.0 + (e - 1.0) * hit;
        let found = dftl(&summary, "entries_per_write_back");
        assert!((found / together - 1.0).abs() < 0.03, "{found} entries a write-back, {together} by theory");
        // A miss is a fetch, and a write-back reads what it writes anew.
        let misses = (1.0 - dftl(&summary, "hit_fraction")) * 24_000.0;
        assert_eq!(dftl(&summary, "fetches"), misses.round());
        assert_eq!(mapping(&summary, "programs"), dftl(&summary, "write_backs"));
        assert_eq!(mapping(&summary, "reads"), dftl(&summary, "write_backs") + misses.round());
    }
}

/// Parts of a flash page to a map unit.
const PARTS: [u32; 3] = [2, 4, 8];

/// The same with map units of 512 bytes: an entry of each unit, and as many times more of them on a flash page. An update reads a flash
/// page and programs it, which are so many units.
#[test]
fn units_below_the_page_meet_the_closed_form() {
    for parts in PARTS {
        let (units, entries) = (4096u32, 1024u32);
        let mut config = plain(1, 1, 1, 1, 1024 / parts, 128);
        config.device.page_size = 512 * parts;
        config.device.user_capacity = u64::from(units) * 512;
        config.run.checks = Checks::Fast;
        config.run.executor = Executor::Count;
        choose(&mut config.ftl, "map_unit", "512B", &[]);
        cache(&mut config, 1, entries);
        config.workload.source = Source::Generator(generator("uniform", 512, 0.0, config.device.user_capacity));
        config.run.precondition = Precondition::Random { volume: config.device.user_capacity };
        config.workload.end = End { requests: Some(24_000), ..End::default() };
        let summary = run(&config);
        assert_eq!(figure(&summary, "gc.invocations"), 0.0, "{parts}");
        let (n, c, e) = (f64::from(units), f64::from(entries), f64::from(128 * parts));
        let (hit, rate) = (c / n, e / n);
        let write_backs = 1.0 / (rate * -n * (1.0 - hit).ln() + 1.0 / (1.0 - hit));
        let misses = 1.0 - dftl(&summary, "hit_fraction");
        assert!((misses / (1.0 - c / n) - 1.0).abs() < 0.01, "{parts} parts: {misses} misses a write");
        let found = dftl(&summary, "write_backs") / 24_000.0;
        assert!(
            (found / write_backs - 1.0).abs() < 0.03,
            "{parts} parts: {found} write-backs, {write_backs} by theory"
        );
        let written = dftl(&summary, "write_backs");
        assert_eq!(mapping(&summary, "programs"), written, "{parts} parts");
        assert_eq!(mapping(&summary, "reads"), dftl(&summary, "write_backs") + dftl(&summary, "fetches"));
        // Nothing but the map is written besides, in bytes as in units.
        let host = figure(&summary, "flash.by_cause.host.programs");
        let others = figure(&summary, "flash.by_cause.pad.programs");
        assert_eq!(figure(&summary, "waf_units"), (host + written + others) / host);
        assert!((figure(&summary, "waf") - figure(&summary, "waf_units")).abs() < 1e-9);
    }
}

/// Every program of a translation page is preceded by a read of it: updates and copies alike.
#[test]
fn reads_of_translation_pages_are_fetches_and_updates() {
    let mut config = plain(2, 1, 1, 2, 64, 32);
    config.device.page_size = 512;
    config.device.user_capacity = 4 * 54 * 32 * 512;
    config.run.checks = Checks::Fast;
    config.host.queue_depth = Some(16);
    cache(&mut config, 4, 100);
    write(&mut config, "uniform", 3);
    for executor in [Executor::Count, Executor::Timed] {
        config.run.executor = executor;
        let summary = run(&config);
        let updates = ["write_backs", "gc_updates"].map(|name| dftl(&summary, name)).iter().sum::<f64>();
        let programs = mapping(&summary, "programs");
        // The entries of each plane's last translation page were all in the cache when the device had been filled, so
        // its first version is written now.
        assert_eq!(mapping(&summary, "reads"), dftl(&summary, "fetches") + programs - 4.0);
        assert!(updates > 10_000.0 && programs > updates, "{updates} updates, {programs} programs");
        assert!(mapping(&summary, "erases") > 100.0, "blocks of translation pages are collected");
        // One of four pages of a victim is cached at most; the others of one translation page are updated together.
        assert!(dftl(&summary, "moved_cached_fraction") < 0.25 && dftl(&summary, "entries_per_gc_update") > 1.5);
        let host = figure(&summary, "flash.by_cause.host.programs");
        let gc = figure(&summary, "flash.by_cause.gc.programs");
        assert_eq!(figure(&summary, "waf_units"), (host + gc + programs) / host);
    }
}

/// With a cache for the whole map no translation page is ever written, and what is left is page mapping that holds three
/// blocks more free: the same victims, the same moves.
#[test]
fn a_cache_as_large_as_the_map_is_page_mapping() {
    for (victim, unit) in [
        ("greedy", "page"),
        ("cost-benefit", "page"),
        ("fifo", "page"),
        ("greedy", "4KiB"),
        ("fifo", "2KiB"),
        ("greedy", "1KiB"),
    ] {
        let mut config = plain(2, 1, 1, 2, 64, 32);
        config.device.user_capacity = 4 * 52 * 32 * 8192;
        choose(&mut config.ftl, "map_unit", unit, &[]);
        let size = ftl::map_unit::size(config.ftl.get("map_unit")).unwrap_or(8192);
        let parts = 8192 / size;
        config.run.checks = Checks::Fast;
        config.run.executor = Executor::Count;
        choose(&mut config.ftl, "victim", victim, &[]);
        write(&mut config, "uniform", 3);
        config.workload.source = Source::Generator(generator("uniform", size.into(), 0.0, config.device.user_capacity));
        choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", 5.into())]);
        let page = run(&config);
        choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", 2.into())]);
        cache(&mut config, 4, 52 * 32 * parts);
        let dftl_run = run(&config);
        assert_eq!((mapping(&dftl_run, "reads"), mapping(&dftl_run, "programs")), (0.0, 0.0));
        assert_eq!((dftl(&dftl_run, "hit_fraction"), dftl(&dftl_run, "moved_cached_fraction")), (1.0, 1.0));
        // One collects after the page that fills a block, the other before the next one: the last of each plane.
        let moved = |summary: &Value| figure(summary, "gc.moved_pages");
        assert!(moved(&page) > 10_000.0);
        let (page, found) = (moved(&page), moved(&dftl_run));
        let last = f64::from(4 * 32 * parts);
        assert!((page - found).abs() <= last, "{victim}, {unit}: {found} moved, {page} with the map in DRAM");
    }
}

/// Overwritten at random, single blocks of a die drift apart and its planes with them; twin blocks cannot, wherever the map
/// is.
#[test]
fn twin_blocks_keep_planes_in_step_with_the_map_in_flash() {
    let run = |allocation: &str, unit: &str, mapping: &str| {
        let mut config = plain(2, 1, 1, 2, 64, 32);
        choose(&mut config.ftl, "allocation", allocation, &[]);
        config.device.user_capacity = 4 * 46 * 32 * u64::from(config.device.page_size);
        config.device.multiplane = base::Multiplane::Pac;
        config.run.checks = Checks::Full;
        config.host.queue_depth = Some(32);
        choose(&mut config.ftl, "scheduler", "paq", &[]);
        choose(&mut config.ftl, "reclaim_unit", unit, &[]);
        write(&mut config, "uniform", 2);
        if mapping == "dftl" {
            cache(&mut config, 4, 800);
        }
        let summary = run(&config);
        assert!(figure(&summary, "gc.invocations") > 50.0, "{unit}, {mapping}");
        figure(&summary, "flash.multiplane.program_fraction")
    };
    for allocation in ["CWDP", "D", "F2"] {
        for mapping in ["page", "dftl"] {
            let (block, twin) = (run(allocation, "block", mapping), run(allocation, "twin", mapping));
            assert!(block < 0.5 * twin, "{allocation}, {mapping}: {block} with blocks, {twin} with twin blocks");
        }
    }
}

/// Where a page lies says nothing about its entry: hits and write-backs are those of pages that lie at home.
#[test]
fn a_dynamic_allocation_keeps_the_closed_form() {
    for allocation in dynamic_allocations() {
        let mut config = plain(2, 1, 1, 1, 1024, 128);
        choose(&mut config.ftl, "allocation", allocation, &[]);
        config.device.page_size = 512;
        config.device.user_capacity = 8192 * 512;
        config.host.queue_depth = Some(4);
        config.run.checks = Checks::Fast;
        // Four thousand pages are at home on each plane, and a quarter of their entries are cached.
        cache(&mut config, 2, 1024);
        write(&mut config, "uniform", 1);
        config.run.precondition = Precondition::Random { volume: 8192 * 512 };
        config.workload.end = End { requests: Some(24_000), ..End::default() };
        let summary = run(&config);
        assert_eq!(figure(&summary, "gc.invocations"), 0.0);
        let (hit, pages, entries) = (0.25f64, 4096.0, 128.0);
        let write_backs = 1.0 / (-entries * (1.0 - hit).ln() + 1.0 / (1.0 - hit));
        let found = dftl(&summary, "hit_fraction");
        assert!((found - hit).abs() < 0.005, "{allocation}: {found} hits of {pages} pages, {hit} by theory");
        let found = dftl(&summary, "write_backs") / 24_000.0;
        assert!((found / write_backs - 1.0).abs() < 0.03, "{allocation}: {found} write-backs, {write_backs} by theory");
        assert_eq!(mapping(&summary, "programs"), dftl(&summary, "write_backs"));
    }
}

/// A collection whose pages' entries are at home elsewhere waits for their updates. Without time one collection comes after
/// the other; in time those that wait together share updates, so somewhat less is written.
#[test]
fn collections_that_wait_for_updates_elsewhere_share_them() {
    for (allocation, unit) in dynamic_allocations().into_iter().zip(["block", "twin", "twin"].into_iter().cycle()) {
        let mut config = plain(2, 1, 2, 2, 64, 32);
        config.device.page_size = 512;
        config.device.user_capacity = 8 * 48 * 32 * 512;
        config.device.multiplane = base::Multiplane::Pac;
        config.host.queue_depth = Some(16);
        config.run.checks = Checks::Fast;
        choose(&mut config.ftl, "allocation", allocation, &[]);
        choose(&mut config.ftl, "reclaim_unit", unit, &[]);
        cache(&mut config, 8, 200);
        write(&mut config, "uniform", 4);
        let timed = run(&config);
        config.run.executor = Executor::Count;
        let count = run(&config);
        let (gc, by_count) = (dftl(&timed, "gc_updates"), dftl(&count, "gc_updates"));
        // Collections that wait at the same time share updates.
        assert!(
            gc > 5000.0 && gc / by_count > 0.7 && gc / by_count < 1.05,
            "{allocation}: {gc} updates, {by_count} by count"
        );
        let (waf, by_count) = (figure(&timed, "waf_units"), figure(&count, "waf_units"));
        assert!(waf / by_count > 0.8 && waf / by_count < 1.03, "{allocation}: WAF {waf}, {by_count} by count");
    }
}

/// Greedy collects units of translation pages when they have as much to gain as units of data, not after every collection of
/// data: nothing but room for the next collection is worth compacting full ones.
#[test]
fn translation_pages_are_collected_when_that_gains_as_much_as_data() {
    let mut config = plain(1, 1, 1, 1, 4096, 32);
    config.device.page_size = 512;
    config.device.user_capacity = 3720 * 32 * 512;
    config.run.checks = Checks::Fast;
    config.run.executor = Executor::Count;
    cache(&mut config, 1, 4000);
    write(&mut config, "uniform", 1);
    let summary = run(&config);
    let of_data = 32.0 - figure(&summary, "gc.moved_pages") / figure(&summary, "gc.invocations");
    let of_map = mapping(&summary, "erases");
    let written = dftl(&summary, "gc_updates") + dftl(&summary, "write_backs");
    assert!(of_data > 4.0 && written / of_map > 0.9 * of_data, "{of_data} of data, {} of the map", written / of_map);
}

/// A larger cache, fewer programs.
#[test]
fn more_entries_less_write_amplification() {
    let waf = |entries: u32| {
        let mut config = plain(1, 1, 1, 1, 128, 64);
        config.device.page_size = 512;
        config.device.user_capacity = 110 * 64 * 512;
        config.run.checks = Checks::Fast;
        config.run.executor = Executor::Count;
        cache(&mut config, 1, entries);
        write(&mut config, "uniform", 2);
        figure(&run(&config), "waf_units")
    };
    let found = [2, 64, 1000, 4000, 110 * 64].map(waf);
    assert!(found.is_sorted_by(|more, fewer| more > fewer), "{found:?}");
}

/// Beside the map that is written, the cache decides nothing: with units of a part of a page, too, data move as often, and what comes on
/// top are the flash pages of the map.
#[test]
fn what_a_small_cache_costs_are_writes_of_the_map() {
    for parts in PARTS {
        let mut config = plain(1, 1, 1, 1, 256, 32);
        config.device.page_size = 512 * parts;
        config.device.user_capacity = 200 * 32 * u64::from(config.device.page_size);
        config.run.checks = Checks::Fast;
        config.run.executor = Executor::Count;
        choose(&mut config.ftl, "map_unit", "512B", &[]);
        config.workload.source = Source::Generator(generator("uniform", 512, 0.0, config.device.user_capacity));
        config.workload.end = End { volume: Some(2 * config.device.user_capacity), ..End::default() };
        config.run.precondition = Precondition::Random { volume: config.device.user_capacity };
        let mut of = |entries| {
            cache(&mut config, 1, entries);
            run(&config)
        };
        let (all, few) = (of(200 * 32 * parts), of(16 * parts));
        assert_eq!(mapping(&all, "programs"), 0.0);
        let updates = ["write_backs", "gc_updates"].map(|name| dftl(&few, name)).iter().sum::<f64>();
        let copies = mapping(&few, "programs") - updates;
        assert!(copies >= 0.0 && copies.fract() == 0.0, "translation pages move as a whole: {copies}");
        let moved = |summary: &Value| {
            figure(summary, "gc.moved_pages") / f64::from(parts) / figure(summary, "flash.by_cause.host.programs")
        };
        let of_map = mapping(&few, "programs") / figure(&few, "flash.by_cause.host.programs");
        let (waf, least) = (figure(&few, "waf_units"), 1.0 + moved(&all) + of_map);
        // Blocks of the map are blocks that data have not.
        assert!(
            waf > 0.99 * least && waf < 1.15 * least,
            "{parts} parts: WAF {waf}, {least} with the map's writes alone"
        );
    }
}

/// A translation page of a row of twin blocks is read and written with one command on both planes, and a unit of a page of each plane
/// makes one of them, too.
#[test]
fn translation_pages_are_as_wide_as_what_is_programmed_at_once() {
    let run = |unit: &str, reclaim_unit: &str| {
        let mut config = plain(1, 1, 1, 2, 64, 32);
        config.device.page_size = 2048;
        config.device.multiplane = base::Multiplane::Pac;
        config.device.user_capacity = 2 * 40 * 32 * 2048;
        choose(&mut config.ftl, "map_unit", unit, &[]);
        choose(&mut config.ftl, "reclaim_unit", reclaim_unit, &[]);
        cache(&mut config, 2, 64);
        config.workload.source = Source::Generator(generator("uniform", 4096, 0.3, config.device.user_capacity));
        config.workload.end = End { requests: Some(2000), ..End::default() };
        config.run.precondition = Precondition::Random { volume: config.device.user_capacity };
        run(&config)
    };
    // 512 entries on a page of 2 KiB, twice as many on a row, of 2,560 and 5,120 units: of each plane, or of the die.
    let pages = |unit, reclaim_unit| dftl(&run(unit, reclaim_unit), "translation_pages");
    assert_eq!((pages("page", "block"), pages("1KiB", "block"), pages("512B", "block")), (6.0, 10.0, 20.0));
    assert_eq!((pages("page", "twin"), pages("1KiB", "twin"), pages("512B", "twin")), (5.0, 5.0, 10.0));
    assert_eq!(pages("4KiB", "block"), 2.0);
    let twin = run("1KiB", "twin");
    // Pages of the flash: one of each plane.
    assert_eq!(mapping(&twin, "programs") % 2.0, 0.0);
    assert!(mapping(&twin, "programs") > 500.0);
}

const READ_US: f64 = 75.0 + 40.96;
const PROGRAM_US: f64 = 40.96 + 1600.0;

/// Two entries are cached, those of the last two pages written, and dirty.
#[test]
fn a_miss_takes_its_time() {
    let mut config = plain(1, 1, 1, 1, 16, 16);
    config.device.user_capacity = 100 * 8192;
    cache(&mut config, 1, 2);
    config.run.precondition = Precondition::Sequential { volume: config.device.user_capacity };
    let page = |number: u64| number * 8192;
    let read = |summary: &Value| figure(summary, "host.read_latency_us.mean");
    // The translation page is read and written back for the eviction, read for the entry, and then the page is read.
    let first = (0, "Read", page(0), 8192);
    let found = read(&replay(&config, &[first]));
    assert!((found - (3.0 * READ_US + PROGRAM_US)).abs() < 0.01, "{found}");
    // From now on the cache is clean: a fetch and a read; and a hit.
    let second = (10_000_000, "Read", page(1), 8192);
    let third = (20_000_000, "Read", page(1), 8192);
    let found = 3.0 * read(&replay(&config, &[first, second, third]));
    assert!((found - (6.0 * READ_US + PROGRAM_US)).abs() < 0.01, "{found}");
    // A write needs its entry as well.
    let write = (10_000_000, "Write", page(7), 8192);
    let found = figure(&replay(&config, &[first, write]), "host.write_latency_us.mean");
    assert!((found - (READ_US + PROGRAM_US)).abs() < 0.01, "{found}");
}

/// A page waits in the buffer, so the collection ahead of need is suspended for it. The domain still has a block to refresh, and with the
/// map in flash nothing is written to a domain that has something to do. If nobody asked the domain for that work once its collection is
/// suspended, the device would stand still with the request in it.
#[test]
fn a_domain_refreshes_its_blocks_after_its_collection_was_suspended() {
    for seed in 1..=3 {
        let mut config = plain(2, 1, 1, 2, 24, 16);
        config.device.page_size = 512;
        config.device.user_capacity = 4 * 12 * 16 * 512;
        config.device.wear.read_limit = Some([100, 300]);
        cache(&mut config, 4, 48);
        choose(&mut config.ftl, "gc_schedule", "forwarding", &[]);
        choose(&mut config.ftl, "read_disturb", "redftl", &[]);
        choose(&mut config.ftl, "write_buffer", "fifo", &[("size", ParamValue::Size(512))]);
        config.workload.source = Source::Generator(generator("uniform", 4 * 512, 0.5, config.device.user_capacity));
        config.workload.end = End { requests: Some(4000), ..End::default() };
        config.run.precondition = Precondition::Sequential { volume: config.device.user_capacity };
        config.run.seed = seed;
        let summary = run(&config);
        let preempted = figure(&summary, "gc.preempted");
        let refreshed = figure(&summary, "flash.by_cause.refresh.erases");
        assert!(
            preempted > 10.0 && refreshed > 10.0,
            "{preempted} collections suspended, {refreshed} blocks refreshed"
        );
    }
}

/// A trim of pages whose entries are not cached writes each of their translation pages once.
#[test]
fn a_trim_updates_each_translation_page_once() {
    let mut config = plain(2, 1, 1, 1, 64, 32);
    config.device.page_size = 512;
    config.device.user_capacity = 2 * 1280 * 512;
    cache(&mut config, 2, 2);
    config.run.precondition = Precondition::Sequential { volume: config.device.user_capacity };
    for executor in [Executor::Count, Executor::Timed] {
        config.run.executor = executor;
        // The entries of 300 pages of each plane, from 100 on, are on 4 of its 10 translation pages.
        let summary = replay(&config, &[(0, "Discard", 200 * 512, 600 * 512)]);
        assert_eq!((mapping(&summary, "programs"), mapping(&summary, "reads")), (8.0, 8.0), "{executor:?}");
        assert_eq!(dftl(&summary, "trim_updates"), 8.0);
    }
}

/// Refused for the reason that the text names.
#[track_caller]
fn assert_refused(config: &Config, key: &str, expected: &str) {
    let refusal = device::check(config).expect_err(expected);
    assert_eq!(refusal.key, key);
    assert!(refusal.message.contains(expected), "{refusal:?}");
}

fn small() -> Config {
    let mut config = plain(4, 1, 1, 1, 50, 32);
    config.device.user_capacity = 4 * 40 * 32 * u64::from(config.device.page_size);
    cache(&mut config, 4, 100);
    config
}

#[test]
fn what_makes_no_sense_is_refused() {
    assert!(device::check(&small()).is_ok());
    for (seam, choice, expected) in [
        ("paired_page", "gcmix", "emptied over many host writes"),
        ("paired_page", "slc-buffer", "a merged SLC buffer is held besides"),
    ] {
        let mut config = small();
        config.device.cell = base::Cell::Mlc;
        choose(&mut config.ftl, seam, choice, &[]);
        assert!(device::check(&config).map_or_else(|refusal| refusal.key != "ftl.mapping", |()| true));
        choose(&mut config.ftl, "allocation", "F", &[]);
        assert_refused(&config, "ftl.mapping", expected);
    }
    let mut config = small();
    choose(&mut config.ftl, "allocation", "F", &[]);
    assert!(device::check(&config).is_ok());
    choose(&mut config.ftl, "gc_schedule", "forwarding", &[]);
    assert_refused(&config, "ftl.mapping", "wait for map entries on other planes");
    let mut config = small();
    choose(&mut config.ftl, "separation", "dac", &[("regions", 8.into())]);
    choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", 8.into())]);
    config.device.user_capacity /= 2;
    assert!(device::check(&config).is_ok());
    let mut config = small();
    cache(&mut config, 4, 1);
    assert_refused(&config, "ftl.mapping", "has not 2 entries of 8 bytes for each of 4 planes");
    assert_eq!(device::check(&config).expect_err("refused").help, "set `mapping.dftl.cache` to \"64B\" or more");
    let mut config = small();
    // 50 blocks: two and three more are free, and one is being filled with translation pages; one page of each plane is
    // one, and one is invalid.
    config.device.user_capacity = 4 * (44 * 32 - 1) * u64::from(config.device.page_size);
    assert_refused(&config, "device.user_capacity", "too little spare space");
    let help = device::check(&config).expect_err("refused").help;
    assert!(help.contains("with 2 blocks held free, and 4 more and the translation pages, in each plane"), "{help}");
    config.device.user_capacity = 4 * (44 * 32 - 2) * u64::from(config.device.page_size);
    assert!(device::check(&config).is_ok());
}

/// The buffer of paired pages backs nothing up, so that above an update of the map its wordline is filled with dummy pages. A collection
/// needs room for these too.
#[test]
fn updates_of_a_collection_fill_wordlines_beside_a_buffer_of_paired_pages() {
    let bits = Cell::Qlc.bits();
    let mut config = plain(1, 1, 1, 1, 129, 4 * bits);
    (config.device.page_size, config.device.cell) = (512, Cell::Qlc);
    let times = |first: u64| (1..=u64::from(bits)).map(|bit| Duration::from_us(first * bit)).collect();
    (config.device.timing.read, config.device.timing.program) = (times(10), times(100));
    (config.run.executor, config.run.checks) = (Executor::Count, Checks::Fast);
    cache(&mut config, 1, 2);
    choose(&mut config.ftl, "paired_page", "slc-buffer", &[("blocks", 1.into())]);
    choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", 2.into())]);
    choose(&mut config.ftl, "victim", "fifo", &[]);
    config.device.user_capacity = device::largest_user_capacity(&config);
    write(&mut config, "uniform", 4);
    assert!(figure(&run(&config), "gc.invocations") > 100.0);
}
