//! The figures of the policies in force, for the summary.

use base::{Cause, OpKind};
use ftl::Figure;
use serde_json::{Map, Value, json};

use crate::device::Device;

/// By seam and figure; empty when no policy has any. What mapping and mechanisms do they say themselves; what the device
/// measures for them is added here.
pub(crate) fn figures(device: &Device) -> Map<String, Value> {
    let mut policy = Map::new();
    if let Some(buffer) = device.recorder.buffer() {
        let mut figure = buffer.to_json(&device.recorder.counters);
        // Its pages are the FTL's: superpages where channels or planes are in step.
        figure["page_bytes"] = json!(device.page_size.bytes());
        policy.insert("write_buffer".into(), figure);
    }
    let mut put = |seam: &str, name: &str, value: Value| {
        policy.entry(seam).or_insert_with(|| json!({}))[name] = value;
    };
    for (seam, name, figure) in device.ftl.figures().iter() {
        put(seam, name, in_json(figure));
    }
    let counters = &device.recorder.counters;
    if device.ftl.figures().get(ftl::slc::SEAM.key, "written_pages").is_some() && counters.bytes_written > 0 {
        for (name, cause) in [("waf_host", Cause::Host), ("waf_fold", Cause::Fold), ("waf_gc", Cause::Gc)] {
            let bytes = counters.of(cause, OpKind::Program) * device.page_size.bytes();
            put(ftl::slc::SEAM.key, name, json!(bytes as f64 / counters.bytes_written as f64));
        }
    }
    if let Some(locality) = &device.locality {
        put("separation", "omega_samples", json!(locality.count()));
        for (name, quantile) in [("omega_p10", 0.1), ("omega_p50", 0.5), ("omega_p90", 0.9)] {
            put("separation", name, json!(locality.quantile(quantile)));
        }
    }
    if let Some(highest) = device.flash.nand().highest_error() {
        put("migration", "max_error", json!(f64::from(highest) / f64::from(base::ECC_LIMIT)));
    }
    if let Some(highest) = device.flash.nand().highest_share() {
        put("read_disturb", "max_reads_of_limit", json!(highest));
    }
    policy
}

fn in_json(figure: &Figure) -> Value {
    match figure {
        Figure::Count(count) => json!(count),
        Figure::Counts(counts) => json!(counts),
        Figure::Ratio(ratio) => json!(ratio),
    }
}
