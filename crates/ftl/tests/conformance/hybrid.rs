//! Hybrid mapping, under every static order.

use super::*;

#[test]
fn hybrid_mapping_under_every_static_order() {
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
                    allocation: &selection(allocation),
                    block_allocation: &selection(block_allocation),
                    ..first_choices()
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
