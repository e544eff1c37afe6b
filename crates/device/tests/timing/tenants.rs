//! Several hosts on one device: whose command goes first, what each gets, and what stays apart.

use base::{ARBITRATIONS, ParamValue, Selection};
use engine::Chance;

use super::*;

const PAGE: u64 = 8192;

/// A tenant with a closed loop of that depth over a part of `pages` pages.
fn tenant(name: &str, first: u64, pages: u64, reads: f64, depth: u32, requests: Option<u64>) -> Tenant {
    let workload = Workload {
        end: End { requests, ..End::default() },
        ..Workload::of(Source::Generator(generator("uniform", PAGE, reads, pages * PAGE)))
    };
    Tenant {
        name: name.into(),
        label: String::new(),
        is_joined: false,
        weight: 1,
        priority: Priority::Weighted,
        namespace: Some(Namespace { first: first * PAGE, bytes: pages * PAGE }),
        reclaim_group: None,
        is_idle: false,
        think: Duration::ZERO,
        think_after: None,
        refill: 1,
        start: Duration::ZERO,
        after: Vec::new(),
        ends_others: false,
        duration: None,
        ramp: Duration::ZERO,
        steady: None,
        replay: Replay::Closed,
        queue_depth: Some(depth),
        workload,
    }
}

/// A device of 2,304 user pages, filled, with so many commands of all tenants at once.
fn shared(tenants: Vec<Tenant>, arbitration: &str, burst: u32, depth: u32) -> Config {
    let mut config = filled(&plain(2, 1, 2, 1, 48, 16), 2304);
    let choice = ARBITRATIONS.iter().find(|choice| choice.name == arbitration).unwrap();
    config.host = Host { arbitration: Selection::default_of(choice), ..Host::new(Replay::Closed, Some(depth)) };
    config.host.arbitration.set("burst", ParamValue::Integer(burst));
    config.workload.source = Source::Tenants(tenants);
    config.workload.end = End::default();
    config
}

fn of<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let tenants = summary["tenants"].as_array().expect("tenants");
    tenants.iter().find(|tenant| tenant["name"] == name).expect("the tenant")
}

fn number(summary: &Value, name: &str, path: &str) -> f64 {
    figure(of(summary, name), path)
}

/// With equal backlogs all that counts is the weight, whatever the burst.
#[test]
fn shares_are_the_weights() {
    for burst in [1, 4, 16] {
        let mut tenants: Vec<Tenant> =
            ["a", "b", "c"].iter().zip(0..).map(|(name, at)| tenant(name, at * 600, 600, 1.0, 64, None)).collect();
        for (tenant, weight) in tenants.iter_mut().zip([5, 3, 1]) {
            tenant.weight = weight;
        }
        tenants[0].workload.end.requests = Some(20_000);
        let summary = run(&shared(tenants, "weighted", burst, 4));
        let [a, b, c] = ["a", "b", "c"].map(|name| number(&summary, name, "reads"));
        assert_eq!(a, 20_000.0);
        for (share, weight) in [(b / a, 3.0 / 5.0), (c / a, 1.0 / 5.0)] {
            assert!((share / weight - 1.0).abs() < 0.01, "burst {burst}: {share}, not {weight}");
        }
        // Waits go the other way round: the outstanding commands of each are the same.
        let waits = number(&summary, "c", "latency_us.mean") / number(&summary, "a", "latency_us.mean");
        assert!((waits / 5.0 - 1.0).abs() < 0.02, "burst {burst}: {waits}");
    }
}

#[test]
fn urgent_ones_wait_for_nobody_and_the_others_still_move() {
    let of_priority = |priority| {
        let mut tenants = vec![tenant("one", 0, 600, 1.0, 1, Some(5000)), tenant("many", 600, 1200, 1.0, 256, None)];
        tenants[0].priority = priority;
        tenants[1].weight = 20;
        run(&shared(tenants, "weighted", 1, 4))
    };
    let [urgent, weighted] = [Priority::Urgent, Priority::Weighted].map(of_priority);
    let [fast, slow] = [&urgent, &weighted].map(|summary| number(summary, "one", "latency_us.mean"));
    assert!(slow > 1.5 * fast, "{fast} {slow}");
    assert!(number(&urgent, "many", "reads") > 5000.0);
    assert_eq!(number(&weighted, "one", "reads"), 5000.0);
}

/// One tenant that has the whole device is a host by itself.
#[test]
fn a_tenant_alone_is_a_host() {
    for (reads, replay, depth) in
        [(1.0, Replay::Closed, Some(4)), (0.0, Replay::Closed, Some(1)), (0.0, Replay::Open, None)]
    {
        let mut one = tenant("one", 0, 2304, reads, 1, Some(3000));
        (one.replay, one.queue_depth) = (replay, depth);
        // Sequential requests are the same under every seed.
        let mut pattern = generator("sequential", PAGE, reads, 2304 * PAGE);
        if replay == Replay::Open {
            pattern.interval = Duration(150_000);
        }
        one.workload.source = Source::Generator(pattern.clone());
        let together = run(&shared(vec![one], "round-robin", 1, 1 << 12));
        let mut config = shared(Vec::new(), "round-robin", 1, 1);
        config.host = Host::new(replay, depth);
        config.workload.source = Source::Generator(pattern);
        config.workload.end.requests = Some(3000);
        let alone = run(&config);
        for path in ["reads", "writes", "simulated_s", "iops", "latency_us", "throughput_mb_s"] {
            assert_eq!(of(&together, "one")[path], alone["host"][path], "{path}, {replay:?} {depth:?}");
            assert_eq!(together["host"][path], alone["host"][path], "{path}, {replay:?} {depth:?}");
        }
        assert_eq!(together["flash"], alone["flash"]);
    }
}

/// A writer at a rate of its own beside a reader that waits for each of its reads.
#[test]
fn a_paced_writer_keeps_its_rate_beside_a_closed_reader() {
    let mut writer = tenant("writer", 1200, 1000, 0.0, 1, None);
    (writer.replay, writer.queue_depth) = (Replay::Open, None);
    let Source::Generator(generator) = &mut writer.workload.source else { unreachable!() };
    generator.interval = Duration(2_000_000);
    let tenants = vec![tenant("reader", 0, 1200, 1.0, 1, Some(20_000)), writer];
    let summary = run(&shared(tenants, "round-robin", 1, 64));
    let rate = number(&summary, "writer", "writes") / number(&summary, "reader", "simulated_s");
    assert!((rate / 500.0 - 1.0).abs() < 0.01, "{rate}");
    assert!(number(&summary, "reader", "latency_us.max") > 1600.0, "a read waits for a program now and then");
    let mean = number(&summary, "reader", "latency_us.mean");
    let (reads, iops) = (number(&summary, "reader", "reads"), number(&summary, "reader", "iops"));
    assert!((iops * mean / 1e6 - 1.0).abs() < 1e-6, "one read at a time: {iops} {mean} {reads}");
}

/// Sets the time from one request of a tenant to the next.
fn pace(tenant: &mut Tenant, interval_ns: u64) {
    let Source::Generator(generator) = &mut tenant.workload.source else { unreachable!() };
    (tenant.replay, generator.interval) = (Replay::Paced, Duration(interval_ns));
}

/// Where the device keeps up a paced loop is an open one; where it does not, one with as many requests outstanding as a closed loop,
/// whose latencies begin when a place is free and not when a request would have liked to come.
#[test]
fn a_paced_loop_is_held_back_by_its_own_depth() {
    let with = |replay, interval_ns| {
        let mut one = tenant("one", 0, 2304, 1.0, 2, Some(3000));
        pace(&mut one, interval_ns);
        one.replay = replay;
        if replay == Replay::Closed {
            pace(&mut one, 0);
            one.replay = replay;
        }
        run(&shared(vec![one], "round-robin", 1, 64))
    };
    let mean = |summary: &Value| number(summary, "one", "latency_us.mean");
    let (slow, open) = (with(Replay::Paced, 400_000), with(Replay::Open, 400_000));
    assert_eq!(of(&slow, "one"), of(&open, "one"), "there was always a place");
    let (fast, closed) = (with(Replay::Paced, 10_000), with(Replay::Closed, 0));
    // All but the first requests, which come one by one.
    assert!((mean(&fast) / mean(&closed) - 1.0).abs() < 0.01, "{} {}", mean(&fast), mean(&closed));
    assert!(mean(&with(Replay::Open, 10_000)) > 100.0 * mean(&fast), "an open loop falls behind");
}

/// A tenant begins and ends in time, whatever its loop; one without an end goes on until then.
#[test]
fn tenants_begin_and_end_in_time() {
    const MS: u64 = 1_000_000;
    for replay in [Replay::Closed, Replay::Paced, Replay::Open] {
        let mut one = tenant("one", 0, 600, 1.0, 2, None);
        if replay != Replay::Closed {
            pace(&mut one, MS);
        }
        (one.replay, one.start, one.duration) = (replay, Duration(20 * MS), Some(Duration(30 * MS)));
        let summary = run(&shared(vec![one.clone(), tenant("other", 600, 600, 1.0, 1, None)], "round-robin", 1, 8));
        let (reads, seconds) = (number(&summary, "one", "reads"), number(&summary, "one", "simulated_s"));
        if replay == Replay::Closed {
            assert!(reads > 300.0, "{reads}");
        } else {
            assert_eq!(reads, 30.0, "one each millisecond, {replay:?}");
        }
        assert!((0.029..0.031).contains(&seconds), "{replay:?}: {seconds}, from its start on");
        let other = number(&summary, "other", "simulated_s");
        assert!((0.049..0.051).contains(&other), "{replay:?}: {other}");
        // A ramp takes its requests out of the figures.
        one.ramp = Duration(10 * MS);
        let ramped = run(&shared(vec![one, tenant("other", 600, 600, 1.0, 1, None)], "round-robin", 1, 8));
        let (left, seconds) = (number(&ramped, "one", "reads"), number(&ramped, "one", "simulated_s"));
        assert!((left / reads - 2.0 / 3.0).abs() < 0.06, "{replay:?}: {left} of {reads}");
        assert!((0.019..0.021).contains(&seconds), "{replay:?}: {seconds}");
        assert_eq!(figure(&ramped, "host.reads"), figure(&summary, "host.reads"), "the run is the same");
    }
}

/// A place that thinks is taken again so much later, and latencies are those of a device with less to do.
#[test]
fn a_place_thinks() {
    let mut one = tenant("one", 0, 2304, 1.0, 1, Some(1000));
    one.think = Duration(150_000);
    let summary = run(&shared(vec![one], "round-robin", 1, 8));
    let (seconds, mean) = (number(&summary, "one", "simulated_s"), number(&summary, "one", "latency_us.mean"));
    assert!((seconds * 1e6 / (1000.0 * mean + 999.0 * 150.0) - 1.0).abs() < 1e-6, "{seconds} {mean}");
}

/// The histogram of each tenant has its requests, and all of them together are those of the host.
#[test]
fn each_tenant_has_a_histogram() {
    let tenants = vec![tenant("a", 0, 600, 0.5, 4, Some(900)), tenant("b", 600, 600, 1.0, 2, Some(700))];
    let config = shared(tenants, "round-robin", 1, 8);
    let outcome = device::simulate(&config, &mut device::Options::default()).expect("a run");
    let table = |name: &str| outcome.tables.iter().find(|table| table.name == name).expect("the table");
    let (each, all) = (table("tenant_latency"), table("latency"));
    let (Some(metrics::Column::U64(numbers)), Some(metrics::Column::U64(counts))) =
        (each.column("tenant"), each.column("count"))
    else {
        unreachable!()
    };
    for (number, requests) in [(0, 900), (1, 700)] {
        let of = numbers.iter().zip(counts).filter(|(other, _)| **other == number);
        assert_eq!(of.map(|(_, count)| count).sum::<u64>(), requests);
    }
    let Some(metrics::Column::U64(of_all)) = all.column("count") else { unreachable!() };
    // `all` and its parts, reads and writes.
    assert_eq!(of_all.iter().sum::<u64>(), 2 * counts.iter().sum::<u64>());
}

/// A namespace that nobody wrote stays empty, whatever its neighbours on both sides write.
#[test]
fn namespaces_are_apart() {
    let mut config = shared(Vec::new(), "round-robin", 1, 8);
    config.run.precondition = Precondition::None;
    let tenants = vec![
        tenant("left", 0, 700, 0.0, 4, Some(4000)),
        tenant("unwritten", 700, 500, 1.0, 4, Some(3000)),
        tenant("right", 1200, 700, 0.0, 4, Some(4000)),
    ];
    config.workload.source = Source::Tenants(tenants);
    let summary = run(&config);
    let unwritten = number(&summary, "unwritten", "reads");
    assert_eq!(figure(&summary, "host.unmapped_reads"), unwritten, "no read of it needs flash");
}

/// The tenants' own figures add up to those of the device, copies among them.
#[test]
fn figures_add_up_to_those_of_the_device() {
    for buffer in ["none", "fifo"] {
        let tenants = vec![tenant("hot", 0, 300, 0.0, 8, Some(9000)), tenant("cold", 300, 2004, 0.3, 8, Some(3000))];
        let mut config = shared(tenants, "round-robin", 2, 8);
        choose(&mut config.ftl, "write_buffer", buffer, &[]);
        let summary = run(&config);
        let sum = |path: &str| ["hot", "cold"].map(|name| number(&summary, name, path)).iter().sum::<f64>();
        for path in ["reads", "writes", "bytes_read", "bytes_written"] {
            assert_eq!(sum(path), figure(&summary, &format!("host.{path}")), "{path}");
        }
        let programs = |cause: &str| figure(&summary, &format!("flash.by_cause.{cause}.programs"));
        let placed = ["hot", "cold"]
            .map(|name| number(&summary, name, "waf") * number(&summary, name, "bytes_written") / PAGE as f64);
        let all = programs("host") + programs("gc");
        // Programs that end after the last request are not counted by the device.
        assert!((placed.iter().sum::<f64>() - all).abs() <= 16.0, "{buffer}: {placed:?} {all}");
        assert!((sum("copied_pages") - programs("gc")).abs() <= 8.0);
        assert!(programs("gc") > 1000.0, "{buffer}: {}", programs("gc"));
    }
}

/// Without namespaces a tenant has a WAF where no other one writes: the same as with a namespace of that range.
#[test]
fn a_range_that_nobody_else_writes_has_a_waf() {
    let parts = [("hot", 0, 300, 9000), ("cold", 300, 2004, 3000)];
    let with = |is_namespace: bool, more: Option<(f64, u64)>| {
        let made = parts.map(|(name, first, pages, requests)| {
            let mut tenant = tenant(name, first, pages, 0.0, 8, Some(requests));
            if !is_namespace {
                (tenant.namespace, tenant.workload.address_offset) = (None, first * PAGE);
            }
            tenant
        });
        let other = more.map(|(reads, pages)| {
            let mut other = tenant("other", 0, pages, reads, 1, Some(100));
            other.namespace = None;
            other
        });
        run(&shared(made.into_iter().chain(other).collect(), "round-robin", 2, 8))
    };
    let (spaces, ranges) = (with(true, None), with(false, None));
    for name in ["hot", "cold"] {
        assert_eq!(of(&spaces, name)["waf"], of(&ranges, name)["waf"], "{name}");
        assert_eq!(of(&spaces, name)["copied_pages"], of(&ranges, name)["copied_pages"], "{name}");
    }
    assert!(number(&ranges, "cold", "waf") > 1.2);
    // A reader writes nothing, and has none; a writer takes it from those whose pages it writes.
    let read = with(false, Some((1.0, 2304)));
    assert!(number(&read, "hot", "waf") >= 1.0 && of(&read, "other")["waf"].is_null());
    let written = with(false, Some((0.5, 300)));
    assert!(of(&written, "hot")["waf"].is_null() && of(&written, "other")["waf"].is_null());
    assert!(number(&written, "cold", "waf") > 1.2);
}

/// An idle tenant keeps its place, and changes nothing of the others' requests.
#[test]
fn an_idle_tenant_leaves_its_namespace() {
    let with = |is_idle, requests| {
        let mut tenants =
            vec![tenant("idle", 0, 1000, 0.0, 4, Some(requests)), tenant("one", 1000, 1000, 1.0, 2, Some(4000))];
        tenants[0].is_idle = is_idle;
        run(&shared(tenants, "round-robin", 1, 8))
    };
    let (idle, beside) = (with(true, 1), with(false, 1));
    assert_eq!(of(&idle, "idle")["writes"], 0);
    assert_eq!(of(&idle, "one")["reads"], of(&beside, "one")["reads"]);
    assert!(number(&idle, "one", "latency_us.mean") <= number(&beside, "one", "latency_us.mean"));
}

/// A tenant without an end whose requests take no time would go on for ever: the run says so.
#[test]
fn requests_without_time_and_without_end_are_refused() {
    let tenants = vec![tenant("one", 0, 1000, 0.0, 1, Some(50)), tenant("two", 1000, 1000, 1.0, 4, None)];
    let mut config = shared(tenants, "round-robin", 1, 8);
    config.run.precondition = Precondition::None;
    let problem = device::simulate(&config, &mut device::Options::default()).expect_err("it is refused").to_string();
    assert!(problem.contains("take no time") && problem.contains("host.command_time"), "{problem}");
}

/// The parts of a tenant's latencies, of reads or writes.
fn split_of<'a>(summary: &'a Value, name: &str, kind: &str) -> &'a Value {
    let tenants = summary["latency_parts"]["tenants"].as_array().expect("tenants");
    &tenants.iter().find(|tenant| tenant["name"] == name).expect("the tenant")[kind]["mean"]
}

/// On one die a read waits for the reads of its own tenant, or for those of another one, and both are kept apart.
#[test]
fn a_wait_for_another_tenant_is_told_apart() {
    let on_one_die = |depths: [u32; 2]| {
        let mut tenants = vec![
            tenant("one", 0, 200, 1.0, depths[0].max(1), Some(2000)),
            tenant("two", 200, 200, 1.0, depths[1].max(1), None),
        ];
        tenants[1].is_idle = depths[1] == 0;
        let mut config = shared(tenants, "round-robin", 1, 16);
        config = Config { device: filled(&plain(1, 1, 1, 1, 48, 16), 600).device, ..config };
        config.run.latency_parts = true;
        run(&config)
    };
    for depths in [[1, 1], [2, 0], [3, 1], [1, 3]] {
        let summary = on_one_die(depths);
        let split = split_of(&summary, "one", "read");
        let part = |name: &str| figure(&split["parts_us"], name);
        let service = part("service");
        // Reads of a loop go round: one waits for all that were sent before it came back.
        let own = part("host_read") / service;
        let other = part("other_tenant") / service;
        let expected = [f64::from(depths[0] - 1), f64::from(depths[1])];
        assert!((own - expected[0]).abs() < 0.02 && (other - expected[1]).abs() < 0.02, "{depths:?}: {own} {other}");
        let sum: f64 = split["parts_us"].as_object().unwrap().values().map(|us| us.as_f64().unwrap()).sum();
        assert!((sum / number(&summary, "one", "read_latency_us.mean") - 1.0).abs() < 1e-9);
        let neighbours = split["neighbours"].as_array().unwrap();
        match depths[1] {
            0 => assert!(neighbours.is_empty()),
            _ => {
                assert_eq!((neighbours.len(), &neighbours[0]["name"]), (1, &Value::from("two")));
                assert!((figure(&neighbours[0], "us") - part("other_tenant")).abs() < 1e-9);
            }
        }
    }
}

/// Pages leave the write buffer for whoever has their address; where all share the addresses they are nobody's.
#[test]
fn programs_behind_the_write_buffer_are_of_whose_addresses_they_have() {
    for are_apart in [true, false] {
        let mut tenants =
            vec![tenant("reader", 0, 1200, 1.0, 1, Some(4000)), tenant("writer", 1200, 1000, 0.0, 8, None)];
        for tenant in tenants.iter_mut().filter(|_| !are_apart) {
            tenant.namespace = None;
        }
        let mut config = shared(tenants, "round-robin", 1, 64);
        choose(&mut config.ftl, "write_buffer", "fifo", &[]);
        config.run.latency_parts = true;
        let summary = run(&config);
        let [reader, writer] =
            [("reader", "read"), ("writer", "write")].map(|(name, kind)| split_of(&summary, name, kind));
        let part = |split: &Value, name: &str| figure(&split["parts_us"], name);
        let [programs, others] = ["host_program", "other_tenant"].map(|name| part(reader, name));
        if are_apart {
            assert!(others > 20.0 && programs == 0.0, "{others} {programs}");
            assert_eq!(reader["neighbours"][0]["name"], "writer");
        } else {
            assert!(programs > 20.0 && others == 0.0, "{others} {programs}");
        }
        assert_eq!(part(writer, "host_program"), 0.0, "a write is done when the buffer has it");
    }
}

/// Random tenants on a device whose pages are looked at: nothing is lost, every request that was sent is complete, and the same seed
/// gives the same run.
#[test]
fn random_tenants_lose_nothing() {
    for seed in 0..24 {
        let mut random = Chance::new(seed, "tenants");
        let count = 1 + random.below(4);
        let mut left = 2304;
        let mut tenants = Vec::new();
        for number in 0..count {
            let pages = if number + 1 == count { left } else { 1 + random.below(left / 2) };
            let reads = *pick(&mut random, &[0.0, 0.3, 1.0]);
            let requests = (number == 0 || random.below(2) == 0).then(|| 1 + random.below(2500));
            let depth = 1 + random.below(40) as u32;
            let mut one = tenant(&format!("t{number}"), 2304 - left, pages, reads, depth, requests);
            one.weight = 1 + random.below(9) as u32;
            if requests.is_some() {
                // One without an end could keep the others from ever moving, and is refused.
                one.priority = *pick(&mut random, &[Priority::Urgent, Priority::Weighted, Priority::Weighted]);
            }
            one.is_idle = number > 0 && random.below(5) == 0;
            if random.below(3) == 0 {
                one.replay = Replay::Open;
                let Source::Generator(generator) = &mut one.workload.source else { unreachable!() };
                (generator.interval, generator.poisson) = (Duration(1 + random.below(900_000)), random.below(2) == 0);
            }
            if random.below(3) == 0 {
                one.start = Duration(random.below(50_000_000));
                one.replay = *pick(&mut random, &[Replay::Closed, Replay::Closed, Replay::Open]);
                if one.replay == Replay::Closed {
                    pace(&mut one, random.below(300_000));
                }
                one.think = Duration(random.below(2) * random.below(200_000));
                one.ramp = Duration(random.below(2) * 1_000_000);
            }
            left -= pages;
            tenants.push(one);
        }
        let arbitration = *pick(&mut random, &["round-robin", "weighted"]);
        let burst = 1 + random.below(5) as u32;
        let mut config = shared(tenants.clone(), arbitration, burst, 1 + random.below(70) as u32);
        let buffer = *pick(&mut random, &["none", "fifo", "lru"]);
        choose(&mut config.ftl, "write_buffer", buffer, &[]);
        let scheduler = *pick(&mut random, &["fifo", "paq"]);
        choose(&mut config.ftl, "scheduler", scheduler, &[]);
        let allocation = *pick(&mut random, &["CWDP", "PDWC", "F", "D"]);
        choose(&mut config.ftl, "allocation", allocation, &[]);
        // Requests that the buffer answers take time too, so that tenants without an end do not go on for ever.
        config.host.command_time = Duration(1000);
        config.run.latency_parts = random.below(2) == 0;
        config.run.seed = seed;
        let summary = run(&config);
        for tenant in &tenants {
            let done = number(&summary, &tenant.name, "reads") + number(&summary, &tenant.name, "writes");
            match tenant.workload.end.requests {
                _ if tenant.is_idle => assert_eq!(done, 0.0, "seed {seed}: {}", tenant.name),
                Some(_) if tenant.ramp > Duration::ZERO => {}
                Some(requests) => assert_eq!(done, requests as f64, "seed {seed}: {}", tenant.name),
                None => {}
            }
        }
        assert_eq!(metrics::deterministic(&summary), metrics::deterministic(&run(&config)), "seed {seed}");
    }
}

/// Two tenants with a half of the addresses each, which write single pages at random and read some, in these reclaim groups.
fn in_groups(groups: u32, of_tenants: [Option<u32>; 2], allocation: &str) -> Config {
    let mut tenants = vec![tenant("first", 0, 1152, 0.3, 32, Some(4000)), tenant("second", 1152, 1152, 0.3, 32, None)];
    for (tenant, group) in tenants.iter_mut().zip(of_tenants) {
        tenant.reclaim_group = group;
    }
    let mut config = shared(tenants, "round-robin", 1, 64);
    choose(&mut config.ftl, "allocation", allocation, &[]);
    choose(&mut config.ftl, "separation", "fdp", &[("handles", 1.into()), ("reclaim_groups", groups.into())]);
    config
}

/// What a tenant sees does not depend on what others do in other reclaim groups, where nothing else is shared.
#[test]
fn a_tenant_in_a_reclaim_group_of_its_own_never_waits_for_others() {
    for allocation in ["CWDP", "F", "D"] {
        let seen = |mut config: Config, is_alone: bool| {
            let Source::Tenants(tenants) = &mut config.workload.source else { unreachable!("two") };
            tenants[1].is_idle = is_alone;
            let summary = run(&config);
            assert!(figure(&summary, "flash.block_erases") > 100.0, "{allocation}");
            let latency = of(&summary, "first")["latency"].clone();
            (latency, number(&summary, "first", "iops"))
        };
        // Of those that no namespace is said to lie in, the first ones have the first pages.
        for apart in [in_groups(2, [Some(1), Some(0)], allocation), in_groups(2, [None; 2], allocation)] {
            assert_eq!(seen(apart.clone(), true), seen(apart, false), "{allocation}");
        }
        let [alone, beside] = [true, false].map(|is_alone| seen(in_groups(1, [None; 2], allocation), is_alone));
        assert!(alone.1 > 1.3 * beside.1, "{allocation}: {} {}", alone.1, beside.1);
    }
}

/// A tenant that reads at one rate is steady when its window is full; those that are joined to it end with it, and others go on.
#[test]
fn a_tenant_ends_when_its_figures_are_steady() {
    let mut tenants: Vec<Tenant> =
        ["a", "b", "c"].iter().zip(0..).map(|(name, at)| tenant(name, at * 600, 600, 1.0, 2, None)).collect();
    tenants.iter_mut().for_each(|tenant| tenant.duration = Some(Duration::from_us(5_000_000)));
    let second = Duration::from_us(1_000_000);
    let steady = |limit| Steady { figure: SteadyFigure::Iops, limit, is_share: true, window: second * 2, ramp: second };
    (tenants[0].steady, tenants[1].is_joined) = (Some(steady(5.0)), true);
    let summary = run(&shared(tenants.clone(), "round-robin", 1, 8));
    let [a, b, c] = ["a", "b", "c"].map(|name| number(&summary, name, "simulated_s"));
    assert!((3.0..3.01).contains(&a) && (3.0..3.01).contains(&b), "a second of ramp and two of samples: {a}, {b}");
    assert!((5.0..5.01).contains(&c), "{c}");
    assert!((3.0..3.01).contains(&number(&summary, "b", "steady_s")));
    assert!(of(&summary, "c")["steady_s"].is_null());
    // Nothing is within no limit.
    tenants[0].steady = Some(steady(0.0));
    let summary = run(&shared(tenants, "round-robin", 1, 8));
    assert!((5.0..5.01).contains(&number(&summary, "a", "simulated_s")) && of(&summary, "a")["steady_s"].is_null());
}
