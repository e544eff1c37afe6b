//! Does acknowledged data survive power cuts and program failures at every operation?

use std::panic::catch_unwind;

use crate::common::preset;
use config::Config;
use files::Interrupt;
use rig::survival::{LivesTally, Trouble, try_everywhere};

/// A device of one plane of some 20 small blocks under a protection.
fn config(protection: &str, cell: &str, order: &str, separation: &str) -> Config {
    let (pages, times) = match cell {
        "mlc" => (8, r#"["50us", "100us"]"#),
        _ => (9, r#"["50us", "70us", "100us"]"#),
    };
    let free = if separation.contains("dac") || protection.contains("slc") || cell == "tlc" { 3 } else { 2 };
    // Regions of buffers and of full blocks, each with an active block.
    let blocks = if separation.contains("dac") && protection.contains("slc") { 30 } else { 20 };
    let mut sets: Vec<String> = [
        "device.channels=1",
        "device.planes_per_die=1",
        "device.over_provisioning=1.5",
        "workload.interval=\"400ms\"",
        "run.payload=\"stamp\"",
        "run.precondition=\"none\"",
    ]
    .map(str::to_string)
    .to_vec();
    sets.push(format!("device.blocks_per_plane={blocks}"));
    sets.push(format!("device.cell=\"{cell}\""));
    sets.push(format!("device.pages_per_block={pages}"));
    sets.push(format!("device.timing.read={times}"));
    sets.push(format!("device.timing.program={times}"));
    sets.push(format!("device.program_order=\"{order}\""));
    sets.push(format!("ftl.gc_schedule.threshold.free_blocks={free}"));
    sets.push(format!("ftl.{separation}"));
    sets.extend(format!("ftl.{protection}").lines().map(str::to_string));
    if separation.contains("dac") && protection.contains("slc") && (cell, order) == ("tlc", "shadow") {
        // In this order five pages of each active block wait for their wordlines, and as many merged buffers with them.
        let blocks = if protection.contains("twin") { 60 } else { 36 };
        sets.extend([format!("device.blocks_per_plane={blocks}"), "device.over_provisioning=4.0".into()]);
    }
    preset("gcmix-px", &sets)
}

const ALL_TROUBLES: [Trouble; 4] =
    [Trouble::ProgramFailure, Trouble::PowerCut, Trouble::SecondCut, Trouble::FailedRecovery];

const NONE: &str = "separation=\"none\"";
const DAC: &str = "separation.dac.regions=3";

fn outcome(protection: &str, cell: &str, order: &str, separation: &str, trouble: Trouble) -> LivesTally {
    // Some operations of two lives; of every life others.
    sample(protection, cell, order, separation, trouble, (2, 19))
}

/// So many lives, of each operations so far apart; `FTLAB_LIVES=n` asks for all of n lives.
fn sample(
    protection: &str,
    cell: &str,
    order: &str,
    separation: &str,
    trouble: Trouble,
    few: (u64, u64),
) -> LivesTally {
    let lives = std::env::var("FTLAB_LIVES").ok().and_then(|lives| lives.parse().ok());
    let (seeds, stride) = lives.map_or(few, |lives| (lives, 1));
    // There are fewer programs than operations.
    let stride = if trouble == Trouble::ProgramFailure { stride.div_ceil(4) } else { stride };
    let tally =
        try_everywhere(&config(protection, cell, order, separation), trouble, seeds, stride, &Interrupt::default())
            .unwrap();
    assert!(tally.runs > 15, "{} runs", tally.runs);
    tally
}

#[test]
fn what_a_protection_promises_it_keeps() {
    let mut broken = Vec::new();
    for (cell, order) in [("mlc", "consecutive"), ("mlc", "shadow"), ("tlc", "consecutive"), ("tlc", "shadow")] {
        for separation in [NONE, DAC] {
            for protection in [
                "paired_page=\"lsb-backup\"",
                "paired_page=\"parity-backup\"",
                "paired_page.slc-buffer.blocks=2",
                "paired_page={gcmix={high=6}}",
            ] {
                if protection.contains("parity") && cell != "mlc" {
                    continue;
                }
                for trouble in ALL_TROUBLES {
                    let case = format!("{protection} {cell} {order} {separation} {trouble:?}");
                    let tried = catch_unwind(|| outcome(protection, cell, order, separation, trouble));
                    match tried {
                        Ok(tally) if tally.losing == 0 => {}
                        Ok(tally) => {
                            broken.push(format!("{case}: {} of {}, {:?}", tally.losing, tally.runs, tally.first))
                        }
                        Err(_) => broken.push(format!("{case}: panics")),
                    }
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Pages that wait for the rest of their wordline are lost with the power, and their older versions are there until they are programmed;
/// after a failed program the controller has all of them.
#[test]
fn wordlines_that_are_programmed_as_a_whole_survive() {
    for programming in ["one-shot", "two-pass"] {
        for (cell, protection, separation, more) in [
            ("mlc", "none", NONE, ""),
            ("tlc", "none", NONE, ""),
            ("tlc", "page-buffer", NONE, ""),
            ("tlc", "supercap", NONE, ""),
            ("tlc", "none", DAC, ""),
            ("tlc", "none", "separation=\"host-gc\"", "device.channels=2\nftl.allocation=\"F\""),
            ("mlc", "none", NONE, "device.planes_per_die=2\nftl.allocation=\"CWDP\"\nftl.reclaim_unit=\"twin\""),
            ("mlc", "none", NONE, "ftl.write_buffer.lru.size=\"48KiB\""),
        ] {
            // Blocks of eight wordlines: up to two of each active block are filled up.
            let pages = if cell == "mlc" { 16 } else { 24 };
            let whole = format!(
                "paired_page=\"{protection}\"\ndevice.programming=\"{programming}\"\ndevice.timing.program=\"700us\"\n\
                 device.over_provisioning=3.0\nftl.gc_schedule.threshold.free_blocks=3\ndevice.blocks_per_plane=40\n\
                 device.pages_per_block={pages}\n{more}"
            );
            for trouble in ALL_TROUBLES {
                let tally = sample(&whole, cell, "consecutive", separation, trouble, (1, 13));
                let case = format!("{programming} {cell} {protection} {separation} {more} {trouble:?}");
                assert_eq!(tally.losing, 0, "{case}: {:?}", tally.first);
            }
        }
    }
}

#[test]
fn what_a_protection_cannot_do_is_seen() {
    for (cell, order) in [("mlc", "consecutive"), ("mlc", "shadow"), ("tlc", "consecutive")] {
        let losing = |protection, trouble| outcome(protection, cell, order, NONE, trouble).losing;
        assert!(losing("paired_page=\"none\"", Trouble::PowerCut) > 0);
        assert!(losing("paired_page=\"none\"", Trouble::ProgramFailure) > 0);
        assert!(losing("paired_page=\"page-buffer\"", Trouble::PowerCut) > 0);
        assert_eq!(losing("paired_page=\"page-buffer\"", Trouble::ProgramFailure), 0);
        assert_eq!(losing("paired_page=\"supercap\"", Trouble::PowerCut), 0);
        assert_eq!(losing("paired_page=\"supercap\"", Trouble::SecondCut), 0);
        assert!(losing("paired_page=\"supercap\"", Trouble::ProgramFailure) > 0);
    }
}

/// Behind a write buffer, what was flushed or written with FUA is as safe; what was not may be lost.
#[test]
fn what_was_flushed_survives() {
    for protection in ["paired_page=\"lsb-backup\"", "paired_page={gcmix={high=6}}"] {
        for buffer in ["write_buffer.fifo.size=\"48KiB\"", "write_buffer.lru.size=\"48KiB\""] {
            for trouble in [Trouble::ProgramFailure, Trouble::PowerCut, Trouble::SecondCut] {
                let both = format!("{protection}\nftl.{buffer}");
                let tally = outcome(&both, "mlc", "shadow", NONE, trouble);
                assert_eq!(tally.losing, 0, "{both} {trouble:?}: {:?}", tally.first);
            }
        }
    }
}

/// Twin blocks fill two wordlines side by side; a failed program hurts its own.
#[test]
fn a_page_buffer_helps_twin_blocks_too() {
    let twins = "paired_page=\"page-buffer\"\ndevice.planes_per_die=2\nftl.allocation=\"F\"\nftl.reclaim_unit=\"twin\"";
    let tally = outcome(twins, "mlc", "shadow", NONE, Trouble::ProgramFailure);
    assert_eq!(tally.losing, 0, "{:?}", tally.first);
}

/// Twin blocks under every protection: each plane has wordlines of its own, and one command may put both at risk.
#[test]
fn protections_keep_what_twin_blocks_hold() {
    let twins =
        "device.planes_per_die=2\ndevice.blocks_per_plane=40\nftl.allocation=\"CWDP\"\nftl.reclaim_unit=\"twin\"";
    for (cell, order) in [("mlc", "consecutive"), ("mlc", "shadow"), ("tlc", "shadow")] {
        for separation in [NONE, DAC] {
            for protection in [
                "paired_page=\"lsb-backup\"",
                "paired_page=\"parity-backup\"",
                "paired_page.slc-buffer.blocks=2",
                "paired_page={gcmix={high=6}}",
            ] {
                if protection.contains("parity") && cell != "mlc" {
                    continue;
                }
                for trouble in [Trouble::ProgramFailure, Trouble::PowerCut, Trouble::SecondCut] {
                    let twin = format!("{protection}\n{twins}");
                    let tally = sample(&twin, cell, order, separation, trouble, (1, 61));
                    let case = format!("{protection} {cell} {order} {separation} {trouble:?}");
                    assert_eq!(tally.losing, 0, "{case}: {:?}", tally.first);
                }
            }
        }
    }
}

/// A plane whose map is in flash, on two translation pages, under a protection; few entries are cached.
fn mapped(protection: &str, more: &str) -> String {
    format!("{protection}\ndevice.page_size=512\ndevice.blocks_per_plane=46\nftl.mapping.dftl.cache=\"128B\"\n{more}")
}

/// With the map in flash it is found again from the spare areas of the data, and translation pages are as safe as these.
#[test]
fn a_map_in_flash_survives_with_the_data() {
    let all = [Trouble::ProgramFailure, Trouble::PowerCut, Trouble::SecondCut];
    let protections = [
        ("paired_page=\"lsb-backup\"", &all[..]),
        ("paired_page=\"parity-backup\"", &all),
        ("paired_page.slc-buffer.blocks=2", &all),
        ("paired_page={gcmix={high=12}}", &all),
        ("paired_page=\"page-buffer\"", &all[..1]),
        ("paired_page=\"supercap\"", &all[1..]),
    ];
    for (cell, order) in [("mlc", "consecutive"), ("mlc", "shadow"), ("tlc", "shadow")] {
        for (protection, troubles) in protections {
            if protection.contains("parity") && cell != "mlc" {
                continue;
            }
            for &trouble in troubles {
                let tally = sample(&mapped(protection, ""), cell, order, NONE, trouble, (1, 41));
                assert_eq!(tally.losing, 0, "{protection} {cell} {order} {trouble:?}: {:?}", tally.first);
            }
        }
    }
    // Data are lost that nothing protects; the map goes on all the same.
    for trouble in all {
        let tally = sample(&mapped("paired_page=\"none\"", ""), "mlc", "shadow", NONE, trouble, (1, 41));
        assert!(tally.losing > 0, "{trouble:?}");
    }
}

/// Pages lie on other planes than their map entries.
#[test]
fn a_map_in_flash_survives_where_owners_are_elsewhere() {
    for allocation in ["F", "D"] {
        for protection in ["paired_page=\"lsb-backup\"", "paired_page=\"parity-backup\""] {
            let two = format!("device.channels=2\nftl.allocation=\"{allocation}\"");
            for trouble in [Trouble::ProgramFailure, Trouble::PowerCut, Trouble::SecondCut] {
                let tally = sample(&mapped(protection, &two), "mlc", "shadow", NONE, trouble, (1, 61));
                assert_eq!(tally.losing, 0, "{protection} {allocation} {trouble:?}: {:?}", tally.first);
            }
        }
    }
}

#[test]
fn a_victim_erased_too_early_is_caught() {
    let broken = "paired_page={gcmix={high=6,hold=false}}";
    for (cell, order) in [("mlc", "shadow"), ("tlc", "consecutive"), ("tlc", "shadow")] {
        assert!(outcome(broken, cell, order, NONE, Trouble::PowerCut).losing > 0);
        assert!(outcome(broken, cell, order, NONE, Trouble::ProgramFailure).losing > 0);
    }
}

#[test]
fn a_restart_reads_every_programmed_page_once() {
    let mut config = config("paired_page=\"lsb-backup\"", "mlc", "consecutive", NONE);
    config.run.precondition = config::model::Precondition::Sequential { volume: config.device.user_capacity };
    let cost = rig::survival::restart_cost(&config, &Interrupt::default()).unwrap();
    // 64 host pages in 8 blocks, and of the backups of their 32 LSB pages those that the backup block holds now.
    assert_eq!((cost["pages_read"].as_u64(), cost["rescued_pages"].as_u64()), (Some(68), Some(0)));
    // LSB pages take 50 us, MSB pages 100 us.
    let expected = (32.0 + 4.0) * 50e-6 + 32.0 * 100e-6;
    assert!((cost["restart_s"].as_f64().unwrap() - expected).abs() < 1e-9, "{cost}");
}
