//! Several hosts in the place of one: its requests are dealt out among tenants.

use base::{ARBITRATIONS, Duration, Selection};
use config::Config;
use config::model::*;
use engine::Chance;
use ftl::separation::reclaim_groups;

use super::{page_size, pick};

/// A tenant with a generator like that of the one host, over its namespace or all addresses.
fn tenant(config: &Config, name: &str, namespace: Option<Namespace>, requests: Option<u64>) -> Tenant {
    let Source::Generator(generator) = &config.workload.source else { panic!("the requests are generated") };
    let mut generator = generator.clone();
    generator.footprint = namespace.map_or(config.device.user_capacity, |namespace| namespace.bytes);
    generator.request_size = generator.request_size.min(generator.footprint) / 512 * 512;
    generator.footprint -= generator.footprint % generator.request_size;
    let end = End { requests, ..End::default() };
    Tenant {
        name: name.into(),
        label: String::new(),
        is_joined: false,
        weight: 1,
        priority: Priority::Weighted,
        namespace,
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
        replay: Replay::Open,
        queue_depth: None,
        workload: Workload { source: Source::Generator(generator), end, ..config.workload.clone() },
    }
}

/// The generator of a tenant.
fn generator_of(tenant: &mut Tenant) -> &mut Generator {
    let Source::Generator(generator) = &mut tenant.workload.source else { unreachable!("it is generated") };
    generator
}

/// A closed loop has no times of its own.
fn come_at_once(tenant: &mut Tenant) {
    let generator = generator_of(tenant);
    (generator.interval, generator.poisson) = (Duration::ZERO, false);
    (generator.idle_every, generator.idle_for) = (0, Duration::ZERO);
}

/// Consecutive parts of the addresses, in pages.
fn namespaces(config: &Config, parts: &[u64]) -> Vec<Option<Namespace>> {
    let (page, mut first) = (page_size(config), 0);
    let next = |&pages: &u64| {
        let namespace = Namespace { first: first * page, bytes: pages * page };
        first += pages;
        Some(namespace)
    };
    parts.iter().map(next).collect()
}

/// Puts tenants in the place of the host, of whose commands so many are in the device at once.
fn share(config: &mut Config, tenants: Vec<Tenant>, arbitration: &str, depth: u32) {
    let choice = ARBITRATIONS.iter().find(|choice| choice.name == arbitration).expect("an arbitration");
    config.host.arbitration = Selection::default_of(choice);
    (config.host.replay, config.host.queue_depth) = (Replay::Open, Some(depth));
    config.workload = Workload::of(Source::Tenants(tenants));
}

/// Tenants with namespaces of so many pages, each in its reclaim group.
pub fn with_namespaces(config: &mut Config, sizes: &[(u64, Option<u32>)]) {
    let parts = namespaces(config, &sizes.iter().map(|(pages, _)| *pages).collect::<Vec<_>>());
    let named = parts.into_iter().zip(sizes).zip(0..).map(|((part, &(_, group)), number)| Tenant {
        reclaim_group: group,
        ..tenant(config, &format!("t{number}"), part, Some(100))
    });
    let tenants = named.collect();
    share(config, tenants, "round-robin", 4);
}

/// Three tenants that have as many requests together as the host, and as much time for them: one in an open loop on a half of the
/// addresses, one that is paced and one in a closed loop on a quarter each.
pub fn three_tenants(config: &mut Config, arbitration: &str) {
    let pages = config.device.user_capacity / page_size(config);
    let parts = namespaces(config, &[pages / 2, pages / 4, pages - pages / 2 - pages / 4]);
    let requests = config.workload.end.requests.expect("an end");
    let shares = [requests / 2, requests / 4, requests - requests / 2 - requests / 4];
    let named = ["open", "paced", "closed"].into_iter().zip(parts).zip(shares);
    let mut tenants: Vec<Tenant> =
        named.map(|((name, part), requests)| tenant(config, name, part, Some(requests))).collect();
    for (tenant, (weight, slower)) in tenants.iter_mut().zip([(5, 2), (3, 4), (1, 4)]) {
        let generator = generator_of(tenant);
        (generator.interval, generator.idle_every) =
            (Duration(generator.interval.ns() * slower), generator.idle_every / slower);
        if arbitration == "weighted" {
            tenant.weight = weight;
        }
    }
    (tenants[1].replay, tenants[1].queue_depth) = (Replay::Paced, Some(8));
    (tenants[2].replay, tenants[2].queue_depth, tenants[2].think) = (Replay::Closed, Some(2), Duration(2_000_000));
    come_at_once(&mut tenants[2]);
    share(config, tenants, arbitration, 4);
}

/// Two or three tenants with what they can have: a namespace each or all addresses together, loops of every kind, weights and an urgent
/// one. One may go on for as long as the others.
pub fn random_tenants(seed: u64, config: &mut Config) {
    let mut random = Chance::new(seed, "tenants");
    let r = &mut random;
    let pages = config.device.user_capacity / page_size(config);
    let count = (2 + r.below(2)).min(pages);
    let mut left = pages;
    let part = |number| {
        let most = left - (count - 1 - number);
        let taken = if number + 1 == count { left } else { 1 + r.below(most) };
        left -= taken;
        taken
    };
    let parts: Vec<u64> = (0..count).map(part).collect();
    let parts = if r.below(4) == 0 { vec![None; parts.len()] } else { namespaces(config, &parts) };
    let requests = config.workload.end.requests.expect("an end").div_ceil(count);
    let arbitration = *pick::<&str>(r, &["round-robin", "weighted"]);
    let mut tenants = Vec::new();
    for (number, part) in (0..count).zip(parts) {
        let goes_on = number > 0 && r.below(4) == 0;
        let mut one = tenant(config, &format!("t{number}"), part, (!goes_on).then_some(requests));
        if arbitration == "weighted" {
            one.weight = 1 + r.below_u32(9);
            // One that goes on could keep the others from ever moving, and is refused.
            let is_urgent = !goes_on && r.below(4) == 0;
            one.priority = if is_urgent { Priority::Urgent } else { Priority::Weighted };
        }
        one.replay = *pick(r, &[Replay::Open, Replay::Closed, Replay::Paced]);
        if one.replay != Replay::Open || r.below(2) == 0 {
            one.queue_depth = Some(1 + r.below_u32(16));
        }
        if one.replay != Replay::Open {
            one.think = Duration(r.below(2) * r.below(200_000));
        }
        if one.replay == Replay::Closed {
            come_at_once(&mut one);
        }
        one.start = Duration(r.below(2) * r.below(20_000_000));
        tenants.push(one);
    }
    // So that one that goes on does not have requests that take no time.
    config.host.command_time = Duration(config.host.command_time.ns().max(1000));
    let depth = 1 + r.below_u32(20);
    let groups = reclaim_groups(config.ftl.get("separation"));
    share(config, tenants, arbitration, depth);
    config.host.arbitration.set("burst", (1 + r.below_u32(4)).into());
    if groups > 1 {
        let mut in_groups = config.clone();
        let Source::Tenants(tenants) = &mut in_groups.workload.source else { unreachable!("they were made") };
        for tenant in tenants.iter_mut().filter(|tenant| tenant.namespace.is_some()) {
            tenant.reclaim_group = (r.below(4) > 0).then(|| r.below_u32(groups));
        }
        // Some have more pages than room in their group.
        if device::check(&in_groups).is_ok() {
            *config = in_groups;
        }
    }
}
