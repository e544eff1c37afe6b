//! A row for each request, where they are asked for.

use base::{Die, Instant, RequestKind};

use super::parts::NAMES;
use super::{Completed, LatencyPart, LatencyParts, WAYS};
use crate::table::{Column, Table};

const _: () = assert!(WAYS * LatencyPart::ALL.len() <= u128::BITS as usize, "a bit for each part in `Row`");

/// The record of each request. Most parts are nothing: the others are in [`RequestRows::parts`], one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestRow {
    arrived: Instant,
    offset: u64,
    size: u64,
    die: Option<Die>,
    /// Which parts are kept, a bit for each, way by way.
    kept: u128,
    kind: RequestKind,
}

/// Every request, on demand.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestRows {
    pub(super) rows: Vec<RequestRow>,
    parts: Vec<u64>,
}

impl RequestRows {
    pub(super) fn add(&mut self, request: &Completed) {
        let Completed { kind, arrived, offset, size, die, .. } = *request;
        let mut kept = 0;
        let all = request.ways().into_iter().flat_map(|parts| parts.0);
        for (at, ns) in all.enumerate().filter(|(_, ns)| *ns > 0) {
            kept |= 1u128 << at;
            self.parts.push(ns);
        }
        self.rows.push(RequestRow { arrived, offset, size, die, kept, kind });
    }

    /// By row, all parts, way by way.
    fn parts(&self) -> impl Iterator<Item = [LatencyParts; WAYS]> {
        let mut kept = self.parts.iter();
        self.rows.iter().map(move |row| {
            let mut ways = [LatencyParts::NONE; WAYS];
            for (at, ns) in ways.iter_mut().flat_map(|parts| &mut parts.0).enumerate() {
                if row.kept & (1u128 << at) != 0 {
                    *ns = *kept.next().expect("a part that was kept");
                }
            }
            ways
        })
    }

    pub(super) fn table(&self) -> Table {
        let parts: Vec<[LatencyParts; WAYS]> = self.parts().collect();
        let number = |of: &dyn Fn(&RequestRow) -> u64| Column::U64(self.rows.iter().map(of).collect());
        let mut columns = vec![
            ("kind", Column::Text(self.rows.iter().map(|row| name_of(row.kind)).collect())),
            ("arrival_ns", number(&|row| row.arrived.ns())),
            ("latency_ns", Column::U64(parts.iter().map(|ways| ways[0].sum()).collect())),
            ("offset", number(&|row| row.offset)),
            ("size", number(&|row| row.size)),
            (
                "die",
                Column::F64(self.rows.iter().map(|row| row.die.map_or(f64::NAN, |die| die.number().into())).collect()),
            ),
        ];
        for (way, part) in divided() {
            let values = parts.iter().map(|ways| ways[way].get(part)).collect();
            columns.push((NAMES[part as usize].columns[way].1, Column::U64(values)));
        }
        Table { name: "requests", columns }
    }
}

/// The columns of tables: by way, the parts.
pub(super) fn divided() -> impl Iterator<Item = (usize, LatencyPart)> {
    (0..WAYS).flat_map(|way| LatencyPart::ALL.map(|part| (way, part)))
}

fn name_of(kind: RequestKind) -> &'static str {
    if kind == RequestKind::Read { "read" } else { "write" }
}
