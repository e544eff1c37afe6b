//! The figures of the policies in force, for the summary.

use config::Config;
use serde_json::{Map, Value, json};

use crate::device::Device;

/// By `policy.figure`; empty when no policy has any.
pub(crate) fn figures(config: &Config, device: &Device) -> Map<String, Value> {
    let mut figures = Map::new();
    if let Some(buffer) = device.recorder.buffer() {
        let mut figure = buffer.to_json(&device.recorder.counters);
        // Its pages are the FTL's: superpages where channels or planes are in step.
        figure["page_bytes"] = json!(device.page_size);
        figures.insert("write_buffer".into(), figure);
    }
    let ftl = device.ftl.figures();
    let mut put = |key: &str, value: Value| {
        figures.insert(key.to_string(), value);
    };
    if let Some(locality) = &device.locality {
        put("dac.valid_pages", json!(ftl.valid_by_region));
        put("dac.omega_samples", json!(locality.count()));
        for (name, quantile) in [("p10", 0.1), ("p50", 0.5), ("p90", 0.9)] {
            put(&format!("dac.omega_{name}"), json!(locality.quantile(quantile)));
        }
    }
    let scheme = config.ftl.get("paired_page").name;
    if let Some((paired, host_pages)) = ftl.protection
        && scheme.starts_with("gcmix")
    {
        put("gcmix.paired_pages", json!(paired));
        let share = (host_pages > 0).then(|| paired as f64 / host_pages as f64);
        put("gcmix.paired_fraction", json!(share));
    }
    if let Some((done, (entries, pages))) = ftl.dftl {
        let ratio = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        put("dftl.cached_entries", json!(entries));
        put("dftl.translation_pages", json!(pages));
        put("dftl.lookups", json!(done.lookups));
        put("dftl.hit_fraction", json!(ratio(done.lookups.saturating_sub(done.misses), done.lookups)));
        put("dftl.fetches", json!(done.fetches));
        put("dftl.write_backs", json!(done.write_backs));
        put("dftl.entries_per_write_back", json!(ratio(done.entries_written_back, done.write_backs)));
        put("dftl.gc_updates", json!(done.gc_updates));
        put("dftl.entries_per_gc_update", json!(ratio(done.moved_uncached, done.gc_updates)));
        put("dftl.moved_cached_fraction", json!(ratio(done.moved_cached, done.moved_cached + done.moved_uncached)));
        put("dftl.trim_updates", json!(done.trim_updates));
    }
    if let Some((copied, off_chip, classes)) = ftl.migration {
        let moved = copied + off_chip;
        let mut figure = json!({
            "copyback_fraction": (moved > 0).then(|| copied as f64 / moved as f64),
            "off_chip": off_chip,
            "max_error": f64::from(device.flash.nand().highest_error()) / f64::from(base::ECC_LIMIT),
        });
        if classes > 0 {
            figure["quota_classes"] = json!(classes);
        }
        put("migration", figure);
    }
    if let Some((merges, log_blocks)) = ftl.merges {
        put("fast.log_blocks", json!(log_blocks));
        put("fast.switch_merges", json!(merges.switch));
        put("fast.partial_merges", json!(merges.partial));
        put("fast.full_merges", json!(merges.full));
        // Logical blocks that a full merge gathers: its associativity.
        let gathered = (merges.full > 0).then(|| merges.gathered as f64 / merges.full as f64);
        put("fast.blocks_per_full_merge", json!(gathered));
        put("fast.padded_pages", json!(merges.padded));
    }
    figures
}
