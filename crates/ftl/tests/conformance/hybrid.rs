//! Hybrid mapping, under every static order.

use super::*;

#[test]
fn hybrid_mapping_under_every_static_order() {
    let first = |key| selection(&seam(key).choices[0]);
    let mut combinations = 0;
    for allocation in seam("allocation").choices {
        if is_dynamic(allocation.name) {
            continue;
        }
        for block_allocation in seam("block_allocation").choices {
            // With either way to gather pages.
            let readings = [
                ("merge", "always"),
                ("fill", "always"),
                ("waste", "always"),
                ("merge", "if-spare"),
                ("fill", "if-spare"),
                ("waste", "if-spare"),
                ("fill", "bounded"),
            ];
            for case in 0..2 * readings.len() {
                let (broken, start) = readings[case % readings.len()];
                let gather = ["all", "victim"][case / readings.len()];
                combinations += 1;
                let mut mapping = selection(seam("mapping").find("fast").expect("hybrid mapping"));
                mapping.set("log_blocks", 3.into());
                for (name, word) in [("broken", broken), ("start", start), ("gather", gather)] {
                    mapping.set(name, word.into());
                }
                let policies = Policies {
                    mapping: &mapping,
                    map_unit: &selection(&seam("map_unit").choices[0]),
                    allocation: &selection(allocation),
                    block_allocation: &selection(block_allocation),
                    victim: &first("victim"),
                    reclaim_unit: &first("reclaim_unit"),
                    reclaim_across: &first("reclaim_across"),
                    gc_schedule: &first("gc_schedule"),
                    separation: &first("separation"),
                    paired_page: &first("paired_page"),
                    migration: &selection(&seam("migration").choices[0]),
                    read_disturb: &selection(&seam("read_disturb").choices[0]),
                    refresh: &selection(&seam("refresh").choices[0]),
                    wear_leveling: &first("wear_leveling"),
                    slc_cache: &selection(&seam("slc_cache").choices[0]),
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
                };
                let geometry = geometry(&seam("reclaim_unit").choices[0], 8, 1);
                let pages = ftl::largest_user_pages(&geometry, &policies) - 3;
                let mut bench = Bench::new(
                    geometry,
                    policies.allocation,
                    Ftl::new(geometry, pages, &policies, 1, true).expect("memory"),
                );
                bench.drive(1, 200);
                assert!(bench.collections > 20, "only {} erases", bench.collections);
                bench.ftl.renew_policies(&policies, 1);
                bench.drive(2, 50);
            }
        }
    }
    assert_eq!(combinations, 24 * 2 * 14);
}
