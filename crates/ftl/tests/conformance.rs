//! Combinations of every registered allocation, block allocation, victim policy, separation, wear leveling and paired-page protection,
//! driven by hand against a plain record of what is where, with the whole-state check after every step. `FTLAB_LONG=1` has all of them
//! tried, and otherwise an eighth or less are.

#[path = "conformance/bench.rs"]
mod bench;
mod common;
#[path = "conformance/hybrid.rs"]
mod hybrid;
#[path = "conformance/separations.rs"]
mod separations;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

use base::ParamValue::{self, Word};
use base::{
    Cell, Choice, CopybackTable, Dimensions, Domain, Duration, ECC_LIMIT, Geometry, Instant, Lpn, ProgramOrder,
    Quality, Selection, Unit, Wear,
};
use bench::{Bench, Handles};
use common::{seam, selection};
use engine::Chance;
use ftl::allocation::is_dynamic;
use ftl::{ANYWHERE, Ftl, OutOfMemory, Policies, ProgramUnit};
use separations::{classes, few_handles, is_by_hints, is_by_lifespan, is_tried, splits};

/// Two channels, two dies, two planes of six blocks of four flash pages: small enough to be checked as a whole after
/// every step.
fn geometry(reclaim_unit: &Choice, blocks: u32, parts: u32) -> Geometry {
    geometry_of_pages(reclaim_unit, blocks, 4, parts)
}

/// The geometry with blocks of `pages` flash pages.
fn geometry_of_pages(reclaim_unit: &Choice, blocks: u32, pages: u32, parts: u32) -> Geometry {
    Geometry::new(Dimensions {
        channels: 2,
        dies_per_chip: 2,
        planes_per_die: 2,
        blocks_per_plane: blocks,
        pages_per_block: pages * parts,
        parts,
        unit_width: if reclaim_unit.name == "twin" { 2 } else { 1 },
        ..Dimensions::ONE_PAGE
    })
}

/// Reclaim units; a superblock is a plain block of wider pages to the FTL.
fn units_of_the_ftl() -> impl Iterator<Item = &'static Choice> {
    seam("reclaim_unit").choices.iter().filter(|unit| unit.name != "superblock")
}

/// The first choice of every seam, on an MLC chip that is programmed in shadow order.
fn first_choices() -> Policies<'static> {
    static FIRST: LazyLock<BTreeMap<&str, Selection>> =
        LazyLock::new(|| ftl::seams().into_iter().map(|seam| (seam.key, selection(&seam.choices[0]))).collect());
    let first = |key| &FIRST[key];
    Policies {
        mapping: first("mapping"),
        map_unit: first("map_unit"),
        allocation: first("allocation"),
        block_allocation: first("block_allocation"),
        victim: first("victim"),
        reclaim_unit: first("reclaim_unit"),
        reclaim_across: first("reclaim_across"),
        gc_schedule: first("gc_schedule"),
        separation: first("separation"),
        namespaces: Vec::new(),
        paired_page: first("paired_page"),
        migration: first("migration"),
        read_disturb: first("read_disturb"),
        refresh: first("refresh"),
        wear_leveling: first("wear_leveling"),
        slc_cache: first("slc_cache"),
        cell: Cell::Mlc,
        program_order: ProgramOrder::Shadow,
        wear: None,
        reads: None,
        spared_wear: 0,
        block_write: Duration::ZERO,
        program: ProgramUnit::PAGE,
        bad_blocks: None,
        data_age: None,
        timeless: true,
        future: &[],
    }
}

#[test]
fn every_combination_of_registered_policies() {
    let mut combinations = 0;
    let unprotected = &seam("paired_page").choices[0];
    for allocation in seam("allocation").choices {
        for block_allocation in seam("block_allocation").choices {
            for victim in seam("victim").choices {
                for separation in seam("separation").choices {
                    for wear_leveling in seam("wear_leveling").choices {
                        for reclaim_unit in units_of_the_ftl() {
                            combinations += 1;
                            if !is_tried(separation.name, combinations, 2) {
                                continue;
                            }
                            let policies =
                                [allocation, block_allocation, victim, separation, wear_leveling, unprotected];
                            one_combination(policies, reclaim_unit, 1);
                        }
                    }
                }
            }
        }
    }
    assert!(combinations >= 27 * 2 * 5 * 5 * 2, "{combinations}");
}

/// A static order, and a dynamic allocation.
fn orders() -> impl Iterator<Item = &'static Choice> {
    let alike = seam("allocation").choices.chunk_by(|a, b| is_dynamic(a.name) == is_dynamic(b.name));
    alike.map(|alike| &alike[0])
}

#[test]
fn every_protection_of_paired_pages() {
    let mut combinations = 0;
    for allocation in orders() {
        for victim in seam("victim").choices {
            for separation in seam("separation").choices {
                for wear_leveling in seam("wear_leveling").choices {
                    for paired_page in seam("paired_page").choices {
                        let mixes = paired_page.name.starts_with("gcmix")
                            && (is_by_lifespan(separation.name) || is_by_hints(separation.name));
                        if paired_page.name == "slc-buffer" && separation.name == "host-gc" || mixes {
                            continue;
                        }
                        combinations += 1;
                        if !is_tried(separation.name, combinations, 2) {
                            continue;
                        }
                        let block_allocation = &seam("block_allocation").choices[combinations % 2];
                        let policies = [allocation, block_allocation, victim, separation, wear_leveling, paired_page];
                        for unit in ["block", "twin"] {
                            one_combination(policies, seam("reclaim_unit").find(unit).expect("a unit"), 1);
                        }
                    }
                }
            }
        }
    }
    assert!(combinations >= 2 * 5 * 3 * 2 * 7, "{combinations}");
}

/// Flash pages of several map units.
#[test]
fn policies_on_map_units() {
    let mut combinations = 0;
    for allocation in orders() {
        for victim in seam("victim").choices {
            for separation in seam("separation").choices {
                for wear_leveling in seam("wear_leveling").choices {
                    for reclaim_unit in units_of_the_ftl() {
                        for parts in [2, 4, 8] {
                            combinations += 1;
                            if !is_tried(separation.name, combinations, 2) {
                                continue;
                            }
                            let block_allocation = &seam("block_allocation").choices[combinations % 2];
                            let unprotected = &seam("paired_page").choices[0];
                            let policies =
                                [allocation, block_allocation, victim, separation, wear_leveling, unprotected];
                            one_combination(policies, reclaim_unit, parts);
                        }
                    }
                }
            }
        }
    }
    assert!(combinations >= 2 * 5 * 3 * 2 * 2 * 3, "{combinations}");
}

/// A pseudo-SLC cache under them.
#[test]
fn policies_under_a_cache() {
    let mut combinations = 0;
    let unprotected = &seam("paired_page").choices[0];
    for allocation in orders() {
        for (number, victim) in seam("victim").choices.iter().enumerate() {
            for separation in seam("separation").choices {
                for wear_leveling in seam("wear_leveling").choices {
                    for reclaim_unit in units_of_the_ftl() {
                        for cache in &seam("slc_cache").choices[1..] {
                            combinations += 1;
                            if !is_tried(separation.name, combinations, 8) {
                                continue;
                            }
                            let block_allocation = &seam("block_allocation").choices[combinations % 2];
                            let policies =
                                [allocation, block_allocation, victim, separation, wear_leveling, unprotected];
                            let mut cache = selection(cache);
                            cache.set("when_full", ["direct", "fold-through"][combinations % 2].into());
                            cache.set("fold", ["need", "mark"][number % 2].into());
                            let refresh = selection(&seam("refresh").choices[0]);
                            one_combination_with(policies, reclaim_unit, [1, 2, 4][combinations % 3], &cache, &refresh);
                        }
                    }
                }
            }
        }
    }
    assert!(combinations >= 2 * 5 * 3 * 3 * 2 * 3, "{combinations}");
}

/// Refresh by age and errors under them, with time that passes: a second between two writes.
#[test]
fn policies_under_a_refresh() {
    let mut combinations = 0;
    for way in &seam("refresh").choices[1..] {
        for separation in seam("separation").choices {
            // Large devices, in which data live longer.
            let times = if is_by_lifespan(separation.name) { 2 } else { 1 };
            let second = |count: u64| ParamValue::Time(Duration(times * count * 1_000_000_000));
            let mut refresh = selection(way);
            match way.name {
                "age" => refresh.set("age", second(400)),
                "errors" => refresh.set("least_age", second(5)),
                _ => [("least_age", 100), ("period", 400)].iter().for_each(|(name, of)| refresh.set(name, second(*of))),
            }
            for paired_page in seam("paired_page").choices {
                let mixes = paired_page.name.starts_with("gcmix") && is_by_hints(separation.name);
                if paired_page.name == "slc-buffer" && separation.name == "host-gc" || mixes {
                    continue;
                }
                for reclaim_unit in units_of_the_ftl() {
                    combinations += 1;
                    // Few, since refreshes move many pages.
                    if !is_tried(separation.name, combinations, 16) {
                        continue;
                    }
                    let parts =
                        if ftl::paired::keeps_track(paired_page.name) { 1 } else { [1, 2, 4][combinations % 3] };
                    let first = |key: &str| &seam(key).choices[0];
                    let allocation = orders().nth(combinations % orders().count()).expect("an order");
                    let (blocks, victim, wear) = (first("block_allocation"), first("victim"), first("wear_leveling"));
                    let choices = [allocation, blocks, victim, separation, wear, paired_page];
                    let cache = selection(first("slc_cache"));
                    one_combination_with(choices, reclaim_unit, parts, &cache, &refresh);
                }
            }
        }
    }
    assert!(combinations >= 3 * 3 * 6 * 2, "{combinations}");
}

fn one_combination(choices: [&'static Choice; 6], reclaim_unit: &'static Choice, parts: u32) {
    let first = |key: &str| selection(&seam(key).choices[0]);
    one_combination_with(choices, reclaim_unit, parts, &first("slc_cache"), &first("refresh"));
}

fn one_combination_with(
    choices: [&'static Choice; 6],
    reclaim_unit: &'static Choice,
    parts: u32,
    slc_cache: &base::Selection,
    refresh: &base::Selection,
) {
    let [_, block_allocation, _, separation, wear_leveling, paired_page] = choices.map(|choice| choice.name);
    let is_swap_refused = block_allocation != "least-worn"
        || splits(separation)
        || is_by_hints(separation)
        || paired_page != "none"
        || reclaim_unit.name != "block";
    if wear_leveling == "swap" && is_swap_refused {
        return;
    }
    let names = [&choices.map(|choice| choice.name)[..], &[refresh.name]].concat().join(", ");
    let name = format!("{names}, {}, {parts} units, cache {}", reclaim_unit.name, slc_cache.name);
    let keeps_track = ftl::paired::keeps_track(choices[5].name);
    let blocks = match (choices[3].name, choices[5].name) {
        ("sepbit" | "midas" | "future", _) if refresh.name != "none" => 80,
        (hints, "slc-buffer") if is_by_hints(hints) => 120,
        (hints, _) if is_by_hints(hints) && (refresh.name != "none" || slc_cache.name != "off") => 60,
        (hints, _) if is_by_hints(hints) => 24,
        _ if refresh.name != "none" => 40,
        ("dac", "slc-buffer") => 20,
        ("sepbit" | "midas" | "future", "slc-buffer") => 60,
        ("dac", _) if slc_cache.name != "off" => 26,
        ("sepbit" | "midas" | "future", _) if slc_cache.name != "off" => 60,
        _ if slc_cache.name != "off" => 20,
        ("dac", _) => 10,
        ("sepbit" | "midas" | "future", _) => 16,
        _ if keeps_track => 10,
        _ => 6,
    };
    // Each class may leave a flash page of map units unfilled.
    let pages = if is_by_lifespan(choices[3].name) && parts > 1 { 8 } else { 4 };
    let geometry = geometry_of_pages(reclaim_unit, blocks, pages, parts);
    let mut reclaim_unit = selection(reclaim_unit);
    if reclaim_unit.name == "twin" {
        // Half of the combinations each.
        reclaim_unit.set("lone", ["gather", "single"][name.len() % 2].into());
    }
    let [allocation, block_allocation, victim, _, wear_leveling, paired_page] = choices.map(selection);
    let separation = few_handles(choices[3], name.len());
    let mut gc_schedule = selection(&seam("gc_schedule").choices[0]);
    if splits(separation.name) {
        gc_schedule.set("free_blocks", classes(&separation).into());
    }
    // A third of the combinations; MiDAS chooses victims itself.
    let is_across = name.bytes().map(u32::from).sum::<u32>() % 3 == 0 && separation.name != "midas";
    let reclaim_across = selection(&seam("reclaim_across").choices[usize::from(is_across)]);
    let policies = Policies {
        allocation: &allocation,
        block_allocation: &block_allocation,
        victim: &victim,
        reclaim_unit: &reclaim_unit,
        reclaim_across: &reclaim_across,
        gc_schedule: &gc_schedule,
        separation: &separation,
        paired_page: &paired_page,
        refresh,
        wear_leveling: &wear_leveling,
        slc_cache,
        program: ProgramUnit { slots: if parts > 1 { geometry.row_slots() } else { 1 }, programs: 1 },
        ..first_choices()
    };
    let refreshes = |bench: &Bench| bench.ftl.figures().get("refresh", "refreshes").expect("a refresh");
    let run = || {
        let pages = ftl::largest_user_pages(&geometry, &policies) * 9 / 10;
        let mut bench =
            Bench::new(geometry, policies.allocation, Ftl::new(geometry, pages, &policies, 1, true).expect("memory"));
        bench.handles = Handles::of(&separation);
        bench.check();
        let writes =
            if geometry.blocks_per_plane == 6 { 200 * parts } else { (geometry.unit_width + 1) * pages as u32 };
        // Many blocks are held free, for few pages of the user.
        let writes = match refresh.name {
            "none" if is_by_lifespan(separation.name) || is_by_hints(separation.name) => writes.max(400 * parts),
            "none" => writes,
            // Which moves many pages besides.
            _ => writes.min(1000),
        };
        // Large flash pages leave few for the user, and so does what a cache or a refresh needs: it takes more rounds of them.
        let rounds = if parts > 1 { 8 } else { 1 };
        let is_roomy = slc_cache.name != "off" || refresh.name != "none";
        for round in 0..if is_roomy { 60 } else { rounds } {
            let is_refreshed = refresh.name == "none" || refreshes(&bench) > 10.0;
            if round < rounds.min(2) || bench.collections <= 20 || !is_refreshed {
                bench.drive(1 + round, writes);
            }
        }
        assert!(bench.collections > 20, "only {} collections", bench.collections);
        assert!(refresh.name == "none" || refreshes(&bench) > 10.0, "only {} refreshes", refreshes(&bench));
        // A saved state is the same state, and goes on under policies made anew.
        let pages = bench.has.pages.expect("page mapping");
        let saved = pages.save(&bench.ftl).into_owned();
        pages.restore(&mut bench.ftl, || Ok::<_, OutOfMemory>(saved), &policies, 2).expect("memory").expect("a state");
        bench.check();
        bench.check_data();
        bench.drive(2, 20);
    };
    if catch_unwind(AssertUnwindSafe(run)).is_err() {
        panic!("broken: {name}");
    }
}

/// The restricted ways never let a page go past what ECC corrects; without a restriction pages do.
#[test]
fn every_way_of_migration() {
    let ways = [
        ("copyback", &[][..]),
        ("fastgc", &[]),
        ("fastgc", &[("metadata", ParamValue::Flag(true))]),
        ("rcpb", &[("quota", Word("block")), ("aware", Word("quality"))]),
        ("rcpb", &[("quota", Word("block")), ("aware", Word("worst"))]),
        ("rcpb", &[("quota", Word("page")), ("aware", Word("quality"))]),
        ("rcpb", &[("quota", Word("page")), ("aware", Word("worst"))]),
        ("rcpb", &[("quota", Word("block")), ("selector", ParamValue::Flag(true))]),
    ];
    for (name, params) in ways {
        for (case, separation) in ["none", "host-gc", "dac"].into_iter().enumerate() {
            for unit in ["block", "twin"] {
                for paired_page in ["none", "gcmix", "slc-buffer"] {
                    if paired_page == "slc-buffer" && separation != "none" {
                        continue;
                    }
                    let wear_leveling = if (case % 2 == 0) == (unit == "twin") { "static" } else { "none" };
                    let victim = ["greedy", "random", "cost-benefit"][case];
                    one_migration((name, params), [separation, unit, paired_page, wear_leveling, victim]);
                }
            }
        }
    }
}

fn one_migration((name, params): (&'static str, &[(&'static str, ParamValue)]), chosen: [&'static str; 5]) {
    let [separation, unit, paired_page, wear_leveling, victim] = chosen;
    let of = |key: &str, name: &str| selection(seam(key).find(name).expect("a choice"));
    let mut migration = of("migration", name);
    for (param, value) in params {
        migration.set(param, *value);
    }
    let reclaim_unit = of("reclaim_unit", unit);
    let geometry = geometry(reclaim_unit.choice, 36, 1);
    let mut random = Chance::new(7, name);
    let qualities = [Quality::BEST, Quality::MEDIAN, Quality::WORST];
    let wear = Arc::new(Wear {
        pe_cycles: 0,
        // The bands are deferred on the way.
        table: CopybackTable {
            bands: vec![4, 8, 100],
            best: vec![3, 2, 2],
            median: vec![2, 2, 1],
            worst: vec![1, 1, 0],
        },
        qualities: (0..geometry.blocks()).map(|_| qualities[random.below_u32(3) as usize]).collect(),
    });
    let mut gc_schedule = selection(&seam("gc_schedule").choices[0]);
    gc_schedule.set("free_blocks", 2.into());
    let policies = Policies {
        mapping: &of("mapping", "page"),
        allocation: &of("allocation", "CWDP"),
        block_allocation: &of("block_allocation", "first-fit"),
        victim: &of("victim", victim),
        reclaim_unit: &reclaim_unit,
        gc_schedule: &gc_schedule,
        separation: &of("separation", separation),
        paired_page: &of("paired_page", paired_page),
        migration: &migration,
        wear_leveling: &of("wear_leveling", wear_leveling),
        wear: Some(wear.clone()),
        block_write: Duration::from_us(1000),
        ..first_choices()
    };
    let run = || {
        let pages = (ftl::largest_user_pages(&geometry, &policies) * 9 / 10).min(geometry.pages() / 4 * 3);
        let mut bench =
            Bench::new(geometry, policies.allocation, Ftl::new(geometry, pages, &policies, 1, true).expect("memory"));
        bench.wear = Some(wear.clone());
        for part in 0..3 {
            // The write buffer is full now and then.
            if let Some(time) = bench.has.time.filter(|time| time.asks_fill) {
                let fill = f64::from(u32::from(part == 1));
                time.tell(&mut bench.ftl, Instant(part * 1_000_000_000), Some(fill));
            }
            bench.drive(part, pages as u32);
        }
        for lpn in 0..pages as u32 {
            bench.read(lpn);
        }
        assert!(
            bench.highest <= ECC_LIMIT || name == "copyback",
            "{}",
            f64::from(bench.highest) / f64::from(ECC_LIMIT)
        );
        if paired_page == "none" {
            // Protections move most pages among host pages, which takes the controller.
            assert!(bench.copied > 100, "{} pages were copied back", bench.copied);
            assert!(bench.highest > ECC_LIMIT / 2, "quotas are used");
            assert_eq!(bench.highest > ECC_LIMIT, name == "copyback", "data are lost without a restriction alone");
        }
    };
    if catch_unwind(AssertUnwindSafe(run)).is_err() {
        panic!("broken: {name} {params:?}, {chosen:?}");
    }
}

/// A merged buffer is held until the wordlines of its copies are complete, and copies go to as many active blocks as there are
/// quotas or regions: each of them may be opened while none of the victims can be erased yet.
#[test]
fn victims_are_held_for_every_active_block_of_copies() {
    for victim in seam("victim").choices {
        for kinds in ["quotas", "regions", "both"] {
            for seed in 0..3 {
                let run = || hold_victims(kinds, victim, seed);
                if catch_unwind(AssertUnwindSafe(run)).is_err() {
                    panic!("broken: {kinds}, {}, seed {seed}", victim.name);
                }
            }
        }
    }
}

fn hold_victims(kinds: &str, victim: &'static Choice, seed: u64) {
    let of = |key: &str, name: &str| selection(seam(key).find(name).expect("a choice"));
    let (has_quotas, has_regions) = (kinds != "regions", kinds != "quotas");
    let blocks = if kinds == "both" { 72 } else { 36 };
    let geometry = Geometry::new(Dimensions { blocks_per_plane: blocks, pages_per_block: 4, ..Dimensions::ONE_PAGE });
    let mut random = Chance::new(seed, "qualities");
    let qualities = [Quality::BEST, Quality::MEDIAN, Quality::WORST];
    let wear = has_quotas.then(|| {
        Arc::new(Wear {
            pe_cycles: 0,
            table: CopybackTable { bands: vec![1_000_000], best: vec![4], median: vec![3], worst: vec![2] },
            qualities: (0..blocks).map(|_| qualities[random.below_u32(3) as usize]).collect(),
        })
    });
    let mut paired_page = of("paired_page", "slc-buffer");
    paired_page.set("blocks", 1.into());
    let mut gc_schedule = selection(&seam("gc_schedule").choices[0]);
    gc_schedule.set("free_blocks", 2.into());
    let mut separation = of("separation", if has_regions { "dac" } else { "none" });
    if has_regions {
        separation.set("regions", 2.into());
    }
    let policies = Policies {
        mapping: &of("mapping", "page"),
        allocation: &of("allocation", "CWDP"),
        block_allocation: &of("block_allocation", "first-fit"),
        victim: &selection(victim),
        reclaim_unit: &of("reclaim_unit", "block"),
        gc_schedule: &gc_schedule,
        separation: &separation,
        paired_page: &paired_page,
        migration: &of("migration", if has_quotas { "rcpb" } else { "off-chip" }),
        wear_leveling: &of("wear_leveling", "none"),
        wear: wear.clone(),
        ..first_choices()
    };
    let pages = ftl::largest_user_pages(&geometry, &policies);
    let mut bench =
        Bench::new(geometry, policies.allocation, Ftl::new(geometry, pages, &policies, seed, true).expect("memory"));
    bench.wear = wear;
    bench.drive(seed, 600);
}

/// Filled to the last page that is accepted and overwritten at random, with caches from the smallest one up to one that
/// holds the map.
#[test]
fn a_map_in_flash_under_every_policy() {
    let names = |key: &str, except: &[&str]| -> Vec<&'static Choice> {
        seam(key).choices.iter().filter(|choice| !except.contains(&choice.name)).collect()
    };
    let (dynamic, orders): (Vec<_>, Vec<_>) =
        seam("allocation").choices.iter().partition(|order| is_dynamic(order.name));
    // Under a dynamic allocation these are refused with a map in flash.
    let waits_for_room = |name: &str| name == "slc-buffer" || name.starts_with("gcmix");
    let mut combinations = 0;
    for victim in names("victim", &[]) {
        for separation in names("separation", &[]) {
            for wear_leveling in names("wear_leveling", &[]) {
                for paired_page in names("paired_page", &[]) {
                    for free_blocks in [1, 2] {
                        let by_hints = is_by_hints(separation.name);
                        let mixes = wear_leveling.name == "swap" && by_hints
                            || paired_page.name.starts_with("gcmix") && (is_by_lifespan(separation.name) || by_hints);
                        if paired_page.name == "slc-buffer" && separation.name == "host-gc" || mixes {
                            continue;
                        }
                        combinations += 1;
                        if !is_tried(separation.name, combinations, 8) {
                            continue;
                        }
                        let allocation = match combinations % 5 {
                            0 | 1 if !waits_for_room(paired_page.name) => dynamic[combinations / 5 % dynamic.len()],
                            _ => orders[combinations % orders.len()],
                        };
                        let block_allocation = &seam("block_allocation").choices[combinations % 2];
                        let cache = [0, 3, 8, 1000][combinations % 4];
                        let policies = [allocation, block_allocation, victim, separation, wear_leveling, paired_page];
                        let page_size = [16, 64][combinations / 4 % 2];
                        one_map_in_flash(policies, [1, 1], free_blocks, cache, page_size);
                        if paired_page.name == "none" && !splits(separation.name) {
                            one_map_in_flash(policies, [2, 1], free_blocks, cache, page_size);
                        }
                        if paired_page.name == "none" && free_blocks as usize == 1 + combinations / 2 % 2 {
                            let parts = [2, 4, 8][combinations % 3];
                            let width = if splits(separation.name) { 1 } else { 1 + free_blocks % 2 };
                            one_map_in_flash(policies, [width, parts], free_blocks, cache, page_size);
                        }
                    }
                }
            }
        }
    }
    assert!(combinations >= 5 * 3 * 2 * 7 * 2, "{combinations}");
}

/// With reclaim units of a block of one plane, or of both, and so many map units to a flash page.
fn one_map_in_flash(
    choices: [&'static Choice; 6],
    [unit_width, parts]: [u32; 2],
    free_blocks: u32,
    cache: u32,
    page_size: u32,
) {
    let name = choices.map(|choice| choice.name).join(", ");
    // Two planes of sixteen blocks of four pages of 4 or 16 entries; several dies where entries lie elsewhere.
    let (channels, dies) = match parts {
        _ if !is_dynamic(choices[0].name) => (1, 1),
        1 => (2, 2),
        _ => (2, 1),
    };
    let geometry = Geometry::new(Dimensions {
        channels,
        dies_per_chip: dies,
        planes_per_die: 2,
        // Merged buffers are held for every region.
        blocks_per_plane: match (choices[3].name, choices[5].name) {
            ("dac", "slc-buffer") => 20,
            ("sepbit" | "midas" | "future", "slc-buffer") => 60,
            (hints, "slc-buffer") if is_by_hints(hints) => 100,
            (hints, _) if is_by_hints(hints) => 40,
            // A victim may have its entries on as many flash pages of the map as it has units.
            _ if parts > 1 => 40,
            ("sepbit" | "midas" | "future", _) => 40,
            _ => 16,
        },
        pages_per_block: if is_by_lifespan(choices[3].name) && parts > 1 { 8 } else { 4 } * parts,
        page_size,
        unit_width,
        parts,
        ..Dimensions::ONE_PAGE
    });
    let [allocation, block_allocation, victim, _, wear_leveling, paired_page] = choices.map(selection);
    let separation = few_handles(choices[3], name.len());
    let mut gc_schedule = selection(&seam("gc_schedule").choices[0]);
    gc_schedule.set("free_blocks", free_blocks.max(classes(&separation)).into());
    let mut mapping = selection(seam("mapping").find("dftl").expect("a map in flash"));
    mapping.set("cache", ParamValue::Size(u64::from(cache * 2 * ftl::dftl::CACHED_ENTRY_BYTES)));
    let policies = Policies {
        mapping: &mapping,
        allocation: &allocation,
        block_allocation: &block_allocation,
        victim: &victim,
        reclaim_unit: &selection(&seam("reclaim_unit").choices[unit_width as usize - 1]),
        gc_schedule: &gc_schedule,
        separation: &separation,
        paired_page: &paired_page,
        wear_leveling: &wear_leveling,
        program: ProgramUnit { slots: if parts > 1 { geometry.row_slots() } else { 1 }, programs: 1 },
        ..first_choices()
    };
    let run = || {
        let pages = ftl::largest_user_pages(&geometry, &policies);
        let mut bench =
            Bench::new(geometry, policies.allocation, Ftl::new(geometry, pages, &policies, 1, true).expect("memory"));
        bench.handles = Handles::of(&separation);
        bench.check();
        bench.drive(1, if parts == 1 { 600 } else { 500 * parts });
        assert!(bench.collections > 20, "only {} collections", bench.collections);
        let figures = bench.ftl.figures();
        let of = |name| figures.get("mapping", name).expect("a map in flash");
        assert_eq!(of("fetches") > 0.0, of("cached_entries") < pages as f64, "{figures:?}");
        // Of a handful of entries of each domain it may be that none is of a page that is moved; and the reads that come in
        // between, which only ask for theirs, may miss them all.
        let moved_cached = figures.get("mapping", "moved_cached_fraction");
        let is_usual = of("hit_fraction") >= 0.0 && moved_cached.is_some_and(|fraction| fraction > 0.0);
        assert!(is_usual || cache <= 8, "{figures:?}");
        // A saved state is the same state.
        let mapping = bench.has.pages.expect("page mapping");
        let saved = mapping.save(&bench.ftl).into_owned();
        bench.ftl = Ftl::new(geometry, pages, &policies, 1, true).expect("memory").0;
        mapping
            .restore(&mut bench.ftl, || Ok::<_, OutOfMemory>(saved), &policies, 2)
            .expect("memory")
            .expect("a state");
        bench.check();
        bench.check_data();
        bench.ftl.renew_policies(&policies, 2);
        bench.drive(2, 50);
    };
    if catch_unwind(AssertUnwindSafe(run)).is_err() {
        panic!(
            "broken: {name}, units of {unit_width} blocks, {free_blocks} blocks held free, {cache} entries, {parts} map units of {page_size} bytes"
        );
    }
}

/// Collections ahead of need, suspended at every point at which they may be, among writes and trims.
#[test]
fn collections_ahead_of_need_leave_the_map_whole() {
    let gc_schedule = selection(seam("gc_schedule").find("background").expect("a schedule"));
    let mut kinds = Vec::new();
    for mapping in seam("mapping").choices.iter().map(|mapping| mapping.name) {
        for unit in units_of_the_ftl().map(|unit| unit.name) {
            for separation in seam("separation").choices.iter().map(|separation| separation.name) {
                for paired_page in ["none", "lsb-backup", "slc-buffer"] {
                    kinds.push((mapping, unit, separation, paired_page));
                }
            }
        }
    }
    kinds.retain(|&(mapping, unit, separation, paired_page)| match mapping {
        "fast" => (unit, separation, paired_page) == ("block", "none", "none"),
        _ if unit == "twin" => !splits(separation) && paired_page == "none",
        "dftl" => paired_page != "slc-buffer",
        _ => separation == "none" || paired_page != "slc-buffer",
    });
    let mut totals = [0; 3];
    for (case, (mapping, unit, separation, paired_page)) in kinds.into_iter().enumerate() {
        for victim in seam("victim").choices {
            let chosen = |key: &str, name| selection(seam(key).find(name).expect("a choice"));
            let mut gc_schedule = gc_schedule.clone();
            let more = u32::from(separation == "dac" || paired_page == "slc-buffer");
            gc_schedule.set("free_blocks", if is_by_lifespan(separation) { 4 } else { 1 + more }.into());
            let mut mapped = chosen("mapping", mapping);
            match mapping {
                "fast" => mapped.set("log_blocks", 4.into()),
                // Five entries for each of eight planes.
                "dftl" => mapped.set("cache", ParamValue::Size(320)),
                _ => {}
            }
            let reclaim_unit = chosen("reclaim_unit", unit);
            let policies = Policies {
                mapping: &mapped,
                allocation: &chosen("allocation", if unit == "twin" && mapping == "page" { "F" } else { "CWDP" }),
                victim: &selection(victim),
                reclaim_unit: &reclaim_unit,
                gc_schedule: &gc_schedule,
                separation: &few_handles(seam("separation").find(separation).expect("a choice"), case),
                paired_page: &chosen("paired_page", paired_page),
                ..first_choices()
            };
            let what = format!("{mapping}, {unit}, {separation}, {paired_page}, {}", victim.name);
            let run = || {
                let geometry = match mapping {
                    "dftl" => Geometry::new(Dimensions {
                        channels: 2,
                        dies_per_chip: 2,
                        planes_per_die: 2,
                        blocks_per_plane: match separation {
                            _ if is_by_hints(separation) => 40,
                            _ if is_by_lifespan(separation) => 24,
                            _ => 16,
                        },
                        pages_per_block: 4,
                        page_size: 16,
                        unit_width: if unit == "twin" { 2 } else { 1 },
                        ..Dimensions::ONE_PAGE
                    }),
                    _ => {
                        let blocks = match separation {
                            _ if is_by_hints(separation) => 30,
                            _ if is_by_lifespan(separation) => 20,
                            _ => 12,
                        };
                        geometry(reclaim_unit.choice, blocks, 1)
                    }
                };
                let pages = ftl::largest_user_pages(&geometry, &policies) * 9 / 10;
                let mut bench = Bench::new(
                    geometry,
                    policies.allocation,
                    Ftl::new(geometry, pages, &policies, 1, true).expect("memory"),
                );
                (0..pages as u32).for_each(|lpn| bench.write(lpn));
                let mut random = Chance::new(case as u64, "ahead");
                for _ in 0..600 {
                    match random.below(8) {
                        0 => bench.trim(random.below_u32(pages as u32)),
                        1..=4 => bench.write(random.below_u32(pages as u32)),
                        _ => bench.go_ahead(&mut random),
                    }
                }
                [bench.begun, bench.suspended, bench.deferred]
            };
            let Ok(counts) = catch_unwind(AssertUnwindSafe(run)) else { panic!("broken: {what}") };
            totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
        }
    }
    assert!(totals.iter().all(|&total| total > 500), "begun, suspended, deferred: {totals:?}");
}

#[test]
fn a_domain_under_collection_takes_no_host_page() {
    let policies = Policies { cell: Cell::Slc, program_order: ProgramOrder::Consecutive, ..first_choices() };
    let geometry = Geometry::new(Dimensions { blocks_per_plane: 4, pages_per_block: 4, ..Dimensions::ONE_PAGE });
    let (mut ftl, _) = Ftl::new(geometry, 8, &policies, 1, false).expect("memory");
    let mut lpns = (0..8).cycle();
    let only = Domain::new(0);
    while ftl.work(only).is_none() {
        ftl.write(only, Lpn(lpns.next().expect("endless")).into(), ANYWHERE);
    }
    let panic = catch_unwind(AssertUnwindSafe(|| ftl.write(only, Lpn(0).into(), ANYWHERE))).expect_err("refused");
    assert!(panic.downcast_ref::<&str>().is_some_and(|text| text.contains("takes no host pages")));
    let early = catch_unwind(AssertUnwindSafe(|| {
        let (mut ftl, _) = Ftl::new(geometry, 8, &policies, 1, false).expect("memory");
        ftl.erased(only, Unit::new(0), false);
    }));
    assert!(early.is_err(), "an erase without a collection is refused");
    assert!(catch_unwind(AssertUnwindSafe(|| Ftl::new(geometry, 12, &policies, 1, false))).is_err(), "too full");
}
