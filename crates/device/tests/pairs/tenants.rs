//! Pairs with tenants: what three hosts are held to, beside whatever the device has.

use base::Selection;
use config::Config;
use config::model::*;
use device::RunError;
use files::Interrupt;
use rig::survival::{Cuts, Trouble, TroubleInTime, try_cuts};
use serde_json::Value;

use super::{Outcome, figures, is_promised, simulate};
use crate::common::figure;

/// Every tenant had all its requests complete.
pub fn each_had_its_requests(tenants: &[Tenant], summary: &Value) {
    for (tenant, figures) in tenants.iter().zip(summary["tenants"].as_array().expect("tenants")) {
        let had = figure(figures, "reads") + figure(figures, "writes");
        assert_eq!(Some(had as u64), tenant.workload.end.requests, "{figures}");
    }
}

/// Commands come in another order than in turn.
pub fn weights_matter(config: &Config, own: &str) -> Result<(), RunError> {
    let mut in_turn = config.clone();
    in_turn.host.arbitration = Selection::default_of(&base::ARBITRATIONS[0]);
    assert_ne!(figures(simulate(&in_turn, None)?).to_string(), own, "weights change nothing");
    Ok(())
}

/// The reason for which a config is not read, among those that each mechanism has for itself.
pub fn unread(config: &Config) -> String {
    let mut keys = config::to_json(config);
    // They follow from the capacity and the allocation, which these devices have set.
    keys["device"].as_object_mut().expect("keys").remove("over_provisioning");
    keys["ftl"].as_object_mut().expect("keys").remove("binding");
    let object = keys.as_object().expect("a tree of keys").clone();
    let base = config::Base::Object { name: "pair".into(), object };
    let problems = config::load(&base, &[], None, &device::registry()).expect_err("tenants need time").to_string();
    let of_tenants = |line: &&str| line.starts_with("error: tenants ");
    problems.lines().find(of_tenants).expect("tenants need time").trim_start_matches("error: ").into()
}

/// Lives in time, with a fault at any instant of a run.
pub fn in_time(config: &Config, trouble: Trouble) -> Result<Outcome, RunError> {
    let is_cut = trouble == Trouble::PowerCut;
    let trouble_in_time = if is_cut { TroubleInTime::Cut } else { TroubleInTime::Failures };
    let config = Config { run: Run { precondition: Precondition::None, ..config.run.clone() }, ..config.clone() };
    let cuts = Cuts { seeds: 1, cuts: 8, before: 1.0, requests: 250, twice: is_cut, trouble: trouble_in_time };
    let tally = try_cuts(&config, &cuts, &Interrupt::default())?;
    assert!(tally.runs >= 8, "{tally:?}");
    Ok(match (is_promised(&config, trouble), tally.first) {
        (false, _) => Outcome::Unprotected,
        (true, None) => Outcome::Runs,
        (true, Some(loss)) => Outcome::Fault(format!("{loss:?}")),
    })
}
