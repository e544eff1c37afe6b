//! Placement by hints: data that die together cost nothing where the host says so, and what it keeps apart stays apart.

use crate::common::*;
use base::ParamValue;
use config::Config;
use config::model::{End, Executor, HintSelect, Precondition, Source};
use files::Interrupt;
use rig::survival::{Trouble, try_everywhere};
use serde_json::Value;

const PAGE: u64 = 8192;

/// The separations by hints, with few handles.
fn separations() -> [(&'static str, Vec<(&'static str, ParamValue)>); 4] {
    let fdp = |isolation| vec![("handles", 4.into()), ("isolation", ParamValue::Word(isolation))];
    [
        ("streams", vec![("streams", 3.into())]),
        ("fdp", fdp("initial")),
        ("fdp", fdp("persistent")),
        ("write-hints", vec![]),
    ]
}

/// A run of single-page writes, each with its page and its hint, one a microsecond.
fn writes(mut config: Config, of: impl Iterator<Item = (u64, u64)>) -> Value {
    let path = temporary("csv");
    let rows = of.zip(0..).map(|((page, hint), at)| format!("{at},W,{},{PAGE},{hint}\n", page * PAGE));
    std::fs::write(&path, rows.collect::<String>()).expect("a file");
    config.workload.source = Source::Trace { path: path.to_str().expect("a name").into() };
    config.workload.trace_columns = Some("time=1:us,op=2,offset=3,size=4,hint=5".into());
    config.workload.end = End { rounds: Some(1), ..End::default() };
    config.run.precondition = Precondition::None;
    let summary = run(&config);
    std::fs::remove_file(path).expect("it is there");
    summary
}

fn counts(summary: &Value, name: &str) -> Vec<u64> {
    let counts = summary["policy"]["separation"][name].as_array().expect("a list");
    counts.iter().map(|count| count.as_u64().expect("a count")).collect()
}

/// Two sets of pages that are each written in turn, the small one three times as often.
fn two_sets((hot, cold): (u64, u64), count: u64, hints: [u64; 2]) -> impl Iterator<Item = (u64, u64)> {
    let mut next = [0, 0];
    (0..count).map(move |write| {
        let is_cold = write % 4 == 0;
        let page = next[usize::from(is_cold)];
        next[usize::from(is_cold)] = (page + 1) % if is_cold { cold } else { hot };
        (page + if is_cold { hot } else { 0 }, hints[usize::from(is_cold)])
    })
}

#[test]
fn data_that_die_together_cost_nothing_where_the_host_says_so() {
    let sets = (64, 1100);
    let device = |executor| {
        let mut config = plain(1, 1, 1, 1, 72, 32);
        config.device.user_capacity = (sets.0 + sets.1) * PAGE;
        choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", 6.into())]);
        config.run.executor = executor;
        config
    };
    for executor in [Executor::Count, Executor::Timed] {
        let waf = |name: &str, params: &[_], hints| {
            let mut config = device(executor);
            choose(&mut config.ftl, "separation", name, params);
            writes(config, two_sets(sets, 40_000, hints))
        };
        let together = figure(&waf("none", &[], [2, 3]), "waf_units");
        assert!(together > 1.1, "{together}");
        for (name, params) in separations() {
            let summary = waf(name, &params, [2, 3]);
            let apart = figure(&summary, "waf_units");
            assert_eq!(apart, 1.0, "{executor:?}: {name} {params:?}");
            let first = if name == "write-hints" { 1 } else { 2 };
            let written = counts(&summary, "written_pages");
            assert_eq!((written[first], written[first + 1]), (30_000, 10_000), "{name}: {written:?}");
            // Hints that say nothing are of one handle.
            let same = figure(&waf(name, &params, [0, 0]), "waf_units");
            assert!(same > 1.1, "{same}");
        }
    }
}

/// A number that is no handle's is that of the first, and counted.
#[test]
fn a_number_without_a_handle_goes_to_the_first() {
    for (name, params) in separations() {
        let mut config = plain(1, 1, 1, 1, 72, 32);
        config.run.executor = Executor::Count;
        choose(&mut config.ftl, "separation", name, &params);
        config.device.user_capacity = 1164 * PAGE;
        let summary = writes(config, (0..700).map(|page| (page, page % 7)));
        let written = counts(&summary, "written_pages");
        let (invalid, expected) = match name {
            // 4, 5 and 6; 4, 5 and 6; 6 alone: 0 and 1 are one lifetime.
            "write-hints" => (100.0, vec![300, 100, 100, 100, 100]),
            _ => (300.0, vec![400, 100, 100, 100]),
        };
        assert_eq!((written, figure(&summary, "policy.separation.invalid_hints")), (expected, invalid), "{name}");
        assert_eq!(figure(&summary, "policy.separation.reallocations"), 0.0);
    }
}

/// The requests of a workload without hints have its own: one, or one for each part of the addresses.
#[test]
fn a_workload_gives_its_requests_hints() {
    for (hint, parts, expected) in
        [(0, 1, [1200, 0, 0, 0]), (2, 1, [0, 0, 1200, 0]), (0, 4, [300; 4]), (1, 2, [0, 600, 600, 0])]
    {
        let mut config = plain(1, 1, 1, 1, 72, 32);
        config.run.executor = Executor::Count;
        choose(&mut config.ftl, "separation", "fdp", &[("handles", 4.into())]);
        config.device.user_capacity = 1200 * PAGE;
        config.workload.source = Source::Generator(generator("sequential", PAGE, 0.0, 1200 * PAGE));
        config.workload.end = End { requests: Some(1200), ..End::default() };
        (config.workload.hint, config.workload.hint_parts) = (vec![hint], parts);
        config.run.precondition = Precondition::None;
        assert_eq!(counts(&run(&config), "written_pages"), expected, "{hint} {parts}");
    }
}

/// Each write takes the next of several hints, as fio's `plids` are taken, or any of them; reads take none.
#[test]
fn writes_take_several_hints_in_turns() {
    let written = |hints: &[u16], select, read_fraction| {
        let mut config = plain(1, 1, 1, 1, 72, 32);
        config.run.executor = Executor::Count;
        choose(&mut config.ftl, "separation", "fdp", &[("handles", 4.into())]);
        config.device.user_capacity = 1200 * PAGE;
        config.workload.source = Source::Generator(generator("sequential", PAGE, read_fraction, 1200 * PAGE));
        config.workload.end = End { requests: Some(1200), ..End::default() };
        (config.workload.hint, config.workload.hint_select) = (hints.to_vec(), select);
        config.run.precondition = Precondition::None;
        counts(&run(&config), "written_pages")
    };
    assert_eq!(written(&[0, 1, 2], HintSelect::RoundRobin, 0.0), [400, 400, 400, 0]);
    assert_eq!(written(&[3, 1, 3, 3], HintSelect::RoundRobin, 0.0), [0, 300, 0, 900]);
    let [first, second, third, none] = written(&[0, 1, 2], HintSelect::RoundRobin, 0.5)[..] else { panic!("four") };
    assert!(first - third <= 1 && first - second <= 1 && none == 0 && first > 150, "{first} {second} {third} {none}");
    let random = written(&[0, 1, 3], HintSelect::Random, 0.0);
    assert!(random[2] == 0 && [0, 1, 3].iter().all(|&hint| (340..460).contains(&random[hint])), "{random:?}");
    assert_ne!(random, [400, 400, 0, 400]);
}

/// A host that moves its handles to new reclaim units: what it writes between two updates shares no block with anything else.
#[test]
fn a_handle_that_is_updated_goes_on_in_a_new_unit() {
    for executor in [Executor::Count, Executor::Timed] {
        // Blocks of 32 pages on four planes; each handle is moved after 72 pages, 18 on each.
        let mut config = plain(2, 1, 1, 2, 72, 32);
        config.run.executor = executor;
        let of_fdp = [("handles", 2.into()), ("update_after", ParamValue::Size(72 * PAGE))];
        choose(&mut config.ftl, "separation", "fdp", &of_fdp);
        config.device.user_capacity = 1440 * PAGE;
        let summary = writes(config, (0..1440).map(|page| (page, page / 4 % 2)));
        let of = |name: &str| figure(&summary, &format!("policy.separation.{name}"));
        assert_eq!(counts(&summary, "written_pages"), [720, 720]);
        assert_eq!(of("handle_updates"), 20.0, "{executor:?}");
        let unfinished = of("unfinished_units");
        assert!((60.0..=80.0).contains(&unfinished), "{executor:?}: {unfinished} blocks of 20 times 4");
        // 128 pages of four blocks but for the 72; a page or two go to a block that another update closes.
        let unwritten = of("unwritten_pages");
        assert!((unwritten / 20.0 - 56.0).abs() < 6.0, "{executor:?}: {unwritten}");
        assert_eq!(counts(&summary, "available_pages"), [0, 0], "the last page was followed by an update");
        assert_eq!(figure(&summary, "waf_units"), 1.0);
    }
}

/// Updates lose nothing, whatever fails, and a drive that is nearly full of blocks that are half written goes on.
#[test]
fn handles_are_updated_whatever_fails() {
    for isolation in ["initial", "persistent"] {
        for trouble in [Trouble::PowerCut, Trouble::SecondCut, Trouble::ProgramFailure, Trouble::FailedRecovery] {
            let mut config = plain(1, 1, 1, 2, 26, 8);
            config.device.user_capacity = 180 * PAGE;
            let params = [
                ("handles", 4.into()),
                ("isolation", ParamValue::Word(isolation)),
                ("update_after", ParamValue::Size(3 * PAGE)),
            ];
            choose(&mut config.ftl, "separation", "fdp", &params);
            config.run.executor = Executor::Count;
            config.run.precondition = Precondition::None;
            let tally = try_everywhere(&config, trouble, 2, 37, &Interrupt::default()).expect("lives");
            assert_eq!(tally.losing, 0, "{isolation} {trouble:?}: {:?}", tally.first);
            assert!(tally.runs > 20, "{isolation} {trouble:?}: {}", tally.runs);
        }
    }
}

/// Power cuts and failed programs at every operation: nothing is lost, and what is kept apart is, also after a restart.
#[test]
fn what_is_kept_apart_stays_apart_whatever_fails() {
    for (name, params) in separations() {
        for trouble in [Trouble::PowerCut, Trouble::SecondCut, Trouble::ProgramFailure, Trouble::FailedRecovery] {
            let mut config = plain(1, 1, 1, 2, 26, 8);
            config.device.user_capacity = 180 * PAGE;
            choose(&mut config.ftl, "separation", name, &params);
            config.run.executor = Executor::Count;
            config.run.precondition = Precondition::None;
            let tally = try_everywhere(&config, trouble, 2, 37, &Interrupt::default()).expect("lives");
            assert_eq!(tally.losing, 0, "{name} {trouble:?}: {:?}", tally.first);
            assert!(tally.runs > 20, "{name} {trouble:?}: {}", tally.runs);
        }
    }
}

/// Reclaim groups: each die has the pages of its own group, and nothing is lost, whatever fails.
#[test]
fn reclaim_groups_lose_nothing_whatever_fails() {
    for (allocation, across) in [("CWDP", "none"), ("CWDP", "dies"), ("F", "none"), ("D", "dies")] {
        for trouble in [Trouble::PowerCut, Trouble::SecondCut, Trouble::ProgramFailure, Trouble::FailedRecovery] {
            let mut config = plain(2, 1, 2, 1, 18, 8);
            config.device.user_capacity = 180 * PAGE;
            choose(&mut config.ftl, "allocation", allocation, &[]);
            choose(&mut config.ftl, "reclaim_across", across, &[]);
            choose(&mut config.ftl, "separation", "fdp", &[("handles", 2.into()), ("reclaim_groups", 4.into())]);
            config.run.executor = Executor::Count;
            config.run.precondition = Precondition::None;
            let tally = try_everywhere(&config, trouble, 2, 37, &Interrupt::default()).expect("lives");
            assert_eq!(tally.losing, 0, "{allocation} {across} {trouble:?}: {:?}", tally.first);
            assert!(tally.runs > 20, "{allocation} {across} {trouble:?}: {}", tally.runs);
        }
    }
}

/// Groups that the dies cannot be divided into, or that need more than they have, are refused with what would be right.
#[test]
fn reclaim_groups_without_room_are_refused() {
    let with = |groups: u32, change: &dyn Fn(&mut Config)| {
        let mut config = plain(2, 2, 1, 1, 32, 16);
        config.device.user_capacity = 1200 * PAGE;
        choose(&mut config.ftl, "separation", "fdp", &[("handles", 1.into()), ("reclaim_groups", groups.into())]);
        let sizes = [(600, Some(1)), (300, Some(0)), (300, None)];
        tenants::with_namespaces(&mut config, &sizes);
        change(&mut config);
        device::check(&config).map_err(|refusal| refusal.message)
    };
    let tenants = |config: &mut Config, change: fn(&mut Vec<config::model::Tenant>)| {
        let Source::Tenants(tenants) = &mut config.workload.source else { unreachable!("three") };
        change(tenants);
    };
    let says = |result: Result<(), String>, text: &str| {
        let message = result.expect_err(text);
        assert!(message.contains(text), "{message}");
    };
    for groups in [1, 2] {
        assert_eq!(with(groups, &|_| ()), Ok(()), "{groups}");
    }
    says(with(3, &|_| ()), "3 reclaim groups have no equal parts of 2 channels with 2 chips of 1 dies");
    says(with(4, &|_| ()), "the namespaces of reclaim group 1 have 4800KiB, and it has room for 2400KiB");
    let in_second = |config: &mut Config| tenants(config, |all| all[2].reclaim_group = Some(1));
    says(with(2, &in_second), "the namespaces of reclaim group 1 have 7200KiB, and it has room for 4800KiB");
    let in_third = |config: &mut Config| tenants(config, |all| all[0].reclaim_group = Some(2));
    says(with(2, &in_third), "a tenant names reclaim group 2, and there are 2, from 0 on");
    let in_flash = |config: &mut Config| choose(&mut config.ftl, "mapping", "dftl", &[]);
    says(with(2, &in_flash), "spreads the entries of a map over all dies alike");
}
